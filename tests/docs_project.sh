#!/usr/bin/env bash
# The project of a page of the docs, from the files that the page shows. A file is a block after a line that begins with
# its name in backquotes; what the program prints is the block after "It prints". Usage: docs_project.sh PAGE FOLDER
set -euo pipefail
page=$1 folder=$2
mkdir -p "$folder"
awk -v folder="$folder" '
  /^```/ { if (inside) { inside = 0; name = "" } else if (name != "") { inside = 1 } next }
  inside { print > (folder "/" name); next }
  /^`[A-Za-z_]+\.[a-z]+`/ { split($0, part, "`"); name = part[2] }
  /^It prints$/ { name = "printed" }
' "$page"
[[ -s $folder/CMakeLists.txt && -s $folder/printed ]] || { echo "$page shows no project"; exit 1; }
