#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Breaks the program, one way after another (mutants/, see mutant.py), and says which
# test noticed.  A mutant that survives is a test that is missing.
#
#	mutants.sh [MUTANT...]		all of them, or these: minutes each, most boot a VM
#	mutants.sh check [MUTANT...]	only whether each still applies and compiles
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

# One copy for all, as the program is: what is unchanged is not built again.
tree=$out/tree
(cd "$top" && git ls-files --cached --others --exclude-standard) | while read -r file; do
	[ -f "$top/$file" ] && ! cmp -s "$top/$file" "$tree/$file" || continue
	mkdir -p "$(dirname "$tree/$file")"
	cp "$top/$file" "$tree/$file"
done

apply() { # mutant
	"$here/mutant.py" "$here/mutants/$1" "$tree" > "$out/said" 2> "$out/$1.log"
}

said() { sed -n "s/^$1=//p" "$out/said"; }

restore() { cp "$top/$(said file)" "$tree/$(said file)"; }

# The module's objects are there once; then each file by the command that made its own,
# and the module, if it is wanted, by those that linked it.
kernel=
saved() { # object
	sed -n 's/^savedcmd_[^ ]* := //p' "$out/kmod/.$1.cmd"
}
compiles_in_kernel() { # C file
	if [ -z "$kernel" ]; then
		kernel=$("$here/fetch.sh" 6.12) || return 1
		rm -rf "$out/kmod"
		cp -r "$top/kmod" "$out/kmod"
		make -s -C "$kernel/build" M="$out/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules || return 1
	fi
	object=$(basename "$1" .c).o
	[ -n "$(saved "$object")" ] || { echo "no command for $1"; return 1; }
	cp "$tree/$1" "$out/$1"
	(
		cd "$kernel/build" || exit 1
		export SRCARCH=x86 # objtool asks for it, when it looks at a whole module
		sh -c "$(saved "$object")" || exit 1
		[ $mode = check ] || { sh -c "$(saved commprof.o)" && sh -c "$(saved commprof.ko)"; }
	) || return 1
	[ $mode = check ] || cp "$out/kmod/commprof.ko" "$out/broken/$2.ko"
	# As it was, for the next.
	cp "$top/$1" "$out/$1"
	(cd "$kernel/build" && sh -c "$(saved "$object")")
}

compiles() { # mutant
	case $(said file) in
	kmod/*.c) compiles_in_kernel "$(said file)" "$1" >> "$out/$1.log" 2>&1 ;;
	bpf/*.bpf.c) make -s -C "$tree" O="$out/o" "$out/o/$(said file | sed 's/\.c$/.o/')" >> "$out/$1.log" 2>&1 ;;
	*) echo "nobody knows how to compile $(said file)" >> "$out/$1.log"; return 1 ;;
	esac && ! grep -q 'warning:' "$out/$1.log"
}

survives() { # mutant, whose command must fail
	(cd "$tree" && O=$out/o sh -c "$(said run)") >> "$out/$1.log" 2>&1
}

rm -rf "$out/broken"
mkdir -p "$out/broken"
: > "$out/lines"
for mutant in "$@"; do
	if ! apply "$mutant"; then
		echo "not ok $mutant # does not apply: $(tail -n 1 "$out/$mutant.log")"
		continue
	elif ! compiles "$mutant"; then
		echo "not ok $mutant # does not compile: see $out/$mutant.log"
	elif [ $mode = check ]; then
		echo "ok $mutant # applies and compiles"
	elif [ -n "$(said part)" ]; then
		said part > "$out/broken/$mutant.parts"
	elif survives "$mutant"; then
		echo "not ok $mutant # SURVIVED"
	else
		echo "ok $mutant # killed: $(grep -E '^ *not ok' "$out/$mutant.log" | head -n 1 | sed 's/^ *not ok //' | tr '#' ',')"
	fi
	restore
done > "$out/lines"
# All modules in one VM; one that takes it down with it takes the rest along.
if [ -n "$(ls "$out/broken")" ]; then
	BROKEN=$out/broken "$top/tests/vm/run.sh" 6.12 "$out" broken > "$out/broken.log" 2>&1
	tr -d '\r' < "$out/vm-6.12-broken/console" | grep -E '^(ok|not ok|#) ' > "$out/verdicts"
	for parts in "$out"/broken/*.parts; do
		mutant=$(basename "$parts" .parts)
		grep -E "^(ok|not ok) $mutant " "$out/verdicts" || {
			if grep -q " s: $mutant\$" "$out/verdicts"; then
				echo "ok $mutant # killed: the VM did not survive it; see $out/broken.log"
			else
				echo "not ok $mutant # not tried: the VM did not last; see $out/broken.log"
			fi
		}
	done >> "$out/lines"
fi
echo "KTAP version 1"
echo "1..$#"
awk '{ ok = /^not/ ? "not ok" : "ok"; sub(/^(not )?ok /, ""); print ok, NR, $0 }' "$out/lines"
! grep -q '^not ok' "$out/lines"
