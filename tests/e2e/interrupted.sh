#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals in the midst of long work: what is told to end does, and leaves nothing half-made.  No time
# is measured: what was told in time has not come to the end of what it had before it.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
commd=$O/commd commctl=$O/commctl
n=0 status=0
dir=$(mktemp -d)
db=$dir/a.db
pids=()
cleanup() {
  for pid in "${pids[@]:-}"; do [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; done
  rm -rf "$dir"
}
trap cleanup EXIT
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ $# -gt 1 ] && printf '%s\n' "$2" | head -30 | sed 's/^/#   /'; status=1; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
how() { "$commctl" list --store "$1" --json 2>&1 | jq -r '.runs[-1] | .state + ", " + (.how // "")' 2>/dev/null; }
slices() { "$commctl" list --store "$1" --json 2>/dev/null | jq '[.. | .slices? // empty] | max // 0'; }

# Waits at most some minutes until a command succeeds.
await() {
  for _ in $(seq 1000); do "$@" && return; sleep 0.02; done
  return 1
}
is_gone() { [[ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null)" = @(|Z) ]]; }

# start COMMAND...: in the background, its process in $started, what it says in $dir/log.
start() {
  "$@" >"$dir/log" 2>&1 &
  started=$!
  pids+=($started)
}
# ended NAME: it ends, with its exit status in code.
ended() {
  if ! await is_gone $started; then
    kill -9 $started
    not_ok "$1: ends" "$(cat "$dir/log")"
  fi
  wait $started 2>/dev/null
  code=$?
}

# Long recordings and perf.data: with such slices they take a minute, and are left after a few.
python3 tests/perfdata.py plain "$dir/short.data"
python3 tests/e2e/longer.py 300 "$dir/short.data" "$dir/long.data"
python3 tests/e2e/longer.py 300 tests/golden/migratory.rec "$dir/long.rec"
has_slices() { [ "$(slices "$db")" -ge 2 ] 2>/dev/null || is_gone $started; }
for source in replay:$dir/long.rec perfdata:$dir/long.data; do
  for signal in TERM INT USR1 USR2 ALRM; do
    name="${source%%:*}, SIG$signal"
    rm -f "$db"
    start "$commd" -q --slice 10ms --source "$source" --store "$db"
    await has_slices
    kill -$signal $started
    ended "$name"
    [ $code = 0 ] && [ "$(how "$db")" = "finished, interrupted" ] && ok "$name: ends with its run closed" ||
      not_ok "$name: ends with its run closed" "exit $code, $(how "$db"): $(cat "$dir/log")"
  done
done
rm "$dir"/long.*

# Signals that are blocked by who starts it end it, and one that nohup has it ignore does not.
rm -f "$db"
start python3 -c '
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))
os.execv(sys.argv[1], sys.argv[1:])' "$commd" -q --slice 200ms --store "$db" -- sh -c 'while :; do :; done'
await has_slices
kill -HUP $started
before=$(slices "$db")
goes_on() { [ "$(slices "$db")" -ge $((before + 3)) ] || is_gone $started; }
await goes_on
is_gone $started && not_ok "a signal that nohup ignores" "$(cat "$dir/log")" || ok "a signal that nohup ignores"
command=$(pgrep -P $started -x sh)
kill $started
ended "signals that were blocked"
[ "$(how "$db")" = "finished, interrupted" ] && ok "signals that were blocked" || not_ok "signals that were blocked" "$(how "$db")"
pids+=($command)
grep -q '^SigIgn:.*1$' "/proc/$command/status" && ok "its command ignores it as well" || not_ok "its command ignores it as well" "$(grep ^Sig "/proc/$command/status")"
kill -9 $command

# In the midst of a big file, which is stopped there: neither commd nor who reads for it stays.
if [ "$(id -u)" = 0 ] && command -v gcc >/dev/null; then
  awk 'BEGIN {
    print ".section .note.GNU-stack\n.text"
    for (i = 0; i < 400000; i++)
      printf ".type f%d,@function\nf%d: nop\n ret\n.size f%d,.-f%d\n", i, i, i, i
  }' >"$dir/big.s"
  echo '#include <unistd.h>
    int main(void) { for (volatile int i = 0;; i++) if (i % 100000 == 0) usleep(1000); }' >"$dir/main.c"
  gcc -g -o "$dir/big" "$dir/main.c" "$dir/big.s"
  "$dir/big" &
  big=$!
  pids+=($big)
  for signal in TERM INT USR1; do
    rm -f "$db"
    start "$commd" -q --store "$db" --pid $big
    is_reading() {
      files=$(pgrep -P $started -x commd-files) || return
      # Without rights: before, it has not yet asked to die with the host.
      for reader in $(pgrep -P "$files"); do
        grep -q '^Max open files *0 ' "/proc/$reader/limits" 2>/dev/null && kill -STOP "$reader" 2>/dev/null && return
      done
      return 1
    }
    await is_reading
    has_begun() { [[ "$(how "$db")" = running,* ]] || is_gone $started; }
    await has_begun
    kill -$signal $started
    ended "SIG$signal while a file is read"
    [ $code -le 3 ] && await is_gone $reader && await is_gone $files && ok "SIG$signal while a file is read: nobody stays" ||
      not_ok "SIG$signal while a file is read: nobody stays" "exit $code; $(ps -o pid,stat,comm "$files" "$reader"); $(cat "$dir/log")"
  done
  kill -9 $big
else
  skip "while a file is read" "needs root and gcc"
fi

# Somebody has stopped who reads files, for good: nobody waits for that.
if [ "$(id -u)" = 0 ]; then
  rm -f "$db"
  start "$commd" -q --slice 200ms --store "$db" -- sh -c 'while :; do :; done'
  await has_slices
  command=$(pgrep -P $started -x sh)
  files=$(pgrep -P $started -x commd-files)
  pids+=($command $files)
  kill -STOP "$files"
  kill $started
  ended "who reads files is stopped"
  [ $code = 1 ] && grep -q 'commd-files was stopped' "$dir/log" && [ "$(how "$db")" = "finished, interrupted" ] && ! grep -q 'takes too long' "$dir/log" &&
    ok "who reads files is stopped" || not_ok "who reads files is stopped" "exit $code: $(cat "$dir/log")"
  kill -9 "$command" "$files"
else
  skip "who reads files is stopped" "needs root"
fi

# A huge store is brought up to date: cut off in it, it is as before, and the next goes through.
python3 -c '
import shutil, sqlite3, sys
shutil.copy("tests/unit/data/schema1.store", sys.argv[1])
db = sqlite3.connect(sys.argv[1])
columns = [row[1] for row in db.execute("PRAGMA table_info(edge)")]
db.execute("CREATE TEMP TABLE first AS SELECT * FROM edge")
new = ", ".join("src_site + ? * 1000000" if c == "src_site" else "6" if c == "level" else c for c in columns)
rows = db.execute("SELECT count(*) FROM edge").fetchone()[0]
db.executemany("INSERT INTO edge SELECT %s FROM first" % new,
               [(i,) for i in range(1, 1 + 2000000 // rows)])
db.commit()
db.close()' "$dir/old.db"
is_migrating() { [ -s "$dir/old.db-journal" ] || is_gone $started; }
start "$commd" -q --store "$dir/old.db" -- sleep 1000
await is_migrating
kill $started
ended "while a store is brought up to date"
[ $code = 1 ] && grep -q 'told to end' "$dir/log" && ok "while a store is brought up to date" || not_ok "while a store is brought up to date" "exit $code: $(cat "$dir/log")"
if [ -e "$dir/old.db-journal" ]; then
  said=$("$commctl" list --store "$dir/old.db" 2>&1)
  grep -q 'was cut off.*commd --store' <<<"$said" && ok "it is said what to do" || not_ok "it is said what to do" "$said"
else
  skip "it is said what to do" "it had come to the end"
fi
"$commd" -q --store "$dir/old.db" -- true >"$dir/log" 2>&1
"$commctl" list --store "$dir/old.db" >/dev/null 2>"$dir/log" && [ "$(python3 -c '
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("PRAGMA quick_check").fetchone()[0])' "$dir/old.db")" = ok ] &&
  ok "the next brings it up to date" || not_ok "the next brings it up to date" "$(cat "$dir/log")"

# A writer that was killed left a huge log, which whoever opens the store next goes through first.
"$O/tests/e2e/make_store" many "$dir/logged.db"
python3 -c '
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
columns = [row[1] for row in db.execute("PRAGMA table_info(edge)")]
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("CREATE TEMP TABLE first AS SELECT * FROM edge")
new = ", ".join("slice + ? * 1000000" if c == "slice" else c for c in columns)
rows = db.execute("SELECT count(*) FROM edge").fetchone()[0]
db.executemany("INSERT INTO edge SELECT %s FROM first" % new,
               [(i,) for i in range(1, 1 + 800000 // rows)])
db.commit()
os.kill(os.getpid(), 9)' "$dir/logged.db"
stop_in_log() { # COMMAND...: told to end when it goes through the log
  rm -f "$dir/logged.db-shm"
  start "$@"
  until { [ -s "$dir/logged.db-shm" ] && kill -STOP $started; } || is_gone $started; do :; done
  kill $started
  kill -CONT $started
  ended "$*"
}
stop_in_log "$commctl" list --store "$dir/logged.db"
[ $code = 143 ] && ok "commctl, while the log of a store is gone through" || not_ok "commctl, while the log of a store is gone through" "exit $code: $(cat "$dir/log")"
stop_in_log "$commd" -q --store "$dir/logged.db" -- sleep 1000
[ $code = 1 ] && grep -q 'told to end' "$dir/log" && ok "commd, while the log of a store is gone through" ||
  not_ok "commd, while the log of a store is gone through" "exit $code: $(cat "$dir/log"); $(ls -l "$dir")"
"$commd" -q --store "$dir/logged.db" -- true >"$dir/log" 2>&1
[ "$(python3 -c '
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) >= 800000 FROM edge").fetchone()[0])' "$dir/logged.db")" = 1 ] &&
  ok "what was in the log is there" || not_ok "what was in the log is there" "$(cat "$dir/log")"

# What reads a huge store dies by a signal as any program, and leaves nothing under the name asked for.
for signal in TERM INT PIPE; do
  rm -f "$dir"/saved.db* # or the signal would come before this one has begun
  start env --default-signal=INT "$commctl" salvage --store "$dir/logged.db" "$dir/saved.db"
  is_saving() { [ -s "$dir/saved.db" ] || [ -s "$dir/saved.db-partial" ] || is_gone $started; }
  await is_saving
  kill -$signal $started
  [ $signal = PIPE ] && kill $started # what it says goes into no pipe
  ended "SIG$signal while a store is salvaged"
  [ $code -gt 128 ] && [ ! -e "$dir/saved.db" ] && ok "SIG$signal while a store is salvaged" || not_ok "SIG$signal while a store is salvaged" "exit $code: $(ls "$dir"); $(cat "$dir/log")"
done
"$commctl" salvage --store "$dir/logged.db" "$dir/saved.db" >"$dir/log" 2>&1 && [ ! -e "$dir/saved.db-partial" ] &&
  "$commctl" list --store "$dir/saved.db" >/dev/null && ok "a salvage that was cut off is begun anew" || not_ok "a salvage that was cut off is begun anew" "$(cat "$dir/log")"
rm -f "$dir"/logged.db* "$dir"/saved.db*

# A file that is written: the limit of its size is a signal that comes in the midst of it.
"$O/tests/e2e/make_store" many "$dir/many.db"
for words in html "graph --as json" "export --as matrix"; do
  for before in nothing something; do
    rm -f "$dir"/out*
    [ $before = something ] && echo before >"$dir/out"
    start bash -c 'ulimit -f 1; exec "$@"' sh "$commctl" $words --store "$dir/many.db" -o "$dir/out"
    ended "$words"
    [ $code = 153 ] && [ "$(cat "$dir"/out* 2>/dev/null)" = "$([ $before = something ] && echo before)" ] &&
      ok "commctl $words, cut off, leaves $before" || not_ok "commctl $words, cut off, leaves $before" "exit $code: $(ls -l "$dir"/out*)"
  done
done
ln -s "$dir/led" "$dir/link"
"$commctl" export --as matrix --store "$dir/many.db" -o "$dir/link" && [ -L "$dir/link" ] && [ -s "$dir/led" ] &&
  "$commctl" export --as matrix --store "$dir/many.db" -o /dev/stdout | cmp -s - "$dir/led" && ok "links and devices are written to as they are" ||
  not_ok "links and devices are written to as they are" "$(ls -l "$dir")"
exit $status
