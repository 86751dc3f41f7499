# SPDX-License-Identifier: GPL-2.0-only
# In the VM instead of tests.sh: one wrong module after another, and whether the check that
# is named beside it, of the part that is, fails.  First each such part with the module as
# it is, for a check that fails there too says nothing.  See mutants.sh.
LIMIT_S=900

load() { # module
	insmod $1 && echo 500000 > /sys/module/commprof/parameters/cap_ppm
}

# What a killed part has started goes a little later.
unload() {
	tries=0
	while ! rmmod commprof 2> /dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 100 ] || { echo "# it does not go"; return; }
		sleep 0.1
	done
}

has() { # result, check, file
	grep -F "$1 $2 # " $3 | grep -q "^$1 "
}

# Until that check is there, or all are.
run_part() { # part, check, file
	timeout $LIMIT_S /cptest $1 > $3 &
	running=$!
	while kill -0 $running 2> /dev/null && ! has "ok" "$2" $3 && ! has "not ok" "$2" $3; do
		sleep 0.2
	done
	kill $running 2> /dev/null
	wait $running 2> /dev/null
}

control() {
	load /modules/broken/unchanged.ko || return
	for part in $(cat /modules/broken/*.part | sort -u); do
		echo "# $(cut -d' ' -f1 /proc/uptime) s: unchanged, $part"
		run_part $part "no check: to the end" /tmp/control.$part
		sed 's/^/# /' /tmp/control.$part
	done
	unload
}

try() { # mutant, part, check
	if ! has "ok" "$3" /tmp/control.$2; then
		echo "not ok $1 # VOID: with the module as it is, too, it fails or is not there: $3"
		return
	fi
	load /modules/broken/$1.ko || { echo "not ok $1 # NO VERDICT: it cannot be loaded"; return; }
	run_part $2 "$3" /tmp/result
	if has "not ok" "$3" /tmp/result; then
		echo "ok $1 # killed: $(grep -F "$3 # " /tmp/result | sed 's/^not ok //; s/ # /, /')"
	elif has "ok" "$3" /tmp/result; then
		echo "not ok $1 # SURVIVED: $(grep -F "$3 # " /tmp/result | sed 's/^ok //; s/ # /, /')"
	else
		echo "not ok $1 # NO VERDICT: $2 ended without: $3"
	fi
	sed 's/^/# /' /tmp/result
	unload
}

broken() {
	insmod /modules/standin.ko
	control
	for check in /modules/broken/*.check; do
		name=$(basename $check .check)
		echo "# $(cut -d' ' -f1 /proc/uptime) s: $name"
		try $name $(cat ${check%.check}.part) "$(cat $check)"
	done
}

echo "KTAP version 1"
echo "1..1"
broken | tee /tmp/lines > /dev/ttyS0
sh /nest.sh broken 1 < /tmp/lines
