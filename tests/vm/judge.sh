#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# On the host: are commd's reports from the VM what is known?  Prints result lines.
#
#	judge.sh RESULTS/commd OUTPUT
set -u
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
built=$(cd "$2" && pwd)
cd "$1" || exit 1

# For filters that say true or false; by jq's -e no input at all would be true.
holds() { # jq's arguments
	[ "$(jq "$@" 2> /dev/null)" = true ]
}

result() { # status, name, figures
	if [ "$1" = 0 ]; then echo "ok $2 # $3"; else echo "not ok $2 # $3"; fi
}

figures() { # name
	python3 "$here/../truth/compare.py" "$1.json" "$1.csv" --json
}

# All true edges are the largest, and the source is what the run says.  Their shares differ by
# what a few large samples make of them, the more where a budget changes the rate; a uniform guess has 1.33.
truth() { # name, source, error
	[ -e $1.json ] || return 0
	row=$(figures "$1" 2>&1)
	echo "$row" | holds --argjson most "${3:-0.7}" '.recall == 1 and .error < $most' &&
		holds --arg source "$2" '.run.source == $source' "$1.json"
	result $? "commd: $1 is true" "$(jq -r '.run | "\(.source), \(.event // "")"' "$1.json" 2>&1 | head -n 1), $(echo "$row" | tr -d ' {}\n' | cut -c1-300)"
}

for name in ring-kmod ring-watch children-bpf children-proc cgroup; do
	truth $name kmod
done
truth ring-budget kmod 1.2
truth ring-bpf bpf
truth ring-perf perf

# Each true edge's share through the module and through the others: the
# intervals, widened by the emulator's own noise, meet.
for other in bpf perf; do
	[ -e ring-$other.json ] && [ -e ring-kmod.json ] || continue
	shares() { # name
		jq -c --rawfile truth "$1.csv" '
			[$truth | split("\n")[] | select(test("^[0-9]")) | split(",") | select(.[2] != .[4]) | {s: (.[0] | tonumber), d: (.[1] | tonumber)}] as $true |
			(.nodes | map({key: (.id | tostring), value: .tid}) | from_entries) as $tid |
			([.edges[].bytes] | add) as $sum |
			[.edges[] | select($tid[.from | tostring] as $s | $tid[.to | tostring] as $d | any($true[]; .s == $s and .d == $d)) |
				{low: (.low / $sum), high: (.high / $sum), share: (.bytes / $sum)}] |
			sort_by(.share)' "$1.json"
	}
	ours=$(shares ring-kmod 2>&1)
	theirs=$(shares ring-$other 2>&1)
	holds -n --argjson a "$ours" --argjson b "$theirs" '
		($a | length) == 4 and ($b | length) == 4 and
		([range(4)] | all(. as $i | $a[$i].low - 0.1 <= $b[$i].high and $b[$i].low - 0.1 <= $a[$i].high))'
	result $? "commd: shares through kmod and $other agree" \
		"$(echo "$ours" | jq -c 'map(.share * 1000 | round / 10)' 2>&1) and $(echo "$theirs" | jq -c 'map(.share * 1000 | round / 10)' 2>&1) %"
done

# Who feeds whom is among the pairs of the module's windows; locks and barriers have pairs of their own.
if [ -e watch.events ]; then
	sums=$(awk -F'[ ,]' 'FNR == NR { if ($1 ~ /^[0-9]+$/ && $3 != $5) { edge[$1 " " $2] = 1; edges++ } next }
		$1 == "pair" && $2 != $3 { all += $4; found += ($3 " " $2) in edge }
		END { printf "%.0f %.0f %.0f\n", all, found, edges }' ring-watch.csv watch.events)
	echo "$sums" | awk '{ exit !($1 + 0 >= 20 && $2 + 0 == $3 + 0 && $3 + 0 > 0) }'
	result $? "commd: the module's windows name the writers" "$sums: pairs of two threads, true edges among them, true edges"
fi

# What is written in a region is read in that which reads it; the program has no others.
if [ -e marks.json ]; then
	flows=$(jq -c '(.nodes | map({(.id): .name}) | add) as $name |
		[.edges[] | {from: $name[.from], to: $name[.to], bytes}]' marks.json 2>&1)
	echo "$flows" | holds '[.[] | select(.from | startswith("write")) | select(.to | startswith("read "))] as $flows |
		([$flows[].bytes] | add) as $all | ([$flows[] | select(.from[6:] == .to[5:]).bytes] | add) as $right |
		([.[] | .from, .to] | unique - ["(no region)", "(other)", "read a", "read b", "reader", "write a", "write b"]) == [] and
		([$flows[].to] | unique) == ["read a", "read b"] and $right > 0.8 * $all'
	result $? "commd: regions through kmod" "$(echo "$flows" | cut -c1-300)"
fi

# What the adder reads of another's was written in the kernel.
pipe() { # source
	[ -e feed-$1.json ] || return 0
	row=$(jq -c --argjson true "$(awk '{ print $2 }' feed-$1.bytes)" '
		(.nodes | map({key: (.id | tostring), value: .name}) | from_entries) as $name |
		{source: .run.source, kernel: ([.edges[] | select($name[.to | tostring] == "add_up")] |
				([.[] | select($name[.from | tostring] == "[kernel]").bytes] | add) / (map(.bytes) | add)),
			low: ([.edges[].low] | add / $true), high: ([.edges[].high] | add / $true)}' feed-$1.json 2>&1)
	echo "$row" | holds --arg source $1 '.source == $source and .kernel >= 0.9'
	result $? "commd: data from a pipe are the kernel's, $1" "$row"
	echo "$row" > feed-$1.row
}
pipe kmod
pipe bpf
# How much it is depends on how fast the emulator is: of the bytes that were fed,
# both say the same.
if [ -e feed-bpf.row ] && [ -e feed-kmod.row ]; then
	holds -s 'length == 2 and .[0].low <= .[1].high and .[1].low <= .[0].high' feed-*.row
	result $? "commd: as much from a pipe through kmod as through bpf" "$(jq -sc 'map("\(.source) \(.low)..\(.high)")' feed-*.row 2>&1)"
fi

# Bursts with the module's memory against those with the stack alone.
longer() { # name, how many times
	[ -e $1.rec ] || return 0
	row=$("$built/tests/vm/lengths" $1.rec 2>&1)
	echo "$row" | holds --argjson least $2 '.bursts >= 50 and .all.accesses >= $least * .stack.accesses'
	result $? "commd: bursts are longer with memory, $1" "$(echo "$row" | jq -c '[.bursts] + [.stack, .registers, .all | [.accesses, .insns]]' 2>&1)"
}
longer chase 1.2
longer sqlite 1.2
longer xz-kmod 1.2
longer redis-kmod 1.2

# The module and perf, at the same time on the same program, from what both know:
# the flows that are a quarter or more of either report are in both, and their
# intervals meet, as shares of all that was read: on a busy host the one may have
# begun seconds after the other.  First reads only: most reads of redis poll one
# word, and whether a sample meets one of its few writes is chance.
plain() { # name
	"$built/tests/vm/plain" $1.rec $1.plain && rm -f $1.db &&
		"$built/commd" -q --source replay:$1.plain --store $1.db &&
		"$built/commctl" report --json --by-thread --self --first-read --confidence 99 --min-share 0 --top 0 --store $1.db |
		jq -c '(.nodes | map({key: (.id | tostring), value: .tid}) | from_entries) as $tid |
			.range.read_bytes as $all |
			[.edges[] | {pair: "\($tid[.from | tostring])>\($tid[.to | tostring])", share, low: (.low / $all), high: (.high / $all)}]'
}
same() { # name
	[ -e $1-kmod.rec ] || return 0
	ours=$(plain $1-kmod 2>> log)
	theirs=$(plain $1-perf 2>> log)
	holds -n --argjson a "$ours" --argjson b "$theirs" '
		[$a[], $b[] | select(.share >= 0.25).pair] | unique | length > 0 and all(. as $pair |
			([$a[] | select(.pair == $pair)][0]) as $x | ([$b[] | select(.pair == $pair)][0]) as $y |
			$x and $y and $x.low <= $y.high and $y.low <= $x.high)'
	result $? "commd: $1 is the same to kmod and perf" "$(for edges in "$ours" "$theirs"; do
		echo "$edges" | jq -c '[.[] | select(.share >= 0.1) | "\(.pair) \(.low * 1000 | round / 10)..\(.high * 1000 | round / 10) %"]' 2>&1
	done | tr '\n' ' ')"
}
same redis
same xz

if [ -e redis-kmod.json ]; then
	holds '(.nodes | map({key: (.id | tostring), value: .name}) | from_entries) as $name |
		.run.source == "kmod" and
		([.edges[] | select(.bytes > 0) | $name[.from | tostring] + ">" + $name[.to | tostring]] |
			contains(["redis-server>io_thd_1", "io_thd_1>redis-server"]))' redis-kmod.json
	result $? "commd: redis and its I/O thread exchange data both ways" "$(jq -c '[.edges[] | {bytes, samples}]' redis-kmod.json 2>&1)"
fi
# Its threads hand each datum over once, which few samples meet at both ends: where none does, no writer is known.
if [ -e xz-kmod.db ]; then
	"$built/commctl" report --json --by-thread --min-share 0 --top 0 --store xz-kmod.db > xz.json 2>> log
	holds --arg source "$(jq -r .run.source xz-kmod.json)" '$source == "kmod" and
		([.nodes[] | select(.read_bytes + .unwritten_bytes > 0)] | length) >= 2' xz.json
	result $? "commd: xz's threads read data" \
		"$(jq -c '{nodes: (.nodes | length), edges: (.edges | length)}' xz.json 2>&1)"
fi

# The stand-in's CPU 0 writes what CPU 1 reads; some of its samples have no address.
precise() { # name, source, event
	[ -e $1.json ] || return 0
	holds --arg tids "$(cat $1.tids)" --arg source "$2" --arg event "$3" '
		($tids | split(" ")[1:] | map(tonumber)) as $t |
		(.nodes | map({key: (.id | tostring), value: .tid}) | from_entries) as $tid |
		.run.source == $source and .run.event == $event and .loss.no_address > 0 and
		[.edges[] | select(.bytes > 0) | [$tid[.from | tostring], $tid[.to | tostring]]] ==
			[[$t[0], $t[1]]]' $1.json
	result $? "commd: $1, samples of a writer and a reader give their edge" \
		"$(grep '^kind 2 ' $1.events) accesses of $(jq -r .run.event $1.json); $(jq -c '[.edges[] | {from, to, bytes, samples}], .loss' $1.json 2>&1 | tr '\n' ' ')"
}
# Of the reader's loads two of five came from the writer's core, one from another socket's memory:
# all are there, by four standard errors of so many loads.  PEBS tells it of no load that its counting events sample.
origins() { # name
	[ -e $1.json ] || return 0
	holds 'def near($n; $share): (.share - $share) * (.share - $share) * $n < 16 * $share * (1 - $share)
			and .share > 0 and .share_low <= .share and .share <= .share_high;
		[.edges[] | select(.bytes > 0)] | length == 1 and (.[0] | .loads as $n | $n >= 10 and
		(.origin | (.hitm | near($n; 0.4)) and (.modified | near($n; 0.4)) and (.local | near($n; 0.4)) and
			([.remote, .remote_memory, .own, .memory] | all(near($n; 0.2))))
		and .latency_cycles >= 100 and .latency_cycles < 150)' $1.json
	result $? "commd: $1, where the reader's loads found their data" \
		"$(jq -c '.edges[0] | {loads, latency_cycles}, (.origin // {} | map_values(.share))' $1.json 2>&1 | tr '\n' ' ')"
}
no_origins() { # name
	[ -e $1.json ] || return 0
	holds '[.edges[] | has("origin") or has("loads")] | length > 0 and (any | not)' $1.json
	result $? "commd: $1, nothing is said of what PEBS does not tell" "$(jq -c '.edges[0]' $1.json 2>&1 | cut -c1-200)"
}
origins precise-ibs
no_origins precise-pebs
no_origins precise-perf
precise precise-ibs kmod ibs_op//
precise precise-pebs kmod cpu_core/loads/,cpu_core/stores/
precise precise-perf perf cpu_core/loads/,cpu_core/stores/
exit 0
