#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commd under a service manager: what it tells of itself, its configuration file, and the unit that is installed.
. "$(dirname "$0")/../tap.bash"

# A manager: prints what it is told, a datagram a line, from a socket of the name that it is given; then that it heard.
cat >"$dir/manager.py" <<'PYTHON'
import os, socket, subprocess, sys
name, command = sys.argv[1], sys.argv[2:]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind("\0" + name[1:] if name[0] == "@" else name)
manager.settimeout(0.1)
process = subprocess.Popen(command, env=dict(os.environ, NOTIFY_SOCKET=name))
over = False
while not over:
    over = process.poll() is not None
    try:
        while True:
            print(manager.recv(4096).decode().replace("\n", " | "), flush=True)
    except TimeoutError:
        pass
sys.exit(process.returncode)
PYTHON
# managed NAME OPTION... -- COMMAND: what the manager heard is in $dir/heard.
managed() {
  local name=$1
  shift
  python3 "$dir/manager.py" "$name" "$commd" -q --store "$dir/x.db" "$@" >"$dir/heard" 2>"$dir/err"
}
heard() { grep -qE "$1" "$dir/heard"; }

if [ "$(id -u)" = 0 ] || "$commd" --doctor >/dev/null 2>&1; then
  WATCHDOG_USEC=1000000 managed "$dir/socket" --duration 8s -- sleep 100
  [ "$(head -n 1 "$dir/heard")" = READY=1 ] && [ "$(tail -n 1 "$dir/heard")" = STOPPING=1 ] && ok "it is ready, and it stops" ||
    not_ok "it is ready, and it stops" "$(cat "$dir/heard" "$dir/err")"
  heard '^STATUS=[0-9]+ s, [0-9]+ samples, [0-9.]+ % of the target.s CPU time, [0-9.]+ % of one CPU$' && ok "it says how it goes" ||
    not_ok "it says how it goes" "$(cat "$dir/heard" "$dir/err")"
  # The target sleeps, and so does commd, but for this.
  [ "$(grep -c '^WATCHDOG=1$' "$dir/heard")" -ge 4 ] && ok "it says that it lives" ||
    not_ok "it says that it lives" "$(cat "$dir/heard" "$dir/err")"
  WATCHDOG_USEC=1000000 WATCHDOG_PID=1 managed "@commd-test-$$" --duration 2s -- sleep 100
  heard '^READY=1$' && ! heard WATCHDOG && ok "an abstract socket, and another's watchdog" ||
    not_ok "an abstract socket, and another's watchdog" "$(cat "$dir/heard" "$dir/err")"
else
  skip "what a manager hears" "no source works here"
fi

sentence() { # NAME CODE REGEX COMMAND...: what is wrong, in one sentence
  local name=$1 code=$2 regex=$3 out got
  shift 3
  out=$(timeout 120 "$@" 2>&1 >/dev/null </dev/null)
  got=$?
  [ $got = "$code" ] && grep -qE "$regex" <<<"$out" && [ "$(grep -vc '^Try ' <<<"$out")" = 1 ] && ok "$name" ||
    not_ok "$name" "$got: $out"
}
sentence "a manager that is not there" 1 'cannot reach the service manager.*No such file' \
  env NOTIFY_SOCKET="$dir/none" "$commd" --store "$dir/x.db" -- true
sentence "a manager without a name" 1 'cannot reach the service manager' env NOTIFY_SOCKET=none "$commd" --store "$dir/x.db" -- true

file=$dir/a.conf
wrong() { # NAME REGEX TEXT [OPTION...]
  local name=$1 regex=$2
  printf '%b' "$3" >"$file"
  shift 3
  sentence "$name" 2 "$regex" "$commd" --config "$file" "$@"
}
wrong "a typo has its line" "a.conf:3: 'overheda': there is no such option" '# cost\n\noverheda = 2\n' --pid 1
wrong "so has a wrong value" "a.conf:2: --overhead wants a number from 0.01 to 50, not 'much'" 'counters\noverhead = much\n' --pid 1
wrong "a value that is missing" "a.conf:1: 'overhead': this wants a value" 'overhead\n' --pid 1
wrong "a value for none" "a.conf:1: 'counters': this takes no value" 'counters = yes\n' --pid 1
wrong "a file in a file" "a.conf:1: 'config': this is for the command line" 'config = b.conf\n' --pid 1
wrong "what is wrong behind the file is not of the file" '^commd: --overhead wants' 'overhead = 2\n' --overhead x --pid 1
wrong "nor is what does not go together" '^commd: give --overhead or --rate' 'overhead = 2\n' --rate 5 --pid 1
sentence "two files" 2 'one --config is enough' "$commd" --config "$file" --config "$file" --pid 1
sentence "a file that is not there" 2 'cannot read .*none.conf: No such file' "$commd" --config "$dir/none.conf" --pid 1
sentence "a folder" 2 'no regular file' "$commd" --config "$dir" --pid 1
printf '# from the file\n; and this\n  label =  of the file \nslice=250ms\r\nquiet\nstore = %s/from.db\n' "$dir" >"$file"
"$commd" --config "$file" --label "of the line" --source replay:tests/golden/migratory.rec >"$dir/out" 2>&1
label=$("$commctl" list --json --store "$dir/from.db" | jq -r '.runs[0].label')
[ ! -s "$dir/out" ] && [ "$label" = "of the line" ] && ok "the file is taken, and the command line wins" ||
  not_ok "the file is taken, and the command line wins" "$label; $(cat "$dir/out")"

mkdir "$dir/units"
sed "s,@bindir@,$O," packaging/commd@.service >"$dir/units/commd@.service"
if command -v systemd-analyze >/dev/null; then
  said=$(systemd-analyze verify --man=no "$dir/units/commd@.service" 2>&1)
  [ -z "$said" ] && ok "the unit is one" || not_ok "the unit is one" "$said"
  exposure=$(systemd-analyze security --offline=true "$dir/units/commd@.service" 2>&1 | sed -n 's/.*exposure level.*: \([0-9.]*\) .*/\1/p')
  awk -v e="${exposure:-10}" 'BEGIN { exit !(e <= 1.5) }' && ok "it exposes little" || not_ok "it exposes little" "$exposure"
else
  skip "the unit" "there is no systemd-analyze (package systemd)"
fi
# Each option of the unit is one of commd's.
# shellcheck disable=SC2046 # words
check "the unit's options are commd's" "$commd" --source replay:tests/golden/migratory.rec \
  $(sed -n 's/^ExecStart=[^ ]* //p' packaging/commd@.service | sed "s, --cgroup [^ ]*,,; s, --control [^ ]*,,; s,/var/lib/commprof/%i.db,$dir/unit.db,; s,/etc/commprof/%i.conf,$file,")

# The unit's lines in their places here, from its start to a reload.
sentence "a reload without a commd" 1 '/control: No such file' "$commd" --control "fifo:$dir/run/control,$dir/run/ack" --config "$file" --reload
sentence "a reload that has nowhere to go" 2 'wants --config FILE and --control fifo:CTL,ACK' "$commd" --config "$file" --reload
line() { # NAME: what the unit has for it, as words
  sed -n "s/^$1=//p" packaging/commd@.service | sed "s,@bindir@,$O,; s, --cgroup [^ ]*,,; s,/var/lib/commprof/%i.db,$dir/unit.db,; s,/etc/commprof/%i.conf,$file,; s,%t/commprof/%i,$dir/run,g"
}
read -ra reload < <(line ExecReload)
mkdir "$dir/run"
# shellcheck disable=SC2046 # words
check "the unit makes its FIFOs" $(line ExecStartPre)
sentence "a reload that nobody hears" 1 '/control: no commd takes commands there' "${reload[@]}"
if [ "$(id -u)" = 0 ] || "$commd" --doctor >/dev/null 2>&1; then
  printf 'overhead = 2\nslice = 100ms\n' >"$file"
  sleep 1000 &
  target=$!
  pids+=($target)
  rm -f "$dir/unit.db"
  # shellcheck disable=SC2046 # words
  $(line ExecStart) --pid $target 2>"$dir/err" &
  daemon=$!
  pids+=($daemon)
  row() { sqlite3 "$dir/unit.db" "SELECT round(overhead_limit, 6) || ' ' || round(overhead_least, 6) FROM run" 2>/dev/null; }
  # A command may wait in the FIFO until the run has begun, which may take longer than who reloads waits.
  for _ in $(seq 600); do [ "$(row)" = "0.02 0.0" ] && break; sleep 0.1; done
  for _ in 1 2; do "${reload[@]}" >"$dir/out" 2>&1 && break; done
  printf '# a comment\n overhead = 3 \nslice = 1s\ncounters\n' >"$file"
  sentence "a reload takes the budget, and says what it does not" 0 'overhead is taken; what .*a.conf says of slice, counters is taken when' "${reload[@]}"
  echo 'overhead = x' >"$file"
  sentence "a reload of a file with a mistake" 2 "a.conf:1: --overhead wants a number from 0.01 to 50, not 'x'" "${reload[@]}"
  echo 'rate = 100' >"$file"
  sentence "a reload of a file with a rate" 1 'a.conf: it has a rate, which is taken when' "${reload[@]}"
  # Without one the budget is the default.
  : >"$file"
  check "a reload of an empty file is silent" sh -c '[ -z "$("$@" 2>&1)" ]' - "${reload[@]}"
  # What one budget has cost is told when the next one comes.
  echo 'overhead = 2' >"$file"
  check "a reload of what may be taken is silent, too" sh -c '[ -z "$("$@" 2>&1)" ]' - "${reload[@]}"
  kill -TERM $daemon
  timeout 300 tail --pid=$daemon -f /dev/null
  [ "$(row)" = "0.03 0.01" ] && ok "the store has the largest and the least" || not_ok "the store has the largest and the least" "$(row) $(cat "$dir/err")"
else
  skip "a reload of a commd that runs" "no source works here"
fi
echo "1..$n"
exit $status
