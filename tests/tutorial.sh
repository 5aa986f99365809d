#!/usr/bin/env bash
# Each block of C++ in docs/tutorial.md stands in examples/tutorial.cpp, which the build compiles and runs.
# Usage: tutorial.sh ROOT
set -euo pipefail
cd "$1"
example=$(<examples/tutorial.cpp) block='' inside=0 blocks=0
while IFS= read -r line; do
  if [[ $inside == 0 && $line == '```cpp' ]]; then
    inside=1 block=''
  elif [[ $inside == 1 && $line == '```' ]]; then
    inside=0 blocks=$((blocks + 1))
    [[ $example == *"$block"* ]] || { printf 'docs/tutorial.md: not in examples/tutorial.cpp:\n%s' "$block"; exit 1; }
  elif [[ $inside == 1 ]]; then
    block+=$line$'\n'
  fi
done <docs/tutorial.md
((blocks > 5)) || { echo 'docs/tutorial.md: no blocks of C++'; exit 1; }
echo "tutorial: $blocks blocks stand in the example"
