#!/usr/bin/env bash
# Every relative link of the docs leads to a file, and what a table of docs/architecture.md links to has the function
# that stands before the link.
# Usage: links.sh ROOT
set -euo pipefail
cd "$1"
broken=0
while IFS=: read -r file target; do
  path=${target%%#*}
  [[ -z $path || -e $(dirname "$file")/$path ]] || { printf '%s: no such file: %s\n' "$file" "$target"; broken=1; }
done < <(grep -oE '\]\([^)]+\)' README.md CHANGELOG.md docs/*.md docs/*/*.md \
  dsl/graph/*.md tests/fuzz/*.md 2>/dev/null |
  grep -vE '\((https?:|mailto:|auto )' | sed -E 's/:\]\(([^) ]+)\)$/:\1/')
# `name` in [file](path), or `name` ([file](path)): the file has the name.
while IFS=$'\t' read -r name path; do
  grep -qw -- "$name" "docs/$path" || { printf 'docs/architecture.md: %s is not in %s\n' "$name" "$path"; broken=1; }
done < <(tr '\n' ' ' <docs/architecture.md | grep -oE '`[a-z_]+` (in +|\()\[[a-z_.]+\]\([^)]+\)' |
  sed -E 's/`([a-z_]+)` (in +|\()\[[^]]*\]\(([^)]+)\)/\1\t\3/')
((broken == 0)) && echo 'links: all lead somewhere'
exit $broken
