#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions that a program marks (comm/mark.h) stand in the report, however it was built.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# build NAME COMPILER OPTION...: tests/e2e/marked.c as $dir/NAME.
build() {
  local to=$dir/$1
  shift
  "$@" -O1 -Wall -Wextra -Werror -pthread -Iinclude tests/e2e/marked.c -o "$to" >"$dir/log" 2>&1 && return
  not_ok "builds with $*" "$(cat "$dir/log")"
}

declare -A runs
# profile NAME COMMAND...: into $dir/NAME.db.
profile() {
  local db=$dir/$1.db
  runs[$1]=${*@Q}
  shift
  "$commd" -q --source bpf --rate 1000 --slice 500ms --store "$db" -- "$@" >"$dir/log" 2>&1
}

# told NAME CHECK...: it holds of the run of that name.  One lasts less than a second, of which commd has no CPU for some
# on a busy machine, so that a longer one is made, four times at most.
told() {
  local name=$1
  shift
  for _ in 1 2 3 4; do
    "$@" && return
    [ -n "${runs[$name]-}" ] || return 1
    rm -f "$dir/$name.db"*
    eval "profile ${runs[$name]/\'500\'/2500}"
  done
  "$@"
}

# Most of what goes between regions goes from where it is written to where it is read, and no
# region has a name that the program did not give.  AROUND: the region around all others.
flows() { # NAME [AROUND]
  "$commctl" report --store "$dir/$1.db" --json --by region --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e --arg around "${2:-}" '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {from: $name[.from], to: $name[.to], bytes}] as $all |
      ([$all[] | select(.from | startswith("write")) | select(.to | startswith("read "))]) as $flows |
      ([$flows[].bytes] | add) as $bytes |
      ([$flows[] | select(.from[6:] == .to[5:]).bytes] | add) as $right |
      (.nodes | map(.name) | unique - ["(no region)", "(other)", "write a", "write b", "read a",
        "read b", "reader", "(unreadable)", $around]) as $strange |
      ($bytes > 0 and $right > 0.8 * $bytes and ($strange | length) == 0) or error("\($all) \($strange)")' \
      "$dir/r" >"$dir/out" 2>&1
}

# Little is read outside of all regions, as none of the program's loops is.
inside() { # NAME
  "$commctl" report --store "$dir/$1.db" --json --by region --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e '([.edges[].bytes] | add) as $all | [.nodes[] | select(.name == "(no region)").id] as $none |
      ([.edges[] | select(.to == $none[0]).bytes] | add // 0) as $outside |
      $outside < 0.2 * $all or error("\($outside) of \($all)")' "$dir/r" >"$dir/out" 2>&1
}

check() { # WHAT NAME [AROUND]
  local what=$1
  shift
  if told "$1" flows "$@"; then ok "$what"; else not_ok "$what" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

build pie gcc
build static gcc -static
build cxx g++ -x c++ -std=c++11
build sections gcc -ffunction-sections -Wl,--gc-sections
build lib.so gcc -shared -fPIC -DLIBRARY
for how in pie static cxx sections; do
  profile $how "$dir/$how" 500
  check "marks of a program: $how" $how
done
gcc -O1 -x c -o "$dir/plain" - -ldl <<-'END'
	#include <dlfcn.h>
	int main(int argc, char **argv)
	{
		void (*work)(long, int) = dlsym(dlopen(argv[argc - 1], RTLD_NOW), "marked_work");
		work(700, 0);
		return 0;
	}
END
profile library "$dir/plain" "$dir/lib.so"
check "marks of a library that is loaded later" library

# Memory that the program named is an object of its own, and the rest of its variable is not.
names_objects() { # NAME
  "$commctl" report --store "$dir/$1.db" --json --by object --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e '(.nodes | map(select(.kind == "object"))) as $o | ($o | map(select(.object_kind == "marked"))) as $marked |
      ($marked | map(.name)) == ["halves"] and ($o | map(select(.name == "b")) | length) == 1 and
      ([.edges[].bytes] | add) as $all | ($marked[0].read_bytes > 0.2 * $all / 2) or error("\($o)")' \
      "$dir/r" >"$dir/out" 2>&1
}
if told pie names_objects pie; then ok "named memory"; else not_ok "named memory" "$(cat "$dir/err" "$dir/out")"; fi
"$commctl" report --store "$dir/pie.db" --json --by outermost --min-share 0 --top 0 >"$dir/r"
jq -e '[.nodes[].name] | (index("reader") != null) and (index("read a") == null)' "$dir/r" >/dev/null &&
  ok "--by outermost: what is inside counts" || not_ok "--by outermost: what is inside counts" "$(cat "$dir/r")"
"$commctl" report --store "$dir/pie.db" --json --by thread,region --min-share 0 --top 0 | jq -e '.edges | length > 0' >/dev/null &&
  ok "--by thread,region" || not_ok "--by thread,region"

profile fork "$dir/pie" 500 fork
check "a child of fork() goes on inside" fork "before fork"
"$commctl" report --store "$dir/fork.db" --json --by outermost --self --min-share 0 --top 0 >"$dir/r"
jq -e '[.nodes[].name] | (index("before fork") != null) and (index("write a") == null)' "$dir/r" >/dev/null &&
  ok "its regions are inside" || not_ok "its regions are inside" "$(cat "$dir/r")"
profile exec "$dir/pie" 500 exec
check "what is run by exec() is not inside" exec
profile stop "$dir/pie" 500 stop
check "nothing is sampled between COMM_STOP() and COMM_START()" stop
stopped() {
  "$commctl" report --store "$dir/stop.db" --json | jq -e '.loss.stopped > 0' >/dev/null
}
told stop stopped && ok "and that is told" || not_ok "and that is told" "$("$commctl" report --store "$dir/stop.db" --json | jq -c .loss)"
profile wild "$dir/pie" 500 wild
check "words that point anywhere have no names" wild

# The exact source counts every byte; what samples say is near that.
gcc -O1 -g -fsanitize=thread -Iinclude -c tests/e2e/marked.c -o "$dir/exact.o" &&
  gcc "$dir/exact.o" "$O/libcomm-exact.a" -o "$dir/exact" -lpthread
"$commd" -q --source exact --store "$dir/exact.db" -- "$dir/exact" 300 >"$dir/log" 2>&1
check "the exact source" exact
streams() { # NAME: share of each stream from a "write" region to a "read" region
  "$commctl" report --store "$dir/$1.db" --json --by region --min-share 0 --top 0 |
    jq -c '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {from: $name[.from], to: $name[.to], bytes} | select(.from | startswith("write")) | select(.to | startswith("read "))] |
      (map(.bytes) | add) as $all | map({(.from + " to " + .to): (.bytes / $all)}) | add'
}
exact=$(streams exact)
agrees() {
  sampled=$(streams pie) && jq -en --argjson e "$exact" --argjson s "$sampled" '($e | keys) == ["write a to read a", "write b to read b"] and
  ([$e, $s | keys[]] | unique | map(($e[.] // 0) - ($s[.] // 0) | fabs) | max) < 0.2' >/dev/null
}
told pie agrees && ok "samples agree with it" || not_ok "samples agree with it" "$exact $sampled"
"$commctl" report --store "$dir/exact.db" --json --by function,region --self --min-share 0 --top 0 |
  jq -e '[.nodes[].name] | index("get read a") != null and index("get write a") == null' >/dev/null &&
  ok "a function in two regions is two nodes" || not_ok "a function in two regions is two nodes"

# perf's samples cannot read the words: the daemon reads them later, and says what is certain.
perf() { # NAME ARGUMENT...
  "$commd" -q --source perf --rate 1000 --slice 500ms --store "$dir/$1.db" -- "$dir/pie" "${@:2}" >"$dir/log" 2>&1
}
# The share of what is read in each region; FILTER is of these.
shares() { # NAME FILTER
  "$commctl" report --store "$dir/$1.db" --json --by region --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name | ([.edges[].bytes] | add) as $all |
      ([.edges[] | {name: $name[.to], bytes}] | group_by(.name) |
        map({(.[0].name): ((map(.bytes) | add) / $all)}) | add) as $in | ($in | '"$2"') or error("\($in)")' "$dir/r" >"$dir/out" 2>&1
}
perf long 9000 long
check "perf: regions that last" long "(region not known)"
shares long '(.["read a"] // 0) > 0.15 and (.["read b"] // 0) > 0.15 and (.["(no region)"] // 0) < 0.1' &&
  ok "and most is read in them" || not_ok "and most is read in them" "$(cat "$dir/err" "$dir/out")"
perf short 1500
shares short '(.["(region not known)"] // 0) > 0.6 and (.["read a"] // 0) + (.["read b"] // 0) < 0.05' &&
  ok "perf: of short ones it says that they are not known" ||
  not_ok "perf: of short ones it says that they are not known" "$(cat "$dir/log" "$dir/err" "$dir/out")"
if names_objects short; then ok "perf: named memory"; else not_ok "perf: named memory" "$(cat "$dir/err" "$dir/out")"; fi
perf perfstop 2000 stop
"$commctl" report --store "$dir/perfstop.db" --json | jq -e '.loss.stopped > 0' >/dev/null &&
  ok "perf: nothing is sampled after COMM_STOP()" || not_ok "perf: nothing is sampled after COMM_STOP()" "$(cat "$dir/log")"
chmod 755 "$dir" "$dir/pie"
mkdir -m 777 "$dir/own"
setpriv --reuid nobody --regid nogroup --clear-groups "$commd" -q --source perf --rate 1000 --slice 500ms \
  --store "$dir/own/own.db" -- "$dir/pie" 9000 long >"$dir/log" 2>&1
if [ -s "$dir/own/own.db" ]; then
  cp "$dir/own/own.db" "$dir/own.db"
  check "perf: a user's own program, without rights" own "(region not known)"
else
  skip "perf: a user's own program, without rights" "$(head -1 "$dir/log")"
fi

"$commd" --doctor >"$dir/doctor"
grep -qx 'marks of programs: regions, frames and COMM_STOP() are seen by bpf, kmod; those that last 0.5 s at least by perf; named memory by bpf, kmod, perf' "$dir/doctor" &&
  ok "doctor knows which sources see marks" || not_ok "doctor knows which sources see marks" "$(cat "$dir/doctor")"

# An attached process: from the first sample on.
"$dir/pie" 2500 &
target=$!
"$commd" -q --source bpf --rate 1000 --duration 1s --store "$dir/attach.db" --pid $target
check "an attached process" attach
wait $target
inside attach && ok "it is in its regions from the start" || not_ok "it is in its regions from the start" "$(cat "$dir/out")"
exit $status
