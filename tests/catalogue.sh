#!/usr/bin/env bash
# docs/catalogue.md speaks the truth: every link is a file, every test it names stands in the sources, every example is
# linked. Usage: catalogue.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
page=docs/catalogue.md
broken=0
say() {
  echo "$page: $*"
  broken=1
}

links=0 tests=0
while read -r link; do
  links=$((links + 1))
  [[ -e docs/$link ]] || say "no such file: $link"
done < <(sed 's/`[^`]*`//g' "$page" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//')

# The last column of a row holds links, or names of tests: `suite.name`.
while read -r name; do
  tests=$((tests + 1))
  grep -rqE "^(TYPED_)?TEST(_F|_P)?\(${name%%.*}, ${name#*.}\)" tests --include='*.cpp' || say "no such test: $name"
done < <(grep '^|' "$page" | sed 's/|[[:space:]]*$//; s/.*|//' | grep -oE '`[a-z_0-9]+\.[a-z_0-9]+`' | tr -d '`')

for example in examples/[0-9]*.cpp; do
  grep -q "$(basename "$example")" "$page" || say "$example is in no row"
done
while read -r row; do
  last=$(sed 's/|[[:space:]]*$//; s/.*|//' <<<"$row")
  grep -qE '\]\(|`' <<<"$last" || say "a row shows nothing: $row"
done < <(grep -E '^\| ' "$page" | grep -vE '^\| pattern')

((links > 0 && tests > 0)) || say 'no links or no tests found'
[[ $broken -eq 0 ]] && echo "catalogue: $links links and $tests tests exist"
exit "$broken"
