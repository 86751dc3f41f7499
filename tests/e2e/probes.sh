#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Regions between probes that a program contains (commd --region-probe), by BPF.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"

# sentence WHAT CODE REGEX OPTION...: that exit status, and one line that matches.
sentence() {
  local what=$1 code=$2 regex=$3 out
  shift 3
  out=$(timeout 300 "$commd" --store "$dir/bad.db" "$@" -- true 2>&1 >/dev/null)
  [ $? = "$code" ] && [ "$(grep -vcE '^Try |^$' <<<"$out")" = 1 ] && grep -qE "$regex" <<<"$out" &&
    ok "$what" || not_ok "$what" "$out"
}
sentence "what is no probe" 2 'wants NAME=PATH:PROVIDER:BEGIN,PROVIDER:END, not' --region-probe put=/bin/true:put
sentence "a file that is not there" 1 'cannot open /nowhere: No such file' --region-probe put=/nowhere:p:b,p:c
mkfifo "$dir/fifo"
sentence "a FIFO that nobody writes" 1 'fifo is not a regular file' --region-probe "put=$dir/fifo:p:b,p:c"
sentence "a file without that probe" 1 'has no probe p:c' --region-probe "put=$commctl:p:b,p:c"
sentence "a source that sees no probes" 1 'source perf sees no probes' --source perf --region-probe "put=$commctl:p:b,p:c"

echo '#include <sys/sdt.h>' | gcc -E -x c - >/dev/null 2>&1 ||
  { skip "the rest" "sys/sdt.h is not installed (systemtap-sdt-dev)"; exit $status; }
gcc -O1 -g -Wall -Wextra -Werror -pthread tests/e2e/probed.c -o "$dir/probed" >"$dir/log" 2>&1 ||
  { not_ok "builds" "$(cat "$dir/log")"; exit 1; }
gcc -O1 -g -Wall -Wextra -Werror -pthread -DMARKED -Iinclude tests/e2e/probed.c -o "$dir/marked" >"$dir/log" 2>&1 ||
  { not_ok "builds with marks" "$(cat "$dir/log")"; exit 1; }

profile() { # NAME PROGRAM OPTION...: into $dir/NAME.db; no watchpoints, whose traps tell no region
  local name=$1 program=$dir/$2
  shift 2
  "$commd" -q --source bpf --rate 1000 --slice 500ms --watch 0 --store "$dir/$name.db" \
    --region-probe "put=$program:probed:put,probed:put__done" \
    --region-probe "get=$program:probed:get,probed:get__done,probed:get__failed" "$@" >"$dir/log" 2>&1
}
# Most that is read in TO was written in FROM.  A program's own marks are found some time after its
# start, until then it is in its probes' regions alone.
flows() { # NAME BY FROM TO [LEAST]
  "$commctl" report --store "$dir/$1.db" --json --by "$2" --self --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e --arg from "$3" --arg to "$4" --argjson least "${5:-0.8}" '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {from: $name[.from], to: $name[.to], bytes} | select(.from != "(other)")] as $all |
      ([$all[].bytes] | add) as $bytes | ([$all[] | select(.from == $from and .to == $to).bytes] | add) as $right |
      $right > $least * $bytes or error("\($all)")' "$dir/r" >"$dir/out" 2>&1
}
check() { # WHAT NAME BY FROM TO
  local what=$1
  shift
  if flows "$@"; then ok "$what"; else not_ok "$what" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

profile plain probed --record "$dir/recording" -- "$dir/probed" 1000
check "between probes, one of them behind a semaphore" plain region put get
"$commd" -q --source "replay:$dir/recording" --slice 500ms --store "$dir/replay.db" >"$dir/log" 2>&1
check "a recording has the names" replay region put get
profile marked marked -- "$dir/marked" 6000
# What was read before its marks were found is in "put", half of it on a busy machine; without marks all.
check "marks of the program's own are inside" marked region inner get 0.25
check "and probes around them" marked outermost put get

"$dir/probed" 60000 &
target=$!
pids+=("$target")
profile attach probed --pid "$target" --duration 2s
check "a process that runs already" attach region put get
# The semaphore is what it was: an even number of attachments and ends.
semaphore() {
  local at base
  at=0x$(nm "$dir/probed" | awk '$3 == "probed_put_semaphore" { print $1 }')
  base=0x$(awk -F- 'NR == 1 { print $1 }' "/proc/$target/maps")
  dd if="/proc/$target/mem" bs=1 count=2 skip=$((base + at)) 2>/dev/null | od -An -tu2 | tr -d ' '
}
[ "$(semaphore)" = 0 ] && ok "nothing is attached after the end" || not_ok "nothing is attached after the end" "$(semaphore)"
exit $status
