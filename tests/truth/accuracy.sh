#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How exact the profiler is, and at what cost: attaches commd to each kernel,
# compares what it says with what the kernel counted, and prints medians.
#
#   accuracy.sh [--kernels "ring hash"] [--budgets "1% 5%"] [--repeats 3]
#               [--threads "4"] [--duration 4s] [--source auto] [--out DIR]
#               [--reads all|first] [--words 8192] [--compute 0]
#
# DIR (a new directory under /tmp) gets rows.csv (every run), medians.csv and
# medians.txt; the latter is printed.  With several numbers of threads the
# budget column reads "1%/16t".  Uses O (.output).  Exit 0 done, 1 some run
# failed, 2 usage, 77 skip.

here=$(dirname "$0")
o=${O:-.output}
kernels=
budgets="1% 2% 5%"
repeats=3
threads=4
duration=4s
source=auto
reads=all
words=8192
compute=0
out=

while [ $# -gt 0 ]; do
	case $1 in
	--kernels) kernels=$2 ;;
	--budgets) budgets=$2 ;;
	--repeats) repeats=$2 ;;
	--threads) threads=$2 ;;
	--duration) duration=$2 ;;
	--source) source=$2 ;;
	--reads) reads=$2 ;;
	--words) words=$2 ;;
	--compute) compute=$2 ;;
	--out) out=$2 ;;
	*)
		sed -n '3,14s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
	esac
	[ $# -ge 2 ] || exit 2
	shift 2
done
case $reads in
all) report_flag='' compare_flag='' ;;
first) report_flag=--first-read compare_flag=--first ;;
*) exit 2 ;;
esac
for file in "$o/commd" "$o/commctl" "$o/tests/truth/truth-kernels"; do
	if ! [ -x "$file" ]; then
		echo "SKIP: $file is not built"
		exit 77
	fi
done
[ -n "$kernels" ] || kernels=$("$o/tests/truth/truth-kernels" --list)
[ -n "$out" ] || out=$(mktemp -d /tmp/accuracy.XXXXXX) || exit 1
mkdir -p "$out" || exit 1

target=
# shellcheck disable=SC2317
cleanup()
{
	[ -z "$target" ] || kill "$target" 2>/dev/null
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# A kernel made of processes has children to attach to; a thread has none.
pids()
{
	printf -- '--pid %s ' "$1"
	# shellcheck disable=SC2013
	for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		printf -- '--pid %s ' "$child"
	done
}

# KERNEL THREADS BUDGET REPEAT; prints a row
measure()
{
	run=$out/$1.$2.$3.$4
	# Ends by itself should this script be killed.
	"$o/tests/truth/truth-kernels" "$1" --threads "$2" --seconds 120 --words "$words" \
		--compute "$compute" --out "$run.truth.csv" >"$run.log" 2>&1 &
	target=$!
	sleep 0.3
	rm -f "$run.db"
	# What is counted begins here and ends when commd does.
	kill -USR1 $target
	# shellcheck disable=SC2046
	timeout 60 "$o/commd" $(pids $target) --source "$source" --overhead "$3" --duration "$duration" \
		--store "$run.db" >>"$run.log" 2>&1
	status=$?
	kill -USR2 $target 2>/dev/null
	wait $target || status=$?
	target=
	if [ $status != 0 ]; then
		echo "$1, $2 threads, $3, run $4: exit $status, see $run.log" >&2
		return 1
	fi
	# No edge at all is an answer too (3: no data).
	"$o/commctl" report --json --by-thread --min-share 0 --top 0 $report_flag \
		--store "$run.db" >"$run.json" 2>>"$run.log"
	status=$?
	if [ $status = 3 ] && ! [ -s "$run.json" ]; then
		echo '{"run":{},"nodes":[],"edges":[],"loss":{}}' >"$run.json"
	elif [ $status != 0 ] && [ $status != 3 ]; then
		echo "$1, $2 threads, $3, run $4: commctl exit $status, see $run.log" >&2
		return 1
	fi
	row=$(python3 -B "$here/compare.py" $compare_flag "$run.json" "$run.truth.csv") || return 1
	label=$3
	case $threads in *\ *) label=$3/$2t ;; esac
	echo "$1,$label,$4,$row"
}

failed=0
echo "kernel,budget,repeat,error,log2,recall,false_est,false_reads,coverage,cover_share,overhead" \
	>"$out/rows.csv"
for n in $threads; do
	for budget in $budgets; do
		for kernel in $kernels; do
			for repeat in $(seq "$repeats"); do
				measure "$kernel" "$n" "$budget" "$repeat" >>"$out/rows.csv" || failed=1
			done
		done
	done
done
python3 -B "$here/compare.py" --median <"$out/rows.csv" >"$out/medians.csv" || failed=1
python3 -B "$here/compare.py" --median --text <"$out/rows.csv" >"$out/medians.txt" || failed=1
cat "$out/medians.txt"
echo "$out"
exit $failed
