#!/usr/bin/env bash
# The rules of who may include whom. Reads the sources, prints each line that breaks a rule, fails if there is one.
# Usage: boundaries.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
broken=0

# sources FOLDER...: the C++ files below the folders that exist.
sources() {
  local folder
  for folder in "$@"; do
    [[ ! -d $folder ]] || find "$folder" -type f \
      \( -name '*.hpp' -o -name '*.cpp' -o -name '*.h' -o -name '*.c' -o -name '*.inc' \)
  done
}

# report RULE HITS: one hit a line.
report() {
  [[ -n $2 ]] || return 0
  printf 'rule: %s\n%s\n' "$1" "$(sed 's/^/  /' <<<"$2")"
  broken=1
}

# forbid RULE PATTERN EXCEPT FOLDER...: no line below the folders matches PATTERN, save in files whose path matches
# EXCEPT.
forbid() {
  local rule=$1 pattern=$2 except=$3 files
  shift 3
  files=$(sources "$@" | { grep -Ev "$except" || true; })
  [[ -n $files ]] || return 0
  report "$rule" "$(tr '\n' '\0' <<<"$files" | { xargs -0 grep -HnE -- "$pattern" || true; } | grep -v '^$' || true)"
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*'
none='^$'
own=(dsl runtime jit api aot)
all=("${own[@]}" tests examples bench)

# A standard header is a word in angle brackets, without folder or suffix.
dsl_hits=$(sources dsl | tr '\n' '\0' | { xargs -0 -r grep -HnE -- "$include" || true; } |
  { grep -Ev "${include#^}(<[a-z_0-9]+>|<boost/hana/[a-z_0-9/]+\.hpp>|<sheaf/dsl/[a-z_0-9/]+\.(hpp|inc)>)" || true; })
report 'dsl/ includes the standard library, Boost.Hana and sheaf/dsl only' "$dsl_hits"

forbid 'dsl/graph and dsl/passes are beneath dsl/surface' "${include}<sheaf/dsl/surface/" "$none" dsl/graph dsl/passes
forbid 'jit/ sees dsl/graph, never dsl/surface' "${include}[<\"](sheaf/)?dsl/surface/" "$none" jit
forbid 'LLVM headers only in jit/llvm/, and of the other LLVM in its test' \
  "${include}[<\"]llvm(-c)?/" '^(jit/llvm|tests/two_llvms)/' "${all[@]}"
forbid 'CUDA and NVRTC names only in jit/, runtime/ and tests/cuda/, in what kernels ahead of time call, and in tests' \
  "${include}[<\"](cuda|nvrtc|driver_types)|\<(cu[A-Z][A-Za-z]+|\
cuda[A-Z][A-Za-z]+|nvrtc[A-Z][A-Za-z]*|CU(result|device|context|module|function|stream|event|deviceptr))\>" \
  '^((jit|runtime|tests)/cuda|tests/gpu|bench/gpu|aot/runtime)/|^tests/aot/gpu_calls' "${all[@]}"
forbid 'small headers of Boost.Hana, not boost/hana.hpp' "${include}[<\"]boost/hana\.hpp" "$none" "${all[@]}"
forbid 'runtime/ never includes jit/, dsl/surface or api/' \
  "${include}[<\"](sheaf/)?(jit|api|dsl/surface|sheaf\.hpp)" "$none" runtime
forbid 'jit/ never includes api/' "${include}[<\"](sheaf/)?(api/|sheaf\.hpp)" "$none" jit
# A backend's plugin.h is the one header meant for others; the tests of its text, the bench that compiles it, and
# kernels ahead of time, which are that text, read the emitter's.
forbid 'no private header of a backend outside it' \
  "${include}[<\"](sheaf/)?jit/(llvm|cuda)/([^p]|p[^l])" \
  '^(jit/(llvm|cuda)/|tests/cuda/|bench/nvrtc\.cpp$|aot/gpu_code\.hpp$)' "${all[@]}"
forbid 'headers are included as <sheaf/...>' "${include}\"" "$none" "${own[@]}"

# A header and its source are one: who reads them starts somewhere.
loops=$(sources "${own[@]}" | tr '\n' '\0' |
  xargs -0 sed -nE "s|$include<sheaf/(.*)\.[a-z]+>.*|\1|; T; F; p" | paste - - |
  sed -E 's|\.[a-z]+\t|\t|; s|^\./||' | awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //' || true)
report 'no files include each other in a circle' "$loops"

# A number with a unit is a row of a table, not a line of a pass; one digit may count what a file itself lays out.
number='constexpr[[:space:]]+(std::)?(int|double|float|size_t|u?int[0-9]+_t)[[:space:]]+[a-z_0-9]+[[:space:]]*(=|\{)'
forbid 'constants of plans stand in jit/tuning and jit/numerics' \
  "$number[^;]*([0-9]{2}|[0-9]\.[0-9])" "$none" jit/plan jit/lower
forbid 'which loop of a stage threads share is decided in jit/plan/tasks.cpp' \
  '\.parallel[[:space:]]*=[^=]' '^jit/plan/(tasks|kernels)\.cpp$' jit/plan jit/lower
forbid 'how large a task is is decided there, too' \
  '\.task(\.[a-z_]+)?[[:space:]]*=[^=]' '^jit/plan/(tasks|kernels)\.cpp$' jit/plan jit/lower
rows=$(grep -HnE '^inline constexpr' jit/tuning/tuning.hpp jit/tuning/gpu.hpp 2>/dev/null |
  { grep -vE ';[[:space:]]+// [A-Za-z, ]+; (estimate|limit|manual of [A-Za-z]+|bench_[a-z]+|W[0-9]+): .' || true; })
report 'a row of jit/tuning says its unit, its source, and what it decides' "$rows"
forbid 'types of accumulators are chosen in jit/numerics' \
  'element::f16[^;]*\? *element::f32' '^jit/(numerics|cuda|llvm)/' jit
forbid 'names of processors, their features and their instructions only in jit/target' \
  'cpuid|__builtin_cpu|x86_64-|[xX]86_|X86Target|avx|"[+][a-z]|"zen|immintrin|_mm_' '^jit/(target/|llvm/plugin\.h$)' jit

# But for programs' text and what wrong ones are told, which stand as they are.
forbid 'lines have at most 120 columns' '^.{121,}' \
  '^(tests/(reject/|libraries/reject_|text/round_trip\.cpp)|examples/(13_text|hello|slices)\.cpp)' "${all[@]}"

prose=(-name '*.md' -o -name CMakeLists.txt -o -name '*.cmake' -o -name '*.sh' -o -name '*.py' -o -name '*.awk')
long=$({ find ./*.md ./CMakeLists.txt "${all[@]}" cmake docs scripts -type f \( "${prose[@]}" -o -path 'scripts/*' \) \
  2>/dev/null || true; } | { grep -vxF ./README.md || true; })
report 'so do those of CMake, scripts and documents, but for rows of tables' "$(grep . <<<"$long" | tr '\n' '\0' |
  { LC_ALL=C.UTF-8 xargs -0 -r grep -HnE '^.{121,}' || true; } | { grep -vE '\.md:[0-9]+:\|' || true; })"

# A function begins where a line at the margin, or in a class, ends in a brace, and ends at its fellow.
big=$(sources "${all[@]}" | tr '\n' '\0' | xargs -0 awk '
  FNR == 1 { begun[0] = begun[2] = 0 }
  { match($0, /^ */); at = RLENGTH }
  /^ *: .*\{$/ { at -= 4 }
  /\{$/ && /\(|^ *: / && (at in begun) && !/^ *(namespace|class|struct|enum|union|extern|if|for|while|switch|\})| = / {
    begun[at] = FNR
  }
  /^ *\}/ && (at in begun) && begun[at] {
    if (FNR - begun[at] > 61) print FILENAME ":" begun[at] ": " FNR - begun[at] - 1 " lines"
    begun[at] = 0
  }')
report 'functions have at most 60 lines' "$big"

# Two versions of Sheaf in one process must not be taken for each other.
version=$(sed -n 's/^project(sheaf VERSION \([0-9]*\)\.\([0-9]*\).*/v\1_\2/p' CMakeLists.txt)
outside=$(sources "${own[@]}" | tr '\n' '\0' | { xargs -0 grep -HnE '^namespace sheaf' || true; } |
  { grep -vE ":namespace sheaf::inline $version(::[a-z_:]+)? \\{" || true; })
report "what Sheaf declares is in the inline namespace of its version, sheaf::inline $version" "$outside"

[[ $broken -eq 0 ]] && echo 'boundaries: kept'
exit "$broken"
