#!/usr/bin/env bash
# check.sh PROGRAM HEADERS COMPILER [FLAG...]: compiles PROGRAM and compares what the compiler says with the program's
# first lines: `// expect: SENTENCE` or `// flavour: ok`. A line `// flags: FLAG...` says what else it is compiled with;
# `// flags of clang: FLAG...` says so for one compiler, and `// expect of g++: SENTENCE` what the others compile.
# A sentence is a fixed string; the compilers' quotes are made ASCII.
# check.sh --headers HEADERS COMPILER [FLAG...]: compiles sheaf.hpp into the folder HEADERS, for programs that begin
# with it and have no flags of their own.
set -euo pipefail
program=$1 headers=$2 compiler=$3
shift 3

# The limits of constant evaluation are those of the CMake target. Those of errors and of the lines about one are what a
# user has: a sentence that is cut off is not said.
case $compiler in
  *clang*)
    family=clang limits=(-fconstexpr-steps=268435456) ;;
  *)
    family=g++ limits=(-fconstexpr-ops-limit=1073741824) ;;
esac

if [[ $program == --headers ]]; then
  mkdir -p "$headers/sheaf"
  echo '#include <sheaf/sheaf.hpp>' >"$headers/all.hpp"
  "$compiler" -std=c++20 "${limits[@]}" "$@" -x c++-header "$headers/all.hpp" -o "$headers/new"
  mv "$headers/new" "$headers/sheaf/sheaf.hpp.gch"
  exit 0
fi

memory=$(sed -n 's/^\/\/ memory: \([0-9]*\) MB$/\1/p' "$program")  # the most that the compiler may take
# After the others.
read -ra flags < <(sed -n -E "s/^\/\/ flags( of ${family/++/[+][+]})?: //p" "$program" | head -n 1) || true
if [[ -z $memory && ${#flags[@]} -eq 0 && $(grep -m 1 '^#include' "$program") == '#include <sheaf/sheaf.hpp>' ]]; then
  case $family in
    clang) flags=(-include-pch "$headers/sheaf/sheaf.hpp.gch") ;;
    *) set -- -I "$headers" "$@" ;;
  esac
fi

status=0
if [[ -n $memory ]]; then ulimit -v $((memory * 1024)); fi
shown=$(LC_ALL=C "$compiler" -std=c++20 -fsyntax-only "${limits[@]}" "$@" "${flags[@]}" "$program" 2>&1) || status=$?
# Without the source lines that compilers quote: they could hold the sentence without its being said.
said=$(sed -E '/^ *[0-9]* \|( |$)/d' <<<"$shown")
# Sentences are template arguments, where quotes are escaped; clang has them in pieces (dsl/surface/fixed_string.hpp).
said=$(sed "s/[‘’]/'/g; s/[“”]/\"/g" <<<"$said" | sed -E 's/"\}, sheaf::fixed_string<[0-9]+>\{"//g; s/\\"/"/g')

fail() {
  printf '%s: %s\n--- %s said:\n%s\n' "$program" "$1" "$compiler" "${said:-(nothing)}" >&2
  exit 1
}

if head -n 1 "$program" | grep -v "^// expect of $family: " | grep -q -E '^// (flavour: ok|expect of )'; then
  [[ $status -eq 0 ]] || fail 'must compile, and does not'
  exit 0
fi
mapfile -t sentences < <(sed -n -E '/^\/\/ expect( of [^:]*)?: /!q; s///p' "$program")
[[ ${#sentences[@]} -gt 0 ]] || fail 'has neither "// expect: SENTENCE" nor "// flavour: ok" as its first line'
[[ $status -ne 0 ]] || fail 'must not compile, and does'
for sentence in "${sentences[@]}"; do
  grep -qF -- "$sentence" <<<"$said" || fail "the sentence is missing: $sentence"
done
# All that is said is less than 25 lines, as a user sees them.
lines=$(wc -l <<<"$shown")
[[ $lines -lt 25 ]] || fail "more than 24 lines: $lines"
[[ ${#said} -lt 20000 ]] || fail "more than 20000 characters: ${#said}"
# One of the sentences is what the compiler says first.
first=$(grep -m 1 -F 'error: ' <<<"$said")
for sentence in "${sentences[@]}"; do
  if grep -qF -- "$sentence" <<<"$first"; then exit 0; fi
done
fail "the first error says another thing: $first"
