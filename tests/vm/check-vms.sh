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

echo "KTAP version 1"
echo "1..2"
running=
for version in 6.1 6.12; do
	if ! "$here/fetch.sh" qemu > /dev/null 2> "$log" || ! "$here/fetch.sh" $version > /dev/null 2> "$log"; then
		sed 's/^/# /' "$log"
		continue
	fi
	"$here/run.sh" $version "$out" > "$out/vm-$version.log" 2>&1 &
	running="$running $version:$!"
done
number=0
failed=0
for version in 6.1 6.12; do
	number=$((number + 1))
	case " $running " in
	*" $version:"*) ;;
	*)
		echo "ok $number vm, $version # SKIP the kernel or its emulator cannot be had from this machine's package sources"
		continue
		;;
	esac
	pid=${running#*" $version:"}
	status=0
	wait "${pid%% *}" || status=1
	sed 's/^/    /' "$out/vm-$version.log"
	if [ $status = 0 ]; then echo "ok $number vm, $version"; else
		echo "not ok $number vm, $version"
		failed=1
	fi
done
exit $failed
