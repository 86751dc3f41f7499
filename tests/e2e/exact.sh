#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact source, from the command to the report: equal to the bytes that the program
# communicated.  No root needed.
. "$(dirname "$0")/../tap.bash"
kernels=$O/tests/truth/truth-kernels
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"

# sentence NAME CODE REGEX COMMAND...: exit status, and one line that matches.
sentence() {
  local name=$1 code=$2 regex=$3 out got
  shift 3
  out=$(timeout 300 "$@" 2>&1 >/dev/null </dev/null)
  got=$?
  if [ $got != "$code" ]; then
    not_ok "$name" "exit status $got, not $code: $out"
  elif ! grep -qE "$regex" <<<"$out" || [ "$(grep -vcE '^Try |^$' <<<"$out")" -gt 1 ]; then
    not_ok "$name" "not one sentence with /$regex/: $out"
  else
    ok "$name"
  fi
}

# Errors name what is missing, also where Valgrind and its tool are not there.
mkdir "$dir/empty"
sentence "no Valgrind" 1 'install the package valgrind' env PATH="$dir/empty" "$commd" --source exact --store "$dir/x.db" -- /bin/true
sentence "no command" 2 'name one target' "$commd" --source exact --store "$dir/x.db"
sentence "no process that runs already" 2 'no --pid' "$commd" --source exact --pid 1 --store "$dir/x.db"
PATH=$dir/empty "$commd" --doctor >"$dir/doctor"
check "doctor says what to do" /bin/grep -qE '^  exact +not here: .*install' "$dir/doctor"
# compared REPORT.json TRUTH.csv FILTER: an empty answer is a failure too.
compared() {
  python3 tests/truth/compare.py "$1" "$2" --json >"$dir/compared" && [ -s "$dir/compared" ] &&
    cat "$dir/compared" && jq -e "$3" "$dir/compared"
}
# json FILE FILTER: the same for one file.
json() { [ -s "$1" ] && jq -e "$2" "$1"; }

# A program linked with libcomm-exact counts by itself and needs no Valgrind.
native() { # native KERNEL PROGRAM [OPTION...]
  local db=$dir/n.db kernel=$1 program=$2
  shift 2
  rm -f "$db"* "$dir"/n*.json "$dir/n.csv"
  env PATH="$dir/empty" "$commd" -q --source exact --store "$db" "$@" -- "$program" "$kernel" --threads 4 --seconds 0.2 --out "$dir/n.csv" >"$dir/log" 2>&1
  check "native $kernel: exit status" [ $? = 0 ]
  "$commctl" report --json --by-thread --min-share 0 --top 0 --store "$db" >"$dir/n.json"
  "$commctl" report --json --by-thread --min-share 0 --top 0 --first-read --store "$db" >"$dir/n1.json"
  # Volumes are per second, and the two were not measured over quite the same seconds.
  check "native $kernel: the report is the true matrix" compared "$dir/n.json" "$dir/n.csv" '.error < 1e-9 and .false_est == 0'
  check "native $kernel: something was read" json "$dir/n.json" '.edges | length > 3'
  check "native $kernel: bytes are the true ones" [ "$(jq '[.edges[].bytes] | add' "$dir/n.json")" = "$(awk -F, '/^[0-9]/ && $1 != $2 { b += $3 } END { printf "%.0f", b }' "$dir/n.csv")" ]
  check "native $kernel: first reads are the true ones" [ "$(jq '[.edges[].bytes] | add' "$dir/n1.json")" = "$(awk -F, '/^[0-9]/ && $1 != $2 { b += $4 } END { printf "%.0f", b }' "$dir/n.csv")" ]
}
native ring "$kernels-exact"
check "native: threads have names" json "$dir/n.json" '[.nodes[].name] | contains(["ring-0", "ring-3"])'
"$commctl" report --json --by-function --min-share 0 --top 0 --store "$dir/n.db" >"$dir/nf.json"
check "native: functions have names" json "$dir/nf.json" '(.nodes | map({(.id): .name}) | add) as $n | .edges[0] | $n[.from] == "put" and $n[.to] == "check"'
"$commctl" report --json --by-line --min-share 0 --top 0 --store "$dir/n.db" >"$dir/nl.json"
check "native: lines are those of the source, and not all of a function is one" json "$dir/nl.json" '.edges[0].to as $t | (.nodes[] | select(.id == $t) | .source | test("regular.c")) and ([.nodes[].line] | unique | length > 3)'
native processes "$kernels-exact"
check "native: processes have names" json "$dir/n.json" '[.nodes[].name] | contains(["processes-0", "processes-3"])'
strip -o "$dir/stripped" "$kernels-exact"
# The same in slices, which are cut while its threads count.
native transpose "$kernels-exact" --slice 10ms
native migratory "$dir/stripped" --granularity 4
check "native: granularity" json "$dir/n.json" '.run.granularity_bytes == 4 and .run.event == "every instrumented access"'
"$commd" -q --source exact --granularity 64 --store "$dir/ns.db" -- "$kernels-exact" processes --threads 4 --seconds 0.2 --out "$dir/ns.csv" >"$dir/log" 2>&1
"$commctl" report --json --by-thread --min-share 0 --top 0 --store "$dir/ns.db" >"$dir/ns.json"
# But for the words whose neighbours in a granule have other writers.
check "native: processes share memory at any granularity" compared "$dir/ns.json" "$dir/ns.csv" '.error < 0.01'
sentence "native: a granularity it does not know" 1 'up to 64' "$commd" --source exact --granularity 128 --store "$dir/x.db" -- "$kernels-exact" ring
"$commd" -q --source exact --duration 3s --store "$dir/nd.db" -- "$O/tests/truth/exact_loop" 2>"$dir/log"
"$commctl" report --json --self --store "$dir/nd.db" >"$dir/nd.json"
check "native: ended by SIGTERM, it is stored" json "$dir/nd.json" '.run.how == "duration" and .range.read_bytes > 10000'
"$commd" -q --source exact --store "$dir/ne.db" -- "$O/tests/truth/exact_loop" once 2>"$dir/log"
"$commctl" report --json --self --store "$dir/ne.db" >"$dir/ne.json"
# 100 turns of 4,095 words, and the few bytes that main() and turn() read of their own.
check "native: _exit()" json "$dir/ne.json" '.run.how == "target exited" and .range.read_bytes >= 1638000 and .range.read_bytes < 1640000'
sentence "native: no ages" 3 "without ages" "$commctl" report --fresh --store "$dir/ne.db"
check "native: C++ names are readable" sh -c "'$commctl' report --by-function --self --store '$dir/nd.db' | grep -q 'loop::turn(int\*)'"

# Of each kind one object and one type; what is read of a type is as much as its size says.
gcc -O2 -g -fsanitize=thread -fno-builtin-memcpy -c -o "$dir/named.o" tests/e2e/exact_named.c &&
  gcc -o "$dir/named" "$dir/named.o" "$O/libcomm-exact.a" -lpthread
"$commd" -q --source exact --store "$dir/nn.db" -- "$dir/named" 2>"$dir/log"
"$commctl" report --json --by-object --self --min-share 0 --top 0 --store "$dir/nn.db" >"$dir/nn.json"
read_of() { # FILTER BYTES
  json "$dir/nn.json" '[.nodes[] | select('"$1"')] | length == 1 and .[0].read_bytes == '"$2"
}
check "native: a variable" read_of '.object_kind == "static" and .name == "counts"' $((1000 * 8))
check "native: a large variable" read_of '.object_kind == "static" and .name == "large"' $((100000 * 8))
check "native: heap blocks of one line" read_of '.object_kind == "heap" and (.name | test("exact_named.c:[0-9]+ .make_pair"))' $((100 * 12))
check "native: a mapping" read_of '.object_kind == "anonymous" and (.name | test("exact_named.c:[0-9]+ .main"))' $((512 * 8))
check "native: a mapping of a file" read_of '.object_kind == "shared" and .name == "exact_named_file"' $((512 * 8))
check "native: a thread's stack" json "$dir/nn.json" '[.nodes[] | select(.object_kind == "stack") | .read_bytes] | index(64 * 8) != null'
check "native: sharing says that lines are not counted" sh -c "'$commctl' sharing --store '$dir/nn.db' | tr '\n' ' ' | grep -q 'does not count which cache lines'"
check "native: the run notes what is not counted" json "$dir/nn.json" '.run.notes | test("vectors.*assembly")'
"$commctl" report --json --by-type --self --min-share 0 --top 0 --store "$dir/nn.db" >"$dir/nn.json"
check "native: a field" read_of '.name == "struct pair.value"' $((100 * 8))
check "native: another field" read_of '.name == "struct pair.key"' $((100 * 4))
check "native: what memcpy() reads has no type" json "$dir/nn.json" '[.nodes[] | select(.name == "(no type)") | .read_bytes][0] >= 512 * 8'

if ! command -v valgrind >/dev/null || [ ! -x "$O/exact/commexact-amd64-linux" ]; then
  echo "ok $((n + 1)) # SKIP Valgrind is not installed, or was not when this was built"
  exit $status
fi
sentence "no tool" 1 'COMMPROF_EXACT' env COMMPROF_EXACT="$dir/empty" "$commd" --source exact --store "$dir/x.db" -- /bin/true
sentence "no such command" 1 'cannot run no-such-command: No such file' "$commd" --source exact --store "$dir/x.db" -- no-such-command
sentence "a command that is no program" 1 'cannot run .*: Permission denied' "$commd" --source exact --store "$dir/x.db" -- "$dir"
check "doctor has it" sh -c "'$commd' --doctor | grep -qE '^  exact +works'"

# The kernels' own functions alone, as a report: their ground truth leaves out the harness's
# barriers.
own=$(nm "$O"/tests/truth/native/{sync,regular,irregular}.o | awk '$2 == "t" || $2 == "T" {print $3}' | sort -u)
own_report() { # own_report STORE
  python3 - "$1" $own <<'PY'
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
own = {i for i, name in db.execute("SELECT context.id, name FROM context JOIN site ON site.id = context.site"
                                        " JOIN function ON function.id = site.function")
       if name in sys.argv[2:]}
edges = {}
for src, dst, a, b, n in db.execute("SELECT src_thread, dst_thread, src_context, dst_context, edge.bytes FROM edge"
                                    " JOIN slice ON slice.id = edge.slice WHERE slice.level = 0"):
    if a in own and b in own:
        edges[src, dst] = edges.get((src, dst), 0) + n
print(json.dumps({
    "nodes": [{"id": i, "tid": tid} for i, tid in db.execute("SELECT id, tid FROM thread")],
    "edges": [{"from": a, "to": b, "bytes": n} for (a, b), n in edges.items()]}))
PY
}

kernel() { # kernel NAME
  local db=$dir/$1.db truth=$dir/$1.csv
  "$commd" -q --source exact --store "$db" -- "$kernels" "$1" --threads 4 --seconds 1.5 --out "$truth" >"$dir/log" 2>&1
  check "$1: exit status" [ $? = 0 ]
  own_report "$db" >"$dir/own.json"
  check "$1: the thread matrix is the true one, to the byte" compared "$dir/own.json" "$truth" '.error == 0 and .log2 == 0'
  "$commctl" report --json --by-thread --min-share 0 --top 0 --store "$db" >"$dir/$1.json"
  # The ground truth leaves out thread creation and libc, nothing else.
  check "$1: the report has it" compared "$dir/$1.json" "$truth" '.error < 0.001 and .recall == 1'
}
kernel ring
kernel transpose
ring=$dir/ring.json
check "a count has no interval" json "$ring" '[.edges[] | .low == .bytes and .bytes == .high and .resolved] | all and length > 0'
check "the run says what it is" json "$ring" '.run.source == "exact" and .run.estimator == "exact" and .run.event == "every access" and .run.granularity_bytes == 8'
check "threads have names" json "$ring" '[.nodes[].name] | contains(["truth-kernels", "ring-0", "ring-3"])'
"$commctl" report --json --by-function --min-share 0 --top 0 --store "$dir/ring.db" >"$dir/f.json"
check "functions have names" json "$dir/f.json" '(.nodes | map({(.id): .name}) | add) as $n | .edges[0] | $n[.from] == "put" and $n[.to] == "check"'
"$commctl" report --json --by-line --store "$dir/ring.db" >"$dir/l.json"
check "lines are those of the source" json "$dir/l.json" '.edges[0].from as $f | .nodes[] | select(.id == $f) | .source | test("regular.c")'
"$commctl" report -v --store "$dir/ring.db" >"$dir/text"
check "the human report does not speak of samples" sh -c "grep -q 'Counted, not estimated' '$dir/text' && ! grep -qE 'interval|burst|\?' '$dir/text'"

"$commd" -q --source exact --granularity 64 --store "$dir/g.db" -- "$kernels" ring --threads 2 --seconds 0.1 --out "$dir/g.csv" >"$dir/log" 2>&1
check "granularity" [ "$("$commctl" report --json --store "$dir/g.db" | jq .run.granularity_bytes)" = 64 ]

"$commd" -q --source exact --store "$dir/p.db" -- "$O/tests/exact/target" marks >"$dir/log" 2>&1
check "a slice for each phase that the program marks" [ "$("$commctl" list --json --store "$dir/p.db" | jq '.runs[0].slices')" = 3 ]

# Of a program whose data is read 0.2 and 60 million instructions, and 1.2 s, after it was written.
"$commd" -q --source exact --store "$dir/a.db" -- "$O/tests/exact/target" ages >"$dir/log" 2>&1
"$commctl" report --json --fresh --by-function --self --min-share 0 --top 0 --store "$dir/a.db" >"$dir/a.json"
check "who feeds whom with fresh data is counted" json "$dir/a.json" '(.nodes | map({(.id): .name}) | add) as $n |
  [.edges[] | select($n[.from] == "produce" and $n[.to] == "consume")] | length == 1 and (.[0] | .bytes == 16384 and .low == 16384 and .high == 16384 and .resolved)'
check "how fresh it is, too" json "$dir/a.json" '(.nodes[] | select(.name == "consume").id) as $id | .census[] | select(.node == $id) |
  [.fresh[].share * 12 | round] == [4, 8, 12] and .reads == 24576'
"$commctl" report --json --fresh --by-object --self --min-share 0 --top 0 --store "$dir/a.db" >"$dir/o.json"
check "what a thread reads of its own stack is left out" json "$dir/o.json" '(.nodes | length > 8) and all(.nodes[]; .name | test("^stack") | not)'
"$commctl" report -v --store "$dir/a.db" >"$dir/text"
check "a report says how fresh" grep -q '^Written before it is read: .* less than 10 ms' "$dir/text"
check "the run says what its time is" json "$dir/a.json" '.run.notes | test("instruction as a nanosecond.*times as long")'

# On SIGINT commd passes the signal to the command, and stores its result.
"$commd" --source exact --store "$dir/i.db" -- sh -c 'echo >"$0"; while :; do sleep 1; done' "$dir/begun" 2>"$dir/log" &
pids+=($!)
for _ in $(seq 600); do [ -e "$dir/begun" ] && break; sleep 0.1; done
kill -INT ${pids[-1]}
wait ${pids[-1]}
check "SIGINT: exit status" [ $? = 0 ]
"$commctl" report --json --self --store "$dir/i.db" >"$dir/i.json"
check "SIGINT: what was counted is stored" json "$dir/i.json" '.run.how == "interrupted" and .range.read_bytes > 10000'
"$commd" -q --source exact --duration 6s --store "$dir/d.db" -- sleep 300 2>"$dir/log"
check "--duration" sh -c "'$commctl' list --json --store '$dir/d.db' | grep -q duration"
"$commd" -q --source exact --store "$dir/k.db" -- sh -c 'exec 2>/dev/null; kill -9 $$' 2>"$dir/log"
check "no file is left behind" [ -z "$(ls "$TMPDIR")" ]

if [ "$(id -u)" = 0 ]; then
  "$commd" -q --source exact --store "$dir/u.db" -- perl -e '$> = $< = 65534; die $! if $< != 65534; print $_ for 1 .. 9' >"$dir/said" 2>"$dir/log"
  check "a program that gives up root: exit status" [ "$?" = 0 ]
  check "a program that gives up root: it did so, and its result is stored" sh -c "grep -qx 123456789 '$dir/said' && [ ! -s '$dir/log' ] &&
    '$commctl' report --json --self --store '$dir/u.db' | jq -e '.range.read_bytes > 10000'"
else
  skip "a program that gives up root" "needs root to give up"
fi

# A user's VALGRIND_OPTS for other tools must not reach ours.
check "VALGRIND_OPTS is not ours" env VALGRIND_OPTS=--leak-check=full "$commd" -q --source exact --store "$dir/v.db" -- true
exit $status
