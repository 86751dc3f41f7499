#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What profiling costs targets that are hard to watch (bench/storm.c): what commd reports beside
# what it truly costs, as medians of pairs of runs without and with it.
#   bench/storms.sh [STORM...]      needs root; PAIRS=n (3), SECONDS_ON=n (20), LIMIT=percent (1),
#                                   SOURCE=name (auto), RUNNABLE=n: with a storm of n threads that
#                                   all run, which makes the machine useless to others
# true      = (CPU time per round with / without - 1) + commd's CPU time / the target's, in percent,
#             from the 6th second on: the first 5 are for setting up.  Without is half of it before
#             and half of it after, so that what slows the storm down steadily does not count
# noise     = by how many percent the two halves without differ: where that is much, true says little
# counted   = the kernel's own account of our BPF programs (kernel.bpf_stats_enabled), 46 ns for each call,
#             and commd's CPU time / the target's, in percent: exact, but without what the programs
#             take out of caches, interrupts, and what waits for a lock that reading /proc holds
# reported  = what the store says of the same seconds, setting up included
# worst 10s = the most of its budget that any 10 s among them took, as commd reports; the cap is 1.25.
#             The budget is LIMIT of the target's CPU time, or --overhead-floor's default where
#             that is more: the target gets little CPU time
# commd's   = the part of the true cost that is commd's CPU time and that of its children
# load      = load average at the end of the last pair; on a busy machine the work without commd
#             varies by more than commd costs
set -u
export LC_ALL=C
cd "$(dirname "$0")/.."
O=${O:-.output}
pairs=${PAIRS:-3} on_s=${SECONDS_ON:-20} limit=${LIMIT:-1} source=${SOURCE:-auto} floor=0.2
dir=$(mktemp -d)
pids=()
stats=$(sysctl -n kernel.bpf_stats_enabled 2>/dev/null || echo 0)
cleanup() {
  sysctl -qw kernel.bpf_stats_enabled="$stats" 2>/dev/null
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
[ "$(id -u)" = 0 ] || { echo "storms: run it as root" >&2; exit 1; }

median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
# CPU time of commd, the host of its children that read files, and those that ended, ns.
used() { for p in "$1" $(pgrep -P "$1"); do used_by "$p"; done | awk '{ s += $1 } END { printf "%.0f\n", s }'; }
# CPU time of a process and of its children that ended, ns.
used_by() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f\n", ($12 + $13 + $14 + $15) * 1e9 / hz }' "/proc/$1/stat" 2>/dev/null; }
# What the kernel counted of the programs of a commd, ns; to call one took 46 ns (docs/operate/overhead.md).
programs() { cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '/^run_time_ns:/ { s += $2 } /^run_cnt:/ { s += 46 * $2 } END { printf "%.0f\n", s }'; }
# CPU time per round between two lines of the storm's output.
per_round() { awk -v a="$1" -v b="$2" 'BEGIN { split(a, x); split(b, y); printf "%.3f", (y[2] - x[2]) / (y[1] > x[1] ? y[1] - x[1] : 1) }'; }
# CPU time per round of the storm in the next half of the seconds.
half() { # ROUNDS
  local a
  a=$(tail -1 "$1")
  sleep "$(awk -v s="$on_s" 'BEGIN { print s / 2 }')"
  per_round "$a" "$(tail -1 "$1")"
}

storm() { # NAME
  local name=$1 threads='' target daemon without with before after ran a b cpu pct window samples
  if [ "$name" = runnable ]; then # or this script would not have its turn in time
    threads=${RUNNABLE:-}
    renice -n -20 -p $$ >/dev/null
  fi
  for k in $(seq "$pairs"); do
    # shellcheck disable=SC2086 # no word where it has no threads
    nice -n "$((-$(nice)))" "$O/bench/storm" "$name" $threads >"$dir/rounds" &
    target=$!
    pids+=("$target")
    until [ -s "$dir/rounds" ]; do sleep 0.2; done
    sleep 1
    without=$(half "$dir/rounds")
    rm -f "$dir"/s.db*
    nice -n "$((-$(nice)))" "$O/commd" -q --pid "$target" --overhead "$limit" --overhead-floor "$floor" --source "$source" --slice 1s --store "$dir/s.db" 2>"$dir/err" &
    daemon=$!
    pids+=("$daemon")
    until [ "$(sqlite3 -readonly "$dir/s.db" 'SELECT count(*) FROM run' 2>/dev/null)" = 1 ]; do
      kill -0 $daemon 2>/dev/null || { echo "storms: commd failed: $(cat "$dir/err")" >&2; exit 1; }
      sleep 0.2
    done
    sleep 5
    before=$(used $daemon) ran=$(programs $daemon) a=$(tail -1 "$dir/rounds")
    sleep "$on_s"
    after=$(used $daemon) b=$(tail -1 "$dir/rounds")
    ran=$(($(programs $daemon) - ran))
    with=$(per_round "$a" "$b")
    kill -INT $daemon
    wait $daemon 2>/dev/null
    without="$without $(half "$dir/rounds")"
    kill -9 $target
    wait $target 2>/dev/null
    rm -f "/tmp/perf-$target.map"
    cpu=$(awk -v a="$a" -v b="$b" 'BEGIN { split(a, x); split(b, y); printf "%.0f\n", y[2] - x[2] }')
    awk -v w="$with" -v o="$without" -v d="$((after - before))" -v c="$cpu" \
      'BEGIN { split(o, half); printf "%.3f\n", 100 * (2 * w / (half[1] + half[2]) - 1 + d / c) }' >>"$dir/$name.true"
    awk -v o="$without" 'BEGIN { split(o, half); d = half[1] - half[2]; printf "%.3f\n", 200 * (d < 0 ? -d : d) / (half[1] + half[2]) }' >>"$dir/$name.noise"
    awk -v d="$((after - before + ran))" -v c="$cpu" 'BEGIN { printf "%.3f\n", 100 * d / c }' >>"$dir/$name.counted"
    awk -v d="$((after - before))" -v c="$cpu" 'BEGIN { printf "%.3f\n", 100 * d / c }' >>"$dir/$name.daemon"
    sqlite3 -readonly "$dir/s.db" "SELECT round(100.0 * total(handler_ns + daemon_ns + setup_ns) / total(target_ns), 3), total(samples),
        (SELECT round(max(p), 3) FROM (SELECT total(handler_ns + daemon_ns + setup_ns) OVER w /
             total(max(target_ns * $limit / 100.0, (end_ns - start_ns) * $floor / 100.0 * $(nproc))) OVER w AS p,
           count(*) OVER w AS n FROM slice WHERE level = 0 AND start_ns >= (SELECT min(start_ns) FROM slice) + 5000000000
           WINDOW w AS (ORDER BY start_ns ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)) WHERE n = 10)
      FROM slice WHERE level = 0 AND start_ns >= (SELECT min(start_ns) FROM slice) + 5000000000" >"$dir/answer"
    IFS='|' read -r pct samples window <"$dir/answer"
    echo "$pct" >>"$dir/$name.pct"
    echo "$window" >>"$dir/$name.window"
    echo "$samples" >>"$dir/$name.samples"
  done
  printf '| %-9s | %9s | %9s | %9s | %9s | %9s | %9s | %9.0f | %6s |\n' "$name" "$(median <"$dir/$name.pct")" "$(sort -g "$dir/$name.window" | tail -1)" \
    "$(median <"$dir/$name.counted")" "$(median <"$dir/$name.true")" "$(median <"$dir/$name.noise")" "$(median <"$dir/$name.daemon")" "$(median <"$dir/$name.samples")" "$(cut -d' ' -f1 /proc/loadavg)"
}

for tool in sqlite3 pgrep; do command -v $tool >/dev/null || { echo "storms: $tool is missing" >&2; exit 1; }; done
echo "$(nproc) CPUs, load average $(cut -d' ' -f1-3 /proc/loadavg), $(uname -r), limit $limit %, $pairs pairs of $on_s s, source $source"
echo
printf '| %-9s | %9s | %9s | %9s | %9s | %9s | %9s | %9s | %6s |\n' storm reported worst10s counted true noise "commd's" samples load
echo '|---|---|---|---|---|---|---|---|---|'
sysctl -qw kernel.bpf_stats_enabled=1 2>/dev/null
[ $# -gt 0 ] || set -- spin fork exec threads mmap generated changes mappings sleepers ${RUNNABLE:+runnable}
for name in "$@"; do storm "$name"; done
