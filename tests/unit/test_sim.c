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

static struct comm_ages aged; /* of what was estimated between threads */

static void add(void *ctx, const struct comm_edge *e)
{
	struct square *s = ctx;

	if (e->src_thread && e->src_thread <= SIM_THREADS && e->dst_thread <= SIM_THREADS)
		s->m[e->src_thread - 1][e->dst_thread - 1] += e->bytes;
	if (e->src_thread != e->dst_thread)
		comm_ages_add(&aged, &e->ages, 1);
}

static struct sim machine;
static struct square square;

static const struct sim_pattern *find(const char *name)
{
	for (uint32_t i = 0; i < sim_n_patterns; i++)
		if (!strcmp(sim_patterns[i].name, name))
			return &sim_patterns[i];
	fail_msg("there is no pattern %s", name);
	return NULL;
}

static struct outcome simulate_pattern(const struct sim_pattern *p, double seconds,
				       uint64_t slice_ns)
{
	const struct comm_est_config cfg = {.granularity_bytes = 8,
					    .cycles_per_ns = sim_cycles_per_ns,
					    .memory_bytes = 64 << 20};
	void *ctx[SIM_SAMPLERS][2] = {{&square}};
	struct outcome o = {0};
	double est = 0, truth = 0;

	memset(&aged, 0, sizeof(aged));
	memset(&machine, 0, sizeof(machine));
	memset(&square, 0, sizeof(square));
	machine.n_samplers = 1;
	machine.sched_events = true;
	machine.sampler[0].period_ns = 1000000;
	machine.sampler[0].ops[0] = &comm_est_hazard;
	assert_int_equal(comm_est_hazard.create(&cfg, &machine.sampler[0].est[0]), 0);
	assert_int_equal(sim_run(&machine, p, (uint64_t)(seconds * 1e9), slice_ns, add, ctx), 0);
	comm_est_hazard.destroy(machine.sampler[0].est[0]);
	for (int i = 0; i < SIM_THREADS; i++) {
		for (int j = 0; j < SIM_THREADS; j++) {
			o.sum += square.m[i][j];
			est += i == j ? 0 : square.m[i][j];
			truth += i == j ? 0 : machine.truth.all[i][j];
		}
	}
	for (int i = 0; i < SIM_THREADS && est > 0 && truth > 0; i++)
		for (int j = 0; j < SIM_THREADS; j++)
			o.error += i == j ? 0
					  : fabs(square.m[i][j] / est -
						 machine.truth.all[i][j] / truth);
	o.false_share = est / o.sum;
	o.volume = truth > 0 ? log2(est / truth) : 0;
	return o;
}

static struct outcome simulate(const char *name, double seconds, uint64_t slice_ns)
{
	return simulate_pattern(find(name), seconds, slice_ns);
}

static void test_patterns(void **state)
{
	static const struct {
		const char *name;
		double error, volume;
	} limit[] = {
		{"ring", 0.15, 0.5},	  {"transpose", 0.2, 0.8}, {"reread", 0.2, 0.5},
		{"migratory", 0.25, 0.6}, {"graph", 0.32, 0.5},	   {"broadcast", 0.15, 0.5},
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

enum { LATE_WORDS = 2000, LATE_ROUNDS = 40, LATE_NS = 100 };

/* Data are written for 8 ms each, but read by the second thread 400 ms later. */
static void late(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (t->n = 0;; t->n++) {
		for (t->k = 0; t->id == 0 && t->k < LATE_ROUNDS; t->k++)
			for (t->i = 0; t->i < LATE_WORDS; t->i++)
				SIM_WRITE(t->i, LATE_NS);
		for (t->i = 0; t->id == 0 && t->i < 400000; t->i++)
			SIM_WORK(1000);
		if (t->id == 0)
			sim_set(sim, 0, t->n + 1);
		SIM_WAIT(0, t->n + 1);
		for (t->k = 0; t->id == 1 && t->k < LATE_ROUNDS; t->k++)
			for (t->i = 0; t->i < LATE_WORDS; t->i++)
				SIM_READ(t->i, LATE_NS);
		if (t->id == 1)
			sim_set(sim, 1, t->n + 1);
		SIM_WAIT(1, t->n + 1);
	}
	SIM_END
}

static const struct sim_pattern late_pattern = {"late", late, 2, 2, true, true};

/* The bin below which half of the bytes are, between bins. */
static double median(const double ages[COMM_AGES])
{
	double sum = 0, below = 0;

	for (int i = 0; i < COMM_AGES; i++)
		sum += ages[i];
	for (int i = 0; i < COMM_AGES; i++) {
		if (ages[i] > 0 && below + ages[i] >= sum / 2)
			return i + (sum / 2 - below) / ages[i];
		below += ages[i];
	}
	return NAN;
}

/* How long ago what is read was written: hazards smear an age, but its middle is right. */
static void test_ages(void **state)
{
	static const struct {
		const char *name;
		double known;
	} want[] = {{"ring", 0.9},  {"stencil2", 0.7}, {"migratory", 0.9},
		    {"graph", 0.9}, {"rotate8", 0.9},  {"late", 0.6}};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		bool is_late = !strcmp(want[i].name, "late");
		double ages[COMM_AGES], bytes = 0, off;
		struct outcome o = simulate_pattern(is_late ? &late_pattern : find(want[i].name),
						    is_late ? 4 : 0.5, 250000000);

		(void)o;
		for (int k = 0; k < COMM_AGES; k++)
			ages[k] = aged.bytes[k];
		for (int a = 0; a < SIM_THREADS; a++)
			for (int b = 0; b < SIM_THREADS; b++)
				bytes += a == b ? 0 : square.m[a][b];
		off = median(ages) - median(machine.truth.aged);
		if (!(fabs(off) < 1) || comm_ages_sum(&aged) < want[i].known * bytes ||
		    comm_ages_sum(&aged) > 1.001 * bytes)
			fail_msg("%s: ages of %.2f of the bytes, their median off by %.2f bins",
				 want[i].name, comm_ages_sum(&aged) / bytes, off);
	}
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
		cmocka_unit_test(test_patterns),     cmocka_unit_test(test_no_false_communication),
		cmocka_unit_test(test_slice_length), cmocka_unit_test(test_ages),
		cmocka_unit_test(test_same_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
