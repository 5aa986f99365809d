#!/usr/bin/env bash
# The project of docs/ahead-of-time.md in a tree of its own: it finds an installed Sheaf, whose prefix was moved; what
# it installs serves a C program that knows neither Sheaf nor LLVM. Usage: installed.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }

quietly cmake --install "$build" --prefix "$folder/first"
mv "$folder/first" "$folder/sheaf"
"$source/tests/docs_project.sh" "$source/docs/ahead-of-time.md" "$folder/mine"
quietly cmake -S "$folder/mine" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/sheaf" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$folder/build"
diff "$folder/mine/printed" <("$folder/build/mine")
head -n 1 "$folder/mine/printed" >"$folder/views"
echo 'extent_mismatch: output dloss_dx: expected the extents that step_extents gives, found others' >>"$folder/views"
diff "$folder/views" <("$folder/build/views")
g++ -std=c++20 -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Werror -I"$folder/build/slices-kernels" \
  -fsyntax-only \
  "$folder/mine/views.cpp"
quietly cmake --install "$folder/build" --prefix "$folder/kernels"

# A C program on a machine without LLVM and C++.
mkdir "$folder/use"
cp "$folder/mine/main.c" "$folder/use"
cat >"$folder/use/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(use LANGUAGES C)
find_package(Threads REQUIRED)
add_executable(use main.c)
target_include_directories(use PRIVATE $folder/kernels/include)
target_link_libraries(use PRIVATE $folder/kernels/lib/libslices.a Threads::Threads m)
END
rm -rf "$folder/sheaf"
quietly env CXX=/nonexistent cmake -S "$folder/use" -B "$folder/use/build" -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON
quietly cmake --build "$folder/use/build"
diff "$folder/mine/printed" <(env -i "$folder/use/build/use")
needed=$(ldd "$folder/use/build/use" | awk '{print $1}' | grep -vE '^(linux-vdso|lib(c|m)\.|/lib64/ld-)' || true)
[[ -z $needed ]] || { echo "the program needs $needed"; exit 1; }

# The reader in Python, of a shared library.
python=
for each in python3 /usr/bin/python3; do
  [[ -n $python ]] || ! $each -c 'import numpy' 2>/dev/null || python=$each
done
if [[ -n $python ]]; then
  so=$folder/libslices.so
  gcc -shared -fPIC -fvisibility=hidden -o "$so" "$folder/build/slices-kernels/slices.c" \
    "$folder"/build/slices-kernels/slices-*.o -lm -lpthread
  nm -D --defined-only "$so" | awk '{print $3}' | grep -v '^slices_' && { echo 'the library exports these'; exit 1; }
  diff <(sed 2d "$folder/mine/printed") \
    <("$python" "$source/examples/ahead_of_time.py" "$so" "$folder/build/slices-kernels/slices.json")
else
  echo 'skipped: the reader in Python, without NumPy'
fi
echo 'installed kernels: as expected'
