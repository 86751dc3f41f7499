// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What finding the callers of samples costs, and of how many it finds them:
 *   bench_callers RECORDING [DEPTH]
 * Each sample is looked at ROUNDS times, so all but the first find code in the cache.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "caller.h"
#include "clock.h"
#include "replay.h"

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
	uint64_t samples = 0, found[COMM_CALLERS_MAX + 1] = {0}, ns = 0;
	unsigned int depth = argc == 3 ? (unsigned int)atoi(argv[2]) : COMM_CALL_DEPTH_MAX;
	uint64_t whole = 0;
	struct comm_space_table *spaces;
	struct comm_inspect inspect;
	struct comm_replay *replay;
	struct comm_sites *sites;
	struct comm_event event;

	if (argc < 2 || argc > 3 || depth < 1 || depth > COMM_CALL_DEPTH_MAX ||
	    comm_replay_open(argv[1], &replay)) {
		fputs("usage: bench_callers RECORDING [DEPTH]\n", stderr);
		return 2;
	}
	comm_replay_inspect(replay, &inspect);
	if (comm_sites_create(&inspect, &sites) || comm_space_table_create(&inspect, &spaces))
		return 1;
	while (comm_replay_next(replay, &event) > 0) {
		uint64_t back[COMM_CALLERS_MAX], start;
		struct comm_space *space;
		unsigned int n = 0;
		bool all;

		if (event.kind != COMM_EV_SAMPLE)
			continue;
		space = comm_space_get(spaces, event.tgid);
		if (!space)
			return 1;
		comm_callers_find(sites, space, event.time_ns, event.sample, depth, back, &all);
		start = comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		for (int i = 0; i < ROUNDS; i++)
			n = comm_callers_find(sites, space, event.time_ns, event.sample, depth,
					      back, &all);
		ns += comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
		/* A stack that is shorter is known whole. */
		for (unsigned int i = 0; i <= (all ? depth : n); i++)
			found[i]++;
		whole += all;
		samples++;
	}
	printf("%" PRIu64 " samples, %.0f ns each\n", samples,
	       samples ? (double)ns / (double)samples / ROUNDS : 0);
	for (unsigned int i = 1; i <= depth; i++)
		printf("%5.1f %% have %u callers or more, or all there are\n",
		       samples ? 100.0 * (double)found[i] / (double)samples : 0, i);
	printf("%5.1f %% have all there are\n",
	       samples ? 100.0 * (double)whole / (double)samples : 0);
	comm_sites_destroy(sites);
	comm_space_table_destroy(spaces);
	comm_replay_close(replay);
	return 0;
}
