// SPDX-License-Identifier: GPL-2.0-or-later
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "schema.h"
#include "thread_keys.h"

enum { PLACES_FIRST = 256 };

_Static_assert(COMM_THREADS_MAX *COMM_THREAD_ROUNDS_MAX <= COMM_ID_MAX, "ids that a report takes");

struct thread_of_run {
	uint32_t id;
	struct comm_report_place place; /* all that holds in each slice */
	bool placed;
};

/* Places in the making. */
struct places {
	struct thread_of_run *thread; /* in order of ids */
	size_t n_threads, threads_capacity, n, capacity;
	struct comm_report_place *place;
};

int comm_places_check(const struct comm_grouping_use *use, char **err)
{
	if (!use->ops->grouping.within && !use->ops->grouping.between)
		return 0;
	return comm_reader_fail(err, -EINVAL, "a thread may belong to several %s: it has no place",
				use->ops->grouping.title);
}

static int add(struct places *places, const struct comm_report_place *place)
{
	if (places->n == places->capacity) {
		size_t capacity = places->capacity ? 2 * places->capacity : PLACES_FIRST;
		struct comm_report_place *grown =
			reallocarray(places->place, capacity, sizeof(*places->place));

		if (!grown)
			return -ENOMEM;
		places->place = grown;
		places->capacity = capacity;
	}
	places->place[places->n++] = *place;
	return 0;
}

/* Room for one more thread. */
static int reserve(struct places *places)
{
	size_t n = places->threads_capacity ? 2 * places->threads_capacity : PLACES_FIRST;
	struct thread_of_run *grown;

	if (places->n_threads < places->threads_capacity)
		return 0;
	grown = reallocarray(places->thread, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	places->thread = grown;
	places->threads_capacity = n;
	return 0;
}

static int order(const void *pa, const void *pb)
{
	const struct thread_of_run *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

/* Takes a row of (id, tgid, tid, what it is called). */
static int take_thread(struct places *places, struct comm_grouping_use *use, sqlite3_stmt *row)
{
	uint32_t id = comm_id_column(row, 0);
	struct comm_end end = {.thread = id};
	struct comm_report_place *place;
	struct comm_shares shares;
	int code;

	/* What was folded into COMM_ID_OTHER is many threads. */
	if (id == COMM_ID_OTHER)
		return 0;
	code = reserve(places);
	if (!code)
		code = use->ops->at(use, &end, &shares);
	if (code)
		return code;
	places->thread[places->n_threads] = (struct thread_of_run){.id = id};
	place = &places->thread[places->n_threads++].place;
	snprintf(place->node, sizeof(place->node), "%c%u", use->ops->letter, shares.own[0].id);
	place->tgid = (uint32_t)sqlite3_column_int64(row, 1);
	place->tid = (uint32_t)sqlite3_column_int64(row, 2);
	place->name = comm_texts_keep(use->texts, row, 3);
	place->cpu = -1;
	return 0;
}

static int load_threads(struct places *places, struct comm_grouping_use *use)
{
	sqlite3 *db = use->reader->db;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT id, tgid, tid," COMM_THREAD_CALLED "FROM thread"
			       " WHERE run = ?1 ORDER BY id",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, use->run->id);
	while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		code = take_thread(places, use, stmt);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(db);
	sqlite3_finalize(stmt);
	return code;
}

/* Takes a row of (thread, cpu, samples); what no daemon writes is left out. */
static int take_place(struct places *places, const struct comm_slices_one *slice, uint64_t start_ns,
		      sqlite3_stmt *row)
{
	const struct thread_of_run key = {.id = comm_id_column(row, 0)};
	struct thread_of_run *thread = NULL;
	int64_t cpu = sqlite3_column_int64(row, 1), samples = sqlite3_column_int64(row, 2);
	struct comm_report_place place;

	if (places->n_threads)
		thread = bsearch(&key, places->thread, places->n_threads, sizeof(key), order);
	if (!thread || cpu < 0 || samples <= 0)
		return 0;
	thread->placed = true;
	place = thread->place;
	place.from_ns = comm_slices_since(slice->start_ns, start_ns);
	place.cpu = cpu;
	place.samples = (uint64_t)samples;
	return add(places, &place);
}

static int load_slices(struct places *places, struct comm_grouping_use *use,
		       const struct comm_slices *slices)
{
	sqlite3 *db = use->reader->db;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT thread, cpu, samples FROM placement"
			       " WHERE run = ?1 AND slice = ?2",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, use->run->id);
	for (size_t i = 0; i < slices->n && !code; i++) {
		if (!slices->slice[i].taken)
			continue;
		sqlite3_bind_int64(stmt, 2, slices->slice[i].id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			code = take_place(places, &slices->slice[i], use->run->start_ns, stmt);
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return code;
}

int comm_places_load(struct comm_grouping_use *use, const struct comm_slices *slices,
		     struct comm_report_place **ret, size_t *ret_n)
{
	struct places places = {0};
	int code = load_threads(&places, use);

	if (!code)
		code = load_slices(&places, use, slices);
	for (size_t i = 0; i < places.n_threads && !code; i++)
		if (!places.thread[i].placed)
			code = add(&places, &places.thread[i].place);
	free(places.thread);
	*ret = places.place;
	*ret_n = places.n;
	return code;
}
