#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Does each mutant still apply and compile?  For tests/run.sh; whether the tests notice
# them is asked by make mutants, with a VM.
set -eu
export LC_ALL=C
here=$(dirname "$0")
if ! "$here/fetch.sh" 6.12 > /dev/null 2>&1; then
	echo "skip mutants: # no kernel can be had from this machine's package sources"
	exit 0
fi
exec "$here/mutants.sh" check
