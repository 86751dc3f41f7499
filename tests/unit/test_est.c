// SPDX-License-Identifier: GPL-2.0-or-later
/* What an estimator must do, and stays bounded under. */
#include "made_bursts.h"

#include "edge_sums.h"

/* Thread 1 writes and thread 2 reads the same data, over and over. */
static void test_one_edge(void **state)
{
	(void)state;
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;

	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t at = base + i % 16 * 8;

		feed_exact(ops, est, i * 2000000ull + 1, 1, access_at(at, COMM_ACCESS_WRITE, 0));
		feed_exact(ops, est, i * 2000000ull + 1000001, 2,
			   access_at(at, COMM_ACCESS_READ, 0));
	}
	slice(ops, est, &r);
	/* A thousand samples of a period of 1000, 8 bytes each. */
	assert_true(r.bytes[1][2] > 7.8e6 && r.bytes[1][2] <= 8.0001e6);
	assert_true(r.bytes[2][1] == 0);
	assert_int_equal(r.last.src_site, SITE_W);
	assert_int_equal(r.last.dst_site, SITE_R);
	assert_int_equal(r.last.object, 1);
	assert_true(r.last.bursts > 900);
	/* Poisson over distinct bursts: sd / mean is 1 / sqrt(1000). */
	assert_true(fabs(sqrt(r.variance[1][2]) / r.bytes[1][2] * sqrt(1000) - 1) < 0.1);
	/* A slice is emitted once. */
	slice(ops, est, &r);
	assert_int_equal(r.n_edges, 0);
	ops->destroy(est);
}

/* An edge names the block that was read, and what was written is found by the object alone. */
static void test_block(void **state)
{
	(void)state;
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;

	for (uint32_t i = 0; i < 1000; i++) {
		struct comm_access read = access_at(base, COMM_ACCESS_READ, 0);

		feed_exact(ops, est, i * 2000000ull + 1, 1, access_at(base, COMM_ACCESS_WRITE, 0));
		read.block = 77;
		feed_exact(ops, est, i * 2000000ull + 1000001, 2, read);
	}
	slice(ops, est, &r);
	assert_true(r.bytes[1][2] > 7.8e6 && r.bytes[1][2] <= 8.0001e6);
	assert_int_equal(r.last.object, 77);
	ops->destroy(est);
}

enum { BODY = 8, ROUNDS = 400000, SAMPLED_EACH = 101 };

/* The truth of a loop whose body is so many accesses of known kinds: what is read. */
struct body {
	uint16_t flags[BODY];
	double read_bytes; /* in all rounds */
};

/*
 * Each so many accesses of the loop one is sampled, and is followed to the end of the
 * body, where a branch on memory ends all bursts: a body's last access has eight
 * chances, its first has one.  Short bursts are those of a source without registers.
 */
static double sampled_reads(const struct comm_est_ops *ops, const struct body *body, bool bursts)
{
	void *est = est_new(ops);
	struct comm_unwritten u;
	uint64_t random = 88172645463325252ull, next = 7;
	struct result r;

	for (uint64_t at = 0; at < (uint64_t)ROUNDS * BODY; at++) {
		struct comm_access access[BODY];
		uint32_t first = at % BODY, n = bursts ? BODY - first : 1;
		struct comm_access_burst burst = {.time_ns = at * 1000,
						  .thread = 1 + at / BODY % 2,
						  .trigger = COMM_TRIGGER_ACCESSES,
						  .period = SAMPLED_EACH,
						  .n_insns = n,
						  .n = n,
						  .access = access};

		if (at != next)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			access[i] = access_at(base + 8 * (first + i), body->flags[first + i],
					      (uint16_t)i);
			access[i].ip_key = 1000 + first + i;
		}
		assert_int_equal(ops->burst(est, &burst), 0);
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		next += 51 + random % 101;
	}
	u = slice(ops, est, &r);
	ops->destroy(est);
	return (r.edge_bytes + u.bytes) / body->read_bytes;
}

/* No byte counts twice, neither that of a sampled access nor of one that a burst meets. */
static void test_bursts_of_accesses(void **state)
{
	static const struct body bodies[] = {
		{.flags = {1, 1, 1, 1, 1, 1, 1, 1}, .read_bytes = 8.0 * ROUNDS * 8},
		{.flags = {2, 1, 2, 2, 1, 2, 2, 1}, .read_bytes = 3.0 * ROUNDS * 8},
		{.flags = {2, 2, 2, 2, 2, 2, 2, 1}, .read_bytes = 1.0 * ROUNDS * 8},
		{.flags = {1, 2, 2, 2, 2, 2, 2, 2}, .read_bytes = 1.0 * ROUNDS * 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		for (int bursts = 0; bursts < 2; bursts++) {
			double ratio = sampled_reads(&comm_est_hazard, &bodies[i], bursts);

			if (fabs(ratio - 1) > 0.05)
				fail_msg("%s, body %zu, bursts %d: %.3f times",
					 comm_est_hazard.name, i, bursts, ratio);
		}
}

static void test_unwritten(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct comm_unwritten u;
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct comm_access other = access_at(base + 64 * i, COMM_ACCESS_WRITE, 0);

		feed_exact(ops, est, i * 1000000 + 1, 1,
			   access_at(base + 64 * i, COMM_ACCESS_READ, 0));
		/* The same address in another object is another datum. */
		other.object = 2;
		feed_exact(ops, est, i * 1000000 + 2, 2, other);
	}
	u = slice(ops, est, &r);
	assert_true(r.edge_bytes == 0);
	assert_true(fabs(u.bytes - 100 * 8000) < 1);
	ops->destroy(est);
}

/* Whoever reads what nobody writes is known. */
static void test_unwritten_ends(void **state)
{
	(void)state;
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct comm_unwritten u;
	struct result r;

	for (uint32_t i = 0; i < 100; i++)
		feed_exact(ops, est, i * 1000000 + 1, 1 + i % 4 / 3,
			   access_at(base + 64 * i, COMM_ACCESS_READ, 0));
	u = slice(ops, est, &r);
	assert_true(u.bytes > 0);
	assert_int_equal(u.n_ends, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(u.end[i].site == SITE_R && u.end[i].object == 1);
		assert_int_equal(u.end[i].thread, 1 + i);
	}
	assert_true(fabs(u.end[0].bytes - 3 * u.end[1].bytes) < 1);
	/* The next slice has no reads. */
	u = slice(ops, est, &r);
	assert_true(u.n_ends == 0 && u.bytes == 0);
	ops->destroy(est);
}

/* A reuse inside of a burst needs no estimate. */
static void test_self(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		struct comm_access a[4] = {
			access_at(base, COMM_ACCESS_WRITE, 1), access_at(base, COMM_ACCESS_READ, 2),
			access_at(base, COMM_ACCESS_READ, 3),
			access_at(base + 8, COMM_ACCESS_WRITE | COMM_ACCESS_IMPLICIT, 4)};

		feed(ops, est, i * 1000000, 1 + i % 2, a, 4);
	}
	slice(ops, est, &r);
	assert_true(r.bytes[1][1] > 0 && r.bytes[2][2] > 0);
	assert_true(r.bytes[1][2] == 0 && r.bytes[2][1] == 0);
	/* Of two reads in a row, only the first one is a first read of the write. */
	assert_true(fabs(r.first[1][1] / r.bytes[1][1] - 0.5) < 0.01);
	ops->destroy(est);
}

/* A thread that is off the CPU writes nothing. */
static void test_sched(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;
	uint64_t now_ns = 1;

	(void)state;
	/*
	 * Threads 1 and 2 take turns of 10 ms on a CPU and write and read one datum
	 * all the while.
	 */
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t thread = 1 + i % 2;

		ops->sched(est, now_ns, thread, true);
		for (uint32_t j = 0; j < 10; j++) {
			now_ns += 1000000;
			feed_exact(ops, est, now_ns - 300000, thread,
				   access_at(base, COMM_ACCESS_WRITE, 0));
			feed_exact(ops, est, now_ns - 200000, thread,
				   access_at(base, COMM_ACCESS_READ, 0));
		}
		ops->sched(est, now_ns, thread, false);
	}
	slice(ops, est, &r);
	assert_true(r.bytes[1][1] + r.bytes[2][2] > 10 * (r.bytes[1][2] + r.bytes[2][1]));
	ops->destroy(est);
}

/* A long write by the kernel is one access, and each datum of it is written. */
static void test_range(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		struct comm_access w = access_at(base, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL, 0);

		w.size_bytes = i % 2 ? 16384 : 4 << 20;
		w.site = 1;
		feed_exact(ops, est, i * 1000 + 1, 1, w);
		feed_exact(ops, est, i * 1000 + 500, 2,
			   access_at(base + i % 128 * 120, COMM_ACCESS_READ, 0));
	}
	slice(ops, est, &r);
	assert_true(r.bytes[1][2] > 0.95 * 500 * 8000);
	assert_int_equal(r.last.src_site, 1);
	ops->destroy(est);
}

/*
 * A thread that is only seen to read its own data is not estimated to read another's
 * where no write was seen.
 */
static void test_far(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;
	double others = 0;

	(void)state;
	for (uint32_t i = 0; i < 4000; i++) {
		uint32_t thread = 1 + i % 4;
		uint64_t mine = base + thread * (1 << 20) + i * 37 % 512 * 8;

		feed_exact(ops, est, i * 1000ull + 1, thread,
			   access_at(mine, COMM_ACCESS_WRITE, 0));
		feed_exact(ops, est, i * 1000ull + 300, thread,
			   access_at(mine, COMM_ACCESS_READ, 0));
		feed_exact(ops, est, i * 1000ull + 600, thread,
			   access_at(base + (thread + 8) * (1 << 20) + i * 37 % 4096 * 64,
				     COMM_ACCESS_READ, 0));
	}
	slice(ops, est, &r);
	for (uint32_t writer = 1; writer <= 4; writer++)
		for (uint32_t reader = 1; reader <= 4; reader++)
			others += writer == reader ? 0 : r.bytes[writer][reader];
	if (others > 0.02 * 4000 * 8)
		fail_msg("%.3f of what nobody was seen to write", others / (4000 * 8));
	ops->destroy(est);
}

/* Memory stays within the bound, dropped entries are counted, and estimates go on. */
static void test_bound(void **state)
{
	struct comm_est_config small = config;

	(void)state;
	small.memory_bytes = 4 << 20;
	const struct comm_est_ops *ops = &comm_est_hazard;
	struct result r;
	void *est;

	assert_int_equal(ops->create(&small, &est), 0);
	for (uint32_t i = 0; i < 200000; i++) {
		struct comm_access w = access_at(base + (uint64_t)i * 4096, COMM_ACCESS_WRITE, 0);

		w.object = i;
		feed_exact(ops, est, i * 2000ull + 1, 1 + i % 5, w);
		if (i % 10000 == 0)
			slice(ops, est, &r);
	}
	assert_true(ops->thinned(est) > 0);
	for (uint32_t i = 0; i < 1000; i++) {
		feed_exact(ops, est, 1000000000 + i * 2000000ull, 1,
			   access_at(base, COMM_ACCESS_WRITE, 0));
		feed_exact(ops, est, 1000000000 + i * 2000000ull + 1000000, 2,
			   access_at(base, COMM_ACCESS_READ, 0));
	}
	slice(ops, est, &r);
	if (!(r.bytes[1][2] > 0.8 * 8e6))
		fail_msg("%s: %.0f bytes", ops->name, r.bytes[1][2]);
	ops->destroy(est);
}

/* Edges for which there is no room are folded and counted; their bytes stay. */
static void test_folded(void **state)
{
	struct comm_est_config small = config;

	(void)state;
	small.memory_bytes = 4 << 20;
	const struct comm_est_ops *ops = &comm_est_hazard;
	double all = 0;
	uint64_t folded;
	struct result r;
	void *est;

	assert_int_equal(ops->create(&small, &est), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		struct comm_access a[] = {access_at(base, COMM_ACCESS_WRITE, 0),
					  access_at(base, COMM_ACCESS_READ, 1)};

		/* Each thread reads its own writes, each time at another site. */
		a[1].site = SITE_R + i;
		feed(ops, est, i * 1000ull + 1, i % 3, a, 2);
		if (i == 1000)
			assert_int_equal(ops->folded(est), 0);
	}
	slice(ops, est, &r);
	folded = ops->folded(est);
	if (!(folded > 10000 && r.n_edges + folded < 20000 + 10))
		fail_msg("%s: %u edges, %lu folded", ops->name, r.n_edges, (unsigned long)folded);
	for (uint32_t i = 0; i < T; i++)
		all += r.bytes[i][i];
	assert_true(fabs(all / r.edge_bytes - 1) < 1e-9);
	/* The next slice has room again. */
	feed(ops, est, 1000000000, 1,
	     (struct comm_access[]){access_at(base, COMM_ACCESS_WRITE, 0),
				    access_at(base, COMM_ACCESS_READ, 1)},
	     2);
	slice(ops, est, &r);
	assert_true(r.n_edges == 1 && ops->folded(est) == folded);
	ops->destroy(est);
}

/* 20000 threads read their own writes, 1 byte each, with so much memory for edges. */
static uint64_t threads_of_an_edge(uint64_t memory_bytes, struct result *ret)
{
	struct comm_edge_sums *edges;
	uint64_t folded;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(comm_edge_sums_create(memory_bytes, &edges), 0);
	for (uint32_t i = 100; i < 20100; i++) {
		comm_edge_sums_add(edges, &(struct comm_edge_key){i, SITE_W, i, SITE_R, 1}, 1, 0,
				   0);
		comm_edge_sums_end_burst(edges);
	}
	comm_edge_sums_emit(edges, collect, ret);
	folded = comm_edge_sums_folded(edges);
	comm_edge_sums_destroy(edges);
	return folded;
}

/* More pairs of threads than there is room for: one edge takes what is left. */
static void test_folded_threads(void **state)
{
	struct result r;

	(void)state;
	assert_true(threads_of_an_edge(1 << 20, &r) > 10000);
	assert_true(r.bytes[0][0] > 10000 && r.bytes[0][0] < 20000);
	assert_true(r.edge_bytes == 20000);
	/* The sum of bytes is the same as with room for all edges. */
	assert_int_equal(threads_of_an_edge(64 << 20, &r), 0);
	assert_true(r.n_edges == 20000 && r.bytes[0][0] == 0 && r.edge_bytes == 20000);
}

/* Accesses beyond the bound of one burst are left out, and counted. */
static void test_long_bursts(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	static struct comm_access a[1024];
	void *est = est_new(ops);

	(void)state;
	/* Of a long read, four places are looked at. */
	for (uint32_t i = 0; i < 1024; i++) {
		a[i] = access_at(base + i * 4096ull, COMM_ACCESS_READ, (uint16_t)i);
		a[i].size_bytes = i < 1024 - 7 ? 8 : 4096;
	}
	feed(ops, est, 1000, 1, a, 1024);
	assert_int_equal(ops->thinned(est), 7 * 3);
	for (uint32_t i = 0; i < 1024; i++)
		a[i].flags = COMM_ACCESS_WRITE;
	feed(ops, est, 2000, 1, a, 1024 - 7);
	assert_int_equal(ops->thinned(est), 7 * 3);
	/* Words of two lines each. */
	for (uint32_t i = 0; i < 1024; i++) {
		a[i].datum += 60;
		a[i].size_bytes = 8;
	}
	feed(ops, est, 3000, 1, a, 1024);
	assert_int_equal(ops->thinned(est), 7 * 3 + 1024);
	ops->destroy(est);
}

/* More threads than the scheduling table has room for are refused. */
static void test_many_threads(void **state)
{
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	int err = 0;

	(void)state;
	for (uint32_t thread = 1; thread < COMM_THREADS_MAX && !err; thread++)
		err = ops->sched(est, 8000000, thread, true);
	assert_int_equal(err, -ENOMEM);
	ops->destroy(est);
}

/* A bound of 0 is an error; one that is too small is raised to the minimum. */
static void test_no_bound(void **state)
{
	struct comm_est_config none = config;

	(void)state;
	none.memory_bytes = 0;
	assert_int_equal(comm_est_memory(&none), 0);
	void *est = NULL;

	assert_int_equal(comm_est_hazard.create(&none, &est), -EINVAL);
	assert_null(est);
	none.memory_bytes = 1;
	assert_int_equal(comm_est_memory(&none), 4 << 20);
	assert_int_equal(comm_est_memory(&config), 64 << 20);
}

/* No event that a target can cause does harm. */
static void test_hostile(void **state)
{
	static const uint64_t data[] = {0, 1, 7, UINT64_MAX, UINT64_MAX - 4, 1ull << 63};
	static const uint32_t sizes[] = {0, 1, 8, 63, 4096, UINT32_MAX};
	uint64_t random = 1;

	(void)state;
	const struct comm_est_ops *ops = &comm_est_hazard;
	void *est = est_new(ops);
	struct result r;

	for (uint32_t i = 0; i < 5000; i++) {
		struct comm_access a[16];
		struct comm_access_burst burst = {.time_ns = comm_hash_next(&random) >> 20,
						  .thread = comm_hash_next(&random) % 9,
						  .trigger = comm_hash_next(&random) % 4,
						  .period = i % 7 ? 1000 : 0,
						  .exact = i % 3 == 0,
						  .n_insns = i % 5,
						  .cycles = i % 11 ? 10 : NAN,
						  .n = i % 17,
						  .access = a};

		for (uint32_t j = 0; j < burst.n; j++) {
			a[j] = access_at(data[comm_hash_next(&random) % 6], 0, j);
			a[j].flags = comm_hash_next(&random) & 0x3f;
			a[j].size_bytes = sizes[comm_hash_next(&random) % 6];
			a[j].cycle = i % 13 ? j : -INFINITY;
			a[j].known = i % 19 ? 1 : NAN;
			a[j].object = (uint32_t)comm_hash_next(&random) % 3;
		}
		assert_int_equal(ops->burst(est, &burst), 0);
		if (ops->sched)
			ops->sched(est, burst.time_ns, burst.thread, i & 1);
	}
	slice(ops, est, &r);
	ops->destroy(est);
	ops->destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_edge),       cmocka_unit_test(test_bursts_of_accesses),
		cmocka_unit_test(test_unwritten),      cmocka_unit_test(test_unwritten_ends),
		cmocka_unit_test(test_self),	       cmocka_unit_test(test_sched),
		cmocka_unit_test(test_range),	       cmocka_unit_test(test_far),
		cmocka_unit_test(test_bound),	       cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_bound),       cmocka_unit_test(test_folded),
		cmocka_unit_test(test_folded_threads), cmocka_unit_test(test_long_bursts),
		cmocka_unit_test(test_many_threads),   cmocka_unit_test(test_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
