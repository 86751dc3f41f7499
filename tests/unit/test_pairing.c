// SPDX-License-Identifier: GPL-2.0-or-later
/* Which edges of two reports commctl diff takes for the same. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pairing.h"

/* Reports of the test's own, in place of the library's. */
struct made {
	struct comm_report report;
	struct comm_node node[4];
	struct comm_report_edge edge[4];
};

const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i)
{
	return &((const struct made *)report)->node[i];
}

const struct comm_report_edge *comm_report_edge_at(const struct comm_report *report, size_t i)
{
	return &((const struct made *)report)->edge[i];
}

static void add_node(struct made *made, const char *key, const char *name)
{
	made->node[made->report.n_nodes] = (struct comm_node){.kind_name = "function",
							      .key = key,
							      .name = name,
							      .module = "prog",
							      .source = "",
							      .inlined = "",
							      .call_source = ""};
	made->report.n_nodes++;
}

static void add_edge(struct made *made, size_t from, size_t to, double bytes)
{
	made->edge[made->report.n_edges++] = (struct comm_report_edge){.from = from,
								       .to = to,
								       .bytes = bytes,
								       .low = bytes / 2,
								       .high = bytes * 2,
								       .share = bytes / 1000,
								       .share_low = bytes / 2000,
								       .share_high = bytes / 500,
								       .noise = 1.25,
								       .slices = 5,
								       .resolved = true};
}

static struct ctl_pairing paired(struct made *a, struct made *b, double common)
{
	const struct comm_report *report[2] = {&a->report, &b->report};
	struct ctl_pairing pairing;

	assert_int_equal(ctl_pairing_init(&pairing, report, NULL, common), 0);
	return pairing;
}

static void test_by_key(void **state)
{
	struct made a = {0}, b = {0};
	struct ctl_pairing p;

	(void)state;
	add_node(&a, "f 1", "put");
	add_node(&a, "f 2", "get");
	add_edge(&a, 0, 1, 100);
	/* The other way round in the other report, and an edge that it has alone. */
	add_node(&b, "f 2", "get");
	add_node(&b, "f 1", "put");
	add_edge(&b, 1, 0, 300);
	add_edge(&b, 0, 1, 50);
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 2);
	for (size_t i = 0; i < 2; i++) {
		bool alone = p.pair[i].edge[0] == SIZE_MAX;

		assert_int_equal(p.pair[i].edge[1], alone ? 1 : 0);
		assert_float_equal(p.pair[i].bytes[0], alone ? 0 : 100, 1e-9);
		assert_float_equal(p.pair[i].bytes[1], alone ? 50 : 300, 1e-9);
		assert_int_equal(p.pair[i].resolved[0], !alone);
		assert_true(p.pair[i].resolved[1]);
	}
	ctl_pairing_deinit(&p);
}

static void test_new_build(void **state)
{
	struct made a = {0}, b = {0};
	struct ctl_pairing p;

	(void)state;
	add_node(&a, "f old+1", "put");
	add_node(&a, "f old+2", "get");
	add_edge(&a, 0, 1, 100);
	add_node(&b, "f new+8", "put");
	add_node(&b, "f new+9", "get");
	add_edge(&b, 0, 1, 300);
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 1);
	ctl_pairing_deinit(&p);
	/* Two functions of one name: nobody can say which. */
	add_node(&b, "f other+7", "put");
	add_edge(&b, 2, 1, 10);
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 3);
	ctl_pairing_deinit(&p);
}

/* Two functions of one name in one report are two. */
static void test_one_side(void **state)
{
	struct made a = {0}, b = {0};
	struct ctl_pairing p;

	(void)state;
	add_node(&a, "f 1", "put");
	add_node(&a, "f 2", "put");
	add_node(&a, "f 3", "get");
	add_edge(&a, 0, 2, 100);
	add_edge(&a, 1, 2, 100);
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 2);
	ctl_pairing_deinit(&p);
}

static void test_other(void **state)
{
	struct made a = {0}, b = {0};
	struct ctl_pairing p;

	(void)state;
	add_node(&a, "(other)", "(other)");
	add_node(&a, "f 2", "get");
	add_edge(&a, 0, 1, 100);
	a.node[0].other = true;
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 0);
	ctl_pairing_deinit(&p);
}

static void test_intervals(void **state)
{
	struct made a = {0}, b = {0};
	struct ctl_pairing p;

	(void)state;
	add_node(&a, "f 1", "put");
	add_node(&a, "f 2", "get");
	add_edge(&a, 0, 1, 100);
	p = paired(&a, &b, 0);
	assert_float_equal(p.pair[0].low[0], 50, 1e-9);
	assert_float_equal(p.pair[0].share_high[0], 0.2, 1e-9);
	ctl_pairing_deinit(&p);
	/* Alike: sampling alone for shares, and the common factor for volumes. */
	p = paired(&a, &b, 1.5);
	assert_float_equal(p.pair[0].share_high[0], 0.125, 1e-9);
	assert_float_equal(p.pair[0].high[0], 100 * exp(hypot(log(1.25), log(1.5))), 1e-6);
	ctl_pairing_deinit(&p);
	/* Nodes of one key are one: volumes add, their distances to the ends as squares. */
	add_node(&a, "f 1", "put");
	add_edge(&a, 2, 1, 100);
	p = paired(&a, &b, 0);
	assert_int_equal(p.n, 1);
	assert_float_equal(p.pair[0].bytes[0], 200, 1e-9);
	assert_float_equal(p.pair[0].low[0], 200 - 50 * sqrt(2), 1e-6);
	assert_float_equal(p.pair[0].high[0], 200 + 100 * sqrt(2), 1e-6);
	ctl_pairing_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_key),	  cmocka_unit_test(test_new_build),
		cmocka_unit_test(test_one_side),  cmocka_unit_test(test_other),
		cmocka_unit_test(test_intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
