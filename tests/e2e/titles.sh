#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes are called by the titles that they write over their command lines, whose arguments are
# told to nobody.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

gcc -O2 -o "$dir/titled" tests/e2e/titled.c >"$dir/log" 2>&1 || {
  echo "not ok 1 - tests/e2e/titled.c compiles"
  exit 1
}

report() { "$commctl" report --json --min-share 0 --top 0 --by "$2" --store "$1" >"$dir/r" 2>"$dir/err"; } # STORE BY

# Between what the processes do, not who they are.
is_by_role() { # STORE
  report "$1" role && jq -e '(.nodes | map({(.id): .name}) | add) as $name |
    [.edges[] | select($name[.from] == "titled: writer" and $name[.to] == "titled: reader")] |
    length == 1 or error("\($name)")' "$dir/r" >"$dir/out" 2>&1
}
is_by_process() { # STORE
  report "$1" process && jq -e '[.nodes[].name | sub("/[0-9]+$"; "")] |
    contains(["titled: reader 1", "titled: reader 2", "titled: writer"]) or error("\(.)")' "$dir/r" >"$dir/out" 2>&1
}

# How many children of a process have their title.
n_titled() { # PID
  local child n=0
  for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
    grep -aq '^titled: ' "/proc/$child/cmdline" && n=$((n + 1))
  done
  echo $n
}

for source in bpf perf; do
  "$dir/titled" "$(printf '%064d' 0)" >"$dir/log" 2>&1 &
  target=$!
  pids+=($target)
  until [ "$(n_titled $target)" = 3 ]; do sleep 0.1; done
  "$commd" -q --source $source --rate 200 --slice 500ms --record "$dir/$source.rec" --store "$dir/$source.db" --pid $target >"$dir/log" 2>&1 &
  daemon=$!
  pids+=($daemon)
  for _ in $(seq 200); do
    kill -0 $daemon 2>/dev/null || break
    is_by_role "$dir/$source.db" && is_by_process "$dir/$source.db" && break
    sleep 1
  done
  kill -TERM $daemon
  wait $daemon
  kill $target
  wait $target 2>/dev/null
  check "$source: roles" is_by_role "$dir/$source.db"
  check "$source: processes" is_by_process "$dir/$source.db"
  if grep -q hunter2 "$dir/$source".db*; then not_ok "$source: no arguments"; else ok "$source: no arguments"; fi
done

"$commd" -q --source "replay:$dir/bpf.rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
check "a replay has the same roles" is_by_role "$dir/again.db"
check "and processes" is_by_process "$dir/again.db"

echo "1..$n"
exit $status
