#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mappings of a process that has tens of thousands are read in pieces, beside all else, and then its functions have names.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
gcc -O1 -Wall -Wextra -Werror -pthread tests/e2e/mapped.c -o "$dir/mapped" || exit 1
"$dir/mapped" 30000 >"$dir/ready" &
target=$!
pids+=($target)
until [ -s "$dir/ready" ]; do kill -0 $target || exit 1; sleep 0.1; done
check "the target has them" [ "$(wc -l <"/proc/$target/maps")" -gt 30000 ]

store=$dir/a.db
"$commd" -q --overhead 10 --slice 1s --pid $target --store "$store" >"$dir/log" 2>&1 &
daemon=$!
pids+=($daemon)
has_names() {
  [ "$(sqlite3 -readonly "$store" "SELECT count(DISTINCT name) FROM function WHERE name IN ('read_mapped', 'write_mapped')" 2>/dev/null)" = 2 ]
}
for i in $(seq 600); do has_names && break; kill -0 $daemon || break; sleep 0.1; done
check "functions have names" has_names
kill -INT $daemon
wait $daemon
code=$?
check "and the run ends well" sh -c 'cat "$1"; [ "$2" = 0 ]' - "$dir/log" $code
echo "1..$n"
exit $status
