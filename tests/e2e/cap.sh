#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cap: in no 10 s after the first 5 of a run does profiling cost more than a quarter beyond
# the budget, setting up included, whatever the target does: a program that forks, execs, starts
# threads and maps files, in turn, and has generated code whose names come late
# (bench/storm.c).  Costs are what commd stored of each slice of a
# second; so it is its own word, and bench/storms.sh has what is truly spent.
. "$(dirname "$0")/../tap.bash"
limit=1 floor=0.2
target='' daemon=''
undo() {
  [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
  [ -z "$target" ] || kill -9 "$target" 2>/dev/null
  wait 2>/dev/null
  rm -f "/tmp/perf-$target.map"
}
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

"$O/bench/storm" changes >"$dir/rounds" &
target=$!
until [ -s "$dir/rounds" ]; do sleep 0.1; done
"$O/commd" -q --pid "$target" --overhead $limit --overhead-floor $floor --slice 1s --duration 17s --store "$dir/a.db" 2>"$dir/err" &
daemon=$!
wait $daemon
result $? "commd ran: $(cat "$dir/err")"
daemon=''

# Slices from the 6th second on; what was allowed: a share of the target's CPU time, or the floor.
sqlite3 -readonly "$dir/a.db" "SELECT (end_ns - start_ns) / 1e6, (handler_ns + daemon_ns + setup_ns) / 1e6,
    max(target_ns * $limit / 100, $floor / 100 * $(nproc) * (end_ns - start_ns)) / 1e6
  FROM slice WHERE level = 0 AND start_ns >= (SELECT start_ns FROM run) + 5e9 ORDER BY start_ns" >"$dir/slices"
awk -F'|' '
  { ms[NR] = $1; spent[NR] = $2; allowed[NR] = $3 }
  END {
    for (i = 1; i <= NR; i++) {
      t = s = a = 0
      for (k = i; k <= NR && t < 9900; k++) { t += ms[k]; s += spent[k]; a += allowed[k] }
      if (t < 9900 || !a) continue
      windows++
      if (s / a > worst) worst = s / a
    }
    printf "%d %.3f\n", windows, worst
  }' "$dir/slices" >"$dir/worst"
read -r windows worst <"$dir/worst"
echo "# $windows windows of 10 s, the worst took $worst of the budget (load average $(cut -d' ' -f1 /proc/loadavg))"
[ "$windows" -ge 1 ]
result $? "there are 10 s after the first 5"
awk -v w="$worst" 'BEGIN { exit !(w <= 1.25) }'
result $? "no 10 s took more than the budget and a quarter"
[ $status = 0 ] || sed 's/^/#   /' "$dir/slices"
[ "$(sqlite3 -readonly "$dir/a.db" 'SELECT total(samples) > 0 FROM slice WHERE level = 0')" = 1 ]
result $? "there are samples all the same"
exit $status
