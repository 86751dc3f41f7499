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
samples() { grep -oE '[0-9]+ samples' "$dir/$1.log" | cut -d' ' -f1; }
# half A OPERATOR B: whether the samples of one run are more, or less, than half of those of another one.
half() {
  echo "$1: $(samples "$1"), $3: $(samples "$3")"
  [ "$(($(samples "$1") * 2))" "$2" "$(samples "$3")" ]
}

[ "$(id -u)" = 0 ] && "$commd" --doctor | grep -q '^  bpf  *works' || { skip_all "BPF does not work here"; }
run all --source bpf --record "$dir/all.rec"
result $? "all functions"
run some --source bpf --function add_up --record "$dir/some.rec"
result $? "a function"
run none --source bpf --function nobody --callers --counters
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
times() { # those of samples and those that were counted
  local sampled counted
  sampled=$(long function) counted=$(long thread)
  echo "sampled $sampled, counted $counted"
  awk -v a="$sampled" -v b="$counted" 'BEGIN { exit !(a > b / 2 && a < b * 2) }'
}
# But for a thread that no sample met, which has microseconds.
counted() {
  local all
  all=$("$commctl" report --counters --json --store "$dir/none.db" | jq '[.counts[] | select(.counter == "cpu-time-ns") | .total] | add / 1e9')
  echo "$(long thread) $all"
  awk -v a="$(long thread)" -v b="$all" 'BEGIN { exit !(b > 0 && a > 0.99 * b && a < 1.01 * b) }'
}
check "where it reads all samples are taken" half some -gt all
check "elsewhere a few are" half none -lt all
check "which stand for the others" times
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
