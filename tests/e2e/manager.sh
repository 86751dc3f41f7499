#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The manager of docs/guide/manager.md: of a program of two pairs of threads (paired.c), each comes together, and apart from
# the other.
. "$(dirname "$0")/../tap.bash"
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude docs/guide/manager.c -o "$dir/manager" -L"$O" -lcommprof -Wl,-rpath,"$O" &&
  gcc -O2 -Wall -Wextra -Werror tests/e2e/paired.c -o "$dir/paired" -pthread || exit 1
refused() { # SENTENCE ARGUMENT...
  ! "$dir/manager" "${@:2}" 2>"$dir/err" && grep -q "$1" "$dir/err"
}
check "one group is none" refused '^usage: ' "$dir/none.db" 1 0
check "nor are no seconds a time" refused '^usage: ' "$dir/none.db" x 0 1
check "what are no CPUs" refused '^usage: ' "$dir/none.db" 1 0 x
check "no store" refused 'no such file' "$dir/none.db" 1 0 1
[ "$(id -u)" = 0 ] || { skip "two pairs" "needs root to attach"; exit $status; }
mapfile -t cpus < <(python3 -c 'import os; [print(cpu) for cpu in sorted(os.sched_getaffinity(0))]')
[ ${#cpus[@]} -ge 2 ] || { skip "two pairs" "there is one CPU"; exit $status; }

"$dir/paired" &
pids+=($!)
"$commd" -q --source bpf --debug-registers 0 --rate 1000 --slice 500ms --store "$dir/live.db" --pid "${pids[0]}" >"$dir/log" 2>&1 &
pids+=($!)
# apart: where each thread may run, by its name: "0 left left", "1 right right".
apart() {
  local task
  kill -0 "${pids[0]}" 2>/dev/null || return
  for task in "/proc/${pids[0]}/task"/*; do
    [ "${task##*/}" = "${pids[0]}" ] || echo "$(sed -n 's/^Cpus_allowed_list:\t//p' "$task/status") $(cat "$task/comm")" 2>/dev/null
  done | sort >"$dir/places"
  [ "$(cut -d' ' -f1 "$dir/places" | uniq -c | awk '{print $1}' | xargs)" = "2 2" ] && [ "$(sort -u "$dir/places" | wc -l)" = 2 ]
}
! apart
result $? "before, any thread is anywhere"
for _ in {1..200}; do
  "$commctl" list --store "$dir/live.db" >"$dir/list" 2>&1 && grep -q running "$dir/list" && break
  sleep 0.3
done
"$dir/manager" "$dir/live.db" 1 "${cpus[0]}" "${cpus[1]}" 2>"$dir/err" &
pids+=($!)
came=1
for _ in {1..180}; do
  apart && came=0 && break
  kill -0 "${pids[0]}" 2>/dev/null || break
  sleep 1
done
[ $came = 0 ] && ok "each pair has a CPU" || not_ok "each pair has a CPU" "$(cat "$dir/places" "$dir/err" "$dir/log")"
# The run's end is the manager's.
kill "${pids[0]}"
wait "${pids[1]}" 2>/dev/null
wait "${pids[2]}"
result $? "and it ends with the run"
pids=()
exit $status
