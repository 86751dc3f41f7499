# SPDX-License-Identifier: GPL-2.0-only
# In the VM: prints KTAP, a test with subtests for each part.  The host knows which must
# come.  What a part prints, "ok NAME # figures" and so on, is on the console at once.
#
# The parts, in this order; /parts names those that are wanted, or is empty for all but
# the soak, for which /soak_s says how many seconds.  A part finds the module and the stand-in PMU loaded and leaves them so.
# When CPUs go and come qemu may die (run.sh), and all is done again: that part is the first.
PARTS=$(cat /parts)
all='hotplug abi ioctl soft nmi burst copies marks precise softpmu watch whose message windows traps debugger registers budget rate target mode32 locked tail cost
	lifetime failing commd perf lockdown'
asked='soak'

result() { # status, name, figures
	if [ "$1" = 0 ]; then echo "ok $2 # $3"; else echo "not ok $2 # $3"; fi
}

wait_for() { # file, text
	waited=0
	while ! grep -q "$2" "$1" 2>/dev/null && [ $waited -lt 1000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
}

program() { # part
	timeout 600 /cptest $1
	status=$?
	[ $status -lt 2 ] || echo "not ok $1 # exit status $status"
}

LOOPS=6
# Takes each CPU but the first away and back, in turn.
switch_cpus() { # a process that must live
	loops=0
	while kill -0 $1 2>/dev/null && [ $loops -lt $LOOPS ]; do
		echo $loops > /tmp/loops
		for online in /sys/devices/system/cpu/cpu[1-9]*/online; do
			echo 0 > $online && echo 1 > $online || return
		done
		loops=$((loops + 1))
	done
	echo $loops > /tmp/loops
}

test_hotplug() {
	[ -e /sys/devices/system/cpu/cpu1/online ] || { echo "skip hotplug # no CPU can go"; return; }
	rm -f /tmp/over
	/cptest load > /tmp/load &
	pid=$!
	wait_for /tmp/load sampling
	rm -f /tmp/loops
	switch_cpus $pid > /dev/null & switching=$!
	# Two that wait for each other wait for ever, and no signal ends them.
	waited=0
	while kill -0 $switching 2>/dev/null && [ $waited -lt 3000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
	loops=$(cat /tmp/loops)
	if kill -0 $switching 2>/dev/null; then
		echo "not ok hotplug: loops while sampling # stuck after $loops"
		echo w > /proc/sysrq-trigger
		exit 1
	fi
	touch /tmp/over
	wait $pid
	grep -v '^sampling' /tmp/load
	result $((loops < LOOPS)) "hotplug: loops while sampling" "$loops"
	# A session that starts while a CPU is away, which then comes.
	rm -f /tmp/over /tmp/load
	echo 0 > /sys/devices/system/cpu/cpu1/online
	/cptest load > /tmp/load &
	pid=$!
	wait_for /tmp/load sampling
	echo 1 > /sys/devices/system/cpu/cpu1/online
	touch /tmp/over
	wait $pid
	sed '/^sampling/d; s/sampling goes on/a CPU that comes later/' /tmp/load
	# CPUs that went have moved their timers to others.
	rmmod standin
	insmod /modules/standin.ko
	# The sources that know nothing of the module.
	[ -x /usr/bin/hotplug_live ] || { echo "skip hotplug: sources # not in this image"; return; }
	timeout 900 hotplug_live
}

test_lifetime() {
	rm -f /tmp/hold; /cptest hold > /tmp/hold & pid=$!
	wait_for /tmp/hold held
	rmmod commprof 2>/dev/null; result $(($? == 0)) "lifetime: rmmod with an open descriptor is refused" ""
	kill -9 $pid; wait $pid 2>/dev/null
	rm -f /tmp/map; /cptest map > /tmp/map & pid=$!
	wait_for /tmp/map mapped
	rmmod commprof 2>/dev/null; result $(($? == 0)) "lifetime: rmmod with only a mapping is refused" ""
	kill -9 $pid; wait $pid 2>/dev/null
	rmmod commprof; result $? "lifetime: rmmod after kill -9 of the reader" ""

	n=0
	failed=0
	while [ $n -lt 20 ]; do
		insmod /modules/commprof.ko || failed=$((failed + 1))
		if [ $((n % 10)) = 0 ]; then
			rm -f /tmp/hold; /cptest hold > /tmp/hold & pid=$!
			wait_for /tmp/hold held
			kill -9 $pid; wait $pid 2>/dev/null
		fi
		rmmod commprof || failed=$((failed + 1))
		n=$((n + 1))
	done
	result $failed "lifetime: 20 cycles of load and unload" "$failed failed"
	insmod /modules/commprof.ko
}

test_failing() {
	for kind in failslab fail_page_alloc; do
		[ ! -d /sys/kernel/debug/$kind ] || echo 0 > /sys/kernel/debug/$kind/verbose
	done
	[ ! -d /sys/kernel/debug/failslab ] || echo N > /sys/kernel/debug/failslab/ignore-gfp-wait
	rmmod commprof
	program failing
	[ -e /dev/commprof ] || insmod /modules/commprof.ko
}

test_commd() {
	. /commd.sh
}

test_perf() {
	[ -x /usr/bin/perf ] || { echo "skip perf # no perf in this image"; return; }
	cd /tmp
	/cptest spin & pid=$!
	# As long as it takes on this host to have enough samples.
	for seconds in 1.5 10 60; do
		perf record -q -e commprof/mem/ -c 1000000 -d -W -o /tmp/perf.data -p $pid -- sleep $seconds > /tmp/perf.out 2>&1
		status=$?
		perf script -i /tmp/perf.data -F tid,ip,addr,data_src > /tmp/script 2> /tmp/script.err
		lines=$(grep -c . /tmp/script)
		[ $status = 0 ] && [ "$lines" -lt 100 ] || break
	done
	result $status "perf: record -e commprof/mem/ -d" "$(tail -n 1 /tmp/perf.out)"
	# One load of one datum: every address is the same, and it is a load.
	addresses=$(awk '{ print $2 }' /tmp/script | sort -u | wc -l)
	loads=$(grep -c 'LOAD' /tmp/script)
	[ "$lines" -ge 100 ] && [ "$addresses" = 1 ] && [ "$loads" = "$lines" ]
	result $? "perf: script has the address and the direction" "$lines samples, $addresses addresses, $loads loads: $(head -n 1 /tmp/script)"
	perf mem report -i /tmp/perf.data --stdio --sort=mem,symbol_daddr > /tmp/report 2>&1
	grep -q N/A /tmp/report
	result $? "perf: mem report" "$(grep -v '^#' /tmp/report | grep . | head -n 1)"
	# A cap so low that even a slow emulator reaches it.
	rmmod commprof && insmod /modules/commprof.ko cap_ppm=1000
	for seconds in 1.5 10 60; do
		perf record -q -e commprof/mem/ -c 10000 -d -o /tmp/fast.data -p $pid -- sleep $seconds > /tmp/perf.out 2>&1
		refused=$(cat /sys/bus/event_source/devices/commprof/throttled)
		[ "$refused" = 0 ] || break
	done
	[ "$refused" -gt 0 ]
	result $? "perf: it throttles itself" "$refused refused at 100 kHz; $(tail -n 1 /tmp/perf.out)"
	perf record -q -e commprof/mem/ -c 1000000 -d -o /tmp/u.data -p $pid -- sleep 30 > /dev/null 2>&1 & rec=$!
	waited=0
	while [ "$(cat /sys/module/commprof/refcnt)" = 0 ] && [ $waited -lt 1000 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
	rmmod commprof 2>/dev/null; result $(($? == 0)) "perf: rmmod under perf record is refused" ""
	kill $rec; wait $rec 2>/dev/null
	kill -9 $pid; wait $pid 2>/dev/null
}

# Windows of commd itself, by perf's breakpoints.
test_registers() {
	[ -x /usr/bin/windows_live ] || { echo "skip registers # not in this image"; return; }
	timeout 900 windows_live
}

test_lockdown() {
	[ -w /sys/kernel/security/lockdown ] || { echo "skip lockdown # not in this kernel"; return; }
	echo confidentiality > /sys/kernel/security/lockdown
	/cptest hold > /tmp/hold 2>&1
	grep -q 'not permitted' /tmp/hold; result $? "lockdown: no session" "$(tail -n 1 /tmp/hold)"
}

# All at once: see t_storm.c; and CPUs go and come.
test_soak() {
	rm -f /tmp/over
	# As the storm's own periods: NMIs every 400 us leave a debug kernel no time.
	rmmod standin
	insmod /modules/standin.ko period_us=4000
	# kmemleak would scan every ten minutes, for most of them in an emulator; the part
	# leaks scans at the end.
	[ ! -e /sys/kernel/debug/kmemleak ] || echo scan=off > /sys/kernel/debug/kmemleak
	echo 200000 > /sys/module/commprof/parameters/cap_ppm
	/cptest storm > /tmp/storm & pid=$!
	end=$(($(date +%s) + $(cat /soak_s)))
	turns=0
	refused=0
	while [ "$(date +%s)" -lt $end ] && kill -0 $pid 2> /dev/null; do
		for online in /sys/devices/system/cpu/cpu[1-9]*/online; do
			echo 0 > $online && echo 1 > $online || refused=$((refused + 1))
		done
		turns=$((turns + 1))
		[ $((turns % 10)) != 1 ] || echo "# $turns turns of the CPUs; $(tail -n 1 /tmp/storm)"
		sleep 0.0$((turns % 10))
	done
	touch /tmp/over
	wait $pid
	[ $? -lt 2 ] || echo "not ok soak: storm # exit status $?"
	cat /tmp/storm
	[ $turns -gt 0 ] && [ $refused = 0 ]; result $? "soak: CPUs went and came" "$turns turns, $refused refused"
	# And it still works.
	echo 500000 > /sys/module/commprof/parameters/cap_ppm
	program after
}

test_leaks() {
	[ -e /sys/kernel/debug/kmemleak ] || { echo "skip leaks # no kmemleak in this kernel"; return; }
	sleep 6
	echo scan > /sys/kernel/debug/kmemleak
	sleep 1
	echo scan > /sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak > /results/kmemleak
	[ ! -s /results/kmemleak ]; result $? "leaks: kmemleak finds none" "$(grep -c 'unreferenced' /results/kmemleak)"
}

load() {
	insmod /modules/standin.ko; result $? "load: stand-in PMU" ""
	insmod /modules/commprof.ko; result $? "load: module" ""
}

# What a process that was killed had open is closed some time later.
unload_one() { # module
	waited=0
	while [ "$(cat /sys/module/$1/refcnt)" != 0 ] && [ $waited -lt 600 ]; do
		sleep 0.1
		waited=$((waited + 1))
	done
	rmmod $1
}

unload() {
	unload_one commprof; result $? "unload: module" ""
	unload_one standin; result $? "unload: stand-in PMU" ""
}

number=0
part() { # name, command, ...
	name=$1
	shift
	number=$((number + 1))
	echo "# $(cut -d' ' -f1 /proc/uptime) s: $name" | tee /dev/ttyS0
	"$@" | tee /tmp/lines > /dev/ttyS0
	sh /nest.sh $name $number < /tmp/lines
}

wanted=$all
if [ -n "$PARTS" ]; then
	wanted=
	for name in $all $asked; do
		case " $PARTS " in
		*" $name "* | *" $name/"*) wanted="$wanted $name" ;;
		esac
	done
fi
echo "KTAP version 1"
echo "1..$(echo load $wanted unload leaks | wc -w)"
part load load
for name in $wanted; do
	# An emulator's handlers are so slow that the default would refuse most samples.
	echo 500000 > /sys/module/commprof/parameters/cap_ppm
	case $name in
	registers | hotplug | lifetime | failing | commd | perf | lockdown | soak) part $name test_$name ;;
	*) part $name program $name ;;
	esac
done
part unload unload
part leaks test_leaks
