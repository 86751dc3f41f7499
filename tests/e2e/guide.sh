#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The walks of docs/guide, by their own commands: installed, commd attaches to redis, and the first screen says what
# it does; a planted false sharing is found.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# blocks PAGE: the commands of a page.
blocks() { awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "docs/guide/$1"; }

make -s --no-print-directory O="$O" PREFIX="$dir/usr" install >"$dir/out" 2>&1
result $? "make install: $(tail -n 1 "$dir/out")"
root=$PWD
export PATH=$dir/usr/bin:$PATH
[ "$(command -v commctl)" = "$dir/usr/bin/commctl" ] && commctl --version >"$dir/out" 2>&1
result $? "what is installed runs: $(head -n 1 "$dir/out")"

# waits STORE: what of all reads is of loops that wait.
waits() { commctl report --json --store "$1" | jq ".census[] | select(has(\"node\") | not) | .waiting"; }

if command -v redis-server redis-benchmark redis-cli >"$dir/out"; then
  port=$((20000 + $$ % 20000))
  blocks redis.md | sed "s/7379/$port/g; s/--duration 30s/--duration 15s/; s/sleep 10/sleep 3/" >"$dir/walk"
  # What the page starts ends with it, however it ends.
  (cd "$dir" && timeout 300 bash -c 'trap "kill \$server \$load 2>/dev/null" EXIT; . ./walk' >"$dir/said" 2>"$dir/err")
  result $? "redis: the page's commands run: $(tail -n 2 "$dir/err")"
  for words in '^WAITING ' 'IOThreadMain.* polls io_threads_pending' '^NEXT '; do
    check "redis: the first screen has $words" sh -c 'tr "\n" " " <"$1" | tr -s " " | sed "s/ \([A-Z]* \)/\n\1/g" | grep -q "$2"' - "$dir/said" "$words"
  done
  check "redis: its four threads mostly wait" [ "$(jq -n "$(waits "$dir/redis.db") > 0.5")" = true ]
  check "redis: one thread does not" [ "$(jq -n "$(waits "$dir/one.db") < 0.5")" = true ]
else
  skip "redis" "redis-server is not installed"
fi

blocks false-sharing.md | sed "s|tests/e2e/|$root/&|; s|--source-dir \.|--source-dir '$root'|" >"$dir/walk"
whose_bytes() { tr "\n" " " <"$dir/said" | tr -s " " | grep -q "False sharing in packed: .*count_request"; }
# Of a busy machine's few samples the worst line may be another's: the walk is gone again.
for _ in 1 2 3; do
  (cd "$dir" && rm -f comm.db* && timeout 300 bash -e walk >"$dir/said" 2>"$dir/err")
  code=$?
  whose_bytes && break
done
result $code "false sharing: the page's commands run: $(tail -n 2 "$dir/err")"
check "the report counts the lines" grep -qE 'false sharing' "$dir/said"
check "commctl sharing names the array" grep -qE 'packed' "$dir/said"
if whose_bytes; then ok "commctl advise says whose bytes are whose"; else
  not_ok "commctl advise says whose bytes are whose" "$(grep -A8 '^False sharing' "$dir/said")"
fi
check "and the page has it" grep -q 'count_request' "$dir/page.html"
exit $status
