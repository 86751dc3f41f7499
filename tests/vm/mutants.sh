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

# The module's objects are there once; then each file by the command that made its own.
compiles_in_kernel() { # C file
	kernel=$("$here/fetch.sh" 6.12) || return 1
	if [ ! -e "$out/built" ]; then
		rm -rf "$out/kmod"
		cp -r "$top/kmod" "$out/kmod"
		make -s -C "$kernel/build" M="$out/kmod" CONFIG_DEBUG_INFO_BTF_MODULES= modules || return 1
		touch "$out/built"
	fi
	command=$(sed -n 's/^savedcmd_[^ ]* := //p' "$out/kmod/.$(basename "$1" .c).o.cmd")
	[ -n "$command" ] || { echo "no command for $1"; return 1; }
	cp "$tree/$1" "$out/$1"
	(cd "$kernel/build" && sh -c "${command%% ;*}")
}
rm -f "$out/built"

compiles() { # mutant
	case $(said file) in
	kmod/*.c) compiles_in_kernel "$(said file)" >> "$out/$1.log" 2>&1 ;;
	bpf/*.bpf.c) make -s -C "$tree" O="$out/o" "$out/o/$(said file | sed 's/\.c$/.o/')" >> "$out/$1.log" 2>&1 ;;
	*) echo "nobody knows how to compile $(said file)" >> "$out/$1.log"; return 1 ;;
	esac && ! grep -q 'warning:' "$out/$1.log"
}

# Killed: something failed that is not the build.
survives() { # mutant
	run=$(said run)
	if [ -n "$run" ]; then
		(cd "$tree" && O=$out/o sh -c "$run") >> "$out/$1.log" 2>&1
	else
		PARTS=$(said part) "$tree/tests/vm/run.sh" "$(said kernel)" "$out/vm" >> "$out/$1.log" 2>&1
	fi
}

echo "KTAP version 1"
echo "1..$#"
number=0
bad=0
for mutant in "$@"; do
	number=$((number + 1))
	if ! apply "$mutant"; then
		verdict='not ok' why="does not apply: $(tail -n 1 "$out/$mutant.log")"
	elif ! compiles "$mutant"; then
		verdict='not ok' why="does not compile: see $out/$mutant.log"
		restore
	elif [ $mode = check ]; then
		verdict=ok why='applies and compiles'
		restore
	elif survives "$mutant"; then
		verdict='not ok' why="SURVIVED: $(said why)"
		restore
	else
		verdict=ok why="killed: $(grep -E '^ *not ok' "$out/$mutant.log" | head -n 1 | sed 's/^ *not ok [0-9]* *//' | cut -c1-120)"
		restore
	fi
	[ "$verdict" = ok ] || bad=1
	echo "$verdict $number $mutant # $why"
done
exit $bad
