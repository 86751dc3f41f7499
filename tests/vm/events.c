// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording holds: events by kind, and who read what whom wrote in windows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "replay.h"

enum { PAIRS = 256, KINDS = 32 };

static struct {
	uint32_t reader, writer;
	unsigned long n;
} pair[PAIRS];
static unsigned long kind[KINDS], fed;

static void count_pair(const struct comm_event *event)
{
	for (int i = 0; i < PAIRS; i++) {
		if (!pair[i].n) {
			pair[i].reader = event->fed.read_tid;
			pair[i].writer = event->tid;
		}
		if (pair[i].reader == event->fed.read_tid && pair[i].writer == event->tid) {
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
		if (event.kind != COMM_EV_FED || !event.fed.write.flags)
			continue;
		count_pair(&event);
		fed++;
	}
	comm_replay_close(replay);
	for (int i = 0; i < KINDS; i++)
		if (kind[i])
			printf("kind %d %lu\n", i, kind[i]);
	for (int i = 0; i < PAIRS && pair[i].n; i++)
		printf("pair %u %u %lu\n", pair[i].reader, pair[i].writer, pair[i].n);
	printf("fed %lu\n", fed);
	return err < 0;
}
