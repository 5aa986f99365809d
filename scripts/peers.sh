# The peers of scripts/bench --peers; sourced by it. All they need goes to build/peers, and is kept there.

peers=$root/build/peers
python=$peers/venv/bin/python

# PyTorch's package asks for all of CUDA, 3 GB that a processor needs nothing of, but its libraries are linked. Where a
# CUDA 13 is installed, the few that it lacks do.
install_torch() {
  local extra=() package
  if compgen -G '/usr/local/cuda/lib64/libcublas.so.13' >/dev/null; then
    "$python" -m pip install -q filelock typing-extensions sympy networkx jinja2 fsspec
    while read -r package; do extra+=("$package"); done <"$root/bench/peers/python/torch_libraries.txt"
    "$python" -m pip install -q --no-deps "$(grep '^torch==' "$root/bench/peers/python/requirements.txt")" "${extra[@]}"
    "$python" -c 'import torch' 2>/dev/null && return
  fi
  "$python" -m pip install -q "$(grep '^torch==' "$root/bench/peers/python/requirements.txt")"
}

prepare_peers() {
  mkdir -p "$peers"
  if ! "$python" -c 'import torch, jax, numpy, halide' 2>/dev/null; then
    say 'Python peers: PyTorch, JAX, NumPy, Halide (once, some 1 GB)'
    command -v python3 >/dev/null || fail 'python3 not found: the peers need it, with its module venv'
    rm -rf "$peers/venv"
    python3 -m venv "$peers/venv" || fail 'no virtual environment: Debian has the module in python3-venv'
    grep -v '^torch==' "$root/bench/peers/python/requirements.txt" >"$scratch/others"
    "$python" -m pip install -q -r "$scratch/others"
    install_torch
  fi
  if command -v apt-get >/dev/null; then install_packages "$root/bench/peers/packages.txt"; fi
  say 'Building the C++ peers'
  local halide
  halide=$("$python" -c 'import halide, os; print(os.path.dirname(halide.__file__))')
  quietly cmake -G Ninja -S "$root/bench/peers" -B "$peers/native" -DCMAKE_BUILD_TYPE=Release \
    -DSHEAF_BUILD="$root/build" \
    -DHALIDE="$halide"
  quietly cmake --build "$peers/native" --parallel "$jobs"
}

# peer_line ID WHAT MS ERROR PERCENT NAME...: a line of the JSON file, and of the screen. PERCENT: of the bound, of
# those that are measured in pairs with it; else empty.
peer_line() {
  local id=$1 what=$2 ms=$3 error=$4 percent=$5
  shift 5
  progress
  printf '%-24s %-30s %10.4g %-3s %s\n' "$id" "$what" "$ms" ms "$*"
  printf '{"id": "%s", "what": "%s", "peer": "%s", "value": %s, "unit": "ms"%s%s}\n' "$id" "$what" "$*" "$ms" \
    "${percent:+, \"percent_of_bound\": $percent}" "${error:+, \"error\": ${error/nan/null}}" >>"$lines"
}
# Halide's search for a schedule has no limit of its own, so each program has one.
run_native_peers() {  # ID...
  local name kind id what ms unit bound percent rest
  for name in loops eigen xtensor halide; do
    [[ -x $peers/native/peer_$name ]] || { echo "peer $name: not built here"; continue; }
    while read -r kind id what ms unit bound percent rest; do
      if [[ $kind == row ]]; then peer_line "$id" "$what" "$ms" "${rest%% *}" "$percent" "${titles[$name]}"
      else progress; echo "$id $what $ms $unit $bound $percent $rest"; fi
    done < <(timeout 240 "$peers/native/peer_$name" "$@" ||
      echo "note ${titles[$name]}: ended early ($?); what is missing is left out")
  done
}
declare -A titles=([loops]='C++ loops' [eigen]=Eigen [xtensor]=xtensor [halide]=Halide)

# Large blocks come from the heap and stay there: without, each result of a peer would be new memory, page by page.
run_python_peers() {  # ID...
  local line words
  while read -r line; do
    if [[ $line == peer\ * ]]; then
      read -ra words <<<"$line"
      peer_line "${words[2]}" "${words[3]}" "${words[5]}" "${words[6]}" '' "${words[1]}"
    elif [[ $line == note\ * ]]; then
      progress
      echo "${line#note }"
    fi
  done < <(MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000 MALLOC_ARENA_MAX=1 \
    TORCHINDUCTOR_CACHE_DIR=$peers/inductor timeout 720 "$python" "$root/bench/peers/python/run.py" "$@" \
      2>"$scratch/python_errors" ||
    { echo "note Python peers ended early:"; tail -3 "$scratch/python_errors" | sed 's/^/note /'; })
}
run_peers() {  # ID...: W1 to W13
  run_native_peers "$@"
  progress 'Python peers'
  run_python_peers "$@"
}
