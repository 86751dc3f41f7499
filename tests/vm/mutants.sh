#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Breaks the program, one way after another (mutants/, see mutant.py), and says which
# test noticed.  A mutant that survives is a test that is missing.
#
#	mutants.sh [MUTANT...]		all of them, or these: half an hour, most share a VM
#	mutants.sh check [MUTANT...]	only whether each still applies and compiles
#
# Killed is a mutant whose file names a check that fails with it, and that passes with the
# program as it is: the same tests run without any mutant first.
set -u
export LC_ALL=C
unset MAKEFLAGS MAKELEVEL MFLAGS
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "${O:-$top/.output}/mutants"
out=$(cd "${O:-$top/.output}/mutants" && pwd)
mode=run
if [ "${1:-}" = check ]; then
	mode=check
	shift
fi
[ $# -gt 0 ] || set -- $(ls "$here/mutants")

for mutant in "$@"; do
	[ -e "$here/mutants/$mutant" ] || { echo "mutants.sh: there is no mutant '$mutant' in tests/vm/mutants" >&2; exit 2; }
done

# One copy, as the program is now, for all: whoever edits it meanwhile changes no verdict,
# and what is unchanged is not built again.
tree=$out/tree
mkdir -p "$tree"
(cd "$top" && git ls-files --cached --others --exclude-standard) | sort > "$out/files"
(cd "$tree" && find . -type f | sed 's,^\./,,') | sort | comm -13 "$out/files" - | while read -r gone; do
	rm "$tree/$gone"
done
while read -r file; do
	[ -f "$top/$file" ] && ! cmp -s "$top/$file" "$tree/$file" || continue
	mkdir -p "$(dirname "$tree/$file")"
	cp "$top/$file" "$tree/$file"
done < "$out/files"

said() { sed -n "s/^$1=//p" "$out/said"; }

apply() { # mutant, tree
	"$here/mutant.py" "$here/mutants/$1" "$2" > "$out/said" 2> "$out/$1.log"
}

# A test can only fail that there is.
is_promised() { # the mutant that was said
	[ -z "$(said part)" ] || sed -n "/^\[$(said part)\]$/,/^\[/p" "$here/expected" | grep -qxF "$(said check)"
}

kernel=
has_kernel() {
	[ -n "$kernel" ] || kernel=$("$here/fetch.sh" 6.12)
}

build_module() { # folder
	has_kernel && make -s -j"$(nproc)" -C "$kernel/build" M="$1" CONFIG_DEBUG_INFO_BTF_MODULES= modules
}

build_bpf() { # tree, its output, C file
	make -s -C "$1" O="$2" "$2/${3%.c}.o"
}

# Together all that change other lines than those before them; the rest in the next build.
all_compile() { # mutant, ...
	left=$*
	while [ -n "$left" ]; do
		rm -rf "$out/all"
		mkdir -p "$out/all"
		cp -r "$tree/." "$out/all"
		changed= module= later=
		for mutant in $left; do
			if apply "$mutant" "$out/all"; then changed="$changed $(said file)"; else later="$later $mutant"; fi
		done
		[ -n "$changed" ] || return 1
		for file in $(printf '%s\n' $changed | sort -u); do
			case $file in
			kmod/*.c) module=$out/all/kmod ;;
			bpf/*.bpf.c) build_bpf "$out/all" "$out/all-o" "$file" || return 1 ;;
			*) echo "nobody knows how to compile $file"; return 1 ;;
			esac
		done
		[ -z "$module" ] || build_module "$module" || return 1
		left=$later
	done
}

# The module's objects are there once; then the file by the command that made its own, and
# the module by those that linked it.
saved() { # object
	sed -n 's/^savedcmd_[^ ]* := //p' "$out/kmod/.$1.cmd"
}
compiles_in_kernel() { # C file, mutant
	object=$(basename "$1" .c).o
	[ -n "$(saved "$object")" ] || { echo "no command for $1"; return 1; }
	cp "$out/kmod/$object" "$out/unchanged.o"
	cp "$tree/$1" "$out/$1"
	(
		cd "$kernel/build" || exit 1
		export SRCARCH=x86 # objtool asks for it, when it looks at a whole module
		sh -c "$(saved "$object")" && sh -c "$(saved commprof.o)" && sh -c "$(saved commprof.ko)"
	) && cp "$out/kmod/commprof.ko" "$out/broken/$2.ko"
	status=$?
	cp "$out/unchanged.o" "$out/kmod/$object"
	return $status
}

compiles() { # mutant
	case $(said file) in
	kmod/*.c) [ -z "$(said part)" ] || compiles_in_kernel "$(said file)" "$1" ;;
	bpf/*.bpf.c) build_bpf "$tree" "$out/o" "$(said file)" ;;
	*) echo "nobody knows how to compile $(said file)"; return 1 ;;
	esac >> "$out/$1.log" 2>&1 && ! grep -q 'warning:' "$out/$1.log"
}

# On this machine: the check that was said, of its command's output.
run() { # log
	command=$(said run)
	(cd "$tree" && O=$out/o sh -c "$command") > "$1" 2>&1
}
verdict() { # log
	awk -v check="$(said check)" '
	/^(not )?ok [0-9]+ - / && index($0, " - " check) { print /^not/ ? "not ok" : "ok"; exit }' "$1"
}
judge() { # mutant
	control=$out/control-$(said run | cksum | cut -d' ' -f1).log
	cp "$out/before" "$tree/$(said file)"
	[ -e "$control" ] || run "$control"
	cp "$out/after" "$tree/$(said file)"
	if [ "$(verdict "$control")" != ok ]; then
		echo "not ok $1 # VOID: without the mutant it is not there or fails: $(said check)"
		return
	fi
	run "$out/$1.log"
	case $(verdict "$out/$1.log") in
	"not ok") echo "ok $1 # killed: $(said check)" ;;
	ok) echo "not ok $1 # SURVIVED: $(said check)" ;;
	*) echo "not ok $1 # NO VERDICT: see $out/$1.log" ;;
	esac
}

rm -rf "$out/broken"
rm -f "$out"/control-*.log
mkdir -p "$out/broken"
compiled=
if [ $mode = check ]; then
	if all_compile "$@" > "$out/all.log" 2>&1 && ! grep 'warning:' "$out/all.log"; then
		compiled=yes
	fi
fi
if [ -z "$compiled" ]; then
	rm -rf "$out/kmod"
	cp -r "$tree/kmod" "$out/kmod"
	build_module "$out/kmod" > "$out/kmod.log" 2>&1 || { cat "$out/kmod.log" >&2; exit 1; }
	cp "$out/kmod/commprof.ko" "$out/broken/unchanged.ko"
fi
for mutant in "$@"; do
	cp "$tree/$(sed -n 's/^file: //p' "$here/mutants/$mutant")" "$out/before"
	if ! apply "$mutant" "$tree"; then
		echo "not ok $mutant # does not apply: $(tail -n 1 "$out/$mutant.log")"
		continue
	fi
	cp "$tree/$(said file)" "$out/after"
	if [ -z "$compiled" ] && ! compiles "$mutant"; then
		echo "not ok $mutant # does not compile: see $out/$mutant.log"
	elif ! is_promised; then
		echo "not ok $mutant # no such check in tests/vm/expected: $(said check)"
	elif [ $mode = check ]; then
		echo "ok $mutant # applies and compiles"
	elif [ -n "$(said part)" ]; then
		said part > "$out/broken/$mutant.part"
		said check > "$out/broken/$mutant.check"
	else
		judge "$mutant"
	fi
	cp "$out/before" "$tree/$(said file)"
done > "$out/lines"

# All modules in one VM.  One that takes it down is tried again, in case that was the
# emulator's doing, and what comes behind it goes on in the next.
boots=0
last=
while [ $mode = run ] && [ -n "$(ls "$out"/broken/*.check 2> /dev/null)" ]; do
	boots=$((boots + 1))
	rm -f "$out/vm-6.12-broken/console"
	BROKEN=$out/broken "$top/tests/vm/run.sh" 6.12 "$out" broken > "$out/broken-$boots.log" 2>&1
	tr -d '\r' < "$out/vm-6.12-broken/console" | grep -E '^(ok|not ok|#) ' > "$out/verdicts-$boots"
	for check in "$out"/broken/*.check; do
		mutant=$(basename "$check" .check)
		grep -E "^(ok|not ok) $mutant # " "$out/verdicts-$boots" || continue
		rm "$out/broken/$mutant".*
	done >> "$out/lines"
	at=$(sed -n 's/^# [0-9.]* s: //p' "$out/verdicts-$boots" | tail -n 1)
	[ -e "$out/broken/$at.check" ] || at=none
	[ "$at" != "$last" ] || {
		for check in "$out"/broken/*.check; do
			mutant=$(basename "$check" .check)
			case $at in
			"$mutant") echo "not ok $mutant # NO VERDICT: the VM did not last, twice; see $out/broken-$boots.log" ;;
			none) echo "not ok $mutant # NOT TRIED: the VM did not last; see $out/broken-$boots.log" ;;
			*) continue ;;
			esac
			rm "$out/broken/$mutant".*
		done >> "$out/lines"
		at=
	}
	last=$at
done
echo "KTAP version 1"
echo "1..$#"
awk '{ ok = /^not/ ? "not ok" : "ok"; sub(/^(not )?ok /, ""); print ok, NR, $0 }' "$out/lines"
! grep -q '^not ok' "$out/lines"
