// SPDX-License-Identifier: GPL-2.0-or-later
#include "unseen.h"

#include "ids.h"
#include "place.h"
#include "terms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct comm_unseen {
	struct comm_places *writes, *reads;
	uint32_t granularity_bytes;
	/* Bit i: the thread of place i began its program in this run; it was sampled. */
	uint64_t began[COMM_THREADS_MAX / 64], ran[COMM_THREADS_MAX / 64];
};

int comm_unseen_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_unseen **ret)
{
	struct comm_unseen *u = calloc(1, sizeof(*u));

	if (!u)
		return -ENOMEM;
	u->granularity_bytes = granularity_bytes;
	if (comm_places_create(memory_bytes / 2, &u->writes) ||
	    comm_places_create(memory_bytes / 2, &u->reads)) {
		comm_unseen_destroy(u);
		return -ENOMEM;
	}
	*ret = u;
	return 0;
}

void comm_unseen_destroy(struct comm_unseen *unseen)
{
	if (!unseen)
		return;
	comm_places_destroy(unseen->writes);
	comm_places_destroy(unseen->reads);
	free(unseen);
}

static void unseen_set(uint64_t *bits, uint32_t thread)
{
	bits[comm_thread_place(thread) / 64] |= 1ull << thread % 64;
}

static bool unseen_has(const uint64_t *bits, uint32_t thread)
{
	return bits[comm_thread_place(thread) / 64] >> thread % 64 & 1;
}

void comm_unseen_began(struct comm_unseen *unseen, uint32_t thread)
{
	unseen_set(unseen->began, thread);
}

static void unseen_wrote(struct comm_unseen *u, const struct comm_window_burst *burst,
			 const struct comm_window_write *w)
{
	struct comm_place place = {.datum = w->datum,
				   .time_ns = burst->time_ns,
				   .object = w->object,
				   .size_bytes = u->granularity_bytes << 3 * w->level,
				   .thread = burst->reader,
				   .site = w->site};

	if (w->mask) {
		uint32_t first = (uint32_t)__builtin_ctz(w->mask),
			 end = 32 - (uint32_t)__builtin_clz(w->mask);

		place.datum += (uint64_t)first * u->granularity_bytes;
		place.size_bytes = (end - first) * u->granularity_bytes;
	}
	comm_places_add(u->writes, &place);
}

static struct comm_place unseen_place(const struct comm_window_burst *burst,
				      const struct comm_window_read *read)
{
	return (struct comm_place){.datum = read->datum,
				   .time_ns = burst->time_ns,
				   .object = read->object,
				   .size_bytes = 1,
				   .thread = burst->reader,
				   .site = read->site};
}

void comm_unseen_learn(struct comm_unseen *unseen, struct comm_window *window, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(window, i);
		const struct comm_window_write *w = comm_window_writes(window, b);
		const struct comm_window_read *r = comm_window_reads(window, b);

		unseen_set(unseen->ran, b->reader);
		for (uint32_t j = 0; j < b->n_writes; j++)
			unseen_wrote(unseen, b, &w[j]);
		for (uint32_t j = 0; j < b->n_reads; j++) {
			struct comm_place place = unseen_place(b, &r[j]);

			if (!r[j].self)
				comm_places_add(unseen->reads, &place);
		}
	}
}

bool comm_unseen_far(struct comm_unseen *unseen, const struct comm_touches *touches,
		     const struct comm_window_burst *burst, const struct comm_window_read *read)
{
	uint64_t bytes;

	if (comm_without(COMM_TERM_far))
		return false;
	if (unseen_has(unseen->began, burst->initial) && !comm_touches_none(touches))
		return false;
	if (comm_touches_of(touches, read->datum, read->constant, read->of_file, burst->time_ns))
		return false;
	return !comm_places_nearest(unseen->writes, read->object, read->datum, &bytes) ||
	       bytes >= UNSEEN_FAR_BYTES;
}

double comm_unseen_guess(struct comm_unseen *unseen, const struct comm_window_burst *burst,
			 const struct comm_window_read *read, double bytes, double first_bytes,
			 struct comm_edge_sums *edges)
{
	const struct comm_place at = unseen_place(burst, read), *write;
	struct comm_edge_key key = {
		.dst_thread = burst->reader, .dst_site = read->site, .object = read->shown};
	uint64_t near = UINT64_MAX;
	double table, initial = 0, own;
	uint32_t n, n_own;

	if (comm_without(COMM_TERM_guess))
		return 1;
	write = comm_places_nearest(unseen->writes, read->object, read->datum, &near);
	n = comm_places_around(unseen->reads, &at, near / 2, &n_own);
	table = UNSEEN_TABLE /
		(UNSEEN_TABLE + (1 - UNSEEN_TABLE) * pow(1 + UNSEEN_WRITES_PER_READ, -(double)n));
	if (burst->initial && unseen_has(unseen->ran, burst->initial))
		initial = table * (n - n_own) / (n + 1);
	own = table * (n_own + 1) / (n + 1);
	if (initial > 0) {
		key.src_thread = burst->initial;
		comm_edge_sums_add(edges, &key, bytes * initial, first_bytes * initial,
				   COMM_LEVEL_OBJECT);
	}
	key.src_thread = burst->reader;
	comm_edge_sums_add(edges, &key, bytes * own, first_bytes * own, COMM_LEVEL_OBJECT);
	if (!write)
		return 1 - initial - own;
	key.src_thread = write->thread;
	key.src_site = write->site;
	comm_edge_sums_add(edges, &key, bytes * (1 - initial - own),
			   first_bytes * (1 - initial - own), COMM_LEVEL_OBJECT);
	return 0;
}
