# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For scripts that speak TAP, which source it first.  They then are in the repository's root;
# $O is where it was built, $n and $status what was told, and $dir a folder that goes when they
# end, with the processes in $pids.  What else must go the script says in undo().
set -u
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
O=$(realpath "${O:-.output}")
# shellcheck disable=SC2034 # for scripts
commd=$O/commd commctl=$O/commctl
n=0 status=0
dir=$(mktemp -d)
pids=()
cleanup() {
  local one # undo() has names of its own
  for one in "${pids[@]:-}"; do [ -n "$one" ] && kill -9 "$one" 2>/dev/null; done
  declare -F undo >/dev/null && undo
  rm -rf "$dir"
}
trap cleanup EXIT

ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { # NAME [WHY]
  n=$((n + 1)) status=1
  echo "not ok $n - $1"
  [ $# = 1 ] || printf '%s\n' "$2" | head -30 | sed 's/^/#   /'
}
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
# skip_all WHY: instead of any result.
skip_all() { echo "ok 1 # SKIP $1"; exit 0; }
# Whether commd is built with SANITIZE=1.
is_sanitized() { nm "$commd" 2>/dev/null | grep -q __asan_init; }
# commd_until SECONDS COMMAND...: ends commd, started last, when the command holds of what it has written so far, or later.
commd_until() {
  local pid=$! left=$1
  shift
  while sleep 1; [ $((left -= 1)) -gt 0 ] && kill -0 "$pid" 2>/dev/null && ! "$@"; do :; done
  kill -INT "$pid"
  wait "$pid"
}
result() { if [ "$1" = 0 ]; then ok "$2"; else not_ok "$2"; fi; } # STATUS NAME
check() { # NAME COMMAND...: its output is shown if it fails
  local name=$1
  shift
  if "$@" >"$dir/out" 2>&1; then ok "$name"; else not_ok "$name" "$(cat "$dir/out")"; fi
}

# A command ends with that status and says one sentence on stderr, but for a hint of its usage.
sentence() { # NAME CODE REGEX COMMAND...
  local name=$1 code=$2 regex=$3 got out
  shift 3
  out=$("$@" 2>&1 >"$dir/said" </dev/null)
  got=$?
  [ $got = "$code" ] && grep -qE "$regex" <<<"$out" && [ "$(grep -vc '^Try ' <<<"$out")" = 1 ] && ok "$name" || not_ok "$name" "$got: $out"
}
