#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of profiling, and the throughput of the daemon: medians of paired runs.
#   make bench            all of it, some 17 minutes
#   bench/bench.sh NAME   one of: spin gaps redis idle samples registers attach replay marks alloc report views html exact
# And not with all of it: callers, what a sample costs with --callers, some 5 minutes; counters, what counting
# costs a thread that does nothing but switch, some 6 minutes.
# Needs root.  PAIRS=n changes the number of pairs (15).
set -u
export LC_ALL=C
cd "$(dirname "$0")/.."
O=${O:-.output}
pairs=${PAIRS:-15}
dir=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
[ "$(id -u)" = 0 ] || { echo "bench: run it as root" >&2; exit 1; }

# Reads "off on" pairs; prints the median of on/off as a slow-down in percent.
slowdown() {
  awk '{ printf "%.6f\n", ($1 / $2 - 1) * 100 }' | sort -g | awk -v name="$1" '
    { v[NR] = $1 }
    END {
      m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
      printf "%-34s median %+.2f %%  quartiles %+.2f .. %+.2f  (%d pairs)\n", name, m, v[int(NR / 4) + 1], v[int(3 * NR / 4) + 1], NR
    }'
}

attach() { # PID: profiles it until detach
  "$O/commd" -q --pid "$1" --overhead 1 --store "$dir/bench.db" 2>"$dir/commd.err" &
  daemon=$!
  sleep 3 # calibration, symbols and the first governor ticks are not the steady state
}
detach() {
  kill -INT $daemon
  wait $daemon 2>/dev/null
}

spin() {
  "$O/bench/load" 4 >"$dir/rounds" &
  local load=$!
  pids+=($load)
  sleep 0.5
  for _ in $(seq "$pairs"); do
    for mode in off on; do
      [ $mode = on ] && attach $load || sleep 3
      local from=$(wc -l <"$dir/rounds")
      sleep 3
      awk -v from="$from" 'NR > from { s += $2; n++ } END { printf "%.0f ", s / n }' "$dir/rounds"
      [ $mode = on ] && { detach; echo; }
    done
  done | slowdown "slow-down, 4 computing threads"
  kill $load
}

# Cost that commd's own accounting misses: time taken from threads that only read a clock.
gaps() {
  "$O/bench/gaps" >"$dir/gaps" &
  local load=$!
  pids+=($load)
  sleep 2
  for _ in $(seq $(((pairs + 2) / 3))); do
    for mode in off on; do
      # commd's children read symbols in the background, at idle priority.
      [ $mode = on ] && { attach $load; sleep 12; }
      local from=$(wc -l <"$dir/gaps")
      sleep 10.1
      awk -v from="$from" 'NR > from { s += $1; n++ } END { printf "%.4f ", s / n }' "$dir/gaps"
      [ $mode = on ] && { detach; echo; }
    done
  done | awk '{ printf "%.4f\n", $2 - $1 }' | sort -g | awk '
    { v[NR] = $1 }
    END { printf "%-34s median %+.2f %% of all CPUs, %+.2f .. %+.2f (%d pairs)\n", "taken from threads", v[int((NR + 1) / 2)], v[1], v[NR], NR }'
  kill $load
}

commands() { redis-cli -s "$dir/s" info stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'; }

redis() {
  redis-server --port 0 --unixsocket "$dir/s" --save '' --io-threads 4 --dir "$dir" >/dev/null 2>&1 &
  local server=$!
  pids+=($server)
  for _ in $(seq 50); do [ -S "$dir/s" ] && break; sleep 0.1; done
  redis-benchmark -s "$dir/s" -t get -d 256 -r 10000 -c 20 -l -q >/dev/null 2>&1 &
  local load=$!
  pids+=($load)
  sleep 1
  for _ in $(seq "$pairs"); do
    for mode in off on; do
      [ $mode = on ] && attach $server || sleep 3
      local from=$(commands) since=$(date +%s%N)
      sleep 3
      echo "$(($(commands) - from)) $(($(date +%s%N) - since))" | awk '{ printf "%.0f ", $1 / $2 * 1e9 }'
      [ $mode = on ] && { detach; echo; }
    done
  done | slowdown "slow-down, redis GET/s, io-threads 4"
  kill $load $server
}

# What callers cost: live at a fixed rate, handler and daemon a sample, and in replays of one recording.
callers() {
  redis-server --port 0 --unixsocket "$dir/s" --save '' --io-threads 2 --dir "$dir" >/dev/null 2>&1 &
  local server=$!
  pids+=($server)
  for _ in $(seq 50); do [ -S "$dir/s" ] && break; sleep 0.1; done
  redis-benchmark -s "$dir/s" -t set,get,lpush,zadd -d 256 -r 10000 -c 20 -l -q >/dev/null 2>&1 &
  local load=$!
  pids+=($load)
  sleep 1
  local mode name column=1
  for _ in $(seq "$pairs"); do
    for mode in '' --callers --callers=8; do
      rm -f "$dir"/callers.db*
      # shellcheck disable=SC2086
      "$O/commd" -q --source bpf --rate 2000 --duration 6s $mode --record "$dir/callers.rec" --pid $server --store "$dir/callers.db" 2>/dev/null
      # Files are read in the first seconds.
      "$O/commctl" report --store "$dir/callers.db" --from 2s --json |
        jq -r '.range | "\(.handler_ns / .samples / 1e3) \(.daemon_ns / .samples / 1e3)"' | tr '\n' ' '
      rm -f "$dir"/callers.db*
    done
    # The last one has the stack that eight callers need.
    for mode in '' --callers --callers=8; do
      # shellcheck disable=SC2086
      { TIMEFORMAT='%U %S'; time "$O/commd" -q --source "replay:$dir/callers.rec" $mode --store "$dir/callers.db" >/dev/null 2>&1; } 2>&1 | tr '\n' ' '
      rm -f "$dir"/callers.db*
    done
    echo
  done >"$dir/costs"
  for name in 'live, none' 'live, 1' 'live, 8' 'replay, none' 'replay, 1' 'replay, 8'; do
    awk -v at=$column -v of=$((column > 6 ? 7 : 1)) '{ print $at, $(at + 1), ($at + $(at + 1)) / ($of + $(of + 1)) }' "$dir/costs" | sort -g -k 3 |
      awk -v name="callers, $name" -v what="$([ $column -gt 6 ] && echo 'user %.3f s, system %.3f s' || echo 'handler %.1f us, daemon %.1f us a sample')" '
        { a[NR] = $1; b[NR] = $2; r[NR] = $3 }
        END { m = int((NR + 1) / 2)
          printf "%-24s " what "; together %.2f, %.2f .. %.2f of none  (%d pairs)\n", name, a[m], b[m], r[m], r[int(NR / 4) + 1], r[int(3 * NR / 4) + 1], NR }'
    column=$((column + 2))
  done
  kill $load $server
}

# CPU time of a round of ping-pong, two switches, with each way of counting, over that without commd.
counters() {
  local events=page-faults
  local modes=('' '--rate 1' '--counters' "--events $events" "--events $events,context-switches"
    "--events $events,context-switches,task-clock,cpu-clock" "--events $events,context-switches,task-clock,cpu-clock,cpu-migrations,minor-faults,major-faults,cgroup-switches")
  local names=('' 'commd alone' 'timing alone' '1 event' '2 events' '4 events' '8 events') i load from
  "$O/bench/storm" switches >"$dir/rounds" &
  load=$!
  pids+=($load)
  for _ in $(seq "$pairs"); do
    for i in "${!modes[@]}"; do
      if [ -n "${modes[i]}" ]; then
        # shellcheck disable=SC2086
        "$O/commd" -q --source bpf --rate 1 --watch 0 ${modes[i]#--rate 1} --pid $load --store "$dir/bench.db" 2>"$dir/commd.err" &
        daemon=$!
        sleep 2
      fi
      from=$(tail -1 "$dir/rounds")
      sleep 2
      echo "$from $(tail -1 "$dir/rounds")" | awk '{ printf "%.4f ", ($4 - $2) / ($3 > $1 ? $3 - $1 : 1) / 2 }'
      [ -n "${modes[i]}" ] && detach
      rm -f "$dir"/bench.db*
    done
    echo
  done >"$dir/costs"
  for i in "${!modes[@]}"; do
    [ "$i" = 0 ] || awk -v at=$((i + 1)) '{ printf "%.4f %.4f\n", $at - $1, $1 }' "$dir/costs" | sort -g | awk -v name="counting, ${names[i]}" '
      { v[NR] = $1; w[NR] = $2 }
      END { printf "%-34s median %+.0f ns a switch of %.0f, quartiles %+.0f .. %+.0f  (%d pairs)\n", name, v[int((NR + 1) / 2)], w[int((NR + 1) / 2)], v[int(NR / 4) + 1], v[int(3 * NR / 4) + 1], NR }'
  done
  kill $load
}

idle() {
  sleep 1000 &
  local target=$!
  pids+=($target)
  "$O/commd" -q --pid $target --store "$dir/idle.db" 2>/dev/null &
  local daemon=$!
  sleep 3
  local a=$(awk '{ print $1 }' /proc/$daemon/schedstat)
  sleep 20
  local b=$(awk '{ print $1 }' /proc/$daemon/schedstat)
  kill -INT $daemon
  wait $daemon 2>/dev/null
  awk -v d=$((b - a)) 'BEGIN { printf "%-34s %.3f %% of a core over 20 s\n", "daemon, idle target", d / 20e9 * 100 }'
  kill $target
}

# What a sample costs, and where it goes.
samples() { O=$O bench/sample_cost.py; }

attach_time() {
  "$O/bench/load" 4 >/dev/null &
  local load=$!
  pids+=($load)
  sleep 0.5
  for _ in 1 2 3 4 5; do
    rm -f "$dir"/first.db*
    local t0=$(date +%s%N)
    "$O/commd" -q --pid $load --store "$dir/first.db" &
    local daemon=$!
    until "$O/commctl" report --store "$dir/first.db" >/dev/null 2>&1; do sleep 0.05; done
    echo $((($(date +%s%N) - t0) / 1000000))
    kill -INT $daemon
    wait $daemon 2>/dev/null
  done | sort -n | awk '{ v[NR] = $1 } END { printf "%-34s median %.2f s  (5 runs)\n", "attach to first report", v[3] / 1000 }'
  kill $load
}

replay() {
  "$O/bench/load" 64 >/dev/null &
  local load=$!
  pids+=($load)
  sleep 0.5
  "$O/commd" -q --pid $load --rate 2000 --duration 5s --store "$dir/r.db" --record "$dir/recording"
  kill $load
  "$O/bench/bench_engine" "$dir/recording" "$dir"
}

# What a mark of comm/mark.h costs, alone and while it is profiled; those of other conventions.
marks() {
  "$O/bench/bench_marks" 3
  echo "profiled, 1 %, and at 1000 Hz:"
  "$O/commd" -q --store "$dir/marks.db" -- "$O/bench/bench_marks" 5
  "$O/commd" -q --rate 1000 --store "$dir/marks.db" -- "$O/bench/bench_marks" 5
  "$O/bench/bench_collect" "$O/collect/libcomm-collect.so" 3
}

# What a program pays that tells where its memory was allocated.
alloc() {
  "$O/bench/bench_alloc" "$O/alloc/libcomm-alloc.so" 10
  preloaded "sqlite3, told" sqlite3 :memory: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
    WHERE i < 300000) SELECT count(DISTINCT hex(i) || i) FROM n"
  preloaded "python3, told" python3 -c 'print(len({str(i) * 100: [i] for i in range(200000)}))'
}

preloaded() { # NAME COMMAND...: in CPU time, as the system tells it
  local name=$1 TIMEFORMAT='%U %S'
  shift
  for _ in $(seq "$pairs"); do
    { time LD_PRELOAD=$(realpath "$O/alloc/libcomm-alloc.so") "$@" >/dev/null; } 2>&1
    { time "$@" >/dev/null; } 2>&1
  done | awk '{ printf "%.3f\n", $1 + $2 }' | paste - - | slowdown "$name"
}

# Programs that count by themselves: CPU time in times that of the same program built plainly.
exact() { O=$O bench/exact_native.py --runs "$pairs"; }

report() { "$O/bench/bench_store" 3600 2000 "$dir"; }

# The page of the same hour of 64 threads: how long it takes, its size, and how fast it opens.
html() {
  "$O/bench/bench_store" 3600 2000 "$dir" keep >"$dir/log" || return
  local TIMEFORMAT='%R %U %S'
  { time "$O/commctl" html --store "$dir/hour.db" -o "$dir/hour.html"; } 2>"$dir/time" || return
  echo "$(cat "$dir/time")" "$(stat -c %s "$dir/hour.html")" |
    awk '{ printf "%-34s %.1f s, %.1f s of CPU time, %.2f MB\n", "page of an hour of 64 threads", $1, $2 + $3, $4 / 1e6 }'
  bench/html_open.py "$pairs" "$dir/hour.html"
}

# What a person waits for at such a store, each command in turn with one that only lists its runs.
views() {
  "$O/bench/bench_store" 3600 2000 "$dir" keep >"$dir/log" && cp "$dir/hour.db" "$dir/other.db" || return
  view "report" report --store "$dir/hour.db"
  view "report --by-function" report --by-function --store "$dir/hour.db"
  view "top, first screen" top -b -n 1 --store "$dir/hour.db"
  refreshes
  view "diff of two such runs" diff "$dir/hour.db" "$dir/other.db"
  view "report --by-phase" report --by-phase --store "$dir/hour.db"
}

view() { # NAME COMMAND...: in CPU time, which other load changes less than waiting
  local name=$1 TIMEFORMAT='%U %S'
  shift
  for _ in $(seq "$pairs"); do
    { time "$O/commctl" "$@" >/dev/null 2>"$dir/err"; } 2>"$dir/with" || { cat "$dir/err" >&2; return; }
    { time "$O/commctl" list --store "$dir/hour.db" >/dev/null; } 2>"$dir/without"
    cat "$dir/with" "$dir/without"
  done | paste - - >"$dir/pairs"
  awk '{ printf "%.2f\n", ($1 + $2) / ($3 + $4 > 0 ? $3 + $4 : 0.001) }' "$dir/pairs" | sort -g >"$dir/ratios"
  awk '{ printf "%.3f\n", $1 + $2 }' "$dir/pairs" | sort -g | paste - "$dir/ratios" | awk -v name="$name" '
    { s[NR] = $1 * 1000; r[NR] = $2 }
    END { m = int((NR + 1) / 2); printf "%-34s median %.0f ms, %.0f .. %.0f; %.1f times commctl list  (%d pairs)\n", name, s[m], s[1], s[NR], r[m], NR }'
}

# A screen of top after the first, which keeps what it read: live one slice of sixty is new, here none.
refreshes() {
  local n TIMEFORMAT='%U %S'
  for _ in $(seq "$pairs"); do
    for n in 1 9; do
      { time "$O/commctl" top -b -n $n -d 1ms --store "$dir/hour.db" >/dev/null; } 2>&1
    done | paste - -
  done | awk '{ printf "%.1f\n", ($3 + $4 - $1 - $2) / 8 * 1000 }' | sort -g | awk '
    { v[NR] = $1 }
    END { printf "%-34s median %.0f ms, %.0f .. %.0f  (%d pairs)\n", "top, a refresh", v[int((NR + 1) / 2)], v[1], v[NR], NR }'
}

# What debug registers cost programs that never trap.
registers() { "$O/bench/registers"; }

echo "$(nproc) CPUs, $(uname -r)"
for what in ${1:-spin gaps redis idle samples registers attach replay marks alloc report views html exact}; do
  case $what in
  spin | gaps | redis | idle | samples | registers | replay | marks | alloc | report | views | html | exact | callers | counters) $what ;;
  attach) attach_time ;;
  *) echo "bench: no such part: $what" >&2; exit 2 ;;
  esac
done
