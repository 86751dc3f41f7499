#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What becomes of a run whose helpers are killed or stopped: it goes on, ends, and tells.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
undo() { [ -z "${helper:-}" ] || kill -9 "$helper" 2>/dev/null; }

sh -c 'while :; do :; done' &
target=$!
pids+=($target)
store=$dir/a.db
start() { # PID: a run of it, which has given its rights up by then, so that it may end no helper by itself
  local i
  rm -f "$store"*
  "$commd" -q --overhead 5 --slice 50ms --pid "$1" --store "$store" >"$dir/log" 2>&1 &
  daemon=$!
  pids+=($daemon)
  for i in $(seq 600); do
    grep -q '^NoNewPrivs:.*1' /proc/$daemon/status 2>/dev/null && grep -q '^CapEff:.*0000000000000000' /proc/$daemon/status && break
    sleep 0.1
  done
}
ends() { # PID: what has ended and waits for its parent has
  local i
  for i in $(seq 600); do
    grep -q '^State:.*[^ZX] (' "/proc/$1/status" 2>/dev/null || return 0
    sleep 0.1
  done
  return 1
}
# run SIGNAL HELPER REGEX: the exit status is 1, with one sentence that matches.
run() {
  local code i
  start $target
  sleep 1
  helper=$(pgrep -x -P $daemon "$2" | head -n 1)
  for i in $daemon $helper $(pgrep -P "$helper"); do grep "^CapBnd" "/proc/$i/status" 2>/dev/null; done >"$dir/bound"
  check "$2: all have an empty bounding set" sh -c '[ "$(grep -vc 0000000000000000 "$1")" = 0 ] && [ -s "$1" ]' - "$dir/bound"
  kill "-$1" "$helper"
  sleep 1
  kill -INT $daemon
  for i in $(seq 600); do kill -0 $daemon 2>/dev/null || break; sleep 0.1; done
  kill -0 $daemon 2>/dev/null && { not_ok "$1 of $2: it ends"; kill -9 $daemon; }
  wait $daemon
  code=$?
  check "$1 of $2: it ends with commd" ends $helper
  kill -9 "$helper" 2>/dev/null
  check "$1 of $2: exit status 1, and a sentence" sh -c 'cat "$1"; [ "$2" = 1 ] && grep -qE "$3" "$1"' - "$dir/log" $code "$3"
  check "$1 of $2: the run is stored to its end" [ "$(sqlite3 -readonly "$store" 'SELECT how FROM run')" = interrupted ]
}
beside() { (cd "$dir" && echo a.db-*); }
for signal in KILL STOP; do
  run $signal commd-remover 'commd-remover was killed or stopped: beside the store .*/a.db stay until the next run in it: a.db-wal, a.db-shm, a.db-ballast$'
  check "$signal of commd-remover: and those it names are there ($(beside))" [ "$(beside)" = "a.db-ballast a.db-shm a.db-wal" ]
  "$commd" -q --overhead 5 --duration 1s --pid $target --store "$store" >"$dir/log" 2>&1
  code=$?
  check "$signal of commd-remover: the next run removes them ($code, $(beside))" [ "$code $(beside)" = "0 a.db-*" ]
done
run KILL commd-files 'commd-files was killed: from then on'
for helper in commd-files commd-remover; do run STOP $helper "$helper was stopped: it ends with this process; if it does not, end process [0-9]+ "; done
start $target
if pgrep -x -P $daemon commd-cpus >"$dir/log"; then cpus=1; else cpus=0; fi
kill -9 $daemon
if [ $cpus = 1 ]; then
  run STOP commd-cpus 'commd-cpus was stopped: it ends with this process; if it does not, end process [0-9]+ '
else
  skip "STOP of commd-cpus: it is named" "there is none here"
fi
# Whatever becomes of commd, also of helpers that are stopped.
for signal in CONT STOP; do
  start $target
  sleep 1
  helpers=$(pgrep -P $daemon)
  helpers="$helpers $(for i in $helpers; do pgrep -P "$i"; done)"
  for i in $helpers; do kill -$signal "$i"; done
  # One that is told to stop and has not yet stops after that.
  for i in $helpers; do
    while [ $signal = STOP ] && grep -q '^State:.*[^TZX] (' "/proc/$i/status" 2>/dev/null; do sleep 0.1; done
  done
  kill -9 $daemon
  wait $daemon 2>/dev/null
  for i in $helpers; do
    ends "$i" || { not_ok "KILL of commd, $signal of its helpers: $(cat "/proc/$i/comm") ends"; kill -9 "$i"; continue 2; }
  done
  ok "KILL of commd, $signal of its helpers: all end"
done

# Another takes the place of commd-memory.  Of what the target does then nothing was read before.
replaced() { # SIGNAL
  local code i
  mkfifo "$dir/go"
  sh -c 'read -r line <"$1"; while :; do :; done' - "$dir/go" &
  later=$!
  pids+=($later)
  start $later
  helper=$(pgrep -x -P "$(pgrep -x -P $daemon commd-files)" commd-memory)
  kill "-$1" "$helper"
  echo >"$dir/go"
  for i in $(seq 1200); do
    [ "$(sqlite3 -readonly "$store" 'SELECT total(accesses) > 0 FROM slice' 2>/dev/null)" = 1 ] && break
    sleep 0.1
  done
  kill -INT $daemon
  wait $daemon
  code=$?
  check "$1 of commd-memory: what the target does is seen all the same" sh -c 'cat "$1"; [ "$2" = 0 ]' - "$dir/log" $code
  kill -9 $later
  rm "$dir/go"
}
for signal in KILL STOP; do replaced $signal; done
echo "1..$n"
exit $status
