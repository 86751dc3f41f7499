#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What becomes of a run whose helpers are killed or stopped: it goes on, ends, and tells.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
undo() { [ -z "${helper:-}" ] || kill -9 "$helper" 2>/dev/null; }

sh -c 'while :; do :; done' &
target=$!
pids+=($target)
# run SIGNAL HELPER REGEX: the exit status is 1, with one sentence that matches.
run() {
  local store=$dir/a.db code i
  rm -f "$dir"/a.db*
  "$commd" -q --overhead 5 --pid $target --store "$store" >"$dir/log" 2>&1 &
  daemon=$!
  pids+=($daemon)
  # It has given its rights up by then, so that it may end no helper by itself.
  for i in $(seq 600); do
    grep -q '^NoNewPrivs:.*1' /proc/$daemon/status 2>/dev/null && grep -q '^CapEff:.*0000000000000000' /proc/$daemon/status && break
    sleep 0.1
  done
  sleep 1
  helper=$(pgrep -x -P $daemon "$2")
  for i in $daemon $helper $(pgrep -P "$helper"); do grep "^CapBnd" "/proc/$i/status" 2>/dev/null; done >"$dir/bound"
  check "$2: all have an empty bounding set" sh -c '[ "$(grep -vc 0000000000000000 "$1")" = 0 ] && [ -s "$1" ]' - "$dir/bound"
  kill "-$1" "$helper"
  sleep 1
  kill -INT $daemon
  for i in $(seq 600); do kill -0 $daemon 2>/dev/null || break; sleep 0.1; done
  kill -0 $daemon 2>/dev/null && { not_ok "$1 of $2: it ends"; kill -9 $daemon; }
  wait $daemon
  code=$?
  kill -9 "$helper" 2>/dev/null
  check "$1 of $2: exit status 1, and a sentence" sh -c 'cat "$1"; [ "$2" = 1 ] && grep -qE "$3" "$1"' - "$dir/log" $code "$3"
  check "$1 of $2: the run is stored to its end" [ "$(sqlite3 -readonly "$store" 'SELECT how FROM run')" = interrupted ]
}
for signal in KILL STOP; do run $signal commd-remover 'commd-remover was killed or stopped'; done
run KILL commd-files 'commd-files was killed: from then on'
run STOP commd-files 'commd-files was stopped, and stays as process [0-9]+: end it'
echo "1..$n"
exit $status
