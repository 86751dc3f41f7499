// SPDX-License-Identifier: GPL-2.0-or-later
/* The simulated machine: estimates against exact matrices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sim/patterns.c"
#include "sim/sim.c"

struct outcome {
	double error, false_share, volume;
	double sum;
};

struct square {
	double m[SIM_THREADS][SIM_THREADS];
};

static void add(void *ctx, const struct comm_edge *e)
{
	struct square *s = ctx;

	if (e->src_thread && e->src_thread <= SIM_THREADS && e->dst_thread <= SIM_THREADS)
		s->m[e->src_thread - 1][e->dst_thread - 1] += e->bytes;
}

static struct sim sim;
static struct square square;

static struct outcome simulate(const char *name, double seconds, uint64_t slice_ns)
{
	const struct comm_est_config cfg = {.granularity_bytes = 8,
					    .cycles_per_ns = sim_cycles_per_ns,
					    .memory_bytes = 64 << 20};
	void *ctx[SIM_SAMPLERS][2] = {{&square}};
	const struct sim_pattern *p = NULL;
	struct outcome o = {0};
	double est = 0, truth = 0;

	for (uint32_t i = 0; i < sim_n_patterns; i++)
		if (!strcmp(sim_patterns[i].name, name))
			p = &sim_patterns[i];
	assert_non_null(p);
	memset(&sim, 0, sizeof(sim));
	memset(&square, 0, sizeof(square));
	sim.n_samplers = 1;
	sim.sched_events = true;
	sim.sampler[0].period_ns = 1000000;
	sim.sampler[0].ops[0] = &comm_est_hazard;
	assert_int_equal(comm_est_hazard.create(&cfg, &sim.sampler[0].est[0]), 0);
	assert_int_equal(sim_run(&sim, p, (uint64_t)(seconds * 1e9), slice_ns, add, ctx), 0);
	comm_est_hazard.destroy(sim.sampler[0].est[0]);
	for (int i = 0; i < SIM_THREADS; i++) {
		for (int j = 0; j < SIM_THREADS; j++) {
			o.sum += square.m[i][j];
			est += i == j ? 0 : square.m[i][j];
			truth += i == j ? 0 : sim.truth.all[i][j];
		}
	}
	for (int i = 0; i < SIM_THREADS && est > 0 && truth > 0; i++)
		for (int j = 0; j < SIM_THREADS; j++)
			o.error +=
				i == j ? 0
				       : fabs(square.m[i][j] / est - sim.truth.all[i][j] / truth);
	o.false_share = est / o.sum;
	o.volume = truth > 0 ? log2(est / truth) : 0;
	return o;
}

static void test_patterns(void **state)
{
	static const struct {
		const char *name;
		double error, volume;
	} limit[] = {
		{"ring", 0.15, 0.5},	  {"transpose", 0.2, 0.8}, {"reread", 0.2, 0.5},
		{"migratory", 0.25, 0.6}, {"graph", 0.28, 0.5},	   {"broadcast", 0.15, 0.5},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		struct outcome o = simulate(limit[i].name, 0.5, 250000000);

		if (o.error > limit[i].error || fabs(o.volume) > limit[i].volume)
			fail_msg("%s: error %.3f, log2 volume %.2f", limit[i].name, o.error,
				 o.volume);
	}
}

static void test_no_false_communication(void **state)
{
	(void)state;
	assert_true(simulate("falseshare", 0.5, 250000000).false_share < 0.0001);
	assert_true(simulate("private", 1, 250000000).false_share < 0.0001);
}

static void test_slice_length(void **state)
{
	struct outcome a = simulate("transpose", 0.6, 100000000);
	struct outcome b = simulate("transpose", 0.6, 60000000000);

	(void)state;
	assert_true(fabs(a.sum / b.sum - 1) < 0.1);
	assert_true(fabs(a.volume - b.volume) < 0.6);
}

static void test_same_twice(void **state)
{
	static struct square before;

	(void)state;
	simulate("graph", 0.2, 100000000);
	before = square;
	simulate("graph", 0.2, 100000000);
	assert_memory_equal(&before, &square, sizeof(square));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_no_false_communication),
		cmocka_unit_test(test_slice_length),
		cmocka_unit_test(test_same_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
