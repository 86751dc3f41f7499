#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A replay of the committed recording must always give the same matrix: see
# tests/golden/README.md.
#   tests/e2e/golden.sh [--update]
# --update replaces the expected matrices by the current ones, for an intended change.
. "$(dirname "$0")/../tap.bash"
golden=tests/golden recording=tests/golden/migratory.rec
sum=5d12ed363572506a93fde4176f426c5c0d12cd9d583c649ca118e954a7018dee

# replay RECORDING STORE [OPTION...]: its stderr goes to STORE.log.
replay() {
  local recording=$1 store=$2
  shift 2
  "$commd" -q --source replay:"$recording" --slice 500ms --store "$store" "$@" 2>"$store.log"
}

# matrix STORE GROUPING: columns are taken by name, so that a report may get further ones.
matrix() {
  "$commctl" report --csv --by-"$2" --self --min-share 0 --top 0 --store "$1" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    { print $at["from_name"] "," $at["to_name"] "," $at["bytes"] "," $at["samples"] "," $at["level"] }'
}

# splice OUT EDIT: the recording with its records changed by a line of Python,
# in which r is the list of [kind, fields] and the module struct is imported.
splice() {
  python3 - "$recording" "$1" "$2" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, r = 24, []
while at < len(data):
    kind, size = struct.unpack_from("<II", data, at)
    r.append([kind, data[at + 8 : at + 8 + size]])
    at += 8 + size
exec(sys.argv[3])
with open(sys.argv[2], "wb") as out:
    out.write(data[:24])
    for kind, fields in r:
        out.write(struct.pack("<II", kind, len(fields)) + fields)
P
}

if [ "${1:-}" = --update ]; then
  replay "$recording" "$dir/g.db" || { cat "$dir/g.db.log"; exit 1; }
  for grouping in thread function; do
    matrix "$dir/g.db" $grouping >"$golden/${grouping}s.csv"
  done
  wc -l "$golden"/*.csv
  exit 0
fi

if echo "$sum  $recording" | sha256sum --quiet -c; then
  ok "the recording is the one that was made"
else
  not_ok "the recording is the one that was made" "$recording is another file"
fi

replay "$recording" "$dir/g.db"
code=$?
[ $code = 0 ] && [ ! -s "$dir/g.db.log" ] && ok "it is replayed whole" || not_ok "it is replayed whole" "$code: $(cat "$dir/g.db.log")"
for grouping in thread function; do
  matrix "$dir/g.db" $grouping >"$dir/$grouping"
  if [ "$(wc -l <"$dir/$grouping")" -gt 5 ] && cmp -s "$dir/$grouping" "$golden/${grouping}s.csv"; then
    ok "its matrix between ${grouping}s"
  else
    not_ok "its matrix between ${grouping}s" "$(diff "$golden/${grouping}s.csv" "$dir/$grouping")"
  fi
done

# same_matrix NAME STORE
same_matrix() {
  if matrix "$2" function | cmp -s - "$golden/functions.csv"; then
    ok "$1: the same matrix"
  else
    not_ok "$1: the same matrix" "$(matrix "$2" function | diff "$golden/functions.csv" -)"
  fi
}

# A recording of a newer version: a record of an unknown kind in the middle.
splice "$dir/newer.rec" 'r.insert(len(r) // 2, [4711, bytes(48)])'
replay "$dir/newer.rec" "$dir/newer.db" || not_ok "a record of an unknown kind" "$(cat "$dir/newer.db.log")"
same_matrix "a record of an unknown kind" "$dir/newer.db"
got=$("$commctl" report --json --store "$dir/newer.db" | jq -c .loss)
[ "$got" = '{"unknown_records":1}' ] && ok "a record of an unknown kind is counted" ||
  not_ok "a record of an unknown kind is counted" "$got"
"$commd" --source replay:"$dir/newer.rec" --store "$dir/said.db" 2>"$dir/said"
grep -q '1 records of unknown kinds skipped: made by a newer version' "$dir/said" && ok "and said" || not_ok "and said" "$(cat "$dir/said")"

# Fields that a newer version appended to a known record.
splice "$dir/longer.rec" 'r = [[kind, fields + b"\xff" * 8] for kind, fields in r]'
replay "$dir/longer.rec" "$dir/longer.db" || not_ok "longer records" "$(cat "$dir/longer.db.log")"
same_matrix "longer records" "$dir/longer.db"

# A PMU that samples loads: what a watchpoint's first access was is a precise load, too, of which
# two of five found the line in another core and one in another socket's memory.
precise='
hitm, own, far = 0x02 | 0x42 << 5 | 0x10 << 19, 0x02 | 0x0a << 5, 0x02 | 0x102 << 5
loads = 0
for i in range(len(r) - 1, -1, -1):
    kind, f = r[i]
    if kind == 18 and struct.unpack_from("<H", f, 48)[0] & 1:
        source = [hitm, own, hitm, far, own][loads % 5]
        head = f[:8] + f[120:128] + f[16:24]
        r.insert(i + 1, [17, head + f[24:48] + struct.pack("<HHIQ", 1, 200 if source == hitm else 0, 1000, source)])
        loads += 1
open(sys.argv[2] + ".loads", "w").write(str(loads))'
splice "$dir/precise.rec" "$precise"
replay "$dir/precise.rec" "$dir/precise.db" || not_ok "precise loads" "$(cat "$dir/precise.db.log")"
loads=$(cat "$dir/precise.rec.loads")
got=$(sqlite3 "$dir/precise.db" "SELECT o.source, sum(o.samples), sum(o.loads) / 1000, sum(o.timed_cycles) / 200000 FROM origin o
  JOIN slice s ON s.id = o.slice WHERE s.level = 0 GROUP BY 1" | tr '\n' ' ')
want=$(awk -v n="$loads" 'BEGIN { for (i = 0; i < n; i++) at[i % 5]++; own = at[1] + at[4]; hitm = at[0] + at[2]
  printf "modified|%d|%d.0|%d.0 own|%d|%d.0|0.0 remote_memory|%d|%d.0|0.0 ", hitm, hitm, hitm, own, own, at[3], at[3] }')
[ "$loads" -ge 15 ] && [ "$got" = "$want" ] && ok "precise loads are stored by where they found their data" ||
  not_ok "precise loads are stored by where they found their data" "$loads loads: $got, not $want"
got=$("$commctl" report --json --self --by-thread --store "$dir/precise.db" | jq -c '[.edges[] | select(.origin)] |
  {edges: length, loads: ([.[].loads] | add), hitm: (([.[] | .loads * .origin.hitm.share] | add) / ([.[].loads] | add)),
    latency: ([.[] | .latency_cycles // 200] | unique)}')
jq -e '.edges >= 4 and .loads > 10 and .hitm > 0.2 and .hitm < 0.6 and .latency == [200]' <<<"$got" >/dev/null &&
  ok "and reported at the edges" || not_ok "and reported at the edges" "$got"
"$commctl" report --csv --store "$dir/g.db" | head -n 1 | grep -q hitm && not_ok "a report without them has no column of them" ||
  ok "a report without them has no column of them"

# commd was killed: the whole records are replayed, and a sentence says that the recording was
# cut.
head -c $(($(stat -c %s "$recording") - 1000)) "$recording" >"$dir/cut.rec"
replay "$dir/cut.rec" "$dir/cut.db"
code=$?
[ $code = 0 ] && [ "$(wc -l <"$dir/cut.db.log")" = 1 ] && grep -q 'cut short' "$dir/cut.db.log" &&
  [ "$(matrix "$dir/cut.db" function | wc -l)" -gt 5 ] && ok "cut short" || not_ok "cut short" "$code: $(cat "$dir/cut.db.log")"

# A record that is too short for its kind.
splice "$dir/damaged.rec" 'r[len(r) // 2][1] = b""'
replay "$dir/damaged.rec" "$dir/damaged.db"
code=$?
[ $code = 1 ] && [ "$(wc -l <"$dir/damaged.db.log")" = 1 ] && grep -q 'is damaged; what came before is stored' "$dir/damaged.db.log" &&
  ok "damaged" || not_ok "damaged" "$code: $(cat "$dir/damaged.db.log")"
exit $status
