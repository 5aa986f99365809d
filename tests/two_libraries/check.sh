#!/usr/bin/env bash
# Two libraries of a process with two builds of Sheaf, in either order: each uses its own. Library b's Sheaf fills
# arrays with one more (a header) and says "wanted" (an object). Usage: check.sh COMPILER SOURCE INCLUDE JIT RUNTIME
# [FLAG...]
set -euo pipefail
compiler=$1 source=$2 include=$3 jit=$4 runtime=$5
shift 5
export SHEAF_CACHE=off
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/include"
cp -rL "$include/sheaf" "$folder/include/"
other=$folder/include/sheaf/runtime
sed -i 's/one = value;/one = value + T(1);/' "$other/array.hpp"
sed -i 's/": expected "/": wanted "/' "$other/error.cpp"
! cmp -s "$other/array.hpp" "$include/sheaf/runtime/array.hpp" || { echo 'array.hpp did not change'; exit 1; }
! cmp -s "$other/error.cpp" "$include/sheaf/runtime/error.cpp" || { echo 'error.cpp did not change'; exit 1; }
cp "$runtime" "$folder/runtime.a"
hidden=(-fvisibility=hidden -fvisibility-inlines-hidden)
"$compiler" -std=c++20 -fPIC "${hidden[@]}" -I"$folder/include" "$@" -c "$other/error.cpp" -o "$folder/error.cpp.o"
ar r "$folder/runtime.a" "$folder/error.cpp.o"

build() { "$compiler" -std=c++20 -O0 "$@"; }
here=$source/tests/two_libraries
build -fPIC -shared -DNAME=a -I"$include" "$@" "$here/library.cpp" "$jit" "$runtime" -o "$folder/liba.so" -ldl -lpthread
build -fPIC -shared -DNAME=b -I"$folder/include" "$@" "$here/library.cpp" "$jit" \
  "$folder/runtime.a" -o "$folder/libb.so" \
  -ldl -lpthread
for order in '-la -lb' '-lb -la'; do
  # shellcheck disable=SC2086  # two words
  build -I"$include" "$@" "$here/main.cpp" "$jit" "$runtime" -L"$folder" -Wl,-rpath,"$folder" $order -o "$folder/main" \
    -ldl -lpthread
  said=$("$folder/main")
  expected='3 6 3
argument v: expected memory for its elements, found a null pointer
argument v: wanted memory for its elements, found a null pointer
1'
  [[ $said == "$expected" ]] || { printf 'linked with %s:\n%s\nexpected:\n%s\n' "$order" "$said" "$expected"; exit 1; }
done

# What a library shows: nothing that Sheaf declares. Instances of the standard library's templates for Sheaf's types are
# not Sheaf's to hide; they have its version in their names.
for library in a b; do
  shown=$(nm -D --defined-only "$folder/lib$library.so" | awk '{ print $NF }' |
    grep -E '^_Z(T[A-Z]|GV|Z)*(NK?|K)?[RO]?(5sheaf|N5sheaf)|sheaf_' || true)
  [[ -z $shown ]] || { printf 'lib%s.so shows:\n%s\n' "$library" "$(c++filt <<<"$shown" | head -20)"; exit 1; }
done
echo 'two libraries: each its own'
