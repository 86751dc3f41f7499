// SPDX-License-Identifier: GPL-2.0-only
/*
 * On the host: how many thousand ticks of the time-stamp counter a second has.  The
 * emulator hands this counter on, and a kernel that finds its rate out by itself, as
 * it boots on a host busy with others, may be wrong by factors: all its clocks are
 * then fast.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { LOOKS = 100, APART_US = 500000 };

struct look {
	uint64_t ns, ticks;
};

/* Both at once: of many looks the one between whose ends the least time has passed. */
static struct look look(void)
{
	uint64_t least = ~0ull;
	struct look best = {0};

	for (int i = 0; i < LOOKS; i++) {
		uint64_t before = __rdtsc(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		after = __rdtsc();
		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct look){now.tv_sec * 1000000000ull + now.tv_nsec,
				     before + least / 2};
	}
	return best;
}

int main(void)
{
	struct look first = look(), last;

	usleep(APART_US);
	last = look();
	printf("%.0f\n", (last.ticks - first.ticks) * 1e6 / (last.ns - first.ns));
	return 0;
}
