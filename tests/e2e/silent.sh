#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who has fallen silent does not come first: two threads write one table, one after the other, and a third reads it all the
# time.  Of the second one's time no flow from the first one to the reader is stated, nor the other way round.
# A run that states nothing is right, too.  With --rate switches are told; a budget may have no room for them.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to trace switches"
"$commd" --doctor 2>&1 | grep -q '^  bpf  *works' || skip_all "BPF does not work here"
gcc -O1 -Wall -Wextra -Werror -pthread tests/e2e/silent.c -o "$dir/silent" || exit 1

# told WRITER SILENT OPTION: who is stated to feed the reader in a half: right, false or nothing.
told() {
  "$commctl" report --json --by-role --store "$dir/s.db" "$3" >"$dir/half.json" 2>>"$dir/rows"
  jq -c --arg half "$3" '.nodes as $nodes | [$half, .range.bursts, (.edges[] | . as $edge
    | [([.from, .to][] as $id | $nodes[] | select(.id == $id).name), .resolved, .share, .share_low, .share_high])]' \
    "$dir/half.json" >>"$dir/rows"
  jq -r --arg writer "$1" --arg silent "$2" '
    (.nodes | map({key: .id, value: .name}) | from_entries) as $name
    | [.edges[] | select(.resolved and $name[.to] == "reader") | {from: $name[.from], high: .share_high}]
    | if any(.from == $silent) then "false" elif length == 0 then "nothing"
      elif any(.from == $writer and .high >= 0.9) then "right" else "false" end' "$dir/half.json"
}
# run OPTION...: what is told of the two halves of a run, in $first and $second.
run() {
  local turn_ns
  rm -f "$dir"/s.db*
  "$commd" -q "$@" --slice 500ms --store "$dir/s.db" -- "$dir/silent" 5 >"$dir/turn" 2>>"$dir/rows" && [ -s "$dir/turn" ] || return
  turn_ns=$(($(tail -n 1 "$dir/turn") - $(sqlite3 "$dir/s.db" "SELECT start_ns FROM run")))
  # A range is widened to whole slices.
  first=$(told first second --to=$((turn_ns / 1000000 - 1500))ms)
  second=$(told second first --from=$((turn_ns / 1000000 + 1500))ms)
}
# tells WANTED OPTION...: up to three runs, until one says of the second half what is wanted; none says what is false.
tells() {
  local wanted=$1 name="${*:2}: the silent one is not told to be the writer"
  : >"$dir/rows"
  for _ in 1 2 3; do
    run "${@:2}" || { not_ok "${*:2}: commd ends well" "$(cat "$dir/rows")"; return; }
    [ "$first" != false ] && [ "$second" != false ] || { not_ok "$name" "$(cat "$dir/rows")"; return; }
    [[ $second =~ ^($wanted)$ ]] && { ok "$name"; return; }
  done
  skip "$name" "three runs say nothing of it"
}
tells right --rate 200
tells 'right|nothing' --overhead 1
tells right --overhead 5
echo "1..$n"
exit $status
