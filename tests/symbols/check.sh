#!/usr/bin/env bash
# check.sh PROGRAM COMPILER [FLAG...]: compiles PROGRAM and reads its object's symbols. None may be longer than the
# outputs of a call make it, and none may hold an expression's type. A shared library of it shows nothing that Sheaf
# declares.
set -euo pipefail
program=$1 compiler=$2
shift 2
longest_allowed=280  # 5 of them for each name by the inline namespace

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$compiler" -std=c++20 "$@" -c "$program" -o "$folder/object.o"
nm "$folder/object.o" | awk '{ print $NF }' >"$folder/symbols"
[[ $(wc -l <"$folder/symbols") -gt 5 ]] || { echo "nm found no symbols in $program"; exit 1; }

long=$(awk -v most=$longest_allowed 'length($0) > most' "$folder/symbols")
typed=$(grep -E 'sheaf([0-9]+v[0-9]+_[0-9]+)?[0-9]*(apply_|load_|reduce_|literal_|definition_|gradient_|compiledI)' \
  "$folder/symbols" || true)
awk '{ if (length($0) > n) n = length($0) } END { print "longest symbol: " n " characters of " NR }' "$folder/symbols"
if [[ -n $long$typed ]]; then
  printf 'symbols that are too long or hold an expression:\n%s\n' "$long$typed"
  exit 1
fi

# Of the standard library's and Boost's templates for Sheaf's types it may.
"$compiler" -std=c++20 "$@" -fPIC -shared "$program" -o "$folder/library.so"
shown=$(nm -D --defined-only "$folder/library.so" | awk '{ print $NF }' |
  grep -E '^_Z(T[A-Z]|GV|Z)*(NK?|K)?[RO]?(5sheaf|N5sheaf)' || true)
if [[ -n $shown ]]; then
  printf 'a shared library of %s shows:\n%s\n' "$program" "$(c++filt <<<"$shown")"
  exit 1
fi
