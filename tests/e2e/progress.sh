#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that take their time: on a terminal they say how far they are, elsewhere nothing; and one that is interrupted leaves a store whole.
# No time is measured: what waits for a pipe is told that its time has come.
. "$(dirname "$0")/../tap.bash"
"$O/tests/e2e/make_store" redis "$dir/a.db" || exit 1
mkfifo "$dir/pipe"

# told COMMAND...: a command that writes to the pipe is told so, and its exit status is in code.
told() {
  local i child teller
  "$@" >"$dir/said" 2>&1 </dev/null &
  teller=$!
  pids+=($teller)
  for i in $(seq 600); do
    kill -0 $teller 2>/dev/null || break
    child=$(pgrep -f "^$commctl export .*$dir/pipe" | tail -n 1)
    [ -n "$child" ] && grep -qE 'fifo|wait_for_partner' "/proc/$child/wchan" && kill -ALRM "$child" && break
    sleep 0.1
  done
  for i in $(seq 600); do
    [ -s "$dir/said" ] || ! kill -0 "$child" 2>/dev/null && break
    sleep 0.1
  done
  kill -0 $teller 2>/dev/null && timeout 60 cat "$dir/pipe" >"$dir/exported"
  wait $teller
  code=$?
}
export="$commctl export --as collapsed --store $dir/a.db -o $dir/pipe"
told script -qec "$export" /dev/null
check "on a terminal it says what it has read" sh -c 'cat "$1"; [ "$2" = 0 ] && grep -qE "^commctl export: [0-9]+ s so far, [0-9]+ MiB read, [0-9]+ MiB written" "$1"' - "$dir/said" $code
check "and does what it was asked for" [ -s "$dir/exported" ]
# shellcheck disable=SC2086 # words
told $export
check "elsewhere it says nothing, and has no clock" sh -c 'cat "$1"; [ "$2" = 142 ] && [ ! -s "$1" ]' - "$dir/said" $code

# A store in which one run has many slices.
"$O/tests/e2e/make_store" many "$dir/b.db" || exit 1
python3 -c '
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for table, key in (("edge", "slice"), ("slice", "id")):
    columns = [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]
    db.execute("CREATE TEMP TABLE first_%s AS SELECT * FROM %s" % (table, table))
    new = ", ".join(key + " + ? * 1000000" if c == key else c for c in columns)
    db.executemany("INSERT INTO %s SELECT %s FROM first_%s" % (table, new, table), [(i,) for i in range(1, 200)])
db.commit()' "$dir/b.db"
ask() { sqlite3 -readonly "$dir/b.db" "$1"; }
all=$(ask "SELECT count(*) FROM slice")
# A shell has its background ignore the signal.
code=$(python3 -c '
import signal, sqlite3, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[2], uri=True)
count = lambda: db.execute("SELECT count(*) FROM slice").fetchone()[0]
before = count()
child = subprocess.Popen([sys.argv[1], "delete", "--store", sys.argv[2], "1"])
while child.poll() is None and count() == before:
    pass
child.send_signal(signal.SIGINT)
print(child.wait())' "$commctl" "$dir/b.db" 2>"$dir/said")
left=$(ask "SELECT count(*) FROM slice")
if [ "$left" = 0 ]; then
  skip "delete is interrupted" "it had come to the end"
else
  check "delete is interrupted: $left of $all slices are left" sh -c '[ "$1" = -2 ] && [ "$2" -lt "$3" ]' - "$code" "$left" "$all"
  check "the store is whole" [ "$(ask "PRAGMA integrity_check")" = ok ]
  check "each slice has its edges, and no edge is of another" [ "$(ask "SELECT count(*) FROM slice WHERE edges <> (SELECT count(*) FROM edge e WHERE e.run = slice.run AND e.slice = slice.id)")/$(ask "SELECT count(*) FROM edge WHERE slice NOT IN (SELECT id FROM slice)")" = 0/0 ]
  check "the run says what it lacks" [ "$(ask "SELECT deleted_ns > 0 FROM run")" = 1 ]
  check "it can be read" "$commctl" report --store "$dir/b.db"
fi
check "and deleted to the end" "$commctl" delete --store "$dir/b.db" 1
check "nothing is left of it" [ "$(ask "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM slice) + (SELECT count(*) FROM edge) + (SELECT count(*) FROM thread)")" = 0 ]
echo "1..$n"
exit $status
