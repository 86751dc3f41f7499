// SPDX-License-Identifier: GPL-2.0-or-later
/* Placements on planted graphs, whose best is known, and how sure the advice is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cut.h"

enum { MOST = 64 };

/* A graph in the making; all vertices have a load of 1, all parts 4 CPUs. */
static struct ctl_cut_vertex vertex[MOST];
static struct ctl_cut_edge edge[MOST * MOST];
static double home[MOST * MOST], capacity[MOST];

static struct ctl_cut_graph begin(size_t n_vertices, size_t n_parts)
{
	memset(vertex, 0, sizeof(vertex));
	memset(home, 0, sizeof(home));
	for (size_t v = 0; v < n_vertices; v++)
		vertex[v].load = 1;
	for (size_t p = 0; p < n_parts; p++)
		capacity[p] = 4;
	return (struct ctl_cut_graph){.vertex = vertex,
				      .edge = edge,
				      .capacity = capacity,
				      .home = home,
				      .n_vertices = n_vertices,
				      .n_parts = n_parts,
				      .z = 1.6449};
}

/* An edge whose interval is a factor wide to either side. */
static void add(struct ctl_cut_graph *graph, size_t from, size_t to, double bytes, double factor,
		double now)
{
	edge[graph->n_edges++] =
		(struct ctl_cut_edge){from, to, bytes, bytes / factor, bytes * factor, now};
	graph->n_stated = graph->n_edges;
}

static double uniform(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return ((double)(x >> 12) + 0.5) / 4503599627370496.;
}

static double gauss(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(2 * M_PI * uniform());
}

static double cut_of(const struct ctl_cut_graph *graph, const size_t *part)
{
	double sum = 0;

	for (size_t e = 0; e < graph->n_stated; e++)
		sum += part[edge[e].from] != part[edge[e].to] ? edge[e].bytes : 0;
	return sum;
}

/* Cliques whose members are dealt out: 0, n, 2n, ... are one; weak edges go around between. */
static struct ctl_cut_graph cliques(size_t n, size_t size, double weak, double factor)
{
	struct ctl_cut_graph graph = begin(n * size, n);

	for (size_t a = 0; a < n * size; a++)
		for (size_t b = 0; b < a; b++)
			if (a % n == b % n)
				add(&graph, a, b, 100, factor, 1 - 1. / (double)n);
	for (size_t a = 0; weak > 0 && a < n * size; a++)
		add(&graph, a, (a + 1) % (n * size), weak, factor, 1 - 1. / (double)n);
	return graph;
}

static void test_cliques(void **state)
{
	static const struct {
		size_t n, size;
	} cases[] = {{2, 2}, {2, 4}, {2, 7}, {3, 3}, {4, 4}, {8, 4}, {16, 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = cases[i].n, size = cases[i].size;
		struct ctl_cut_graph graph = cliques(n, size, 5, 1.5);
		struct ctl_cut_advice advice;
		struct ctl_cut_plan plan;

		assert_int_equal(ctl_cut_plan_init(&plan, &graph, n), 0);
		for (size_t v = n; v < n * size; v++)
			assert_int_equal(plan.part[v], plan.part[v % n]);
		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; b < a; b++)
				assert_int_not_equal(plan.part[a], plan.part[b]);
		assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
		assert_int_equal(advice.verdict, CTL_CUT_MOVE);
		assert_float_equal(cut_of(&graph, plan.part), 5. * (double)(n * size), 1e-6);
		assert_float_equal(advice.planned.value / cut_of(&graph, plan.part), 1, 0.05);
		assert_true(advice.gain.low > 0.5 && advice.better > 0.99);
		ctl_cut_plan_deinit(&plan);
	}
}

/* Against each placement that there is, with the same room in each part. */
static void test_against_all(void **state)
{
	int n_worse = 0, n_unlike = 0;
	const int n_graphs = 300;

	(void)state;
	for (int g = 0; g < n_graphs; g++) {
		size_t n = 3 + (size_t)(uniform() * 6), parts = 2 + (size_t)(uniform() * 2),
		       all = 1;
		struct ctl_cut_graph graph = begin(n, parts);
		double best = INFINITY, allowed = 0, least = INFINITY, most = 0;
		struct ctl_cut_plan plan;

		for (size_t a = 0; a < n; a++)
			for (size_t b = 0; b < a; b++)
				if (uniform() < 0.6)
					add(&graph, a, b, exp(6 * uniform()), 1, 1);
		for (size_t v = 0; v < n; v++) {
			vertex[v].load = uniform() < 0.5 ? 1 : 0.2 + uniform();
			allowed += 1.1 * vertex[v].load / (double)parts;
			most = fmax(most, vertex[v].load);
			all *= parts;
		}
		allowed = fmax(allowed, most);
		assert_int_equal(ctl_cut_plan_init(&plan, &graph, parts), 0);
		/* Twice: how little too much there can be, and the least cut with no more. */
		for (int pass = 0; pass < 2; pass++)
			for (size_t code = 0; code < all; code++) {
				double load[MOST] = {0}, excess = 0;
				size_t part[MOST], rest = code;

				for (size_t v = 0; v < n; v++, rest /= parts) {
					part[v] = rest % parts;
					load[part[v]] += vertex[v].load;
				}
				for (size_t p = 0; p < parts; p++)
					excess += fmax(0, load[p] - allowed);
				if (!pass)
					least = fmin(least, excess);
				else if (excess <= least + 1e-6)
					best = fmin(best, cut_of(&graph, part));
			}
		n_worse += cut_of(&graph, plan.part) > best * (1 + 1e-6) + 1e-6;
		n_unlike += cut_of(&graph, plan.part) < best * (1 - 1e-6) - 1e-6;
		ctl_cut_plan_deinit(&plan);
	}
	/* Less than the least would be a part with too much in it. */
	assert_int_equal(n_unlike, 0);
	assert_in_range(n_worse, 0, n_graphs / 50);
}

/* Points of a square, each with its neighbours: 12 are cut, without METIS 102. */
static void test_large(void **state)
{
	enum { POINTS = 400 };
	static struct ctl_cut_vertex point[POINTS];
	static struct ctl_cut_edge near[POINTS * POINTS];
	static double at[POINTS][2], nowhere[POINTS * 2];
	struct ctl_cut_graph graph = begin(0, 2);
	struct ctl_cut_plan plan;
	double middle = 0, cut = 0;

	(void)state;
	graph.n_vertices = POINTS;
	graph.vertex = point;
	graph.edge = near;
	graph.home = nowhere;
	for (size_t v = 0; v < POINTS; v++) {
		at[v][0] = uniform();
		at[v][1] = uniform();
		point[v].load = 1;
		for (size_t w = 0; w < v; w++) {
			if (hypot(at[v][0] - at[w][0], at[v][1] - at[w][1]) > 0.08)
				continue;
			near[graph.n_edges++] = (struct ctl_cut_edge){v, w, 1, 1, 1, 1};
			middle += (at[v][0] < 0.5) != (at[w][0] < 0.5);
		}
	}
	graph.n_stated = graph.n_edges;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	for (size_t e = 0; e < graph.n_edges; e++)
		cut += ctl_cut_crosses(&graph, &plan, &near[e]);
	/* A straight line through the middle cuts 67. */
	assert_true(middle > 0 && cut <= middle / 2);
	ctl_cut_plan_deinit(&plan);
}

/* Few threads that fit into one part with room left go there; unless told otherwise. */
static void test_fewer_parts(void **state)
{
	struct ctl_cut_graph graph = begin(4, 2);
	struct ctl_cut_plan plan;

	(void)state;
	for (size_t v = 0; v < 4; v++) {
		vertex[v].load = 0.5;
		home[v * 2 + 1] = 0.5;
		for (size_t w = 0; w < v; w++)
			add(&graph, v, w, 100, 1.5, 0.5);
	}
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(plan.n_used, 1);
	/* Where they are already. */
	for (size_t v = 0; v < 4; v++)
		assert_int_equal(plan.part[v], 1);
	assert_true(plan.used[1] && !plan.used[0]);
	ctl_cut_plan_deinit(&plan);
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_int_equal(plan.n_used, 2);
	assert_true(cut_of(&graph, plan.part) == 400);
	ctl_cut_plan_deinit(&plan);
	/* Busy ones do not fit. */
	for (size_t v = 0; v < 4; v++)
		vertex[v].load = 0.9;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(plan.n_used, 2);
	ctl_cut_plan_deinit(&plan);
	/* Two pairs cost nothing on two parts, so both are used. */
	graph = begin(4, 2);
	for (size_t v = 0; v < 4; v++)
		vertex[v].load = 0.1;
	add(&graph, 0, 2, 100, 1.5, 0.5);
	add(&graph, 1, 3, 100, 1.5, 0.5);
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(plan.n_used, 2);
	assert_true(cut_of(&graph, plan.part) == 0);
	ctl_cut_plan_deinit(&plan);
}

/* A pool that is too large for a part is left to run in all, at the cost that chance makes. */
static void test_pool(void **state)
{
	struct ctl_cut_graph graph = begin(3, 2);
	struct ctl_cut_advice advice;
	struct ctl_cut_plan plan;

	(void)state;
	vertex[0] = (struct ctl_cut_vertex){6, true};
	add(&graph, 0, 0, 50, 1, 0.5);
	add(&graph, 0, 1, 100, 1, 0.5);
	add(&graph, 1, 2, 10, 1, 1);
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_true(plan.part[0] == CTL_CUT_FREE && plan.part[1] != CTL_CUT_FREE);
	assert_float_equal(ctl_cut_crosses(&graph, &plan, &edge[0]), 0.5, 1e-9);
	assert_float_equal(ctl_cut_crosses(&graph, &plan, &edge[1]), 0.5, 1e-9);
	assert_float_equal(ctl_cut_crosses(&graph, &plan, &edge[2]), 0, 1e-9);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_float_equal(advice.now.value, 85, 1e-9);
	assert_float_equal(advice.planned.value, 75, 1e-9);
	assert_true(advice.gain.low == advice.gain.high && advice.better == 1);
	ctl_cut_plan_deinit(&plan);
}

static void test_verdicts(void **state)
{
	struct ctl_cut_graph graph = begin(4, 2);
	struct ctl_cut_advice advice;
	struct ctl_cut_plan plan;

	(void)state;
	/* Pairs that are together: nothing to gain. */
	add(&graph, 0, 2, 100, 1.5, 0);
	add(&graph, 1, 3, 100, 1.5, 0);
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_STAY);
	ctl_cut_plan_deinit(&plan);
	/* All that crosses can be gained, but that is 4 % of what is exchanged; 6 %. */
	edge[0].now = 0.08;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_STAY);
	edge[0].now = 0.12;
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_MOVE);
	ctl_cut_plan_deinit(&plan);
	/* What crosses weighs 1.2 times what does not, and both are known within 3 to 1. */
	edge[0].now = 1;
	edge[1].now = 1;
	edge[0].bytes = edge[1].bytes = 60;
	add(&graph, 0, 1, 50, 3, 0);
	add(&graph, 2, 3, 50, 3, 0);
	for (size_t e = 0; e < 2; e++) {
		edge[e].low = 20;
		edge[e].high = 180;
	}
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_CANNOT_TELL);
	assert_true(advice.gain.low < 0 && advice.better > 0.05 && advice.better < 0.95);
	ctl_cut_plan_deinit(&plan);
	/* What is not stated would cost more than is gained. */
	graph = begin(4, 2);
	add(&graph, 0, 2, 100, 1.1, 1);
	add(&graph, 1, 3, 100, 1.1, 1);
	add(&graph, 0, 1, 110, 1.1, 0);
	add(&graph, 2, 3, 110, 1.1, 0);
	graph.n_stated = 2;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_true(plan.part[0] == plan.part[2] && plan.part[1] == plan.part[3]);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_float_equal(advice.unstated_planned - advice.unstated_now, 220, 1e-9);
	assert_true(advice.gain.low > 0.9);
	assert_int_equal(advice.verdict, CTL_CUT_CANNOT_TELL);
	edge[2].bytes = edge[3].bytes = 90;
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_MOVE);
	ctl_cut_plan_deinit(&plan);
}

/*
 * Equal edges, so that nothing can be gained, are measured with errors as their intervals say,
 * and a placement is chosen by that.  Of 600 such graphs the interval held the truth in 88 % and
 * 9 % were told to move; without taking off the optimism it was 70 % and 30 %.
 */
static void test_coverage(void **state)
{
	enum { N = 60, V = 8 };
	const double sd = 0.5, factor = exp(1.6449 * sd);
	int held = 0, moved = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		struct ctl_cut_graph graph = begin(V, 2);
		double now = 0, planned = 0, truth;
		struct ctl_cut_advice advice;
		struct ctl_cut_plan plan;

		for (size_t a = 0; a < V; a++)
			for (size_t b = 0; b < a; b++)
				add(&graph, a, b, 100 * exp(sd * gauss()), factor, a % 2 != b % 2);
		assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
		assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
		for (size_t e = 0; e < graph.n_edges; e++) {
			now += edge[e].now;
			planned += ctl_cut_crosses(&graph, &plan, &edge[e]);
		}
		truth = 1 - planned / now;
		held += advice.gain.low <= truth && truth <= advice.gain.high;
		moved += advice.verdict == CTL_CUT_MOVE;
		ctl_cut_plan_deinit(&plan);
	}
	assert_true(held >= 0.75 * N);
	assert_true(moved <= 0.15 * N);
}

/* The same for the same: whoever asks twice must not be told two things. */
static void test_same_twice(void **state)
{
	struct ctl_cut_graph graph = cliques(3, 5, 40, 2);
	struct ctl_cut_advice first, second;
	struct ctl_cut_plan plan;

	(void)state;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &first), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &second), 0);
	assert_memory_equal(&first, &second, sizeof(first));
	ctl_cut_plan_deinit(&plan);
}

/* One vertex, no edge, no load, more parts than vertices, a huge and a tiny edge. */
static void test_odd_graphs(void **state)
{
	struct ctl_cut_graph graph = begin(1, 2);
	struct ctl_cut_advice advice;
	struct ctl_cut_plan plan;

	(void)state;
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(advice.verdict, CTL_CUT_STAY);
	ctl_cut_plan_deinit(&plan);
	graph = begin(3, 64);
	add(&graph, 0, 1, 1e300, 1.5, 1);
	add(&graph, 1, 2, 1e-300, 1.5, 1);
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 0), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	assert_int_equal(plan.part[0], plan.part[1]);
	ctl_cut_plan_deinit(&plan);
	graph = begin(20, 2);
	for (size_t v = 0; v < 20; v++) {
		vertex[v].load = 0;
		add(&graph, v, (v + 1) % 20, 1, 1.5, 0.5);
	}
	assert_int_equal(ctl_cut_plan_init(&plan, &graph, 2), 0);
	assert_int_equal(ctl_cut_judge(&graph, &plan, &advice), 0);
	ctl_cut_plan_deinit(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cliques),	   cmocka_unit_test(test_against_all),
		cmocka_unit_test(test_large),	   cmocka_unit_test(test_fewer_parts),
		cmocka_unit_test(test_pool),	   cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_coverage),   cmocka_unit_test(test_same_twice),
		cmocka_unit_test(test_odd_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
