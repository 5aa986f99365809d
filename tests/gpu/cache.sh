#!/usr/bin/env bash
# A kernel is compiled once, read from disk after that, and compiled anew where the entry is damaged or the architecture
# another. Usage: cache.sh TEST_GPU
set -euo pipefail
export SHEAF_CACHE=on SHEAF_CACHE_DIR
SHEAF_CACHE_DIR=$(mktemp -d)
trap 'rm -rf "$SHEAF_CACHE_DIR"' EXIT

expect() {  # WHAT COMPILES [VARIABLE=VALUE...]
  local what=$1 compiles=$2
  shift 2
  env "$@" FAKE_EXPECTED_COMPILES="$compiles" "$test" --gtest_filter='cache.*' --gtest_brief=1 || {
    echo "not so: $what"; exit 1; }
}
test=$1
expect 'the first time it is compiled' 1
entry=$(ls "$SHEAF_CACHE_DIR")
expect 'the second time it is not' 0
expect 'for another architecture it is' 1 FAKE_CAPABILITY=80
expect 'and both are kept' 0
printf 'x' | dd of="$SHEAF_CACHE_DIR/$entry" bs=1 seek=$(($(stat -c %s "$SHEAF_CACHE_DIR/$entry") - 9)) conv=notrunc \
  status=none
expect 'a damaged entry is compiled anew' 1
expect 'and kept' 0
echo 'cache: as expected'
