#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds a debug kernel once, into the cache outside the tree, and prints its folder:
# release, vmlinux or bzImage, build.  Some ten CPU minutes the first time.
#
#	debug-kernel.sh		KASAN, lockdep, kmemleak, UBSAN
#	debug-kernel.sh kcsan	KCSAN instead of KASAN and kmemleak
#	debug-kernel.sh built	the first, and a failure at once if it is not there yet
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
cache=${COMMPROF_CACHE:-${XDG_CACHE_HOME:-/var/cache}/commprof}
die() { echo "debug-kernel.sh: $*" >&2; exit 1; }

case ${1:-} in
'' | built) configs=$here/debug.config checkers='KASAN_GENERIC KASAN_VMALLOC DEBUG_KMEMLEAK' ;;
kcsan) configs="$here/debug.config $here/kcsan.config" checkers=KCSAN ;;
*) die "usage: debug-kernel.sh [kcsan|built]" ;;
esac
# shellcheck disable=SC2086
key=$(cat $configs | sha256sum | cut -c1-12)
dir=$cache/kernel-debug-$key

if [ -e "$dir/.done" ]; then
	echo "$dir"
	exit 0
fi
[ "${1:-}" != built ] || exit 1
# Not two at once in one folder.
mkdir -p "$cache"
exec 9> "$dir.lock"
flock -n 9 || die "another debug-kernel.sh is building $dir"
for tool in flex bison bc pahole lz4; do
	command -v $tool > /dev/null || die "needs $tool"
done

rm -rf "$dir"
mkdir -p "$dir/deb"
(cd "$dir/deb" && apt-get download -q linux-source-6.1) >&2
dpkg -x "$dir"/deb/linux-source-6.1_*.deb "$dir/deb/root"
tar -C "$dir" -xf "$dir/deb/root/usr/src/linux-source-6.1.tar.xz"
rm -rf "$dir/deb"
mv "$dir/linux-source-6.1" "$dir/build"

(
	cd "$dir/build"
	make -s tinyconfig
	# shellcheck disable=SC2086
	cat $configs >> .config
	make -s olddefconfig
	# A checker that Kconfig dropped would make every test pass for nothing.
	for want in $checkers PROVE_LOCKING DEBUG_ATOMIC_SLEEP \
		UBSAN DEBUG_OBJECTS FAILSLAB FAIL_PAGE_ALLOC SECURITY_LOCKDOWN_LSM \
		IA32_EMULATION CGROUP_PERF HOTPLUG_CPU VIRTIO_BLK; do
		grep -q "^CONFIG_$want=y" .config || die "the configuration lost CONFIG_$want"
	done
	make -s -j"${JOBS:-2}" bzImage modules
	make -s -f Makefile kernelrelease > "$dir/release"
) >&2
cp "$dir/build/arch/x86/boot/bzImage" "$dir/bzImage"
# What only the kernel's own link needs: three quarters of a gigabyte.
find "$dir/build" -name '*.o' ! -path '*/scripts/*' ! -path '*/tools/*' -delete
touch "$dir/.done"
echo "$dir"
