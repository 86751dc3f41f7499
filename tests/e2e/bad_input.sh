#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input gets one clear sentence, the right exit status, and loses nothing.
. "$(dirname "$0")/../tap.bash"
chmod 755 "$dir"
undo() {
  mountpoint -q "$dir/small" && umount "$dir/small"
}

# sentence NAME CODE REGEX COMMAND...: exit status, and one line that matches.
sentence() {
  local name=$1 code=$2 regex=$3 out got
  shift 3
  out=$(timeout 120 "$@" 2>&1 >/dev/null </dev/null)
  got=$?
  if [ $got != "$code" ]; then
    not_ok "$name" "exit status $got, not $code: $out"
  elif ! grep -qE "$regex" <<<"$out"; then
    not_ok "$name" "no /$regex/ in: $out"
  elif [ "$(grep -vcE '^Try |^$' <<<"$out")" -gt 1 ]; then
    not_ok "$name" "more than one sentence: $out"
  else
    ok "$name"
  fi
}

spin() {
  python3 -c '
import threading, time, sys
def work(a, b):
    while True:
        for i in range(1000): b[i] = a[i] + 1
x, y = [0] * 1000, [0] * 1000
for p in ((x, y), (y, x)): threading.Thread(target=work, args=p, daemon=True).start()
time.sleep(float(sys.argv[1]))' "$1" &
  target=$!
  pids+=($target)
  until [ "$(ls /proc/$target/task | wc -l)" -ge 3 ]; do sleep 0.1; done
}
# until_slices STORE COUNT: waits for COUNT slices, at most some 100 s, and prints how many there
# are.
until_slices() {
  local slices=0
  for _ in $(seq 500); do
    slices=$("$commctl" list --store "$1" --json 2>/dev/null | jq '[.. | .slices? // empty] | max // 0')
    [ "${slices:-0}" -ge "$2" ] && break
    sleep 0.2
  done
  echo "${slices:-0}"
}

db=$dir/a.db
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

sentence "no such pid" 1 'no process.* 4194000|no such process' "$commd" --pid 4194000 --store "$db"
sentence "a kernel thread" 1 'kernel thread' "$commd" --pid 2 --store "$db"
if unshare -p -f true 2>/dev/null; then
  # The numbers of that /proc are other processes.
  sentence "/proc of another PID namespace" 1 'that of another PID namespace' unshare -p -f "$commd" --pid 1 --store "$db"
  if is_sanitized; then
    skip "no /proc" "the sanitizers need it"
  else
    sentence "no /proc" 1 '/proc is not mounted' unshare -m sh -c 'umount -l /proc && exec "$@"' - "$commd" --store "$db" -- true
  fi
fi
sentence "pid that is no number" 2 "'12x'" "$commd" --pid 12x --store "$db"
sentence "itself is no target: none named" 2 'name one target' "$commd" --store "$db"
sentence "unknown option" 2 "frobnicate" "$commd" --frobnicate
sentence "a slip in an option" 2 "no option '--sorce'; did you mean --source\\?" "$commd" --sorce bpf -- true
sentence "a slip in a source" 2 "no source 'bfp'.*; did you mean bpf\\?" "$commd" --source bfp -- true
check "an option of the command is its own affair" grep -q "^ls: unrecognized option '--sorce'" <("$commd" -q --store "$db" ls --sorce 2>&1)
sentence "unknown source" 2 "nosuch.*auto, bpf.*replay:FILE" "$commd" --pid $$ --source nosuch --store "$db"
sentence "a source that takes nothing behind a colon" 2 "bpf takes nothing.*'precise'" "$commd" --pid $$ --source bpf:precise --store "$db"
sentence "a replay of nothing" 2 'wants replay:FILE' "$commd" --source replay --store "$db"
sentence "a replay with a target" 2 'no target' "$commd" --source replay:x --pid $$ --store "$db"
sentence "a replay with watchpoints" 2 'live runs' "$commd" --source replay:x --watch 5 --store "$db"
sentence "overhead out of range" 2 'overhead' "$commd" --pid $$ --overhead 200 --store "$db"
sentence "least overhead out of range" 2 'overhead-floor wants' "$commd" --pid $$ --overhead-floor -1 --store "$db"
sentence "the daemon's time out of range" 2 'daemon-cpu wants' "$commd" --pid $$ --daemon-cpu 0 --store "$db"
sentence "granularity no power of two" 2 'power of two' "$commd" --pid $$ --granularity 12
sentence "no such cgroup" 1 'cgroup' "$commd" --cgroup /no/such/group --store "$db"
sentence "a cgroup without a name" 2 'wants a path' "$commd" --cgroup "" --store "$db"
"$commd" -q --store "$db" -- true 2>"$dir/log"
for beside in "" -wal -ballast -journal; do
  sentence "a recording in the place of the store${beside:+ $beside}" 1 'it is the store' "$commd" --record "$dir/../${dir##*/}/a.db$beside" --store "$db" -- true
  sentence "or of that name${beside:+ $beside}" 1 'it is the store' "$commd" --record "$db$beside" --store "$db" -- true
done
"$commctl" list --store "$db" >"$dir/log" 2>&1 && grep -q ' finished ' "$dir/log" && ok "it is as it was" || not_ok "it is as it was" "$(cat "$dir/log")"
rm -f "$db"
long=$(printf 'x%.0s' $(seq 250))
sentence "a store with too long a name" 1 'too long' "$commd" --store "$dir/$long" -- true
[ -e "$dir/$long" ] && not_ok "nothing is made then" "$(ls "$dir")" || ok "nothing is made then"
sentence "command that is not there" 1 'nosuchprogram' "$commd" --store "$db" -- ./nosuchprogram
sentence "recording that is not there" 1 'No such file' "$commd" --source replay:"$dir/none" --store "$db"
echo "this is no recording, but a text that is long enough" >"$dir/text"
sentence "recording that is none" 1 'not a recording' "$commd" --source replay:"$dir/text" --store "$db"
for name in :memory: : '' file:x.db 'file:x.db?mode=memory' file::memory: /dev/null "$dir" "$dir/"; do
  sentence "--store '$name'" 2 'wants the name of a file' "$commd" --store "$name" -- true
done
(cd "$dir" && "$commd" -q --rate 100 --store ./:memory: -- true >/dev/null 2>&1; [ -s ./:memory: ]) && ok "--store ./:memory: is a file" || not_ok "--store ./:memory: is a file"
sentence "recording that is a folder" 1 'is a directory' "$commd" --source replay:"$dir" --store "$dir/unmade.db"
mkfifo "$dir/fifo"
sentence "recording that is a FIFO" 1 'no regular file' "$commd" --source replay:"$dir/fifo" --store "$dir/unmade.db"
: >"$dir/empty.rec"
sentence "perf.data that is not there" 1 'cannot read .*No such file' "$commd" --source perfdata:"$dir/none" --store "$dir/unmade.db"
sentence "perf.data that is none" 1 'no file of perf record' "$commd" --source perfdata:"$dir/text" --store "$dir/unmade.db"
sentence "perf.data that is a folder" 1 'is a directory' "$commd" --source perfdata:"$dir" --store "$dir/unmade.db"
sentence "perf.data that is a FIFO" 1 'no regular file' "$commd" --source perfdata:"$dir/fifo" --store "$dir/unmade.db"
sentence "perf.data with a target" 2 'no target' "$commd" --source perfdata:x --pid $$ --store "$dir/unmade.db"
sentence "perf.data with watchpoints" 2 'live runs' "$commd" --source perfdata:x --watch 5 --store "$dir/unmade.db"
sentence "recording that is empty" 1 'is empty' "$commd" --source replay:"$dir/empty.rec" --store "$dir/unmade.db"
printf 'commrec\0\1\0\0\0' >"$dir/older.rec"
sentence "recording of an older format" 1 'older commd.*record again' "$commd" --source replay:"$dir/older.rec" --store "$dir/unmade.db"
printf 'commrec\0\377\0\0\0' >"$dir/newer.rec"
sentence "recording of a newer format" 1 'newer commd' "$commd" --source replay:"$dir/newer.rec" --store "$dir/unmade.db"
head -c 100 tests/golden/migratory.rec >"$dir/torn.rec"
sentence "recording torn in its head" 1 'is damaged' "$commd" --source replay:"$dir/torn.rec" --store "$dir/unmade.db"
[ ! -e "$dir/unmade.db" ] && ok "no store was made for any of these" || not_ok "no store was made for any of these"

spin 300
sentence "store in a folder that is not there" 1 'no/such' "$commd" --pid $target --store "$dir/no/such/x.db"
sentence "store that is a folder" 2 'director' "$commd" --pid $target --store "$dir"
cp "$dir/text" "$dir/notours.db"
sentence "store that is no database" 1 'not a (store|database|SQLite)|is no' "$commd" --pid $target --store "$dir/notours.db"
cmp -s "$dir/text" "$dir/notours.db" && ok "a file that is not ours is left alone" || not_ok "a file that is not ours is left alone"
sqlite3 "$dir/foreign.db" 'create table t(x); insert into t values (1);'
sentence "somebody else's database" 1 'not a store|another|is no' "$commd" --pid $target --store "$dir/foreign.db"
[ "$(sqlite3 "$dir/foreign.db" 'select x from t')" = 1 ] && ok "somebody else's data is intact" || not_ok "somebody else's data is intact"
"$commd" -q --pid $target --duration 1s --store "$db" >/dev/null 2>&1
cp "$db" "$dir/newer.db"
sqlite3 "$dir/newer.db" 'pragma user_version = 999'
sentence "store of a newer version" 1 'newer' "$commd" --pid $target --duration 1s --store "$dir/newer.db"
sentence "report of a newer store" 1 'newer' "$commctl" report --store "$dir/newer.db"
# Some MiB more: 400 slices of 20 edges.
cp "$db" "$dir/large.db"
sqlite3 "$dir/large.db" "CREATE TEMP TABLE one AS SELECT * FROM slice ORDER BY id LIMIT 1; UPDATE one SET edges = 20;
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO slice SELECT 1000 + i, run, level,
  end_ns + i * 1000, end_ns + (i + 1) * 1000, samples, bursts, accesses, handler_ns, daemon_ns, setup_ns, target_ns, unwritten_bytes,
  unwritten_first_bytes, edges, bytes, crossing_bytes, crossing_first_bytes, parts, strands, polled_bytes, watches, unanswered_bytes,
  daemon_idle_ns FROM n, one;
  WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 7999) INSERT INTO edge
  SELECT 1, 1001 + i / 20, i % 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, zeroblob(200), 0, x'', 0, 0, 0, 0, 0, 0, x'' FROM n"
large=$(stat -c %s "$dir/large.db")
"$commd" --source replay:tests/golden/migratory.rec --quota 1M --store "$dir/large.db" >"$dir/out" 2>&1
code=$?
{ [ $code = 0 ] && grep -qE "has [0-9.]+ MiB, more than --quota: it does not shrink" "$dir/out" && [ "$(stat -c %s "$dir/large.db")" -le "$large" ]; } &&
  ok "a store that is larger than the quota grows no more, which is said" || not_ok "a store that is larger than the quota grows no more, which is said" "$code: $(cat "$dir/out")"
"$commd" --source replay:tests/golden/migratory.rec --store "$dir/large.db" >"$dir/out" 2>&1
grep -q "larger than" "$dir/out" && not_ok "within the quota nothing is said" "$(cat "$dir/out")" || ok "within the quota nothing is said"
cp "$db" "$dir/corrupt.db"
dd if=/dev/urandom of="$dir/corrupt.db" bs=1 seek=100 count=20000 conv=notrunc 2>/dev/null
sentence "report of a corrupt store" 1 'corrupt|damaged|malformed' "$commctl" report --store "$dir/corrupt.db"
out=$("$commctl" report --store "$dir/none.db" 2>&1)
code=$?
{ [ $code = 1 ] || [ $code = 3 ]; } && grep -q none.db <<<"$out" && ok "report without a store" || not_ok "report without a store" "$code: $out"

# User nobody may not profile the target: the sentence names the missing capability.
cp "$commd" "$dir/commd" && chmod 755 "$dir/commd"
mkdir -m 777 "$dir/open"
sentence "as nobody" 1 'CAP_|root|permission|paranoid' setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/commd" --pid $target --store "$dir/open/x.db"
mkdir -m 755 "$dir/closed"
cp "$db" "$dir/closed/x.db"
sentence "store that may not be written" 1 'ermission|read-only|not (be )?writ' setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/commd" --pid $target --store "$dir/closed/x.db"

# A full disk: the run goes on, ends with 1, and the stored slices are readable.
mkdir "$dir/small"
if mount -t tmpfs -o size=1m tmpfs "$dir/small" 2>/dev/null; then
  timeout 300 "$commd" -q --pid $target --rate 500 --duration 3s --store "$dir/small/x.db" >/dev/null 2>"$dir/err"
  before=$?
  # On a busy machine the log and the ballast may stay, and the store has free pages: in these the next run would find room.
  sqlite3 "$dir/small/x.db" vacuum
  rm -f "$dir/small/x.db-ballast"
  # Again and again, as helpers that have not yet ended hold files that are removed.
  while :; do
    dd if=/dev/zero bs=4k >>"$dir/small/fill" 2>/dev/null
    sleep 0.05
  done &
  filler=$!
  timeout 300 "$commd" -q --pid $target --rate 500 --duration 2s --slice 100ms --store "$dir/small/x.db" >/dev/null 2>"$dir/err"
  code=$?
  kill $filler
  wait $filler 2>/dev/null
  if "$commctl" report --store "$dir/small/x.db" --run 1 --json >/dev/null 2>&1 && [ $before = 0 ] && [ $code = 1 ] && [ -s "$dir/err" ]; then
    ok "full disk"
  else
    not_ok "full disk" "exit status $before, then $code: $(cat "$dir/err")"
  fi
else
  skip "full disk" "tmpfs cannot be mounted here"
fi

# kill -9 of the daemon: each committed slice is in the store.
"$commd" -q --pid $target --slice 200ms --store "$dir/killed.db" >/dev/null 2>&1 &
pids+=($!)
daemon=$!
until_slices "$dir/killed.db" 5 >/dev/null
kill -9 $daemon
wait $daemon 2>/dev/null
slices=$(until_slices "$dir/killed.db" 5)
if [ "$slices" -ge 5 ] && "$commctl" report --store "$dir/killed.db" >/dev/null; then
  ok "kill -9 of the daemon keeps $slices slices"
else
  not_ok "kill -9 of the daemon" "slices: $slices"
fi
kill $target

# The target ends, forks and execs while attached; at a fixed rate, as with a budget so short a
# life may get no sample on a busy machine.
spin 300
timeout 200 "$commd" --pid $target --rate 500 --store "$dir/exit.db" 2>"$dir/log" >/dev/null &
daemon=$!
until_slices "$dir/exit.db" 2 >/dev/null
kill $target
wait $daemon
code=$? out=$(cat "$dir/log")
[ $code = 0 ] && grep -q 'target exited' <<<"$out" && ok "the target exits" || not_ok "the target exits" "$code: $out"

cat >"$dir/fork.py" <<'P'
import os, time, sys
end = time.time() + float(sys.argv[1])
while time.time() < end:
    pid = os.fork()
    if pid == 0:
        for k in range(5):
            x = list(range(300000))
            y = sorted(x, reverse=True)
        os._exit(0)
    os.waitpid(pid, 0)
P
out=$(timeout 300 "$commd" --rate 500 --store "$dir/fork.db" -- python3 "$dir/fork.py" 3 2>&1 >/dev/null)
code=$?
[ $code = 0 ] && ok "the target forks" || not_ok "the target forks" "$code: $out"
out=$(timeout 300 "$commd" --rate 500 --store "$dir/exec.db" -- sh -c 'exec python3 -c "
for i in range(60000000): pass"' 2>&1 >/dev/null)
code=$?
[ $code = 0 ] && ok "the target execs" || not_ok "the target execs" "$code: $out"

cat >"$dir/threads.py" <<'P'
import threading
data = [0] * 64
def work(k):
    for i in range(300): data[(k + i) % 64] += 1
for batch in range(40):
    ts = [threading.Thread(target=work, args=(k,)) for k in range(50)]
    [t.start() for t in ts]; [t.join() for t in ts]
sum(range(20000000))
P
out=$(timeout 300 "$commd" --overhead 5 --store "$dir/threads.db" -- python3 "$dir/threads.py" 2>&1 >/dev/null)
code=$?
[ $code = 0 ] && "$commctl" report --store "$dir/threads.db" --json >/dev/null && ok "2,000 short-lived threads" ||
  not_ok "2,000 short-lived threads" "$code: $out"
mode=$(stat -c %a "$dir/threads.db")
[ "$mode" = 640 ] && ok "the store is 0640" || not_ok "the store is 0640" "$mode"
exit $status
