# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# For scripts that call commctl on stores with known contents, which source it first.  They then are in a folder that
# goes when they end, and make stores there with make_stores KIND...
# Needs jq, python3 and sqlite3.  They end with passed NAME: exit 0 pass, 1 fail; 77 skipped.
set -u
out=$(realpath "${O:-.output}")
ctl=$out/commctl
make=$out/tests/e2e/make_store
for tool in jq python3 sqlite3; do
	command -v $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
make -s -C "$root" O="$out" "$ctl" "$make" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
unset COLUMNS NO_COLOR
export LC_ALL=C TZ=UTC
failed=0

fail()
{
	echo "FAIL: $*"
	failed=1
}

# expect CODE COMMAND...: stdout and stderr are left in ./stdout and ./stderr
expect()
{
	local want=$1 code
	shift
	"$@" >stdout 2>stderr
	code=$?
	[ $code = "$want" ] || { fail "exit $code, not $want: $*"; sed 's/^/    /' stderr; }
}

says()
{
	grep -q -- "$2" "$1" || { fail "$1 does not say '$2':"; sed 's/^/    /' "$1" | head -5; }
}

is()
{
	[ "$1" = "$2" ] || fail "$3: '$1', not '$2'"
}

# make_stores KIND...: KIND.db, of 60 s
make_stores()
{
	local kind
	for kind; do
		$make "$kind" "$kind.db" 60 || exit 1
	done
}

# passed NAME: ends the script
passed()
{
	[ $failed = 0 ] && echo "$1: all passed"
	exit $failed
}
