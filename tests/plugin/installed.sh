#!/usr/bin/env bash
# A project that adds Sheaf as a folder installs the plug-in with its own program. Usage: installed.sh SOURCE LLVM_DIR
# The plug-in is a file of the same name: what is tested is where it goes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/mine"
cat >"$folder/mine/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES C CXX)
add_subdirectory($1 sheaf SYSTEM)
END
cmake -S "$folder/mine" -B "$folder/build" -DLLVM_DIR="$2" -DCMAKE_BUILD_TYPE=Release >"$folder/log" 2>&1 ||
  { cat "$folder/log"; exit 1; }
mkdir -p "$folder/build/sheaf/lib"
echo 'not a library' >"$folder/build/sheaf/lib/libsheaf_llvm.so"
cmake --install "$folder/build" --prefix "$folder/prefix" --component sheaf_plugin >"$folder/log" 2>&1 || true
[[ -e $folder/prefix/lib/libsheaf_llvm.so ]] || { echo 'the plug-in is not installed:'; cat "$folder/log"; exit 1; }
echo 'installed: as expected'
