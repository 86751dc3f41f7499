#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debug information in the forms that compilers and distributions give it: functions, lines and inlined
# functions are found, or commd says what it does not read.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

cat >"$dir/flow.c" <<'END'
#include <pthread.h>
enum { WORDS = 1 << 14 };
static volatile long data[WORDS];
static inline __attribute__((always_inline)) long take(long i)
{
	return data[i % WORDS];
}
static __attribute__((noinline)) void produce(void)
{
	for (long i = 0;; i++)
		data[i % WORDS] = i;
}
static __attribute__((noinline)) void *consume(void *sum)
{
	for (long i = 0;; i++)
		*(volatile long *)sum += take(i);
	return 0;
}
int main(void)
{
	static long sum;
	pthread_t thread;

	pthread_create(&thread, 0, consume, &sum);
	produce();
}
END
cd "$dir" || exit 1
built() { # NAME OPTION...: a program of that name
  local name=$1
  shift
  gcc -O1 -g -pthread "$@" -o "$name" flow.c >log 2>&1
}
built plain -Wl,--build-id || { echo "not ok 1 - the program compiles"; exit 1; }

# NAME: starts it, and ends commd when $wanted holds of what is known, or later; what commd said is in NAME.log.
profiled() {
  "./$1" &
  local target=$!
  pids+=($target)
  "$commd" -q --rate 400 --slice 500ms --store "$1.db" --pid $target >"$1.log" 2>&1 &
  commd_until 90 holds "$1" >/dev/null 2>&1
  kill $target
  wait $target 2>/dev/null
}
# NAME BY FILTER: of the report.  Without input jq -e is content.
report_has() { "$commctl" report --store "$1.db" --all --min-share 0 --top 0 --json "--by-$2" >report 2>&1 && jq -e "$3" report; }
has_functions() { report_has "$1" function '[.nodes[].name] | (contains(["produce", "consume"])) or error("\(.)")'; }
has_lines() { report_has "$1" line '[.nodes[] | select(.name == "produce") | .source // "" | test("flow.c$")] | any or error("no lines")'; }
has_inlined() { report_has "$1" line '[.nodes[] | .inlined? // ""] | index("take") != null or error("\(.)")'; }
all_of() { has_functions "$1" && has_lines "$1" && has_inlined "$1"; }

# WANTED NAME WHY: checks one.
case_of() {
  eval "holds() { $1 \"\$1\"; }"
  profiled "$2"
  check "$3" "$1" "$2"
}
says_once() { [ "$(grep -c -- "$2" "$1.log")" = 1 ] || { cat "$1.log"; return 1; }; }
silent() { ! grep -q 'not read\|not known' "$1.log" || cat "$1.log"; }

case_of all_of plain "debug information in the program"
check "of which all is read" silent plain
for how in zlib zlib-gnu zstd; do
  if objcopy --compress-debug-sections=$how plain $how 2>log; then
    case_of all_of $how "packed: $how"
    check "$how: of which all is read" silent $how
  else
    skip "packed: $how" "objcopy cannot: $(tail -n 1 log)"
  fi
done

# As rpm's find-debuginfo does it: what .dynsym lacks of the functions, in xz.
nm -D plain --format=posix --defined-only | awk '{print $1}' | sort >dynamic
nm plain --format=posix --defined-only | awk '$2 == "T" || $2 == "t" {print $1}' | sort >functions
comm -13 dynamic functions >keep
objcopy --only-keep-debug plain debug && objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep debug mini 2>log &&
  strip --strip-all -o minidebug plain && xz mini && objcopy --add-section .gnu_debugdata=mini.xz minidebug
case_of has_functions minidebug "a table of symbols in .gnu_debugdata"

# A debug link, with and without a build-id.
built linked -Wl,--build-id=none && objcopy --only-keep-debug linked linked.debug && strip linked &&
  objcopy --add-gnu-debuglink=linked.debug linked
case_of all_of linked "a debug link without a build-id"
built stale -Wl,--build-id=none && objcopy --only-keep-debug stale stale.debug && strip stale &&
  objcopy --add-gnu-debuglink=stale.debug stale && echo more >>stale.debug
holds() { report_has "$1" function '.edges | length > 0'; }
profiled stale
if has_functions stale >out 2>&1; then not_ok "a debug file that was changed is not taken"; else ok "a debug file that was changed is not taken"; fi

for version in 4 5; do
  if built split$version -gsplit-dwarf -gdwarf-$version; then
    lines() { has_functions "$1" && has_lines "$1"; }
    case_of lines split$version "split DWARF $version: functions and lines"
    check "and what is not read is said once" says_once split$version 'without -gsplit-dwarf'
  else
    skip "split DWARF $version" "gcc cannot"
  fi
done
if command -v dwz >/dev/null; then
  built first && built second && dwz -m shared first second &&
    case_of has_functions first "a file that dwz shares" &&
    check "and what is not read is said once" says_once first dwz
else
  skip "a file that dwz shares" "no dwz"
fi

echo "1..$n"
exit $status
