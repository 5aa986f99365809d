#!/usr/bin/env bash
# The .tar.gz and the .deb of cpack: unpacked, each is found and works. Usage: packed.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
quietly() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }; }

generators=TGZ
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then generators='TGZ;DEB'; fi
quietly cpack --config "$build/CPackConfig.cmake" -G "$generators" -B "$folder/packages"
"$source/tests/docs_project.sh" "$source/docs/embedding.md" "$folder/mine"
mkdir "$folder/tgz"
tar -xzf "$folder"/packages/*.tar.gz -C "$folder/tgz" --strip-components 1
prefixes=("$folder/tgz")
if [[ $generators == *DEB ]]; then
  dpkg-deb -x "$folder"/packages/*.deb "$folder/deb"
  prefixes+=("$folder/deb/usr")
  dpkg-deb -f "$folder"/packages/*.deb Depends | grep -q libc6 || { echo 'the package depends on nothing'; exit 1; }
else
  echo 'skipped: the .deb, without dpkg-deb and dpkg-shlibdeps'
fi
export SHEAF_CACHE=off
for prefix in "${prefixes[@]}"; do
  find "$prefix" -name LICENSE -o -name copyright | grep -q . || { echo "$prefix: no LICENSE"; exit 1; }
  quietly cmake -S "$folder/mine" -B "$folder/build" --fresh -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$folder/build"
  diff "$folder/mine/printed" <("$folder/build/mine")
done
echo 'packages: as expected'
