#!/usr/bin/env bash
# GDB stops at a line of a kernel's IR, which it lists. Usage: debugged.sh PROGRAM
set -euo pipefail
command -v gdb >/dev/null || { echo 'skipped: no gdb'; exit 77; }
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder" /tmp/sheaf-"${pid:-none}"-??????' EXIT
export SHEAF_SYMBOLS=gdb SHEAF_CACHE=off SHEAF_THREADS=1
cat >"$folder/commands" <<'END'
set pagination off
set confirm off
set breakpoint pending on
break __jit_debug_register_code
run
info inferiors
finish
python
import glob
text, = glob.glob("/tmp/sheaf-%d-??????/*.ir" % gdb.selected_inferior().pid)
store = next(n for n, line in enumerate(open(text), 1) if " store " in line)
gdb.execute("break %s:%d" % (text, store))
end
continue
backtrace
list
END
gdb -nx -batch -x "$folder/commands" "$program" >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
pid=$(sed -n 's/^\* 1 .*process \([0-9]*\).*/\1/p' "$folder/said")
expected() { grep -qE "$1" "$folder/said" || { cat "$folder/said"; echo "expected $1"; exit 1; }; }
expected '^[0-9]+\s+store .*doubled\['
expected '^#0 .*doubled.* at .*\.ir:[0-9]+'
expected '^#[1-9].* main \(\)'
echo 'debugged: as expected'
