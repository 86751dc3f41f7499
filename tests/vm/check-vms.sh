#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The module's tests in virtual machines with Debian's 6.1 and 6.12, for
# tests/run.sh.  Both at once: each waits for half of its time.  Parts that fail are run once more, by themselves; what
# passes only then is named as unsteady.  A splat, or a kernel that dies, stays a failure.
set -eu
export LC_ALL=C
here=$(dirname "$0")
out=${O:-.output}
mkdir -p "$out"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

echo "KTAP version 1"
echo "1..2"
running=
for version in 6.1 6.12; do
	if ! "$here/fetch.sh" qemu > /dev/null 2> "$errors" || ! "$here/fetch.sh" $version > /dev/null 2> "$errors"; then
		sed 's/^/# /' "$errors"
		continue
	fi
	"$here/run.sh" $version "$out" > "$out/vm-$version.log" 2>&1 &
	running="$running $version:$!"
done
# The parts that failed and may be run by themselves; of commd the host judges a part, too.
parts_to_repeat() { # log
	sed -n 's/^not ok [0-9]* \([a-z0-9]*\).*/\1/p' "$1" | sed 's/^truth$/commd/' | sort -u | while read -r part; do
		if grep -qxF -e "[$part]" "$here/expected"; then echo "$part"; else [ "$part" = promises ] || echo "- $part"; fi
	done
}

repeat() { # version
	log=$out/vm-$1.log
	parts=$(parts_to_repeat "$log" | tr '\n' ' ')
	case $parts in
	'' | *-*) return 1 ;;
	esac
	mv "$log" "$log.failed"
	PARTS=$parts "$here/run.sh" "$1" "$out" > "$log" 2>&1 || return 1
	grep '^ *not ok' "$log.failed" | sed "s/^ */# unsteady: vm, $1: /"
}

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
	[ $status = 0 ] || { repeat $version && status=0; }
	sed 's/^/    /' "$out/vm-$version.log"
	if [ $status = 0 ]; then echo "ok $number vm, $version"; else
		echo "not ok $number vm, $version"
		failed=1
	fi
done
exit $failed
