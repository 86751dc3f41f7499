# SPDX-License-Identifier: GPL-2.0-only
# In the VM instead of tests.sh: the cost of a sample alone.
cost() {
	insmod /modules/commprof.ko || echo "not ok load: module"
	/cptest cost || echo "not ok cost # exit status $?"
	rmmod commprof
}

echo "KTAP version 1"
echo "1..1"
cost | sh /nest.sh cost 1
