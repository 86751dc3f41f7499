#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's decoder, its static checks, and who reads the VMs' reports and logs, for
# tests/run.sh.
set -eu
export LC_ALL=C
O=${O:-.output}
"$O/tests/vm/test_decode"
for tested in ktap splats; do
	if log=$(python3 -B "$(dirname "$0")/${tested}_test.py" 2>&1); then
		echo "ok $tested.py"
	else
		echo "$log"
		echo "not ok $tested.py"
	fi
done
exec "$(dirname "$0")/static.sh" "$O"
