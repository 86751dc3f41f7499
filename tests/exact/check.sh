#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact source against programs whose communication is known: ours
# (target.c), to the byte, and the kernels of tests/truth.  Speaks TAP.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
export VALGRIND_LIB=$O/exact
target=$O/tests/exact/target
dump=$O/tests/exact/exact_dump
kernels=$O/tests/truth
n=0 status=0

for need in valgrind python3; do
  command -v $need >/dev/null || { echo "SKIP: no $need"; exit 77; }
done
[ -x "$VALGRIND_LIB/commexact-amd64-linux" ] || { echo "SKIP: the tool is not built (no Valgrind headers?)"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ok() { # ok CONDITION-STATUS NAME
  n=$((n + 1))
  if [ "$1" = 0 ]; then echo "ok $n - $2"; else
    echo "not ok $n - $2"
    status=1
  fi
}

exact() { # exact NAME [OPTION...]
  local name=$1
  shift
  rm -f "$tmp"/out*
  valgrind -q --tool=commexact --exact-out="$tmp/out" "$@" "$target" "$name" >"$tmp/log" 2>&1
}

# edges VIEW PATTERN-FROM PATTERN-TO: "lines bytes first", summed up
edges() {
  "$dump" "${4:-$tmp/out}" "$1" | FROM=$2 TO=$3 awk -F'\t' \
    '$2 ~ ENVIRON["FROM"] && $3 ~ ENVIRON["TO"] { k++; b += $(NF-1); f += $NF } END { printf "%d %.0f %.0f\n", k, b, f }'
}

is() { # is NAME GOT WANT
  [ "$2" = "$3" ]
  ok $? "$1"
  [ "$2" = "$3" ] || echo "#   got $2, want $3"
}

exact marks
is "stopped: not counted" "$(edges functions produce consume)" "2 12288 12288"
is "phases are told apart" "$("$dump" "$tmp/out" functions | awk -F'\t' '$3 ~ /:consume$/ && $2 ~ /:produce$/ {print $1, $4}' | sort | tr '\n' ' ')" "1=one 8192 2=two 4096 "
exact marks --phase-instructions=1000
is "and keep their names in pieces" "$("$dump" "$tmp/out" functions | awk -F'\t' '$3 ~ /:consume$/ && $2 ~ /:produce$/ {name = $1; sub(/^[0-9]+=/, "", name); if ($1 ~ /=/) { k[name]++; b[name] += $4 }} END {for (i in b) printf "%s %.0f %d\n", i, b[i], (k[i] > 1)}' | sort | tr '\n' ' ')" "one 8192 1 two 4096 1 "
is "threads have names" "$("$dump" "$tmp/out" threads | grep -c ':consumer	')" "$("$dump" "$tmp/out" threads | grep -c consumer)"

exact many
is "80 readers of one array" "$(edges functions ':produce$' ':consume$')" "80 1310720 655360"
# What samples call a function without a symbol: its file and where .eh_frame says that it begins.
gcc -std=gnu11 -D_GNU_SOURCE -O1 -no-pie -Iexact tests/exact/target.c -o "$tmp/fixed" -lpthread
for program in "$target" "$tmp/fixed"; do
  at() { nm "$program" | awk -v f="$1" '$3 == f { sub(/^0*/, "", $1); print ":stripped[+]0x" $1 "$" }'; }
  strip -o "$tmp/stripped" "$program"
  valgrind -q --tool=commexact --exact-out="$tmp/out" "$tmp/stripped" many >"$tmp/log" 2>&1
  is "functions of a stripped program, $(basename "$program")" "$(edges functions "$(at produce)" "$(at consume)")" "80 1310720 655360"
done
exact many --granularity=64
is "a line is read first once" "$(edges functions ':produce$' ':consume$')" "80 1310720 81920"

exact kernel
is "what the kernel reads for a thread" "$(edges functions ':produce$' ':\[pipe\]$')" "1 8192 8192"
is "what the kernel writes for a thread is of who put it in" "$(edges functions ':\[pipe\]$' ':consume$') $(edges functions ':produce$' ':consume$')" "0 0 0 1 8192 8192"

exact kernel --kernel-reads=no
is "or not, if it is not to be counted" "$(edges functions ':produce$' ':\[pipe\]$') $(edges functions ':produce$' ':consume$')" "0 0 0 1 8192 8192"
exact kernel '--function=[[]pipe]'
is "and alone, of a pipe" "$(edges functions ':produce$' ':\[pipe\]$') $(edges functions . ':consume$')" "1 8192 8192 0 0 0"
exact atomic --function=add
is "what a function reads alone, locked instructions as well" "$(edges functions . . | cut -d' ' -f2) $(edges functions ':add$' ':add$' | cut -d' ' -f2)" "$(edges functions . ':add$' | cut -d' ' -f2) $(((2000 - 1) * 8))"
exact atomic --function=nothing
is "and what no function reads" "$(edges functions . .)" "0 0 0"

exact calls '--calls=[pc]*e'
is "calls are told apart" "$("$dump" "$tmp/out" calls | awk -F'\t' '{sub(/^[0-9]+:/, "", $2); sub(/^[0-9]+:/, "", $3)} $2 ~ /^produce in/ && $3 ~ /^consume in/ {print $2, $3, $4}' | sort | tr '\n' ' ')" \
  "produce in produce #1 consume in consume #1 800 produce in produce #1 consume in consume #2 720 produce in produce #2 consume in consume #2 72 produce in produce #3 consume in consume #2 8 "

exact heap
is "objects are allocation sites" "$("$dump" "$tmp/out" objects | awk -F'\t' '$4 ~ /make_[ab]/ && $3 ~ /consumer/ {sub(/.*\(/, "", $4); print $4, $5}' | sort | tr '\n' ' ')" \
  "make_a) 8192 make_b) 8192 "

exact fault
is "an access that faults counts once" "$(edges functions ':two_stores$' ':two_stores$' | cut -d' ' -f2)" 16

exact atomic
is "a locked instruction reads once and writes once" "$(edges functions ':add$' ':add$' | cut -d' ' -f2)" "$(((2000 - 1) * 8))"

exact forks
is "a child's reads are in its parent's file" "$(edges functions ':produce$' ':consume$')" "2 8280 8272"
valgrind -q --tool=commexact --exact-out="$tmp/child.%p" "$target" forks >"$tmp/log" 2>&1
is "parent and child write one file" "$(ls "$tmp"/child.* | wc -l)" 1
exact execs
is "exec keeps the result" "$(edges functions ':produce$' ':consume$')" "1 8192 8192"
exact moves
is "mremap keeps writers, a new mapping has none" "$(edges functions ':produce$' ':consume$')" "1 8192 8192"
is "new memory is unwritten" "$(edges functions '^-$' ':consume$')" "1 8192 8192"

exact ages
is "ages are instructions and waits" "$("$dump" "$tmp/out" ages | awk -F'\t' '$2 ~ /:produce$/ && $3 ~ /:consume$/ {print $4, $5, $6}')" "8192 8192 8192"

# What the third thread does more than the second: 250,000 turns of two instructions each.
spun() {
  "$dump" "$tmp/out" instructions | awk -F'\t' '$2 ~ /:spinner$/ {n[$2] += $3} END {for (i in n) print n[i]}' | sort -n | awk '{n[NR] = $1} END {print NR, n[3] - n[2]}'
}
exact instructions
is "instructions of a thread, but for those while nothing counts" "$(spun)" "3 500000"
exact instructions --phase-instructions=50000
is "and in phases" "$(spun) $(("$("$dump" "$tmp/out" instructions | cut -f1 | sort -u | wc -l)" > 3))" "3 500000 1"
# Of each thread in each phase the same as of its code.
by_code() {
  { "$dump" "$tmp/out" instructions | awk -F'\t' '$2 != "-"'; "$dump" "$tmp/out" lengths | awk -F'\t' '{print $1 "\t" $2 "\t-" $4}'; } |
    awk -F'\t' '{n[$1 "\t" $2] += $3} END {for (i in n) {k++; wrong += n[i] != 0}; print (k > 3), wrong + 0}'
}
is "and by code" "$(by_code) $(("$("$dump" "$tmp/out" lengths | cut -f3 | sort -u | wc -l)" > 10))" "1 0 1"
is "of the code that took them" "$("$dump" "$tmp/out" lengths | awk -F'\t' '$3 == "spin" {n[$2] += $4} END {for (i in n) print n[i]}' | sort -n | awk '{n[NR] = $1} END {print NR, n[3] - n[2]}')" "3 500000"

# What is drawn is what is counted; one in a hundred stands for a hundred.
# Bytes of loads and of stores; whether each instruction lies in code that is mapped; how many threads.
drawn() {
  python3 - "$tmp/drawn" <<'END'
import sys
lines = [line.split() for line in open(sys.argv[1])]
code = [(int(line[3], 16), int(line[4], 16)) for line in lines if line[0] == "map" and int(line[5], 16) & 4]
rows = [line for line in lines if line[0] in ("load", "store")]
print(*(sum(int(row[6], 16) for row in rows if row[0] == kind) for kind in ("load", "store")),
      all(any(start <= int(row[4], 16) < end for start, end in code) for row in rows), len({row[3] for row in rows}))
END
}
exact atomic --kernel-reads=no --draw=1 --draw-out="$tmp/drawn"
reads=$("$dump" "$tmp/out" functions | awk -F'\t' '{b += $4} END {printf "%.0f\n", b}')
all=$(drawn)
threads=$("$dump" "$tmp/out" threads | cut -f3 | sort -u | grep -c .)
is "all that is read is drawn, if one in one is" "$(echo "$all" | cut -d' ' -f1,3-)" "$reads True $threads"
exact atomic --kernel-reads=no --draw=100 --draw-out="$tmp/drawn"
part=$(drawn)
echo "$all $part" | awk '{exit !($1 > 80 * $5 && $1 < 125 * $5 && $2 > 80 * $6 && $2 < 125 * $6)}'
ok $? "and one in a hundred of loads and of stores"
(cd "$tmp" && valgrind -q --tool=commexact --draw=10 --draw-out="$tmp/none/none" --exact-out="$tmp/out" echo has-run >"$tmp/log" 2>&1)
[ $? = 1 ] && grep -q 'cannot write' "$tmp/log" && ! grep -q has-run "$tmp/log"
ok $? "where it cannot be written is said before the program runs"
exact heap --granularity=3
grep -q 'power of two' "$tmp/log"
ok $? "a bad granularity is refused"
mkdir -p "$tmp/none"
(cd "$tmp/none" && valgrind -q --tool=commexact --exact-out= echo has-run >"$tmp/log" 2>&1)
[ $? = 1 ] && grep -q 'wants the name of a file' "$tmp/log" && ! grep -q has-run "$tmp/log" && [ -z "$(ls -A "$tmp/none")" ]
ok $? "an empty --exact-out is refused before the program runs"
exact heap --phase-instructions=10000
[ "$("$dump" "$tmp/out" threads | cut -f1 | sort -un | wc -l)" -gt 5 ]
ok $? "phases by instruction count"
is "all instructions of a phase are its threads'" "$("$dump" "$tmp/out" instructions | awk -F'\t' '$2 == "-" {n[$1] += $3; k++} $2 != "-" {n[$1] -= $3} END {for (i in n) wrong += n[i] != 0; print (k > 5), wrong + 0}')" "1 0"
whole=$("$dump" "$tmp/out" functions | awk -F'\t' '$2 ~ /produce/ && $3 ~ /consume/ {b += $4} END {printf "%.0f\n", b}')
is "phases add up" "$whole" "12288"

# The kernels count for themselves; libc and the harness are not in their books.
own=$(nm "$kernels/native/sync.o" "$kernels/native/regular.o" "$kernels/native/irregular.o" | awk '$2 == "t" || $2 == "T" {print $3}' | sort -u)
truth() { # truth KERNEL THREADS GRANULARITY
  valgrind -q --tool=commexact --fair-sched=yes --granularity="$3" --exact-out="$tmp/out" \
    "$kernels/truth-kernels" "$1" --threads "$2" --seconds 0.2 --words 1024 --phase 16 \
    --out "$tmp/truth.csv" >"$tmp/log" 2>&1 &&
    "$dump" "$tmp/out" functions >"$tmp/seen.tsv" &&
    tests/exact/compare_truth.py "$tmp/truth.csv" "$tmp/seen.tsv" $own >"$tmp/log" 2>&1
  ok $? "$1, $2 threads, granularity $3: $(tail -n 1 "$tmp/log")"
}
for kernel in $("$kernels/truth-kernels" --list); do
  truth "$kernel" 4 8
done
truth transpose 40 8
truth processes 40 8
truth migratory 4 1
truth stencil1d 3 4
echo "1..$n"
exit $status
