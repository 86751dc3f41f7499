#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl advise: on stores with known contents, and on counted runs whose best placement is
# found by trying all.  No root needed.
. "$(dirname "$0")/../tap.bash"
make=$O/tests/e2e/make_store

# sentence NAME CODE REGEX ARGUMENT...: exit status, and one line that matches.
sentence() {
  local name=$1 code=$2 regex=$3 out got
  shift 3
  out=$("$commctl" advise "$@" 2>&1 >/dev/null </dev/null)
  got=$?
  if [ $got != "$code" ]; then
    not_ok "$name" "exit status $got, not $code: $out"
  elif ! grep -qE "$regex" <<<"$out" || [ "$(grep -vcE '^Try |^$' <<<"$out")" -gt 1 ]; then
    not_ok "$name" "not one sentence with /$regex/: $out"
  else
    ok "$name"
  fi
}
# json NAME FILTER ARGUMENT...: what jq -e says of advise --json.
json() {
  local name=$1 filter=$2
  shift 2
  "$commctl" advise --json "$@" >"$dir/json" 2>"$dir/err" || { not_ok "$name" "$(cat "$dir/err")"; return; }
  check "$name" jq -e "$filter" "$dir/json"
}

for kind in pairs moving redis hostile empty unseen threads; do
  "$make" $kind "$dir/$kind.db" 60 || exit 1
done
# Two nodes of 16 CPUs in caches of 8; one CPU.
for cpu in {0..31}; do echo "$cpu,$((cpu / 16)),,$cpu,$cpu,$cpu,$((cpu / 8))"; done >"$dir/two"
echo '0,0,,0,0,0,0' >"$dir/one"
two=(--topology "$dir/two")

# Each of four writers runs on node 0, its reader on node 1.
pairs=(--store "$dir/pairs.db" "${two[@]}")
json "pairs that are apart: move" '.verdict == "move" and .by == "thread" and .over == "node" and .now_known and .better == 1
  and .gain.low > 0.9 and .gain.high <= 1 and .covered > 0.999 and .load_unit == "cpus"
  and ([.parts[].load] | add - 2.5 | fabs < 1e-6) and ([.edges[].crosses_now] | unique == [1])' "${pairs[@]}"
planned=$(jq -c .planned.value "$dir/json") before=$(jq -c .now.value "$dir/json")
check "each reader comes to its writer" jq -e '(.nodes | map({key: .id, value: .part}) | from_entries) as $part
  | [.edges[] | select(.rate > 1e6)] | length == 4 and all($part[.from] == $part[.to] and .crosses_planned == 0)' "$dir/json"
check "both nodes are used, and evenly" jq -e '[.parts[].load] | (.[0] - .[1] | fabs) < 1e-6' "$dir/json"
json "over caches" '.over == "cache" and (.parts | length) == 4 and .verdict == "move"' "${pairs[@]}" --over cache
json "over CPUs: no two of eight come together on 32" '.over == "cpu" and (.parts | length) == 32 and .n != 0' "${pairs[@]}" --over cpu --parts 32
json "one node alone" '[.parts[] | select(.used)] | length == 1' "${pairs[@]}" --parts 1
json "each read counts" '.first_read == false and .now.value > 1e7' "${pairs[@]}" --all-reads
json "CPUs that are allowed" '[.parts[].cpus] == ["8-15", "16-19"]' "${pairs[@]}" --cpus 8-19
json "threads that always run side by side, now here and now there, stay" '.verdict == "stay" and .now.value == 0' \
  --store "$dir/moving.db" "${two[@]}"
json "where they ran can be said to be unknown" '.verdict == "move" and (.now_known | not) and ([.edges[].crosses_now] | unique == [0.5])' \
  "${pairs[@]}" --placement spread
json "roles: two pools that feed each other go together" '.by == "role" and (.nodes | length) == 3
  and ([.nodes[] | select(.name == "get" or .name == "put") | .part] | unique | length) == 1
  and ([.nodes[].tids | length] | sort == [1, 3, 4])' "${pairs[@]}" --by role
json "roles that are too much for one of two stay apart" '.verdict == "stay"' "${pairs[@]}" --by role --parts 2
"$commctl" advise --store "$dir/redis.db" "${two[@]}" --json >"$dir/json"
check "what is not stated chooses nothing" jq -e '.covered < 0.9 and .unstated_now > 0 and
  ([.edges[] | .from, .to] | unique) == ([.nodes[].id] | unique)' "$dir/json"

# 64 threads of one pool, every second on the other node: two different ones are apart in 64 of 126.
for tid in {100..163}; do echo "$((tid % 2 * 16)) $tid"; done >"$dir/listed"
json "a pool's own flows: between different threads" '.edges | length == 1 and (.[0].crosses_now - 64 / 126 | fabs < 1e-6)' \
  --store "$dir/threads.db" "${two[@]}" --by role --parts 1 --placement "$dir/listed"

# Commands: run by a shell, with a taskset that only says what it is asked.
"$commctl" advise "${pairs[@]}" --as taskset >"$dir/script"
mkdir "$dir/bin"
printf '#!/bin/sh\necho "$@" >>%s\n' "$dir/asked" >"$dir/bin/taskset"
chmod +x "$dir/bin/taskset"
(cd "$dir/bin" && PATH=$dir/bin:$PATH sh "$dir/script")
check "a line for each thread, whatever its name" [ "$(sort "$dir/asked" | awk '/^-pc (0-15|16-31) 3[01][0-3]$/ {n++} END {print NR, n}')" = "8 8" ]
check "nothing else was run" [ "$(ls "$dir/bin")" = taskset ]
# But for the optimism that a plan made for these edges was charged with, a thousandth of what crossed before.
json "what was advised stays, and costs what was said" ".verdict == \"stay\" and .now_known and (.now.value - $planned | fabs) < 0.002 * $before" \
  "${pairs[@]}" --placement "$dir/script"
sed "s/^taskset -pc \([^ ]*\) \([0-9]*\) .*/pid \2's current affinity list: \1/" "$dir/script" >"$dir/printed"
json "taskset's own words" '.verdict == "stay"' "${pairs[@]}" --placement "$dir/printed"
printf '# all over\n0-31 put-1\n16-31 get-1\n\n0,16 302\n' >"$dir/listed"
json "lists, by name and by number" '.now_known == false and ([.edges[] | select(.rate > 1e6) | .crosses_now] | sort == [0.5, 0.5, 0.5, 0.5])' \
  "${pairs[@]}" --placement "$dir/listed"
"$commctl" advise "${pairs[@]}" --as cpuset >"$dir/script"
check "cpuset: a shell takes it" sh -n "$dir/script"
check "cpuset: two groups, eight threads" [ "$(grep -c 'cpuset.cpus"$' "$dir/script") $(grep -c '^echo 3[01][0-3] > "$group/node[01]/cgroup.threads"' "$dir/script")" = "2 8" ]
"$commctl" advise "${pairs[@]}" --as numactl >"$dir/script"
check "numactl cannot split a process" grep -q '^# process 300, .* cannot do' "$dir/script"
check "numactl: nothing to run" [ "$(grep -vc '^#' "$dir/script")" = 0 ]
"$commctl" advise "${pairs[@]}" --as numactl --parts 1 >"$dir/script"
check "numactl: a process on one node" grep -qxE 'numactl --cpunodebind=[01] --preferred=[01]' "$dir/script"
"$commctl" advise --store "$dir/moving.db" "${two[@]}" --as taskset >"$dir/script"
check "nothing to do: a comment" [ "$(grep -vc '^#' "$dir/script") $(grep -c 'nothing to do' "$dir/script")" = "0 1" ]
for as in text taskset cpuset numactl; do
  "$commctl" advise --store "$dir/hostile.db" "${two[@]}" --as $as >"$dir/text" 2>&1
  check "hostile names as $as" sh -c '! LC_ALL=C grep -q "[^ -~]" "$1"' - "$dir/text"
done
json "hostile names in JSON" '.nodes | length == 2' --store "$dir/hostile.db" "${two[@]}"
for width in 80 120; do
  for store in pairs redis threads; do
    COLUMNS=$width "$commctl" advise --store "$dir/$store.db" "${two[@]}" >"$dir/text"
    check "text of $store in $width columns" [ "$(wc -L <"$dir/text")" -le $width ]
  done
done

# A place that is no better is not told of, and what is sure rests on what is stated.
"$commctl" advise --store "$dir/moving.db" "${two[@]}" >"$dir/text"
check "where threads should stay no other place is told" sh -c 'grep -q "^Leave the threads" "$1" && ! grep -qE "at best|would" "$1"' - "$dir/text"
"$commctl" advise "${pairs[@]}" >"$dir/text"
check "no certainty of more than 99 %, no interval from 100 to 100" sh -c 'tr "\n" " " <"$1" | grep -q "of what is confirmed .* less goes" && ! grep -qE "100[.0]*[.][.]100|99\.[0-9] % sure|100 % sure" "$1"' - "$dir/text"

sentence "no run" 3 'no run' --store "$dir/empty.db" "${two[@]}"
sentence "what has no known writer is no advice" 3 'has no confirmed flow between threads' --store "$dir/unseen.db" "${two[@]}"
sentence "one CPU" 3 'one CPU alone' --store "$dir/pairs.db" --topology "$dir/one"
sentence "one node" 3 'one NUMA node alone; --over cache' "${pairs[@]}" --over node --cpus 0-7
sentence "another machine" 1 'another machine, db1: .*--topology' --store "$dir/pairs.db"
sentence "no topology" 1 'cannot read the topology .*none' --store "$dir/pairs.db" --topology "$dir/none"
sentence "no such topology" 1 'line 2: not as "lscpu' --store "$dir/pairs.db" --topology "$dir/listed"
sentence "no CPUs left" 1 'none of the CPUs' "${pairs[@]}" --cpus 40
sentence "no placement" 1 'cannot read .*none' "${pairs[@]}" --placement "$dir/none"
sentence "no such placement" 1 'line 1: it wants a list' "${pairs[@]}" --placement "$dir/two"
sentence "a placement of others" 1 'no thread that the run confirms' "${pairs[@]}" --placement <(echo '0 nobody')
sentence "too many parts" 2 'there are 2 NUMA nodes' "${pairs[@]}" --parts 3
for bad in '--by function' '--over socket' '--parts 0' '--cpus 1-' '--as xml' '--run 0' '--to 0' 'extra'; do
  # shellcheck disable=SC2086
  sentence "bad option: $bad" 2 'commctl advise: ' "${pairs[@]}" $bad
done

# Counted runs: of all ways to split the threads as evenly, none cuts less than the advice.
for kernel in ring pipeline spsc; do
  rm -f "$dir"/k.db*
  "$O/commd" -q --source exact --store "$dir/k.db" -- "$O/tests/truth/truth-kernels-exact" $kernel --threads 8 --seconds 0.2 \
    --out "$dir/k.csv" >"$dir/log" 2>&1
  "$commctl" advise --store "$dir/k.db" "${two[@]}" --parts 2 --json >"$dir/json"
  check "$kernel: the best of all placements" python3 - "$dir/json" "$dir/k.csv" <<'END'
import csv, itertools, json, sys
advice = json.load(open(sys.argv[1]))
part = {n["tids"][0]: n["part"] for n in advice["nodes"]}
flows = [(int(r["src_tid"]), int(r["dst_tid"]), int(r["first_bytes"]))
         for r in csv.DictReader(l for l in open(sys.argv[2]) if not l.startswith("#"))]
tids = sorted(part)
cut = lambda where: sum(b for s, d, b in flows if s in where and d in where and where[s] != where[d])
best = min(cut({t: t in half for t in tids}) for half in itertools.combinations(tids, len(tids) // 2))
assert abs(2 * sum(part.values()) - len(tids)) <= 1, part
assert advice["verdict"] == "move" and advice["gain"]["low"] == advice["gain"]["high"]
assert 0 < cut(part) <= 1.01 * best, (cut(part), best)
END
done

# False sharing is what goes when words and not lines are remembered, as commctl(1) has it.
# Shares do not depend on how fast the machine is; of false sharing alone, nothing is left to share.
for case in falseshare:rate ring:share; do
  kernel=${case%:*}
  for granularity in 64 8; do
    rm -f "$dir/$granularity.db"*
    "$O/commd" -q --source exact --granularity $granularity --store "$dir/$granularity.db" -- \
      "$O/tests/truth/truth-kernels-exact" $kernel --threads 4 --seconds 0.2 --out "$dir/k.csv" >"$dir/log" 2>&1
  done
  "$commctl" diff "$dir/64.db" "$dir/8.db" --of "${case#*:}" --json >"$dir/json"
  check "$kernel: lines against words" jq -e --arg kernel $kernel '[.edges[] | select((.from.name | startswith($kernel)) and
    (.to.name | startswith($kernel)) and .a.value > (if $kernel == "ring" then 0.1 else 1000 end))] | length >= 4 and
    all(if $kernel == "ring" then .verdict == "same" else .verdict == "less" and .ratio < 0.1 end)' "$dir/json"
done

echo "1..$n"
exit $status
