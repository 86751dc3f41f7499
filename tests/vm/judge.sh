#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# On the host: are commd's reports from the VM what is known?  Prints result lines.
#
#	judge.sh RESULTS/commd
set -u

here=$(cd "$(dirname "$0")" && pwd)
cd "$1" || exit 1

result() { # status, name, figures
	if [ "$1" = 0 ]; then echo "ok $2 # $3"; else echo "not ok $2 # $3"; fi
}

figures() { # name
	python3 "$here/../truth/compare.py" "$1.json" "$1.csv" --json
}

# All true edges are the largest, and the source is what the run says.
truth() { # name, source
	row=$(figures "$1" 2>&1)
	echo "$row" | jq -e '.recall == 1 and .error < 0.7' > /dev/null 2>&1 &&
		jq -e --arg source "$2" '.run.source == $source' "$1.json" > /dev/null
	result $? "commd: $1 is true" "$(jq -r '.run | "\(.source), \(.event // "")"' "$1.json" 2>&1 | head -n 1), $(echo "$row" | tr -d ' {}\n' | cut -c1-300)"
}

for name in ring-kmod ring-auto ring-watch ring-budget children-bpf children-proc cgroup; do
	truth $name kmod
done
truth ring-bpf bpf
truth ring-perf perf

# Each true edge's share through the module and through the others: the
# intervals, widened by the emulator's own noise, meet.
for other in bpf perf; do
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
	jq -ne --argjson a "$ours" --argjson b "$theirs" '
		($a | length) == 4 and ($b | length) == 4 and
		([range(4)] | all(. as $i | $a[$i].low - 0.1 <= $b[$i].high and $b[$i].low - 0.1 <= $a[$i].high))' > /dev/null 2>&1
	result $? "commd: shares through kmod and $other agree" \
		"$(echo "$ours" | jq -c 'map(.share * 1000 | round / 10)' 2>&1) and $(echo "$theirs" | jq -c 'map(.share * 1000 | round / 10)' 2>&1) %"
done

# A watched load was followed by a write of the one who owns the datum.
sums=$(awk -F'[ ,]' 'FNR == NR { if ($1 ~ /^[0-9]+$/ && $3 != $5) edge[$1 " " $2] = 1; next }
	$1 == "watch" && $2 != $3 { all += $4; if (($3 " " $2) in edge) right += $4 }
	END { print all + 0, right + 0 }' ring-watch.csv watch.events)
echo "$sums" | awk '{ exit !($1 >= 50 && $2 >= 0.95 * $1) }'
result $? "commd: evidence names the writer" "$sums of other threads, and those of the true edges"

jq -e '.run.source == "kmod" and (.nodes | length) >= 2 and ([.edges[] | select(.bytes > 0 and .samples >= 10)] | length) >= 1' xz.json > /dev/null 2>&1
result $? "commd: xz exchanges data between its threads" "$(jq -c '{source: .run.source, nodes: (.nodes | length), edges: (.edges | length), largest: (.edges | max_by(.bytes) | .samples)}' xz.json 2>&1)"

jq -e --arg tids "$(cat precise.tids)" '
	($tids | split(" ")[1:] | map(tonumber)) as $t |
	(.nodes | map({key: (.id | tostring), value: .tid}) | from_entries) as $tid |
	.run.source == "kmod" and .loss.no_address > 0 and
	[.edges[] | select(.bytes > 0) | [$tid[.from | tostring], $tid[.to | tostring]]] ==
		[[$t[0], $t[1]]]' precise.json > /dev/null 2>&1
result $? "commd: precise samples of a writer and a reader give their edge" \
	"$(grep '^kind 2 ' precise.events) accesses; $(jq -c '[.edges[] | {from, to, bytes, samples}], .loss' precise.json 2>&1 | tr '\n' ' ')"
