// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long the bursts of a recording are: each sample is emulated with its stack
 * alone, with what its registers point to as well, and with all it brought.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "burst.h"
#include "replay.h"

enum { STACK, REGISTERS, ALL, KINDS };

static const char *const kind_name[KINDS] = {"stack", "registers", "all"};

static struct {
	unsigned long accesses, insns, unknown, end[COMM_BURST_END_MAX];
} sum[KINDS];
static unsigned long n_bursts, n_chunks[KINDS];

/* The stack comes first, page by page. */
static unsigned int stack_chunks(const struct comm_sample *s)
{
	unsigned int n = s->n_chunks && s->reg[COMM_RSP] - s->chunk[0].addr < 256;

	while (n && n < s->n_chunks &&
	       s->chunk[n].addr == s->chunk[n - 1].addr + s->chunk[n - 1].len_bytes)
		n++;
	return n;
}

static bool register_points_to(const struct comm_sample *s, const struct comm_chunk *chunk)
{
	for (int i = 0; i < 16; i++)
		if (s->reg[i] - chunk->addr < chunk->len_bytes)
			return true;
	return false;
}

/* A chunk of constant bytes changes nothing: the emulator has them from the file. */
static void keep(struct comm_sample *s, int kind)
{
	unsigned int stack = stack_chunks(s), kept = 0;

	for (unsigned int i = 0; i < s->n_chunks; i++)
		if (i < stack || kind == ALL ||
		    (kind == REGISTERS && register_points_to(s, &s->chunk[i])))
			s->chunk[kept++] = s->chunk[i];
	s->n_chunks = (uint8_t)kept;
	n_chunks[kind] += kept;
}

static int run(struct comm_replay *replay, struct comm_decoder *decoder,
	       struct comm_space_table *spaces)
{
	static struct comm_burst burst;
	struct comm_sample sample;
	struct comm_event event;
	int err;

	while ((err = comm_replay_next(replay, &event)) > 0) {
		struct comm_space *space;

		if (event.kind == COMM_EV_EXEC || event.kind == COMM_EV_MMAP)
			comm_space_changed(spaces, event.tgid);
		if (event.kind != COMM_EV_SAMPLE)
			continue;
		space = comm_space_get(spaces, event.tgid);
		if (!space)
			return -ENOMEM;
		n_bursts++;
		/* All first: it asks for what the recording has answers to. */
		for (int kind = KINDS - 1; kind >= 0; kind--) {
			sample = *event.sample;
			keep(&sample, kind);
			comm_burst_run(decoder, space, event.time_ns, &sample, &burst);
			sum[kind].accesses += burst.n_accesses;
			sum[kind].insns += burst.n_insns;
			sum[kind].unknown += burst.n_unknown;
			sum[kind].end[burst.end]++;
		}
	}
	return err;
}

static void print(void)
{
	double n = n_bursts ? (double)n_bursts : 1;

	printf("{\"bursts\": %lu", n_bursts);
	for (int kind = 0; kind < KINDS; kind++) {
		printf(", \"%s\": {\"chunks\": %.2f, \"accesses\": %.2f, \"insns\": %.2f, "
		       "\"unknown\": %.2f",
		       kind_name[kind], (double)n_chunks[kind] / n, (double)sum[kind].accesses / n,
		       (double)sum[kind].insns / n, (double)sum[kind].unknown / n);
		for (int end = 0; end < COMM_BURST_END_MAX; end++)
			if (sum[kind].end[end])
				printf(", \"%s\": %.3f",
				       comm_burst_end_name((enum comm_burst_end)end),
				       (double)sum[kind].end[end] / n);
		printf("}");
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct comm_space_table *spaces = NULL;
	struct comm_decoder *decoder = NULL;
	struct comm_replay *replay;
	struct comm_inspect inspect;
	int err = argc == 2 ? comm_replay_open(argv[1], &replay) : -EINVAL;

	if (err) {
		fprintf(stderr, "lengths: %s\n", strerror(-err));
		return 1;
	}
	comm_replay_inspect(replay, &inspect);
	err = comm_decoder_create(&inspect, &decoder) ?: comm_space_table_create(&inspect, &spaces);
	if (!err)
		err = run(replay, decoder, spaces);
	if (!err)
		print();
	comm_space_table_destroy(spaces);
	comm_decoder_destroy(decoder);
	comm_replay_close(replay);
	return err < 0;
}
