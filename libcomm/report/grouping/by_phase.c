// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-phase, --by-time and --by-frames: when data was written, and when it was read (PinComm's
 * figures 6 and 2).  Nodes are periods of the run: phases that were found in it, equal pieces, or
 * pieces of equally many frames (by_frame.c tells frames apart by their distance).  A slice is read in the period in which its middle lies.  When it was written is told by the ages of its edges
 * (age.h), as far as they are known.
 *
 * Where an exact run counted when bytes were written, that is known (dated.h): a slice is written in, as it is read in,
 * where its middle lies.
 *
 * What is of one bin of ages is spread over the periods that the bin reaches, as if each
 * octave of ages had as many bytes: ages are known to a factor, not to a time.  Nothing is written
 * after it was read, so edges lead forward in time or stay where they are.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grouping.h"
#include "ids.h"
#include "periods.h"

enum {
	PHASE_UNKNOWN = 1, /* the node of what was written at a time not known */
	PHASE_FIRST,	   /* that of the first period */
	/* A slice and a bin of ages are looked at in so many places each. */
	PHASE_POINTS = 8,
};

_Static_assert(COMM_PERIODS_MAX + 1 <= COMM_SHARES_OWN, "an end has a share in each period");

struct by_phase {
	struct comm_periods periods;
	size_t reading;				    /* period of the current slice */
	float written[COMM_AGES][COMM_PERIODS_MAX]; /* of it, by age */
};

static int open_with(struct comm_grouping_use *use)
{
	use->state = calloc(1, sizeof(struct by_phase));
	use->by_time = true;
	return use->state ? 0 : -ENOMEM;
}

static int phase_open(struct comm_grouping_use *use, char **err)
{
	int code = open_with(use);
	struct by_phase *by = use->state;

	(void)err;
	return code ? code : comm_periods_find(use->reader, use->run, &by->periods);
}

static int time_open(struct comm_grouping_use *use, char **err)
{
	int code = open_with(use);
	struct by_phase *by = use->state;

	if (!code && !comm_periods_equal(use->run, use->piece_ns, &by->periods))
		code = comm_reader_fail(err, -EINVAL,
					"run %lld would have more than %d pieces: take longer ones",
					(long long)use->run->id, COMM_PERIODS_MAX);
	return code;
}

static int frames_open(struct comm_grouping_use *use, char **err)
{
	int code = open_with(use);
	struct by_phase *by = use->state;

	if (!code)
		code = comm_grouping_need_frames(use, err);
	return code ? code : comm_periods_frames(use->reader, use->run, &by->periods);
}

static void phase_close(struct comm_grouping_use *use)
{
	free(use->state);
}

/* Where in a range, from 0 to 1, the i-th of the places is that are looked at. */
static double place(int i)
{
	return (i + 0.5) / PHASE_POINTS;
}

static int phase_slice(struct comm_grouping_use *use, const struct comm_slices_one *slice)
{
	double length_ns = (double)(slice->end_ns - slice->start_ns);
	double since_ns = (double)comm_slices_since(slice->start_ns, use->run->start_ns);
	struct by_phase *by = use->state;

	by->reading = comm_periods_at(&by->periods, slice->start_ns + (uint64_t)(length_ns / 2));
	memset(by->written, 0, sizeof(by->written));
	for (int i = 0; i < PHASE_POINTS; i++) {
		double at_ns = since_ns + place(i) * length_ns;

		for (uint32_t bin = 0; bin < COMM_AGES; bin++) {
			double least_ns = (double)comm_age_first_ns(bin ? bin : 1), most_ns = at_ns;

			/* No age is longer than the run is old; nothing that was not seen is dated. */
			if (bin + 1 < COMM_AGES)
				most_ns = fmin(most_ns, (double)comm_age_first_ns(bin + 1));
			most_ns = fmax(most_ns, least_ns);
			for (int j = 0; j < PHASE_POINTS; j++) {
				double age_ns = least_ns * pow(most_ns / least_ns, place(j));
				double when_ns = fmax(at_ns - age_ns, 0);
				size_t period = comm_periods_at(
					&by->periods, use->run->start_ns + (uint64_t)when_ns);

				if (period > by->reading)
					period = by->reading;
				by->written[bin][period] += 1.0f / (PHASE_POINTS * PHASE_POINTS);
			}
		}
	}
	return 0;
}

/* What has a date is of one period; returns how much has one. */
static double add_dates(const struct by_phase *by, const struct comm_end *end,
			double weight[COMM_PERIODS_MAX])
{
	struct comm_dates_unpack unpack = {end->dates, end->dates + end->dates_bytes, end->bytes};
	uint64_t at_ns;
	double bytes;

	while (comm_dates_next(&unpack, &at_ns, &bytes)) {
		size_t period = comm_periods_at(&by->periods, at_ns);

		weight[period < by->reading ? period : by->reading] += bytes / end->bytes;
	}
	return unpack.left > 0 ? 1 - unpack.left / end->bytes : 1;
}

/* Likewise. */
static double add_ages(const struct by_phase *by, const struct comm_end *end,
		       double weight[COMM_PERIODS_MAX])
{
	double known = 0;

	for (size_t i = 0; i <= by->reading; i++) {
		for (uint32_t bin = 0; bin < COMM_AGES; bin++)
			weight[i] += end->ages->bytes[bin] * by->written[bin][i];
		known += weight[i];
	}
	return known;
}

static int phase_at(struct comm_grouping_use *use, const struct comm_end *end,
		    struct comm_shares *ret)
{
	const struct by_phase *by = use->state;
	double known, weight[COMM_PERIODS_MAX] = {0};

	if (!end->ages) {
		comm_shares_one(ret, PHASE_FIRST + (uint32_t)by->reading);
		return 0;
	}
	ret->share = ret->own;
	ret->n = 0;
	known = end->dates_bytes ? add_dates(by, end, weight) : add_ages(by, end, weight);
	for (size_t i = 0; i <= by->reading; i++)
		if (weight[i] > 0)
			ret->own[ret->n++] =
				(struct comm_share){PHASE_FIRST + (uint32_t)i, weight[i]};
	if (known < 1)
		ret->own[ret->n++] = (struct comm_share){PHASE_UNKNOWN, 1 - known};
	for (size_t i = 0; i < ret->n && known > 1; i++)
		ret->own[i].weight /= known;
	return 0;
}

static int describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node,
		    const char *what)
{
	const struct by_phase *by = use->state;
	uint32_t id = (uint32_t)sqlite3_column_int64(row, 0);
	size_t i = id - PHASE_FIRST;
	/* Of a run of less than a second, which an exact one may be, in milliseconds. */
	const bool in_ms = by->periods.end_ns - use->run->start_ns < 1000000000;
	double from, to;

	if (id < PHASE_FIRST || i >= by->periods.n) {
		node->name = "(when not known)";
		return 0;
	}
	node->from_ns = by->periods.start_ns[i] - use->run->start_ns;
	node->to_ns = comm_periods_end_ns(&by->periods, i) - use->run->start_ns;
	from = (double)node->from_ns / (in_ms ? 1e6 : 1e9);
	to = (double)node->to_ns / (in_ms ? 1e6 : 1e9);
	node->name =
		comm_texts_format(use->texts, "%s%s%zu: %.*f to %.*f %s", what, *what ? " " : "",
				  i + 1, to < 100, from, to < 100, to, in_ms ? "ms" : "s");
	node->key = comm_texts_format(use->texts, "%s %zu", node->kind_name, i + 1);
	return 0;
}

static int phase_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	return describe(use, row, node, "phase");
}

static int time_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	return describe(use, row, node, "");
}

static int frames_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	const struct by_phase *by = use->state;
	uint64_t first, last;
	int code = describe(use, row, node, "");

	if (code || !node->to_ns)
		return code;
	first = ((uint64_t)sqlite3_column_int64(row, 0) - PHASE_FIRST) * by->periods.each_frames +
		1;
	last = first + by->periods.each_frames - 1;
	if (last > by->periods.frames)
		last = by->periods.frames;
	node->name = comm_texts_format(
		use->texts, first < last ? "frames %" PRIu64 " to %" PRIu64 : "frame %" PRIu64,
		first, last);
	node->key = node->name;
	return 0;
}

const struct comm_grouping_ops comm_grouping_phase = {
	.grouping = {.name = "phase",
		     .help = "Phases found in the run: when it was written, when read",
		     .title = "phases",
		     .noun = "phase",
		     .matrix = true,
		     .across = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "phase",
	.letter = 'h',
	.open = phase_open,
	.close = phase_close,
	.slice = phase_slice,
	.at = phase_at,
	.by_thread = true,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = phase_describe,
};

const struct comm_grouping_ops comm_grouping_time = {
	.grouping = {.name = "time",
		     .help = "Equal pieces of the run: when it was written, when read",
		     .title = "pieces of time",
		     .noun = "piece",
		     .matrix = true,
		     .across = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "time",
	.letter = 's',
	.open = time_open,
	.close = phase_close,
	.slice = phase_slice,
	.at = phase_at,
	.by_thread = true,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = time_describe,
};

const struct comm_grouping_ops comm_grouping_frames = {
	.grouping = {.name = "frames",
		     .help = "Frames by their number: when it was written, when read",
		     .title = "frames",
		     .noun = "piece",
		     .matrix = true,
		     .across = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "frames",
	.letter = 'n',
	.open = frames_open,
	.close = phase_close,
	.slice = phase_slice,
	.at = phase_at,
	.by_thread = true,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = frames_describe,
};
