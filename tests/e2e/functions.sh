#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A live run of some functions (--function) tells what these read and nothing else, and takes fewer samples elsewhere. capable.c is the
# program: most of its time it reads, in add_up().
. "$(dirname "$0")/../tap.bash"
gcc -O2 -g -fno-optimize-sibling-calls -Wall -Wextra -Werror -Iinclude -o "$dir/capable" tests/e2e/capable.c -pthread || exit 1

# run STORE OPTION...: of a program that does the same in each run.
run() {
  rm -f "$dir/$1".db*
  timeout 200 "$commd" --rate 1000 --store "$dir/$1.db" "${@:2}" -- "$dir/capable" 20000 20000 >"$dir/$1.log" 2>&1
}
report() { # STORE FILTER: of its edges, as {"from > to": bytes}
  "$commctl" report --by-function --self --all --min-share 0 --top 0 --json --store "$dir/$1.db" >"$dir/report" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {key: "\($name[.from]) > \($name[.to])", value: .bytes}] | from_entries | ('"$2"') or error("\(.)")' "$dir/report"
}
# periods RUN TEST: of the samples in its recording, as a list in order, in ns; a sample each ms is asked for.
periods() {
  python3 - "$dir/$1.rec" "$2" <<'END'
import struct, sys
data, at, p = open(sys.argv[1], "rb").read(), 24, []
while at + 8 <= len(data):  # libcomm/stream/record_format.h
    kind, size = struct.unpack_from("<II", data, at)
    if kind == 16:
        p += struct.unpack_from("<Q", data, at + 8 + 40)
    at += 8 + size
p.sort()
print(*sorted((one, p.count(one)) for one in set(p)))
sys.exit(not (p and eval(sys.argv[2])))
END
}

[ "$(id -u)" = 0 ] && "$commd" --doctor | grep -q '^  bpf  *works' || { skip_all "BPF does not work here"; }
run all --source bpf --record "$dir/all.rec"
result $? "all functions"
run some --source bpf --function add_up --record "$dir/some.rec"
result $? "a function"
run none --source bpf --function nobody --callers --counters --record "$dir/none.rec"
result $? "a function that there is not"
check "all: several functions read" report all 'keys | map(sub(".* > "; "")) | unique | length > 1'
check "one: what it reads is told, and who wrote it" report some '."load > add_up" > 0 and (keys | all(endswith(" > add_up")))'
check "none: nothing is" report none '. == {}'
says() { "$commctl" report "${@:3}" --store "$dir/$1.db" | grep -z "only what '$2'\s*reads\s*is\s*counted"; }
check "the report says so" says some add_up --by-function
check "one of all flows does, too" says some add_up
check "an account of the run does" says some add_up --verbose
silent() { ! says all add_up --verbose; }
check "no other run is said to be one" silent
# long GROUPING: how long all nodes are, seconds.
long() {
  "$commctl" report --"by-$1" --totals --self --all --min-share 0 --top 0 --json --store "$dir/none.db" | jq '[.totals[].length] | add / 1e9'
}
# A busy machine takes samples away and adds none.
times() {
  local sampled counted
  sampled=$(long function) counted=$(long thread)
  echo "sampled $sampled, counted $counted"
  awk -v a="$sampled" -v b="$counted" 'BEGIN { exit !(a > 0 && a < b * 2) }' && periods none "abs(sum(p) / 1e9 - $sampled) < 0.01 * $sampled"
}
sentence() { "$commctl" report --"by-$1" --totals --self --all --min-share 0 --store "$dir/none.db" | tr -s '\n ' ' ' | grep -q 'CPU time of code is what its samples stand for'; }
not_of_threads() { ! sentence thread; }
# But for a thread that no sample met, which has microseconds.
counted() {
  local all
  all=$("$commctl" report --counters --json --store "$dir/none.db" | jq '[.counts[] | select(.counter == "cpu-time-ns") | .total] | add / 1e9')
  echo "$(long thread) $all"
  awk -v a="$(long thread)" -v b="$all" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }'
}
check "without one no sample is left out" periods all 'p[0] < 2e6 and not any(4 * one in p for one in p)'
check "with one all are taken where it reads, and one in four elsewhere" periods some 'p[0] < 2e6 and any(4 * one in p for one in p)'
check "where it is nowhere one in four is" periods none 'p[0] > 2e6'
check "which stand for the others" times
check "a report by code says so" sentence function
check "one of threads does not" not_of_threads
check "threads are as long as was counted" counted
timeout 100 "$commd" -q --source "replay:$dir/all.rec" --function add_up --store "$dir/replayed.db" >"$dir/log" 2>&1
result $? "a recording is replayed"
check "and tells the same" report replayed '."load > add_up" > 0 and (keys | all(endswith(" > add_up")))'
timeout 100 "$commd" -q --source "replay:$dir/some.rec" --store "$dir/again.db" >"$dir/log" 2>&1
result $? "that of a run of a function is replayed"
check "as one of that function" report again '."load > add_up" > 0 and (keys | all(endswith(" > add_up")))'
check "and the report says so" says again add_up --by-function
timeout 100 "$commd" -q --source "replay:$dir/some.rec" --function nobody --store "$dir/other.db" >"$dir/log" 2>&1
check "or as one of another function that is asked for" report other '. == {}'
timeout 100 "$commd" -q --source perf --rate 1000 --function add_up --store "$dir/perf.db" -- "$dir/capable" 20000 20000 >"$dir/log" 2>&1
result $? "another source"
check "tells the same" report perf '."load > add_up" > 0 and (keys | all(endswith(" > add_up")))'
exit $status
