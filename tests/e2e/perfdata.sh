#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files of perf record as a source: known communication is named, whatever form the file has;
# refusals are one sentence; and perf itself reads what tests/perfdata.py writes, and commd what
# perf writes.
. "$(dirname "$0")/../tap.bash"
# Whatever perf has in its cache (~/.debug) must not be found.
export HOME=$dir

# read_file KIND [PROGRAM]: makes the file and reads it into KIND.db; stderr goes to KIND.log.
read_file() {
  tests/perfdata.py "$1" "$dir/$1.data" ${2:+"$2"} || return 1
  "$commd" --source perfdata:"$dir/$1.data" --slice 100ms --store "$dir/$1.db" 2>"$dir/$1.log"
}
# report KIND JQ [OPTION...]: is JQ true of the report?
report() {
  local kind=$1 filter=$2 json
  shift 2
  json=$("$commctl" report --json "$@" --store "$dir/$kind.db") || return 1
  jq -e "$filter" >/dev/null <<<"$json" || { jq -c '.run, .loss, .edges[:3]' <<<"$json"; return 1; }
}
# WRITER to READER is all that goes from thread to thread: LONER reads its own.
edge='(.nodes | map({key: (.id | tostring), value: .name}) | from_entries) as $n
  | [.edges[] | {from: $n[.from | tostring], to: $n[.to | tostring], bytes}]'
alone="($edge | map(select(.bytes > 100000))) as \$e | (\$e | length) == 1 and \$e[0].from == \"writer\" and \$e[0].to == \"reader\""

for kind in plain pipe one-event spe many-kinds no-source killed packed; do
  read_file $kind
  code=$?
  if [ $code = 0 ] && report $kind "$alone" --by-thread; then
    ok "$kind: the edge is named, and no other"
  else
    not_ok "$kind: the edge is named, and no other" "$code: $(cat "$dir/$kind.log"; report $kind false --by-thread)"
  fi
done
check "the run says where it comes from" report plain '.run.source == "perfdata" and .run.host == "otherhost"
  and .run.target == "perf mem record ./prog" and (.run.event | startswith("cpu/mem-loads,ldlat=30/P every 1000"))
  and (.run.notes | startswith("recorded on a processor") and contains("not measured") and contains("by latency"))'
check "what is lost is counted" report many-kinds '.loss.ring_full == 12 and .loss.throttled == 1
  and .loss.no_address == 1 and .loss.imprecise == 1 and .loss.unknown_records == 1 and .loss.malformed == 2'
check "loads from modified lines" report plain '[.edges[] | select(.bytes > 100000) | .origin.hitm.share] | .[0] > 0.99' --by-thread
check "without the file, code has the file's name and offset" report plain '[.nodes[].name] | index("prog+0x1000")' --by-function
check "and that is said once" test "$(grep -c '/opt/other/prog.*perf archive' "$dir/plain.log")" = 1
read_file weights
check "weights of three parts, attributes of 96 bytes, a dummy for the mappings: each sample is there, and its latency" report weights \
  '.range.samples == 40 and .range.read_bytes == 20 * 10009 * 8 and .loss == {} and (.edges | length) == 1
  and .edges[0].loads == 20 and .edges[0].latency_cycles == 209.5 and .edges[0].origin.hitm.share == 1' --by-thread --all
check "a file cut short is read" grep -q 'was cut short' "$dir/killed.log"
read_file exec
check "after exec() code is the new program's" report exec '[.nodes[].name] | index("second+0x1000") and (index("prog+0x1000") | not)' --by-function

# The program is here, with the build-id that was recorded.
cat >"$dir/prog.c" <<'C'
void fill(long *to) { *to = 1; }
long drain(const int *from) { return *from; }
int main(void) { return 0; }
C
gcc -O1 -g -fPIE -pie -Wl,--build-id -o "$dir/prog" "$dir/prog.c"
read_file here "$dir/prog"
check "with the file, functions are named" report here '[.nodes[].name] | index("fill") and index("drain")' --by-function
check "and lines" report here '[.nodes[] | select(.source // "" | endswith("/prog.c")) | .line] | sort == [1, 2]' --by-line
check "and nothing is said" test "$(grep -c 'are not here' "$dir/here.log")" = 0
# The reads are of 4 bytes, which the code alone says: half of what a guess makes of them.
check "and sizes are the code's" report here '[.edges[] | select(.bytes > 100000) | .bytes] | .[0] > 7000000 and .[0] < 9000000' --by-thread
# Another build in its place has other functions at these places.
cp "$dir/prog" "$dir/kept"
echo 'int further(void) { return 7; }' >>"$dir/prog.c"
tests/perfdata.py here "$dir/other.data" "$dir/prog"
gcc -O2 -g -fPIE -pie -Wl,--build-id -o "$dir/prog" "$dir/prog.c"
"$commd" -q --source perfdata:"$dir/other.data" --slice 100ms --store "$dir/other.db" 2>"$dir/other.log"
check "a file of another build-id is none" report other '[.nodes[].name] | (index("fill") | not)' --by-function
id=$(readelf -n "$dir/kept" | sed -n 's/.*Build ID: //p')
mkdir -p "$dir/.debug/.build-id/${id:0:2}/${id:2}"
cp "$dir/kept" "$dir/.debug/.build-id/${id:0:2}/${id:2}/elf"
rm "$dir/other.db"
"$commd" -q --source perfdata:"$dir/other.data" --slice 100ms --store "$dir/other.db" 2>"$dir/other.log"
check "but found where perf archive's is unpacked" report other '[.nodes[].name] | index("fill") and index("drain")' --by-function
check "under its own name" report other '[.nodes[] | select(.name == "fill") | .module] | .[0] == "prog"' --by-function

# Perf's own file, of the module's memory PMU: see tests/golden/README.md.
"$commd" -q --source perfdata:tests/golden/softpmu.data --store "$dir/soft.db" 2>"$dir/soft.log"
check "a file of perf's own is read whole" report soft '.loss == {} and .run.event == "commprof/mem/ every 500000"
  and (.run.target | startswith("perf record -q -e commprof/mem/"))' --all
check "with its 153 samples" test "$("$commctl" list --json --store "$dir/soft.db" | jq '[.. | .samples? // empty] | .[0]')" = 153
check "between the threads of the ring" report soft '[.nodes[] | select(.written_bytes + .read_bytes > 0) | .name] | sort == ["ring-0", "ring-1", "ring-2"]' --by-thread --all
check "in the code that was mapped" report soft '[.nodes[].name] | index("truth-kernels+0x5000")' --by-function --all --self

# refused KIND STATUS SENTENCE
refused() {
  local got out
  tests/perfdata.py "$1" "$dir/refused.data"
  out=$("$commd" --source perfdata:"$dir/refused.data" --store "$dir/refused.db" 2>&1)
  got=$?
  if [ $got = "$2" ] && [ "$(wc -l <<<"$out")" = 1 ] && grep -qE "$3" <<<"$out" && [ ! -e "$dir/refused.db" ]; then
    ok "$1 is refused"
  else
    not_ok "$1 is refused" "$got: $out"
  fi
}
refused ambiguous 1 'do not tell which event.*--sample-identifier'
refused no-address 1 'no samples of memory accesses.*perf mem record'
refused no-time 1 'lack their time'
refused aux 1 'perf inject --itrace'
refused aux-pipe 1 'perf inject --itrace'
refused other-compression 1 'is compressed by other means than zstd.*-z'
refused swapped 1 'other byte order'
refused old 1 'before 2012'
read_file far
check "a time that no clock shows is no event" report far '.loss.malformed == 1 and .run.end_ns < 4700000000000000000'
for kind in damaged zero-size; do
  read_file $kind
  [ $? = 1 ] && grep -q 'is damaged.*what came before is stored' "$dir/$kind.log" && report $kind "$alone" --by-thread &&
    ok "$kind: what came before is stored" || not_ok "$kind: what came before is stored" "$(cat "$dir/$kind.log")"
done

if ! command -v perf >/dev/null; then
  echo "ok $((n + 1)) - perf reads and writes such files # SKIP there is no perf"
  exit $status
fi
check "perf finds all samples of such a file" test "$(perf script -i "$dir/plain.data" 2>/dev/null | wc -l)" = 8000
check "perf's own order is the same" test "$(perf script -i "$dir/plain.data" -F time 2>/dev/null | sort -c 2>&1 | wc -l)" = 0
# What perf writes here has addresses of page faults, but no accesses.
for form in "-o $dir/p.data" "-o -"; do
  # shellcheck disable=SC2086 # options
  if ! perf record -q -d -e page-faults:u $form -- true >"$dir/out" 2>"$dir/log"; then
    echo "ok $((n = n + 1)) - perf record $form # SKIP perf may not record here"
    continue
  fi
  [ "$form" = "-o -" ] && cp "$dir/out" "$dir/p.data"
  out=$("$commd" --source perfdata:"$dir/p.data" --store "$dir/refused.db" 2>&1)
  [ $? = 1 ] && grep -q 'no samples of memory accesses' <<<"$out" && ok "perf's own file is read up to its events" ||
    not_ok "perf's own file is read up to its events" "$out"
done

# As accesses: an event of the processor, whose name says that it loads.
loads() { # FROM TO
  python3 -c 'import struct, sys
raw = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<I", raw, struct.unpack_from("<Q", raw, 24)[0], 4)
open(sys.argv[2], "wb").write(raw.replace(b"page-faults:u", b"page-loads:u\0"))' "$1" "$2"
}
read_loads() { # NAME
  loads "$dir/$1.data" "$dir/$1-loads.data" && "$commd" -q --source perfdata:"$dir/$1-loads.data" --slice 100ms --store "$dir/$1.db" &&
    "$commctl" report --json --all --store "$dir/$1.db" | jq -c '[.range.samples, .range.accesses, .range.read_bytes, .loss]'
}
if perf record -q -z -d -c 1 -e page-faults:u -o "$dir/z.data" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ls -R /usr/lib/python3; done' >/dev/null 2>"$dir/log" &&
  perf inject -i "$dir/z.data" -o "$dir/unpacked.data" >/dev/null 2>&1; then
  z=$(read_loads z) plain=$(read_loads unpacked)
  [ "$z" = "$plain" ] && [ "$(jq '.[1] > 500' <<<"$z")" = true ] && ok "what perf compresses is what perf inject makes of it" ||
    not_ok "what perf compresses is what perf inject makes of it" "$z, not $plain"
else
  echo "ok $((n = n + 1)) - what perf compresses # SKIP perf record -z does not record here: $(tail -1 "$dir/log")"
fi
exit $status
