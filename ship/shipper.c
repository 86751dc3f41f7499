// SPDX-License-Identifier: GPL-2.0-or-later
#include "shipper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is missing for less than this is not worth a word, but it counts. */
#define TOLD_NS 1000000000ull

static void close_sink(struct ship_shipper *shipper)
{
	shipper->ops->close(shipper->sink);
	shipper->sink = NULL;
	/* Another database, or one that was restored, may lack what this one had. */
	shipper->n_over = 0;
}

static int open_sink(struct ship_shipper *shipper, char **err)
{
	return shipper->sink ? 0 : shipper->ops->open(&shipper->config, &shipper->sink, err);
}

static bool is_over(const struct ship_shipper *shipper, int64_t run)
{
	for (size_t i = 0; i < shipper->n_over; i++)
		if (shipper->over[i] == run)
			return true;
	return false;
}

/* Without memory it is only looked at again. */
static void note_over(struct ship_shipper *shipper, int64_t run)
{
	if (shipper->n_over == shipper->capacity) {
		size_t capacity = shipper->capacity ? 2 * shipper->capacity : 16;
		int64_t *grown = reallocarray(shipper->over, capacity, sizeof(*grown));

		if (!grown)
			return;
		shipper->over = grown;
		shipper->capacity = capacity;
	}
	shipper->over[shipper->n_over++] = run;
}

/* Ids are of one store: of another one in its place nothing is known. */
static void know_store(struct ship_shipper *shipper, const struct comm_runs *runs)
{
	const char *uuid = runs->n ? runs->run[0].uuid : "";

	if (shipper->over_store && !strcmp(shipper->over_store, uuid))
		return;
	free(shipper->over_store);
	shipper->over_store = strdup(uuid);
	shipper->n_over = 0;
}

static int put(struct ship_shipper *shipper, char **err)
{
	bool taken = false;
	int code = shipper->ops->put(shipper->sink, &shipper->batch, &taken, err);

	if (code)
		return code;
	shipper->sums.slices += taken;
	shipper->sums.had += !taken;
	if (!taken)
		return 0;
	shipper->sums.flows += shipper->batch.flows;
	shipper->sums.missing_ns += shipper->batch.missing_ns;
	if (shipper->batch.missing_ns >= TOLD_NS)
		fprintf(stderr,
			"commctl: of run %s %.0f s are missing, from %.0f s on: they are not in "
			"the "
			"store, or not any more\n",
			shipper->batch.uuid, (double)shipper->batch.missing_ns / 1e9,
			(double)(shipper->batch.start_ns - shipper->batch.missing_ns) / 1e9);
	return 0;
}

static int send_run(struct ship_shipper *shipper, struct comm_reader *reader,
		    const struct comm_run *run, char **err)
{
	uint64_t from_ns = 0, slices = shipper->sums.slices;
	int code = 0;

	if (!ship_is_uuid(run->uuid))
		return ship_fail(err, -EUCLEAN, "run %lld of the store %s has no UUID",
				 (long long)run->id, shipper->store);
	code = shipper->ops->mark(shipper->sink, run->uuid, &from_ns, err);
	while (!code) {
		code = ship_batch_next(reader, run, from_ns, &shipper->batch, err);
		if (!code)
			code = put(shipper, err);
		from_ns = shipper->batch.start_ns + shipper->batch.length_ns;
	}
	shipper->sums.runs += shipper->sums.slices > slices;
	if (code == 1 && run->state != COMM_RUN_RUNNING)
		note_over(shipper, run->id);
	return code == 1 ? 0 : code;
}

static int send_runs(struct ship_shipper *shipper, struct comm_reader *reader, char **err)
{
	struct comm_runs *runs = NULL;
	int code = comm_reader_snapshot(reader);

	if (!code)
		code = comm_reader_load_runs(reader, &runs);
	comm_reader_release(reader);
	if (code)
		return comm_reader_fail_db(reader, err, code);
	know_store(shipper, runs);
	for (size_t i = 0; i < runs->n && !code; i++)
		if (!is_over(shipper, runs->run[i].id))
			code = send_run(shipper, reader, &runs->run[i], err);
	comm_runs_free(runs);
	return code;
}

int ship_shipper_round(struct ship_shipper *shipper, char **err)
{
	struct comm_reader *reader;
	int code;

	*err = NULL;
	code = comm_reader_open(shipper->store, &reader, err);
	if (code)
		return code;
	code = open_sink(shipper, err);
	if (!code)
		code = send_runs(shipper, reader, err);
	comm_reader_close(reader);
	if (code)
		close_sink(shipper);
	return code;
}

int ship_shipper_drop_older(struct ship_shipper *shipper, uint64_t seconds, uint64_t *ret_days,
			    char **err)
{
	int code;

	*err = NULL;
	code = open_sink(shipper, err);
	if (!code)
		code = shipper->ops->drop_older(shipper->sink, seconds, ret_days, err);
	if (code)
		close_sink(shipper);
	return code;
}

void ship_shipper_deinit(struct ship_shipper *shipper)
{
	if (shipper->ops)
		shipper->ops->close(shipper->sink);
	ship_batch_deinit(&shipper->batch);
	free(shipper->over);
	free(shipper->over_store);
}
