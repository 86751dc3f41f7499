#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Samples of a program say of its regions, frames and types what its exact run says.  make accuracy has the
# figures of longer runs: here they are low enough for a busy machine, and high enough that one stream
# in another's place fails.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to sample"

O=$O python3 -B tests/truth/against_exact.py --frames 10 --json >"$dir/r" 2>"$dir/err" && [ -s "$dir/r" ] || {
  not_ok "the two runs" "$(cat "$dir/err")"
  exit 1
}
at_least() { # WHAT NAME SHARE
  if jq -e ".$2 >= $3" "$dir/r" >/dev/null 2>&1; then ok "$1"; else not_ok "$1" "$(cat "$dir/r")"; fi
}
at_least "regions" region 0.4
at_least "frames" frame 0.4
at_least "samples know frames" framed 0.05
at_least "types" type 0.4
at_least "a line's types are those of the exact run" types 0.95
at_least "samples know types" typed 0.3
at_least "the exact run knows types" typed_exact 0.95
exit $status
