#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside very many threads that want to run commd has the highest priority, its command not.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to be given priority"

# Of the lowest priority, so that they are in nobody's way.
nice -n 19 "$O/bench/storm" runnable $((16 * $(nproc))) >"$dir/rounds" &
target=$!
pids+=("$target")
until [ -s "$dir/rounds" ]; do sleep 0.1; done
"$O/commd" -q --pid "$target" --store "$dir/a.db" 2>"$dir/err" &
daemon=$!
pids+=("$daemon")
until [ "$(sqlite3 -readonly "$dir/a.db" 'SELECT count(*) FROM run' 2>/dev/null)" = 1 ]; do
  kill -0 $daemon 2>/dev/null || break
  sleep 0.1
done
priority=$(ps -o ni= -p $daemon)
echo "# $(cat "$dir/err") nice $priority"
[ "$priority" -eq -20 ]
result $? "commd has the highest priority"
kill -INT $daemon
wait $daemon
code=$?
# Of as many threads on a busy machine none may have been met by then.
[ $code = 0 ] || [ $code = 3 ]
result $? "and ends, with exit status $code"

"$O/commd" -q --store "$dir/b.db" -- nice >"$dir/nice" 2>"$dir/err"
[ "$(cat "$dir/nice")" = "$(nice)" ]
result $? "its command's is what it was: $(cat "$dir/nice")"
exit $status
