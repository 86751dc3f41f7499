// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread's CPU time in a slice is shared out to the regions that its samples of the slice were
 * in, and that of slices without one as its samples of all slices were; of a thread that no sample
 * met it is not known where it was spent.  What else a thread counted while it ran is apportioned as its CPU time is:
 * so much would have fallen to each region if it came as often in all of them.  Of waits, switches and migrations
 * nothing is told by region, for these are when a thread does not run; nor of a run without samples of regions, but for
 * CPU time that is not known where.
 */
#include "node_counts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "id_sums.h"
#include "ids.h"
#include "schema.h"

enum { SUMS_FIRST = 64 };

/* A counter of a node. */
struct sum {
	uint32_t node;
	int64_t counter;
	double total, squares; /* of slices' sums */
	double in_slice;
	uint64_t slices;
	double enabled_ns, running_ns;
	double shared; /* of slices without a sample */
};

struct sums {
	struct sum *sum;
	size_t n, capacity, last;
	struct comm_id_sums sampled;   /* by thread and region */
	struct comm_id_sums unsampled; /* by thread and counter, of slices without a sample of it */
};

static bool by_region(const struct comm_grouping_use *use)
{
	return !strcmp(use->ops->grouping.name, "region");
}

int comm_node_counts_check(const struct comm_grouping_use *use, char **err)
{
	if (by_region(use) || (!use->ops->grouping.within && !use->ops->grouping.between))
		return 0;
	return comm_reader_fail(
		err, -EINVAL,
		"threads are counted, and a thread may belong to several %s: choose "
		"threads, roles, processes or regions",
		use->ops->grouping.title);
}

static int find(struct sums *sums, uint32_t node, int64_t counter, struct sum **ret)
{
	/* Rows of each slice come in the same order: the next is mostly behind the last. */
	for (size_t i = 0; i < sums->n; i++) {
		size_t at = (sums->last + 1 + i) % sums->n;

		if (sums->sum[at].node == node && sums->sum[at].counter == counter) {
			sums->last = at;
			*ret = &sums->sum[at];
			return 0;
		}
	}
	if (sums->n == sums->capacity) {
		size_t capacity = sums->capacity ? 2 * sums->capacity : SUMS_FIRST;
		struct sum *grown = reallocarray(sums->sum, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		sums->sum = grown;
		sums->capacity = capacity;
	}
	sums->sum[sums->n] = (struct sum){.node = node, .counter = counter};
	sums->last = sums->n;
	*ret = &sums->sum[sums->n++];
	return 0;
}

/* Takes a row of (thread or region, counter, value, enabled_ns, running_ns). */
static int take(struct sums *sums, struct comm_grouping_use *use, sqlite3_stmt *row)
{
	struct comm_end end = {.thread = comm_id_column(row, 0)};
	double value = sqlite3_column_double(row, 2);
	struct comm_shares shares = {0};
	struct sum *sum;
	int code = 0;

	if (!isfinite(value) || value < 0)
		return 0;
	if (by_region(use))
		comm_shares_one(&shares, comm_id_column(row, 0));
	else
		code = use->ops->at(use, &end, &shares);
	if (!code)
		code = find(sums, shares.share->id, sqlite3_column_int64(row, 1), &sum);
	if (code)
		return code;
	sum->in_slice += value;
	sum->enabled_ns += sqlite3_column_double(row, 3);
	sum->running_ns += sqlite3_column_double(row, 4);
	return 0;
}

/* of: a region, or a counter. */
static int add(struct comm_id_sums *sums, uint32_t thread, uint32_t of, double value)
{
	const uint32_t key[] = {thread, of, 0, 0};
	struct comm_id_sum *sum;
	int code = comm_id_sums_at(sums, key, &sum);

	if (!code)
		sum->bytes += value;
	return code;
}

/* Takes a row of sampled_sql. */
static int take_sampled(struct sums *sums, struct comm_grouping_use *use, sqlite3_stmt *row)
{
	double value = sqlite3_column_double(row, 2);

	(void)use;
	if (!isfinite(value))
		return 0;
	return add(&sums->sampled, comm_id_column(row, 1), comm_id_column(row, 0), value);
}

/* Takes a row of regions_sql. */
static int take_region(struct sums *sums, struct comm_grouping_use *use, sqlite3_stmt *row)
{
	const char *counter = (const char *)sqlite3_column_text(row, 6);
	double value = sqlite3_column_double(row, 2);

	if (!counter || !isfinite(value) || value < 0)
		return 0;
	if (comm_counter_is_off_cpu(counter) ||
	    (!sums->sampled.n && strcmp(counter, COMM_COUNTER_CPU) != 0))
		return 0;
	if (sqlite3_column_type(row, 0) == SQLITE_NULL)
		return add(&sums->unsampled, comm_id_column(row, 5), comm_id_column(row, 1), value);
	return take(sums, use, row);
}

/* Shares out what a thread counted in slices without a sample of it. */
static int share_out(struct sums *sums, uint32_t thread, uint32_t counter, double value)
{
	const struct comm_id_sums *sampled = &sums->sampled;
	double all = 0;
	struct sum *sum;
	int code = 0;

	for (size_t i = 0; i < sampled->n; i++)
		if (sampled->sum[i].id[0] == thread)
			all += sampled->sum[i].bytes;
	for (size_t i = 0; i < sampled->n && all > 0 && !code; i++) {
		if (sampled->sum[i].id[0] != thread)
			continue;
		code = find(sums, sampled->sum[i].id[1], counter, &sum);
		if (!code)
			sum->shared += value * sampled->sum[i].bytes / all;
	}
	if (code || all > 0)
		return code;
	code = find(sums, COMM_ID_OTHER, counter, &sum);
	if (!code)
		sum->shared += value;
	return code;
}

static void end_slice(struct sums *sums)
{
	for (size_t i = 0; i < sums->n; i++) {
		struct sum *sum = &sums->sum[i];

		if (!(sum->in_slice > 0))
			continue;
		sum->total += sum->in_slice;
		sum->squares += sum->in_slice * sum->in_slice;
		sum->slices++;
		sum->in_slice = 0;
	}
}

static const char threads_sql[] =
	"SELECT thread, counter, value, enabled_ns, running_ns FROM count WHERE run = ?1 AND"
	" slice = ?2 AND counter NOT IN (SELECT id FROM counter WHERE name IN "
	"('" COMM_COUNTER_SAMPLED "', '" COMM_COUNTER_FRAMES "'))";

/* Nodes of regions are those of by_region.c: 1 is outside of all, 0 is not known which. */
#define REGION_NODE                              \
	"CASE r.id WHEN 0 THEN 1 WHEN 1 THEN 0"  \
	"  ELSE (SELECT min(o.id) FROM region o" \
	"  WHERE o.name = r.name) END"

static const char sampled_sql[] =
	"SELECT " REGION_NODE ", c.thread, sum(c.value) FROM count c"
	" JOIN counter k ON k.id = c.counter AND k.name = '" COMM_COUNTER_SAMPLED
	"' JOIN region r ON r.id = c.region"
	" WHERE c.run = ?1 AND c.slice = ?2 AND c.value > 0 GROUP BY 1, c.thread";

/* NULL: no sample met the thread. */
static const char regions_sql[] =
	"WITH s AS (SELECT thread, region, value, sum(value) OVER (PARTITION BY thread) AS all_of"
	" FROM count JOIN counter k ON k.id = counter AND k.name = '" COMM_COUNTER_SAMPLED
	"' WHERE run = ?1 AND slice = ?2 AND value > 0)"
	" SELECT " REGION_NODE ", c.counter, sum(c.value * coalesce(s.value / s.all_of, 1)),"
	" sum(c.enabled_ns * coalesce(s.value / s.all_of, 1)),"
	" sum(c.running_ns * coalesce(s.value / s.all_of, 1)), c.thread, k.name"
	" FROM count c JOIN counter k ON k.id = c.counter"
	" AND k.name NOT IN ('" COMM_COUNTER_SAMPLED "', '" COMM_COUNTER_FRAMES "')"
	" LEFT JOIN s ON s.thread = c.thread LEFT JOIN region r ON r.id = s.region"
	" WHERE c.run = ?1 AND c.slice = ?2 GROUP BY 1, 2, c.thread";

static int load_rows(struct sums *sums, struct comm_grouping_use *use,
		     const struct comm_slices *slices, const char *sql,
		     int (*take_row)(struct sums *, struct comm_grouping_use *, sqlite3_stmt *))
{
	sqlite3 *db = use->reader->db;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, use->run->id);
	for (size_t i = 0; i < slices->n && !code; i++) {
		if (!slices->slice[i].taken)
			continue;
		sqlite3_bind_int64(stmt, 2, slices->slice[i].id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
			code = take_row(sums, use, stmt);
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
		end_slice(sums);
	}
	sqlite3_finalize(stmt);
	return code;
}

static int load(struct sums *sums, struct comm_grouping_use *use, const struct comm_slices *slices)
{
	int code;

	if (!by_region(use))
		return load_rows(sums, use, slices, threads_sql, take);
	code = load_rows(sums, use, slices, sampled_sql, take_sampled);
	if (!code)
		code = load_rows(sums, use, slices, regions_sql, take_region);
	for (size_t i = 0; i < sums->unsampled.n && !code; i++)
		code = share_out(sums, sums->unsampled.sum[i].id[0], sums->unsampled.sum[i].id[1],
				 sums->unsampled.sum[i].bytes);
	return code;
}

static int name_counter(struct comm_grouping_use *use, int64_t counter, const char **ret)
{
	sqlite3 *db = use->reader->db;
	sqlite3_stmt *stmt;
	int rc;

	*ret = "(unnamed)";
	if (sqlite3_prepare_v2(db, "SELECT name FROM counter WHERE id = ?1", -1, &stmt, NULL) !=
	    SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, counter);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = comm_texts_keep(use->texts, stmt, 0);
	sqlite3_finalize(stmt);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : comm_schema_errno(db);
}

static double total_of(const struct sums *sums, uint32_t node, int64_t counter)
{
	for (size_t i = 0; i < sums->n; i++)
		if (sums->sum[i].node == node && sums->sum[i].counter == counter)
			return sums->sum[i].total + sums->sum[i].shared;
	return 0;
}

static int order(const void *pa, const void *pb)
{
	const struct comm_report_count *a = pa, *b = pb;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	if (strcmp(a->node.id, b->node.id) != 0)
		return strcmp(a->node.id, b->node.id);
	return strcmp(a->counter, b->counter);
}

static int fill(const struct sums *sums, struct comm_grouping_use *use,
		struct comm_report_count *count)
{
	int64_t cpu = -1;
	int code = 0;

	for (size_t i = 0; i < sums->n && !code; i++) {
		code = name_counter(use, sums->sum[i].counter, &count[i].counter);
		if (!strcmp(count[i].counter, COMM_COUNTER_CPU))
			cpu = sums->sum[i].counter;
	}
	for (size_t i = 0; i < sums->n && !code; i++) {
		const struct sum *sum = &sums->sum[i];
		double mean = sum->slices ? sum->total / (double)sum->slices : 0;
		double variance = sum->slices > 1 ? (sum->squares - sum->total * mean) /
							    (double)(sum->slices - 1)
						  : 0;

		count[i].total = sum->total + sum->shared;
		count[i].slices = sum->slices;
		count[i].mean = mean;
		count[i].deviation = variance > 0 ? sqrt(variance) : 0;
		count[i].cpu_ns = total_of(sums, sum->node, cpu);
		count[i].counted = 1;
		/* Of what it ran, or where that is not known of when it was asked for. */
		if (sum->enabled_ns > 0)
			count[i].counted =
				fmin(1, sum->running_ns / fmax(sum->enabled_ns, count[i].cpu_ns));
		code = comm_grouping_describe(use, sum->node, &count[i].node);
	}
	return code;
}

int comm_node_counts_load(struct comm_grouping_use *use, const struct comm_slices *slices,
			  struct comm_report_count **ret, size_t *ret_n, char **err)
{
	struct sums sums = {0};
	struct comm_report_count *count = NULL;
	int code = load(&sums, use, slices);

	if (!code && !sums.n)
		code = comm_reader_fail(err, -ENODATA,
					"run %lld has no counts: commd counts threads when it is "
					"told --counters, with the source bpf, not %s",
					(long long)use->run->id, use->run->source);
	if (!code) {
		count = calloc(sums.n, sizeof(*count));
		code = count ? fill(&sums, use, count) : -ENOMEM;
	}
	free(sums.sum);
	comm_keyed_deinit(&sums.sampled.keyed);
	comm_keyed_deinit(&sums.unsampled.keyed);
	if (code) {
		free(count);
		return code;
	}
	*ret = count;
	*ret_n = sums.n;
	qsort(count, *ret_n, sizeof(*count), order);
	return 0;
}
