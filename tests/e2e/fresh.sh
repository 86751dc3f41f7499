#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running program does now: which reads wait, how soon the rest changes, and who feeds whom.  Of
# kernels whose communication is known, attached to while they run; by debug registers or, where these
# do not trap, by looks at switches.  A run ends when enough came: how soon is the machine's affair.
. "$(dirname "$0")/../tap.bash"
kernels=$O/tests/truth/truth-kernels
target=
undo() {
  [ -n "$target" ] && kill -9 "$target" 2>/dev/null
}
[ "$(id -u)" = 0 ] || skip_all "needs root to look at every CPU"
doctor=$("$commd" --doctor)
grep -qE '^  bpf +works' <<<"$doctor" || skip_all "BPF does not work here"

# survey NAME ENOUGH PID: $dir/NAME.json is of fresh data by thread, of a run that ends when jq says that it holds enough.
survey() {
  "$commd" -v --pid "$3" --overhead 10 --slice 1s --store "$dir/$1.db" 2>"$dir/$1.log" &
  commd_until 60 holds "$1" "$2"
  holds "$1" "$2" || not_ok "$1: a minute is enough" "$(jq -c .range "$dir/$1.json"; cat "$dir/$1.log")"
}
holds() { # NAME ENOUGH
  "$commctl" report --fresh --all --json --store "$dir/$1.db" >"$dir/$1.json" 2>>"$dir/$1.log" && jq -e "$2" "$dir/$1.json" >/dev/null
}
kernel() { # NAME ENOUGH
  "$kernels" "$1" --threads 2 --seconds 1000 --out "$dir/$1.csv" --pid-file "$dir/pid" >/dev/null 2>&1 &
  target=$!
  until [ "$(cat "$dir/pid" 2>/dev/null)" = $target ]; do sleep 0.1; done
  survey "$1" "$2" $target
  kill -USR2 $target
  wait $target
  target=
}

kernel pipeline '.range.windows >= 40'
tids=$(sed -n 's/.*tids=//p' "$dir/pipeline.csv")
share=$(jq --argjson a "${tids%:*}" --argjson b "${tids#*:}" '[.nodes[] | select(.tid == $a).id][0] as $from |
  [.nodes[] | select(.tid == $b).id][0] as $to | [.edges[] | select(.from == $from and .to == $to).share] | add // 0' "$dir/pipeline.json")
awk -v s="$share" 'BEGIN { exit !(s > 0.8) }' && ok "what crosses goes from the producer to the consumer" ||
  not_ok "what crosses goes from the producer to the consumer" "$share of it; $(head -c 3000 "$dir/pipeline.json"; cat "$dir/pipeline.log")"
[ "$(jq '.census[0].fresh[1].share > 0.9' "$dir/pipeline.json")" = true ] && ok "all that it reads changes" ||
  not_ok "all that it reads changes" "$(jq -c '.census[0]' "$dir/pipeline.json")"
"$commctl" report --store "$dir/pipeline.db" >"$dir/screen" && [ "$(wc -l <"$dir/screen")" -le 25 ] &&
  grep -q '^WAITING' "$dir/screen" && grep -q '^FRESH' "$dir/screen" && grep -q '^FEEDS' "$dir/screen" && ok "one screen says it" ||
  not_ok "one screen says it" "$(cat "$dir/screen")"

kernel private '.range.windows >= 40'
crossing=$(jq '[(.account[] | select(.part == "others").share), (.range.windows // 0)] | .[0] < 0.02 and .[1] >= 20' "$dir/private.json")
[ "$crossing" = true ] && ok "private data come from their reader alone" ||
  not_ok "private data come from their reader alone" "$(jq -c '.account, .range' "$dir/private.json"; cat "$dir/private.log")"

# One thread counts, the other waits for a word that never changes; what is constant never changes.
gcc -x c -O1 -pthread -o "$dir/waits" - <<'PROGRAM' || not_ok "the program builds"
#include <pthread.h>
static volatile long word, table[512];
static void *wait_for_it(void *unused)
{
	while (!word)
		;
	return unused;
}
int main(void)
{
	pthread_t thread;
	volatile long sum = 0;

	pthread_create(&thread, 0, wait_for_it, 0);
	for (;;)
		for (int i = 0; i < 512; i++)
			sum += table[i];
}
PROGRAM
"$dir/waits" &
target=$!
survey waits '[.census[] | select(.node).reads] | length == 2 and min >= 200' $target
kill -9 $target
wait $target 2>/dev/null
target=
"$commctl" report --by function,object --json --store "$dir/waits.db" >"$dir/waits.json"
of() { jq -r --arg f "$1" "[.nodes[] | select(.name | test(\$f)).id] as \$ids | [.census[] | select(.node as \$n | \$ids | index(\$n))] | $2" "$dir/waits.json"; }
[ "$(of '^wait_for_it.*word' '(map(.waiting) | add // 0) > 0.2')" = true ] && ok "a loop that polls a word waits for it" ||
  not_ok "a loop that polls a word waits for it" "$(jq -c '.nodes, .census' "$dir/waits.json" | head -c 3000)"
[ "$(of '^main.*table' 'length > 0 and all(.fresh[1].share < 0.05 and .waiting == 0)')" = true ] &&
  ok "what nobody writes does not change" ||
  not_ok "what nobody writes does not change" "$(jq -c '.nodes, .census' "$dir/waits.json" | head -c 3000)"
echo "1..$n"
exit $status
