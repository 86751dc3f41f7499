#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/demo.sh, as `make demo` runs it but shorter: what it states is true of its programs, it prints
# what the stores say, and what a busy machine leaves open it says itself.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null || skip_all "needs redis"

text=$dir/text demo=$dir/O/demo
mkdir "$dir/O"
ln -s "$O"/* "$dir/O/"
rm -f "$dir/O/demo"
# says REGEX [TEXT]: of what it printed, in one line.
says() { tr '\n' ' ' <"$text" | grep -qE "$1"; }
left_out='This run does not tell'

DEMO_SECONDS=8 O=$dir/O timeout 600 bench/demo.sh >"$text" 2>"$dir/err"
result $? "it ends well"
check "and says nothing but its report" sh -c '! grep . "$1"' - "$dir/err"
check "in at most 60 lines" sh -c 'cat "$1"; [ "$(wc -l <"$1")" -le 60 ]' - "$text"
check "the first screens of both runs" [ "$(grep -c '^run 1 ' "$text")" = 2 ]
page=$(sed -n 's/^The same as a page, for a browser: //p' "$text")
check "the page is where it says" grep -q '<title>' "$page"

# What the stores state is printed; what is printed is true; what is not stated is said to be missing.
"$commctl" report --json --by function,object --top 4 --store "$demo/digests.db" >"$dir/json" 2>&1
flows=$(jq '[.edges[] | select(.resolved)] | length' "$dir/json")
check "flows by function and object: as many rows as the store states" [ "$(sed -n '/^writer  /,/^$/p' "$text" | grep -c ' %  ')" = "$flows" ]
check "each is of one object, from who writes it to who reads it" jq -e '(.nodes | map({(.id): .name}) | add) as $name |
  all(.edges[] | select(.resolved); [$name[.from, .to]] |
    . == ["fill_block blocks", "hash_block blocks"] or . == ["hash_block digests", "collect_digest digests"] or
    all(.[]; test("^(fill_block|hash_block|collect_digest) ") | not))' "$dir/json"
[ "$flows" -gt 0 ] || check "or it says that there are none" says "$left_out what passes through which object"

"$commctl" sharing --json --store "$demo/digests.db" >"$dir/json" 2>&1
check "the planted line is the one of false sharing" jq -e 'all(.lines[] | select(.verdict == "false"); any(.uses[]; .function == "hash_block") and
  ([.uses[] | select(.writes) | .thread.name] | unique | length) == 2)' "$dir/json"
if jq -e 'any(.lines[]; .verdict == "false")' "$dir/json" >/dev/null; then
  check "and is printed" says ' sharing +contended/s .* false +[0-9,.]+ .*hasher-1.*hasher-2'
else
  check "or it says that it did not see it" says "$left_out of false sharing"
fi

if says "$left_out what redis waits for"; then
  ok "of redis it says that the run does not tell"
else
  check "redis waits, and for what" says 'WAITING +(at least )?[0-9.]+ %.* polls (io_threads_pending|server|small mappings|[a-z])'
fi

DEMO_SECONDS=1 DEMO_REDIS=no-such-redis O=$dir/O timeout 600 bench/demo.sh >"$text" 2>"$dir/err"
result $? "without redis it ends well, too"
check "with a sentence" says 'redis-server waits for is left out, as it is not installed: packaging/deps.sh demo'
check "and what a second does not tell it says" sh -c 'cat "$1"; grep -q "$2" "$1" || grep -q "false sharing" "$1"' - "$text" "$left_out"
check "nothing is left running" sh -c '! pgrep -fa "/digests$" | grep "$1"' - "$dir"
echo "1..$n"
exit $status
