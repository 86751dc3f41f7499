#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A soak short enough for every check, for tests/run.sh.
set -eu
export LC_ALL=C
here=$(dirname "$0")
if ! "$here/fetch.sh" 6.12 > /dev/null 2>&1; then
	echo "skip soak: # no kernel can be had from this machine's package sources"
	exit 0
fi
exec "$here/soak.sh" 30s 6.12
