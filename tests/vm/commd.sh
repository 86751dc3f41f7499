# SPDX-License-Identifier: GPL-2.0-only
# In the VM, part of tests.sh: commd through the module, commctl's reports into
# /results/commd, where the host's judge.sh compares them with what is known.
#
# What rests on the kernel runs on each; what is commd's own runs on one of them,
# or all this would take too long.
[ -x /usr/bin/commd ] || { echo "skip commd # no commd in this image"; return 0; }
out=/results/commd
mkdir -p $out

report() { # name
	commctl report --json --by-thread --min-share 0 --top 0 --store /tmp/$1.db > $out/$1.json 2>> $out/log
}

# Waits until a run in the background has so many samples behind the edges of its
# report, or has ended: how long that takes is the host's affair.  With a name, behind
# the edges at that.
enough() { # name, samples, commd's process, commctl's options, at
	waited=0
	while kill -0 $3 2>/dev/null && [ $waited -lt 300 ]; do
		n=$(commctl report --csv ${4:---by-thread} --store /tmp/$1.db 2>/dev/null |
			awk -F, -v at="${5:-}" 'NR == 1 { for (i = 1; i < NF; i++) if ($i == "samples") behind = NF - i; next }
				!at || index($0, at) { n += $(NF - behind) } END { printf "%.0f\n", n }')
		[ "$n" -lt $2 ] || break
		sleep 1
		waited=$((waited + 1))
	done
}

# Ends the run; what it has seen is stored.
finish() { # name, commd's process
	kill -TERM $2 2>/dev/null
	wait $2
	result $? "commd: $1" "$n samples in the report, $waited looks; $(tail -n 1 $out/log)"
}

wait_for_threads() { # process, how many
	waited=0
	while [ "$(ls /proc/$1/task | wc -l)" -lt $2 ] && [ $waited -lt 1000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
}

# name, samples, source, kernel, commd's options: the kernel runs by itself, commd
# attaches.  Both run until they are told to end.
attach() {
	name=$1 samples=$2 source=$3 kernel=$4
	shift 4
	echo "== $name" >> $out/log
	truth-kernels $kernel --threads 4 --seconds 1000 --out $out/$name.csv > /dev/null 2>> $out/log & pid=$!
	wait_for_threads $pid 5
	commd -q --source $source --pid $pid --store /tmp/$name.db "$@" 2>> $out/log & commd=$!
	enough $name $samples $commd
	finish $name $commd
	kill -USR2 $pid
	wait $pid
	report $name
}

# Children: by BPF's life cycle, or by /proc alone.
follow() { # name
	echo "== $1" >> $out/log
	rm -f /tmp/follow.pid
	commd -q --source kmod --rate 400 --store /tmp/$1.db -- \
		truth-kernels processes --threads 4 --seconds 1000 --pid-file /tmp/follow.pid \
		--out $out/$1.csv > /dev/null 2>> $out/log & commd=$!
	enough $1 250 $commd
	# It ends with its command.
	kill -USR2 "$(cat /tmp/follow.pid)"
	wait $commd
	result $? "commd: $1" "$n samples in the report, $waited looks; $(tail -n 1 $out/log)"
	report $1
}

# Fed through a pipe: what the one thread reads was written in the kernel for the
# other.
feed() { # source
	echo "== feed-$1" >> $out/log
	rm -f /tmp/over
	commd -q --source $1 --no-follow --rate 400 --store /tmp/feed-$1.db -- /cptest feed > $out/feed-$1.bytes 2>> $out/log & commd=$!
	enough feed-$1 8 $commd "--by-function --across" add_up
	touch /tmp/over
	wait $commd
	result $? "commd: feed-$1" "$(cat $out/feed-$1.bytes), $n samples in the report, $waited looks; $(tail -n 1 $out/log)"
	commctl report --json --by-function --across --confidence 99 --min-share 0 --top 0 --store /tmp/feed-$1.db > $out/feed-$1.json 2>> $out/log
}

# A program that marks its regions.
marks() {
	echo "== marks" >> $out/log
	marked 100000000 & pid=$!
	commd -q --source kmod --pid $pid --rate 400 --store /tmp/marks.db 2>> $out/log & commd=$!
	enough marks 100 $commd --by-region
	finish marks $commd
	kill -9 $pid; wait $pid 2>/dev/null
	commctl report --json --by-region --self --min-share 0 --top 0 --store /tmp/marks.db > $out/marks.json 2>> $out/log
}

cgroup() {
	mkdir -p /sys/fs/cgroup/cp-commd
	(echo 0 > /sys/fs/cgroup/cp-commd/cgroup.procs
		exec truth-kernels ring --threads 4 --seconds 1000 --out $out/cgroup.csv) > /dev/null 2>> $out/log & pid=$!
	wait_for_threads $pid 5
	commd -q --source kmod --cgroup /cp-commd --rate 400 --store /tmp/cgroup.db 2>> $out/log & commd=$!
	enough cgroup 150 $commd
	finish cgroup $commd
	kill -USR2 $pid
	wait $pid
	rmdir /sys/fs/cgroup/cp-commd
	report cgroup
}

# Precise samples as the stand-in plays them, on data that both threads have mapped:
# IBS, or PEBS of a model that libpfm4 is told.
precise() { # name, source, the stand-in's parameters
	name=$1 source=$2
	shift 2
	echo "== $name" >> $out/log
	rmmod standin
	insmod /modules/standin.ko span=61 "$@"
	rm -f /tmp/share
	/cptest share > /tmp/share & pid=$!
	wait_for /tmp/share tids
	LIBPFM_FORCE_PMU=skl commd -q --source $source --pid $pid --rate 400 --store /tmp/$name.db \
		--record /tmp/$name.rec 2>> $out/log & commd=$!
	enough $name 100 $commd
	finish $name $commd
	kill -9 $pid; wait $pid 2>/dev/null
	rmmod standin
	insmod /modules/standin.ko
	cp /tmp/share $out/$name.tids
	report $name
	events /tmp/$name.rec > $out/$name.events 2>> $out/log
}

# Bursts with and without the memory that the module takes: the host looks.
measure() { # name, command, ...
	name=$1
	shift
	echo "== $name" >> $out/log
	commd -q --source kmod --rate 1000 --store /tmp/$name.db --record $out/$name.rec -- "$@" > /dev/null 2>> $out/log
	result $? "commd: $name" "$(tail -n 1 $out/log)"
}

# A real program by both sources at once: what it does differs from one time to
# another by more than their intervals.  Long enough that the slower to start, which
# loads BPF, has its seconds even on a busy host.
both() { # name, samples, pid, commctl's options
	pids=
	echo "== $1" >> $out/log
	for source in perf kmod; do
		commd -q --source $source --pid $3 --rate 600 --store /tmp/$1-$source.db \
			--record $out/$1-$source.rec 2>> $out/log & commd=$!
		pids="$pids $commd"
	done
	sleep 8
	enough $1-kmod $2 $commd "--by-thread $4"
	for commd in $pids; do
		finish $1 $commd
	done
	report $1-kmod
}

# A server with I/O threads under load.
redis() {
	redis-server --port 0 --unixsocket /tmp/redis --save '' --io-threads 2 --io-threads-do-reads yes \
		--dir /tmp > $out/redis.log 2>&1 & server=$!
	waited=0
	while [ ! -S /tmp/redis ] && [ $waited -lt 1000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
	load=
	for command in set get; do
		redis-benchmark -s /tmp/redis -t $command -d 512 -r 1000 -c 8 -P 4 -n 100000000 -q > /dev/null 2>&1 &
		load="$load $!"
	done
	sleep 1
	both redis 30 $server
	kill $load
	kill $server
	wait $load $server 2>/dev/null
}

compress() {
	cat /usr/bin/* /usr/bin/* > /tmp/big
	/usr/bin/xz -T2 -1 --block-size=2MiB -k -c /tmp/big > /tmp/big.xz & xz=$!
	sleep 1
	both xz 20 $xz --self
	kill $xz
	wait $xz 2>/dev/null
	rm -f /tmp/big /tmp/big.xz
}

# Where tests run, root may not always raise a limit.
test_priority > $out/priority 2>&1 && ! grep -q SKIP $out/priority
result $? "commd: it yields and comes back" "$(tail -n 1 $out/priority)"

commd --doctor > $out/doctor 2>&1
grep -q '^  kmod  *works' $out/doctor; result $? "commd: the doctor finds the module" "$(grep kmod $out/doctor)"

# What the stand-in says is wrong, unless it is told to be honest.
grep -q '^  kmod:precise *not taken: .* were wrong' $out/doctor &&
	grep -q '^  perf:precise *not taken: .* were wrong' $out/doctor
result $? "commd: the self-test finds wrong addresses" "$(grep :precise $out/doctor | tr '\n' ';')"
rmmod standin
insmod /modules/standin.ko honest=1
commd --doctor > $out/doctor-honest 2>&1
grep -q '^  kmod:precise *works: ' $out/doctor-honest && grep -q '^  perf:precise *works: ' $out/doctor-honest
result $? "commd: the self-test finds true addresses" "$(grep :precise $out/doctor-honest | tr '\n' ';')"
rmmod standin
insmod /modules/standin.ko

# PARTS may name runs, as commd/redis: then only those, on whatever kernel.
runs=$(echo "$PARTS" | tr ' ' '\n' | sed -n 's,^commd/,,p')
if [ -z "$runs" ]; then
	runs='ring-kmod children-bpf feed-kmod marks precise-ibs'
	case $(uname -r) in
	6.1.*) runs="$runs ring-bpf ring-perf ring-watch ring-budget children-proc cgroup" ;;
	*) runs="$runs precise-pebs precise-perf feed-bpf chase sqlite redis xz" ;;
	esac
fi
for name in $runs; do
	echo "# $(cut -d' ' -f1 /proc/uptime) s: $name" > /dev/ttyS0
	case $name in
	ring-kmod | ring-bpf | ring-perf) attach $name 150 ${name#ring-} ring --rate 400 ;;
	ring-watch)
		attach ring-watch 300 kmod ring --rate 400 --watch 500 --record /tmp/watch.rec
		events /tmp/watch.rec > $out/watch.events 2>> $out/log
		;;
	ring-budget)
		attach ring-budget 120 kmod ring --overhead 50 --record /tmp/budget.rec
		events /tmp/budget.rec > $out/budget.events 2>> $out/log
		;;
	children-bpf) follow children-bpf ;;
	children-proc)
		mount -o bind /dev/null /sys/kernel/btf/vmlinux
		follow children-proc
		umount /sys/kernel/btf/vmlinux
		;;
	cgroup) cgroup ;;
	marks) marks ;;
	feed-kmod | feed-bpf) feed ${name#feed-} ;;
	precise-ibs) precise precise-ibs kmod:precise ;;
	precise-pebs) precise precise-pebs kmod:precise intel=1 ;;
	precise-perf) precise precise-perf perf:precise intel=1 ;;
	chase) measure chase /cptest chase ;;
	sqlite)
		measure sqlite sqlite3 :memory: "
			create table t(a integer primary key, b, c);
			insert into t with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
				select i, i * 7919 % 40009, 'text ' || i from n;
			create index tb on t(b);
			select sum(length(x.c)) from t x join t y on x.b = y.a;
			select b % 97, count(*), max(c) from t group by 1 order by 2 limit 3;"
		;;
	redis) redis ;;
	xz) compress ;;
	*) echo "not ok commd: $name # there is no such run" ;;
	esac
done
