#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Watchpoints from user space: their answers must name the known writers of the data read.
. "$(dirname "$0")/../tap.bash"
kernels=$O/tests/truth/truth-kernels events=$O/tests/vm/events
target=
undo() {
  [ -n "$target" ] && kill -9 "$target" 2>/dev/null
}
[ "$(id -u)" = 0 ] || skip_all "needs root to watch every CPU"
why=$("$commd" --doctor | sed -n 's/^watchpoints (--watch): //p')
case $why in work*) ;; *) skip_all "$why" ;; esac

# watched KERNEL SOURCE: $dir/KERNEL.csv is the ground truth, .ev the writes that watches saw: 60
# at least, unless none came in a minute.
watched() {
  "$kernels" "$1" --threads 2 --seconds 1000 --out "$dir/$1.csv" --pid-file "$dir/pid" >/dev/null 2>&1 &
  target=$!
  until [ "$(cat "$dir/pid" 2>/dev/null)" = $target ]; do sleep 0.1; done
  # shellcheck disable=SC2086
  local traced="--pid $target" child
  for child in $(cat /proc/$target/task/$target/children); do traced="$traced --pid $child"; done
  local code seconds
  for seconds in 5 20 60; do
    rm -f "$dir/$1".db* "$dir/$1.rec"
    "$commd" -v $traced --source "$2" --overhead 10 --watch 200 --duration ${seconds}s --store "$dir/$1.db" --record "$dir/$1.rec" 2>"$dir/$1.log"
    code=$?
    "$events" "$dir/$1.rec" >"$dir/$1.ev"
    [ "$(awk '$1 == "watch" { n += $4 } END { printf "%.0f\n", n }' "$dir/$1.ev")" -lt 60 ] || break
  done
  kill -USR2 $target
  wait $target
  target=
  "$commctl" report --by-thread --watched --json --store "$dir/$1.db" >"$dir/$1.json" 2>>"$dir/$1.log"
  rm -f "$dir/$1".db*
  [ $code = 0 ] || not_ok "$1, $2: exit status $code" "$(cat "$dir/$1.log")"
}
# field NAME FILE: prints a number of the log's line about watches.
field() { sed -n "s/.* \([0-9]*\) $1.*/\1/p" "$2"; }

for source in bpf perf; do
  if ! "$commd" --doctor | grep -qE "^  $source +works"; then
    n=$((n + 1))
    echo "ok $n - $source # SKIP the source does not work here"
    continue
  fi
  watched pipeline $source
  # Thread 0 produces, thread 1 consumes: the writer of data that 1 has read is 0, except for the
  # words of their barrier.
  tids=$(sed -n 's/.*tids=//p' "$dir/pipeline.csv")
  read -r hits right wrong <<<"$(awk -v a="${tids%:*}" -v b="${tids#*:}" '
    $1 == "watch" { all += $4 } $1 == "watch" && $2 == b { if ($3 == a) right += $4; else wrong += $4 }
    END { printf "%.0f %.0f %.0f\n", all, right, wrong }' "$dir/pipeline.ev")"
  [ "$hits" -ge 40 ] && ok "$source: watches see writes, one after the other" || not_ok "$source: watches see writes" "$hits; $(cat "$dir/pipeline.log")"
  [ "$right" -ge 20 ] && [ "$wrong" -le $((right / 5)) ] && ok "$source: the producer is found" ||
    not_ok "$source: the producer is found" "$right by the producer, $wrong by others"
  # What they stand for: of what crosses, nearly all; words of the barrier are few.
  share=$(jq --argjson a "${tids%:*}" --argjson b "${tids#*:}" '[.nodes[] | select(.tid == $a).id][0] as $from |
    [.nodes[] | select(.tid == $b).id][0] as $to | [.edges[] | select(.from == $from and .to == $to).share] | add // 0' "$dir/pipeline.json")
  [ "$(jq -r '.range.basis' "$dir/pipeline.json")" = watched ] && awk -v s="$share" 'BEGIN { exit !(s > 0.8) }' &&
    ok "$source: what watches stand for goes from the producer to the consumer" ||
    not_ok "$source: what watches stand for" "$share of what crosses; $(head -c 3000 "$dir/pipeline.json")"
  grep -q 'overhead [0-9.]* % of its CPU time, [0-9.]* % of one CPU;' "$dir/pipeline.log" && [ "$(sed -n 's/.*overhead \([0-9]*\).*/\1/p' "$dir/pipeline.log")" -le 11 ] &&
    ok "$source: within the budget" || not_ok "$source: within the budget" "$(cat "$dir/pipeline.log")"

  # Processes on shared memory: the writer is another process.
  watched processes $source
  [ "$(awk '$1 == "watch" && $2 != $3 { n += $4 } END { printf "%.0f\n", n }' "$dir/processes.ev")" -ge 20 ] &&
    ok "$source: writers in other processes" || not_ok "$source: writers in other processes" "$(cat "$dir/processes.ev" "$dir/processes.log")"

  watched private $source
  hits=$(field 'saw a write' "$dir/private.log")
  other=$(awk '$1 == "watch" && $2 != $3 { n += $4 } END { printf "%.0f\n", n }' "$dir/private.ev")
  [ "${hits:-0}" -ge 20 ] && [ "$other" = 0 ] && ok "$source: private data are written by their reader alone" ||
    not_ok "$source: private data" "$hits writes seen, $other by another thread; $(cat "$dir/private.log")"
done

# What the kernel copies to a buffer is written by it, in the thread that called it.
gcc -x c -O1 -o "$dir/refilled" - <<'EOF' || not_ok "the program builds"
#include <fcntl.h>
#include <unistd.h>
static volatile long buffer[4096];
static __attribute__((noinline)) long add_up(void)
{
	long sum = 0;
	for (int i = 0; i < 4096; i++)
		sum += buffer[i];
	return sum;
}
int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	for (;;)
		if (pread(fd, (void *)buffer, sizeof(buffer), 0) != sizeof(buffer) || add_up())
			return 1;
}
EOF
"$dir/refilled" &
target=$!
for seconds in 4 16 60; do
  rm -f "$dir/refilled.db"*
  "$commd" -v --pid $target --overhead 20 --watch 200 --duration ${seconds}s --store "$dir/refilled.db" 2>"$dir/refilled.log"
  "$commctl" report --watched --self --json --by function --top 0 --min-share 0 --store "$dir/refilled.db" >"$dir/refilled.json" 2>>"$dir/refilled.log"
  [ "$(field 'saw a write' "$dir/refilled.log")" -lt 20 ] || break
done
jq -e '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | {from: $name[.from], to: $name[.to], bytes}] |
  ([.[] | select(.to == "add_up").bytes] | add) as $all | ([.[] | select(.to == "add_up" and .from == "[kernel]").bytes] | add) > 0.9 * $all' \
  "$dir/refilled.json" >/dev/null 2>&1 && ok "the kernel's copies are writes" || not_ok "the kernel's copies are writes" "$(cat "$dir/refilled.log"; head -c 2000 "$dir/refilled.json")"
kill -9 $target
wait $target 2>/dev/null
target=

# A run takes three debug registers: the others are a debugger's.  Other runs on this machine may come
# and go: only what is the same before and after counts.
python3 -c 'while True: pass' &
target=$!
left() { python3 tests/e2e/debug_registers.py; }
for _ in 1 2 3; do
  before=$(left)
  rm -f "$dir/left.db"*
  "$commd" -q --pid $target --watch 20 --store "$dir/left.db" 2>"$dir/log" &
  daemon=$!
  until [ "$(sqlite3 "$dir/left.db" 'select count(*) from slice' 2>/dev/null)" -ge 1 ] 2>/dev/null || ! kill -0 $daemon 2>/dev/null; do sleep 0.1; done
  during=$(left)
  kill -INT $daemon 2>/dev/null || before=none
  wait $daemon 2>/dev/null
  [ "$(left)" = "$before" ] && [ "$before" -ge 4 ] && break
  during=
done
if [ -z "$during" ]; then
  n=$((n + 1))
  echo "ok $n - three debug registers are taken # SKIP others on this machine take them, too"
elif [ "$during" = $((before - 3)) ]; then
  ok "three debug registers are taken"
else
  not_ok "three debug registers are taken" "$before free before, $during meanwhile; $(cat "$dir/log")"
fi
kill -9 $target
wait $target 2>/dev/null
target=

"$commd" --source replay:/nowhere --watch 5 2>"$dir/log"
[ $? = 2 ] && grep -q 'live runs' "$dir/log" && ok "a replay is not watched" || not_ok "a replay is not watched" "$(cat "$dir/log")"
echo "1..$n"
exit $status
