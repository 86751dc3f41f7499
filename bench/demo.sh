#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles two live programs: bench/digests.c, whose flows and whose false sharing are known, and a
# redis-server, which mostly waits.  Prints in 60 lines what commctl says of them, and says so itself
# where a run of that length on this machine does not tell something.  Stores and the page stay in
# $O/demo.  DEMO_SECONDS: how long each is watched; DEMO_REDIS: another redis-server.
set -eu
cd "$(dirname "$0")/.."
O=${O:-.output}
redis=${DEMO_REDIS:-redis-server}
at=$O/demo
dir=$(mktemp -d)
target='' load=''
stop() {
  # shellcheck disable=SC2086 # none or one each
  [ -z "$target" ] || { kill $load $target; wait $load $target; } >/dev/null 2>&1 || true
  target='' load=''
}
trap 'stop; rm -rf "$dir"' EXIT

[ "$(id -u)" = 0 ] || { echo "make demo: run it as root, attaching to a process needs it" >&2; exit 1; }
rm -rf "$at"
mkdir -p "$at"
# commd writes its store as the user behind sudo.
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$at"
PATH=$O:$PATH

# watch NAME SECONDS OVERHEAD: a run in which no access was seen can be asked, too.
watch() {
  local seconds=${DEMO_SECONDS:-$2}
  printf '\n$ commd -q --pid %d --overhead %d --duration %ds --store %s\n' "$target" "$3" "$seconds" "$at/$1.db"
  commd -q --pid "$target" --overhead "$3" --duration "${seconds}s" --store "$at/$1.db" || [ $? = 3 ]
}
# show SED REGEX WHAT COMMAND...: what sed leaves of what a command prints, and what it should say and does not.
show() {
  local script=$1 regex=$2 what=$3
  shift 3
  printf '\n$ %s%s\n' "$*" "${script:+    # in part}"
  "$@" >"$dir/text" 2>&1 || true
  sed -n "${script:-p}" "$dir/text"
  grep -qE "$regex" "$dir/text" || echo "(This run does not tell $what: the load is $(cut -d' ' -f1 /proc/loadavg) on $(nproc)" \
    "CPUs; DEMO_SECONDS=60 make demo may tell more.)"
}

cc -g -O2 -pthread bench/digests.c -o "$dir/digests"
"$dir/digests" &
target=$!
echo "bench/digests.c: a maker fills blocks, two hashers read them, a collector reads what they leave"
watch digests 20 5
show '' '^ +(at least )?[0-9.,]+ % .*> ' 'who feeds whom' commctl report --store "$at/digests.db"
show '/^writer  /,/^\(and\|A longer\|Of\|$\)/{/^\(and\|A longer\|Of\|$\)/!p}' '^writer  ' 'what passes through which object' \
  commctl report --by function,object --top 4 --store "$at/digests.db"
show '/^sharing /,/^$/{/^$/!p}' '^false ' 'of false sharing' commctl sharing --top 1 --store "$at/digests.db"
stop
commctl html --store "$at/digests.db" --source-dir bench -o "$at/digests.html" &&
  printf '\nThe same as a page, for a browser: %s\n' "$(realpath "$at/digests.html")"

if ! command -v "$redis" >/dev/null || ! command -v redis-benchmark >/dev/null; then
  printf '\nWhat redis-server waits for is left out, as it is not installed: packaging/deps.sh demo does that.\n'
  exit 0
fi
"$redis" --port 0 --unixsocket "$dir/s" --save '' --io-threads 4 --io-threads-do-reads yes --dir "$dir" >"$dir/log" 2>&1 &
target=$!
for _ in $(seq 1200); do [ -S "$dir/s" ] && break; sleep 0.1; done
[ -S "$dir/s" ] || { cat "$dir/log" >&2; exit 1; }
redis-benchmark -s "$dir/s" -t set,get,lpush,lrange_100 -d 512 -r 10000 -l -q >/dev/null 2>&1 &
load=$!
printf '\nredis-server with four I/O threads, driven by redis-benchmark'
watch redis 10 1
show '/^run/,/^FRESH/{/^FRESH/!p};/^NEXT/,$p' '^WAITING +(at least )?[0-9.,]+ %' 'what redis waits for' commctl report --store "$at/redis.db"
