#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a thread gives another one through a pipe or a socket has its writer in an exact run, to the byte; what goes into these,
# through a file, or comes from a program that is not followed, stands there as that, and what comes from elsewhere is the
# kernel's (channeled.c). Both runtimes. No root needed.
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
  timeout 100 "$commd" -q --source exact --store "$dir/$1.db" "${@:2}" -- "$dir/channeled-$1" $argument >"$dir/log" 2>&1
  result $? "$1: it runs ${*:2}$argument"
}
# Of Valgrind less the loop's own bytes.
ways='with_entries(select(.value > 8)) == {"fill_pipe > [pipe]": 800, "fill_pipe > drain_pipe": 800, "fill_socket > [socket]": 800, "fill_socket > drain_socket": 800,
  "fill_file > [file]": 800, "[file] > drain_file": 800, "fill_device > [kernel]": 800, "[kernel] > drain_device": 800, "fill_left > [pipe]": 800, "fill_right > [pipe]": 800,
  "fill_left > drain_first": 800, "fill_right > drain_first": 400, "fill_right > drain_last": 400, "[pipe] > drain_stranger": 800}'
into='. == {"fill_pipe > [pipe]": 800, "fill_left > [pipe]": 800, "fill_right > [pipe]": 800}'
# What was in the pipe goes from one process to another.
processes() {
  "$commctl" report --by-process --function fill_pipe --json --min-share 0 --top 0 --store "$dir/$1.db" >"$dir/report" &&
    jq -e '[.edges[].bytes] == [800] or error("\(.edges)")' "$dir/report"
}
# More pipes than there is memory for are full of single bytes, and the one that was filled first is read.
too_many() {
  argument=full
  runtime "$1"
  argument=
  check "$1: nobody's, of what was forgotten" edges "$1" '. == {"[pipe] > drain_pipe": 800}'
  check "$1: and that is said" grep -qE '^commd: [1-9][0-9]* bytes in pipes and sockets were more than' "$dir/log"
}
argument=
runtime s
check "s: by which way" edges s "$ways"
check "s: from which process" processes s
# Within a path of calls each is there once more.
runtime s --callers
check "s: by which way, with callers" edges s "$ways"
runtime s '--function=[[]pipe]'
check "s: what goes into pipes alone" edges s "$into"
too_many s
gcc "${flags[@]}" -Wno-nonnull -o "$dir/refused" tests/e2e/refused.c && gcc "${flags[@]}" -Wno-nonnull -fsanitize=thread -c -o "$dir/r.o" tests/e2e/refused.c &&
  gcc -o "$dir/refused-s" "$dir/r.o" "$O/libcomm-exact.a" -lpthread || exit 1
"$dir/refused" >"$dir/plain"
timeout 100 "$commd" -q --source exact --store "$dir/refused.db" -- "$dir/refused-s" >"$dir/followed" 2>"$dir/log"
check "s: what the kernel refuses it refuses" diff "$dir/plain" "$dir/followed"
if command -v valgrind >/dev/null && [ -x "$O/exact/commexact-amd64-linux" ]; then
  runtime v
  check "v: by which way" edges v "$ways"
  check "v: from which process" processes v
  runtime v '--function=[[]pipe]'
  check "v: what goes into pipes alone" edges v "$into"
  too_many v
else
  skip "v" "Valgrind is not installed, or was not when this was built"
fi
exit $status
