#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the exact source with Valgrind's own tools: CPU time relative to a native run
# and peak memory, medians of RUNS (3) runs, on RAM-resident inputs of a few MB.
set -u
export LC_ALL=C
cd "$(dirname "$0")/.."
O=$(realpath "${O:-.output}")
runs=${RUNS:-3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
head -c 3000000 "$O/exact/commexact-amd64-linux" >"$tmp/part"
cat "$tmp/part" "$tmp/part" >"$tmp/in"
cat >"$tmp/script.sql" <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INTEGER);
WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < 60000)
	INSERT INTO t SELECT i, hex(i * 7919), (i * 7919) % 1000 FROM s;
CREATE INDEX tc ON t(c);
SELECT c, count(*), max(b) FROM t GROUP BY c ORDER BY 2 DESC LIMIT 3;
SELECT sum(x.a) FROM t x JOIN t y ON x.c = y.c WHERE y.a < 300;
SQL
cat >"$tmp/script.py" <<'PY'
import json
d = [{"a": i / 7, "b": str(i), "c": [i] * 5} for i in range(30000)]
e = json.loads(json.dumps(d))
print(sum(x["a"] for x in e), max(len(x["b"]) for x in e))
PY

measure() { # measure COMMAND...: "cpu seconds, peak KB", medians
  for _ in $(seq "$runs"); do
    /usr/bin/time -o "$tmp/time" -f '%U %S %M' "$@" >/dev/null 2>"$tmp/err" || { cat "$tmp/err" >&2; return 1; }
    tail -n 1 "$tmp/time"
  done | awk '{ printf "%.2f %s\n", $1 + $2, $3 }' >"$tmp/runs"
  echo "$(sort -n "$tmp/runs" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }')" \
    "$(sort -n -k2 "$tmp/runs" | awk '{ v[NR] = $2 } END { print v[int((NR + 1) / 2)] }')"
}

row() { # row PROGRAM TOOL CPU KB
  printf '%-8s %-28s %8.2f s %6.1fx %8d KB %6.1fx\n' "$1" "$2" "$3" \
    "$(echo "$3 $native_s" | awk '{ print $1 / ($2 > 0.01 ? $2 : 0.01) }')" "$4" \
    "$(echo "$4 $native_kb" | awk '{ print $1 / $2 }')"
}

tool() { # tool PROGRAM LABEL VALGRIND-OPTION... -- COMMAND...
  local program=$1 label=$2 options=()
  shift 2
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  read -r s kb < <(measure valgrind -q "${options[@]}" "$@")
  row "$program" "$label" "$s" "$kb"
}

program() { # program NAME COMMAND...
  local name=$1
  shift
  read -r native_s native_kb < <(measure "$@")
  row "$name" native "$native_s" "$native_kb"
  tool "$name" none --tool=none -- "$@"
  tool "$name" memcheck --tool=memcheck -- "$@"
  # lackey's trace goes to /dev/null, to measure the tracing alone.  Takes minutes.
  [ -z "${LACKEY:-}" ] || runs=1 tool "$name" 'lackey --trace-mem=yes' --tool=lackey \
    --trace-mem=yes --log-file=/dev/null -- "$@"
  for options in "" --objects=no --granularity=1 --granularity=64; do
    VALGRIND_LIB=$O/exact tool "$name" "commexact $options" --tool=commexact \
      --exact-out="$tmp/out" $options -- "$@"
  done
}

program pigz pigz -p 2 -k -c "$tmp/in"
[ -n "${QUICK:-}" ] || program xz xz -T2 --block-size=1500000 -2 -k -c "$tmp/part"
program sqlite3 sqlite3 :memory: ".read $tmp/script.sql"
[ -z "$python" ] || program python "$python" "$tmp/script.py"
