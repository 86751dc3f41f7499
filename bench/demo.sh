#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles two live programs and prints which threads feed which and which cache lines they share: a
# Python program whose threads hand blocks on, and a redis-server, whose threads on few cores hardly
# exchange anything, which a report should not deny.  Stops all processes it starts.
set -eu
cd "$(dirname "$0")/.."
O=${O:-.output}
dir=$(mktemp -d)
target= load=
stop() { kill $load $target 2>/dev/null || true; target= load=; }
trap 'stop; rm -rf "$dir"' EXIT

[ "$(id -u)" = 0 ] || { echo "make demo: run it as root, attaching to a process needs it" >&2; exit 1; }

step() { printf '\n$ %s\n' "$*"; "$@"; }
PATH=$O:$PATH

python3 bench/pipeline.py &
target=$!
sleep 1
echo "bench/pipeline.py: one thread makes blocks, two hash them, one keeps the results"
# A service is watched for long at 1 %; in half a minute 5 % tell more.
step commd --pid $target --overhead 5 --duration "${DEMO_SECONDS:-30}s" --store "$dir/pipeline.db"
step commctl report --store "$dir/pipeline.db"
step commctl report --fresh --by-function --top 12 --store "$dir/pipeline.db"
step commctl sharing --top 2 --store "$dir/pipeline.db"
stop

redis-server --port 0 --unixsocket "$dir/s" --save '' --io-threads 4 --io-threads-do-reads yes \
  --dir "$dir" >"$dir/log" 2>&1 &
target=$!
for _ in $(seq 50); do [ -S "$dir/s" ] && break; sleep 0.1; done
[ -S "$dir/s" ] || { cat "$dir/log" >&2; exit 1; }
redis-benchmark -s "$dir/s" -t set,get,lpush,lrange_100 -d 512 -r 10000 -l -q >/dev/null 2>&1 &
load=$!
sleep 1
printf '\nredis-server with four I/O threads, driven by redis-benchmark\n'
step commd --pid $target --duration "${DEMO_SECONDS:-10}s" --store "$dir/redis.db"
step commctl report --store "$dir/redis.db"
