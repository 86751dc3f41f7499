#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks of a program that has libcomm-alloc.so stand in the report by the place that allocated them, also in a child
# of fork(), of a program that another became by exec(), and in a replay; nobody has the library who did not ask.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
unset LD_PRELOAD COMM_ALLOC_BYTES
library=$O/alloc/libcomm-alloc.so

cat >"$dir/environment" <<'END'
#!/bin/sh
echo "${LD_PRELOAD-}" >"$1"
END
chmod +x "$dir/environment"
names() { # NAME WANTED OPTION...
  local name=$1 wanted=$2
  shift 2
  "$commd" -q --duration 5s --store "$dir/env.db" "$@" -- "$dir/environment" "$dir/has" >"$dir/log" 2>&1
  if [ "$(cat "$dir/has")" = "$wanted" ]; then ok "$name"; else not_ok "$name" "$(cat "$dir/has" "$dir/log")"; fi
  : >"$dir/has"
}
names "a command's environment is left alone" ""
names "--alloc-sites: it names the library" "$library" --alloc-sites
# A sanitizer of commd itself is not to mind what is named.
ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$O/collect/libcomm-collect.so names "before what is named there" "$library:$O/collect/libcomm-collect.so" --alloc-sites
refused() { # NAME SENTENCE COMMAND...
  local name=$1 sentence=$2
  shift 2
  "$@" >"$dir/out" 2>&1
  if [ $? = 2 ] && grep -q -e "$sentence" "$dir/out"; then ok "$name"; else not_ok "$name" "$(cat "$dir/out")"; fi
}
refused "not for a process that runs already" "needs LD_PRELOAD at its start" "$commd" --alloc-sites --pid $$
refused "not for the exact source" "--alloc-sites is for a command" "$commd" --alloc-sites --source exact -- true

out=$(COMM_ALLOC_BYTES=12k LD_PRELOAD=$library /bin/true 2>&1)
if [ "$out" = "libcomm-alloc: COMM_ALLOC_BYTES is no number of bytes from 1 to 1099511627776; 524288 is taken" ]
then ok "a bad number is told"; else not_ok "a bad number is told" "$out"; fi
gcc -static -o "$dir/static" -x c - <<<'#include <stdlib.h>
int main(void) { free(malloc(1 << 20)); return 7; }' 2>"$dir/log" || cat "$dir/log"
LD_PRELOAD=$library "$dir/static" >"$dir/out" 2>&1
if [ $? = 7 ] && [ ! -s "$dir/out" ]; then ok "a static program runs as ever"; else not_ok "a static program runs as ever" "$(cat "$dir/out")"; fi

g++ -O2 -g -pthread -o "$dir/allocated" tests/e2e/allocated.cc >"$dir/log" 2>&1 || {
  not_ok "tests/e2e/allocated.cc compiles" "$(cat "$dir/log")"
  exit 1
}
# What stands at the line of each site there.
sites=$(grep -n '/\* site: ' tests/e2e/allocated.cc | sed 's|^\([0-9]*\):.*site: \([a-z_]*\) .*|allocated.cc:\1 (\2)|' | jq -R . | jq -s .)

# Of the last 10 s, as what was read before the lines were known is told by no site: on a busy machine those of libc are
# known after a minute.
report() { # STORE
  "$commctl" report --store "$1" --json --by object --self --min-share 0 --top 0 --from -10s >"$dir/r" 2>"$dir/err"
}

# As much is read of each, but of the two that have one address in turns half as much; a rate of samples is no count.
are_told() { # STORE
  report "$1" && jq -e --argjson sites "$sites" '[.nodes[] | select(.kind == "object")] as $all |
      [$sites[] as $name | [$all[] | select(.name == $name and .object_kind == "block") | .read_bytes] | add // 0] as $told |
      ([$all[] | select(.object_kind == "block" and (.name | startswith("heap block") | not)) | .name] - $sites) as $wrong |
      ($told | length == 12 and min > 0.1 * max and min > 0) and $wrong == [] or error("\($told) \($wrong)")' \
    "$dir/r" >"$dir/out" 2>&1
}

COMM_ALLOC_BYTES=1000 "$commd" -q --source bpf --rate 1000 --slice 500ms --alloc-sites --store "$dir/s.db" -- \
  "$dir/allocated" exec 240000 >"$dir/log" 2>&1 &
commd_until 150 are_told "$dir/s.db"
pkill -f "^$dir/allocated" # commd has gone, what it started goes on
if are_told "$dir/s.db"; then ok "blocks of known sites"; else not_ok "blocks of known sites" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi

COMM_ALLOC_BYTES=1000 LD_PRELOAD=$library "$dir/allocated" 240000 >"$dir/log" 2>&1 &
pids+=($!)
"$commd" -q --source bpf --rate 1000 --slice 500ms --record "$dir/a.rec" --store "$dir/a.db" --pid $! >"$dir/log" 2>&1 &
commd_until 150 are_told "$dir/a.db"
if are_told "$dir/a.db"; then ok "those of a process that runs already"; else not_ok "those of a process that runs already" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
mv "$dir/r" "$dir/live"
"$commd" -q --source "replay:$dir/a.rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
report "$dir/again.db"
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "a replay tells the same"; else not_ok "a replay tells the same" "$(cat "$dir/log" "$dir/err")"; fi

# jemalloc's own profile of the heap tells it, too, without the library.
cat >"$dir/profiled.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
__attribute__((noipa)) static void *xmalloc(size_t bytes)
{
	void *block = malloc(bytes);
	return memset(block, 1, bytes);
}
__attribute__((noipa)) static long *make_table(void)
{
	long *volatile table = malloc(600000); return memset(table, 1, 600000);
}
__attribute__((noipa)) static long *make_rows(void)
{
	long *volatile rows = xmalloc(500000); return rows;
}
int main(void)
{
	volatile long *table = make_table(), *rows = make_rows();
	for (time_t end = time(NULL) + 240; time(NULL) < end;)
		for (int i = 0; i < 60000; i++)
			table[i] += rows[i] += i;
}
END
gcc -O2 -g -o "$dir/profiled" "$dir/profiled.c" >"$dir/log" 2>&1 || cat "$dir/log"
sites='["profiled.c:11 (make_table)", "profiled.c:15 (make_rows)"]'
by_profile() { # STORE
  report "$1" && jq -e --argjson sites "$sites" '[.nodes[] | select(.kind == "object")] as $all | ([$all[].read_bytes] | add) as $read |
      [$sites[] as $name | [$all[] | select(.name == $name) | .read_bytes] | add // 0] as $told |
      ([$all[] | select(.object_kind == "block" and (.name | startswith("heap block") | not)) | .name] - $sites) as $wrong |
      ($told | min) > 0.02 * $read and $wrong == [] or error("\($told) of \($read) \($wrong)")' "$dir/r" >"$dir/out" 2>&1
}
MALLOC_CONF=prof:true,lg_prof_sample:12 LD_PRELOAD=libjemalloc.so.2 "$dir/profiled" >"$dir/log" 2>&1 &
pids+=($!)
"$commd" -q --source bpf --rate 1000 --slice 500ms --record "$dir/p.rec" --store "$dir/p.db" --pid $! >"$dir/log" 2>&1 &
commd_until 150 by_profile "$dir/p.db"
kill "${pids[-1]}"
if by_profile "$dir/p.db"; then ok "blocks of jemalloc's profile"; else not_ok "blocks of jemalloc's profile" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
mv "$dir/r" "$dir/live"
"$commd" -q --source "replay:$dir/p.rec" --slice 500ms --store "$dir/p2.db" >"$dir/log" 2>&1
report "$dir/p2.db"
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "and a replay"; else not_ok "and a replay" "$(cat "$dir/log" "$dir/err")"; fi
exit $status
