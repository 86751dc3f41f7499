#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions, objects, files, modules and threads that are not ASCII are the same in every form, and
# two that differ stay two.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

cp tests/e2e/foreign.c "$dir/größe.c"
gcc -O1 -g -pthread -o "$dir/größe" "$dir/größe.c" >"$dir/log" 2>&1 || {
  echo "not ok 1 - tests/e2e/foreign.c compiles"
  exit 1
}

# The kernel cuts names of threads to 15 bytes: of the Cyrillic one seven letters and a half are left.
readers='["same\\xff","same\\xfe","читател\\xd1"]'

# STORE: the threads, each by its name
has_threads() {
  "$commctl" report --json --all --min-share 0 --top 0 --by-role --store "$1" >"$dir/roles" &&
    jq -e --argjson readers "$readers" '[.nodes[].name] as $have |
      (($readers + ["écrit\\x09;,"]) - $have) as $lack | $lack == [] or error("\($have) lack \($lack)")' "$dir/roles"
}

# Ended when all readers were met with the writer.
"$dir/größe" &
target=$!
pids+=($target)
"$commd" -q --rate 400 --slice 500ms --record "$dir/rec" --store "$dir/live.db" --label 'größer' --pid $target >"$dir/log" 2>&1 &
commd_until 120 has_threads "$dir/live.db" >/dev/null 2>&1
kill $target
check "roles" has_threads "$dir/live.db"
"$commd" -q --source "replay:$dir/rec" --slice 500ms --store "$dir/again.db" >"$dir/log" 2>&1
check "a replay has the same" has_threads "$dir/again.db"

# WHAT STRING... : each is in the output
says() {
  local text
  cat >"$dir/said"
  iconv -f UTF-8 -t UTF-8 "$dir/said" >/dev/null || { echo "no UTF-8"; return 1; }
  for text in "$@"; do
    grep -aqF -- "$text" "$dir/said" || { echo "'$text' is not in:"; head -c 2000 "$dir/said"; return 1; }
  done
}
report() { "$commctl" report --store "$dir/live.db" --all --min-share 0 --top 0 "$@"; }

check "functions in JSON" says '"größe_schreiben"' '"読む"' '"größe"' < <(report --by-function --json)
check "lines in CSV" says '/größe.c"' '"größe_schreiben"' < <(report --by-line --csv)
check "objects in JSON" says '"größe"' < <(report --by-object --json)
check "DOT" says '読む' < <(report --by-function --dot)
check "GraphML" says '読む' < <(report --by-function --as graphml)
check "roles in CSV" says '"écrit\x09;,"' '"same\xff"' '"same\xfe"' '"читател\xd1"' < <(report --by-role --csv)
for as in matrix svg; do
  [ $as != svg ] || command -v dot >/dev/null || { skip "$as" "no dot"; continue; }
  check "$as" says '読む' 'größe_schreiben' < <("$commctl" graph --by-function --as $as --store "$dir/live.db")
done
# What is between their texts is no UTF-8.
check "pprof" says '読む' 'größe_schreiben' < <("$commctl" export --as pprof --all --store "$dir/live.db" | gzip -dc | strings -e S | iconv -c -f UTF-8 -t UTF-8)
check "Perfetto" says 'same\xff' 'читател\xd1' < <("$commctl" export --as perfetto --all --store "$dir/live.db" | strings -e S | iconv -c -f UTF-8 -t UTF-8)
check "collapsed stacks" says '読む' 'same\xff' < <("$commctl" export --as collapsed --all --store "$dir/live.db")
"$commctl" html --store "$dir/live.db" -o "$dir/page.html" >"$dir/log" 2>&1
check "the page" says '読む' 'größe_schreiben' 'same\u005cxff' <"$dir/page.html"
check "a terminal with UTF-8" says '読む' 'größe_schreiben' < <(LC_ALL=C.UTF-8 report --by-function)
check "a terminal without" says '\u8aad\u3080' 'gr\u00f6\u00dfe_schreiben' < <(COLUMNS=160 report --by-function)
check "the run's label" says 'größer' < <("$commctl" list --json --store "$dir/live.db")

echo "1..$n"
exit $status
