// SPDX-License-Identifier: GPL-2.0-or-later
#include "edge_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ids.h"

static double positive(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

static void sum(void *to, const void *row)
{
	const struct comm_edge *edge = row;
	struct comm_edge *e = to;

	e->bytes += positive(edge->bytes);
	e->variance += positive(edge->variance);
	e->drawn_variance += positive(edge->drawn_variance);
	e->first_bytes += positive(edge->first_bytes);
	e->first_variance += positive(edge->first_variance);
	comm_doubts_add(&e->doubts, &edge->doubts, 1);
	e->watched_bytes += positive(edge->watched_bytes);
	e->watched_variance += positive(edge->watched_variance);
	comm_ages_add(&e->ages, &edge->ages, 1);
	comm_strands_add(&e->strands, &edge->strands, 0);
	e->bursts = edge->bursts > UINT32_MAX - e->bursts ? UINT32_MAX : e->bursts + edge->bursts;
	if (edge->level > e->level)
		e->level = edge->level;
}

static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_edge, object), sum};

void comm_edge_table_deinit(struct comm_edge_table *cells)
{
	comm_keyed_deinit(&cells->keyed);
}

void comm_edge_table_clear(struct comm_edge_table *cells)
{
	comm_keyed_clear(&cells->keyed);
}

int comm_edge_table_at(struct comm_edge_table *cells, const struct comm_edge *key,
		       struct comm_edge **ret)
{
	size_t at;
	int err = comm_keyed_at(&cells->keyed, &kind, key, &at);

	if (!err)
		*ret = &cells->edge[at];
	return err;
}

int comm_edge_table_add(struct comm_edge_table *cells, const struct comm_edge *edge)
{
	struct comm_edge *to;
	int err = comm_edge_table_at(cells, edge, &to);

	if (!err)
		sum(to, edge);
	return err;
}

static int order_by_key(const void *pa, const void *pb)
{
	const struct comm_edge *a = pa, *b = pb;

	if (a->src_thread != b->src_thread)
		return a->src_thread < b->src_thread ? -1 : 1;
	if (a->dst_thread != b->dst_thread)
		return a->dst_thread < b->dst_thread ? -1 : 1;
	if (a->src_site != b->src_site)
		return a->src_site < b->src_site ? -1 : 1;
	if (a->dst_site != b->dst_site)
		return a->dst_site < b->dst_site ? -1 : 1;
	return (a->object > b->object) - (a->object < b->object);
}

static int order_by_bytes(const void *pa, const void *pb)
{
	const struct comm_edge *a = pa, *b = pb;
	double a_bytes = a->bytes + a->watched_bytes, b_bytes = b->bytes + b->watched_bytes;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	return order_by_key(a, b);
}

static bool has_site(const void *row)
{
	const struct comm_edge *e = row;

	return e->src_site || e->dst_site || e->object;
}

static void drop_sites(void *row)
{
	struct comm_edge *e = row;

	e->src_site = e->dst_site = COMM_ID_OTHER;
	e->object = COMM_ID_OTHER;
}

/* Folding must not mix edges within one thread with those between threads. */
static bool is_crossing_pair(const void *row)
{
	const struct comm_edge *e = row;

	return !has_site(e) && e->src_thread != e->dst_thread;
}

static void drop_reader(void *row)
{
	((struct comm_edge *)row)->dst_thread = COMM_ID_OTHER;
}

static bool same_pair(const struct comm_edge *a, const struct comm_edge *b)
{
	return a->src_thread == b->src_thread && a->dst_thread == b->dst_thread;
}

/* Of a cell that has estimated or watched bytes alone. */
static double weight(const struct comm_edge *e)
{
	return e->bytes + e->watched_bytes;
}

/*
 * Adds a cell to those that run stands for.  Whose key stands for them is drawn in proportion
 * to the bytes, so that each cell keeps its bytes on average, whatever they are then
 * summed by; *drawn_bytes are the drawn one's own.  (Weighted reservoir sampling of one item;
 * what it does to flows: Duffield, Lund and Thorup, Learn more, sample less, 2005.)
 */
static void stand_for(struct comm_edge *run, const struct comm_edge *e, uint64_t *random,
		      double *drawn_bytes)
{
	uint32_t bursts = e->bursts > run->bursts ? e->bursts : run->bursts;
	uint8_t level = e->level > run->level ? e->level : run->level;
	struct comm_edge sum = *run;

	sum.bytes += e->bytes;
	sum.watched_bytes += e->watched_bytes;
	if (comm_hash_uniform(random) * weight(&sum) < weight(e)) {
		sum.src_site = e->src_site;
		sum.dst_site = e->dst_site;
		sum.object = e->object;
		*drawn_bytes = e->bytes;
	}
	sum.variance += e->variance;
	sum.drawn_variance += e->drawn_variance;
	sum.first_bytes += e->first_bytes;
	sum.first_variance += e->first_variance;
	comm_doubts_add(&sum.doubts, &e->doubts, 1);
	sum.watched_variance += e->watched_variance;
	comm_ages_add(&sum.ages, &e->ages, 1);
	comm_strands_add(&sum.strands, &e->strands, 0);
	sum.bursts = bursts;
	sum.level = level;
	*run = sum;
}

/*
 * Parts cells into their estimated bytes, which stay, and their watched ones, which a cell of
 * watched has then: of each another cell may have to stand for others.  Counts both; keeps the order.
 */
static void part(struct comm_edge *cell, struct comm_edge *watched, size_t *n, size_t *ret_watched)
{
	size_t left = 0, n_watched = 0;

	for (size_t i = 0; i < *n; i++) {
		struct comm_edge e = cell[i];

		if (e.watched_bytes > 0 && e.bytes > 0) {
			watched[n_watched++] = (struct comm_edge){
				.src_thread = e.src_thread,
				.src_site = e.src_site,
				.dst_thread = e.dst_thread,
				.dst_site = e.dst_site,
				.object = e.object,
				.watched_bytes = e.watched_bytes,
				.watched_variance = e.watched_variance,
			};
			e.watched_bytes = e.watched_variance = 0;
		} else if (e.watched_bytes > 0) {
			watched[n_watched++] = e;
			continue;
		}
		cell[left++] = e;
	}
	*n = left;
	*ret_watched = n_watched;
}

/* Of cells that are sorted by key. */
static size_t pairs_of(const struct comm_edge *cell, size_t n)
{
	size_t pairs = 0;

	for (size_t i = 0; i < n; i++)
		pairs += !i || !same_pair(&cell[i - 1], &cell[i]);
	return pairs;
}

/*
 * Adds to kept what stands for the n cells in tail, which are sorted by key and of one kind of
 * bytes: few of each pair.
 */
static int draw(struct comm_edge_table *kept, const struct comm_edge *tail, size_t n,
		size_t capacity)
{
	double bytes = 0, drawn_bytes = 0;
	uint64_t random = n, bits;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		bytes += weight(&tail[i]);
	/* Another draw for each slice, the same one in each replay. */
	memcpy(&bits, &bytes, sizeof(bits));
	random = comm_hash_mix(bits, random);
	for (size_t i = 0; i < n && !err;) {
		struct comm_edge run = tail[i];

		drawn_bytes = run.bytes;
		for (i++;
		     i < n && same_pair(&tail[i], &run) && weight(&run) * (double)capacity < bytes;
		     i++)
			stand_for(&run, &tail[i], &random, &drawn_bytes);
		run.drawn_variance += run.bytes * (run.bytes - drawn_bytes);
		err = comm_edge_table_add(kept, &run);
	}
	return err;
}

/*
 * Keeps three quarters of cap cells with site, the largest, and as many as the fourth quarter
 * and the pairs of threads that stand for the others.  -E2BIG: there are more than cap
 * pairs of threads among those.
 */
static int thin(struct comm_edge_table *cells, size_t cap, uint64_t *ret_folded)
{
	struct comm_edge_table kept = {0};
	size_t n = 0, n_watched = 0, rank = 0, capacity = cap / 4 + 1;
	struct comm_edge *tail, *watched;
	int err = 0;

	tail = calloc(2 * cells->n, sizeof(*tail));
	if (!tail)
		return -ENOMEM;
	watched = tail + cells->n;
	qsort(cells->edge, cells->n, sizeof(*cells->edge), order_by_bytes);
	for (size_t i = 0; i < cells->n && !err; i++) {
		if (has_site(&cells->edge[i]) && rank++ >= cap - cap / 4)
			tail[n++] = cells->edge[i];
		else
			err = comm_edge_table_add(&kept, &cells->edge[i]);
	}
	qsort(tail, n, sizeof(*tail), order_by_key);
	part(tail, watched, &n, &n_watched);
	if (!err && pairs_of(tail, n) + pairs_of(watched, n_watched) > cap)
		err = -E2BIG;
	if (!err && n_watched)
		err = draw(&kept, watched, n_watched, capacity / 4);
	if (!err)
		err = draw(&kept, tail, n, n_watched ? capacity - capacity / 4 : capacity);
	free(tail);
	if (err) {
		/* Sorting reordered cells, but none was lost or folded yet. */
		comm_edge_table_deinit(&kept);
		comm_edge_table_sort(cells);
		return err;
	}
	*ret_folded += cells->n - kept.n;
	comm_edge_table_deinit(cells);
	*cells = kept;
	return 0;
}

int comm_edge_table_fold(struct comm_edge_table *cells, size_t cap, uint64_t *ret_folded)
{
	size_t pairs = 0;
	int err;

	if (cells->n <= cap)
		return 0;
	err = thin(cells, cap, ret_folded);
	if (err && err != -E2BIG)
		return err;
	if (err)
		*ret_folded += comm_keyed_fold(&cells->keyed, &kind, cap, order_by_bytes, has_site,
					       drop_sites);
	for (size_t i = 0; i < cells->n; i++)
		pairs += is_crossing_pair(&cells->edge[i]);
	if (pairs > cap)
		*ret_folded += comm_keyed_fold(&cells->keyed, &kind, cap, order_by_bytes,
					       is_crossing_pair, drop_reader);
	return 0;
}

void comm_edge_table_sort(struct comm_edge_table *cells)
{
	comm_keyed_sort(&cells->keyed, &kind, order_by_key);
}
