#!/usr/bin/env bash
# find_package and pkg-config, of an installed Sheaf whose prefix was moved. Usage: installed.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }
fail() { echo "$1"; exit 1; }

quietly cmake --install "$build" --prefix "$folder/first"
mv "$folder/first" "$folder/sheaf"
find "$folder/sheaf" -name LICENSE | grep -q . || fail 'no LICENSE'
grep -rlE "$source|$build" "$folder/sheaf" --include=*.cmake --include=*.pc --include=*.hpp &&
  fail 'they name the build tree'
"$source/tests/docs_project.sh" "$source/docs/embedding.md" "$folder/mine"
configure() { cmake -S "$folder/mine" -B "$folder/$1" -DCMAKE_PREFIX_PATH="$folder/sheaf" "${@:2}"; }
quietly configure build
quietly cmake --build "$folder/build"
export SHEAF_CACHE=off
diff "$folder/mine/printed" <("$folder/build/mine")

# A shared library of the consumer's, of static ones: it shows nothing of Sheaf's. (Functions of std's
# templates for its types may be shown, by what the compiler left out of line.)
cat >>"$folder/mine/CMakeLists.txt" <<'END'
add_library(used SHARED main.cpp)
target_link_libraries(used PRIVATE sheaf::sheaf)
END
quietly configure build -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON
quietly cmake --build "$folder/build" --target used
shown=$(nm -D --defined-only "$folder/build/libused.so" | awk '{print $3}' | grep sheaf |
  grep -vE '^_Z8run_loop|^_ZNK?St' || true)
[[ -z $shown ]] || fail "a library that uses Sheaf exports $shown"

# Another version, and a component that is not there.
sed -i 's/find_package(sheaf 0.1/find_package(sheaf 0.2/' "$folder/mine/CMakeLists.txt"
configure other >"$folder/log" 2>&1 && fail 'version 0.2 was found'
grep -q 'version: 0.1' "$folder/log" || fail 'the version that is there is not told'
sed -i 's/find_package(sheaf 0.2/find_package(sheaf 0.1/; s/COMPONENTS development/COMPONENTS nothing/' \
  "$folder/mine/CMakeLists.txt"
configure other >"$folder/log" 2>&1 && fail 'component nothing was found'
grep -q 'no component nothing here' "$folder/log" || fail 'a missing component is not told'

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$(dirname "$(find "$folder/sheaf" -name sheaf.pc)")
  [[ $(pkg-config --modversion sheaf) == 0.1.* ]] || fail 'another version'
  # shellcheck disable=SC2046
  quietly g++ "$folder/mine/main.cpp" -o "$folder/by_hand" $(pkg-config --cflags --libs sheaf)
  diff "$folder/mine/printed" <("$folder/by_hand")
else
  echo 'skipped: pkg-config, which is not installed'
fi
echo 'installed: as expected'
