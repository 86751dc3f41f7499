#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# sparse, checkpatch, coccicheck and modinfo over the module.  A checker that is
# missing fails the check: it must not pass because nobody looked.
#
#	static.sh OUTPUT
set -eu
export LC_ALL=C

# Our O=, from the command line of make, would be the kernel's O= too.
unset MAKEFLAGS MAKELEVEL MFLAGS
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${COMMPROF_CACHE:-${XDG_CACHE_HOME:-/var/cache}/commprof}
mkdir -p "$1/kmod-static"
out=$(cd "$1/kmod-static" && pwd)
bad=0

result() { # status, name
	if [ "$1" = 0 ]; then
		echo "ok $2"
	else
		echo "not ok $2"
		bad=1
	fi
}

# Debian's headers lack checkpatch and the semantic patches: from the source.
scripts=$cache/scripts-6.1
if [ ! -e "$scripts/.done" ]; then
	rm -rf "$scripts"
	mkdir -p "$scripts/deb"
	(cd "$scripts/deb" && apt-get download -q linux-source-6.1) >&2
	dpkg -x "$scripts"/deb/*.deb "$scripts/deb/root"
	tar -C "$scripts" --strip-components=1 --wildcards \
		-xf "$scripts/deb/root/usr/src/linux-source-6.1.tar.xz" \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch' '*/scripts/coccinelle/*'
	rm -rf "$scripts/deb"
	touch "$scripts/.done"
fi

for tool in sparse spatch perl; do
	if ! command -v $tool > /dev/null; then
		echo "not ok static: $tool is not installed"
		bad=1
	fi
done

for version in 6.1 6.12; do
	kernel=$("$here/fetch.sh" $version)
	# By the Kbuild at the top, beside the Makefile, as somebody would build it there.
	rm -rf "$out/$version"
	mkdir -p "$out/$version"
	(cd "$top" && git ls-files -z .gitignore Kbuild Makefile kmod | xargs -0 cp --parents -t "$out/$version")
	git -C "$out/$version" init -q
	git -C "$out/$version" add .
	status=0
	make -s -C "$kernel/build" M="$out/$version" CONFIG_DEBUG_INFO_BTF_MODULES= C=2 modules \
		> "$out/sparse-$version" 2>&1 || status=1
	# What sparse finds in the kernel's own headers is not ours to mend.
	grep -E "^$out/$version/.*(warning|error):" "$out/sparse-$version" && status=1
	result $status "static: sparse, $version"
	module=$out/$version/kmod/commprof.ko
	status=0
	{ grep -qw "abi=1" "$module" && strings "$module" | grep -qx "license=GPL"; } 2> /dev/null || status=1
	result $status "static: modinfo has the ABI version and the license, $version"
	left=$(git -C "$out/$version" ls-files --others --exclude-standard)
	make -s -C "$kernel/build" M="$out/$version" clean > /dev/null 2>&1 || left="$left; clean fails"
	left=$left$(git -C "$out/$version" ls-files --others)
	status=0
	[ -z "$left" ] || { echo "$left"; status=1; }
	result $status "static: a build at the top leaves nothing that git sees, and clean nothing at all, $version"
done

status=0
# It leaves a cache in the folder that it runs in.
(
	cd "$out"
	perl "$scripts/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary \
		--max-line-length=100 \
		--ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,CAMELCASE,PREFER_KERNEL_TYPES \
		-f "$top"/kmod/*.[ch] "$top"/kmod/uapi/*.h "$top"/kmod/probe/*.c
) > "$out/checkpatch" 2> "$out/checkpatch-errors" || status=1
cat "$out/checkpatch"
result $status "static: checkpatch --strict"

status=0
ran=0
: > "$out/cocci"
for patch in $(find "$scripts/scripts/coccinelle" -name '*.cocci' | sort); do
	grep -q 'virtual report' "$patch" || continue
	if grep -q ':ocaml' "$patch" && ! command -v ocamlopt > /dev/null; then
		echo "skip static: $(basename "$patch") # wants an OCaml compiler"
		continue
	fi
	# spatch asks the python3 of the path where its library is: the system's.
	PATH=/usr/sbin:/usr/bin:/sbin:/bin spatch --very-quiet -D report --no-show-diff \
		--cocci-file "$patch" -I "$top/kmod" -I "$top/kmod/uapi" "$top"/kmod/*.c \
		>> "$out/cocci" 2> "$out/cocci-errors" || {
		cat "$out/cocci-errors"
		echo "# $(basename "$patch"): spatch cannot run it"
		status=1
	}
	ran=$((ran + 1))
done
echo "# coccicheck: $ran semantic patches"
[ $ran -gt 40 ] || status=1
grep . "$out/cocci" && status=1
result $status "static: coccicheck"
exit $bad
