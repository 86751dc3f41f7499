#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Processes are called by the titles that they write over their command lines, whose arguments are
# told to nobody; threads of Python by the names that the program gives them.
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

names() { report "$1" "$2" && jq -r '.nodes[].name' "$dir/r" | sort; } # STORE BY
# The first thread is called as its process.
has_python_threads() { # STORE
  names "$1" thread | diff - <(printf '%s\n' "Thread-1 (render)" parser "$first" renderer-0 renderer-1 | sort)
}
has_python_roles() { # STORE
  names "$1" role | diff - <(printf '%s\n' "Thread (render)" parser "${first%%[0-9.]*}" renderer | sort)
}
has_python() { has_python_threads "$dir/python.db" && has_python_roles "$dir/python.db"; }

first=python3
if python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
  python3 tests/e2e/named.py 2>"$dir/log" &
  target=$!
  pids+=($target)
  while kill -0 $target && [ "$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 | wc -l)" != 5 ]; do sleep 0.1; done
  first=$(cat "/proc/$target/comm")
  "$commd" -q --rate 200 --slice 500ms --record "$dir/python.rec" --store "$dir/python.db" --pid $target >"$dir/log" 2>&1 &
  commd_until 200 has_python >/dev/null 2>&1
  kill -9 $target
  wait $target 2>/dev/null
  check "threads of Python" has_python_threads "$dir/python.db"
  check "and their roles" has_python_roles "$dir/python.db"
  "$commd" -q --source "replay:$dir/python.rec" --slice 500ms --store "$dir/python-again.db" >"$dir/log" 2>&1
  check "a replay has the same threads" has_python_threads "$dir/python-again.db"
  check "and roles" has_python_roles "$dir/python-again.db"
else
  skip "threads of Python" "python3 is not CPython 3.11 to 3.13"
fi

echo "1..$n"
exit $status
