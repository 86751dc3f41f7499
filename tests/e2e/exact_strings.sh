#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that counts by itself, of libc's functions of memory and strings: the bytes that each read and wrote.
# No root needed.
. "$(dirname "$0")/../tap.bash"
cases=tests/e2e/exact_strings.h
gcc -O1 -g -w -fsanitize=thread -fno-builtin -c -o "$dir/s.o" tests/e2e/exact_strings.c &&
  gcc -o "$dir/strings" "$dir/s.o" "$O/libcomm-exact.a" -lpthread || exit 1

crossed() { # crossed STORE FROM TO: of the chars themselves
  "$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$1" |
    jq --arg from "$2" --arg to "$3" '(.nodes | map({(.id | tostring): .name}) | add) as $n |
      [.edges[] | select($n[.from | tostring] == $from and $n[.to | tostring] == $to) | .bytes] | add // 0'
}

while IFS=: read -r line text; do
  read -r want_read want_written <<<"$(sed 's|.*/\* \(.*\) \*/|\1|' <<<"$text")"
  call=$(sed 's|.*__LINE__, \(.*\)) /\*.*|\1|' <<<"$text")
  rm -f "$dir"/x.db*
  "$commd" -q --source exact --granularity 1 --store "$dir/x.db" -- "$dir/strings" "$line" >"$dir/log" 2>&1
  got="$(crossed "$dir/x.db" produce use) $(crossed "$dir/x.db" use consume)"
  if [ "$got" = "$want_read $want_written" ]; then ok "$call"; else not_ok "$call" "$got: $(cat "$dir/log")"; fi
done < <(grep -n '^CASE' $cases)
exit $status
