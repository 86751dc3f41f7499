#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What one process gives another one through a pipe, a socket or a file stands in an exact run as that, to the byte; what
# comes from elsewhere is the kernel's (channeled.c). Both runtimes. No root needed.
. "$(dirname "$0")/../tap.bash"
flags=(-O2 -g -Wall -Wextra -Werror)
gcc "${flags[@]}" -o "$dir/channeled-v" tests/e2e/channeled.c &&
  gcc "${flags[@]}" -fsanitize=thread -c -o "$dir/c.o" tests/e2e/channeled.c &&
  gcc -o "$dir/channeled-s" "$dir/c.o" "$O/libcomm-exact.a" -lpthread || exit 1

# edges STORE FILTER: of the functions of the program and what stands for channels, as {"from > to": bytes}.
edges() {
  "$commctl" report --by-function --self --json --min-share 0 --top 0 --store "$dir/$1.db" >"$dir/report" &&
    jq -e '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {key: "\($name[.from]) > \($name[.to])", value: .bytes} | select(.key | test("fill_|drain_") and (test("main") | not))] | from_entries |
      ('"$2"') or error("\(.)")' "$dir/report"
}
runtime() { # NAME
  rm -f "$dir/$1.db"*
  timeout 100 "$commd" -q --source exact --store "$dir/$1.db" "${@:2}" -- "$dir/channeled-$1" >"$dir/log" 2>&1
  result $? "$1: it runs ${*:2}"
}
ways='. == {"fill_pipe > [pipe]": 800, "[pipe] > drain_pipe": 800, "fill_socket > [socket]": 800, "[socket] > drain_socket": 800,
  "fill_file > [file]": 800, "[file] > drain_file": 800, "fill_device > [kernel]": 800, "[kernel] > drain_device": 800}'
runtime s
check "s: by which way" edges s "$ways"
# Within a path of calls each is there once more.
runtime s --callers
check "s: by which way, with callers" edges s "$ways"
runtime s '--function=[[]pipe]'
check "s: what goes into pipes alone" edges s '. == {"fill_pipe > [pipe]": 800}'
if command -v valgrind >/dev/null && [ -x "$O/exact/commexact-amd64-linux" ]; then
  runtime v
  check "v: by which way" edges v "$ways"
  runtime v '--function=[[]pipe]'
  check "v: what goes into pipes alone" edges v '. == {"fill_pipe > [pipe]": 800}'
else
  skip "v" "Valgrind is not installed, or was not when this was built"
fi
exit $status
