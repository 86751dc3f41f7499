# SPDX-License-Identifier: GPL-2.0-only
# In the VM instead of tests.sh: kernels of known communication, each looked at by every
# source in turn and that several times, for the same share of its time.  The clock counts
# instructions, those of all CPUs by turns: a share of the time is one of all instructions,
# the kernel's, commd's and the target's, and the host's load has no part in it.  The host's
# compare_sources.py makes a table of what comes out.
out=/results/compare
overhead=20
seconds=6
rounds=2
# With some others, hash and readmostly, timers of this emulator's take all of a CPU.
kernels='ring pipeline stencil2d'
ways='kmod
bpf
perf'
. /compare # COMPARE of run.sh: other values of these

one() { # kernel, way, round
	name=$1-$2-$3
	truth-kernels $1 --threads 4 --seconds 1000 --out $out/$name.csv > /dev/null 2>> $out/log & pid=$!
	waited=0
	while [ "$(ls /proc/$pid/task | wc -l)" -lt 4 ] && [ $waited -lt 1000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
	commd -v --source $2 --pid $pid --overhead $overhead --duration ${seconds}s \
		--store /tmp/$name.db > /dev/null 2> $out/$name.log
	status=$?
	kill -USR2 $pid
	wait $pid
	commctl report --json --by-thread --min-share 0 --top 0 --store /tmp/$name.db > $out/$name.json 2>> $out/log
	sqlite3 /tmp/$name.db 'select sum(samples), sum(accesses), sum(handler_ns), sum(daemon_ns), sum(target_ns)
		from slice where level = 0' > $out/$name.sums
	rm -f /tmp/$name.db*
	[ $status = 0 ]
	echo "$([ $status = 0 ] || echo not )ok $name # exit status $status"
}

compare() {
	insmod /modules/commprof.ko || echo "not ok load: module"
	# The cap is for processors; an emulator's handlers take as much of it as they like.
	echo 500000 > /sys/module/commprof/parameters/cap_ppm
	for round in $(seq $rounds); do
		for kernel in $kernels; do
			for way in $ways; do
				one $kernel $way $round
			done
			# What there is, should the host have no time for all of it.
			(cd /results && tar cf /dev/vda .)
		done
	done
	rmmod commprof
}

mkdir -p $out
echo "KTAP version 1"
echo "1..1"
compare | tee /tmp/lines > /dev/ttyS0
sh /nest.sh compare 1 < /tmp/lines
