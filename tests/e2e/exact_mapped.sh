#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact source, of memory that is mapped twice, moved or given back, in one process and between several:
# the bytes that produce() wrote and consume() read.  No root needed.
. "$(dirname "$0")/../tap.bash"
cd "$dir" || exit 1
source=$OLDPWD/tests/e2e/exact_mapped.c
gcc -O1 -g -o mapped "$source" -lpthread &&
  gcc -O1 -g -fsanitize=thread -fno-builtin-memcpy -fno-builtin-memset -c -o mapped.o "$source" &&
  gcc -o mapped-native mapped.o "$O/libcomm-exact.a" -lpthread || exit 1

# All that one case wrote and read is these many bytes; of the others none has come.
declare -A wants=([private_later]=0 [not_needed]=0 [freed]=0 [removed]=0 [mapped_anew]=0)

crossed() { # crossed STORE
  "$commctl" report --json --by-function --min-share 0 --top 0 --store "$1" |
    jq '(.nodes | map({(.id | tostring): .name}) | add) as $n |
      [.edges[] | select($n[.from | tostring] == "produce" and $n[.to | tostring] == "consume") | .bytes] | add // 0'
}

each() { # each PROGRAM HOW
  local name got want
  for name in $("./$1"); do
    rm -f x.db*
    "$commd" -q --source exact --store x.db -- "./$1" "$name" >log 2>&1
    got=$(crossed x.db) want=${wants[$name]:-8192}
    if [ "$got" = "$want" ]; then ok "$2: $name"; else not_ok "$2: $name" "$got bytes, not $want: $(cat log)"; fi
  done
}

each mapped-native native
for bytes in 1 64; do
  "$commd" -q --source exact --granularity $bytes --store g$bytes.db -- ./mapped-native memfd_across
  check "native: granularity $bytes" [ "$(crossed g$bytes.db)" = 8192 ]
done
# Threads of two processes are of two processes.
"$commctl" report --json --by-process --min-share 0 --top 0 --store g1.db >processes.json
check "native: a child is a process of its own" jq -e '.nodes | length == 2' processes.json

if ! command -v valgrind >/dev/null || [ ! -x "$O/exact/commexact-amd64-linux" ]; then
  skip "under Valgrind" "Valgrind is not installed, or was not when this was built"
  exit $status
fi
each mapped Valgrind
"$commd" -q --source exact --granularity 64 --store v64.db -- ./mapped memfd_across
check "Valgrind: granularity 64" [ "$(crossed v64.db)" = 8192 ]
"$commctl" report --json --by-process --min-share 0 --top 0 --store v64.db >processes.json
check "Valgrind: a child is a process of its own" jq -e '.nodes | length == 2' processes.json
exit $status
