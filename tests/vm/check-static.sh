#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's decoder, its static checks, and who tells a hang of the emulator from
# one of the kernel, for tests/run.sh.
set -eu
export LC_ALL=C
O=${O:-.output}
"$O/tests/vm/test_decode"
if log=$(python3 -B "$(dirname "$0")/stuck_test.py" 2>&1); then
	echo "ok stuck.py"
else
	echo "$log"
	echo "not ok stuck.py"
fi
exec "$(dirname "$0")/static.sh" "$O"
