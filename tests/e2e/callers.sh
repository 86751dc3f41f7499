#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Functions by their callers, of a program whose callers are known: as sampled, in a replay, without
# symbols, and of a run that was not asked for them.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
commd=$O/commd commctl=$O/commctl
n=0 status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ $# -gt 1 ] && printf '%s\n' "$2" | head -30 | sed 's/^/#   /'; status=1; }
[ "$(id -u)" = 0 ] || { echo "ok 1 # SKIP needs root to attach"; exit 0; }

# gcc -O2 omits frame pointers; the jump of a tail call is made sure of.
gcc -O2 -foptimize-sibling-calls -fomit-frame-pointer -pthread -o "$dir/called" tests/e2e/called.c >"$dir/log" 2>&1 || {
  echo "not ok 1 - tests/e2e/called.c compiles"
  exit 1
}

report() { # STORE BY
  "$commctl" report --store "$1" --json --by "$2" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err"
}

# The program runs until what is looked for is there: how soon is the machine's affair.
watch_until() { # CONDITION PROGRAM COMMD-ARGS...
  local target commd_pid condition=$1 program=$2
  shift 2
  rm -f "$dir"/s.db* "$dir/s.rec"
  "$program" 240000 >"$dir/log" 2>&1 &
  target=$!
  "$commd" -q --source bpf --rate 1000 --slice 500ms "$@" --record "$dir/s.rec" --store "$dir/s.db" --pid $target >"$dir/log" 2>&1 &
  commd_pid=$!
  while kill -0 $commd_pid 2>/dev/null && ! "$condition"; do sleep 1; done
  kill $target
  wait $commd_pid
  "$condition"
}

# All that is expected is there, and a function has no other caller; before its file is read it may have none.
has_callers() {
  report "$dir/s.db" caller && jq -e '[.nodes[] | select(.name | test(" from ")) | .name] as $all |
      ["shared_leaf from caller_one", "shared_leaf from caller_two", "recursive from work",
       "recursive from recursive", "tail_target from tail_root", "frame_leaf from frame_caller"] as $expected |
      ($expected - $all == []) and
      ([$all[] | select(test("^(shared_leaf|recursive|tail_target|frame_leaf) ")) |
        select(IN($expected[]) | not)] == []) or error("\($all)")' "$dir/r" >"$dir/out" 2>&1
}
if watch_until has_callers "$dir/called" --callers; then ok "functions have their callers, and no others"
else not_ok "functions have their callers, and no others" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi

report "$dir/s.db" caller && mv "$dir/r" "$dir/live"
"$commd" -q --source "replay:$dir/s.rec" --callers --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
report "$dir/again.db" caller
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "a replay has the same callers"; else not_ok "a replay has the same callers" "$(cat "$dir/log" "$dir/err")"; fi

"$commd" -q --source "replay:$dir/s.rec" --slice 500ms --store "$dir/without.db" >"$dir/log" 2>&1
report "$dir/without.db" caller
if [ $? = 3 ] && grep -q 'knows no callers.*--callers' "$dir/err"
then ok "without callers it is said how to have them"; else not_ok "without callers it is said how to have them" "$(cat "$dir/err")"; fi

# Callers split what a function read, and change none of it.
for store in again without; do
  report "$dir/$store.db" function
  jq '[.nodes[] | select(.name == "shared_leaf") | .read_bytes] | add' "$dir/r" >"$dir/$store"
done
if jq -ns --slurpfile a "$dir/again" --slurpfile b "$dir/without" -e '$a[0] > 0 and ($a[0] / $b[0] - 1 | fabs) < 0.01' >/dev/null
then ok "reports by function are the same"; else not_ok "reports by function are the same" "$(cat "$dir/again" "$dir/without")"; fi

# Deeper: each path is the program's own, from where its threads begin.
has_paths() {
  report "$dir/s.db" path && jq -e '[.nodes[].name] as $all |
      ["shared_leaf from caller_one from work", "shared_leaf from caller_two from work",
       "recursive from recursive from recursive from recursive from work", "tail_target from tail_root from work",
       "frame_leaf from frame_caller from work", "wide_leaf from wide_caller from work"] as $expected |
      [$expected[] | select(. as $path | any($all[]; startswith($path + " from ") and
        (contains("start_thread") or contains("pthread_create") or contains("from main"))) | not)] == [] and
      ([$all[] | select(test("^(shared_leaf|tail_target|frame_leaf) from [a-z]")) |
        select([startswith("shared_leaf from caller_one from work", "shared_leaf from caller_two from work",
          "tail_target from tail_root from work", "frame_leaf from frame_caller from work")] | any | not)] == []) and
      ([.nodes[] | select(.name | startswith("wide_leaf from wide_caller from work")) | .read_bytes] | add) >
        20 * ([.nodes[] | select(.name | startswith("wide_leaf from wide_caller from ...")) | .read_bytes] | add // 0)
      or error("\($all)")' "$dir/r" >"$dir/out" 2>&1
}
if watch_until has_paths "$dir/called" --callers=8; then ok "paths of calls are those of the program"
else not_ok "paths of calls are those of the program" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
# All that is called in work() counts for it, once, whoever called work().
"$commctl" report --store "$dir/s.db" --call-tree --self --min-share 0 --top 0 --json >"$dir/tree"
report "$dir/s.db" function
if jq -n -e --slurpfile tree "$dir/tree" --slurpfile flat "$dir/r" '
    def all: ., (.calls[] | all);
    ([$tree[0].totals[] | all | select(.name == "work") | .all_read.bytes] | add) as $tree |
    ([$flat[0].nodes[] | select(.name | test("^(work|shared_leaf|caller_one|caller_two|recursive|tail_target|tail_caller|tail_root|frame_leaf|frame_caller|wide_leaf|wide_caller)$")) | .read_bytes] | add) as $flat |
    $tree / $flat > 0.9 and $tree / $flat <= 1.0001 or error("\($tree) of \($flat)")' >"$dir/out" 2>&1
then ok "a call tree has all that is called inside"; else not_ok "a call tree has all that is called inside" "$(cat "$dir/out")"; fi
if "$commctl" export --store "$dir/s.db" --as collapsed --all --within >"$dir/out" &&
  grep -q ';writer work;writer caller_one;writer shared_leaf;object .*reader work;.*reader caller_two;.*reader shared_leaf ' "$dir/out"
then ok "stacks of an export have the callers"; else not_ok "stacks of an export have the callers" "$(head -5 "$dir/out")"; fi
for bad in 0 17 1.5 x; do
  "$commd" --callers=$bad --pid 1 >"$dir/out" 2>&1
  [ $? = 2 ] && grep -q -- "--callers wants" "$dir/out" || break
  bad=
done
if [ -z "$bad" ]; then ok "depths that there are not are refused"; else not_ok "--callers=$bad is refused" "$(cat "$dir/out")"; fi

# .eh_frame stays in a stripped file: its functions are places, but they are called all the same.
strip -o "$dir/stripped" "$dir/called"
has_places() {
  report "$dir/s.db" caller &&
    jq -e '[.nodes[].name | select(test("^stripped[+]0x[0-9a-f]* from stripped[+]0x"))] | length >= 6' "$dir/r" >"$dir/out" 2>&1
}
if watch_until has_places "$dir/stripped" --callers; then ok "callers in a stripped program"
else not_ok "callers in a stripped program" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
exit $status
