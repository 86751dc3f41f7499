# SPDX-License-Identifier: GPL-2.0-only
# In the VM instead of tests.sh: one wrong module after another, and whether the parts of
# the tests that are named beside it notice.  See mutants.sh.
broken() {
	insmod /modules/standin.ko
	for module in /modules/broken/*.ko; do
		name=$(basename $module .ko)
		verdict="not ok $name # SURVIVED"
		echo "# $(cut -d' ' -f1 /proc/uptime) s: $name"
		if ! insmod $module; then
			echo "ok $name # killed: it cannot be loaded"
			continue
		fi
		echo 500000 > /sys/module/commprof/parameters/cap_ppm
		for part in $(cat ${module%.ko}.parts); do
			timeout 300 /cptest $part > /tmp/result
			status=$?
			if grep -q '^not ok' /tmp/result; then
				verdict="ok $name # killed: $(sed -n 's/^not ok //p' /tmp/result | head -n 1 | tr '#' ',')"
				break
			elif [ $status -ge 2 ]; then
				verdict="ok $name # killed: $part ended with status $status"
				break
			fi
		done
		echo "$verdict"
		rmmod commprof || echo "# $name does not go"
	done
}

echo "KTAP version 1"
echo "1..1"
broken | tee /tmp/lines > /dev/ttyS0
sh /nest.sh broken 1 < /tmp/lines
