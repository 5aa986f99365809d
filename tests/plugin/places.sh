#!/usr/bin/env bash
# Where the code generator is looked for, and where not. Usage: places.sh PROGRAM PLUGIN ANOTHER_VERSION ARCHIVE...
# PROGRAM: first_kernel.cpp without the place of its headers. ARCHIVE: what is installed, which may name no folder of
# the build.
set -euo pipefail
program=$1 plugin=$2 another=$3
shift 3
export SHEAF_CACHE=off
unset SHEAF_LLVM_PLUGIN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 022

fresh() {  # an empty prefix with the program in bin
  rm -rf "$folder/prefix"
  mkdir -p "$folder/prefix/bin" "$folder/prefix/lib"
  cp "$program" "$folder/prefix/bin/first"
}
expect() {  # WHAT SENTENCE-PART COMMAND...
  local what=$1 part=$2 said
  shift 2
  said=$("$@" 2>&1) || true
  grep -qF -- "$part" <<<"$said" || { printf 'not so: %s\nexpected %s\nsaid: %s\n' "$what" "$part" "$said"; exit 1; }
}

fresh
expect 'nothing there: every place is named' \
  "no $folder/prefix/bin/../lib/libsheaf_llvm.so; no " "$folder/prefix/bin/first"
cp "$plugin" "$folder/prefix/bin/"
expect 'beside the program' 21 "$folder/prefix/bin/first"
expect 'it counts what it compiled' '1 kernel: 1 compiled, 0 from disk' "$folder/prefix/bin/first"
cd "$folder/prefix/bin"
expect 'beside the program, by a relative path, and elsewhere when it is needed' 21 ./first /
cd "$folder"
ln -s prefix/bin/first link
expect 'beside what a link leads to' 21 ./link
rm link

fresh
cp "$plugin" "$folder/prefix/lib/"
expect 'in lib of the prefix' 21 "$folder/prefix/bin/first"
cp "$another" "$folder/prefix/bin/libsheaf_llvm.so"
expect 'after one of another version' 21 "$folder/prefix/bin/first"
expect 'after one of another version that is set' 21 \
  env SHEAF_LLVM_PLUGIN="$folder/prefix/bin/libsheaf_llvm.so" "$folder/prefix/bin/first"
mv "$folder/prefix" "$folder/moved"
expect 'in a prefix that moved' 21 "$folder/moved/bin/first"
mv "$folder/moved" "$folder/prefix"
rm "$folder/prefix/lib/libsheaf_llvm.so"
expect 'all others are of another version: it says so' 'libsheaf_llvm.so has version 1; ' "$folder/prefix/bin/first"

fresh
cp "$plugin" "$folder/prefix/lib/"
for mode in 0777 0775 1777; do
  chmod $mode "$folder/prefix/lib"
  expect "not in a folder of mode $mode" "others can write $folder/prefix/lib" "$folder/prefix/bin/first"
  expect "nor where that is set" "others can write $folder/prefix/lib" \
    env SHEAF_LLVM_PLUGIN="$folder/prefix/lib/libsheaf_llvm.so" "$folder/prefix/bin/first"
done
chmod 0755 "$folder/prefix/lib"
chmod 0666 "$folder/prefix/lib/libsheaf_llvm.so"
expect 'not a file that others can write' 'others can write' "$folder/prefix/bin/first"
chmod 0644 "$folder/prefix/lib/libsheaf_llvm.so"
if [[ $(id -u) -eq 0 ]]; then
  chown 12345 "$folder/prefix/lib/libsheaf_llvm.so"
  expect 'not a file of somebody else' 'belongs to user 12345' "$folder/prefix/bin/first"
  chown 0 "$folder/prefix/lib/libsheaf_llvm.so"
fi

fresh
mkdir "$folder/elsewhere"
cp "$plugin" "$folder/elsewhere/generator.so"
expect 'where it is set' 21 env SHEAF_LLVM_PLUGIN="$folder/elsewhere/generator.so" "$folder/prefix/bin/first"
expect 'what is set is there' "$folder/elsewhere/none.so" \
  env SHEAF_LLVM_PLUGIN="$folder/elsewhere/none.so" "$folder/prefix/bin/first"
cd "$folder/elsewhere"
expect 'no relative path is set' 'SHEAF_LLVM_PLUGIN: expected an absolute path, found "./generator.so"' \
  env SHEAF_LLVM_PLUGIN=./generator.so "$folder/prefix/bin/first"
cp generator.so libsheaf_llvm.so
expect 'not in the folder that the process is in' 'opening the code generator' \
  env LD_LIBRARY_PATH=. "$folder/prefix/bin/first"
expect 'where the program says' 21 "$folder/prefix/bin/first" / "$folder/elsewhere/generator.so"
expect 'it says so in time' 'found one after it' "$folder/prefix/bin/first" / "$folder/elsewhere/generator.so"
expect 'and by an absolute path' \
  'set_code_generator: expected an absolute path' "$folder/prefix/bin/first" / generator.so

cp "$plugin" "$folder/prefix/lib/"
mkdir "$folder/cache"
export SHEAF_CACHE=on SHEAF_CACHE_DIR=$folder/cache
expect 'the cache is used' "kernel cache: on: $folder/cache" "$folder/prefix/bin/first"
expect 'from disk' '0 compiled, 1 from disk' "$folder/prefix/bin/first"
chmod 0777 "$folder/cache"
expect 'not where others can write it' '1 compiled, 0 from disk' "$folder/prefix/bin/first"
expect 'and it says so' "kernel cache: not used: others can write $folder/cache" "$folder/prefix/bin/first"

build=$(cd "$(dirname "$plugin")/.." && pwd)
for archive in "$@"; do
  ! grep -qF -- "$build" "$archive" || { echo "$archive names the folder of its build, $build"; exit 1; }
done
echo 'places: as expected'
