#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# commd beside a service whose threads, processes and mappings come and go, while things go wrong.
#
#	soak.sh [MINUTES]
#
# One commd runs all the time; it is stopped and continued, and its memory and descriptors are
# measured.  Beside it one run after the other meets a fault: a full disk, a store that is taken
# away, kill -9, few descriptors, a target that execs or ends.  Each ends by itself, without a
# crash, and leaves a run that is closed or can be salvaged.  Without MINUTES each fault happens
# once; memory is judged in long runs alone, as tables fill up in the first minutes.
set -u
export LC_ALL=C
minutes=${1:-0}
case $minutes in *[!0-9]*) echo "usage: soak.sh [MINUTES]" >&2; exit 2 ;; esac
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "ok 1 # SKIP needs root to attach"; exit 0; }
# The full disk is a small file system, for this script alone.
[ -n "${SOAK_MOUNTS:-}" ] || SOAK_MOUNTS=1 exec unshare -m "$0" "$@"
O=$(realpath "${O:-.output}")
commd=$O/commd commctl=$O/commctl service=$O/tests/soak/service
n=0 status=0
dir=$(mktemp -d)
declare -A ours
cleanup() {
  for pid in "${!ours[@]}"; do kill -9 "$pid" 2>/dev/null; done
  umount "$dir/small" 2>/dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; printf '%s\n' "$2" | head -30 | sed 's/^/#   /'; status=1; }
forget() { unset "ours[$1]"; }

mkdir "$dir/small"
mount -t tmpfs -o size=8m none "$dir/small" || { echo "ok 1 # SKIP may not mount"; exit 0; }
threads=4
[ "$minutes" = 0 ] || threads=1000

serve() { # leaves its pid in served
  "$service" "$1" &
  served=$!
  ours[$served]=1
  disown $served
}

# of_runs STORE QUESTION: of the list of runs, which is empty where there is no store yet.
of_runs() { "$commctl" list --store "$1" --json 2>/dev/null | jq -rs ".[0].runs // [] | $2"; }

# begin STORE OPTION...: commd is begun, and has stored slices.
begin() {
  local store=$1 i before
  shift
  before=$(of_runs "$store" length)
  "$commd" --slice 100ms --store "$store" "$@" >"$dir/log" 2>&1 &
  daemon=$!
  ours[$daemon]=1
  for i in $(seq 600); do
    kill -0 $daemon 2>/dev/null || return
    [ "$(of_runs "$store" length)" -gt "$before" ] && [ "$(of_runs "$store" '.[-1].slices // 0')" -ge 2 ] && return
    sleep 0.2
  done
}

# Waits for the end of commd, two minutes at most; its exit status goes to code.
ended() {
  local i
  for i in $(seq 600); do
    kill -0 $daemon 2>/dev/null || break
    sleep 0.2
  done
  [ -e /proc/$daemon ] && kill -9 $daemon && echo "it had to be killed" >>"$dir/log"
  wait $daemon 2>/dev/null
  code=$?
  forget $daemon
}

# verdict WHAT STORE CODES SENTENCE: how it ended, and what it left.
verdict() {
  local what=$1 store=$2 codes=$3 sentence=$4 state=''
  ended
  [ -z "$store" ] || state=$(of_runs "$store" '.[-1].state')
  if [[ " $codes " != *" $code "* ]]; then
    not_ok "$what" "exit status $code, not one of $codes: $(cat "$dir/log")"
  elif ! grep -qE "$sentence" "$dir/log"; then
    not_ok "$what" "no /$sentence/ in: $(cat "$dir/log")"
  elif [ -n "$store" ] && [ "$state" != finished ]; then
    not_ok "$what" "the run is '$state': $("$commctl" list --store "$store" 2>&1; cat "$dir/log")"
  else
    ok "$what"
  fi
}

interrupt() { kill -INT $daemon; }

full_disk() {
  local store=$dir/small/a.db
  rm -f "$dir"/small/*
  begin "$store" --pid "$1" --rate 2000
  cat /dev/zero >"$dir/small/rest" 2>/dev/null
  sleep 4
  interrupt
  verdict "a full disk: the run is closed" "$store" "0 1 3" .
  # The room that commd reserved may have been enough.
  if [ $code = 1 ] && ! grep -qE 'slices not stored: no space' "$dir/log"; then
    not_ok "what a full disk lost is counted" "$(cat "$dir/log")"
  fi
  rm -f "$dir"/small/*
}

store_deleted() {
  begin "$dir/b.db" --overhead 5 --pid "$1"
  rm -f "$dir/b.db"
  verdict "a store is deleted" "" 1 'was deleted; the run ended'
}

store_moved() {
  begin "$dir/b.db" --overhead 5 --pid "$1"
  mv "$dir/b.db" "$dir/moved.db"
  verdict "a store is moved" "$dir/moved.db" 1 'was moved; the run ended'
  rm -f "$dir"/moved.db* "$dir"/b.db*
}

stopped() {
  begin "$dir/b.db" --overhead 5 --pid "$1"
  kill -STOP $daemon
  sleep 2
  kill -CONT $daemon
  sleep 1
  interrupt
  verdict "commd stands still for a while" "$dir/b.db" "0 3" .
  rm -f "$dir"/b.db*
}

killed() {
  local i
  for i in 1 2; do
    begin "$dir/b.db" --overhead 5 --pid "$1"
    kill -9 $daemon
    wait $daemon 2>/dev/null
    forget $daemon
  done
  begin "$dir/b.db" --overhead 5 --pid "$1"
  interrupt
  verdict "a run on the store of runs that were killed" "$dir/b.db" "0 3" .
  [ "$(of_runs "$dir/b.db" length)" = 3 ] ||
    not_ok "killed runs stay in the store" "$("$commctl" list --store "$dir/b.db")"
  rm -f "$dir"/b.db*
}

few_descriptors() {
  begin "$dir/b.db" --overhead 5 --pid "$1"
  prlimit --pid $daemon --nofile=10:10
  sleep 1
  interrupt
  verdict "no more descriptors" "$dir/b.db" "0 3" .
  rm -f "$dir"/b.db*
}

target_execs() {
  serve 4
  begin "$dir/b.db" --overhead 5 --pid $served
  kill -USR1 $served
  sleep 1
  interrupt
  verdict "the target execs" "$dir/b.db" "0 3" .
  begin "$dir/b.db" --overhead 5 --pid $served
  kill -9 $served
  forget $served
  verdict "the target ends" "$dir/b.db" "0 3" 'target exited'
  rm -f "$dir"/b.db*
}

faults=(full_disk store_deleted store_moved stopped killed few_descriptors target_execs)

# The commd that runs all the time, and what it takes.
serve $threads
target=$served
"$commd" --overhead 5 --quota 64M --store "$dir/steady.db" --pid $target >"$dir/steady.log" 2>&1 &
steady=$!
ours[$steady]=1
start=$SECONDS
measure() { # memory of commd and of the processes it made, and its descriptors
  local pid rss=0 fds
  for pid in $steady $(cat /proc/$steady/task/$steady/children 2>/dev/null); do
    rss=$((rss + $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null || echo 0)))
  done
  fds=$(ls /proc/$steady/fd 2>/dev/null | wc -l)
  echo "$((SECONDS - start)) $rss $fds" >>"$dir/measured"
}

while :; do
  for fault in "${faults[@]}"; do
    "$fault" $target
    kill -0 $steady 2>/dev/null || break 2
    measure
    if [ "$minutes" != 0 ]; then
      kill -STOP $steady
      sleep 1
      kill -CONT $steady
      sleep 10
      measure
      printf '# %s kB %s fds after %s s\n' $(tail -n 1 "$dir/measured" | awk '{ print $2, $3, $1 }')
    fi
  done
  [ $((SECONDS - start)) -lt $((minutes * 60)) ] || break
done

# Small blocks alone: of large tables it would keep the holes.
heap=$(awk '/\[heap\]/ { h = 1 } h && /^Size/ { print $2; exit }' /proc/$steady/smaps 2>/dev/null)
[ "${heap:-0}" -lt 16384 ] && ok "malloc's heap is small" || not_ok "malloc's heap is small" "$heap kB"

daemon=$steady
if kill -0 $steady 2>/dev/null; then
  interrupt
else
  not_ok "commd runs as long as it should" "$(cat "$dir/steady.log")"
fi
cp "$dir/steady.log" "$dir/log"
ended
cp "$dir/steady.log" "$dir/log"
[ "$code" = 0 ] || [ "$code" = 3 ] && [ "$(of_runs "$dir/steady.db" '.[-1].state')" = finished ] && ok "the long run is closed" ||
  not_ok "the long run is closed" "exit status $code: $(cat "$dir/steady.log")"
sed 's/^/# /' "$dir/steady.log"

# The slope over the second half, by least squares.
slope() { # COLUMN
  awk -v c="$1" '{ t[NR] = $1 / 60; v[NR] = $c }
    END {
      for (i = int(NR / 2) + 1; i <= NR; i++) { n++; st += t[i]; sv += v[i] }
      for (i = int(NR / 2) + 1; i <= NR; i++) { a += (t[i] - st / n) * (v[i] - sv / n); b += (t[i] - st / n) * (t[i] - st / n) }
      printf "%.1f\n", b ? a / b : 0
    }' "$dir/measured"
}
echo "# second half: $(slope 2) kB a minute, $(slope 3) descriptors a minute"
if [ "$minutes" -ge 20 ]; then
  [ "$(of_runs "$dir/steady.db" '.[-1].overhead_pct < 6.25')" = true ] && ok "what was spent is within the budget" ||
    not_ok "what was spent is within the budget" "$(cat "$dir/steady.log")"
  # 52 MB after half a minute, and what this service then fills: 65,536 threads of 280 bytes and
  # the ids of 300,000, 20; the estimator's tables, 76, which are far from full after two hours;
  # three wide slices of 64,000 edges of 256 bytes and their hashes, and one being folded, 67; first
  # writes, watches and code, 8; blocks of heaps, 24; SQLite's cache, 2.
  awk '$2 > most { most = $2 } END { exit most >= 249000 }' "$dir/measured" &&
    ok "memory keeps to less than the sum of its limits, 249 MB" ||
    not_ok "memory keeps to less than the sum of its limits, 249 MB" "$(cat "$dir/measured")"
fi
if [ "$minutes" -ge 120 ]; then
  # After an hour the threads are too many for their table, and what goes with them ends.  There
  # are left the day's slice, which gets up to 16,000 edges an hour, 69 kB a minute, until it has
  # 64,000; 4 bytes for each new id, 10; the estimator's tables, 60; and slices of an hour, of which
  # one is written and another one begun, 5 to 8 MB together each time: 251 kB were measured.
  awk -v s="$(slope 2)" 'BEGIN { exit s >= 320 }' && ok "memory grows slowly" || not_ok "memory grows slowly" "$(cat "$dir/measured")"
fi
read -r _ _ first <"$dir/measured"
last=$(tail -n 1 "$dir/measured" | cut -d' ' -f3)
# Of up to 64 processes the memory stays open (MEM_FDS_MAX).
[ "$last" -le $((first + 70)) ] && ok "descriptors are flat" || not_ok "descriptors are flat" "$first at first, $last at last"
exit $status
