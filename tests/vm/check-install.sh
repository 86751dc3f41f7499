#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# make install-kmod and dkms, into scratch folders: nothing of this machine is
# changed.  Not "dkms install": its depmod is for this machine's own modules.
set -eu
export LC_ALL=C

# Our O=, from the command line of make, would be theirs too.
unset MAKEFLAGS MAKELEVEL MFLAGS
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
mkdir -p "${O:-.output}/kmod-install"
all=$(cd "${O:-.output}" && pwd)
out=$all/kmod-install
abi=$(awk '$2 == "CP_ABI_VERSION" { print $3 }' "$top/kmod/uapi/commprof.h")
packaged=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$top/kmod/dkms.conf")
bad=0

result() { # status, name
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		bad=1
	fi
}

is_ours() { # module
	[ "$(modinfo -F abi "$1")" = "$abi" ] && [ "$(modinfo -F license "$1")" = GPL ] &&
		[ "$(modinfo -F version "$1")" = "$packaged" ]
}

for tool in modinfo depmod; do
	command -v $tool > /dev/null || { echo "not ok install: $tool is not installed"; exit 1; }
done
for version in 6.1 6.12; do
	if ! kernel=$("$here/fetch.sh" $version 2> "$out/log"); then
		cat "$out/log"
		echo "skip install, $version: # the kernel cannot be had from this machine's package sources"
		continue
	fi
	release=$(cat "$kernel/release")
	root=$out/root-$version
	built=$all/kmod-$version # as run.sh builds it
	rm -rf "$root"
	mkdir -p "$built"
	flock "$built" make -C "$top" O="$built" KDIR="$kernel/build" DESTDIR="$root" install-kmod \
		> "$out/log-$version" 2>&1 || tail -n 20 "$out/log-$version"
	module=$(find "$root/lib/modules/$release" -name 'commprof.ko*' 2> /dev/null | head -n 1)
	status=0
	! grep -E '\.[ch]:.*warning:' "$out/log-$version" || status=1
	{ [ -n "$module" ] && is_ours "$module" && grep -q '/commprof\.ko' "$root/lib/modules/$release/modules.dep"; } ||
		status=1
	result $status "install: make install-kmod, $version"

	if ! command -v dkms > /dev/null; then
		echo "skip install: dkms, $version: # dkms is not installed"
		continue
	fi
	trees=$out/dkms-$version
	rm -rf "$trees"
	mkdir -p "$trees/tree" "$trees/src"
	status=0
	for step in add build; do
		with="-m commprof -v $packaged"
		[ $step != add ] || with=$top/kmod
		# shellcheck disable=SC2086
		dkms $step $with -k "$release" --kernelsourcedir "$kernel/build" --dkmstree "$trees/tree" \
			--sourcetree "$trees/src" > "$out/log-dkms-$version" 2>&1 || { tail -n 20 "$out/log-dkms-$version"; status=1; break; }
	done
	module=$(find "$trees/tree" -name 'commprof.ko*' | head -n 1)
	{ [ -n "$module" ] && is_ours "$module"; } || status=1
	result $status "install: dkms add and build, $version"
done
exit $bad
