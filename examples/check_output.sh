#!/usr/bin/env bash
# check_output.sh PROGRAM SOURCE: runs PROGRAM; fails where it fails, or where its standard output differs from the
# final comment `/* Output:` ... `*/` of SOURCE. Spaces at line ends don't count.
set -euo pipefail
program=$1 source=$2

actual=$("$program" | sed 's/[[:space:]]*$//')
grep -q '^/\* Output:' "$source" || exit 0
expected=$(sed -n '/^\/\* Output:/,/^\*\//p' "$source" | sed '1d;$d' | sed 's/[[:space:]]*$//')
diff -u --label "expected by $(basename "$source")" <(echo "$expected") --label "printed" <(echo "$actual")
