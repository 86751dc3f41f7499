#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An exact run of a program that says when not to count (COMM_STOP()), and what its memory is (COMM_OBJECT()): one that counts by
# itself, and the same under Valgrind, however it was compiled.  No root needed.
. "$(dirname "$0")/../tap.bash"
gcc -O1 -g -Iinclude -fsanitize=thread -c -o "$dir/s.o" tests/e2e/exact_stopped.c &&
  gcc -o "$dir/stopped" "$dir/s.o" "$O/libcomm-exact.a" -lpthread || exit 1
read_by() { # FUNCTION
  jq --arg by "$1" '(.nodes | map({(.id | tostring): .name}) | add) as $n |
    [.edges[] | select($n[.from | tostring] == "produce" and $n[.to | tostring] == $by) | .bytes] | add // 0' "$dir/x.json"
}
line=$(grep -n 'other = malloc' tests/e2e/exact_stopped.c | cut -d: -f1)
object() { # FILTER BYTES
  jq -e '[.nodes[] | select('"$1"') | .read_bytes] == ['"$2"']' "$dir/o.json"
}
# counted NAME PROGRAM
counted() {
  rm -f "$dir"/x.db*
  "$commd" -q --source exact --store "$dir/x.db" -- "$2" >"$dir/log" 2>&1
  check "$1: it ends well" [ $? = 0 ]
  "$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/x.json"
  check "$1: what is read while nothing counts" [ "$(read_by hidden)" = 0 ]
  check "$1: what is read afterwards, and in a child" [ "$(read_by wanted)" = $(((2 * 1000 + 10 + 1000 + 50 + 1000) * 8)) ]
  "$commctl" report --json --by-function --totals --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/t.json"
  check "$1: what is written, before and after nothing counts" \
    jq -e '[.totals[] | select(.name == "produce") | .wrote_bytes] == ['$((2 * 1000 * 8))']' "$dir/t.json"
  "$commctl" report --json --by-object --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/o.json"
  check "$1: memory that has a name" object '.object_kind == "marked" and .name == "a/head"' $((100 * 8))
  check "$1: the rest of the block, and what has no name any more" object '.object_kind == "heap" and (.name | startswith("exact_stopped.c") and (startswith("exact_stopped.c:'$line' ") | not))' $((950 * 8))
  check "$1: what is another block when its memory loses the name" object '.object_kind == "heap" and (.name | startswith("exact_stopped.c:'$line' "))' $((1000 * 8))
  check "$1: a large one" object '.object_kind == "marked" and .name == "large"' $((1000 * 8))
}
counted "by itself" "$dir/stopped"
if command -v valgrind >/dev/null && [ -x "$O/exact/commexact-amd64-linux" ]; then
  for how in -O1 -O2 "-O3 -no-pie"; do
    # shellcheck disable=SC2086 # options
    gcc $how -g -Iinclude -o "$dir/plain" tests/e2e/exact_stopped.c -lpthread || exit 1
    counted "Valgrind, gcc $how" "$dir/plain"
  done
  # Without optimisation nothing uses what the loops read.
  gcc -O0 -g -Iinclude -o "$dir/plain" tests/e2e/exact_stopped.c -lpthread || exit 1
  rm -f "$dir"/x.db*
  "$commd" -q --source exact --store "$dir/x.db" -- "$dir/plain" >"$dir/log" 2>&1
  "$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/x.json"
  check "Valgrind, gcc -O0: what is read and not used" [ "$(read_by wanted)" = $(((2 * 1000 + 10 + 1000 + 50 + 1000) * 8)) ]
  # The marks of a library stand behind pointers.
  gcc -O2 -g -fPIC -shared -Dmain=run -Iinclude -o "$dir/libstopped.so" tests/e2e/exact_stopped.c -lpthread &&
    echo 'int run(void); int main(void) { return run(); }' | gcc -o "$dir/plain" -x c - -x none "$dir/libstopped.so" || exit 1
  counted "Valgrind, a library" "$dir/plain"
  # Words that point anywhere are no names, and no depth is one.
  gcc -O1 -Iinclude -o "$dir/plain" tests/e2e/marked.c -lpthread || exit 1
  rm -f "$dir"/x.db*
  "$commd" -q --source exact --store "$dir/x.db" -- "$dir/plain" 1000 wild >"$dir/log" 2>&1
  check "Valgrind, wild marks: it ends well" [ $? = 0 ]
  "$commctl" report --json --by-region --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/x.json"
  check "Valgrind, wild marks: the others have their names" jq -e '[.nodes[].name] as $n | ($n | index("read a") != null and index("(other)") != null) and
    ($n - ["(no region)", "(other)", "(unreadable)", "write a", "write b", "read a", "read b", "reader"] | length) == 0' "$dir/x.json"
else
  skip "under Valgrind" "the tool is not built"
fi
exit $status
