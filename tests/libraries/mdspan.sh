#!/usr/bin/env bash
# Builds and runs mdspan.cpp with the first compiler that has std::mdspan. Usage: mdspan.sh SOURCE INCLUDE FOLDER
set -euo pipefail
mkdir -p "$3"
for compiler in 'clang++-19 -stdlib=libc++' 'clang++-18 -stdlib=libc++' 'clang++ -stdlib=libc++' g++ g++-15; do
  # shellcheck disable=SC2086
  echo '#include <mdspan>
  std::mdspan<float, std::dextents<int, 1>> m; int main() {}' |
    $compiler -std=c++23 -x c++ - -o "$3/probe" 2>/dev/null || continue
  # shellcheck disable=SC2086
  $compiler -std=c++23 -Wall -Wextra -I"$2" "$1/tests/libraries/mdspan.cpp" "$1/runtime/view.cpp" \
    "$1/runtime/error.cpp" \
    -o "$3/mdspan"
  exec "$3/mdspan"
done
echo 'skipped: no standard library with mdspan found'
