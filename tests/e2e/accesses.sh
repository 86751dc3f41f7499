#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --accesses: what a program of known accesses does stands in the file, live and of a recording, as a table and binary; and
# what is wrong with the file is said.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root: it attaches to a process"
rec=tests/golden/migratory.rec

# A replay gives the same rows in both forms; docs/formats/accesses.md has the program that reads the binary one.
sed -n '/^```python$/,/^```$/p' docs/formats/accesses.md | grep -v '^```' >"$dir/read.py"
"$commd" --source replay:$rec --store "$dir/r.db" --accesses "$dir/r.csv" 2>"$dir/counted"
result $? "a replay writes a table"
"$commd" -q --source replay:$rec --store "$dir/b.db" --accesses "$dir/r.acc"
result $? "and the binary form"
check "the program in docs/formats/accesses.md reads it" sh -c 'python3 "$1" "$2" >"$3"' - "$dir/read.py" "$dir/r.acc" "$dir/r.tsv"
cat >"$dir/table.py" <<'P'
import csv, sys
want = "time pid tid cpu ip function address bytes access weight known object_kind object burst insn".split()
for row in csv.DictReader(open(sys.argv[1])):
    print(*(row[name] for name in want), sep="\t")
P
check "both forms have the same rows" sh -c 'python3 "$1" "$2" | diff - "$3" && [ -s "$3" ]' - "$dir/table.py" "$dir/r.csv" "$dir/r.tsv"
check "with mode 0640" test "$(stat -c %a "$dir/r.acc") $(stat -c %a "$dir/r.csv")" = "640 640"
accesses() { sed -n 's/.* samples, \([0-9]*\) accesses.*/\1/p' "$1"; } # as commd counted them
check "as many as the run counted" test "$(($(wc -l <"$dir/r.csv") - 1))" = "$(accesses "$dir/counted")"

# Live: a program of known accesses.
"$O/tests/e2e/known_accesses" 300 &
target=$!
pids+=("$target")
"$commd" -q --rate 1000 --store "$dir/l.db" --accesses "$dir/l.csv" --record "$dir/l.rec" --pid $target >"$dir/log" 2>&1 &
pids+=($!)
enough() { [ -e "$dir/l.csv" ] && [ "$(grep -c '"given"' "$dir/l.csv")" -gt 3000 ] && [ "$(grep -c '"sum"' "$dir/l.csv")" -gt 50 ]; }
commd_until 200 enough
kill $target
cat >"$dir/known.py" <<'P'
import collections, csv, sys
# Of each object: who accesses it, how, and the words that are accessed.
ways, words, weight, n = collections.Counter(), collections.defaultdict(set), collections.Counter(), collections.Counter()
for row in csv.DictReader(open(sys.argv[1])):
    assert row["tid"] == row["pid"] == sys.argv[2], row
    if row["object"] not in ("given", "taken", "sum"):
        continue
    assert row["object_kind"] == "static" and row["bytes"] == "8" and row["module"] == "known_accesses", row
    assert row["known"] in ("decoded", "emulated") and (row["known"] == "decoded") == (row["insn"] == "0"), row
    # Of a program's zeros some are in a page of its file.
    ways[row["object"], row["function"], row["access"], row["flags"].replace("file", "").strip()] += 1
    words[row["object"]].add(int(row["address"], 16))
    weight[row["object"], row["access"]] += float(row["weight"])
print(ways, {name: len(some) for name, some in words.items()}, weight)
assert set(ways) == {("given", "copies", "R", ""), ("taken", "copies", "W", ""),
                     ("sum", "adds", "R", "atomic"), ("sum", "adds", "W", "atomic")}, ways
for name in "given", "taken":
    assert all(word % 8 == 0 for word in words[name]) and max(words[name]) - min(words[name]) < 1024 * 8, name
    assert len(words[name]) > 512, name
assert len(words["sum"]) == 1
# Two writes for each read, by the rows' weights.
assert 1.6 < weight["taken", "W"] / weight["given", "R"] < 2.5, weight
P
check "live, each access is where, what and by whom it is" python3 "$dir/known.py" "$dir/l.csv" "$target"
"$commd" -q --source replay:"$dir/l.rec" --store "$dir/lr.db" --accesses "$dir/lr.csv"
check "and its recording has the same rows" sh -c 'cut -d, -f1-5,8-18 "$1" | head -3000 >"$3"; cut -d, -f1-5,8-18 "$2" | head -3000 | cmp "$3" - && [ -s "$3" ]' - \
  "$dir/l.csv" "$dir/lr.csv" "$dir/cut"

# What is wrong is said in one sentence, and nothing of others is lost.
refused() { # NAME SENTENCE COMMAND...
  local name=$1 sentence=$2
  shift 2
  "$@" >"$dir/said" 2>&1
  check "$name" sh -c '[ "$1" = 1 ] && [ "$(wc -l <"$2")" = 1 ] && grep -qF -- "$3" "$2" || { cat "$2"; false; }' - $? "$dir/said" "$sentence"
}
cp $rec "$dir/own.rec"
refused "not in the place of the store" "it is the store" "$commd" -q --source replay:$rec --store "$dir/r.db" --accesses "$dir/r.db"
refused "nor of the recording that is read" "it is the file that is read" "$commd" -q --source replay:"$dir/own.rec" --store "$dir/r.db" --accesses "$dir/./own.rec"
check "which is as it was" cmp $rec "$dir/own.rec"
refused "nor through a link" "Too many levels of symbolic links" sh -c 'ln -s /etc/hostname "$1/link" && exec "$2" -q --source "replay:$3" --store "$1/r.db" --accesses "$1/link"' - \
  "$dir" "$commd" $rec
refused "nor of a device" "it is no regular file" "$commd" -q --source replay:$rec --store "$dir/r.db" --accesses /dev/null
refused "nor where there is no directory" "No such file" "$commd" -q --source replay:$rec --store "$dir/r.db" --accesses "$dir/none/a.csv"
"$commd" -q --source exact --accesses "$dir/x.csv" --store "$dir/r.db" -- true >"$dir/said" 2>&1
check "and the exact source has none" sh -c '[ "$1" = 2 ] && grep -q -- --accesses "$2"' - $? "$dir/said"

# A full disk: the run goes on, says so once and counts.
mkdir "$dir/small"
if mount -t tmpfs -o size=64k tmpfs "$dir/small" 2>/dev/null; then
  undo() { umount "$dir/small"; }
  "$commd" --source replay:$rec --store "$dir/full.db" --accesses "$dir/small/a.acc" >"$dir/said" 2>&1
  code=$?
  check "a full disk is said once, counted, and fails" sh -c '[ "$1" = 1 ] && [ "$(grep -c "writing accesses to .* stopped: No space left on device" "$2")" = 1 ] &&
    grep -qE "^  [0-9]+ accesses not written to their file" "$2" || { cat "$2"; false; }' - $code "$dir/said"
  check "the run is whole without it" test "$(accesses "$dir/said")" = "$(accesses "$dir/counted")"
  check "and what fitted can be read" sh -c 'python3 "$1" "$2" >"$3" && [ -s "$3" ] && head -"$(wc -l <"$3")" "$4" | cmp "$3" -' - \
    "$dir/read.py" "$dir/small/a.acc" "$dir/part.tsv" "$dir/r.tsv"
else
  skip "a full disk" "no file system may be mounted here"
fi
echo "1..$n"
exit $status
