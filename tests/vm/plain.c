// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording with only what the perf source could have seen: without the memory
 * that registers point to, and without kernel copies.  What two sources say can be
 * compared when they know the same.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "record.h"
#include "replay.h"

/* The stack comes first, page by page. */
static void stack_only(struct comm_sample *s)
{
	unsigned int n = s->n_chunks && s->reg[COMM_RSP] - s->chunk[0].addr < 256;

	while (n && n < s->n_chunks &&
	       s->chunk[n].addr == s->chunk[n - 1].addr + s->chunk[n - 1].len_bytes)
		n++;
	s->n_chunks = (uint8_t)n;
}

/* What the engine asks of the view is written down as it asks. */
static int copy(struct comm_replay *replay, const struct comm_inspect *inspect,
		struct comm_record *record)
{
	const struct comm_engine_config config = {
		.inspect = inspect,
		.estimator = comm_estimator(),
		.est = {.granularity_bytes = 8, .cycles_per_ns = 1, .memory_bytes = 1 << 28},
		.slice_ns = 1000000000,
		.start_ns = comm_replay_head(replay)->start_ns,
	};
	static struct comm_sample sample;
	struct comm_engine *engine;
	struct comm_event event;
	int err = comm_engine_create(&config, &engine);

	if (err)
		return err;
	while ((err = comm_replay_next(replay, &event)) > 0) {
		if (event.kind == COMM_EV_KCOPY)
			continue;
		if (event.kind == COMM_EV_SAMPLE) {
			sample = *event.sample;
			stack_only(&sample);
			event.sample = &sample;
		}
		comm_engine_event(engine, &event);
		comm_record_event(record, &event);
	}
	comm_engine_destroy(engine);
	comm_record_end(record, comm_replay_end_ns(replay), 0);
	return err;
}

int main(int argc, char **argv)
{
	struct comm_inspect from, to;
	struct comm_replay *replay;
	struct comm_record *record;
	int err = argc == 3 ? comm_replay_open(argv[1], &replay) : -EINVAL;

	if (!err)
		err = comm_record_create(argv[2], comm_replay_head(replay), &record);
	if (err) {
		fprintf(stderr, "plain: %s\n", strerror(-err));
		return 1;
	}
	comm_replay_inspect(replay, &from);
	comm_record_inspect(record, &from, &to);
	err = copy(replay, &to, record);
	if (!err && comm_record_lost(record, &err))
		err = -err;
	comm_record_destroy(record);
	comm_replay_close(replay);
	return err < 0;
}
