#!/usr/bin/env bash
# Applies the patches of docs/extending.md to a copy of the tree. Usage: tree.sh ROOT COPY
set -euo pipefail
root=$1 copy=$2
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
(cd "$root" &&
  tar cf - CMakeLists.txt cmake aot dsl runtime jit api include sheaf.hpp scripts/packages.txt 2>/dev/null || true) |
  tar xf - -C "$fresh"
for patch in "$root"/tests/extending/*.patch; do
  patch -s -p1 -d "$fresh" <"$patch" || {
    echo "extending: $(basename "$patch") does not apply: docs/extending.md is out of date"; exit 1; }
done
# What did not change keeps its time, so that the next run builds little.
mkdir -p "$copy"
(cd "$fresh" && find . -type f) | while read -r file; do
  cmp -s "$fresh/$file" "$copy/$file" || { mkdir -p "$(dirname "$copy/$file")"; cp "$fresh/$file" "$copy/$file"; }
done
(cd "$copy" && find . -type f) | while read -r file; do [[ -e $fresh/$file ]] || rm "$copy/$file"; done
