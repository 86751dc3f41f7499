#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An instruction that reads by turns what was written in several frames (exact_turns.c): each byte is of its frame, and a first
# read is one once. Both runtimes. No root needed.
. "$(dirname "$0")/../tap.bash"
flags=(-O2 -g -Wall -Wextra -Werror -Iinclude)
gcc "${flags[@]}" -o "$dir/turns-v" tests/e2e/exact_turns.c -pthread &&
  gcc "${flags[@]}" -fsanitize=thread -c -o "$dir/t.o" tests/e2e/exact_turns.c &&
  gcc -o "$dir/turns-s" "$dir/t.o" "$O/libcomm-exact.a" -lpthread || exit 1

# edges RUNTIME FILTER [OPTION...]: of what put() wrote and get() reads, as {"frame": bytes}.
edges() {
  "$commctl" report --by frame --function get --object memory --json --self --min-share 0 --top 0 --store "$dir/$1.db" "${@:3}" >"$dir/report" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | {key: $name[.from], value: .bytes}] | from_entries | ('"$2"') or error("\(.)")' "$dir/report"
}
runtime() { # NAME BYTES: that are read first
  rm -f "$dir/$1.db"*
  timeout 100 "$commd" -q --source exact --store "$dir/$1.db" -- "$dir/turns-$1" >"$dir/log" 2>&1
  result $? "$1: it runs"
  # Five rounds of 8000 bytes of each frame, one in which the first frame's are of the last, and one when another has begun.
  check "$1: each byte is of its frame" edges "$1" '. == {"this frame": (7 * 8000), "the frame before": (8 * 8000), "earlier frames": (13 * 8000)}'
  check "$1: first reads" edges "$1" '([.[]] | add) == '"$2" --first-read
}
# There what a thread wrote itself is not read first.
runtime s 32000
if command -v valgrind >/dev/null && [ -x "$O/exact/commexact-amd64-linux" ]; then
  runtime v 40000
else
  skip "v" "Valgrind is not installed, or was not when this was built"
fi
exit $status
