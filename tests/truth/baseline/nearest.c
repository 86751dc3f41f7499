// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The baseline: the last *sampled* writer of the line counts as the writer.
 * It has no notion of what was not sampled; it is here to be compared with.
 */
#include "baseline.h"
#include "edge_sums.h"
#include "event.h"
#include "hash.h"
#include "unwritten_sums.h"
#include "weight.h"

#include <errno.h>
#include <stdlib.h>

enum {
	NEAREST_LINE_BYTES = 64,
	NEAREST_LINES = 64, /* most lines of one access that are noted */
};

struct nearest_line {
	uint64_t line;
	uint64_t time_ns; /* of the write that was sampled */
	uint32_t object;
	uint32_t thread, site;
	uint32_t reader; /* 1 + the last thread seen to read it since */
};

struct nearest {
	struct comm_weights *weights;
	struct comm_edge_sums *edges;
	struct comm_unwritten_sums unwritten;
	struct nearest_line *line;
	uint64_t n_lines; /* a power of two; a newer line replaces an older */
	uint32_t line_bytes;
	uint64_t thinned;
};

static void nearest_destroy(void *est)
{
	struct nearest *n = est;

	if (!n)
		return;
	comm_weights_destroy(n->weights);
	comm_edge_sums_destroy(n->edges);
	comm_unwritten_sums_deinit(&n->unwritten);
	free(n->line);
	free(n);
}

static int nearest_create(const struct comm_est_config *config, void **ret)
{
	uint64_t memory = comm_est_memory(config);
	struct nearest *n;

	if (!memory)
		return -EINVAL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->line_bytes = config->granularity_bytes > NEAREST_LINE_BYTES ? config->granularity_bytes
								       : NEAREST_LINE_BYTES;
	n->n_lines = 1024;
	while (n->n_lines < 1u << 30 && n->n_lines * 4 * sizeof(*n->line) <= memory)
		n->n_lines *= 2;
	n->line = calloc(n->n_lines, sizeof(*n->line));
	if (!n->line || comm_weights_create(config->cycles_per_ns, &n->weights) ||
	    comm_edge_sums_create(memory / 4, &n->edges)) {
		nearest_destroy(n);
		return -ENOMEM;
	}
	comm_unwritten_sums_init(&n->unwritten, memory / 16);
	*ret = n;
	return 0;
}

static struct nearest_line *nearest_at(struct nearest *n, uint64_t line)
{
	return &n->line[comm_hash_word(line ^ line >> 31) >> 20 & (n->n_lines - 1)];
}

static void nearest_write(struct nearest *n, const struct comm_access_burst *burst,
			  const struct comm_access *a)
{
	uint64_t line = a->datum / n->line_bytes;
	uint64_t last = (a->datum + (a->size_bytes ? a->size_bytes - 1 : 0)) / n->line_bytes;

	if (last - line >= NEAREST_LINES)
		last = line + NEAREST_LINES - 1;
	for (; line <= last; line++) {
		struct nearest_line *l = nearest_at(n, line);

		if (l->line && l->line != line + 1)
			n->thinned++;
		*l = (struct nearest_line){.line = line + 1,
					   .time_ns = burst->time_ns,
					   .object = a->object,
					   .thread = burst->thread,
					   .site = a->site};
	}
}

static void nearest_read(struct nearest *n, const struct comm_access_burst *burst,
			 const struct comm_access *a, double weight)
{
	uint64_t line = a->datum / n->line_bytes;
	struct nearest_line *l = nearest_at(n, line);
	double bytes = weight * a->size_bytes;
	struct comm_ages ages;
	bool first;

	if (l->line != line + 1 || l->object != a->object) {
		comm_unwritten_sums_add(&n->unwritten, &(struct comm_unwritten_end){
							       burst->thread, a->site,
							       comm_access_shown(a), bytes, 0});
		return;
	}
	first = l->reader != burst->thread + 1;
	l->reader = burst->thread + 1;
	ages = comm_ages_of(burst->time_ns - l->time_ns, &burst->frame);
	comm_edge_sums_add_known(n->edges,
				 &(struct comm_edge_key){l->thread, l->site, burst->thread, a->site,
							 comm_access_shown(a)},
				 bytes, first ? bytes : 0, 1,
				 &(struct comm_edge_known){.ages = &ages});
}

static int nearest_burst(void *est, const struct comm_access_burst *burst)
{
	struct nearest *n = est;
	struct comm_weight_burst hb;

	comm_weight_burst(burst, &hb);
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct comm_access *a = &burst->access[i];
		uint32_t slot;

		if (a->flags & COMM_ACCESS_IMPLICIT)
			continue;
		slot = comm_weights_learn(n->weights, burst, a);
		if (a->flags & COMM_ACCESS_READ) {
			double known = a->known > 0.01f ? a->known : 0.01;

			nearest_read(n, burst, a, comm_weight_of(n->weights, &hb, slot) / known);
		}
		if (a->flags & COMM_ACCESS_WRITE)
			nearest_write(n, burst, a);
	}
	comm_edge_sums_end_burst(n->edges);
	return 0;
}

static int nearest_slice(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit,
			 void *ctx, struct comm_unwritten *ret_unwritten)
{
	struct nearest *n = est;

	(void)start_ns;
	(void)end_ns;
	comm_edge_sums_emit(n->edges, emit, ctx);
	comm_unwritten_sums_take(&n->unwritten, ret_unwritten);
	return 0;
}

static uint64_t nearest_thinned(const void *est)
{
	return ((const struct nearest *)est)->thinned;
}

static uint64_t nearest_folded(const void *est)
{
	const struct nearest *n = est;

	return comm_edge_sums_folded(n->edges) + n->unwritten.folded;
}

/*
 * Not fitted, only not to promise too much: from the table that "make accuracy"
 * writes (docs/method/accuracy.md).  Its volumes are off by a mean |log2| of 2.01 where
 * sampling is densest (all reads, 30 s), which is that of a standard deviation
 * of 2.01 * ln 2 * sqrt(pi / 2) = 1.75; and the error of its matrix is twice the
 * hazard estimator's (0.465 and 0.226 at 4 s), so is its confusion.  Intervals so
 * wide leave every edge unresolved.
 */
#define NEAREST_FACTOR_SD 1.75
#define NEAREST_CONFUSION_SD 0.35

const struct comm_est_ops comm_est_nearest = {
	.name = "nearest",
	.error_model = {.sampled_ends = 2,
			.factor_sd = NEAREST_FACTOR_SD,
			.confusion_sd = NEAREST_CONFUSION_SD},
	.create = nearest_create,
	.destroy = nearest_destroy,
	.burst = nearest_burst,
	.slice = nearest_slice,
	.thinned = nearest_thinned,
	.folded = nearest_folded,
};
