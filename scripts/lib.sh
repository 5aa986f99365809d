# Shared by the scripts of this folder; sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'sheaf: %s\n' "$*" >&2
  exit 1
}

# The packages of a list, without comments.
packages() { sed 's/#.*//' "$1" | awk 'NF { print $1 }'; }

is_installed() { [[ $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) == 'install ok installed' ]]; }

# Without apt nobody here knows the names of the packages: the tools are looked for, and one message says what to
# install.
check_tools() {
  local missing=() tool
  for tool in g++ cmake ninja; do command -v "$tool" >/dev/null || missing+=("$tool"); done
  [[ ${#missing[@]} -eq 0 ]] && return
  fail "not found: ${missing[*]}. There is no apt-get here to install them. Install what Sheaf needs and run this again:
$(grep -v '^# ' "$root/scripts/packages.txt" | sed 's/^/  /')"
}

# Installs what is missing of a list (packages.txt); asks the package index only then.
install_packages() {  # [LIST]
  command -v apt-get >/dev/null && command -v dpkg-query >/dev/null || { check_tools; return; }
  local missing=() package
  for package in $(packages "${1:-$root/scripts/packages.txt}"); do
    is_installed "$package" || missing+=("$package"); done
  [[ ${#missing[@]} -eq 0 ]] && return
  local sudo=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "not installed: ${missing[*]}. As root: apt-get install ${missing[*]}"
    sudo=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
}

# quietly COMMAND...: shows the output only where the command fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [[ $status -eq 0 ]] || cat "$log" >&2
  rm -f "$log"
  return "$status"
}

# build PRESET [TARGET...]: configures, with the options in `configure`, and builds; ninja shows its progress as one
# line in a terminal.
configure=()
build() {
  local preset=$1 targets=()
  shift
  [[ $# -eq 0 ]] || targets=(--target "$@")
  say "Building ($preset, $jobs jobs)"
  (
    cd "$root"
    quietly cmake --preset "$preset" "${configure[@]}"
    cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}"
  )
}
