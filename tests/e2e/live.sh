#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles running programs with known communication: the report must show it.
. "$(dirname "$0")/../tap.bash"
kernels=$O/tests/truth/truth-kernels
undo() {
  for _ in $(seq 100); do [ -d "${hierarchy:-/none}${group:-/none}" ] && ! rmdir "$hierarchy$group" || break; sleep 0.1; done 2>/dev/null
}
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# kernel NAME THREADS: runs a kernel of known communication, until end_kernel.
kernel() {
  "$kernels" "$1" --seconds 1000 --threads "$2" --out "$dir/$1.csv" --pid-file "$dir/pid" >/dev/null 2>&1 &
  target=$!
  pids+=($target)
  until [ "$(cat "$dir/pid" 2>/dev/null)" = $target ]; do sleep 0.1; done
}
end_kernel() {
  kill -USR2 $target
  wait $target
}

# profile STORE SAMPLES OPTION...: profiles until the report's edges have so many SAMPLES, for at
# least 4 seconds and at most some 200, as a busy machine gives few a second.
profile() {
  local db=$1 samples=$2 daemon seen
  shift 2
  "$commd" -q --store "$db" "$@" &
  daemon=$!
  pids+=($daemon)
  sleep 4
  for _ in $(seq 200); do
    kill -0 $daemon 2>/dev/null || break
    seen=$("$commctl" report --json --min-share 0 --top 0 --store "$db" 2>/dev/null | jq '[.edges[].samples] | add // 0')
    [ "${seen:-0}" -ge "$samples" ] && break
    sleep 1
  done
  kill -TERM $daemon 2>/dev/null
  wait $daemon
}

# Prints the share of the ground truth's thread pairs among the report's largest edges.
recall() { # TRUTH.csv REPORT.json
  python3 tests/truth/compare.py "$2" "$1" --json | jq -e '.recall'
}

kernel ring 4
profile "$dir/ring.db" 200 --pid $target --overhead 5 --record "$dir/ring.rec"
code=$?
end_kernel
"$commctl" report --json --by-thread --min-share 0 --top 0 --store "$dir/ring.db" >"$dir/ring.json"
r=$(recall "$dir/ring.csv" "$dir/ring.json")
[ $code = 0 ] && [ "$r" = 1 ] && ok "ring: the four true edges are the four largest" ||
  not_ok "ring" "exit status $code, recall $r: $(jq -c .edges "$dir/ring.json")"
# Whether that is within the budget, cap.sh asks of a longer run.
spent=$(sqlite3 "$dir/ring.db" "SELECT 100.0 * sum(handler_ns + daemon_ns) / sum(target_ns) FROM slice WHERE level = 0")
check "the report says what was spent" jq -e --argjson spent "$spent" '.run.overhead_pct as $told |
  $told > 0 and ($told - $spent | fabs) < 0.01 * $spent or error("\($told), not \($spent)")' "$dir/ring.json"
check "edges have intervals around them" jq -e '[.edges[] | .low <= .bytes and .bytes <= .high] | all' "$dir/ring.json"
check "losses are there" jq -e 'has("loss")' "$dir/ring.json"
"$commctl" report --json --by-function --min-share 0 --store "$dir/ring.db" >"$dir/f.json"
check "functions have names" jq -e '[.nodes[].name] | map(select(test("ring|work|segment|read|check|write|fill"))) | length > 0' "$dir/f.json"
"$commctl" report --json --by-line --store "$dir/ring.db" >"$dir/l.json"
check "lines are those of the source" jq -e '[.nodes[].source | select(. != null) | select(test("regular.c"))] | length > 0' "$dir/l.json"

# A recording gives the same matrix on and on.
edges() { "$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$1" | jq -S '.edges, .nodes'; }
"$commd" -q --source replay:"$dir/ring.rec" --store "$dir/r1.db" && "$commd" -q --source replay:"$dir/ring.rec" --store "$dir/r2.db"
edges "$dir/ring.db" >"$dir/e0"
edges "$dir/r1.db" >"$dir/e1"
edges "$dir/r2.db" >"$dir/e2"
[ -s "$dir/e1" ] && cmp -s "$dir/e1" "$dir/e2" && ok "two replays agree to the bit" || not_ok "two replays agree to the bit"
cmp -s "$dir/e0" "$dir/e1" && ok "a replay agrees with the run to the bit" ||
  not_ok "a replay agrees with the run to the bit" "$(diff "$dir/e0" "$dir/e1" | head -20)"

# Each burst was taken on some CPU, in each slice of each width.
placed() { sqlite3 "$1" "SELECT count(*) FROM slice s WHERE bursts <> (SELECT total(samples) FROM placement WHERE run = s.run AND slice = s.id)"; }
check "placements hold all bursts of their slice" [ "$(placed "$dir/ring.db")$(placed "$dir/r1.db")" = 00 ]
check "placements are of the machine's CPUs" [ "$(sqlite3 "$dir/ring.db" "SELECT count(*) > 3 AND max(cpu) < $(nproc --all) FROM placement")" = 1 ]
places() { sqlite3 "$1" "SELECT slice, thread, cpu, samples FROM placement ORDER BY 1, 2, 3"; }
check "a replay has the placements of the run" [ "$(places "$dir/ring.db")" = "$(places "$dir/r1.db")" ]

kernel private 4
profile "$dir/private.db" 0 --pid $target --overhead 5
end_kernel
"$commctl" report --json --by-thread --min-share 0 --top 0 --store "$dir/private.db" >"$dir/private.json"
# The workers share no data, not even a barrier: any edge between them is false.
check "private data: no false communication" jq -e '([.edges[].bytes] | add // 0) <= .range.read_bytes * 0.02' "$dir/private.json"

# Several processes on shared memory: the same page in two address spaces.
kernel processes 4
profile "$dir/processes.db" 200 --pid $target --rate 2000
end_kernel
"$commctl" report --json --by-thread --min-share 0 --top 0 --store "$dir/processes.db" >"$dir/processes.json"
r=$(recall "$dir/processes.csv" "$dir/processes.json")
[ "$r" = 1 ] && ok "processes on shared memory" || not_ok "processes on shared memory" "recall $r: $(jq -c .edges "$dir/processes.json")"

kernel ring 4
profile "$dir/nobpf.db" 200 --source perf --pid $target --rate 2000
code=$?
end_kernel
"$commctl" report --json --by-thread --min-share 0 --top 0 --store "$dir/nobpf.db" >"$dir/nobpf.json"
r=$(recall "$dir/ring.csv" "$dir/nobpf.json")
[ $code = 0 ] && [ "$r" = 1 ] && ok "without BPF" || not_ok "without BPF" "exit status $code, recall $r"
check "without BPF: the run says so" jq -e '.run.notes | test("BPF")' "$dir/nobpf.json"

# Named as a runtime of containers names one.
group=/docker-$(printf 'c0ffee%058x' $$).scope
hierarchy=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -f "$hierarchy/cgroup.procs" ] && mkdir "$hierarchy$group" 2>/dev/null; then
  for by in "--cgroup $group" "--container docker://${group:8:64}"; do
    kernel ring 4
    echo $target >"$hierarchy$group/cgroup.procs"
    # shellcheck disable=SC2086 # an option and its value
    profile "$dir/cgroup.db" 200 $by --overhead 5
    end_kernel
    "$commctl" report --json --min-share 0 --top 0 --store "$dir/cgroup.db" >"$dir/cgroup.json"
    r=$(recall "$dir/ring.csv" "$dir/cgroup.json")
    [ "$r" = 1 ] && ok "by ${by%% *}" || not_ok "by ${by%% *}" "recall $r"
    rm "$dir"/cgroup.db*
  done
else
  skip "by cgroup" "no writable cgroup v2 hierarchy"
fi

# Beside an idle target the daemon sleeps, as soon as it has read the target's files: what it costs there is to wake up.
wakes() { awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$1/status"; }
sleep 1000 &
target=$!
pids+=($target)
"$commd" -q --pid $target --store "$dir/idle.db" 2>/dev/null &
daemon=$!
pids+=($daemon)
for _ in $(seq 12); do
  from=$(wakes $daemon)
  sleep 10
  n_wakes=$(($(wakes $daemon) - from))
  [ $n_wakes -le 8 ] && break
done
kill -TERM $daemon
wait $daemon
kill $target
[ $n_wakes -le 8 ] && ok "an idle target leaves the daemon asleep: $n_wakes wakes in 10 s" ||
  not_ok "an idle target leaves the daemon asleep" "$n_wakes wakes in 10 s"

# A foreign program: redis' main thread feeds its I/O threads.
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
  redis-server --port 0 --unixsocket "$dir/s" --save '' --io-threads 4 --io-threads-do-reads yes --dir "$dir" >/dev/null 2>&1 &
  target=$!
  pids+=($target)
  for _ in $(seq 1200); do [ -S "$dir/s" ] && break; sleep 0.1; done
  redis-benchmark -s "$dir/s" -t set,get -d 512 -r 10000 -l -q >/dev/null 2>&1 &
  load=$!
  pids+=($load)
  sleep 1
  profile "$dir/redis.db" 100 --pid $target --rate 2000
  kill $load $target
  "$commctl" report --json --min-share 0 --top 0 --store "$dir/redis.db" >"$dir/redis.json"
  check "redis: the main thread and an I/O thread talk" jq -e '
    (.nodes | map({(.id): .name}) | add) as $name
    | [.edges[] | select(($name[.from] == "redis-server" and ($name[.to] | test("io_thd"))) or
                         ($name[.to] == "redis-server" and ($name[.from] | test("io_thd"))))] | length > 0' "$dir/redis.json"
  check "redis: the human report has them" sh -c "'$commctl' report --all --store '$dir/redis.db' | grep -q io_thd"
  "$commctl" report --json --by-function --self --top 0 --min-share 0 --store "$dir/redis.db" >"$dir/rf.json"
  check "redis: reads of the socket are the kernel's writes" jq -e '[.nodes[].name] | any(. == "[kernel]")' "$dir/rf.json"
else
  skip "redis" "redis-server is not installed"
fi
exit $status
