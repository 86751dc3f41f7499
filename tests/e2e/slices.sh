#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that counts by itself is cut into slices of time (commd --source exact --slice): what is read in each, and in all together,
# to the byte.  No root needed.
. "$(dirname "$0")/../tap.bash"

gcc -O1 -g -Wall -Wextra -Werror -fsanitize=thread -c -o "$dir/s.o" tests/e2e/sliced.c &&
  gcc -o "$dir/sliced" "$dir/s.o" "$O/libcomm-exact.a" -lpthread || exit 1

# run [OPTION...]: into $dir/x.db.
run() {
  rm -f "$dir"/x.db*
  timeout 100 "$commd" -q --source exact --store "$dir/x.db" "$@" >"$dir/log" 2>&1
}
# Of each slice the bytes that consume() read, those with none left out; and whether slices follow each other.
slices() {
  python3 - "$dir/x.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
name = dict(db.execute("SELECT context.id, name FROM context JOIN site ON site.id = context.site JOIN function ON function.id = site.function"))
slices = list(db.execute("SELECT id, start_ns, end_ns FROM slice WHERE level = 0 ORDER BY start_ns"))
read = {i: 0 for i, _, _ in slices}
for i, dst, n in db.execute("SELECT slice, dst_context, bytes FROM edge"):
    if i in read and name[dst] == "consume":
        read[i] += n
print(*[int(n) for n in read.values() if n], all(a[2] <= b[1] for a, b in zip(slices, slices[1:])), all(b > a for _, a, b in slices))
PY
}
# Of what each slice read by consume(), how much was written in the first and in the second of the slices in which any was; and
# whether these are slices that were before.
dates() {
  python3 - "$dir/x.db" <<'PY'
import sqlite3, struct, sys
db = sqlite3.connect(sys.argv[1])
name = dict(db.execute("SELECT context.id, name FROM context JOIN site ON site.id = context.site JOIN function ON function.id = site.function"))
span = {i: (start, end) for i, start, end in db.execute("SELECT id, start_ns, end_ns FROM slice WHERE level = 0")}
read = {}
for i, dst, dates in db.execute("SELECT slice, dst_context, dates FROM edge"):
    if i in span and name[dst] == "consume":
        for at, n in struct.iter_unpack("<QQ", dates):
            read.setdefault(i, {})[at] = read.setdefault(i, {}).get(at, 0) + n
ats = sorted({at for of in read.values() for at in of})
print(*["+".join(str(of.get(at, 0)) for at in ats) for _, of in sorted(read.items())],
      all(at < span[i][0] and any(a <= at < b for a, b in span.values()) for i, of in read.items() for at in of))
PY
}
is() { # NAME GOT WANT
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "got $2, want $3: $(cat "$dir/log")"; fi
}
run --slice 10ms -- "$dir/sliced"
is "it ends well" $? 0
is "what is read in each slice" "$(slices)" "800 4000 3200 True True"
is "and when that was written" "$(dates)" "800+0 1600+2400 0+3200 True"
check "what is read in all is counted once" jq -e '(.nodes | map({(.id): .name}) | add) as $name |
  [.edges[] | select($name[.to] == "consume") | .bytes] | add == (100 + 200 + 300 + 400) * 8' <("$commctl" report --json --by-function --self --min-share 0 --top 0 --store "$dir/x.db")
check "what is written is counted once" jq -e '[.totals[] | select(.name == "produce") | .wrote_bytes] == [2 * 8000]' \
  <("$commctl" report --json --by-function --totals --self --min-share 0 --top 0 --store "$dir/x.db")
# Of tens of thousands of edges, too: each way to a word has one.
gcc -O2 -g -fsanitize=thread -Iinclude -c -o "$dir/n.o" tests/e2e/numbered.c && gcc -o "$dir/numbered" "$dir/n.o" "$O/libcomm-exact.a" -lpthread || exit 1
run --slice 10ms --callers=16 -- "$dir/numbered" words
check "of many edges each byte is counted once" jq -e '[.edges[].bytes] | add == 65534 * 8' \
  <("$commctl" report --json --by-path --self --min-share 0 --top 0 --object word --store "$dir/x.db")
run -- "$dir/sliced" uncut
is "nobody asked: there is no such thread" $? 1
exit $status
