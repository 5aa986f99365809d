#!/usr/bin/env bash
# Kernels ahead of time for GPUs: the catalogue's programs on the tests' driver, which runs them in emulation, from
# machine code and from text; GPUs without code, no driver, wrong data, calls that are queued only; a library without
# code for a processor; and, where the real compiler is, its machine code.
# Usage: gpu.sh SHEAF_AOT AOT_EXPECTED SOURCE_FOLDER FAKE_DRIVER FAKE_NVRTC PROGRAMS
set -euo pipefail
aot=$1 expected=$2 source=$3 driver=$4 nvrtc=$5 programs=$6
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$1"; exit 1; }
flags='-std=c99 -D_XOPEN_SOURCE=700 -Wall -Wextra -Wpedantic -Werror'
mkdir "$folder/driver"
ln -s "$driver" "$folder/driver/libcuda.so.1"
on_gpu() { LD_LIBRARY_PATH="$folder/driver" "$@"; }

# Emulated code takes a second to make: few programs, for usual extents; one sorts.
for kernel in gather_step soft_rows pooling; do
  awk -v name="$kernel" '/^kernel /{ inside = $2 == name } inside' "$programs"
done >"$folder/calls.sheaf"
grep -v '^like ' "$folder/calls.sheaf" >"$folder/gpu.sheaf"
SHEAF_NVRTC=$nvrtc "$aot" --name catalogue --out "$folder" --targets x86-64-v2,sm_90 "$folder/gpu.sheaf"
"$expected" catalogue "$folder/driver.c" "$folder/calls.sheaf"
sed -E -e 's/(catalogue_[a-z_]+)\((.*), NULL\), catalogue_message/\1_gpu(\2, NULL, NULL), catalogue_message/' \
  -e 's/(catalogue_[a-z_]+)_workspace\(/\1_gpu_workspace(/' "$folder/driver.c" >"$folder/on_gpu.c"
grep -q 'soft_rows_gpu(' "$folder/on_gpu.c" || fail 'the calls are not for a GPU'
gcc -std=c99 -D_XOPEN_SOURCE=700 -I"$folder" -I"$source" "$folder/on_gpu.c" "$folder"/catalogue*.c \
  "$folder/catalogue-x86-64-v2.o" -o "$folder/run" -lm -lpthread
gcc $flags -c -o "$folder/c.o" "$folder/catalogue.c"
# Arrays of the host, read before a call returns.
on_gpu env FAKE_EAGER=1 "$folder/run" x86-64-v2 || fail 'values differ'
# Text runs on a later GPU.
on_gpu env FAKE_EAGER=1 FAKE_CAPABILITY=100 "$folder/run" x86-64-v2 >/dev/null || fail 'values differ, from text'

# A library for GPUs alone, without unused functions.
printf 'kernel gather\ninput x: f32[?]\ninput at: i64[?]\ny(i) = x(at(i)) + x(at(i))\n' >"$folder/one.sheaf"
printf 'kernel ends\ninput x: f32[?]\ninput w: f32[?]\ninput z: f32[?]\ninput skipped: f32[?]\n%s\n' \
  'y(i) = sum(over(k, t.in(extent(skipped, 0), extent(x, 0))), x(t) * w(i) * z(k))' >>"$folder/one.sheaf"
SHEAF_NVRTC=$nvrtc "$aot" --name one --out "$folder" --targets sm_90 "$folder/one.sheaf"
gcc $flags -I"$folder" "$source/gpu_calls.c" "$folder/one.c" "$folder/one-gpu.c" -o "$folder/calls" -lm -lpthread
echo '#include "one.hpp"' | g++ -std=c++20 -Wall -Wextra -Wpedantic -Werror -x c++ -fsyntax-only -I"$folder" -
says() {
  local words
  words=$(cat)
  [[ $words == *"$1"* ]] || fail "expected $1, found $words"
}
on_gpu "$folder/calls" >"$folder/words" || fail "$(cat "$folder/words")"
says 'target sm_90' <"$folder/words"
says 'tensor x, dimension 0: expected a subscript from 0 to 4, found 7 for at(i) at i = 2' <"$folder/words"
on_gpu env FAKE_CAPABILITY=80 "$folder/calls" |
  says 'unsupported: target: expected a GPU that there is code for, found sm_80'
on_gpu env FAKE_DEVICES=0 "$folder/calls" | says 'device_failed: cuInit: expected success, found no CUDA-capable device'
"$folder/calls" | says 'device_failed: driver of GPUs: expected libcuda.so.1, found none'
needed=$(ldd "$folder/calls" | awk '{print $1}' | grep -vE '^(linux-vdso|lib(c|m)\.|/lib64/ld-)' || true)
[[ -z $needed ]] || fail "the program needs $needed"

# The real compiler.
if words=$("$aot" --name real --out "$folder" --targets sm_80,sm_90 "$folder/gpu.sheaf" 2>&1); then
  [[ $(grep -c 'real_image_0_' "$folder/real-gpu.c") == 6 ]] || fail 'expected code for two targets, and text'
  gcc $flags -c -o "$folder/real.o" "$folder/real-gpu.c"
  words=$("$aot" --name real --out "$folder" --targets sm_30 "$folder/gpu.sheaf" 2>&1) && fail 'accepted: sm_30'
  [[ $words == *'target sm_30: this compiler of CUDA knows sm_'* ]] || fail "$words"
else
  [[ $words == *'expected NVRTC'* ]] || fail "$words"
  echo 'skipped: machine code, without NVRTC'
fi
echo 'kernels ahead of time for GPUs: as expected'
