#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How a live run ends: told by a signal, or when what it needs is taken away.  Whatever it was,
# commd ends, says so, and what was stored can be read.
. "$(dirname "$0")/../tap.bash"
db=$dir/a.db
undo() {
  [ -n "${group:-}" ] && [ -d "$group" ] && rmdir "$group"
}
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

python3 -c '
import time
end = time.time() + 3000
x = [0] * 1000
while time.time() < end:
    for i in range(1000): x[i] = x[i - 1] + 1
    time.sleep(0.001)' &
target=$!
pids+=($target)
disown $target # no word of bash about its end

slices() { "$commctl" list --store "$1" --json 2>/dev/null | jq '[.. | .slices? // empty] | max // 0'; }

# Begins a run and waits until it has stored two slices.
begin() { # STORE OPTION...
  local store=$1
  shift
  rm -f "$store"
  "$commd" --rate 100 --slice 200ms --store "$store" "$@" 2>"$dir/log" >/dev/null &
  daemon=$!
  pids+=($daemon)
  for _ in $(seq 1000); do
    kill -0 $daemon 2>/dev/null || break
    [ "$(slices "$store")" -ge 2 ] 2>/dev/null && break
    sleep 0.2
  done
}

# Waits for the end of commd, at most some minutes; leaves its exit status in code.
ended() {
  for _ in $(seq 600); do
    kill -0 $daemon 2>/dev/null || break
    sleep 0.2
  done
  kill -9 $daemon 2>/dev/null
  wait $daemon 2>/dev/null
  code=$?
}

# verdict NAME CODE REGEX: commd ended with that status and said that.
verdict() {
  ended
  [ $code = 3 ] && code=0 # on a busy machine so short a run may see nothing
  if [ $code = "$2" ] && grep -qE "$3" "$dir/log"; then
    ok "$1"
  else
    not_ok "$1" "exit status $code, not $2, or no /$3/ in: $(cat "$dir/log")"
  fi
}
how() { "$commctl" list --store "$1" --json | jq -r '.runs[-1] | .state + ", " + .how'; }

for signal in TERM INT HUP USR1 USR2 ALRM RTMIN RTMAX; do
  begin "$db" --pid $target
  kill -$signal $daemon
  verdict "SIG$signal ends commd" 0 interrupted
  [ "$(how "$db")" = "finished, interrupted" ] && ok "SIG$signal: the run is closed" || not_ok "SIG$signal: the run is closed" "$(how "$db")"
  [ "$(find "$dir" -name 'a.db*')" = "$db" ] || not_ok "SIG$signal: the store is one file" "$(ls "$dir")"
done

# Closed when commd starts: nothing of the run is in their place, where it would take what is printed.
rm -f "$db"
"$commd" --rate 100 --duration 1s --store "$db" --pid $target 0<&- 1>&- 2>&-
[ "$(find "$dir" -name 'a.db*')" = "$db" ] && [ "$(how "$db")" = "finished, duration" ] && ok "standard files may be closed" ||
  not_ok "standard files may be closed" "$(ls "$dir"; how "$db")"

# The store is taken away: the run ends, and says what became of it.
begin "$db" --pid $target
mv "$db" "$dir/moved.db"
verdict "the store is moved" 1 'was moved; the run ended'
[ "$(how "$dir/moved.db")" = "finished, store moved" ] && ! grep -q '^see:' "$dir/log" && ok "the moved store has the run" ||
  not_ok "the moved store has the run" "$(how "$dir/moved.db"); $(cat "$dir/log")"
mkdir "$dir/shut"
begin "$dir/shut/a.db" --pid $target
chmod 000 "$dir/shut"
verdict "the store's directory is shut" 1 'is out of reach: a directory on its path'
chmod 700 "$dir/shut"
[ "$(how "$dir/shut/a.db")" = "finished, store out of reach" ] && ok "a store in a shut directory has the run" || not_ok "a store in a shut directory has the run" "$(how "$dir/shut/a.db")"
rm -r "$dir/shut"
begin "$db" --pid $target
rm "$db"
verdict "the store is deleted" 1 'was deleted; the run ended'
[ -z "$(find "$dir" -name 'a.db*')" ] && ok "nothing is left of a deleted store" || not_ok "nothing is left of a deleted store" "$(ls "$dir")"
begin "$db" --pid $target
truncate -s 20000 "$db"
verdict "the store is cut short" 1 'was cut short by another program'
begin "$db" --pid $target
truncate -s 40000 "$db-wal"
verdict "the store's log is cut short" 1 'was cut short by another program'
# The file that SQLite maps is taken away beneath those that use it.
if command -v tmux >/dev/null; then
  begin "$db" --pid $target
  tmux -S "$dir/tmux" -f /dev/null new-session -d -s top -x 100 -y 30 "TERM=xterm '$commctl' top --store '$db'; echo ended \$?; sleep 1000"
  screen() { tmux -S "$dir/tmux" capture-pane -p -t top; }
  for _ in $(seq 1200); do screen | grep -q '^run 1 ' && break; sleep 0.1; done
  kill -STOP $daemon # or it says so first
  truncate -s 0 "$db-shm"
  for _ in $(seq 1200); do screen | grep -q ended && break; sleep 0.1; done
  screen >"$dir/screen"
  grep -q 'was cut short by' "$dir/screen" && grep -q '^ended 1' "$dir/screen" && ok "commctl says that a part of the store is gone" ||
    not_ok "commctl says that a part of the store is gone" "$(cat "$dir/screen")"
  tmux -S "$dir/tmux" kill-server
  kill -CONT $daemon
else
  begin "$db" --pid $target
  truncate -s 0 "$db-shm"
fi
verdict "the -shm file is cut short" 1 'the -shm file of the store was cut short'
[ "$("$commctl" list --store "$db" --json | jq '.runs[-1].slices >= 2')" = true ] && ok "what was stored before is there" ||
  not_ok "what was stored before is there" "$("$commctl" list --store "$db" 2>&1)"

# The target's cgroup is removed, and the one that is made under its name later is followed.
threads() { "$commctl" report --by-thread --self --json --all --min-share 0 --top 0 --store "$1" 2>/dev/null; }
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/commprof-ending-$$
member() { # NAME
  python3 -c '
import sys
open("/proc/self/comm", "w").write(sys.argv[1])
x = [0] * 1000
while True:
    for i in range(1000): x[i] = x[i - 1] + 1' $1 &
  member=$!
  pids+=($member)
  disown $member
  echo $member >"$group/cgroup.procs"
}
remove_group() {
  kill -9 $member
  for _ in $(seq 1200); do rmdir "$group" 2>/dev/null && break; sleep 0.1; done
}
if [ -f "${group%/*}/cgroup.procs" ] && mkdir "$group" 2>/dev/null; then
  member before
  begin "$db" --cgroup "$group"
  remove_group
  for _ in $(seq 1200); do grep -q 'was removed' "$dir/log" && break; sleep 0.1; done
  kill -0 $daemon && ok "the run of a removed cgroup goes on" || not_ok "the run of a removed cgroup goes on" "$(cat "$dir/log")"
  # Twice, for the second time nothing is said of it.
  for name in again later; do
    mkdir "$group"
    member $name
    for _ in $(seq 1200); do threads "$db" | grep -q "\"$name" && break; sleep 0.2; done
    threads "$db" | grep -q "\"$name" && ok "a cgroup made $name is followed" ||
      not_ok "a cgroup made $name is followed" "$(cat "$dir/log")"
    remove_group
  done
  kill $daemon
  verdict "a removed cgroup is waited for until told to end" 0 'was removed; the run goes on'
  [ "$(grep -c 'the cgroup' "$dir/log")" = 2 ] && ok "what became of a cgroup is said once" ||
    not_ok "what became of a cgroup is said once" "$(cat "$dir/log")"
  [ "$(how "$db")" = "finished, interrupted" ] && ok "the run of a removed cgroup is closed" || not_ok "the run of a removed cgroup is closed" "$(how "$db")"
else
  skip "the cgroup is removed" "no writable cgroup v2 hierarchy"
fi
# A command's own exit status is that of commd, whatever the source; without --duration it is waited for.
command_ends() { # NAME STATUS SENTENCE OPTION... -- COMMAND...
  local name=$1 wanted=$2 sentence=$3 said code
  shift 3
  # Into a file: a command that goes on would keep a pipe open.
  timeout 300 "$commd" --store "$dir/command.db" "$@" >"$dir/said" 2>&1
  code=$?
  said=$(cat "$dir/said")
  if [ $code = "$wanted" ] && grep -qF "$sentence" <<<"$said"; then ok "$name"; else not_ok "$name" "exit $code: $said"; fi
}
command_ends "a command's exit status" 7 '(target exited)' --rate 2000 -- \
  python3 -c 'import sys; x = sum(range(5000000)); sys.exit(7)'
command_ends "a command killed by a signal" 139 'sh was killed by signal 11' --rate 2000 -- sh -c 'kill -SEGV $$'
command_ends "a command that succeeds and reads nothing that was seen" 3 'no memory access' --rate 1 -- true
command_ends "a command that is not over" 0 'sh goes on, as process' --rate 2000 --duration 2s -- \
  sh -c "echo \$\$ >$dir/on; while :; do :; done"
kill -9 "$(cat "$dir/on")" && ok "it does go on" || not_ok "it does go on"
# The run of a command is over when that is, not at the next look at the target, which comes half a second later and
# on no machine earlier.  In real time others do not hold it up; where that may not be, one of many tries may do.
shortest= realtime=()
chrt -f 1 true 2>/dev/null && realtime=(chrt -f 1)
for _ in $(seq 100); do
  rm -f "$db"
  "${realtime[@]}" "$commd" -q --rate 100 --store "$db" -- true 2>"$dir/log"
  shortest=$("$commctl" list --store "$db" --json | jq '.runs[-1] | (.end_ns - .start_ns) / 1e6 | floor')
  [ "$shortest" -lt 450 ] && break
done
[ "$shortest" -lt 450 ] && ok "a run ends with its command" || not_ok "a run ends with its command" "after $shortest ms: $(cat "$dir/log")"
rm -f "$db"
"$commd" --store "$db" -- "$dir/nothing" 2>"$dir/log"
[ $? = 1 ] && grep -q 'cannot run .*No such file' "$dir/log" && [ "$(slices "$db")" = 0 ] &&
  "$commctl" list --store "$db" 2>&1 | grep -q 'holds no run yet' && ok "a command that cannot run leaves no run" ||
  not_ok "a command that cannot run leaves no run" "$(cat "$dir/log"; "$commctl" list --store "$db" 2>&1)"
command_ends "a command that was counted" 9 'all counted' --source exact -- sh -c 'exit 9'

# A command that is counted may take its time to end, unless it is told twice.
"$commd" --source exact --store "$dir/e.db" -- sh -c 'trap "" TERM; : >"$0"; sleep 1000' "$dir/begun" 2>"$dir/log" &
daemon=$!
pids+=($daemon)
for _ in $(seq 600); do [ -e "$dir/begun" ] && break; sleep 0.2; done
child=$(pgrep -P $daemon)
kill $daemon
sleep 2
kill -0 $daemon 2>/dev/null && ok "a command may take its time after a signal" ||
  not_ok "a command may take its time after a signal" "$(cat "$dir/log")"
kill $daemon
ended
[ $code = 1 ] && grep -q 'was killed' "$dir/log" && [ -e "$dir/begun" ] && ! kill -0 $child 2>/dev/null &&
  ok "but not after two" || not_ok "but not after two" "exit $code: $(cat "$dir/log")"
pkill -KILL -P ${child:-0} 2>/dev/null

# Who starts commd with SIGCHLD ignored still learns how the command ended.
if env --ignore-signal=CHLD true 2>/dev/null; then
  for source in exact auto; do
    env --ignore-signal=CHLD timeout -s KILL 120 "$commd" -q --source $source --store "$dir/i.db" -- sh -c 'exit 7' 2>"$dir/log"
    code=$?
    [ $code = 7 ] && ok "SIGCHLD ignored, $source" || not_ok "SIGCHLD ignored, $source" "exit $code: $(cat "$dir/log")"
  done
else
  skip "SIGCHLD ignored" "env cannot ignore signals"
fi
exit $status
