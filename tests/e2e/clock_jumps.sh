#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The time of day is set forth and back all the time while commd runs: no slice is out of order, and none lacks time.
. "$(dirname "$0")/../tap.bash"
[ "$(id -u)" = 0 ] || skip_all "needs root to attach"
is_sanitized && skip_all "a library that is loaded first keeps sanitizers from working"
cat >"$dir/jump.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

/* A day later, and a day earlier, in turn. */
static long jump(void)
{
	static long n;

	return __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 2 ? -86400 : 86400;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int code;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	code = real(id, ts);
	if (!code && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += jump();
	return code;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*tv = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}
END
gcc -O1 -shared -fPIC "$dir/jump.c" -o "$dir/jump.so" -ldl || exit 1
sh -c 'while :; do :; done' &
target=$!
pids+=($target)
store=$dir/a.db
ask() { sqlite3 -readonly "$store" "$1" 2>/dev/null; }
has_slices() { [ "$(ask "SELECT count(*) FROM slice WHERE level = 0 AND samples > 0")" -ge 30 ] 2>/dev/null; }
began=$(date +%s)
LD_PRELOAD=$dir/jump.so "$commd" -q --overhead 5 --slice 100ms --pid $target --store "$store" >"$dir/log" 2>&1 &
daemon=$!
pids+=($daemon)
for i in $(seq 600); do has_slices && break; kill -0 $daemon 2>/dev/null || break; sleep 0.1; done
check "slices come" has_slices
kill -INT $daemon
wait $daemon
code=$?
check "the run ends well" sh -c 'cat "$1"; [ "$2" = 0 ]' - "$dir/log" $code
start=$(ask "SELECT start_unix_ns / 1000000000 FROM run")
check "its clock was that of another day" [ $((start > began ? start - began : began - start)) -gt 80000 ]
check "no slice is out of order, or lacks time" [ "$(ask "SELECT count(*) FROM (SELECT start_ns, lag(end_ns) OVER (ORDER BY id) AS before FROM slice WHERE level = 0) WHERE start_ns <> before")" = 0 ]
check "together they are the run" [ "$(ask "SELECT min(s.start_ns) = r.start_ns AND max(s.end_ns) = r.end_ns AND r.end_ns - r.start_ns < 600000000000 FROM slice s, run r WHERE s.level = 0")" = 1 ]
check "it can be read" "$commctl" report --store "$store"
echo "1..$n"
exit $status
