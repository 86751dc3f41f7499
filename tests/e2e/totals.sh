#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What functions wrote and read in all, of a program that hands over a known number of bytes: counted, and
# sampled.
. "$(dirname "$0")/../tap.bash"
totals() { # STORE: name, written, read, reader, writer
  "$commctl" report --store "$1" --by-function --totals --across --min-share 0 --top 0 --json >"$dir/totals" 2>"$dir/err"
}
if gcc -O2 -g -fsanitize=thread -c -o "$dir/handed.o" tests/e2e/handed.c &&
  gcc -pthread -o "$dir/handed-exact" "$dir/handed.o" "$O/libcomm-exact.a" &&
  gcc -O2 -pthread -o "$dir/handed" tests/e2e/handed.c; then ok "handed.c compiles"; else exit 1; fi

"$commd" -q --source exact --store "$dir/exact.db" -- "$dir/handed-exact" 0 500 >"$dir/log" 2>&1
totals "$dir/exact.db"
# 960 and 64 words of 8 bytes, half of the latter read twice.
counted=$(
  jq -c '[.totals[] | select(.name | test("^(put|take)_")) | [.name, .written.bytes, .read.bytes, .reader.name, .writer.name]]' "$dir/totals")
[ "$counted" = '[["take_all",0,4096000,null,"put_much"],["put_much",3840000,0,"take_all",null],["put_little",384000,0,"take_all",null],["take_again",0,128000,null,"put_little"]]' ]
result $? "counted: the bytes that the program handed over, and who takes them"
# put_little writes 64 words, half of which are read twice.
counted=$(jq -c '[.totals[] | select(.name | test("^(put)_")) | [.name, .wrote_bytes, .reads_bytes]]' "$dir/totals")
[ "$counted" = '[["put_much",3840000,0],["put_little",256000,0]]' ]
result $? "counted: what is written, whoever reads it"
check "counted: the intensive ones are found" jq -e '[.totals[] | select(.intensive) | .name] | sort == ["put_little", "put_much", "take_all"]' "$dir/totals"
check "counted: no intervals" jq -e '[.totals[] | .written.low == .written.high and .written.resolved] | length > 3 and all' "$dir/totals"

# An object is written and read by whom ever; one that nobody reads is there, too.
objects() { # NAME
  "$commd" -q --source exact --store "$dir/$1.db" -- "$dir/$1" >"$dir/log" 2>&1 &&
    "$commctl" report --store "$dir/$1.db" --by-object --totals --self --min-share 0 --top 0 --json >"$dir/totals" 2>"$dir/err" &&
    jq -e '[.totals[] | select(.name | IN("table", "sink")) | [.name, .read.bytes, .written.bytes, .ratio]]
      == [["table", 3200, 800, 4], ["sink", 0, 1600, 0]]' "$dir/totals"
}
if gcc -O1 -g -fsanitize=thread -c -o "$dir/written.o" tests/e2e/written.c &&
  gcc -pthread -o "$dir/written-exact" "$dir/written.o" "$O/libcomm-exact.a" &&
  gcc -O1 -g -o "$dir/written" tests/e2e/written.c; then ok "written.c compiles"; else exit 1; fi
check "counted: objects, written and read" objects written-exact
if command -v valgrind >/dev/null && "$commd" --doctor 2>/dev/null | grep -q '^ *exact *works'; then
  check "counted under Valgrind: the same" objects written
else
  skip "counted under Valgrind" "the Valgrind tool is not built"
fi

[ "$(id -u)" = 0 ] || { skip "sampled" "needs root to attach"; exit $status; }
# The program runs until enough of it was seen: how soon is the machine's affair.
"$dir/handed" 240000 >"$dir/rounds" 2>&1 &
program=$!
pids+=($program)
"$commd" -q --source bpf --rate 1000 --slice 500ms --store "$dir/live.db" --pid $program >"$dir/log" 2>&1 &
commd_pid=$!
enough() {
  totals "$dir/live.db" && jq -e '[.totals[] | select(.name | IN("put_much", "take_all")) | [.written.samples, .read.samples] | max >= 100] | length == 2 and all' "$dir/totals" >"$dir/out" 2>&1
}
found=1
while kill -0 $commd_pid 2>/dev/null && [ $found = 1 ]; do sleep 1; enough && found=0; done
kill $program
wait $commd_pid
result $found "sampled: both functions are seen"
# How many bytes in all depends on rounds that are not counted when the program is killed; shares do not.
check "sampled: shares are those that the program has" jq -e '
  def near($share): .share_low / 1.3 <= $share and $share <= .share_high * 1.3;
  (.totals | map({(.name): .}) | add) as $of |
  ($of.put_much.written | near(960 / 1056)) and ($of.take_all.read | near(1024 / 1056)) and
  $of.put_much.reader.name == "take_all" and $of.take_all.writer.name == "put_much" and
  $of.put_much.read.bytes < 0.1 * $of.put_much.written.bytes and
  $of.take_all.written.bytes < 0.1 * $of.take_all.read.bytes or error("\($of | map([.name, .written.share, .read.share]))")' "$dir/totals"
exit $status
