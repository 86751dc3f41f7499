#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The type and the field of what is read stand in the report, by the program's debug information,
# in the program itself or in a file of its own, and in a replay.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# Without a shared libc: its debug information, where it is installed, would be read first.
gcc -g -O2 -static -pthread -o "$dir/typed" tests/e2e/typed_flow.c >"$dir/log" 2>&1 || {
  echo "not ok 1 - tests/e2e/typed_flow.c compiles"
  exit 1
}
mkdir "$dir/stripped" "$dir/split" "$dir/split/.debug"
strip -o "$dir/stripped/typed" "$dir/typed"
objcopy --only-keep-debug "$dir/typed" "$dir/split/.debug/typed.debug"
(cd "$dir/split" && strip -o typed ../typed && objcopy --add-gnu-debuglink=.debug/typed.debug typed)

report() { # STORE BY
  "$commctl" report --store "$1" --json --by "$2" --min-share 0 --top 0 >"$dir/r" 2>"$dir/err"
}

# Nearly all that has a type is of the structure; what is written there again and again is a price.
is_order() { # STORE
  report "$1" type && jq -e '[.nodes[] | select(.kind == "type" and .name != "(no type)" and (.other | not))] as $types |
      ([$types[] | select(.name | startswith("struct order.")).read_bytes] | add) as $order |
      ([$types[].read_bytes] | add) as $typed |
      ([$types[] | select(.name == "struct order.price").read_bytes] | add) as $price |
      ($price > 0 and $order > 0.8 * $typed) or error("\($types)")' "$dir/r" >"$dir/out" 2>&1
}

# Files are read when nothing else wants the CPU: how soon is the machine's affair, so the program runs
# until its types are there.
check() { # WHAT PROGRAM
  local target commd_pid
  rm -f "$dir"/s.db* "$dir/s.rec"
  "$2" 240000 >"$dir/log" 2>&1 &
  target=$!
  "$commd" -q --source bpf --rate 1000 --slice 500ms --record "$dir/s.rec" --store "$dir/s.db" --pid $target >"$dir/log" 2>&1 &
  commd_pid=$!
  while kill -0 $commd_pid 2>/dev/null && ! is_order "$dir/s.db"; do sleep 1; done
  kill $target
  wait $commd_pid
  if is_order "$dir/s.db"; then ok "$1"; else not_ok "$1" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

check "a program's own debug information" "$dir/typed"
"$commd" -q --source "replay:$dir/s.rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
report "$dir/s.db" type && mv "$dir/r" "$dir/live"
report "$dir/again.db" type
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "a replay has the same types"; else not_ok "a replay has the same types" "$(cat "$dir/log" "$dir/err")"; fi
report "$dir/s.db" struct
if jq -e '[.nodes[].name] | index("struct order") and (map(select(contains("price"))) == [])' "$dir/r" >"$dir/out" 2>&1
then ok "types without their fields"; else not_ok "types without their fields" "$(cat "$dir/out")"; fi
report "$dir/s.db" function,type
if jq -e '(.nodes | map({(.id): .name}) | add) as $name |
    [.edges[] | select($name[.from] == "set_all struct order.price" and
      $name[.to] == "add_all struct order.price")] | length > 0' "$dir/r" >"$dir/out" 2>&1
then ok "functions at a type"; else not_ok "functions at a type" "$(cat "$dir/out")"; fi

check "debug information in a file of its own" "$dir/split/typed"

rm -f "$dir"/s.db*
"$commd" -q --source bpf --rate 1000 --store "$dir/s.db" -- "$dir/stripped/typed" 1000 >"$dir/log" 2>&1
report "$dir/s.db" type
if [ $? = 3 ] && grep -q 'knows no types.*-dbgsym' "$dir/err"
then ok "without debug information it is said where it comes from"
else not_ok "without debug information it is said where it comes from" "$(cat "$dir/err")"; fi
exit $status
