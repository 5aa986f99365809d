#!/usr/bin/env bash
# Applies the patches of docs/extending.md to a copy of the tree, builds it and runs what uses them.
# Usage: extending.sh ROOT BUILD
set -euo pipefail
root=$1 build=$2
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
mkdir -p "$build/tree"
(cd "$fresh" && find . -type f) | while read -r file; do
  cmp -s "$fresh/$file" "$build/tree/$file" || {
    mkdir -p "$(dirname "$build/tree/$file")"; cp "$fresh/$file" "$build/tree/$file"; }
done
(cd "$build/tree" && find . -type f) | while read -r file; do [[ -e $fresh/$file ]] || rm "$build/tree/$file"; done
cmake -G Ninja -S "$root/tests/extending" -B "$build/build" -DSHEAF_TREE="$build/tree" >"$build/log" 2>&1 &&
  cmake --build "$build/build" --target additions sheaf_llvm -j 2 >>"$build/log" 2>&1 || {
    tail -30 "$build/log" | cut -c1-300; exit 1; }
SHEAF_CACHE=off SHEAF_LLVM_PLUGIN=$(find "$build/build" -name 'libsheaf_llvm.so' | head -1) "$build/build/additions"
