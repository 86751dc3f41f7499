#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Fetches Debian kernels to test under, with the headers to build against, and an
# emulator to run them, into a cache outside the tree.  Nothing is installed:
# packages are only unpacked.
#
#   fetch.sh 6.1|6.12        prints the folder of that kernel, made if missing:
#                            release, vmlinux, build (-> headers), modules/
#   fetch.sh qemu            prints the command that is the emulator
set -eu
export LC_ALL=C

cache=${COMMPROF_CACHE:-${XDG_CACHE_HOME:-/var/cache}/commprof}

die() { echo "fetch.sh: $*" >&2; exit 1; }

# The ELF inside a bzImage, by the offsets of its setup header (boot protocol
# 2.08): qemu starts it by PVH and saves the guest the decompression.
unpack() { # bzImage, vmlinux
	sects=$(od -An -tu1 -j497 -N1 "$1")
	offset=$(od -An -tu4 -j584 -N4 "$1")
	bytes=$(od -An -tu4 -j588 -N4 "$1")
	# The last four bytes are the unpacked size, not part of the stream.
	tail -c +$(((sects + 1) * 512 + offset + 1)) "$1" | head -c $((bytes - 4)) > "$2.packed"
	case $(od -An -tx1 -N4 "$2.packed" | tr -d ' ') in
	fd377a58) xz -dc ;;
	28b52ffd) zstd -dcq ;;
	02214c18) lz4 -dcq ;;
	1f8b*) gzip -dc ;;
	*) die "$1: packed in a way not known here" ;;
	esac < "$2.packed" > "$2" || die "cannot unpack $1"
	rm -f "$2.packed"
	[ "$(od -An -tx1 -N4 "$2" | tr -d ' ')" = 7f454c46 ] || die "no ELF file in $1"
}

# Debian 12's own qemu, 7.2, runs a translation with an int3 in it when the kernel has
# long put the instruction back, which makes a CPU trap for ever, and gets the flags of
# cmpxchg16b wrong, which ruins the kernel's lists.  8.1 and later do neither.
qemu() {
	installed=$(dpkg-query -W -f '${Version}' qemu-system-x86 2>/dev/null || true)
	if [ -n "$installed" ] && dpkg --compare-versions "$installed" ge 1:8.1; then
		command -v qemu-system-x86_64
		return
	fi
	for dir in "$cache"/qemu-*; do
		[ ! -x "$dir/qemu" ] || { echo "$dir/qemu"; return; }
	done
	dir=$cache/qemu-backports
	new=$dir.$$
	rm -rf "$new"
	mkdir -p "$new/deb" "$new/lists/partial" "$new/root"
	# The archive that this machine has Debian from, or else Debian's.
	archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' |
		head -n 1)
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${archive:-http://deb.debian.org/debian} bookworm-backports main" \
		> "$new/backports.list"
	(
		cd "$new/deb"
		set -- -q -o "Dir::Etc::sourcelist=$new/backports.list" -o Dir::Etc::sourceparts=/dev/null \
			-o "Dir::State::lists=$new/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
		apt-get "$@" update
		apt-get "$@" download qemu-system-x86 qemu-system-common qemu-system-data seabios
	) >&2 || { rm -rf "$new"; die "no qemu 8.1 or later: Debian's backports cannot be had"; }
	for deb in "$new"/deb/*.deb; do
		dpkg -x "$deb" "$new/root"
	done
	rm -rf "$new/deb" "$new/lists"
	cat > "$new/qemu" <<-EOF
		#!/bin/sh
		export QEMU_MODULE_DIR=$dir/root/usr/lib/x86_64-linux-gnu/qemu
		exec $dir/root/usr/bin/qemu-system-x86_64 -L $dir/root/usr/share/qemu -L $dir/root/usr/share/seabios "\$@"
	EOF
	chmod +x "$new/qemu"
	mv -T "$new" "$dir" 2>/dev/null || rm -rf "$new" # somebody else was faster
	echo "$dir/qemu"
}

newest() { # regular expression over package names
	apt-cache pkgnames linux-image- | grep -E "^$1\$" | sort -V | tail -n 1
}

case ${1:-} in
qemu) qemu; exit ;;
6.1) image=$(newest 'linux-image-6\.1\.0-[0-9]+-cloud-amd64') ;;
6.12) image=$(newest 'linux-image-6\.12\.[0-9]+\+deb12-cloud-amd64') ;;
*) die "usage: fetch.sh 6.1|6.12|qemu" ;;
esac

# Offline: whatever the cache has of this series.
if [ -z "$image" ]; then
	dir=$(ls -d "$cache/kernel-$1"[.-]* 2>/dev/null | sort -V | tail -n 1)
	[ -n "$dir" ] || die "no kernel $1: apt knows none (apt-get update?) and none is cached"
	echo "$dir"
	exit 0
fi
release=${image#linux-image-}
dir=$cache/kernel-$release
if [ -e "$dir/.done" ]; then
	echo "$dir"
	exit 0
fi

base=${release%-cloud-amd64}
case $1 in
6.1) kbuild=linux-kbuild-6.1 ;;
*) kbuild=linux-kbuild-$base ;;
esac

rm -rf "$dir"
mkdir -p "$dir/deb" "$dir/root"
(
	cd "$dir/deb"
	apt-get download -q "$image" "linux-headers-$release" "linux-headers-$base-common" \
		"$kbuild"
) >&2
for deb in "$dir"/deb/*.deb; do
	dpkg -x "$deb" "$dir/root"
done
rm -rf "$dir/deb"

root=$dir/root
headers=$root/usr/src/linux-headers-$release
# The packages believe that they are installed in /: point them at the cache.
sed -i "s|/usr/src/linux-headers-|$root/usr/src/linux-headers-|g" "$headers/Makefile"
for tree in "$headers" "$root/usr/src/linux-headers-$base-common"; do
	for link in scripts tools; do
		[ ! -L "$tree/$link" ] || ln -sfn "$root/usr/lib/$kbuild/$link" "$tree/$link"
	done
done
sed -i "s|/usr/lib/linux-kbuild|$root/usr/lib/linux-kbuild|g" "$headers/Makefile"
if [ -L "$headers/vmlinux" ]; then
	ln -sfn "$root$(readlink "$headers/vmlinux")" "$headers/vmlinux"
fi
ln -sfn "$headers" "$dir/build"
ln -sfn "$root/lib/modules/$release" "$dir/modules"
unpack "$root/boot/vmlinuz-$release" "$dir/vmlinux"
echo "$release" > "$dir/release"
touch "$dir/.done"
echo "$dir"
