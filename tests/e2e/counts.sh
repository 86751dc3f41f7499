#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Counts of threads of known counts agree with what the kernel tells of each.
. "$(dirname "$0")/../tap.bash"
pid=
undo() {
  [ -n "$pid" ] && kill -9 "$pid" && wait "$pid" 2>/dev/null
}
# refused SENTENCE STATUS OPTION...: commd ends with STATUS, and says so in one sentence.
refused() {
  local words=$1 want=$2 got
  shift 2
  "$commd" -q --store "$dir/no.db" "$@" -- true >"$dir/said" 2>&1
  got=$?
  cat "$dir/said"
  [ $got = "$want" ] && grep -q -- "$words" "$dir/said"
}

quiet() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  "$commd" -q --store "$dir/quiet.db" --source bpf --rate 500 -- \
    sh -c 'i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done' 2>"$dir/said" || return
  [ "$(sqlite3 "$dir/quiet.db" "SELECT count(*) FROM count")" = 0 ]
}

check "an event that nobody knows is refused" refused "there is no event 'nonsense'" 1 --events nonsense
check "so is one too many" refused "at most 8" 2 --events r1,r2,r3,r4,r5,r6,r7,r8,r9
check "and one that is there twice" refused "page-faults twice" 2 --events page-faults,page-faults
[ "$(id -u)" = 0 ] && "$commd" --doctor | grep -q '^  bpf  *works' || { skip "the rest" "BPF does not work here"; exit $status; }
check "a source that cannot count says so" refused "perf does not count threads" 1 --source perf --events page-faults
check "without being told no thread is counted" quiet
if "$commd" --doctor | grep -q 'no counters of the processor'; then
  check "hardware events are refused where there are none" refused "no processor of this machine counts instructions" 1 --events instructions
else
  skip "hardware events are refused where there are none" "this processor counts"
fi

gcc -O1 -Wall -Wextra -Werror -pthread tests/e2e/counted.c -o "$dir/counted" || exit 1
# A rate, not a budget: with one, a busy machine's switches are not traced, nor events counted.
"$commd" -q --store "$dir/new.db" --slice 200ms --rate 50 --source bpf --events page-faults,task-clock -- "$dir/counted" >"$dir/told"
# counted DB TID COUNTER: over all slices.
counted() {
  sqlite3 "$1" "SELECT CAST(total(value) AS INTEGER) FROM count c JOIN slice s ON s.id = c.slice AND level = 0
    JOIN thread t ON t.run = c.run AND t.id = c.thread JOIN counter k ON k.id = c.counter
    WHERE t.tid = $2 AND k.name = '$3'"
}
# agree GOT WANT SLACK PERCENT: apart by at most SLACK and PERCENT of WANT.
agree() {
  echo "counted $1, the kernel says $2"
  [ $(($1 - $2)) -le $(($3 + $2 * $4 / 100)) ] && [ $(($2 - $1)) -le $(($3 + $2 * $4 / 100)) ]
}
sum() { # COUNTER: of each thread of the list
  counted "$dir/new.db" "$tid" "$1"
}

check "each thread has told its counts" [ "$(wc -l <"$dir/told")" = 4 ]
while read -r tid what cpu_ns voluntary involuntary faults; do
  # What a thread does after it has told is little, but it may be preempted then.
  check "$what $tid: CPU time" agree "$(sum cpu-time-ns)" "$cpu_ns" 20000000 2
  check "$what $tid: voluntary switches" agree "$(sum voluntary-switches)" "$voluntary" 10 0
  check "$what $tid: involuntary switches" agree "$(sum involuntary-switches)" "$involuntary" 50 5
  check "$what $tid: minor faults" agree "$(sum minor-faults)" "$faults" 30 0
  check "$what $tid: the event of page faults, by perf" agree "$(sum page-faults)" "$faults" 60 2
  check "$what $tid: CPU time, by perf" agree "$(sum task-clock)" "$cpu_ns" 20000000 10
  case $what in
    play) check "a round of ping-pong is a switch" [ $(($(sum voluntary-switches) + $(sum involuntary-switches))) -ge 1000 ] ;;
    touch) check "a page is a fault" [ "$(sum minor-faults)" -ge 3000 ] ;;
    spin) check "who never sleeps is not blocked" agree "$(sum blocked-time-ns)" 0 300000000 0 ;;
  esac
done <"$dir/told"
report() { "$O/commctl" report --counters --store "$dir/new.db" "$@"; }
read -r tid _ <"$dir/told"
check "a report has them, as text" sh -c "$(declare -f report); O=$O dir=$dir; report | grep -q '^  cpu-time-ns .* ms'"
check "with no more digits than are known" sh -c "$(declare -f report); O=$O dir=$dir; ! report | sed -E 's/ 0\.0+/ 0./g' | grep -E '^  .*[0-9]{4}([.0-9]|,)'"
check "as csv" [ "$(report --csv | awk -F, -v tid="$tid" '$5 == tid && /"cpu-time-ns"/ {print int($7)}')" = "$(sum cpu-time-ns)" ]
check "as json, by role" [ "$(report --by-role --json | jq '[.counts[] | select(.counter == "minor-faults").total] | add')" -ge 3000 ]
check "and in no other form" sh -c "! $O/commctl report --counters --dot --store $dir/new.db 2>&1 | grep -v 'as text, json or csv'"
check "time goes by in several slices" [ "$(sqlite3 "$dir/new.db" "SELECT count(DISTINCT slice) FROM count c
  JOIN counter k ON k.id = c.counter WHERE k.name = 'cpu-time-ns'")" -ge 4 ]

# Under a budget the scheduler's switches are not always told: what an event counts then is nobody's.  What is stated
# is within what the kernel counted, and what is not is said to be not known.
# stated COUNTER: of $tid "TOTAL PERCENT", how much and of how much of its CPU time; TOTAL is - where it is not known.
stated() {
  awk -F, -v tid="$tid" -v counter="$1" '$5 == tid && $6 == "\"" counter "\"" { print $7 == "" ? "-" : int($7), int($12 * 100 + 0.5) }' "$dir/budget.csv"
}
# within COUNTER KERNEL SLACK: not more above KERNEL than SLACK and 2 percent, nor below where all was counted.
within() {
  local total percent
  read -r total percent < <(stated "$1") || return
  echo "stated $total, of $percent % of its time, the kernel says $2"
  case $total in
    -) [ "$percent" = 0 ] ;;
    *) [ "$total" -le $(($2 + $3 + $2 / 50)) ] && { [ "$percent" -lt 100 ] || agree "$total" "$2" "$3" 2; } ;;
  esac
}
# CPU time that an event counts is that in which it counts.  Where one thread gives way to another the kernel's account and the
# event are some microseconds apart, always the same way: 8 on one virtual machine.
part() {
  local total percent
  read -r total percent < <(stated task-clock) || return
  [ "$total" = - ] || agree "$total" $((cpu_ns / 100 * percent)) $((30000000 + apart_ns)) 2
}
for budget in 5 1; do
  rm -f "$dir/budget.db"*
  "$commd" -q --store "$dir/budget.db" --slice 200ms --overhead $budget --source bpf --events page-faults,task-clock -- \
    "$dir/counted" faults 2 >"$dir/budget_told"
  "$O/commctl" report --counters --csv --store "$dir/budget.db" >"$dir/budget.csv"
  check "at $budget % both threads have told" [ "$(wc -l <"$dir/budget_told")" = 2 ]
  while read -r tid what cpu_ns voluntary involuntary faults; do
    apart_ns=$(((voluntary + involuntary) * 10000))
    check "at $budget %, $what $tid: CPU time" agree "$(counted "$dir/budget.db" "$tid" cpu-time-ns)" "$cpu_ns" 20000000 2
    check "at $budget %, $what $tid: page faults, or that they are not known" within page-faults "$faults" 150
    check "at $budget %, $what $tid: CPU time by perf, or that it is not known" within task-clock "$cpu_ns" $((20000000 + apart_ns))
    check "at $budget %, $what $tid: and of how much of its time" part
    echo "# $what: page faults $(stated page-faults) of $faults, task-clock $(stated task-clock) of $cpu_ns"
  done <"$dir/budget_told"
done

# Of a process that has run before, only what it does in the run counts.
"$dir/counted" 1 >"$dir/ready" &
pid=$!
until grep -q ready "$dir/ready"; do sleep 0.1; done
cpu_ns() { cut -d' ' -f1 "/proc/$pid/task/$pid/schedstat"; }
before=$(cpu_ns)
"$commd" -q --store "$dir/old.db" --slice 200ms --source bpf --counters --duration 2s --pid "$pid"
used=$(($(cpu_ns) - before))
got=$(counted "$dir/old.db" "$pid" cpu-time-ns)
check "with a budget, too, and not from before the run" [ "$got" -gt 0 -a "$got" -le $((used + 10000000)) ]
"$commd" -q --store "$dir/shut.db" --delay 1h --source bpf --counters --duration 1s --pid "$pid" 2>/dev/null
check "nothing is counted while sampling is disabled" [ "$(counted "$dir/shut.db" "$pid" cpu-time-ns)" = 0 ]
echo "# counted $got ns, used meanwhile $used ns"
exit $status
