#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A run whose sampling is enabled and disabled while it goes on, by a FIFO or after a delay.
. "$(dirname "$0")/../tap.bash"
check() { local name=$1; shift; if "$@" >"$dir/out" 2>&1; then ok "$name"; else not_ok "$name" "$(cat "$dir/out" "$dir/log")"; fi; }

# Bad usage is told before anything is begun.
refuses() { # SENTENCE STATUS OPTION...
  local sentence=$1 want=$2 status
  shift 2
  "$commd" --store "$dir/none.db" "$@" -- true >"$dir/out" 2>&1
  status=$?
  if [ $status = "$want" ] && grep -qF -- "$sentence" "$dir/out" && [ ! -e "$dir/none.db" ]; then
    ok "$*: $sentence"
  else
    not_ok "$*: $sentence" "$status $(cat "$dir/out")"
  fi
}
refuses "--control wants fifo:CTL[,ACK] or fd:CTL[,ACK], not 'ctl'" 2 --control ctl
refuses "--delay -1 wants --control" 2 --delay -1
refuses "a time with its unit such as 500ms, not '500'" 2 --delay 500
refuses "for live runs, not for the source exact" 2 --source exact --control fd:0
refuses "for live runs, not for the source exact" 2 --source exact -D 1s
refuses "/no/such: No such file or directory (mkfifo makes a FIFO)" 1 --control fifo:/no/such
refuses "/dev/zero is no FIFO" 1 --control fifo:/dev/zero
refuses "there is no descriptor 77" 1 --control fd:77
[ "$(id -u)" = 0 ] || { echo "ok $((n + 1)) # SKIP needs root to attach"; exit $status; }

# It works a fifth of its time: there is something to sample, and CPU is left for others.
gcc -x c -O1 -o "$dir/target" - <<'PROGRAM' || { not_ok "the program builds"; exit 1; }
#include <time.h>
#include <unistd.h>
static volatile long table[512];
int main(void)
{
	for (long end = 0;; usleep(4000))
		for (end = clock() + CLOCKS_PER_SEC / 1000; clock() < end;)
			for (int i = 0; i < 512; i++)
				table[i]++;
}
PROGRAM
"$dir/target" &
target=$!
pids+=($target)
mkfifo "$dir/ctl" "$dir/ack"
exec 8<>"$dir/ack"

# begin STORE OPTION...: a run with these, in the background.
begin() {
  local db=$dir/$1.db
  shift
  "$commd" --rate 1000 --slice 100ms --store "$db" --pid $target "$@" 2>"$dir/log" &
  daemon=$!
  pids+=($daemon)
}
answered() { # COMMAND: is it acknowledged?
  echo "$1" >"$dir/ctl"
  [ "$(timeout 300 head -n 1 <&8)" = ack ]
}
ends() { # does the run end well, by itself?
  timeout 300 tail --pid=$daemon -f /dev/null && wait $daemon
}
sql() { python3 -c 'import sqlite3, sys
print(sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute(sys.argv[2]).fetchone()[0])' "$dir/$1.db" "$2"; }
seen() { sql "$1" "SELECT ifnull(sum(accesses), 0) FROM slice WHERE level = 0"; }
slices() { sql "$1" "SELECT count(*) FROM slice WHERE level = 0"; }
# Waits for N more slices than there are.
pass() { # STORE N
  local want=$(($(slices "$1") + $2))
  for _ in $(seq 1000); do
    [ "$(slices "$1")" -ge $want ] && return
    sleep 0.1
  done
}
sees() { # waits until something was sampled after the first N accesses
  for _ in $(seq 1000); do
    [ "$(seen "$1")" -gt "$2" ] && return
    sleep 0.1
  done
  return 1
}

whole_run() { # NAME OPTION...
  local name=$1 before=$SECONDS
  shift
  begin "$name" --control "fifo:$dir/ctl,$dir/ack" -D -1 "$@"
  check "$name: ping is acknowledged" answered ping
  pass "$name" 10
  check "$name: nothing is sampled before it is enabled" [ "$(seen "$name")" = 0 ]
  check "$name: enable is acknowledged" answered enable
  check "$name: then there are samples" sees "$name" 0
  pass "$name" 20
  answered disable || not_ok "$name: disable is acknowledged"
  # What was read by then may wait for the end of its slice.
  pass "$name" 5
  local at
  at=$(seen "$name")
  pass "$name" 10
  check "$name: nothing is sampled while it is disabled" [ "$(seen "$name")" = "$at" ]
  answered enable || not_ok "$name: enable is acknowledged again"
  check "$name: then there are samples again" sees "$name" "$at"
  check "$name: stop is acknowledged" answered stop
  check "$name: and ends the run" ends
  "$commctl" report --json --store "$dir/$name.db" --min-share 0 --top 0 >"$dir/report"
  # Two runs of slices were disabled, 25 of a tenth of a second at least, and one enabled of 20.
  check "$name: the report tells how long it was enabled" jq -e '.run.how == "stopped" and
    (.range | .enabled_ns > 1.5e9 and .enabled_ns < .to_ns - .from_ns - 2e9) and
    (.loss | has("disabled_ms") | not)' "$dir/report"
  "$commctl" report --store "$dir/$name.db" >"$dir/report"
  check "$name: in words as well" grep -q 'sampling was enabled for .* of these' "$dir/report"
  check "$name: and commd's last line" grep -q 'disabled for .* s of it' "$dir/log"
}
whole_run bpf --source bpf
whole_run perf --source perf

# Another budget: more samples of a larger one, and the store has both; what is no budget changes nothing.
"$commd" -q --overhead 0.05 --slice 100ms --store "$dir/budget.db" --pid $target --control "fifo:$dir/ctl,$dir/ack" 2>"$dir/log" &
daemon=$!
pids+=($daemon)
samples() { # of the next 30 slices
  local before
  before=$(sql budget "SELECT ifnull(sum(samples), 0) FROM slice WHERE level = 0")
  pass budget 30
  sql budget "SELECT sum(samples) - $before FROM slice WHERE level = 0"
}
row() { sql budget "SELECT overhead_limit || ' ' || overhead_least FROM run"; }
check "overhead: ping is acknowledged" answered ping
pass budget 10
few=$(samples)
check "overhead: one budget is in the store" [ "$(row)" = "0.0005 0.0" ]
printf 'overhead 51\noverhead\n' >"$dir/ctl"
check "overhead: a larger one is acknowledged" answered "overhead 20"
pass budget 10
many=$(samples)
check "overhead: there are more samples ($few, $many)" [ "$many" -gt $((4 * few)) ]
check "overhead: both budgets are in the store" [ "$(row)" = "0.2 0.0005" ]
check "overhead: what is none is told" grep -qF "'overhead 51': overhead wants a number from 0.01 to 50" "$dir/log"
check "overhead: a smaller one is acknowledged" answered "overhead 0.05"
pass budget 10
few=$(samples)
check "overhead: there are fewer samples again ($many, $few)" [ "$many" -gt $((4 * few)) ]
check "overhead: stop is acknowledged" answered stop
check "overhead: and ends the run" ends
check "overhead: nothing else was acknowledged" [ -z "$(dd iflag=nonblock status=none <&8 2>/dev/null)" ]
"$commctl" report --store "$dir/budget.db" >"$dir/report"
check "overhead: the report tells both, and that none was exceeded" sh -c 'grep -q "at 0.05 % to 20.0 %" "$1" && ! grep -q "over the limit" "$1"' - "$dir/report"

# A command in pieces, without an end, of no meaning; answers that nobody reads.
begin pieces --control "fifo:$dir/ctl"
for piece in e nab l e; do printf %s "$piece" >"$dir/ctl"; sleep 0.1; done
printf 'x\nenabled?\033[2J\ndis' >"$dir/ctl"
sees pieces 0 || not_ok "the run goes on"
printf 'able\n' >"$dir/ctl"
pass pieces 10
at=$(seen pieces)
pass pieces 10
check "a command in pieces is one" [ "$(seen pieces)" = "$at" ]
echo "overhead 2" >"$dir/ctl"
for _ in $(seq 1000); do grep -q "'overhead 2'" "$dir/log" && break; sleep 0.1; done
check "a run with a rate gets no budget" grep -qF "'overhead 2': this run holds its --rate" "$dir/log"
check "what is none is told" grep -qF "no command is called 'enabled?\x1b[2J'" "$dir/log"
# A writer that never stops; the FIFO goes, and is gone for good.
exec 9>"$dir/ctl"
rm "$dir/ctl"
yes "$(printf 'no\nenable\ndisable')" >&9 2>/dev/null &
flood=$!
pids+=($flood)
pass pieces 20
kill $flood
wait $flood 2>/dev/null
check "a flood of commands does not stop slices" kill -0 $daemon
# It may have ended in the midst of a line.
printf '\nenable\n' >&9
at=$(seen pieces)
check "commands behind it are done" sees pieces "$at"
kill -TERM $daemon
check "and the run ends as it is told" ends
check "few sentences are said of it" [ "$(grep -c 'no command' "$dir/log")" -le 5 ]
exec 9>&-

# By descriptor, whose writer goes away.
exec 9> >(sleep 0.2; exec "$commd" -q --rate 1000 --source bpf --store "$dir/fd.db" --pid $target --control fd:3 3<&0 </dev/null 2>"$dir/log")
daemon=$!
printf 'ping\nstop' >&9
exec 9>&-
for _ in $(seq 1200); do grep -q 'nobody can write' "$dir/log" 2>/dev/null && break; sleep 0.1; done
check "a writer that went away is told, and the run goes on" grep -q 'nobody can write' "$dir/log"
kill -TERM $daemon

# After a delay, with a command, which runs meanwhile.
"$commd" -q --rate 1000 --slice 100ms --source bpf --store "$dir/delay.db" -D 1s --duration 3s --pid $target 2>"$dir/log"
"$commctl" report --json --store "$dir/delay.db" --min-share 0 --top 0 >"$dir/report"
check "a delay is not of the run" jq -e '.range | .enabled_ns < .to_ns - .from_ns - 0.9e9 and .samples > 0' "$dir/report"
exit $status
