#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's tests in virtual machines with Debian's 6.1 and 6.12, for
# tests/run.sh.  Both at once: each waits for half of its time.
set -eu
export LC_ALL=C
here=$(dirname "$0")
out=${O:-.output}
mkdir -p "$out"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

running=
for version in 6.1 6.12; do
	if ! "$here/fetch.sh" $version > /dev/null 2> "$log"; then
		cat "$log"
		echo "skip vm, $version: # the kernel cannot be had from this machine's package sources"
		continue
	fi
	"$here/run.sh" $version "$out" > "$out/vm-$version.log" 2>&1 &
	running="$running $version:$!"
done
status=0
for one in $running; do
	wait "${one#*:}" || status=1
	cat "$out/vm-${one%%:*}.log"
done
exit $status
