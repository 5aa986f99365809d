#!/usr/bin/env bash
# What a library of kernels is: the same files in any folder, C99 for two compilers, in need of libc and libm alone;
# the one for aarch64 under qemu; objects for Windows and macOS; mistakes in sources with file and line.
# Usage: built.sh SHEAF_AOT SOURCE_FOLDER DRIVER.c DRIVER PROGRAMS...
set -euo pipefail
aot=$1 source=$2 driver_c=$3 driver=$4
shift 4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$1"; exit 1; }
make_kernels() { "$aot" --name catalogue --out "$@"; }

# The same in two folders.
mkdir "$folder/a" "$folder/b"
(cd "$folder/a" && make_kernels . --targets x86-64-v3 "$@")
make_kernels "$folder/b" --targets x86-64-v3 "$@"
diff -r "$folder/a" "$folder/b" || fail 'two builds differ'

# C99 without a warning, by both compilers, and the header by C++.
for compiler in gcc clang-19 clang; do
  command -v $compiler >/dev/null || continue
  $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -c -o "$folder/c.o" "$folder/a/catalogue.c" -D_XOPEN_SOURCE=700
  $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -x c -fsyntax-only "$folder/a/catalogue.h"
done
g++ -Wall -Wextra -Wpedantic -Werror -x c++ -fsyntax-only "$folder/a/catalogue.h"
if command -v tcc >/dev/null; then tcc -c -o "$folder/tcc.o" -DSK_NO_THREADS -x c "$folder/a/catalogue.h"; fi

# Ten programs for one target, for any extents: below 0.45 MB.
mkdir "$folder/ten"
for kernel in gather soft_rows soft_backward normed entropy columns running positions moving pooling; do
  awk -v name="$kernel" '/^kernel /{ inside = $2 == name } inside && !/^like /' "$1"
done >"$folder/ten/ten.sheaf"
[[ $(grep -c '^kernel ' "$folder/ten/ten.sheaf") == 10 ]] || fail 'ten programs are not ten'
for target in x86-64-v2 x86-64-v3 x86-64-v4; do
  "$aot" --name ten --out "$folder/ten" --targets $target "$folder/ten/ten.sheaf"
  gcc -O2 -s -shared -fPIC -o "$folder/ten/libten.so" "$folder/ten/ten.c" "$folder/ten/ten-$target.o" -lm -lpthread
  size=$(stat -c %s "$folder/ten/libten.so")
  (( size < 450000 )) || fail "ten programs for $target are $size bytes"
done

# One of ragged means with its gradient, which has the most plans, too.
awk '/^kernel /{ inside = $2 == "slices" } inside' "$1" >"$folder/ten/slices.sheaf"
for target in x86-64-v2 x86-64-v3 x86-64-v4; do
  "$aot" --name slices --out "$folder/ten" --targets $target "$folder/ten/slices.sheaf"
  gcc -O2 -s -shared -fPIC -o "$folder/ten/slices.so" "$folder/ten/slices.c" "$folder/ten/slices-$target.o" \
    -lm -lpthread
  size=$(stat -c %s "$folder/ten/slices.so")
  (( size < 400000 )) || fail "slices for $target are $size bytes"
done

# Debug information names kernels and lines of their IR, and changes no code; the text of the IR is beside the object.
awk '/^kernel /{ inside = $2 == "soft_backward" } inside' "$1" >"$folder/ten/soft.sheaf"
mkdir "$folder/plain" "$folder/debug"
"$aot" --name soft --out "$folder/plain" --targets x86-64-v3 "$folder/ten/soft.sheaf"
"$aot" --name soft --out "$folder/debug" --targets x86-64-v3 --debug "$folder/ten/soft.sheaf"
for each in plain debug; do
  objcopy -O binary -j .text "$folder/$each/soft-x86-64-v3.o" "$folder/$each/text"
done
cmp "$folder/plain/text" "$folder/debug/text" || fail 'debug information changes code'
lines=$(objdump --dwarf=decodedline "$folder/debug/soft-x86-64-v3.o" | awk '$1 ~ /^soft-.*\.ir$/ && $2 > 0 {print $2}')
[[ -n $lines ]] || fail 'no lines'
store=$(grep -n ' store ' "$folder/debug/soft-x86-64-v3.ir" | head -n 1 | cut -d : -f 1)
grep -qx "$store" <<<"$lines" || fail "no line of the store in line $store"
objdump --dwarf=info "$folder/debug/soft-x86-64-v3.o" | grep 'DW_AT_name.*soft_soft_backward' >/dev/null ||
  fail 'no names'
grep -rq "$folder" "$folder/debug" && fail 'debug information names the folder'

# Nothing but libc and libm.
needed=$(ldd "$driver" | awk '{print $1}' | grep -vE '^(linux-vdso|lib(c|m)\.|/lib64/ld-)' || true)
[[ -z $needed ]] || fail "the program needs $needed"
outside=$(nm --undefined-only "$folder/a/catalogue-x86-64-v3.o" | awk '{print $2}' |
  grep -vE '^(mem(cpy|set|move)|(exp|log|log1p|expm1|tanh|erf|sin|cos|pow|fmod|rint|floor|ceil)f?)$' || true)
[[ -z $outside ]] || fail "the kernels call $outside"
nm "$driver" | grep -E ' _Z' >/dev/null && fail 'the program has symbols of C++'

# aarch64, run by qemu.
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
  mkdir "$folder/arm"
  make_kernels "$folder/arm" --targets aarch64 "$@"
  aarch64-linux-gnu-gcc -std=c99 -D_XOPEN_SOURCE=700 -O1 -I"$folder/arm" -I"$source" "$driver_c" \
    "$folder/arm/catalogue.c" "$folder/arm/catalogue-aarch64.o" -o "$folder/arm/driver" -lm -lpthread
  qemu-aarch64 -L /usr/aarch64-linux-gnu "$folder/arm/driver"
else
  echo 'skipped: aarch64, without aarch64-linux-gnu-gcc and qemu-aarch64'
fi

# Objects of other systems, by their first bytes and by what they need.
for system in windows mingw macos; do
  mkdir "$folder/$system"
  make_kernels "$folder/$system" --targets x86-64-v3 --system $system "$@"
done
[[ $(od -An -tx1 -N2 "$folder/windows/catalogue-x86-64-v3.obj" | tr -d ' ') == 6486 ]] || fail 'no COFF object'
[[ $(od -An -tx1 -N2 "$folder/mingw/catalogue-x86-64-v3.obj" | tr -d ' ') == 6486 ]] || fail 'no COFF object of MinGW'
[[ $(od -An -tx1 -N4 "$folder/macos/catalogue-x86-64-v3.o" | tr -d ' ') == cffaedfe ]] || fail 'no Mach-O object'

# All that they need of Windows is what probes the stack, and for MSVC its sign that numbers are floating.
for system in windows mingw; do
  needed=$(nm --undefined-only "$folder/$system/catalogue-x86-64-v3.obj" | awk '{print $2}' |
    grep -vE '^(mem(cpy|set|move)|(exp|log|log1p|expm1|tanh|erf|sin|cos|pow|fmod|rint|floor|ceil)f?)$' | sort)
  [[ $system == windows ]] && known=$'__chkstk\n_fltused' || known=___chkstk_ms
  [[ $needed == "$known" ]] || fail "objects for $system need $needed"
done
if command -v x86_64-w64-mingw32-gcc >/dev/null; then
  x86_64-w64-mingw32-gcc -std=c99 -O1 -I"$folder/mingw" -I"$source" "$driver_c" "$folder/mingw/catalogue.c" \
    "$folder/mingw/catalogue-x86-64-v3.obj" -o "$folder/mingw/driver.exe"
else
  echo 'skipped: a program of MinGW, without x86_64-w64-mingw32-gcc'
fi

# Mistakes.
refused() {
  local words
  printf '%b' "$2" >"$folder/wrong.sheaf"
  words=$("$aot" --name wrong --out "$folder" "$folder/wrong.sheaf" 2>&1) && fail "accepted: $2"
  [[ $words == *"$1"* ]] || fail "expected ...$1..., found $words"
}
refused 'wrong.sheaf, line 1: expected a line `kernel NAME` first' 'y(i) = x(i)\n'
refused 'kernel bad (line 1): ' 'kernel bad\ny(i) = sum(j\n'
refused 'wrong.sheaf, line 2: z is no input of the program' 'kernel bad\nlike z 3\ninput x: f32[?]\ny = sum(i, x(i))\n'
refused 'wrong.sheaf, line 2: x has rank 1, got 2 extents' 'kernel bad\nlike x 3 4\ninput x: f32[?]\ny = sum(i, x(i))\n'
strict='kernel total\noption determinism strict\ninput x: f32[?]\ny = sum(i, x(i))\n'
refused 'expected targets with fused multiply-add, found x86-64-v2' "$strict"
"$aot" --name strict --out "$folder" --targets x86-64-v3,x86-64-v4 "$folder/wrong.sheaf"
echo 'kernels ahead of time: as expected'
