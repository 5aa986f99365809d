#!/usr/bin/env bash
# A kernel cache that was filled on one machine serves another of the same processor model: nothing of the machine is in
# the keys. Usage: warmed.sh PROGRAM PLUGIN; PROGRAM: first_kernel.cpp.
set -euo pipefail
program=$1 plugin=$2
unset SHEAF_LLVM_PLUGIN XDG_CACHE_HOME
export SHEAF_CACHE=on
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 022

mkdir -p "$folder/first/bin" "$folder/second/place/bin" "$folder/home" "$folder/other"
cp "$program" "$folder/first/bin/first"
cp "$plugin" "$folder/first/bin/"
cp "$program" "$folder/second/place/bin/renamed"  # no code generator there

expect() {  # WHAT SENTENCE-PART COMMAND...
  local what=$1 part=$2 said
  shift 2
  said=$("$@" 2>&1) || true
  grep -qF -- "$part" <<<"$said" || { printf 'not so: %s\nexpected %s\nsaid: %s\n' "$what" "$part" "$said"; exit 1; }
}
expect 'the first machine compiles' '1 kernel: 1 compiled, 0 from disk' \
  env SHEAF_CACHE_DIR="$folder/first/cache" SHEAF_THREADS=2 "$folder/first/bin/first"
cp -r "$folder/first/cache" "$folder/other/copied"
rm -r "$folder/first"
cd "$folder/other"
expect 'the second machine has what it needs' '1 kernel: 0 compiled, 1 from disk' \
  env -i HOME="$folder/home" SHEAF_CACHE_DIR="$folder/other/copied" SHEAF_THREADS=7 "$folder/second/place/bin/renamed" /
expect 'also where the cache is only read' '1 kernel: 0 compiled, 1 from disk' \
  env -i HOME="$folder/home" SHEAF_CACHE=read SHEAF_CACHE_DIR="$folder/other/copied" "$folder/second/place/bin/renamed"
expect 'without it there is no kernel' 'opening the code generator' \
  env -i HOME="$folder/home" "$folder/second/place/bin/renamed"
