#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commctl sharing: on a store with known lines, and of programs whose sharing is known, one of
# which is planted: a server with its workers' statistics side by side (counting.c).
. "$(dirname "$0")/../tap.bash"
make=$O/tests/e2e/make_store
# json NAME FILTER ARGUMENT...: what jq -e says of sharing --json.
json() {
  local name=$1 filter=$2
  shift 2
  "$commctl" sharing --json "$@" >"$dir/json" 2>"$dir/err" || { not_ok "$name" "$(cat "$dir/err")"; return; }
  if jq -e "$filter" "$dir/json" >"$dir/out" 2>&1; then ok "$name"; else not_ok "$name" "$(jq -c . "$dir/json" | head -c 3000)"; fi
}
# sentence NAME CODE REGEX ARGUMENT...: exit status, and one line that matches.
sentence() {
  local name=$1 code=$2 regex=$3 out got
  shift 3
  out=$("$commctl" sharing "$@" 2>&1 >/dev/null </dev/null)
  got=$?
  if [ $got = "$code" ] && grep -qE "$regex" <<<"$out" && [ "$(grep -vcE '^Try |^information\.$|^$' <<<"$out")" = 1 ]; then
    ok "$name"
  else
    not_ok "$name" "exit status $got, not $code, or not one sentence with /$regex/: $out"
  fi
}

for kind in sharing hostile markup empty redis; do
  "$make" $kind "$dir/$kind.db" 60 || exit 1
done
store=(--store "$dir/sharing.db")
json "what is stated" '.lines_in_all == 2 and [.lines[].verdict] == ["false", "true"] and all(.lines[]; .stated)' "${store[@]}"
json "false: who uses which bytes, and where" '.lines[0] | .offset == 0 and .true_high < 0.05 and .contended_low < .contended and
  .contended < .contended_high and ([.uses[] | [.byte, .size_bytes, .writes]] == [[0, 8, false], [0, 8, true], [16, 8, false], [16, 8, true]]
  or ([.uses[].byte] | sort == [0, 0, 16, 16])) and ([.uses[].thread.tid] | unique | length) == 2 and
  all(.uses[]; .source == "networking.c" and .line > 0 and .offset == .byte and .accesses > 0)' "${store[@]}"
json "true: a word that both use" '.lines[1] | .offset == 64 and .true_low > 0.9 and ([.uses[].byte] | unique == [8])' "${store[@]}"
json "a part of the run" '.seconds == 20 and (.lines | length) == 2 and .lines[0].bursts == 260' "${store[@]}" --from 10s --to 30s
json "too short to tell" '.lines == [] and .lines_in_all == 2' "${store[@]}" --to 2s
json "--all has those, too" '[.lines[].verdict] | unique == ["unclear"]' "${store[@]}" --to 2s --all
json "--top" '.lines | length == 1' "${store[@]}" --top 1
json "a run without lines" '.lines == [] and .lines_in_all == 0' --store "$dir/redis.db"
check "CSV: a row for each use" [ "$("$commctl" sharing "${store[@]}" --csv | awk -F, '{n[NF]++} END {print NR, n[26]}')" = "9 9" ]
"$commctl" report "${store[@]}" >"$dir/text"
check "the first screen points here" grep -q '^LINES  *2 cache lines go from thread to thread, 1 by false sharing' "$dir/text"
"$commctl" report -v "${store[@]}" >"$dir/text"
check "the report points here" grep -qx '2 cache lines go from thread to thread, 1 by false sharing: commctl sharing.' "$dir/text"
for other in "--store $dir/redis.db" "${store[*]} --json" "${store[*]} --thread io_thd_1" "${store[*]} --by-function"; do
  # shellcheck disable=SC2086
  "$commctl" report $other >"$dir/text"
  check "but not report ${other#*.db}" sh -c '[ -s "$1" ] && ! grep -q "commctl sharing" "$1"' - "$dir/text"
done
for width in 60 80 140; do
  COLUMNS=$width "$commctl" sharing -v "${store[@]}" >"$dir/text"
  check "text: the line, its object and both verdicts ($width)" grep -qzE '\[heap\]\+0x0.*: false sharing.*served\+0x40.*: true sharing' "$dir/text"
done
# Neither reports nor advice count other lines than the list does, and no rate has more than two digits.
COLUMNS=80 "$commctl" sharing "${store[@]}" >"$dir/text"
check "a row for each line, fields named, rates of two digits" awk '
  $1 == "false" && $2 ~ /^[1-9][0-9][0,]*$/ && /\[heap\]\+0x0$/ { getline; if (/io_thd_1\/[0-9]+ writes bytes 0..7, io_thd_2\/[0-9]+ writes bytes 16..23$/) n++ }
  $1 == "true" && $2 ~ /^[1-9][,.0-9]*$/ && /served\+0x40$/ { n++ } END { exit n != 2 || NR > 12 }' "$dir/text"
"$commctl" sharing -v "${store[@]}" >"$dir/text"
check "rates are bounds of two digits" [ "$(tr '\n' ' ' <"$dir/text" | tr -d , | grep -oE 'at +most +[1-9][0-9]?0* +contended' | wc -l)" = 2 ]
check "a row for each field, with shares of the line's accesses" sh -c '[ "$(grep -cE "^ +[0-9]+\.\.[0-9]+ +[0-9]+ % +[0-9]+ % " "$1")" = 4 ]' - "$dir/text"
for kind in hostile markup; do
  "$commctl" sharing -v --store "$dir/$kind.db" --all >"$dir/text" 2>&1
  check "$kind names as text" sh -c 'grep -q "false sharing" "$1" && ! LC_ALL=C grep -q "[^ -~]" "$1"' - "$dir/text"
  "$commctl" sharing --store "$dir/$kind.db" --csv >"$dir/text" 2>&1
  check "$kind names as CSV" python3 -c 'import csv, sys
rows = list(csv.reader(open(sys.argv[1], encoding="utf-8", newline="")))
assert len(rows) > 4 and {len(r) for r in rows} == {26} and not any(f[:1] in "=+@" for r in rows[1:] for f in r if f)' "$dir/text"
  json "$kind names as JSON" '.lines | length == 2' --store "$dir/$kind.db"
done
sentence "no run" 3 'no run' --store "$dir/empty.db"
sentence "no store" 1 'cannot use the store' --store "$dir/none.db"
for bad in '--as xml' '--top -1' '--to 0' '--confidence 100' 'extra'; do
  # shellcheck disable=SC2086
  sentence "bad option: $bad" 2 'commctl sharing: ' "${store[@]}" $bad
done

# commctl advise says what to do about it, also where there is nothing to place.
echo '0,0,,0,0,0,0' >"$dir/one"
for cpu in 0 1; do echo "$cpu,$cpu,,$cpu,$cpu,$cpu,$cpu"; done >"$dir/two"
"$commctl" advise "${store[@]}" --topology "$dir/one" >"$dir/text" 2>"$dir/err"
check "advise with one CPU: done, and why nothing is placed" [ "$? $(grep -c 'one CPU alone' "$dir/err")" = "0 1" ]
check "advise: object, threads, bytes, place, padding" python3 -c 'import sys
text = " ".join(open(sys.argv[1]).read().split())
for want in ("False sharing in [heap]: 1 cache line,", "[heap]+0x0", "reads and writes within bytes 0 to 7, mostly at networking.c:2345 processMultibulkBuffer",
             "bytes 16 to 23", "io_thd_1/", "io_thd_2/", "alignas(64)", "128"):
    assert want in text, (want, text)' "$dir/text"
for language in 'Main.java @Contended' 'main.go CacheLinePad' 'main.rs repr(align' 'main.f90 own,'; do
  cp "$dir/sharing.db" "$dir/language.db"
  sqlite3 "$dir/language.db" "UPDATE site SET source = '${language% *}' WHERE source = 'networking.c'"
  "$commctl" advise --store "$dir/language.db" --topology "$dir/one" >"$dir/text" 2>"$dir/err"
  check "advise: what ${language% *} can do" sh -c 'tr "\n" " " <"$1" | grep -qF -- "$2" && ! grep -q alignas "$1"' - "$dir/text" "${language#* }"
done
"$commctl" advise "${store[@]}" --topology "$dir/two" --json >"$dir/json" 2>"$dir/err"
check "advise --json: the lines of false sharing alone" jq -e '.false_sharing | length == 1 and .[0].offset == 0 and .[0].contended > 1e6' "$dir/json"
"$commctl" advise "${store[@]}" --topology "$dir/two" --as taskset >"$dir/text" 2>/dev/null
check "advise --as taskset: commands alone" sh -c '! grep -q "False sharing" "$1"' - "$dir/text"

[ "$(id -u)" = 0 ] || { echo "ok $((n + 1)) # SKIP needs root to attach"; echo "1..$((n + 1))"; exit $status; }
gcc -g -O2 -Wall -Wextra -Werror -pthread tests/e2e/counting.c -o "$dir/counting" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }

# Of what is met before the program's files are read, the line is not known.  By CPU time, of which the program takes the same however busy the machine is.
profile() { # NAME COMMAND...
  local db=$dir/$1.db
  shift
  "$commd" -q --source bpf --rate 2000 --slice 100ms --store "$db" -- "$@" >"$dir/log" 2>&1 || cat "$dir/log"
}
for kind in packed apart private; do profile $kind "$dir/counting" 2000 $kind; done
# Here one instruction in all counts, which fewer bursts meet: in 2 s of CPU 25 to 160 did, and the line was unclear in two runs of 22.
profile shared "$dir/counting" 6000 shared
for kernel in falseshare private partition; do
  profile k-$kernel "$O/tests/truth/truth-kernels" $kernel --threads 4 --seconds 4 --out "$dir/k.csv"
done
two='([.uses[] | select(.writes) | .thread.name] | unique) as $w | ($w | length) == 2'
# A line that is met before the program's symbols are read is one of its mapping, and is false sharing, too.
json "statistics side by side are false sharing" '(.lines | length) >= 1 and all(.lines[]; .verdict == "false" and .true_high < 0.25 and '"$two"') and
  any(.lines[].uses[].object; .name == "packed" and .kind == "static")' --store "$dir/packed.db"
json "each thread has its half of the line" 'all(.lines[]; [.uses[] | select(.bursts > 20) | [.thread.tid, .byte >= 32]] | unique | length == 2)' --store "$dir/packed.db"
json "in the function that counts, and where lines are known, in its lines" 'all(.lines[].uses[]; .bursts < 20 or
  (.function == "count_request" and (.line == 0 or (.line > 40 and (.source | endswith("counting.c"))))))' --store "$dir/packed.db"
json "the least is what was seen" 'all(.lines[]; .contended_low == .turns and .contended_high > .contended)' --store "$dir/packed.db"
json "one counter of all is true sharing" '(.lines | length) == 1 and (.lines[0] | .verdict == "true" and .object.name == "shared" and
  .offset == 0 and .true_low > 0.75)' --store "$dir/shared.db"
"$commctl" sharing -v --store "$dir/shared.db" >"$dir/text"
check "and as text one row of all threads of the pool" sh -c 'grep -qE "^ +0\.\.7 .* worker \([34]\) +" "$1" && ! grep -q worker- "$1"' - "$dir/text"
"$commctl" sharing -v --store "$dir/packed.db" >"$dir/text"
# Fields are rows of their own where types are known by then.
check "but who has bytes of his own has a row" sh -c 'grep -qE "^ +0\.\.(7|31) .* worker-[0-9]/[0-9]+ " "$1"' - "$dir/text"
json "each with its role" 'all(.lines[].uses[]; .thread.role == "worker" or .thread.role == "counting")' --store "$dir/packed.db"
json "statistics on lines of their own are not shared" '.lines == []' --store "$dir/apart.db"
json "what is on stacks is not shared" '.lines == []' --store "$dir/private.db"
json "kernel falseshare is false sharing" '(.lines | length) >= 1 and all(.lines[]; .verdict == "false")' --store "$dir/k-falseshare.db"
json "kernel private: nothing" '.lines == []' --store "$dir/k-private.db"
json "kernel partition: nothing" '.lines == []' --store "$dir/k-partition.db"
echo "1..$n"
exit $status
