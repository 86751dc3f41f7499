// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a report states, on stores whose truth is known: steady flows are resolved, and
 * nothing that one half of the run or one burst alone speaks for.
 */
#include <math.h>

#include "made_store.h"

enum { STEADY = 1, OTHER, READER, SECOND_READER, SHORT_LIVED };

/* The flows of one slice of a run; returns their number. */
typedef size_t slice_fn(int slice, struct comm_edge *edges);

static struct comm_edge flow(uint32_t from, uint32_t to, double bytes, uint32_t bursts)
{
	return (struct comm_edge){.src_thread = from,
				  .dst_thread = to,
				  .src_site = 1 + from,
				  .dst_site = 1 + to,
				  .object = to,
				  .bytes = bytes,
				  .variance = bursts ? bytes * bytes / bursts : 0,
				  .first_bytes = bytes / 2,
				  .bursts = bursts};
}

static void write_run_of(const struct comm_error_model *model, int slices, slice_fn *fn)
{
	struct comm_run_info info = {.estimator = "test",
				     .error_model = model,
				     .start_ns = START,
				     .overhead_limit = 0.01};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	int64_t run;

	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	for (int i = 0; i < slices; i++) {
		struct comm_edge edges[16];

		assert_int_equal(write_at(store, i, edges, fn(i, edges)), 0);
	}
	assert_int_equal(comm_store_end_run(store, START + slices * SECOND, "duration"), 0);
	comm_store_close(store);
}

/* Of an estimator without doubts. */
static const struct comm_error_model without_doubts = {
	.sampled_ends = 2, .factor_sd = 0.3, .confusion_sd = 0.1};

static void write_run(int slices, slice_fn *fn)
{
	write_run_of(&without_doubts, slices, fn);
}

static struct comm_report *ask(struct comm_query q)
{
	q.size = sizeof(q);
	return report_of(&q);
}

/* Threads have the tids 10, 11, ... */
static const struct comm_report_edge *between(const struct comm_report *report, uint32_t from,
					      uint32_t to)
{
	for (size_t i = 0; i < report->n_edges; i++) {
		const struct comm_report_edge *e = comm_report_edge_at(report, i);

		if (comm_report_node_at(report, e->from)->tid == 9 + from &&
		    comm_report_node_at(report, e->to)->tid == 9 + to)
			return e;
	}
	return NULL;
}

static bool is_resolved(uint32_t from, uint32_t to)
{
	struct comm_report *report = ask((struct comm_query){0});
	const struct comm_report_edge *e = between(report, from, to);
	bool resolved;

	assert_non_null(e);
	resolved = e->resolved;
	assert_true(e->share_low <= e->share && e->share <= e->share_high);
	comm_report_free(report);
	return resolved;
}

static size_t steady(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, READER, 1000 + slice % 3 * 100, 4);
	return 1;
}

static void test_steady(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(20, steady);
	assert_true(is_resolved(STEADY, READER));
	report = ask((struct comm_query){0});
	assert_int_equal(report->n_unresolved, 0);
	assert_true(report->unresolved_bytes == 0);
	assert_int_equal(report->n_blocks, 8);
	assert_int_equal(comm_report_edge_at(report, 0)->slices, 20);
	comm_report_free(report);
}

/* Half of a run has it: the even slices, which are the one half. */
static size_t every_other(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[1] = flow(OTHER, SECOND_READER, slice % 2 ? 1 : 3000, 100);
	return 2;
}

static void test_one_half(void **state)
{
	(void)state;
	write_run(40, every_other);
	assert_true(is_resolved(STEADY, READER));
	assert_false(is_resolved(OTHER, SECOND_READER));
}

/* A reader in two slices, and then another one of its name. */
static size_t short_lived(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, SHORT_LIVED + (uint32_t)slice / 2, 1000, 40);
	return 1;
}

static void test_short_lived_threads(void **state)
{
	struct comm_report *report;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct comm_thread *t = &names->thread[SHORT_LIVED + i];

		*t = (struct comm_thread){.tgid = 10, .tid = 9 + SHORT_LIVED + i};
		strcpy(t->name, "short");
	}
	write_run(20, short_lived);
	assert_false(is_resolved(STEADY, SHORT_LIVED));
	report = ask((struct comm_query){.by = "role"});
	assert_int_equal(report->n_edges, 1);
	assert_int_equal(comm_report_edge_at(report, 0)->slices, 8);
	assert_true(comm_report_edge_at(report, 0)->resolved);
	comm_report_free(report);
}

/* What was the first to write a page names a thread, but no function and no line. */
static void test_first_write(void **state)
{
	static const char *const by[] = {"thread", "function", "line"};
	const struct comm_node *writer;
	struct comm_report *report;

	(void)state;
	names->function[names->site[1 + STEADY].function] =
		(struct comm_function){.name = "[first write]", .module = "", .build_id = ""};
	write_run(20, steady);
	for (size_t i = 0; i < 3; i++) {
		report = ask((struct comm_query){.by = by[i]});
		assert_int_equal(report->n_edges, 1);
		writer = comm_report_node_at(report, comm_report_edge_at(report, 0)->from);
		assert_true(comm_report_edge_at(report, 0)->resolved == !i);
		assert_true(writer->other == !!i);
		assert_string_equal(writer->name, i ? "[first write]" : "worker");
		comm_report_free(report);
	}
}

static double unknown_bytes;

/* What a reader reads is of one writer, and of code that nobody knows. */
static size_t beside_unknown(int slice, struct comm_edge *edges)
{
	(void)slice;
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[1] = flow(OTHER, READER, unknown_bytes, 100);
	edges[2] = flow(SHORT_LIVED, SECOND_READER, 3000, 100);
	return 3;
}

/* Unknown code may be the known one: of the known part alone no interval is stated that ends below both. */
static void test_beside_unknown(void **state)
{
	(void)state;
	names->function[names->site[1 + OTHER].function] =
		(struct comm_function){.name = "(other)", .module = "", .build_id = ""};
	for (size_t i = 0; i < 3; i++) {
		static const double bytes[] = {1, 100, 2900};
		const struct comm_report_edge *edge = NULL;
		struct comm_report *report;

		unknown_bytes = bytes[i];
		write_run(20, beside_unknown);
		report = ask((struct comm_query){.by = "function"});
		for (size_t j = 0; j < report->n_edges; j++)
			if (fabs(comm_report_edge_at(report, j)->share * (4000 + bytes[i]) - 1000) <
			    1)
				edge = comm_report_edge_at(report, j);
		assert_non_null(edge);
		assert_true(edge->resolved == (i < 2));
		assert_true(edge->share_high >= edge->share * (1 + bytes[i] / 1000));
		assert_true(edge->high >= edge->bytes + bytes[i] * 20);
		comm_report_free(report);
	}
}

enum { UNSEEN = 7 }; /* bytes that each slice of a made store reads of writers nobody saw */

static double crossing_bytes;

/* A little that crosses threads, beside what another thread reads of its own. */
static size_t beside_unseen(int slice, struct comm_edge *edges)
{
	(void)slice;
	edges[0] = flow(STEADY, READER, crossing_bytes, 100);
	edges[1] = flow(SECOND_READER, SECOND_READER, 1000, 100);
	return 2;
}

/* More than three times as much is of writers that nobody saw: they may write anything for anybody. */
static void test_beside_unseen(void **state)
{
	struct comm_report *report;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		crossing_bytes = i ? UNSEEN / 2.9 : UNSEEN / 3.1;
		write_run(20, beside_unseen);
		assert_true(is_resolved(STEADY, READER) == !!i);
		/* Functions read of themselves, too: of that most has a known writer. */
		report = ask((struct comm_query){.by = "function", .self = 1});
		assert_int_equal(report->n_edges, 2);
		assert_true(comm_report_edge_at(report, 0)->resolved);
		comm_report_free(report);
	}
}

/* The load changes in the course of the run: no reason to doubt it. */
static size_t first_phase(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[1] = flow(OTHER, SECOND_READER, slice < 32 ? 1000 : 0, 100);
	return 2;
}

static void test_phases(void **state)
{
	(void)state;
	write_run(64, first_phase);
	assert_true(is_resolved(STEADY, READER));
	assert_true(is_resolved(OTHER, SECOND_READER));
}

/* One burst, which the estimator counts as many and as sure. */
static size_t one_burst(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[1] = flow(OTHER, SECOND_READER, slice == 5 ? 1e6 : 1, 1000);
	edges[1].variance = 0;
	return 2;
}

static void test_one_burst(void **state)
{
	struct comm_report *report;
	const struct comm_report_edge *e;

	(void)state;
	write_run(40, one_burst);
	assert_false(is_resolved(OTHER, SECOND_READER));
	/* Large as it is, it comes after what is resolved, and is not shown but counted. */
	report = ask((struct comm_query){.resolved = 1});
	assert_int_equal(report->n_shown, 1);
	assert_int_equal(report->n_edges, 2);
	e = comm_report_edge_at(report, 0);
	assert_true(e->resolved && e->bytes < comm_report_edge_at(report, 1)->bytes);
	assert_int_equal(report->n_unresolved, 1);
	assert_true(fabs(report->unresolved_bytes - 1000039) < 1e-3);
	comm_report_free(report);
	report = ask((struct comm_query){0});
	assert_int_equal(report->n_shown, 2);
	comm_report_free(report);
}

/* Few bursts, each in a slice of its own. */
static size_t four_bursts(int slice, struct comm_edge *edges)
{
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[1] = flow(OTHER, SECOND_READER, 1000, slice < 4);
	if (slice >= 4)
		edges[1].bytes = 0;
	return 2;
}

static void test_few_bursts(void **state)
{
	(void)state;
	write_run(4, four_bursts);
	assert_true(is_resolved(STEADY, READER));
	assert_false(is_resolved(OTHER, SECOND_READER));
}

/* A run too short to be split states nothing. */
static void test_short_run(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(3, steady);
	assert_false(is_resolved(STEADY, READER));
	report = ask((struct comm_query){0});
	assert_int_equal(report->n_blocks, 3);
	comm_report_free(report);
}

/* Roll-up has merged the slices: wide ones are dealt out instead. */
static void test_rolled_up(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(2000, every_other);
	assert_true(is_resolved(STEADY, READER));
	report = ask((struct comm_query){0});
	/* In whole minutes both halves have as much: that is all that is left to see. */
	assert_true(between(report, OTHER, SECOND_READER)->slices <= 40);
	comm_report_free(report);
}

/* Sampling noise: what is needed goes with one over the bursts. */
static size_t noisy(int slice, struct comm_edge *edges)
{
	(void)slice;
	edges[0] = flow(STEADY, READER, 1000, 1);
	edges[0].variance *= 4;
	return 1;
}

static size_t noisy_both(int slice, struct comm_edge *edges)
{
	edges[1] = flow(OTHER, SECOND_READER, 1000, 1);
	edges[1].variance *= 4;
	return 1 + noisy(slice, edges);
}

/* deviation: of the logarithm, of which each edge has 0.15 anyway; n bursts have 8 / n of variance. */
static void how_long(slice_fn *fn, size_t n_edges, double deviation)
{
	struct comm_report *report;
	int needed = (int)(8 / expm1(deviation * deviation - 0.15 * 0.15));

	write_run(8, fn);
	report = ask((struct comm_query){0});
	assert_int_equal(report->n_unresolved, n_edges);
	comm_report_free(report);
	unlink(path);
	write_run(needed + 1, fn);
	assert_true(is_resolved(STEADY, READER));
	unlink(path);
	write_run(needed - 1, fn);
	assert_false(is_resolved(STEADY, READER));
	unlink(path);
}

/* A share ends at 1: that of the only edge is known sooner than half of all is. */
static void test_how_long(void **state)
{
	(void)state;
	how_long(noisy_both, 2, log(3) / 2 / 1.6448536);
	how_long(noisy, 1, log(3) / 1.6448536);
}

/* Far smaller than what else its reader reads: no length tells it. */
static size_t beside_a_large_one(int slice, struct comm_edge *edges)
{
	(void)slice;
	edges[0] = flow(STEADY, READER, 1e6, 1000);
	edges[1] = flow(OTHER, READER, 10, 1000);
	return 2;
}

static void test_never(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(40, beside_a_large_one);
	assert_true(is_resolved(STEADY, READER));
	assert_false(is_resolved(OTHER, READER));
	report = ask((struct comm_query){0});
	assert_true(report->unresolved_bytes == 400);
	comm_report_free(report);
}

/* Which thread writes is known, and by which function is not. */
static size_t of_unknown_function(int slice, struct comm_edge *edges)
{
	steady(slice, edges);
	edges[0].src_site = COMM_ID_OTHER;
	return 1;
}

static void test_unknown_end(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(40, of_unknown_function);
	assert_true(is_resolved(STEADY, READER));
	report = ask((struct comm_query){.by = "function"});
	assert_int_equal(report->n_edges, 1);
	assert_false(comm_report_edge_at(report, 0)->resolved);
	comm_report_free(report);
}

static const struct comm_report_part *part_of(const struct comm_report *report, const char *name)
{
	const struct comm_report_part *part;

	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++)
		if (!strcmp(part->name, name))
			return part;
	fail_msg("no part '%s'", name);
	return NULL;
}

static void check_parts(const struct comm_report *report)
{
	const struct comm_report_part *part;
	double bytes = 0, share = 0;

	for (size_t i = 0; (part = comm_report_part_at(report, i)); i++) {
		assert_true(part->share_low <= part->share && part->share <= part->share_high);
		bytes += part->bytes;
		share += part->share;
	}
	assert_true(fabs(bytes - report->read_bytes) <= 1e-9 * bytes);
	assert_true(fabs(share - 1) < 1e-9);
}

static size_t several_objects(int slice, struct comm_edge *edges)
{
	/* Noise in volume that all have in common moves no share. */
	double load = 1 + slice % 5;

	edges[0] = flow(STEADY, READER, 75 * load, 100);
	edges[0].object = 1;
	edges[1] = flow(STEADY, READER, 75 * load, 100);
	edges[1].object = 2;
	edges[2] = flow(READER, READER, 425 * load, 100);
	edges[2].object = 1;
	edges[3] = flow(READER, READER, 425 * load, 100);
	edges[3].object = 3;
	return 4;
}

static void test_account(void **state)
{
	struct comm_report *report;
	const struct comm_report_part *others, *self;
	/* Noise moves no share; but of others' and own reads the one may be taken for the other. */
	double odds = 0.15 / 0.85, factor = exp(1.645);
	double low = odds / factor / (1 + odds / factor),
	       high = odds * factor / (1 + odds * factor);

	(void)state;
	write_run(40, several_objects);
	report = ask((struct comm_query){0});
	check_parts(report);
	others = part_of(report, "others");
	self = part_of(report, "self");
	assert_true(!others->resolved && self->resolved && !others->object && !self->object);
	assert_true(fabs(others->share - 0.15) < 0.01 && fabs(self->share - 0.85) < 0.01);
	assert_true(fabs(others->share_low - low) < 0.005 &&
		    fabs(others->share_high - high) < 0.005);
	assert_true(fabs(self->share_low - (1 - high)) < 0.005);
	assert_true(fabs(part_of(report, "unseen")->bytes - 280) < 1e-6);
	comm_report_free(report);
	report = ask((struct comm_query){.thread = "11"});
	check_parts(report);
	comm_report_free(report);
	report = ask((struct comm_query){.by = "function", .across = true});
	check_parts(report);
	assert_true(part_of(report, "within")->bytes > 0);
	comm_report_free(report);
}

static size_t doubted_objects(int slice, struct comm_edge *edges)
{
	size_t n = several_objects(slice, edges);

	/* A quarter of all that was seen. */
	edges[2].doubts.side = edges[3].doubts.side = (float)(0.25 * edges[2].bytes / 0.85);
	return n;
}

/* What may be others' in place of the reader's own widens both parts by as much, and no other. */
static void test_account_of_doubted_sides(void **state)
{
	const struct comm_report_part *others, *self;
	struct comm_report *report;
	double unseen;

	(void)state;
	write_run(40, several_objects);
	report = ask((struct comm_query){0});
	unseen = part_of(report, "unseen")->share_high;
	comm_report_free(report);
	write_run(40, doubted_objects);
	report = ask((struct comm_query){0});
	check_parts(report);
	others = part_of(report, "others");
	self = part_of(report, "self");
	assert_true(fabs(self->share - 0.85) < 0.01 && !others->resolved);
	assert_true(self->share_low < 0.85 - 1.645 * 0.25 + 0.005);
	assert_true(others->share_high > 0.15 + 1.645 * 0.25 - 0.005);
	assert_true(part_of(report, "unseen")->share_high <= unseen + 1e-9);
	comm_report_free(report);
}

/* All that the reader reads of its own lies in one large mapping. */
static size_t one_object(int slice, struct comm_edge *edges)
{
	size_t n = several_objects(slice, edges);

	edges[2].object = edges[3].object = 4;
	return n;
}

static void test_one_object_carries(void **state)
{
	struct comm_report *report;

	(void)state;
	names->object[4].kind = COMM_OBJECT_ANON;
	names->object[4].size_bytes = 4ULL << 30;
	names->object[4].name = "anon 4G";
	write_run(40, one_object);
	report = ask((struct comm_query){0});
	check_parts(report);
	assert_false(part_of(report, "self")->resolved);
	assert_string_equal(part_of(report, "self")->object, "anon 4G");
	comm_report_free(report);
}

/* All that it reads of its own lies in blocks of one large heap, which itself is hardly read. */
static size_t blocks_of_a_heap(int slice, struct comm_edge *edges)
{
	size_t n = several_objects(slice, edges);

	edges[2].object = 4;
	edges[3].object = 5;
	if (!slice)
		edges[0].object = 6;
	return n;
}

static void test_blocks_are_of_their_heap(void **state)
{
	struct comm_report *report;

	(void)state;
	for (int i = 4; i <= 6; i++) {
		names->object[i].kind = i < 6 ? COMM_OBJECT_BLOCK : COMM_OBJECT_HEAP;
		names->object[i].size_bytes = i < 6 ? 72 : 4ULL << 30;
		names->object[i].name = i < 6 ? "heap blocks of 57 to 72 B" : "[heap]";
		names->object[i].tgid = 10;
	}
	write_run(40, blocks_of_a_heap);
	report = ask((struct comm_query){0});
	check_parts(report);
	assert_false(part_of(report, "self")->resolved);
	assert_string_equal(part_of(report, "self")->object, "[heap]");
	comm_report_free(report);
}

static size_t one_burst_of_others(int slice, struct comm_edge *edges)
{
	size_t n = several_objects(slice, edges);

	if (slice == 7)
		edges[0].bytes = 1e6;
	return n;
}

static void test_one_burst_carries(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(40, one_burst_of_others);
	report = ask((struct comm_query){0});
	check_parts(report);
	assert_false(part_of(report, "self")->resolved);
	assert_false(part_of(report, "others")->resolved);
	comm_report_free(report);
}

/* All of a program is about one variable, at any time. */
static size_t only_object(int slice, struct comm_edge *edges)
{
	size_t n = several_objects(slice, edges);

	for (size_t i = 0; i < n; i++)
		edges[i].object = 1;
	return n;
}

static void test_only_object(void **state)
{
	struct comm_report *report;

	(void)state;
	write_run(40, only_object);
	report = ask((struct comm_query){0});
	check_parts(report);
	assert_true(part_of(report, "self")->resolved);
	assert_null(part_of(report, "others")->object);
	comm_report_free(report);
}

/* A variable of two processes is two data, whatever its name: nothing goes through it. */
static size_t two_processes(int slice, struct comm_edge *edges)
{
	(void)slice;
	edges[0] = flow(STEADY, READER, 1000, 100);
	edges[0].object = 1;
	edges[1] = flow(OTHER, SECOND_READER, 1000, 100);
	edges[1].object = 2;
	return 2;
}

static void test_two_processes(void **state)
{
	const struct comm_node *node[2] = {0};
	struct comm_report *report;
	size_t n = 0;

	(void)state;
	names->object[1].tgid = 11;
	names->object[2].tgid = 12;
	write_run(8, two_processes);
	report = ask((struct comm_query){.by = "object"});
	assert_int_equal(report->n_edges, 4);
	for (size_t i = 0; i < report->n_nodes; i++) {
		const struct comm_node *at = comm_report_node_at(report, i);

		if (at->kind == COMM_NODE_OBJECT && n < 2)
			node[n++] = at;
	}
	assert_int_equal(n, 2);
	assert_string_equal(node[0]->name, node[1]->name);
	assert_int_not_equal(node[0]->tgid, node[1]->tgid);
	assert_string_not_equal(node[0]->key, node[1]->key);
	assert_non_null(strstr(node[0]->key, " of process of worker#"));
	assert_true(node[0]->read_bytes == 8000 && node[1]->read_bytes == 8000);
	comm_report_free(report);
}

/* What was counted needs no confirmation. */
static void test_exact(void **state)
{
	const struct comm_error_model exact = {0};
	struct comm_report *report;

	(void)state;
	write_run_of(&exact, 1, one_burst);
	assert_true(is_resolved(STEADY, READER));
	report = ask((struct comm_query){0});
	assert_true(part_of(report, "others")->resolved);
	assert_int_equal(report->n_unresolved, 0);
	comm_report_free(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_steady),
		TEST(test_one_half),
		TEST(test_short_lived_threads),
		TEST(test_first_write),
		TEST(test_beside_unknown),
		TEST(test_beside_unseen),
		TEST(test_phases),
		TEST(test_one_burst),
		TEST(test_few_bursts),
		TEST(test_short_run),
		TEST(test_rolled_up),
		TEST(test_how_long),
		TEST(test_never),
		TEST(test_unknown_end),
		TEST(test_account),
		TEST(test_account_of_doubted_sides),
		TEST(test_one_object_carries),
		TEST(test_blocks_are_of_their_heap),
		TEST(test_one_burst_carries),
		TEST(test_only_object),
		TEST(test_two_processes),
		TEST(test_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
