#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Frames that a program marks (COMM_FRAME()): what is read in the frame in which it was written, and what later.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-.output}")
commd=$O/commd commctl=$O/commctl
n=0 status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ok() { n=$((n + 1)); echo "ok $n - $1"; }
skip() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; [ $# -gt 1 ] && printf '%s\n' "$2" | head -30 | sed 's/^/#   /'; status=1; }
[ "$(id -u)" = 0 ] || { echo "ok 1 # SKIP needs root to attach"; exit 0; }

gcc -O1 -Wall -Wextra -Werror -pthread -Iinclude tests/e2e/framed.c -o "$dir/framed" || { not_ok "the program builds"; exit 1; }

# profile NAME ARGUMENT...: into $dir/NAME.db, by $source.
source=bpf program=$dir/framed
options=()
profile() {
  local db=$dir/$1.db
  shift
  rm -f "$db" "${db%.db}.rec"
  "$commd" -q --source $source --rate 1000 --slice 250ms --store "$db" --record "${db%.db}.rec" "${options[@]}" -- "$program" "$@" >"$dir/log" 2>&1
}

# Most of what is known is of the right distance, which is stated; a run that too few samples
# were left of is repeated, but one that states what is wrong.
asks=true # that the right one is confirmed
right() { # NAME WRITTEN
  "$commctl" report --store "$dir/$1.db" --json --by frame --min-share 0 --top 0 >"$dir/r" 2>"$dir/err" &&
    jq -e --arg written "$2" --argjson asks "$asks" '(.nodes | map({(.id): .name}) | add) as $name |
      [.edges[] | {from: $name[.from], to: $name[.to], bytes, share_low, share_high, resolved, samples}] as $all |
      ([$all[] | select(.from != "(frame not known)").bytes] | add) as $known |
      ([$all[] | select(.from == $written)]) as $right |
      if any($all[]; .resolved and .to == "this frame" and .from != $written and .from != "(frame not known)") then
        "states what is wrong: \($all)" | halt_error(3)
      else (($all | all(.to == "this frame")) and $right[0].bytes > 0.75 * $known and
        ($right[0].resolved or ($asks | not))) or error("\($all)") end' "$dir/r" >"$dir/out" 2>&1
}
check() { # NAME FRAMES BACK MS WRITTEN WHAT
  local try said
  for try in 1 2 3; do
    profile "$1" "$2" "$3" "$4"
    right "$1" "$5"
    said=$?
    [ $said = 5 ] || break
    echo "# $6, run $try: $(cat "$dir/log" "$dir/err" "$dir/out")"
  done
  if [ $said = 0 ]; then ok "$6"; else not_ok "$6" "$(cat "$dir/log" "$dir/err" "$dir/out")"; fi
}

check inside 40 0 25 "this frame" "written and read in one frame"
check across 40 1 25 "the frame before" "read one frame later"
check later 40 2 25 "earlier frames" "read two frames later"
# A region of memory has parts of two buffers: of the wrong one nothing is said.
for shift in 4 2276; do
  gcc -O1 -pthread -Iinclude -DSHIFT=$shift tests/e2e/framed.c -o "$dir/shifted" || not_ok "the program builds"
  program=$dir/shifted
  # Buffers that meet in the midst of a region: most of it is not known, and what is known is too little to be confirmed.
  [ $shift = 2276 ] && asks=false
  check shifted 40 1 25 "the frame before" "$shift words behind a boundary: read one frame later"
  check shifted 40 2 25 "earlier frames" "$shift words behind a boundary: read two frames later"
done
program=$dir/framed asks=true

# The exact source counts: all of it is of the right distance, but for what the threads say to each
# other under their lock; and samples say of most the same.
gcc -O1 -g -fsanitize=thread -Iinclude -c tests/e2e/framed.c -o "$dir/exact.o" &&
  gcc "$dir/exact.o" "$O/libcomm-exact.a" -o "$dir/exact" -lpthread || not_ok "the program builds with libcomm-exact"
# largest NAME: the distance of most of what is known, and its share of that.
largest() {
  "$commctl" report --store "$dir/$1.db" --json --by frame --min-share 0 --top 0 2>"$dir/err" |
    jq -r '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | {from: $name[.from], bytes} | select(.from != "(frame not known)")] |
      (map(.bytes) | add) as $all | max_by(.bytes) | "\(.bytes / $all) \(.from)"'
}
for back in 0 1 2; do
  name=$(echo "inside across later" | cut -d' ' -f$((back + 1)))
  "$commd" -q --source exact --store "$dir/exact$back.db" -- "$dir/exact" 20 $back 2 >"$dir/log" 2>&1
  exact=$(largest exact$back) sampled=$(largest "$name")
  [ "${exact#* }" = "${sampled#* }" ] && [ -n "$exact" ] && awk -v share="${exact%% *}" 'BEGIN { exit !(share > 0.99) }' &&
    ok "exact: $back frames back, and samples agree" || not_ok "exact: $back frames back, and samples agree" "$exact; $sampled; $(cat "$dir/log" "$dir/err")"
done

# A probe that a program has says the same, without marks.
if echo '#include <sys/sdt.h>' | gcc -E -x c - >/dev/null 2>&1; then
  gcc -O1 -pthread -Iinclude -DPROBED tests/e2e/framed.c -o "$dir/probed" || not_ok "the program builds with a probe"
  options=(--frame-probe "$dir/probed:framed:frame") program=$dir/probed
  check probed 40 1 25 "the frame before" "by a probe: read one frame later"
  options=() program=$dir/framed
  "$commctl" report --store "$dir/probed.db" --json --by frames --min-share 0 --top 0 >"$dir/r" 2>&1
  jq -e '[.nodes[] | select(.name | startswith("frames ")) | .name | split(" ")[3] | tonumber] | max >= 35 and max <= 40' "$dir/r" >/dev/null &&
    ok "as many as it was passed" || not_ok "as many as it was passed" "$(cat "$dir/r")"
else
  skip "by a probe" "sys/sdt.h is not installed (systemtap-sdt-dev)"
fi
sentence() { # WHAT CODE REGEX OPTION...
  local out
  out=$(timeout 300 "$commd" --store "$dir/bad.db" "${@:4}" -- true 2>&1 >/dev/null)
  [ $? = "$2" ] && [ "$(grep -vcE '^Try |^$' <<<"$out")" = 1 ] && grep -qE "$3" <<<"$out" && ok "$1" || not_ok "$1" "$out"
}
sentence "what is no probe" 2 'wants PATH:PROVIDER:PROBE, not' --frame-probe /bin/true:frame
sentence "two probes" 2 'one --frame-probe is enough' --frame-probe "$commctl:p:b" --frame-probe "$commctl:p:b"
sentence "a file without that probe" 1 '^commd: --frame-probe: .* has no probe p:b' --frame-probe "$commctl:p:b"
sentence "a source that sees no probes" 1 'sees no probes: --frame-probe wants bpf' --source perf --frame-probe "$commctl:p:b"

# perf knows when frames began as far as the daemon looks: those that are long beside that.
source=perf
profile perf 8 1 600
source=bpf
"$commctl" report --store "$dir/perf.db" --json --by frame --min-share 0 --top 0 >"$dir/r" 2>"$dir/err"
# It looks late where others want the CPU, so this much: more than half of what is known is of the right distance,
# and of a wrong one nothing is stated.
jq -e '(.nodes | map({(.id): .name}) | add) as $name | [.edges[] | {from: $name[.from], bytes, resolved} | select(.from != "(frame not known)")] as $known |
  ([$known[].bytes] | add) as $bytes | ([$known[] | select(.from == "the frame before").bytes] | add) > 0.5 * $bytes and
  all($known[]; .from == "the frame before" or (.resolved | not))' "$dir/r" >/dev/null 2>&1 &&
  ok "perf: most is read one frame later" || not_ok "perf: most is read one frame later" "$(cat "$dir/log" "$dir/err" "$dir/r")"

# Of 40 frames 35 at least were seen to begin.
"$commctl" report --store "$dir/across.db" --json --by frames --min-share 0 --top 0 >"$dir/r" 2>&1
jq -e '[.nodes[] | select(.name | startswith("frames ")) | .name | split(" ")[3] | tonumber] | max >= 35 and max <= 40' "$dir/r" >/dev/null &&
  ok "frames by their number" || not_ok "frames by their number" "$(cat "$dir/r")"
"$commctl" report --store "$dir/across.db" --json --by thread,frame --self --min-share 0 --top 0 | jq -e '.edges | length > 0' >/dev/null &&
  ok "--by thread,frame" || not_ok "--by thread,frame"

# As columns of a picture; each frame is of one.
"$commctl" graph "$dir/across.db" --as json --frames=10 >"$dir/r" 2>"$dir/err"
jq -e '[.panels[].title | capture("frames (?<from>[0-9]+) to (?<to>[0-9]+)$") | {from: .from | tonumber, to: .to | tonumber}] as $all |
  ($all | length >= 3 and .[0].from == 1 and (.[-1].to | . >= 35 and . <= 40)) and
  all(range(1; $all | length); $all[.].from == $all[. - 1].to + 1)' "$dir/r" >/dev/null 2>&1 &&
  ok "graphs of frames" || not_ok "graphs of frames" "$(jq .panels[].title "$dir/r"; cat "$dir/err")"

# A replay of the recording says the same.
"$commd" -q --source replay:"$dir/across.rec" --slice 250ms --store "$dir/replay.db" >"$dir/log" 2>&1
numbers() { "$commctl" report --store "$dir/$1.db" --json --by frame --min-share 0 --top 0 | jq -c '[.edges[] | {from, bytes}]'; }
[ "$(numbers across)" = "$(numbers replay)" ] && [ -n "$(numbers replay)" ] &&
  ok "a replay says the same" || not_ok "a replay says the same" "$(numbers across; numbers replay; cat "$dir/log")"

# Without marks, and with frames that are too short for samples.
profile none -4 0 50
for by in frame frames; do
  "$commctl" report --store "$dir/none.db" --by $by >"$dir/out" 2>"$dir/err"
  [ $? = 3 ] && [ ! -s "$dir/out" ] && [ "$(wc -l <"$dir/err")" = 1 ] && grep -q 'has no frames: the program marked none' "$dir/err" &&
    ok "--by-$by: a program without frames" || not_ok "--by-$by: a program without frames" "$(cat "$dir/err" "$dir/out")"
done
profile short 400 1 1
"$commctl" report --store "$dir/short.db" --json --by frame --min-share 0 --top 0 >"$dir/r" 2>&1
jq -e '(.nodes | map({(.id): .name}) | add) as $name | ([.edges[].bytes] | add) as $all |
  [.edges[] | select($name[.from] == "(frame not known)").bytes] | add > 0.9 * $all' "$dir/r" >/dev/null 2>&1 &&
  ok "of frames that are too short nothing is said" || not_ok "of frames that are too short nothing is said" "$(cat "$dir/r")"
exit $status
