// SPDX-License-Identifier: GPL-2.0-or-later
/* The cost of a burst and of a single precise access in the estimator, and beside it. */
#include "clock.h"
#include "contention.h"
#include "estimator.h"
#include "event.h"
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum {
	THREADS = 16,
	BURSTS = 200000,
	ACCESSES = 64,
	SINGLES = 2000000,
};

static void count(void *ctx, const struct comm_edge *edge)
{
	(void)edge;
	++*(uint64_t *)ctx;
}

static double cpu_s(void)
{
	return (double)comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

/* random: a stream of unrelated addresses; else sweeps over an array. */
static int bench(const struct comm_est_ops *ops, const char *what, uint32_t bursts, uint32_t n,
		 bool random, uint64_t span_bytes)
{
	const struct comm_est_config config = {
		.granularity_bytes = 8, .cycles_per_ns = 2, .memory_bytes = 64 << 20};
	struct comm_access a[ACCESSES] = {0};
	struct comm_unwritten unwritten;
	uint64_t state = 1, edges = 0, slice_ns = 0;
	double start;
	void *est;

	if (ops->create(&config, &est))
		return 1;
	start = cpu_s();
	for (uint32_t i = 0; i < bursts; i++) {
		uint64_t at = comm_hash_next(&state) % span_bytes & ~7ull;
		struct comm_access_burst b = {.time_ns = (uint64_t)i * 10000,
					      .thread = 1 + i % THREADS,
					      .exact = n == 1,
					      .trigger = n == 1 ? COMM_TRIGGER_ACCESSES
								: COMM_TRIGGER_TIME,
					      .period = 10000,
					      .n_insns = 256,
					      .cycles = 256,
					      .n = n,
					      .access = a};

		if (n == 1)
			b.time_ns = (uint64_t)i * 500;
		for (uint32_t j = 0; j < n; j++) {
			bool write = n == 1 ? i / THREADS % 3 == 0 : j & 1;

			if (random)
				at = comm_hash_next(&state) % span_bytes & ~7ull;
			a[j] = (struct comm_access){.datum = (1ull << 48) + at + j / 2 * 8 +
							     (n > 1 && write ? span_bytes : 0),
						    .size_bytes = 8,
						    .object = 1,
						    .site = 10 + j % 4,
						    .flags = write ? COMM_ACCESS_WRITE
								   : COMM_ACCESS_READ,
						    .insn = (uint16_t)(j * 4),
						    .cycle = (float)(j * 4),
						    .known = 1,
						    .ip_key = 1000 + j % 4};
		}
		if (b.time_ns - slice_ns >= 1000000000) {
			ops->slice(est, slice_ns, b.time_ns, count, &edges, &unwritten);
			slice_ns = b.time_ns;
		}
		if (ops->burst(est, &b))
			return 1;
	}
	ops->slice(est, slice_ns, UINT64_MAX, count, &edges, &unwritten);
	printf("%-8s %-34s %8.0f ns each, %llu edges, %llu thinned\n", ops->name, what,
	       (cpu_s() - start) / bursts * 1e9, (unsigned long long)edges,
	       (unsigned long long)(ops->thinned ? ops->thinned(est) : 0));
	ops->destroy(est);
	return 0;
}

/* What stands beside an estimator, as one more; it has no edges. */
static int contention_create(const struct comm_est_config *config, void **ret)
{
	return comm_contention_create(config->cycles_per_ns, (struct comm_contention **)ret);
}

static void contention_destroy(void *contention)
{
	comm_contention_destroy(contention);
}

static int contention_burst(void *contention, const struct comm_access_burst *burst)
{
	comm_contention_burst(contention, burst);
	return 0;
}

static int contention_slice(void *contention, uint64_t start_ns, uint64_t end_ns,
			    comm_edge_fn *emit, void *ctx, struct comm_unwritten *unwritten)
{
	struct comm_cachelines table = {0};
	int err = comm_contention_take(contention, &table);

	(void)start_ns, (void)end_ns, (void)emit, (void)ctx, (void)unwritten;
	comm_cachelines_deinit(&table);
	return err;
}

static const struct comm_est_ops contention = {
	.name = "(lines)",
	.create = contention_create,
	.destroy = contention_destroy,
	.burst = contention_burst,
	.slice = contention_slice,
};

int main(void)
{
	struct rusage usage;

	for (int i = 0; i < 2; i++) {
		const struct comm_est_ops *ops = i ? &comm_est_hazard : &contention;

		if (bench(ops, "burst of 64, sweep of 1 MiB", BURSTS, ACCESSES, false, 1 << 20) ||
		    bench(ops, "burst of 64, sweep of 256 MiB", BURSTS, ACCESSES, false,
			  256 << 20) ||
		    bench(ops, "burst of 64, random in 1 MiB", BURSTS / 4, ACCESSES, true,
			  1 << 20) ||
		    bench(ops, "single, random in 1 MiB", SINGLES, 1, true, 1 << 20) ||
		    bench(ops, "single, random in 64 MiB", SINGLES, 1, true, 64 << 20))
			return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("most memory resident: %ld MiB\n", usage.ru_maxrss / 1024);
	return 0;
}
