// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A baseline to compare estimators with, for tests alone: each read was written by whoever made
 * the sampled write that is nearest in address, in the same object and at whatever time so far,
 * the reader's own writes among them.  Data of an object that nobody was seen to write is the
 * initial thread's, where the run saw the program begin.  No time, no chances, no constants.
 */
#include "baseline.h"
#include "edge_sums.h"
#include "event.h"
#include "weight.h"

#include <errno.h>
#include <stdlib.h>

enum {
	STEP_BYTES = 64, /* long writes, such as copies, count once in so many bytes */
	STEPS = 64,	 /* at most, with longer steps where needed */
};

struct point { /* a sampled write */
	uint64_t datum;
	uint32_t object, size_bytes;
	uint32_t thread, site;
	uint64_t number; /* of its burst */
};

struct address {
	struct comm_weights *weights;
	struct comm_edge_sums *edges;
	struct comm_unwritten unwritten;
	struct point *point;
	size_t n, sorted, capacity; /* those after sorted are of this slice */
	struct read {
		struct comm_access access;
		struct comm_weight_burst burst;
		uint32_t thread, slot;
		uint64_t number;
	} * read;
	size_t n_reads, read_capacity;
	uint64_t bursts;
	uint32_t initial; /* thread; 0: the program was there before */
};

static void address_destroy(void *est)
{
	struct address *a = est;

	if (!a)
		return;
	comm_weights_destroy(a->weights);
	comm_edge_sums_destroy(a->edges);
	free(a->point);
	free(a->read);
	free(a);
}

static int address_create(const struct comm_est_config *config, void **ret)
{
	struct address *a = calloc(1, sizeof(*a));

	if (!a || comm_weights_create(config->cycles_per_ns, &a->weights) ||
	    comm_edge_sums_create(comm_est_memory(config), &a->edges)) {
		address_destroy(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

static void address_began(void *est, uint64_t time_ns, uint32_t thread)
{
	struct address *a = est;

	(void)time_ns;
	if (!a->initial)
		a->initial = thread;
}

/* Makes room for one more of n; false: no memory. */
static bool grow(void **array, size_t n, size_t *capacity, size_t bytes)
{
	size_t more = *capacity ? 2 * *capacity : 1024;
	void *grown;

	if (n < *capacity)
		return true;
	grown = reallocarray(*array, more, bytes);
	if (!grown)
		return false;
	*array = grown;
	*capacity = more;
	return true;
}

static int address_write(struct address *a, uint32_t thread, const struct comm_access *w)
{
	uint32_t size = w->size_bytes ? w->size_bytes : 1, step = size / STEPS + 1;

	step = step < STEP_BYTES ? STEP_BYTES : step;
	for (uint32_t at = 0; at < size; at += step) {
		if (!grow((void **)&a->point, a->n, &a->capacity, sizeof(*a->point)))
			return -ENOMEM;
		a->point[a->n++] = (struct point){.datum = w->datum + at,
						  .object = w->object,
						  .size_bytes = size - at < step ? size - at : step,
						  .thread = thread,
						  .site = w->site,
						  .number = a->bursts};
	}
	return 0;
}

static int address_burst(void *est, const struct comm_access_burst *burst)
{
	struct address *a = est;
	int code = 0;

	a->bursts++;
	for (uint32_t i = 0; i < burst->n && !code; i++) {
		const struct comm_access *x = &burst->access[i];
		struct read *r;
		uint32_t slot;

		if (x->flags & COMM_ACCESS_IMPLICIT)
			continue;
		slot = comm_weights_learn(a->weights, burst, x);
		if (x->flags & COMM_ACCESS_READ) {
			if (!grow((void **)&a->read, a->n_reads, &a->read_capacity,
				  sizeof(*a->read)))
				return -ENOMEM;
			r = &a->read[a->n_reads++];
			*r = (struct read){.access = *x,
					   .thread = burst->thread,
					   .slot = slot,
					   .number = a->bursts};
			comm_weight_burst(burst, &r->burst);
		}
		if (x->flags & COMM_ACCESS_WRITE)
			code = address_write(a, burst->thread, x);
	}
	return code;
}

/* By place; of one place the latest burst first. */
static int order(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->datum != b->datum)
		return a->datum < b->datum ? -1 : 1;
	return (a->number < b->number) - (a->number > b->number);
}

/* Sorts this slice's points in among the others. */
static int merge(struct address *a)
{
	size_t i = 0, j = a->sorted;
	struct point *all;

	if (a->sorted == a->n)
		return 0;
	all = reallocarray(NULL, a->capacity, sizeof(*all));
	if (!all)
		return -ENOMEM;
	qsort(a->point + a->sorted, a->n - a->sorted, sizeof(*a->point), order);
	for (size_t k = 0; k < a->n; k++) {
		bool old = i < a->sorted && (j == a->n || order(&a->point[i], &a->point[j]) <= 0);

		all[k] = old ? a->point[i++] : a->point[j++];
	}
	free(a->point);
	a->point = all;
	a->sorted = a->n;
	return 0;
}

static uint64_t distance(const struct point *p, uint64_t datum)
{
	if (datum < p->datum)
		return p->datum - datum;
	return datum - p->datum < p->size_bytes ? 0 : datum - p->datum - p->size_bytes + 1;
}

/* The nearest write to a read's first byte; NULL: nobody was seen to write the object. */
static const struct point *nearest_to(const struct address *a, const struct comm_access *read)
{
	const struct point *below = NULL, *above = NULL;
	struct point key = {.datum = read->datum, .object = read->object, .number = UINT64_MAX};
	size_t low = 0, high = a->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (order(&a->point[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && a->point[low - 1].object == read->object)
		below = &a->point[low - 1];
	if (low < a->n && a->point[low].object == read->object)
		above = &a->point[low];
	if (!below || !above)
		return below ? below : above;
	return distance(below, read->datum) < distance(above, read->datum) ? below : above;
}

static void estimate(struct address *a, const struct read *r)
{
	double known = r->access.known > 0.01f ? r->access.known : 0.01;
	double bytes =
		comm_weight_of(a->weights, &r->burst, r->slot) / known * r->access.size_bytes;
	const struct point *p = nearest_to(a, &r->access);
	struct comm_edge_key key = {.src_thread = p ? p->thread : a->initial,
				    .src_site = p ? p->site : 0,
				    .dst_thread = r->thread,
				    .dst_site = r->access.site,
				    .object = r->access.object};

	if (key.src_thread)
		comm_edge_sums_add(a->edges, &key, bytes, bytes, 1);
	else
		a->unwritten.bytes += bytes;
}

static int address_slice(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit,
			 void *ctx, struct comm_unwritten *ret_unwritten)
{
	struct address *a = est;
	int code = merge(a);

	(void)start_ns;
	(void)end_ns;
	if (code)
		return code;
	for (size_t i = 0; i < a->n_reads; i++) {
		estimate(a, &a->read[i]);
		if (i + 1 == a->n_reads || a->read[i + 1].number != a->read[i].number)
			comm_edge_sums_end_burst(a->edges);
	}
	a->n_reads = 0;
	comm_edge_sums_emit(a->edges, emit, ctx);
	*ret_unwritten = a->unwritten;
	a->unwritten = (struct comm_unwritten){0};
	return 0;
}

const struct comm_est_ops comm_est_address = {
	.name = "address",
	/* As wide as nearest's; the tables take it as stating everything anyway. */
	.error_model = {.sampled_ends = 2, .factor_sd = 1.75, .confusion_sd = 0.35},
	.create = address_create,
	.destroy = address_destroy,
	.began = address_began,
	.burst = address_burst,
	.slice = address_slice,
};
