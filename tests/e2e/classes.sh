#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks of the heap stand in the report by the class of the object in them, and what is read there is of that class and
# not of its base: with debug information, stripped, without type_infos, and in a replay.  So do objects of Python, whose
# functions are told, too.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

compile() { # PROGRAM OPTION...
  local program=$1
  shift
  g++ -O2 -pthread "$@" -o "$dir/$program" tests/e2e/classes.cc >"$dir/log" 2>&1 || {
    not_ok "tests/e2e/classes.cc compiles" "$(cat "$dir/log")"
    exit 1
  }
}
compile full -g
compile stripped -s
compile symbols -fno-rtti

report() { # STORE BY
  "$commctl" report --store "$1" --json --by "$2" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err"
}

# tests/e2e/classes.cc reads as much of each class; how much of it a loaded machine samples varies.
are_told() { # STORE TYPES
  report "$1" object && jq -e '["Circle", "Wheel", "Square", "shop::Order<long>"] as $classes |
      [.nodes[] | select(.object_kind == "block")] as $all |
      [$classes[] as $class | [$all[] | select(.name == "\($class) (heap blocks)") | .read_bytes] | add // 0] as $told |
      [$all[] | select(.name | endswith("(heap blocks)")) | .name[:-14]] as $names |
      ([$all[] | select(.name | test("^heap blocks of (25 to 40|393 to 408) B$")) | .read_bytes] | length) as $plain |
      (($told | min) > 0.15 * ($told | max) and ($told | min) > 0 and $names - $classes == [] and $plain == 2) or
      error("\($told) \($names) \($plain)")' "$dir/r" >"$dir/out" 2>&1 &&
    report "$1" type && jq -e --argjson types "$2" '[.nodes[] | select(.kind == "type" and .read_bytes > 0) | .name] as $all |
      ($types - $all == []) or error("\($all)")' "$dir/r" >"$dir/out" 2>&1
}

# Until they are told.
watch() { # WHAT PROGRAM TYPES OPTION...
  local what=$1 program=$2 types=$3
  shift 3
  "$dir/$program" 240 &
  pids+=($!)
  rm -f "$dir"/s.db*
  "$commd" -q --source bpf --rate 1000 --slice 500ms --store "$dir/s.db" --pid $! "$@" >"$dir/log" 2>&1 &
  commd_until 150 are_told "$dir/s.db" "$types"
  kill "${pids[-1]}"
  if are_told "$dir/s.db" "$types"; then ok "$what"; else not_ok "$what" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

types='["Circle", "Wheel", "Square", "Order<long>"]'
watch "classes of a stripped program" stripped "$types"
watch "classes by their symbols" symbols "$types"
watch "classes and what debug information calls their fields" full \
  '["Circle.value", "Wheel.value", "Square.value", "Order<long>.value"]' --record "$dir/s.rec"
report "$dir/s.db" object && mv "$dir/r" "$dir/live"
"$commd" -q --source "replay:$dir/s.rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
report "$dir/again.db" object
if cmp -s <(jq '.nodes | map([.name, .read_bytes])' "$dir/live") <(jq '.nodes | map([.name, .read_bytes])' "$dir/r")
then ok "a replay tells the same"; else not_ok "a replay tells the same" "$(cat "$dir/log" "$dir/err")"; fi

python=$(command -v /usr/bin/python3)
case $("${python:-false}" --version 2>&1) in
"Python 3."1[0-3].*) ;;
*) skip "objects of Python" "there is no CPython of 3.10 to 3.13 in /usr/bin"; exit $status ;;
esac
# tests/e2e/classes.py writes and reads as many of each of the four; its interpreter has some of others.
objects_are_told() { # STORE
  report "$1" object && jq -e '["Order", "Parcel", "dict", "list"] as $classes |
      [.nodes[] | select(.object_kind == "block" and (.name | endswith(" (heap blocks)")))] as $all |
      [$classes[] as $class | [$all[] | select(.name == "\($class) (heap blocks)") | .read_bytes] | add // 0] as $told |
      (($told | min) > 0.005 * ($told | max) and ($told | min) > 0) or error("\($told)")' \
    "$dir/r" >"$dir/out" 2>&1
}
"$python" tests/e2e/classes.py 240 &
pids+=($!)
rm -f "$dir"/s.db*
"$commd" -q --source bpf --rate 1000 --slice 500ms --store "$dir/s.db" --pid $! >"$dir/log" 2>&1 &
commd_until 150 objects_are_told "$dir/s.db"
if objects_are_told "$dir/s.db"; then ok "objects of Python"; else not_ok "objects of Python" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
# Its functions are read()'s and write()'s, by the lines of tests/e2e/classes.py; what wrote is one, what reads the other.
case $("$python" --version 2>&1) in
"Python 3."1[1-3].*) ;;
*) skip "functions of Python" "there is no CPython of 3.11 to 3.13 in /usr/bin"; exit $status ;;
esac
functions_are_told() { # STORE
  report "$1" line && jq -e '[.nodes[] | select(.module == "classes.py" and .read_bytes > 0)] as $all |
      [$all[] | select(.name == "read") | .line] as $read | [$all[] | select(.name == "write") | .line] as $write |
      ($read != [] and $write != [] and ([$read[] | select(. < 47 or . > 57)] == []) and
       ([$write[] | select(. < 32 or . > 44)] == [])) or error("\($all)")' "$dir/r" >"$dir/out" 2>&1
}
if functions_are_told "$dir/s.db"; then ok "functions of Python"; else not_ok "functions of Python" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
exit $status
