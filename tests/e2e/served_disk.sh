#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A store on a file system whose server does not answer: sampling goes on, what waits is stored when it answers again, and
# where it does not commd says so, and ends as far as the kernel lets it: nothing but the thread that waits is left.  Where
# it does not answer at the start no run begins.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to mount"
[ -c /dev/fuse ] || skip_all "no /dev/fuse"
disk=$dir/disk silent=$dir/silent
undo() {
  rm -f "$silent"
  umount -l "$disk" 2>/dev/null
}
mkdir "$disk" "$dir/files"
chmod 755 "$dir"
# shellcheck disable=SC2046 # words
gcc -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -o "$dir/served" tests/e2e/served.c $(pkg-config --cflags --libs fuse3) || exit 1
"$dir/served" "$dir/files" "$silent" "$disk" 2>"$dir/log" &
pids+=($!)
for i in $(seq 600); do mountpoint -q "$disk" && break; sleep 0.1; done
mountpoint -q "$disk" || skip_all "FUSE mounts nothing: $(tail -n 1 "$dir/log")"

sh -c 'while :; do :; done' &
target=$!
pids+=($target)
start() { # NAME OPTION...: a run into the store of that name, and five slices of it stored
  store=$1.db
  shift
  "$commd" --pid $target --slice 50ms --overhead 5 --store "$disk/$store" "$@" >"$dir/log" 2>&1 &
  daemon=$!
  pids+=($daemon)
  wait_for 5
}
# Not by the server.
slices() { sqlite3 -readonly "$dir/files/$store" 'SELECT count(*) FROM slice WHERE level = 0' 2>/dev/null || echo 0; }
wait_for() { # NUMBER of slices
  for i in $(seq 1200); do [ "$(slices)" -ge "$1" ] && return; sleep 0.1; done
}
row() { sqlite3 -readonly "$dir/files/$store" "SELECT $1 FROM run"; }

start a
before=$(slices)
touch "$silent"
sleep 10
rm "$silent"
wait_for $((before + 60))
kill -INT $daemon
wait $daemon
code=$?
check "the run ends as any other" sh -c 'cat "$1"; [ "$2" != 1 ] && ! grep -q "not all slices" "$1"' - "$dir/log" $code
check "no time is missing" [ "$(sqlite3 -readonly "$dir/files/$store" "SELECT total(end_ns - start_ns) > 0 AND total(end_ns - start_ns) = max(end_ns) - min(start_ns) FROM slice WHERE level = 0")" = 1 ]
check "a slice waited for the server, as the store says ($(row store_ns) ns)" [ "$(row 'store_ns > 5e9')" = 1 ]
check "what samples did not ($(row stall_ns) ns, $(row stall_own_ns) of its own)" [ "$(row 'stall_ns > 0 AND stall_ns < 5e9 AND stall_own_ns BETWEEN 1 AND stall_ns')" = 1 ]

# All of commd that is there, but for what has ended and waits for its parent.
left() { ps -o pid=,stat=,comm= -p "$daemon" --ppid "$daemon" | awk '$2 !~ /^Z/'; }
told() { # NAME STORE OPTION...
  local name=$1
  shift
  start "$@"
  touch "$silent"
  # So that a slice is being written.
  sleep 3
  kill -TERM $daemon
  for i in $(seq 600); do [ -z "$(left)" ] && break; sleep 0.1; done
  check "$name: told to end, it does" [ -z "$(left)" ]
  cp "$dir/log" "$dir/said"
  check "$name: with a sentence" grep -q "^commd: the store $disk/$store does not answer: what is stored by now is there, and the run is unfinished$" "$dir/said"
  check "$name: and no other of that" sh -c 'cat "$1"; ! grep -q "takes too long" "$1"' - "$dir/said"
  rm "$silent"
  wait $daemon
  check "$name: exit status 1" [ $? = 1 ]
  check "$name: the store is whole" [ "$(sqlite3 -readonly "$dir/files/$store" 'PRAGMA integrity_check')" = ok ]
}
# Else LeakSanitizer stops all threads at the end, of which one waits in the kernel.
export ASAN_OPTIONS=detect_leaks=0
told "the store" b
told "all files" c --record "$disk/c.rec" --accesses "$disk/c.csv"

# The server takes the question on, so that who asks waits for its answer until it comes, even when killed.
touch "$silent"
"$commd" --pid $target --store "$disk/e.db" --duration 1s >"$dir/log" 2>&1 &
daemon=$!
pids+=($daemon)
for i in $(seq 1200); do kill -0 $daemon 2>/dev/null || break; sleep 0.1; done
check "no run begins where the disk does not answer" sh -c 'cat "$1"; [ "$(wc -l <"$1")" = 1 ] && grep -q "commd: the file system of the store $2 does not answer: is its server there? Nothing was begun$" "$1"' - "$dir/log" "$disk/e.db"
# Nor does a report stand for ever.
for what in report list doctor; do
  "$commctl" $what --store "$disk/a.db" >"$dir/out" 2>"$dir/log" &
  reader=$!
  pids+=($reader)
  for i in $(seq 1200); do kill -0 $reader 2>/dev/null || break; sleep 0.1; done
  kill -0 $reader 2>/dev/null && { not_ok "commctl $what ends where the disk does not answer"; continue; }
  wait $reader
  code=$?
  [ $what = doctor ] && grep "bad:" "$dir/out" >"$dir/log"
  check "commctl $what says that the disk does not answer" sh -c 'cat "$1"; [ "$2" = 1 ] && [ "$(wc -l <"$1")" = 1 ] && grep -q "the file system of the store $3 does not answer: is its server there?$" "$1"' - "$dir/log" $code "$disk/a.db"
done
rm "$silent"
wait $daemon
check "and that is exit status 1" [ $? = 1 ]
# A disk that answers late is no reason to do nothing: each of the questions has its time.
touch "$silent"
"$commd" -q --pid $target --store "$disk/f.db" --duration 1s --overhead 5 >"$dir/log" 2>&1 &
daemon=$!
pids+=($daemon)
sleep 4
rm "$silent"
wait $daemon
code=$?
check "one that was slow is named so, and the run goes on" sh -c 'cat "$1"; [ "$2" != 1 ] && [ "$(grep -c "is slow, and took [0-9]* s to answer; the run goes on" "$1")" = 1 ]' - "$dir/log" $code
"$commd" -q --pid $target --store "$disk/e.db" --duration 2s --overhead 5 >"$dir/log" 2>&1
result $? "one begins when it answers again"
echo "1..$n"
exit $status
