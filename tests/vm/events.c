// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording holds: events by kind, who followed whom at watchpoints, and pairs of windows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "replay.h"

enum { PAIRS = 256, KINDS = 32 };

static struct {
	uint32_t first, second;
	unsigned long n;
} pair[PAIRS];
static unsigned long kind[KINDS], unanswered, fed;

static void count_watch(const struct comm_event *event)
{
	for (int i = 0; i < PAIRS; i++) {
		if (!pair[i].n) {
			pair[i].first = event->watch.first_tid;
			pair[i].second = event->tid;
		}
		if (pair[i].first == event->watch.first_tid && pair[i].second == event->tid) {
			pair[i].n++;
			return;
		}
	}
}

int main(int argc, char **argv)
{
	struct comm_replay *replay;
	struct comm_event event;
	int err = argc == 2 ? comm_replay_open(argv[1], &replay) : -EINVAL;

	if (err) {
		fprintf(stderr, "events: %s\n", strerror(-err));
		return 1;
	}
	while ((err = comm_replay_next(replay, &event)) > 0) {
		kind[event.kind % KINDS]++;
		if (event.kind == COMM_EV_WATCH && event.watch.second.flags)
			count_watch(&event);
		fed += event.kind == COMM_EV_FED && event.fed.write.flags;
		unanswered += event.kind == COMM_EV_WATCH && !event.watch.second.flags;
	}
	comm_replay_close(replay);
	for (int i = 0; i < KINDS; i++)
		if (kind[i])
			printf("kind %d %lu\n", i, kind[i]);
	for (int i = 0; i < PAIRS && pair[i].n; i++)
		printf("watch %u %u %lu\n", pair[i].first, pair[i].second, pair[i].n);
	printf("unanswered %lu\n", unanswered);
	printf("fed %lu\n", fed);
	return err < 0;
}
