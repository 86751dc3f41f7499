#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Calls of a function that do different things are told apart by the exact source (commd --calls), to the
# byte.  No root needed.
. "$(dirname "$0")/../tap.bash"

gcc -O2 -g -Wall -Wextra -Werror -fsanitize=thread -fno-builtin-memcpy -Iinclude -c -o "$dir/numbered.o" tests/e2e/numbered.c &&
  gcc -o "$dir/numbered" "$dir/numbered.o" "$O/libcomm-exact.a" -lpthread || exit 1

# profile HOW [OPTION...]: into $dir/x.db.
profile() {
  rm -f "$dir"/x.db*
  "$commd" -q --source exact --store "$dir/x.db" "${@:2}" -- "$dir/numbered" "$1" >"$dir/log" 2>&1
}
# edges FILTER [GROUPING]: of all edges, as {"from > to": bytes}.
edges() {
  "$commctl" report --store "$dir/x.db" --json --by "${2:-region}" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {("\($name[.from]) > \($name[.to])"): .bytes}] | add | ('"$1"') or error("\(.)")' "$dir/r" >"$dir/out" 2>&1
}
# told WHAT FILTER [GROUPING]
told() {
  if edges "${@:2}"; then ok "$1"; else not_ok "$1" "$(cat "$dir/log" "$dir/err" "$dir/out" | cut -c -1000)"; fi
}
says() { # WHAT REGEX: and nothing else
  if [ "$(wc -l <"$dir/log")" = 1 ] && grep -qE "$2" "$dir/log"; then ok "$1"; else not_ok "$1" "$(cat "$dir/log")"; fi
}

profile steps --calls step
told "calls that do different things, of two threads" '. == {"step #1 > step #2": 8000, "step #2 > step #3": 2400,
  "step #2 > step #4": 3200, "step #2 > (no region)": 8000}'
[ ! -s "$dir/log" ]
result $? "nothing is said where all calls are told apart"
told "with functions" '. == {"fill step #1 > add_up step #2": 8000, "fill step #2 > add_up step #3": 2400,
  "fill step #2 > add_up step #4": 3200, "fill step #2 > add_up (no region)": 8000}' function,region
profile steps --calls '*'
told "all calls, within each other" '. == {"fill #1 > add_up #1": 8000, "fill #2 > add_up #2": 2400,
  "fill #2 > add_up #3": 3200, "fill #2 > add_up #4": 8000}'
told "and the outermost" '. == {"main #1 > main #1": 18400, "main #1 > step_in_thread #1": 3200}' outermost
profile steps
"$commctl" report --store "$dir/x.db" --by region >"$dir/out" 2>&1
result $(($? != 3)) "nobody asked: there are none"

# Words 99 to 36 of a are written in calls of their own, and the others, with word 0, in the last of these.
profile down --calls down
told "calls within more than 64 others" '(keys | length) == 64 and ."down #64 > down #64" == 37 * 8 and
  ([range(1; 64) as $i | ."down #64 > down #\($i)"] | all(. == 8))'
told "recursion has one outermost call" '. == {"down #1 > down #1": 800}' outermost

profile ticks --calls tick
told "more than 4,096 calls" '(keys | length) == 4097 and ."tick #1 > tick #2" == 8 and ."tick #4095 > tick #4096" == 8 and
  ."tick #4096 > tick, later calls" == 8 and ."tick, later calls > tick, later calls" == 903 * 8'
says "how many are not told apart" "^commd: the first 4096 calls of 'tick' are told apart, and 904 later ones not$"

profile "marked ticks" --calls marked_tick
told "a region within each of so many" '. == {"tick > tick": 39992}'

profile words --calls '[lr]*t'
told "recursion makes no more regions" '(."(other) > (other)" == null) and ([.[]] | add) == 65534 * 8 and
  (keys | map(select(test("^left, later calls > right, later calls"))) | length) == 1' region
profile marks --calls marked
told "marks around and inside" '. == {"outer > outer": 80, "outer > inner": 80, "marked #1 > inner": 80,
  "inner > marked #1": 80, "marked #1 > outer": 80}'
told "and the outermost of these" '. == {"outer > outer": 400}' outermost

# The compiler calls it leap.constprop.0, or not.
plain='with_entries(.key |= gsub("[.]constprop[.]0"; ""))'
profile leaps --calls leap
told "a call that longjmp() leaves" "$plain"' | . == {"leap #1 > (no region)": 1600, "(no region) > (no region)": 2400}'
profile leaps --calls moved
told "a call whose stack grows" "$plain"' | . == {"moved #1 > moved #1": 2400, "(no region) > (no region)": 1600}'

profile forks --calls forks
told "a child of fork() goes on inside" '. == {"forks #1 > forks #1": 8000}'

"$commd" -q --source exact --store "$dir/c.db" --calls loop::turn -- "$O/tests/truth/exact_loop" once >"$dir/log" 2>&1
if "$commctl" report --store "$dir/c.db" --json --by region --self --min-share 0 --top 0 >"$dir/r" 2>>"$dir/log" &&
  jq -e '[.nodes[].name] | (index("loop::turn(int*) #1") != null) and (index("loop::turn(int*) #100") != null)' "$dir/r" >"$dir/out" 2>&1; then
  ok "a C++ function by its name"
else
  not_ok "a C++ function by its name" "$(cat "$dir/log" "$dir/r")"
fi

profile steps --calls nothing
says "no such function" "^commd: no call of 'nothing' was seen: "
profile steps --callers
profile steps --callers --calls step
says "not both" "^commd: --source exact takes either --calls or --callers$"
# Each of a hundred calls within each other reads the word that the innermost one wrote.
profile down --callers=2
told "two callers of each" 'with_entries(.key |= gsub(" from [.]{3}"; "")) | . == {"down from down from down > down from down from down": (98 * 8),
  "down from down from down > down from down from main": 8, "down from down from down > down from main": 8}' path
told "the last of them" '. == {"down from down > down from down": (99 * 8), "down from down > down from main": 8}' caller
profile leaps --callers
told "longjmp() leaves calls, and stacks grow" "$plain"' | . == {"fill from leap > main from catch_leap": 800, "fill from leap > add_up from catch_leap": 800,
  "fill from moved > add_up from moved": 2400}' caller
profile forks --callers=16
told "who called whom goes on in a child" '. == {"fill from forks > add_up from forks": 8000}' caller
profile marks --callers=2
told "callers of code in marks" '. == {"outer fill from main > outer add_up from main": 80, "outer fill from main > inner add_up from marked": 80,
  "inner fill from marked > outer add_up from marked": 80, "outer fill from marked > outer add_up from main": 80, "outer fill from marked > inner add_up from marked": 80}' region,caller
# For two of these there is no room.
profile words --callers=16
told "65,536 paths" '([.[]] | add) == 65534 * 8 and (keys | length) > 30000' path

# Under Valgrind all code counts, and the stack: so the bytes of one object are asked for.
if command -v valgrind >/dev/null && "$commd" --doctor 2>/dev/null | grep -q '^ *exact *works'; then
  gcc -O2 -g -Wall -Wextra -Werror -Iinclude -o "$dir/numbered" tests/e2e/numbered.c -lpthread || exit 1
  # told_of OBJECT WHAT FILTER [GROUPING]
  told_of() {
    "$commctl" report --store "$dir/x.db" --json --by "${4:-region}" --object "$1" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
      jq -e '(.nodes | map({(.id): .name}) | add) as $name |
        [.edges[] | {("\($name[.from]) > \($name[.to])"): .bytes}] | add | ('"$3"') or error("\(.)")' "$dir/r" >"$dir/out" 2>&1
    result $? "Valgrind: $2"
  }
  profile steps --calls step
  told_of a "calls that do different things" '. == {"step #1 > step #2": 8000}'
  told_of b "of two threads" '. == {"step #2 > step #3": 2400, "step #2 > step #4": 3200, "step #2 > (no region)": 8000}'
  told_of b "with functions" '. == {"fill step #2 > add_up step #3": 2400, "fill step #2 > add_up step #4": 3200,
    "fill step #2 > add_up (no region)": 8000}' function,region
  [ ! -s "$dir/log" ]
  result $? "Valgrind: nothing is said where all calls are told apart"
  profile steps --calls '*'
  told_of b "all calls, within each other" '. == {"fill #2 > add_up #2": 2400, "fill #2 > add_up #3": 3200, "fill #2 > add_up #4": 8000}'
  profile steps --calls '[ma]*'
  told_of b "and the outermost" '. == {"main #1 > main #1": (2400 + 8000), "main #1 > add_up #3": 3200}' outermost
  profile down --calls down
  told_of a "calls within more than 64 others" '(keys | length) == 64 and ."down #64 > down #64" == 37 * 8 and
    ([range(1; 64) as $i | ."down #64 > down #\($i)"] | all(. == 8))'
  told_of a "recursion has one outermost call" '. == {"down #1 > down #1": 800}' outermost
  profile ticks --calls tick
  told_of word "more than 4,096 calls" '(keys | length) == 4097 and ."tick #1 > tick #2" == 8 and ."tick #4095 > tick #4096" == 8 and
    ."tick #4096 > tick, later calls" == 8 and ."tick, later calls > tick, later calls" == 903 * 8'
  says "Valgrind: how many are not told apart" "^commd: the first 4096 calls of 'tick' are told apart, and 904 later ones not$"
  profile words --calls '[lr]*t'
  told_of word "recursion makes no more regions" '(."(other) > (other)" == null) and ([.[]] | add) == 65534 * 8 and
    (keys | map(select(test("^left, later calls > right, later calls"))) | length) == 1'
  profile marks --calls marked
  told_of a "marks around and inside" '. == {"outer > outer": 80, "outer > inner": 80, "marked #1 > inner": 80, "marked #1 > outer": 80}'
  told_of b "and of what was written inside" '. == {"inner > marked #1": 80}'
  profile marks --callers
  told_of a "callers of code in marks" '. == {"outer fill from main > inner add_up from marked": 80, "outer fill from main > outer add_up from main": 80,
    "outer fill from marked > inner add_up from marked": 80, "outer fill from marked > outer add_up from main": 80}' region,caller
  profile leaps --calls leap
  told_of a "a call that longjmp() leaves" "$plain"' | . == {"leap #1 > (no region)": 1600}'
  profile leaps --calls moved
  told_of a "what comes after a call" '. == {"(no region) > (no region)": 1600}'
  told_of '*' "a call whose stack grows" "$plain"' | ."fill moved #1 > add_up moved #1" == 2400' function,region
  profile forks --calls forks
  told_of '*' "a child of fork() goes on inside" '."fill forks #1 > add_up forks #1" == 8000' function,region
  # Each of a hundred calls within each other reads the word that the innermost one wrote.
  profile down --callers=2
  told_of a "two callers of each" 'with_entries(.key |= gsub(" from [.]{3}"; "")) | . == {"down from down from down > down from down from down": (98 * 8),
    "down from down from down > down from down from main": 8, "down from down from down > down from main from (below main)": 8}' path
  told_of a "the last of them" '. == {"down from down > down from down": (99 * 8), "down from down > down from main": 8}' caller
  profile leaps --callers
  told_of a "longjmp() leaves calls" "$plain"' | . == {"fill from leap > add_up from main": 800, "fill from leap > main from (below main)": 800}' caller
  profile forks --callers=16
  told_of '*' "who called whom goes on in a child" '."fill from forks > add_up from forks" == 8000' caller
  cat >"$dir/table.cc" <<'END'
struct table {
	volatile long word[100];
	__attribute__((noipa)) long operator[](int i) { return word[i]++; }
};
int main() { static table t; return t[0] + t[1] + t[1]; }
END
  g++ -O2 -g -o "$dir/numbered" "$dir/table.cc" || exit 1
  profile - --calls 'table::operator[]'
  told_of '*' "a bracket that nothing closes" '."table::operator[](int) #2 > table::operator[](int) #3" == 8'
  gcc -O2 -g -Wall -Wextra -Werror -Iinclude -o "$dir/numbered" tests/e2e/numbered.c -lpthread || exit 1
  profile steps --calls nothing
  says "Valgrind: no such function" "^commd: no call of 'nothing' was seen: .*have no symbol"
else
  skip "under Valgrind" "the tool is not built"
fi

"$commd" -q --source bpf --store "$dir/v.db" --calls main -- /bin/true >"$dir/log" 2>&1
result $(($? != 2)) "a source that samples: exit status"
grep -q 'calls wants a source that counts all: --source exact' "$dir/log"
result $? "and what it wants"
exit $status
