#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles a redis-server with four I/O threads while redis-benchmark drives it,
# and prints what the samples can tell of who writes what others read: on a machine where the
# threads do little but poll, that may be nothing.  Stops all processes it starts.
set -eu
cd "$(dirname "$0")/.."
O=${O:-.output}
dir=$(mktemp -d)
server= load=
trap 'kill $load $server 2>/dev/null || true; rm -rf "$dir"' EXIT

[ "$(id -u)" = 0 ] || { echo "make demo: run it as root, attaching to a process needs it" >&2; exit 1; }
redis-server --port 0 --unixsocket "$dir/s" --save '' --io-threads 4 --io-threads-do-reads yes \
  --dir "$dir" >"$dir/log" 2>&1 &
server=$!
for _ in $(seq 50); do [ -S "$dir/s" ] && break; sleep 0.1; done
[ -S "$dir/s" ] || { cat "$dir/log" >&2; exit 1; }
redis-benchmark -s "$dir/s" -t set,get,lpush,lrange_100 -d 512 -r 10000 -l -q >/dev/null 2>&1 &
load=$!
sleep 1

step() { printf '\n$ %s\n' "$*"; "$@"; }
PATH=$O:$PATH
step commd --pid $server --duration "${DEMO_SECONDS:-10}s" --store "$dir/demo.db"
step commctl report --by-thread --store "$dir/demo.db"
step commctl report --by-function --across --top 12 --store "$dir/demo.db"
step commctl report --by-object --top 12 --store "$dir/demo.db"
step commctl report --by-line --across --top 8 --store "$dir/demo.db"
