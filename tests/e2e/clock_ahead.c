// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that a test loads into a program to have its wall clock ahead by $CLOCK_AHEAD_S. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const char *ahead = getenv("CLOCK_AHEAD_S");
	int code = (int)syscall(SYS_clock_gettime, clock, ret);

	if (!code && clock == CLOCK_REALTIME && ahead)
		ret->tv_sec += atol(ahead);
	return code;
}
