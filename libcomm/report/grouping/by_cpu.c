// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-cpu: the CPUs that writers and readers ran on.  A store does not tell on which
 * CPU a given byte was written or read: a thread's bytes of a slice are split over the
 * CPUs that its samples of that slice were taken on, as many to each as samples,
 * and writer and reader are taken to be independent.  The split is as coarse in
 * time as the slices are.
 */
#include <errno.h>
#include <stdlib.h>

#include "grouping.h"
#include "ids.h"
#include "schema.h"

enum { CPUS_FIRST = 64 };

/* The CPUs that a thread ran on in the slice. */
struct placed {
	uint32_t thread;
	size_t first, n; /* its range of by_cpu.share */
};

struct by_cpu {
	sqlite3_stmt *ask;
	struct comm_share *share;
	struct placed *placed; /* in order of threads */
	size_t n_shares, shares_room, n_placed, placed_room;
};

static int cpu_open(struct comm_grouping_use *use, char **err)
{
	sqlite3 *db = use->reader->db;
	struct by_cpu *by = calloc(1, sizeof(*by));
	sqlite3_stmt *any;
	int rc;

	use->state = by;
	if (!by)
		return -ENOMEM;
	if (sqlite3_prepare_v2(db, "SELECT 1 FROM placement WHERE run = ?1 LIMIT 1", -1, &any,
			       NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(any, 1, use->run->id);
	rc = sqlite3_step(any);
	sqlite3_finalize(any);
	if (rc == SQLITE_DONE)
		return comm_reader_fail(err, -ENODATA,
					"run %lld has no record of which CPU its threads ran on",
					(long long)use->run->id);
	if (rc != SQLITE_ROW || sqlite3_prepare_v2(db,
						   "SELECT thread, cpu + 1, samples FROM placement"
						   " WHERE run = ?1 AND slice = ?2 ORDER BY thread",
						   -1, &by->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(by->ask, 1, use->run->id);
	return 0;
}

static void cpu_close(struct comm_grouping_use *use)
{
	struct by_cpu *by = use->state;

	if (!by)
		return;
	sqlite3_finalize(by->ask);
	free(by->share);
	free(by->placed);
	free(by);
}

/* Room for one more of n elements. */
static int reserve(void *array, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : CPUS_FIRST;
	void *grown;

	if (n < *room)
		return 0;
	grown = reallocarray(*(void **)array, more, size);
	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*room = more;
	return 0;
}

static int add(struct by_cpu *by, uint32_t thread, struct comm_share share)
{
	int code = reserve(&by->share, by->n_shares, &by->shares_room, sizeof(*by->share));

	if (!code)
		code = reserve(&by->placed, by->n_placed, &by->placed_room, sizeof(*by->placed));
	if (code)
		return code;
	if (!by->n_placed || by->placed[by->n_placed - 1].thread != thread)
		by->placed[by->n_placed++] = (struct placed){thread, by->n_shares, 0};
	by->placed[by->n_placed - 1].n++;
	by->share[by->n_shares++] = share;
	return 0;
}

static int cpu_slice(struct comm_grouping_use *use, int64_t slice)
{
	struct by_cpu *by = use->state;
	int rc, code = 0;

	by->n_placed = by->n_shares = 0;
	sqlite3_bind_int64(by->ask, 2, slice);
	while (!code && (rc = sqlite3_step(by->ask)) == SQLITE_ROW) {
		struct comm_share share = {.id = comm_id_column(by->ask, 1)};
		uint32_t thread = comm_id_column(by->ask, 0);
		int64_t samples = sqlite3_column_int64(by->ask, 2);

		/* Samples folded into COMM_ID_OTHER do not tell where any one thread ran. */
		if (thread == COMM_ID_OTHER || samples <= 0)
			continue;
		share.weight = samples;
		code = add(by, thread, share);
	}
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(use->reader->db);
	sqlite3_reset(by->ask);
	for (size_t i = 0; i < by->n_placed; i++) {
		struct comm_share *share = by->share + by->placed[i].first;
		double samples = 0;

		for (size_t j = 0; j < by->placed[i].n; j++)
			samples += share[j].weight;
		for (size_t j = 0; j < by->placed[i].n; j++)
			share[j].weight /= samples;
	}
	return code;
}

static int order(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* A writer may have written before the slice and not run in it: then its CPU is unknown. */
static int cpu_at(struct comm_grouping_use *use, const struct comm_end *end,
		  struct comm_shares *ret)
{
	const struct by_cpu *by = use->state;
	const struct placed key = {.thread = end->thread}, *found = NULL;

	if (by->n_placed)
		found = bsearch(&key, by->placed, by->n_placed, sizeof(key), order);
	comm_shares_one(ret, COMM_ID_OTHER);
	if (found) {
		ret->share = by->share + found->first;
		ret->n = found->n;
	}
	return 0;
}

static int cpu_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_format(use->texts, "cpu %d", sqlite3_column_int(row, 0));
	node->key = node->name;
	return 0;
}

/* CPU n is node n + 1: node 0 is COMM_ID_OTHER, an unknown CPU. */
const struct comm_grouping_ops comm_grouping_cpu = {
	.grouping = {.name = "cpu",
		     .help = "CPUs that the threads ran on, also within a thread",
		     .title = "CPUs",
		     .noun = "CPU",
		     .within = true,
		     .matrix = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "cpu",
	.letter = 'c',
	.open = cpu_open,
	.close = cpu_close,
	.slice = cpu_slice,
	.at = cpu_at,
	.sql = "SELECT ?2 - 1 WHERE ?1",
	.describe = cpu_describe,
};
