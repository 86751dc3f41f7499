/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up bursts for an estimator, and the sums of the edges it gives, for its tests. */
#ifndef TESTS_MADE_BURSTS_H
#define TESTS_MADE_BURSTS_H

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "ids.h"
#include "sim/sim.c"

enum {
	T = 8, /* threads of hand-made streams */
	SITE_W = 100,
	SITE_R = 200,
};

static uint32_t roles[T];    /* of the threads that feed() has */
static bool yields;	     /* what feed() has */
static uint32_t creators[T]; /* of those that feed_exact() has */

static const uint64_t base = (3ull << 48) + 0x10000;

struct result {
	double bytes[T][T], first[T][T], variance[T][T];
	struct comm_doubts doubts[T][T];
	double edge_bytes, unwritten_bytes;
	double first_write_bytes; /* of edges whose writing code is COMM_SITE_FIRST_WRITE */
	double other_bytes;	  /* of those of COMM_ID_OTHER */
	double code_bytes[2];	  /* of those of SITE_W and of the site after it */
	uint32_t n_edges;
	struct comm_edge last;
};

static inline void collect(void *ctx, const struct comm_edge *e)
{
	struct result *r = ctx;

	assert_true(isfinite(e->bytes) && e->bytes >= 0);
	assert_true(isfinite(e->variance) && e->variance >= 0);
	assert_true(e->first_bytes <= e->bytes * 1.000001);
	r->first_write_bytes += e->src_site == COMM_SITE_FIRST_WRITE ? e->bytes : 0;
	r->other_bytes += e->src_site == COMM_ID_OTHER ? e->bytes : 0;
	for (uint32_t i = 0; i < 2; i++)
		r->code_bytes[i] += e->src_site == SITE_W + i ? e->bytes : 0;
	r->n_edges++;
	r->edge_bytes += e->bytes;
	r->last = *e;
	if (e->src_thread < T && e->dst_thread < T) {
		r->bytes[e->src_thread][e->dst_thread] += e->bytes;
		r->first[e->src_thread][e->dst_thread] += e->first_bytes;
		r->variance[e->src_thread][e->dst_thread] += e->variance;
		comm_doubts_add(&r->doubts[e->src_thread][e->dst_thread], &e->doubts, 1);
	}
}

static const struct comm_est_config config = {
	.granularity_bytes = 8,
	.cycles_per_ns = 1,
	.memory_bytes = 64 << 20,
};

static inline void *est_new(const struct comm_est_ops *ops)
{
	void *est = NULL;

	assert_int_equal(ops->create(&config, &est), 0);
	assert_non_null(est);
	return est;
}

static inline struct comm_access access_at(uint64_t datum, uint16_t flags, uint16_t insn)
{
	return (struct comm_access){.datum = datum,
				    .size_bytes = 8,
				    .object = 1,
				    .site = flags & COMM_ACCESS_WRITE ? SITE_W : SITE_R,
				    .flags = flags,
				    .insn = insn,
				    .cycle = insn,
				    .known = 1,
				    .ip_key = flags};
}

static inline void feed(const struct comm_est_ops *ops, void *est, uint64_t time_ns,
			uint32_t thread, const struct comm_access *access, uint32_t n)
{
	const struct comm_access_burst burst = {.time_ns = time_ns,
						.thread = thread,
						.role = thread < T ? roles[thread] : 0,
						.trigger = COMM_TRIGGER_TIME,
						.period = 1000000,
						.n_insns = 64,
						.yields = yields,
						.cycles = 64,
						.n = n,
						.access = access};

	assert_int_equal(ops->burst(est, &burst), 0);
}

/* Feeds one precise access with a weight of 1000. */
static inline void feed_exact(const struct comm_est_ops *ops, void *est, uint64_t time_ns,
			      uint32_t thread, struct comm_access access)
{
	const struct comm_access_burst burst = {.time_ns = time_ns,
						.thread = thread,
						.creator = thread < T ? creators[thread] : 0,
						.exact = true,
						.trigger = COMM_TRIGGER_ACCESSES,
						.period = 1000,
						.n_insns = 1,
						.n = 1,
						.access = &access};

	assert_int_equal(ops->burst(est, &burst), 0);
}

static inline struct comm_unwritten slice(const struct comm_est_ops *ops, void *est,
					  struct result *ret)
{
	struct comm_unwritten u = {.bytes = -1, .first_bytes = -1};
	double of_ends = 0, first_of_ends = 0;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(ops->slice(est, 0, UINT64_MAX, collect, ret, &u), 0);
	assert_true(u.bytes >= 0 && u.first_bytes >= 0);
	for (size_t i = 0; i < u.n_ends; i++) {
		of_ends += u.end[i].bytes;
		first_of_ends += u.end[i].first_bytes;
	}
	assert_true(fabs(of_ends - u.bytes) <= 1e-9 * u.bytes);
	assert_true(fabs(first_of_ends - u.first_bytes) <= 1e-9 * u.first_bytes);
	ret->unwritten_bytes = u.bytes;
	return u;
}

#endif
