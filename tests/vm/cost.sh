# SPDX-License-Identifier: GPL-2.0-only
# In the VM instead of tests.sh: the cost of a sample alone.
insmod /modules/commprof.ko || echo "not ok load: module"
/cptest cost || echo "not ok cost # exit status $?"
rmmod commprof
