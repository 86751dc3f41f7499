#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A disk that does not answer for a while: sampling goes on, and what waits for it is written: slices, the recording, accesses.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to mount"
disk=$dir/disk
undo() {
  fsfreeze -u "$disk" 2>/dev/null
  umount "$disk" 2>/dev/null
}
truncate -s 64M "$dir/image"
mkdir "$disk"
mkfs.ext4 -q "$dir/image" && mount -o loop "$dir/image" "$disk" || skip_all "no loop device can be mounted"
chmod 755 "$dir"

sh -c 'while :; do :; done' &
target=$!
pids+=($target)
store=$disk/a.db
"$commd" -v --pid $target --slice 50ms --overhead 5 --store "$store" --record "$disk/a.rec" --accesses "$disk/a.csv" >"$dir/log" 2>&1 &
daemon=$!
pids+=($daemon)
slices() { sqlite3 -readonly "$store" 'SELECT count(*) FROM slice WHERE level = 0' 2>/dev/null || echo 0; }
wait_for() { # NUMBER of slices
  for i in $(seq 1200); do [ "$(slices)" -ge "$1" ] && return; sleep 0.1; done
}
wait_for 5
filter=2
# There is none with AddressSanitizer, which traces the process at its end.
! is_sanitized || filter=0
check "its threads have no capability, and the filter" env filter=$filter sh -c '[ $# -ge 2 ] && for one; do grep -q "^CapEff:.*0000000000000000" $one/status && grep -q "^Seccomp:.*$filter" $one/status && { [ $filter = 0 ] || grep -q "^NoNewPrivs:.*1" $one/status; } || exit 1; done' - /proc/$daemon/task/*
before=$(slices)
fsfreeze -f "$disk"
sleep 10
fsfreeze -u "$disk"
wait_for $((before + 60))
check "slices that waited are stored" [ "$(slices)" -ge $((before + 60)) ]
kill -INT $daemon
wait $daemon
code=$?
check "the run ends as any other" sh -c 'cat "$1"; [ "$2" != 1 ] && ! grep -q "not all slices" "$1"' - "$dir/log" $code
row() { sqlite3 -readonly "$store" "SELECT $1 FROM run"; }
check "no time is missing" [ "$(sqlite3 -readonly "$store" "SELECT total(end_ns - start_ns) > 0 AND total(end_ns - start_ns) = max(end_ns) - min(start_ns) FROM slice WHERE level = 0")" = 1 ]
check "a slice waited for the disk, as the store says ($(row store_ns) ns)" [ "$(row 'store_ns > 5e9')" = 1 ]
check "what samples did not ($(row stall_ns) ns, $(row stall_own_ns) of its own)" [ "$(row 'stall_ns > 0 AND stall_ns < 5e9 AND stall_own_ns BETWEEN 1 AND stall_ns')" = 1 ]
check "-v says how much of that commd worked, and had no CPU" grep -qE "rings of the kernel waited at most [0-9.]+ ms too long: commd worked for [0-9.]+ ms of that, and had no CPU for [0-9.]+; at most [0-9.]+ ms but for that$" "$dir/log"
check "commctl list has both" sh -c '"$1" list --json --store "$2" | grep -qE "\"stall_ns\": [1-9][0-9]*, \"stall_own_ns\": [1-9][0-9]*, \"store_ns\": [1-9]"' - "$commctl" "$store"
# An access of each burst that the store counts.
check "no access is missing" [ "$(tail -n +2 "$disk/a.csv" | wc -l)" = "$(sqlite3 -readonly "$store" "SELECT sum(accesses) FROM slice WHERE level = 0")" ]
"$commd" -q --source "replay:$disk/a.rec" --slice 50ms --store "$dir/replay.db" 2>"$dir/log"
check "nor an event of the recording" [ "$(sqlite3 -readonly "$dir/replay.db" "SELECT sum(samples) FROM slice WHERE level = 0")" = "$(sqlite3 -readonly "$store" "SELECT sum(samples) FROM slice WHERE level = 0")" ]
echo "1..$n"
exit $status
