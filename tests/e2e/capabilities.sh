#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of docs/guide/capabilities.md, taken from its table, of a program whose bytes are known (capable.c): of exact
# runs to the byte, of a live run by who stands in the answer. Where the table says no, there is none. No root needed but for the live run.
. "$(dirname "$0")/../tap.bash"
table=docs/guide/capabilities.md
if ! command -v valgrind >/dev/null || [ ! -x "$O/exact/commexact-amd64-linux" ]; then
  skip_all "Valgrind is not installed, or was not when this was built"
fi
frames=4 words=1000

flags=(-O2 -g -fno-optimize-sibling-calls -Wall -Wextra -Werror -Iinclude)
gcc "${flags[@]}" -o "$dir/capable" tests/e2e/capable.c -pthread &&
  gcc "${flags[@]}" -fsanitize=thread -c -o "$dir/c.o" tests/e2e/capable.c &&
  gcc -o "$dir/capable-s" "$dir/c.o" "$O/libcomm-exact.a" -lpthread || exit 1
at() { grep -nF "$1" tests/e2e/capable.c | head -1 | cut -d: -f1; } # the line of code

# cell TAG live|exact: what the table says there.
cell() {
  awk -F' \\| ' -v tag="| $1" -v column="$([ "$2" = live ] && echo 3 || echo 4)" '$1 == tag { sub(/ \|$/, "", $column); print $column }' "$table"
}
# row TAG live|exact PROGRAM: the words of its last command of that program in $row.
row() {
  read -ra row < <(cell "$1" "$2" | grep -oE "\`$3 [^\`]*\`" | tail -1 | tr -d '\`' | cut -d' ' -f2- | sed 's/ -- .*//')
  [ ${#row[@]} -gt 0 ] || { echo "$table, $1, $2: no command of $3"; return 1; }
}
# ctl TAG live|exact STORE [OPTION...]: what the row's commctl prints.
ctl() {
  row "$1" "$2" commctl && timeout 60 "$commctl" "${row[@]}" --store "$dir/$3.db" "${@:4}" 2>"$dir/err"
}
# edges TAG STORE FILTER [OPTION...]: of the row's report, as {"from > to": bytes}.
edges() {
  ctl "$1" "$([[ $2 = live* ]] && echo live || echo exact)" "$2" --json --self --min-share 0 --top 0 "${@:4}" >"$dir/report" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {key: "\($name[.from]) > \($name[.to])", value: .bytes}] | group_by(.key) | map({(.[0].key): (map(.value) | add)}) | add |
      ('"$3"') or error("\(.)")' "$dir/report"
}
# asked TAG STORE FILTER [OPTION...]: of the row's report as it is.
asked() {
  ctl "$1" exact "$2" --json "${@:4}" >"$dir/report" && jq -e "($3) or error(\"\(.)\")" "$dir/report"
}
# totals TAG STORE FILTER [OPTION...]: of the row's report, as {"name": {written, read, ratio}}.
totals() {
  ctl "$1" exact "$2" --json --self --min-share 0 --top 0 "${@:4}" >"$dir/report" &&
    jq -e '[.totals[] | {key: .name, value: {written: .wrote_bytes, read: .reads_bytes, ratio}}] | from_entries | ('"$3"') or error("\(.)")' "$dir/report"
}
shows() { # WHAT TAG STORE: the row's answer has that word
  ctl "$2" exact "$3" | grep -q "$1"
}
# run STORE PROGRAM [OPTION...]: an exact run.
run() {
  rm -f "$dir/$1".db*
  timeout 100 "$commd" -q --store "$dir/$1.db" "${@:3}" -- "$dir/$2" $frames $words >"$dir/log" 2>&1
}
row P1 exact commd || exit 1
fine=("${row[@]}")

# Of each frame the worker reads the 1000 words that are loaded and 100, 200, 300 and 400 of them again: 4 * 8000 + 8000 bytes.
# It writes 500, reads them, and reads 100 words that stand for good; then writes 100, which are read in the next frame, but for
# the first one, where what was there at the beginning is.
# NAME STORE PROGRAM CHILD: what a child has of its parent.
runtime() {
  local name=$1 s=$2
  run "$s" "$3" --source exact
  result $? "$name: it runs"
  check "$name: P2, functions" edges P2 "$s" '."load > add_up" == 40000' --object IN
  check "$name: P2, of what is known from the beginning" edges P2 "$s" '. == {"set_up > add_up": 3200}' --object table
  check "$name: P4, lines" edges P4 "$s" '. == {"load > add_up": 40000}' --object IN
  check "$name: P4, which" jq -e '[.nodes[] | select(.kind == "line") | .line] | sort == ['"$(at 'to[i] = frame + i'),$(at 'sum += of[i]')"']' "$dir/report"
  check "$name: P6, threads" edges P6 "$s" '. == {"'"$3"' > worker": 40000}' --object IN
  # In all frames together 4000 words are loaded, and in none is more than one read first.
  check "$name: P11, first reads" edges P11 "$s" '. == {"load > add_up": 32000}' --object IN
  check "$name: M2, by object" edges M2 "$s" '."blur capable.c:'"$mid"' > add_up capable.c:'"$mid"'" == 16000 and
    ."edge capable.c:'"$out"' > add_up capable.c:'"$out"'" == 3 * 800 and ."set_up capable.c:'"$out"' > add_up capable.c:'"$out"'" == 800'
  check "$name: M5, where, and how large" asked M5 "$s" '[.nodes[] | select(.name == "capable.c:'"$mid"'") | .size_bytes] == [8000]' --self --min-share 0
  check "$name: P9, an object" totals P9 "$s" '.table == {written: 800, read: 3200, ratio: 4}'
  check "$name: M1, a function" totals M1 "$s" '.load.written == 4 * 8000 + 4 * 4 and .add_up.written == 0'
  check "$name: M7, one function of the report" edges M7 "$s" '."blur > add_up" == 16000 and (keys | all(test("^blur > | > blur$")))' --object "capable.c:$mid" --function blur
  check "$name: C5, one thread" edges C5 "$s" '."'"$3"' > worker" == 40000' --object IN
  check "$name: C5, and no other" asked C5 "$s" '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | [$name[.from], $name[.to]] | index("worker") != null] | length > 0 and all'
  # 40000 of it is more than 40 % of what is read of that, and the rest is not.
  check "$name: C4, a threshold" asked C4 "$s" '[.edges[].bytes] == [40000]' --object IN
  check "$name: C6, another process" edges C6 "$s" '[.[]] | max == '"$4" --function hand_over
  check "$name: C1, 39.1 KiB in a graph" grep -q '> "p0.t[0-9]*" \[label=" 39.1 KiB "' <(ctl C1 exact "$s" --object IN)
  check "$name: M6, functions and objects" grep -cE '> "p0.[fo][0-9]*" \[label=" 39.1 KiB "' <(ctl M6 exact "$s" --object IN)
  check "$name: P13, a placement" shows "worker" P13 "$s"
  check "$name: P14, a picture" shows '<title>.*main &gt; worker: ' P14 "$s"
  check "$name: P12, runs side by side" grep -qz '<title>.*main &gt; worker: .*<title>.*main &gt; worker: ' <("$commctl" graph "$dir/$s.db" "$dir/$s.db" --as matrix)
  check "$name: C10, an account" shows 'read in all' C10 "$s"
  check "$name: F5, spreadsheets" shows '"worker"' F5 "$s"
  check "$name: P5, regions" edges P5 "$s" '. == {"load > blur": 40000}' --object IN
  check "$name: P5, of the same threads" edges P5 "$s" '. == {"blur > edge": 16000}' --object "capable.c:$mid"
  check "$name: P5, of frames before" edges P5 "$s" '."edge > emit" == 2400' --object "capable.c:$out"
  check "$name: P8, in the same frame" edges P8 "$s" '. == {"this frame > this frame": 40000}' --object IN
  # What was there before the first frame is read in all four.
  check "$name: P8, across frames" edges P8 "$s" '. == {"the frame before > this frame": 800, "earlier frames > this frame": 2400}' --object table
  check "$name: C9, what is not to be counted" edges P2 "$s" '."load > add_up" == null' --object "capable.c:$mid"
  check "$name: P10, as long as they are" drawn "$s"
  check "$name: P10, regions are drawn" grep -q '> "p0.r[0-9]*" \[label=" 39.1 KiB "' <(ctl P10 exact "$s")
}
# The longest region has six inches, and the shortest less than the others.
drawn() {
  ctl P10 exact "$1" >"$dir/dot" && grep -qE 'label="blur.n[0-9,]+ (accesses|instructions)", .* width=6.00' "$dir/dot" &&
    grep -E 'label="(blur|load|edge|emit).n' "$dir/dot" | sed -E 's/.*label="([a-z]+).*width=([0-9.]+).*/\2 \1/' | sort -n | cut -d' ' -f2 | xargs | grep -qx 'emit edge load blur'
}
mid=$(($(at 'ALONE uint64_t *make_mid') + 2))" (make_mid)" out=$(($(at 'ALONE uint64_t *make_out') + 2))" (make_out)"

# Where fork() goes on in the child, hand_over() has written the address.
runtime S s capable-s 800
runtime V v capable 808

# refused STORE SENTENCE TAG [OPTION...]: there is no answer, and a sentence says why.
refused() {
  ! ctl "$3" live "$1" "${@:4}" && grep -q "$2" "$dir/err"
}
check "S: P9, types" grep -q 'long unsigned int' <("$commctl" report --by-type --store "$dir/s.db")
for s in s v; do
  check "${s^}: P3, no callers unless they are asked for" refused $s 'knows no callers' P3
  check "${s^}: P7, no time of writing without slices" asked P7 $s '[.nodes[].name] | index("(when not known)") != null' --self
done
check "S: P12, no instructions" refused s 'has no counts' P12
# Forty million of them are those of a loop.
check "V: P12, instructions" asked P12 v '[.counts[] | select(.name == "worker") | .counter == "instructions" and .total >= 4e7 and .total < 4.02e7 and
  .per == "1000 instructions" and ((.bytes_per - .bytes / .total * 1000) | fabs) < 0.001 and .bytes >= 43200] == [true]'

# The worker writes one half of a word, and the main thread the other: whoever wrote last has all of it, unless it is told apart.
run fine-s capable-s "${fine[@]}"
check "S: P1, four bytes" edges P2 fine-s '. == {"load > emit": 16, "blur > emit": 16}' --object halves
check "S: P1, else eight" edges P2 s '. == {"blur > emit": 32}' --object halves
run fine-v capable "${fine[@]}"
check "V: P1, four bytes" edges P2 fine-v '. == {"load > emit": 16, "blur > emit": 16}' --object halves
check "V: P1, else eight" edges P2 v '. == {"blur > emit": 32}' --object halves
# What blur() reads by add_up() is what was loaded, and what edge() reads is what blur() wrote, and the table.
row P3 exact commd || exit 1
callers=("${row[@]}")
run callers capable "${callers[@]}"
check "V: P3, by whom it was called" edges P2 callers '. == {"load from main > add_up from blur": 40000}' --by caller --object IN
check "V: P3, and by whom that was" edges P2 callers '. == {"set_up from main > add_up from edge from work": 3200} or
  (length == 1 and (keys[0] | test("^set_up from main from .* > add_up from edge from work from start_thread$")) and .[] == 3200)' --by path --object table
tree() {
  ctl P3 exact "$1" --min-share 0 --top 0 --object table | grep -E '^( +[0-9,]+){2} +3.12 KiB +3.12 KiB .* \*?set_up$' &&
    ctl P3 exact "$1" --min-share 0 --top 0 --object table | grep -E '^( +[0-9,]+){2} +- +- +3.12 KiB +3.12 KiB .* \*?add_up$'
}
check "V: P3, as a tree" tree callers
run callers-s capable-s "${callers[@]}"
check "S: P3, by whom it was called" edges P2 callers-s '. == {"load from main > add_up from blur": 40000}' --by caller --object IN
check "S: P3, and by whom that was" edges P2 callers-s '. == {"set_up from main > add_up from edge from work": 3200}' --by path --object table
check "S: P3, as a tree" tree callers-s
# What a program does is as long on any machine, but for what its libraries do.
long() { # STORE FILTER: of all nodes of the tree, by their names, as {length, all_length}
  ctl P3 exact "$1" --json --min-share 0 --top 0 >"$dir/report" &&
    jq -e '.length_unit as $unit | [.. | objects | select(.all_length) | {name, length, all_length, inside: [.calls[] | {(.name): .length}] | add}] | ('"$2"') or error("\($unit) \(.)")' "$dir/report"
}
check "S: P3, lengths, in accesses" long callers-s '$unit == "accesses" and any(.name == "blur" and .inside.add_up == 4000 + 1000 and .all_length == .length + 5000) and
  any(.name == "edge" and .inside.add_up == 4 * (500 + 100) and .length >= 400 and .length <= 408)'
check "V: P3, lengths, in instructions" long callers '$unit == "instructions" and any(.name == "work" and .inside.spin >= 4e7 and .inside.spin <= 4e7 + 8 * 4 and .all_length > .inside.spin)'
lengths() { "$commctl" report --"$1" --totals --json --self --min-share 0 --top 0 --store "$dir/$2.db" | jq '[.totals[].length] | add'; }
same() {
  echo "$("$commctl" report --counters --json --store "$dir/v.db" | jq '[.counts[] | select(.counter == "instructions") | .total] | add') $(lengths by-thread v) $(lengths by-function v) $(lengths by-region v)"
}
check "V: P3, and all of them together are those of the threads" grep -qE '^([0-9]{8}) \1 \1 \1$' <(same)
# Ten million instructions pass between what is loaded for a frame and what is read of it: a phase as long as that has the reads of
# one, 8000 bytes and 800 for each so far; what is left at the end goes with the last whole one.
row C2 exact commd || exit 1
sliced=("${row[@]}")
run slices capable "${sliced[@]}"
result $? "V: C2, slices"
phases() {
  ctl C2 exact slices --as json --by-function --object IN >"$dir/report" && jq -e '[.panels[] | [.edges[].bytes]] == [[], [8800], [9600], [10400 + 11200]] or error("\(.panels | map([.range.from_ns, .edges[].bytes]))")' "$dir/report"
}
check "V: C2, a graph for each" phases
# What is read in a phase is what was loaded in the one before.
check "V: P7, writers and readers by time" asked P7 slices '(.nodes | map({(.id): (.from_ns / 1e6 | floor)}) | add) as $at |
  [.edges[] | [$at[.from], $at[.to], .bytes]] == [[32, 37, 11200], [22, 32, 10400], [12, 22, 9600], [2, 12, 8800]]' --self --object IN
acyclic() {
  ctl C3 exact slices --as json --by-function --object IN >"$dir/report" && jq -e '.graphs[0] | (.nodes | map({(.id): "\(.name) \(.at_ns / 1e7 | floor)"}) | add) as $at |
    [.edges[] | [$at[.from], $at[.to], .bytes]] == [["load 3", "add_up 4", 11200], ["load 2", "add_up 4", 10400], ["load 1", "add_up 3", 9600], ["load 0", "add_up 2", 8800]] or
    error("\(.edges)")' "$dir/report"
}
check "V: C3, an acyclic graph" acyclic
# S cuts by time, so that which read is in which slice is luck, but none is lost; slices.sh has the rest.
run slices-s capable-s "${sliced[@]}"
result $? "S: C2, slices"
check "S: P7, each byte has a time" asked P7 slices-s '([.edges[].bytes] | add == 40000) and all(.nodes[]; .to_ns > 0)' --self --object IN
check "S: C3, and none leads back" jq -e '.graphs[0] | (.nodes | map({(.id): .at_ns}) | add) as $at | ([.edges[].bytes] | add == 40000) and all(.edges[]; $at[.from] < $at[.to])' \
  <(ctl C3 exact slices-s --as json --by-function --object IN)
check "V: P6, no processors" refused slices 'one runs at a time' P6 --by cpu
cpu=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
(taskset -pc "$cpu" $BASHPID >"$dir/log" && run placed-s capable-s "${sliced[@]}")
check "S: P6, processors" jq -e '[.edges[] | .bytes] == [40000] and [.nodes[].name] == ["cpu '"$cpu"'"]' \
  <("$commctl" report --by-cpu --store "$dir/placed-s.db" --json --self --object IN)
check "S: C2, a graph for each" jq -e '[(.panels // [.])[].edges[].bytes] | add == 40000' <(ctl C2 exact slices-s --as json --by-function --object IN)
row M7 exact commd || exit 1
selected=("${row[@]}")
run selected capable "${selected[@]}"
chosen() { # RUNTIME STORE
  check "$1: M7, what one function reads" edges M7 "$2" '."load > add_up" == 40000 and (keys | all(endswith(" > add_up")))'
  check "$1: M7, all that is written" totals M1 "$2" '.load.written == 4 * 8000 + 4 * 4'
}
chosen V selected
run selected-s capable-s "${selected[@]}"
chosen S selected-s
check "S: M7, lengths are of no use then" jq -e 'all(.totals[]; .length == null)' <(ctl M1 exact selected-s --json)
row M3 exact commd || exit 1
calls=("${row[@]}")
# 8000 bytes, and 800 for each frame so far, of the region in which they were loaded.
each_call='. == {"load > blur #1": 8800, "load > blur #2": 9600, "load > blur #3": 10400, "load > blur #4": 11200}'
run calls-s capable-s "${calls[@]}"
check "S: M3, each call" edges M3 calls-s "$each_call" --object IN
run calls-v capable "${calls[@]}"
check "V: M3, each call" edges M3 calls-v "$each_call" --object IN
check "S: F6, a page" ctl F6 exact s -o "$dir/page.html"
check "S: F6, and the worker in it" grep -q worker "$dir/page.html"
row F1 live commd
check "F1, which counters there are" grep -q 'counters of threads' <("$commd" "${row[@]}")
[ "$(id -u)" = 0 ] || { skip "live" "needs root to attach"; exit $status; }

# Samples tell the same of a program that runs on, by and by: a command that has told it once is done.
"$dir/capable" 100000000 20000 &
pids+=($!)
"$commd" -q --source bpf --rate 1000 --slice 200ms --callers=16 --counters --events page-faults --store "$dir/live.db" --pid "${pids[0]}" >"$dir/log" 2>&1 &
pids+=($!)
row M7 live commd || exit 1
"$commd" -q --source bpf --rate 1000 --slice 200ms "${row[@]}" --store "$dir/live-M7.db" --pid "${pids[0]}" >"$dir/log" 2>&1 &
pids+=($!)
# Its frames are shorter than 16 samples, so live P8 does not know of which frame what they read is.
# TAG WORDS: they are in what the row's last command prints; a filter of its edges, by names, where they begin with a dot.
claims=(
  'P2 ."load > add_up" > 0' 'P3 ^ +[0-9.]+ (ms|s) .* [*]add_up' 'P4 ."load > add_up" > 0' 'P5 ."load > blur" > 0 and ."blur > edge" > 0'
  'P6 . | keys | any(test("^cpu [0-9]+ > cpu [0-9]+$"))' 'P7 . | keys | any(test("^[0-9]+: .* > [0-9]+: "))'
  'P8 ."(frame not known) > this frame" > 0' 'P9 [-]> worker' 'P10 blur.*s CPU time' 'P11 ."load > add_up" > 0'
  'P12 per (1000 instructions|ms of CPU time)' 'P13 worker' 'P14 ^<svg' 'C1 worker' 'C2 worker' 'C3 worker.*shape|shape.*worker' 'C4 ."load > add_up" > 0'
  'C5 ."capable > worker" > 0' 'C6 .. | numbers > 0' 'C7 voluntary-switches' 'C10 read in all' 'M1 [*] add_up' 'M2 ."load IN > add_up IN" > 0'
  'M6 add_up' 'M7 ."load > add_up" > 0 and (keys | all(endswith(" > add_up")))' 'F2 page-faults' 'F2 ^Apportioned by CPU time' 'F3 cpu-time-ns' 'F5 "worker"'
)
claimed() { # TAG WORDS
  local store=live
  [ ! -e "$dir/live-$1.db" ] || store=live-$1
  case $2 in
    .*) edges "$1" "$store" "$2" --all ;;
    *) ctl "$1" live "$store" | grep -E -e "$2" ;;
  esac
}
for _ in {1..60}; do
  sleep 1
  left=()
  for claim in "${claims[@]}"; do
    read -r tag words <<<"$claim"
    if claimed "$tag" "$words" >"$dir/out" 2>&1; then ok "live: $tag"; else left+=("$claim"); fi
  done
  claims=("${left[@]}")
  [ ${#left[@]} -gt 0 ] || break
done
kill "${pids[@]}"
wait 2>/dev/null
for claim in "${claims[@]}"; do not_ok "live: $claim"; done
exit $status
