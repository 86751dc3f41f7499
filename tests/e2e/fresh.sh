#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a running program does now: which reads wait, how soon the rest changes, and who feeds whom.  Of
# kernels whose communication is known, attached to while they run; by debug registers or, where these
# do not trap, by looks at switches.  Runs are made longer until enough windows came, for a
# machine may be busy.
. "$(dirname "$0")/../tap.bash"
kernels=$O/tests/truth/truth-kernels
target=
undo() {
  [ -n "$target" ] && kill -9 "$target" 2>/dev/null
}
[ "$(id -u)" = 0 ] || skip_all "needs root to look at every CPU"
doctor=$("$commd" --doctor)
grep -qE '^  bpf +works' <<<"$doctor" || skip_all "BPF does not work here"

# survey NAME ARGUMENT...: $dir/NAME.json is of fresh data by thread, of a run of the target with 40 windows at least,
# if a minute has so many.
survey() {
  local name=$1 seconds
  shift
  for seconds in 5 20 60; do
    rm -f "$dir/$name.db"*
    "$commd" -v "$@" --overhead 10 --duration ${seconds}s --store "$dir/$name.db" 2>"$dir/$name.log" ||
      not_ok "$name: commd" "$(cat "$dir/$name.log")"
    "$commctl" report --fresh --all --json --store "$dir/$name.db" >"$dir/$name.json" 2>>"$dir/$name.log"
    [ "$(jq '.range.windows // 0' "$dir/$name.json" 2>/dev/null || echo 0)" -lt 40 ] || break
  done
}
kernel() { # NAME
  "$kernels" "$1" --threads 2 --seconds 1000 --out "$dir/$1.csv" --pid-file "$dir/pid" >/dev/null 2>&1 &
  target=$!
  until [ "$(cat "$dir/pid" 2>/dev/null)" = $target ]; do sleep 0.1; done
  survey "$1" --pid $target
  kill -USR2 $target
  wait $target
  target=
}

kernel pipeline
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

kernel private
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
survey waits --pid $target
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
