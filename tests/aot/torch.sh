#!/usr/bin/env bash
# examples/torch_function.py with the kernels that its text shows; skipped without PyTorch. The interpreter:
# SHEAF_PYTHON, or python3. Usage: torch.sh SHEAF_AOT SOURCE
set -euo pipefail
aot=$1 source=$2
python=${SHEAF_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo 'skipped: no PyTorch'; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed -n '/^    kernel value/,/^    output/ s/^    //p' "$source/examples/torch_function.py" >"$folder/layer.sheaf"
"$aot" --name layer --out "$folder" "$folder/layer.sheaf"
gcc -shared -fPIC -fvisibility=hidden -o "$folder/liblayer.so" "$folder"/layer.c "$folder"/layer-*.o -lm -lpthread
said=$("$python" "$source/examples/torch_function.py" "$folder/liblayer.so" "$folder/layer.json")
[[ $said == 'gradcheck: passed; a training loop lowers its loss' ]] || { echo "$said"; exit 1; }
