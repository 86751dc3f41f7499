#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that counts by itself, and says when not to (COMM_STOP()), and what its
# memory is (COMM_OBJECT()).  No root needed.
. "$(dirname "$0")/../tap.bash"
gcc -O1 -g -Iinclude -fsanitize=thread -c -o "$dir/s.o" tests/e2e/exact_stopped.c &&
  gcc -o "$dir/stopped" "$dir/s.o" "$O/libcomm-exact.a" -lpthread || exit 1
"$commd" -q --source exact --store "$dir/x.db" -- "$dir/stopped" >"$dir/log" 2>&1
check "it ends well" [ $? = 0 ]
"$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/x.json"
read_by() { # FUNCTION
  jq --arg by "$1" '(.nodes | map({(.id | tostring): .name}) | add) as $n |
    [.edges[] | select($n[.from | tostring] == "produce" and $n[.to | tostring] == $by) | .bytes] | add // 0' "$dir/x.json"
}
check "what is read while nothing counts" [ "$(read_by hidden)" = 0 ]
check "what is read afterwards, and in a child" [ "$(read_by wanted)" = $(((2 * 1000 + 10 + 1000 + 50 + 1000) * 8)) ]
"$commctl" report --json --by-function --totals --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/t.json"
check "what is written, before and after nothing counts" \
  jq -e '[.totals[] | select(.name == "produce") | .wrote_bytes] == ['$((2 * 1000 * 8))']' "$dir/t.json"
"$commctl" report --json --by-object --self --min-share 0 --top 0 --store "$dir/x.db" >"$dir/o.json"
object() { # FILTER BYTES
  jq -e '[.nodes[] | select('"$1"') | .read_bytes] == ['"$2"']' "$dir/o.json"
}
check "memory that has a name" object '.object_kind == "marked" and .name == "a/head"' $((100 * 8))
check "the rest of the block, and what has no name any more" object '.object_kind == "heap"' $((950 * 8))
check "a large one" object '.object_kind == "marked" and .name == "large"' $((1000 * 8))
exit $status
