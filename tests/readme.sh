#!/usr/bin/env bash
# The program and the output in the README are those of examples/hello.cpp, which the build compiles and runs.
# Usage: readme.sh ROOT
set -euo pipefail
cd "$1"

block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" README.md | sed '1d;/^```$/,$d'; }
diff -u --label 'examples/hello.cpp' <(sed '1d;/^$/N;/^\n\/\* Output:/,$d' examples/hello.cpp) \
  --label 'README.md' <(block cpp)
diff -u --label 'its output' <(sed -n '/^\/\* Output:/,/^\*\//p' examples/hello.cpp | sed '1d;$d') \
  --label 'README.md' <(block text)
echo 'README: as the example'
