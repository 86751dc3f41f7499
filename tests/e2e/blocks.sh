#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks of the heap stand in the report by their size: those of a main heap, of a thread's arena and of a
# mapping, of jemalloc, and in a replay; a heap of another allocator says so.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# Of the last 10 s, as blocks are read little by little, for a part of the time: on a slow machine all are known after a minute.
report() { # STORE
  "$commctl" report --store "$1" --json --by object --self --min-share 0 --top 0 --from -10s >"$dir/r" 2>"$dir/err"
}

# tests/e2e/blocks.c reads as much of each of these; how much of it a loaded machine samples varies.
sizes='["heap blocks of 89 to 104 B", "heap blocks of 985 to 1000 B", "heap blocks of 4K to 5K",
  "heap blocks of 297 to 312 B", "heap block of 192K"]'
jemalloc_sizes='["heap blocks of 97 to 112 B", "heap blocks of 897 to 1024 B", "heap blocks of 4K to 5K",
  "heap blocks of 257 to 320 B", "heap blocks of 192K to 224K"]'
are_told() { # STORE SIZES SHARE
  report "$1" && jq -e --argjson sizes "$2" --argjson share "$3" '[.nodes[] | select(.kind == "object")] as $all |
      [$sizes[] as $name | [$all[] | select(.name == $name and .object_kind == "block") | .read_bytes] | add // 0] as $told |
      ([$all[].read_bytes] | add) as $read |
      (($told | min) > 0.04 * $read and ($told | add) > $share * $read) or error("\($told) of \($read)")' \
    "$dir/r" >"$dir/out" 2>&1
}

# Until more of them are told than must be, as the last 10 s are others when commd has ended.
watch() { # WHAT STORE SIZES PID OPTION...
  local what=$1 store=$2 sizes=$3 pid=$4
  shift 4
  "$commd" -q --source bpf --rate 1000 --slice 500ms --store "$store" --pid "$pid" "$@" >"$dir/log" 2>&1 &
  commd_until 150 are_told "$store" "$sizes" 0.65
  if are_told "$store" "$sizes" 0.5; then ok "$what"; else not_ok "$what" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

gcc -O2 -pthread -o "$dir/blocks" tests/e2e/blocks.c >"$dir/log" 2>&1 || {
  echo "not ok 1 - tests/e2e/blocks.c compiles"
  exit 1
}
LD_PRELOAD=libjemalloc.so.2 "$dir/blocks" 240000 >"$dir/log" 2>&1 &
pids+=($!)
watch "blocks of known sizes, by jemalloc" "$dir/j.db" "$jemalloc_sizes" $!
kill "${pids[-1]}"
"$dir/blocks" 240000 >"$dir/log" 2>&1 &
pids+=($!)
watch "blocks of known sizes" "$dir/s.db" "$sizes" $! --record "$dir/s.rec"
mv "$dir/r" "$dir/live"
"$commd" -q --source "replay:$dir/s.rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
report "$dir/again.db"
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "a replay tells the same"; else not_ok "a replay tells the same" "$(cat "$dir/log" "$dir/err"; diff <(jq -c ".nodes[] | [.name, .read_bytes]" "$dir/live") <(jq -c ".nodes[] | [.name, .read_bytes]" "$dir/r"))"; fi

# Memory that brk(2) gave to somebody else than malloc.
cat >"$dir/own.c" <<'EOF'
#include <unistd.h>
int main(void)
{
	volatile unsigned int *own = sbrk(1 << 16);

	for (unsigned int i = 0; i < 1 << 14; i++)
		own[i] = 0x1234567 * i;
	for (;;)
		for (unsigned int i = 0; i < 1 << 14; i++)
			own[i] += 0x7654321;
}
EOF
gcc -O2 -o "$dir/own" "$dir/own.c"
"$dir/own" &
pids+=($!)
sleep 0.2
"$commd" -q --source bpf --rate 500 --duration 3s --store "$dir/own.db" --pid $! >"$dir/log" 2>&1
report "$dir/own.db"
check "a heap that is not malloc's" jq -e '[.nodes[] | select(.kind == "object") | .name] |
  index("[heap] (allocator not known)") and (map(select(startswith("heap block"))) == []) or error("\(.)")' "$dir/r"
exit $status
