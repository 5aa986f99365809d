#!/usr/bin/env bash
# FetchContent of Sheaf as shared libraries: their names, their symbols, and what a library that uses them shows.
# Without the code generator: the reference evaluator runs the program. Then with it, for the test extending.
# The libraries are those of the tree with the additions of docs/extending.md: compiled once for both tests.
# Usage: fetched.sh SOURCE BUILD [SECOND_COMPILER]
set -euo pipefail
source=$1 kept=$2 second=${3:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
quietly() { "$@" >"$folder/log" 2>&1 || { tail -50 "$folder/log"; exit 1; }; }
fail() { echo "$1"; exit 1; }

mkdir "$folder/mine"
cat >"$folder/mine/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(sheaf SOURCE_DIR \${TREE} \${HEADERS})
FetchContent_MakeAvailable(sheaf)
add_library(used SHARED used.cpp)
set_target_properties(used PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_link_libraries(used PRIVATE sheaf::sheaf)
add_executable(mine main.cpp)
target_link_libraries(mine PRIVATE used)
add_executable(additions $source/tests/extending/additions.cpp)
target_link_libraries(additions PRIVATE sheaf::sheaf)
END
cat >"$folder/mine/used.cpp" <<'END'
#include <sheaf/sheaf.hpp>
#include <sheaf/text.hpp>
#include <vector>
using namespace sheaf;
constexpr auto i = axis<"i">;
constexpr auto x = tensor<"x", float, 1>;
constexpr auto energy = define<"energy">() = sum(i, x(i) * x(i));
extern "C" __attribute__((visibility("default"))) double energy_of(int n) {
  std::vector<float> data(static_cast<std::size_t>(n), 2.0f);
  try {
    text_program("y = ").operator()({});
  } catch (const sheaf::error&) {
    return static_cast<double>(compile(energy)(x = data));
  }
  return 0;
}
END
cat >"$folder/mine/main.cpp" <<'END'
#include <cstdio>
extern "C" double energy_of(int n);
int main() { std::printf("%g\n", energy_of(5)); }
END
# Without a build type it is optimised all the same.
quietly cmake -G Ninja -S "$folder/mine" -B "$folder/plain" -DTREE="$source" -DHEADERS=SYSTEM \
  -DSHEAF_LLVM=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
grep -q -- '-O2.*runtime/error.cpp' "$folder/plain/compile_commands.json" || fail 'without a build type: not optimised'
grep -q -- '-Werror' "$folder/plain/compile_commands.json" && fail 'warnings are errors in a project of others'

# With the code generator there are kernels ahead of time.
cp -r "$folder/mine" "$folder/ahead"
echo 'sheaf_add_kernels(ahead SOURCES ahead.sheaf)' >>"$folder/ahead/CMakeLists.txt"
echo 'kernel twice
input x: f32[?]
y(i) = x(i) + x(i)' >"$folder/ahead/ahead.sheaf"
quietly cmake -G Ninja -S "$folder/ahead" -B "$folder/ahead/build" -DTREE="$source" -DHEADERS=SYSTEM

# Here warnings count, those in headers too.
if [[ -n $second ]]; then
  by=(-DCMAKE_CXX_COMPILER="$second" -DSHEAF_WERROR=ON -DSHEAF_PRECOMPILE=ON)
else
  by=(-DSHEAF_UNITY=ON)
fi
"$source/tests/extending/tree.sh" "$source" "$kept/tree"
mkdir -p "$kept/mine"
for file in CMakeLists.txt used.cpp main.cpp; do
  cmp -s "$folder/mine/$file" "$kept/mine/$file" || cp "$folder/mine/$file" "$kept/mine/$file"
done
build() {  # ON|OFF TARGETS...
  quietly cmake -G Ninja -S "$kept/mine" -B "$kept/build" "${by[@]}" -DTREE="$kept/tree" -DBUILD_SHARED_LIBS=ON \
    -DSHEAF_LLVM="$1" -DCMAKE_BUILD_TYPE=Plain -DCMAKE_CXX_FLAGS=-O0
  quietly cmake --build "$kept/build" -j "${SHEAF_TEST_JOBS:-2}" --target "${@:2}"
}
build OFF mine sheaf_runtime sheaf_jit sheaf_text
[[ $(SHEAF_BACKEND=reference "$kept/build/mine") == 20 ]] || fail 'another result'
for name in runtime jit text; do
  library=$(find "$kept/build" -name "libsheaf_$name.so.0.1.0")
  [[ -n $library ]] || fail "no libsheaf_$name.so.0.1.0"
  readelf -d "$library" | grep -q "SONAME.*libsheaf_$name.so.0.1]" || fail "libsheaf_$name: no soname"
  others=$(nm -D --defined-only "$library" | awk '$2 != "A" && $2 !~ /[WVu]/ {print $3}' | grep -v 'sheaf4v' || true)
  [[ -z $others ]] || fail "libsheaf_$name exports $others"
  nm -D --defined-only "$library" | grep ' T ' | grep -vq '@@SHEAF_0.1' &&
    fail "libsheaf_$name: symbols without a version"
done
# Without optimisation clang keeps instances of the standard library's templates, which may be shown.
shown=$(nm -D --defined-only "$kept/build/libused.so" | awk '{print $3}' | grep -v '^energy_of' |
  grep -E 'sheaf|^_Z(NK?)?[^NS]|^[^_]' || true)
[[ -z $shown ]] || fail "a library that uses Sheaf exports $shown"
build ON additions sheaf_llvm
echo 'fetched, shared: as expected'
