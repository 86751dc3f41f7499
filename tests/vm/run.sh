#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Builds the module and its tests against one kernel, boots it, judges.
#
#	run.sh 6.1|6.12|debug|kcsan OUTPUT [tests|cost|compare|broken]
#	PARTS='watch commd/redis' run.sh 6.12 OUTPUT
#
#	COMPARE='overhead=5 seconds=4' run.sh 6.12 OUTPUT compare
#	PARTS=soak SOAK_S=1800 run.sh debug OUTPUT
#	BUILT=FOLDER: where modules are built, or OUTPUT
#
# PARTS: only these of the parts that the file "expected" has in brackets, and of commd
# only the runs named; then only what they promise must come.
# With cost nothing but the cost of a sample, on an emulator whose clock counts
# instructions: whatever else this machine does has no part in the figures.  With
# compare the sources at equal overhead by such a clock, and a table of that.  With broken the modules of
# the folder BROKEN instead of ours (mutants.sh).
# Prints KTAP, a test with subtests for each part, and a sum.  A hang, a splat in
# dmesg, a result that did not come or a report cut short is a failure.
set -eu
export LC_ALL=C

# Our O=, from the command line of make, would be the kernel's O= too.
unset MAKEFLAGS MAKELEVEL MFLAGS
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
which=$1
case $which in
debug) kernel=$("$here/debug-kernel.sh"); limit=4000 ;;
kcsan) kernel=$("$here/debug-kernel.sh" kcsan); limit=4000 ;;
*) kernel=$("$here/fetch.sh" "$which"); limit=2200 ;;
esac
# The limit is for a VM that hangs; with load 20 on 2 CPUs one took 21 minutes.
soak_s=${SOAK_S:-60}
limit=$((limit + soak_s))
mode=${3:-tests}
case $mode in
# More CPUs than two: some races need three at least.
tests) cpus='-accel tcg,thread=multi -smp 4' out=$2/vm-$which ;;
broken) cpus='-accel tcg,thread=multi -smp 4' out=$2/vm-$which-$mode ;;
compare) cpus='-accel tcg,thread=single -icount shift=2,sleep=off -smp 4' out=$2/vm-$which-$mode ;;
cost) cpus='-accel tcg,thread=single -icount shift=0,sleep=off -smp 1' out=$2/vm-$which-$mode ;;
*) echo "run.sh: no such mode: $mode" >&2; exit 2 ;;
esac
mkdir -p "$out" "${BUILT:-$2}/kmod-$which"
out=$(cd "$out" && pwd)
# What is built for this kernel, once for all who want it.
built=$(cd "${BUILT:-$2}/kmod-$which" && pwd)

# Nothing was run: a whole report, of that alone.
die() { printf 'KTAP version 1\n1..1\nnot ok 1 %s # ERROR %s\n' "$which" "$*"; exit 1; }

parts=${PARTS:-}
for part in $parts; do
	grep -qxF -e "[${part%%/*}]" -e "[${part%%/*}?]" "$here/expected" || die "there is no part '$part' (see tests/vm/expected)"
done

emulator=$("$here/fetch.sh" qemu) || die "needs qemu"
for tool in busybox cpio gcc; do
	command -v $tool > /dev/null || die "needs $tool"
done

# The sources are copied, so that nothing is built in the tree.
build() { # folder, name
	mkdir -p "$built/$2"
	cp -ru "$1/." "$built/$2/"
	flock "$built" make -s -C "$kernel/build" M="$built/$2" CONFIG_DEBUG_INFO_BTF_MODULES= modules \
		> "$out/$2.log" 2>&1 || { cat "$out/$2.log" >&2; die "build of $2"; }
	! grep -i 'warning:' "$out/$2.log" || die "warnings in the build of $2"
}
[ $mode = broken ] || build "$top/kmod" kmod
build "$here/standin" standin

root=$out/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/modules" "$root/dev" "$root/proc" "$root/sys" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$here/init" "$here/commd.sh" "$here/nest.sh" "$root/"
cp "$here/$mode.sh" "$root/tests.sh"
echo "$parts" > "$root/parts"
echo "$soak_s" > "$root/soak_s"
echo "${COMPARE:-}" > "$root/compare"
cp "$built/standin/standin.ko" "$root/modules/"
[ $mode = broken ] || cp "$built/kmod/commprof.ko" "$root/modules/"
for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
	packed=$(find "$kernel/modules/" -name "$module.ko*" 2>/dev/null | head -n 1)
	case $packed in
	'') ;; # built in
	*.xz) xz -dc "$packed" > "$root/modules/$module.ko" ;;
	*) cp "$packed" "$root/modules/" ;;
	esac
done
strip --strip-debug "$root"/modules/*.ko
if [ $mode = broken ]; then
	mkdir "$root/modules/broken"
	cp "$BROKEN"/* "$root/modules/broken/"
	strip --strip-debug "$root"/modules/broken/*.ko
fi
gcc -O2 -static -o "$root/quit" "$here/quit.c"
gcc -O2 -Wall -Wextra -o "$out/tsc" "$here/tsc.c"
case $mode in
cost | compare) clock= ;; # it counts instructions
*) clock="tsc_early_khz=$("$out/tsc")" ;;
esac
# After an oops the VM would be waited for until the limit; of broken modules the next is tried.
oops=oops=panic
[ $mode != broken ] || oops=
gcc -O2 -Wall -Wextra -Wno-unused-parameter -Wno-override-init -static -pthread -I"$top/kmod/uapi" -I"$top/kmod/user" -I"$here" \
	-o "$root/cptest" "$here/cptest.c" "$here/code.c" "$here"/t_*.c "$top/kmod/user/reader.c"
# A program of the host, with all that it needs.
bring() {
	mkdir -p "$root/usr/bin" "$root/lib64"
	cp -L "$1" "$root/usr/bin/"
	ldd "$1" | grep -o '/[^ ]*' | while read -r library; do
		# Our own is looked for where it would be installed.
		case $library in
		*/libcommprof.so.*) to=/usr/lib ;;
		*) to=$(dirname "$library") ;;
		esac
		mkdir -p "$root$to"
		[ -e "$root$to/${library##*/}" ] || cp -L "$library" "$root$to/"
	done
}
# The debug kernel is slow enough without, and has no BPF.
case $which-$mode in
6.*-tests | 6.*-compare)
	! command -v perf > /dev/null || bring "$(command -v perf)"
	for live in windows_live hotplug_live; do
		[ ! -x "$2/tests/e2e/$live" ] || ldd "$2/tests/e2e/$live" | grep -q libasan ||
			bring "$2/tests/e2e/$live"
	done
	# Nor are the sanitizers for an emulator.
	if [ -x "$2/commd" ] && [ -x "$2/tests/truth/truth-kernels" ] && ! ldd "$2/commd" | grep -q libasan; then
		for tool in jq python3 xz redis-server redis-benchmark sqlite3; do
			command -v $tool > /dev/null || die "needs $tool"
		done
		bring "$2/commd"
		bring "$2/commctl"
		bring "$2/tests/truth/truth-kernels"
		bring "$2/tests/vm/events"
		bring "$2/tests/unit/test_priority"
		gcc -O1 -static -pthread -I"$top/include" -o "$root/usr/bin/marked" "$top/tests/e2e/marked.c"
		for tool in xz redis-server redis-benchmark sqlite3; do
			bring "$(command -v $tool)"
		done
	fi
	;;
esac
(cd "$root" && find . | cpio -o -H newc --quiet) > "$out/initramfs"

image=$kernel/vmlinux
[ -e "$image" ] || image=$kernel/bzImage
boot() {
	rm -f "$out/disk" "$out/console"
	truncate -s 512M "$out/disk"
	status=0
	# shellcheck disable=SC2086
	timeout $limit "$emulator" -M q35 $cpus -cpu max -m 1024 \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$image" -initrd "$out/initramfs" -serial "file:$out/console" \
		-drive "file=$out/disk,format=raw,if=none,id=disk" -device virtio-blk-pci,drive=disk \
		-device isa-debug-exit,iobase=0x501,iosize=4 \
		-append "console=ttyS0 loglevel=1 $oops panic=-1 mitigations=off nokaslr tsc=reliable $clock no_timer_check lpj=4000000 rdinit=/init" \
		|| status=$?
}
began=$(date +%s)
boot
# When CPUs go and come for a minute, qemu itself dies of a segmentation fault in one run of three, which
# timeout tells as 139, or of another signal: no doing of what it runs.  137 is who killed it.  And an emulated CPU
# may take a breakpoint that is not in memory any more (splats.py).
emulator_failed() {
	if [ $status -gt 128 ] && [ $status != 137 ]; then
		echo "# $which: qemu died of signal $((status - 128)), run again"
	else
		"$here/splats.py" "$out/console" 2>&1 | grep '^not ours: .*int3:' | sed "s/.*/# $which: an emulated CPU took an int3 that is not in memory, run again/"
	fi
}
died=0
while failure=$(emulator_failed) && [ -n "$failure" ] && [ $died -lt 5 ]; do
	died=$((died + 1))
	echo "$failure"
	boot
done
took=$(($(date +%s) - began))
rm -rf "$out/results"
mkdir -p "$out/results"
tar xf "$out/disk" -C "$out/results" 2>/dev/null || true

# What this side has to say, in the words that nest.sh takes.
tap=$out/results/tap
truth() {
	"$here/judge.sh" "$out/results/commd" "$2" || echo "not ok judge.sh # exit status $?"
}
end() {
	if [ $status = 1 ]; then echo "ok end of the VM"; else
		echo "not ok end of the VM # qemu's status $status after $took s (124: a hang)"
	fi
	if [ -e "$out/results/done" ]; then echo "ok results"; else
		echo "not ok results # none came out"
		tail -n 20 "$out/console" | tr -d '\r' | sed 's/^/# /'
	fi
	if ! "$here/splats.py" "$out/results/dmesg" "$out/console" > "$out/splats" 2> "$out/stalls"; then
		echo "not ok dmesg # $(cat "$out/splats" "$out/stalls" | head -n 1 | tr -d '\r')"
	elif [ -e "$out/results/dmesg" ]; then
		echo "ok dmesg # no splat, $(grep -c . "$out/stalls") stalls of RCU without us"
	fi
}
{
	echo "KTAP version 1"
	if [ -d "$out/results/commd" ]; then
		echo "1..2"
		truth "$1" "$2" 2>&1 | "$here/nest.sh" truth 1
		end | "$here/nest.sh" end 2
	else
		echo "1..1"
		end | "$here/nest.sh" end 1
	fi
} > "$out/host"
expected=
[ $mode != tests ] || expected="--expected $here/expected"
bad=0
# shellcheck disable=SC2086
"$here/ktap.py" $expected --kernel "$which" --parts "$parts" "$tap" "$out/host" || bad=1
[ $mode != compare ] || "$here/compare_sources.py" "$out/results/compare" || bad=1
echo "# $which: $(cat "$kernel/release"), $took s"
exit $bad
