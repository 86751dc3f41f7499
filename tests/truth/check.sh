#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact runtime must find, byte for byte, the matrix that each kernel knows
# of itself, and the kernel's must equal its formula where it has one.
# Uses O (.output), SECONDS_EACH (0.06).  Exit 0 pass, 1 fail, 77 skip.

export LC_ALL=C
here=$(dirname "$0")
bin=${O:-.output}/tests/truth
test=$(realpath "$bin/exact_test")
each=${SECONDS_EACH:-0.06}
failed=0

if ! command -v python3 >/dev/null; then
	echo "SKIP: no python3"
	exit 77
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "FAIL: $*"
	failed=1
}

# KERNEL THREADS GRANULARITY
check()
{
	dir=$tmp/$1,threads=$2,granularity=$3
	mkdir "$dir"
	if ! COMM_EXACT_OUT=$dir/x COMM_EXACT_GRANULARITY=$3 "$bin/truth-kernels-exact" "$1" \
		--threads "$2" --seconds "$each" --words 1024 --phase 16 --out "$dir/truth.csv" \
		>"$tmp/log" 2>&1; then
		fail "$1 with $2 threads: $(cat "$tmp/log")"
		return
	fi
	if ! grep -q -e 'formula=equal' -e 'formula=none' "$dir/truth.csv"; then
		fail "$1 with $2 threads differs from its formula"
	fi
	# A kernel that never got going would agree with anything.
	if ! grep -q 'total_read_bytes=[1-9]' "$dir/truth.csv"; then
		fail "$1 with $2 threads read nothing"
	fi
}

kernels=$("$bin/truth-kernels" --list) || exit 1
for kernel in $kernels; do
	check "$kernel" 4 8
done
# Other numbers of threads, and granules that split or are split by nothing here.
for kernel in ring stencil2d phases graph; do
	check "$kernel" 2 8
	check "$kernel" 7 8
done
for kernel in transpose rotating steal spsc hash; do
	check "$kernel" 32 8
done
for granularity in 1 4; do
	check stencil1d 3 $granularity
	check migratory 4 $granularity
	check processes 3 $granularity
done

# A profiler attaches in between: what was before SIGUSR1 does not count.
for kernel in phases rotating pipeline processes; do
	mkfifo "$tmp/stdin.$kernel"
	"$bin/truth-kernels" $kernel --wait --words 1024 --phase 16 --seconds 9 \
		--pid-file "$tmp/pid" --out "$tmp/reset.$kernel" <"$tmp/stdin.$kernel" >"$tmp/log" &
	pid=$!
	echo >"$tmp/stdin.$kernel"
	tries=500
	until [ "$(cat "$tmp/pid" 2>/dev/null)" = $pid ]; do
		[ $((tries -= 1)) -gt 0 ] || fail "$kernel: --pid-file"
		[ $tries -gt 0 ] || break
		sleep 0.01
	done
	sleep 0.1
	begun=$(date +%s%N)
	kill -USR1 $pid
	sleep 0.1
	kill -USR2 $pid
	wait $pid || fail "$kernel with a reset: exit $?"
	grep -q formula=equal "$tmp/reset.$kernel" || fail "$kernel with a reset"
	# The run must have gone on for the second part only.
	took=$(sed -n 's/^# start_ns=\([0-9]*\) end_ns=\([0-9]*\) .*/\2 \1/p' "$tmp/reset.$kernel")
	took=$((${took% *} - ${took#* }))
	if [ $took -le 0 ] || [ $took -gt $(($(date +%s%N) - begun)) ]; then
		fail "$kernel: the counting did not begin at SIGUSR1"
	fi
done

python3 -B "$here/compare.py" --same "$tmp"/*granularity* || fail "traced is not true"
(cd "$tmp" && "$test") || fail "exact_test"
for script in compare_test accuracy_test stated_test; do
	python3 -B "$here/$script.py" 2>"$tmp/log" || {
		cat "$tmp/log"
		fail "$script.py"
	}
done
# refused SENTENCE VARIABLE=VALUE: the program ends at once, says why, leaves no file.
refused()
{
	rm -rf "$tmp/empty"
	mkdir "$tmp/empty"
	(cd "$tmp/empty" && env "$2" "$exact_kernels" ring --threads 2 --seconds 0.01) >"$tmp/log" 2>&1
	code=$?
	[ $code = 1 ] || fail "$2: exit $code, not 1"
	[ "$(grep -c . "$tmp/log")" = 1 ] && grep -q "$1" "$tmp/log" || fail "$2: $(cat "$tmp/log")"
	[ -z "$(ls -A "$tmp/empty")" ] || fail "$2 left $(ls -A "$tmp/empty")"
}

# unset_by VARIABLE: set to nothing it is not set, and the files have their usual names.
unset_by()
{
	rm -rf "$tmp/empty"
	mkdir "$tmp/empty"
	(cd "$tmp/empty" && env "$1=" "$exact_kernels" ring --threads 2 --seconds 0.01) >"$tmp/log" 2>&1 ||
		fail "$1 set to nothing: $(cat "$tmp/log")"
	files=$(ls -A "$tmp/empty" | tr '\n' ' ')
	[ "$files" = "comm-exact.functions.csv comm-exact.threads.csv " ] || fail "$1 set to nothing left $files"
}

exact_kernels=$(realpath "$bin/truth-kernels-exact")
refused 'power of two' COMM_EXACT_GRANULARITY=3
for variable in OUT RESULT GRANULARITY SIGNAL SELF_FIRST; do
	unset_by COMM_EXACT_$variable
done

# The table itself, as small as can be; what stands there is not measured again.
o=${O:-.output}
if [ -x "$o/commd" ] && [ -x "$o/commctl" ] && [ "$(id -u)" = 0 ]; then
	for _ in 1 2; do
		python3 -B "$here/accuracy.py" --kernels "ring processes" --budgets 5 --lengths 1 \
			--repeats 1 --no-programs --out "$tmp/accuracy" >"$tmp/log" 2>&1 ||
			fail "accuracy.py: $(cat "$tmp/log")"
	done
	for kernel in ring processes; do
		for by in hazard nearest address uniform self; do
			rows=$(grep -c "^$kernel,4,5,1.0,1,$by," "$tmp/accuracy/rows.csv")
			[ "$rows" = 2 ] || fail "accuracy.py: $rows rows of $kernel by $by, not one for each kind of reads"
		done
	done
	grep -q '^| processes | [0-2]\.' "$tmp/accuracy/accuracy.md" || fail "accuracy.md has no error of processes"
	# Samples of a memory PMU as an exact run draws them, by perf.data: who feeds whom is what was counted.
	python3 -B "$here/precise.py" --draw 10 --thin 1 --out "$tmp/precise" -- "$o/tests/exact/target" many >"$tmp/log" 2>&1
	code=$?
	if [ $code = 77 ]; then
		echo "precise.py is not tried: $(tail -n 1 "$tmp/log")"
	else
		awk '$6 == "samples" && $7 == "address" && $9 == "error" && $10 < 0.3 && $5 > 10000 { n++ } END { exit n != 2 }' "$tmp/log" ||
			fail "precise.py: $(cat "$tmp/log")"
	fi
else
	echo "accuracy.py is not tried: commd is not built, or this is not root"
fi
[ $failed = 0 ] && echo "ok: $(echo "$kernels" | wc -l) kernels"
exit $failed
