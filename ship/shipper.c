// SPDX-License-Identifier: GPL-2.0-or-later
#include "shipper.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is missing for less than this is not worth a word, but it counts. */
#define TOLD_NS 1000000000ull

/* Of send_behind(): nothing of the run can be sent any more. */
enum { PASS_RUN = 2 };

static void close_sink(struct ship_shipper *shipper)
{
	shipper->ops->close(shipper->sink);
	shipper->sink = NULL;
	/* Another database, or one that was restored, may lack what this one had. */
	shipper->n_over = 0;
}

static int open_sink(struct ship_shipper *shipper, char **err)
{
	if (shipper->sink)
		return 0;
	shipper->config.wait_ms = &shipper->wait_ms;
	shipper->batch.as_profile = shipper->ops->profiles;
	return shipper->ops->open(&shipper->config, &shipper->sink, err);
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
	shipper->n_passed = 0;
}

/* NULL: nothing of the run was passed over. */
static struct ship_passed *passed_of(const struct ship_shipper *shipper, int64_t run)
{
	for (size_t i = 0; i < shipper->n_passed; i++)
		if (shipper->passed[i].run == run)
			return &shipper->passed[i];
	return NULL;
}

/* Counts what cannot be sent.  Without memory it is told again. */
static void note_passed(struct ship_shipper *shipper, const struct ship_passed *what,
			uint64_t length_ns)
{
	struct ship_passed *passed = passed_of(shipper, what->run), *grown;

	shipper->sums.passed++;
	shipper->sums.missing_ns += length_ns;
	if (!passed) {
		grown = reallocarray(shipper->passed, shipper->n_passed + 1, sizeof(*grown));
		if (!grown)
			return;
		shipper->passed = grown;
		passed = &grown[shipper->n_passed++];
	}
	*passed = *what;
}

/* Tells of it, too, and takes the sentence. */
static void pass(struct ship_shipper *shipper, const struct ship_passed *what, uint64_t length_ns,
		 char **err)
{
	fprintf(stderr, "commctl: %s; it is passed over\n", *err ? *err : "a slice cannot be sent");
	free(*err);
	*err = NULL;
	note_passed(shipper, what, length_ns);
}

/* The first of several slices in a row that the target refuses is told by its words, the others by how many they are. */
static void refuse(struct ship_shipper *shipper, const struct ship_passed *what, uint64_t n,
		   char **err)
{
	uint64_t length_ns = shipper->batch.length_ns;

	if (!n) {
		pass(shipper, what, length_ns, err);
		return;
	}
	free(*err);
	*err = NULL;
	note_passed(shipper, what, length_ns);
}

static void end_refused(const struct comm_run *run, uint64_t n)
{
	if (n > 1)
		fprintf(stderr, "commctl: so are the next %llu of run %s\n",
			(unsigned long long)n - 1, run->uuid);
}

static void pass_run(struct ship_shipper *shipper, struct comm_reader *reader,
		     const struct comm_run *run, uint64_t mark_ns, char **err)
{
	const struct ship_passed what = {run->id, UINT64_MAX, 0};
	struct comm_run whole = *run;
	uint64_t length_ns;

	/* Where the run has no end that is its last slice's. */
	if (!comm_reader_snapshot(reader) && run->state != COMM_RUN_FINISHED)
		(void)!comm_reader_sum_run(reader, &whole);
	comm_reader_release(reader);
	length_ns = whole.end_ns > whole.start_ns ? whole.end_ns - whole.start_ns : 0;
	pass(shipper, &what, length_ns > mark_ns ? length_ns - mark_ns : 0, err);
}

/* passed_ns: of what is missing in front of it, what was told already. */
static int put(struct ship_shipper *shipper, uint64_t passed_ns, char **err)
{
	bool taken = false;
	int code = shipper->ops->put(shipper->sink, &shipper->batch, &taken, err);
	uint64_t missing_ns = shipper->batch.missing_ns;

	if (code)
		return code;
	shipper->sums.slices += taken;
	shipper->sums.had += !taken;
	if (!taken)
		return 0;
	shipper->sums.flows += shipper->batch.flows;
	missing_ns -= missing_ns < passed_ns ? missing_ns : passed_ns;
	shipper->sums.missing_ns += missing_ns;
	if (missing_ns >= TOLD_NS)
		fprintf(stderr,
			"commctl: of run %s %.0f s are missing, from %.0f s on: they are not in "
			"the "
			"store, or not any more\n",
			shipper->batch.uuid, (double)missing_ns / 1e9,
			(double)(shipper->batch.start_ns - shipper->batch.missing_ns) / 1e9);
	return 0;
}

/*
 * Sends what is behind the mark; *mark_ns is then up to where the sink has the run.  1: all that there is.  PASS_RUN: with a sentence
 * in *err.
 */
static int send_behind(struct ship_shipper *shipper, struct comm_reader *reader,
		       const struct comm_run *run, uint64_t *mark_ns, char **err)
{
	const struct ship_passed *passed = passed_of(shipper, run->id);
	struct ship_batch *batch = &shipper->batch;
	uint64_t from_ns = *mark_ns, passed_ns = 0, refused = 0, gone_ns = UINT64_MAX;
	int code = 0;

	if (passed && passed->until_ns > from_ns) {
		from_ns = passed->until_ns;
		passed_ns = passed->length_ns;
	}
	while (!code) {
		bool is_put = false;

		code = ship_batch_next(reader, run, *mark_ns, from_ns, batch, err);
		/* What took its place is found the next time.  If nothing has, the store is damaged there. */
		if (code == -ESTALE && gone_ns != batch->start_ns) {
			gone_ns = batch->start_ns;
			free(*err);
			*err = NULL;
			code = 0;
			continue;
		}
		from_ns = batch->start_ns + batch->length_ns;
		if (!code && refused && batch->as_profile && !batch->profile_bytes) {
			/* Nothing is to be sent, so what was refused before stays behind the mark. */
			passed_ns += batch->length_ns;
			continue;
		}
		if (!code) {
			code = put(shipper, passed_ns, err);
			is_put = code != -EBADMSG;
		} else if (code == -EINVAL) {
			code = PASS_RUN;
		}
		if (is_put) {
			end_refused(run, refused);
			refused = 0;
			if (code == -ERANGE)
				return PASS_RUN;
			passed_ns = 0;
			*mark_ns = from_ns;
		} else if (code == -EFBIG) {
			passed_ns += batch->length_ns;
			pass(shipper, &(struct ship_passed){run->id, from_ns, passed_ns},
			     batch->length_ns, err);
			code = 0;
		} else if (code == -EBADMSG || code == -ESTALE) {
			passed_ns += batch->length_ns;
			refuse(shipper, &(struct ship_passed){run->id, from_ns, passed_ns},
			       refused++, err);
			code = 0;
		}
	}
	end_refused(run, refused);
	return code;
}

static int send_run(struct ship_shipper *shipper, struct comm_reader *reader,
		    const struct comm_run *run, char **err)
{
	uint64_t mark_ns = 0, slices = shipper->sums.slices;
	int code = 0;

	if (!ship_is_uuid(run->uuid)) {
		ship_fail(err, -EINVAL, "run %lld of the store %s has no UUID", (long long)run->id,
			  shipper->store);
		pass_run(shipper, reader, run, 0, err);
		return 0;
	}
	code = shipper->ops->mark(shipper->sink, run->uuid, &mark_ns, err);
	if (!code)
		code = send_behind(shipper, reader, run, &mark_ns, err);
	shipper->sums.runs += shipper->sums.slices > slices;
	if (code == 1 && run->state != COMM_RUN_RUNNING)
		note_over(shipper, run->id);
	if (code == PASS_RUN)
		pass_run(shipper, reader, run, mark_ns, err);
	return code < 0 ? code : 0;
}

/* Whether nothing of it is to be sent, as it was, or cannot be. */
static bool is_done(const struct ship_shipper *shipper, int64_t run)
{
	const struct ship_passed *passed = passed_of(shipper, run);

	return is_over(shipper, run) || (passed && passed->until_ns == UINT64_MAX);
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
		if (!is_done(shipper, runs->run[i].id))
			code = send_run(shipper, reader, &runs->run[i], err);
	comm_runs_free(runs);
	return code;
}

int ship_shipper_round(struct ship_shipper *shipper, char **err)
{
	struct comm_reader *reader;
	int code;

	*err = NULL;
	shipper->wait_ms = 0;
	code = comm_reader_open(shipper->store, &reader, err);
	/* Who holds the store lets it go again. */
	if (code)
		return code == -EBUSY ? -EAGAIN : code;
	code = open_sink(shipper, err);
	if (!code)
		code = send_runs(shipper, reader, err);
	comm_reader_close(reader);
	if (code)
		close_sink(shipper);
	return code == -EBUSY ? -EAGAIN : code;
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
	free(shipper->passed);
	free(shipper->over_store);
}
