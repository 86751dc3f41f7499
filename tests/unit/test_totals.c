// SPDX-License-Identifier: GPL-2.0-or-later
/* Totals of nodes, and of paths of calls with all that is called inside. */
#include <math.h>

#include "made_store.h"

enum { MAIN = 1, WORKER = 2, SLICES = 16 };

/* main calls produce, which calls put; main also calls put itself; nobody knows who called get. */
static struct {
	uint32_t put_in_produce, put_in_main, produce, get;
} sites;
static uint32_t unread;

static uint32_t called(const char *function, uint32_t call)
{
	uint32_t f = 2;

	while (f < names->n_functions && strcmp(names->function[f].name, function) != 0)
		f++;
	if (f == names->n_functions)
		made_function(names, function, "program", 0x9000 + 16 * f);
	f = made_site(names, f, NULL, 0);
	names->site[f].caller = call;
	return f;
}

static uint32_t function_of(uint32_t site)
{
	return names->site[site].function;
}

static struct comm_edge edge(uint32_t src, uint32_t src_site, uint32_t dst, uint32_t dst_site,
			     double bytes, uint32_t bursts)
{
	return (struct comm_edge){.src_thread = src,
				  .src_site = src_site,
				  .dst_thread = dst,
				  .dst_site = dst_site,
				  .object = 1,
				  .bytes = bytes,
				  .variance = bytes,
				  .bursts = bursts};
}

/* With others, another function of the worker reads, too. */
static void make_calls(bool others)
{
	uint32_t in_main, in_produce, site_main = called("main", COMM_CALL_OUTERMOST);
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[7];

	in_main = made_call(names, COMM_CALL_OUTERMOST, function_of(site_main));
	sites.produce = called("produce", in_main);
	in_produce = made_call(names, in_main, function_of(sites.produce));
	sites.put_in_produce = called("put", in_produce);
	sites.put_in_main = called("put", in_main);
	sites.get = called("get", COMM_CALL_UNKNOWN);
	edges[0] = edge(MAIN, sites.put_in_produce, WORKER, sites.get, 6000, 9);
	edges[1] = edge(MAIN, sites.put_in_main, WORKER, sites.get, 1000, 7);
	edges[2] = edge(MAIN, sites.produce, WORKER, sites.get, 300, 1);
	edges[3] = edge(WORKER, sites.get, MAIN, sites.put_in_produce, 50, 4);
	/* In one thread, to another function and to itself. */
	edges[4] = edge(MAIN, sites.produce, MAIN, sites.put_in_main, 20, 1);
	edges[5] = edge(MAIN, sites.put_in_main, MAIN, sites.put_in_produce, 8, 1);
	edges[6] = edge(MAIN, sites.put_in_main, WORKER, called("take", COMM_CALL_UNKNOWN), 900, 7);
	begin(store);
	for (int i = 0; i < SLICES; i++)
		assert_int_equal(write_at(store, i, edges, others ? 7 : 6), 0);
	comm_store_close(store);
}

static const struct comm_report_total *total_of(const struct comm_report *report, const char *name)
{
	for (size_t i = 0; i < report->n_totals; i++)
		if (!strcmp(comm_report_total_at(report, i)->node.name, name))
			return comm_report_total_at(report, i);
	fail_msg("nothing of %s", name);
	return NULL;
}

static void check(const struct comm_report_volume *volume, double per_slice)
{
	double bytes = per_slice * SLICES;

	if (fabs(volume->bytes - bytes) > 1e-6)
		fail_msg("%g bytes, not %g", volume->bytes, bytes);
	assert_true(volume->low <= volume->bytes && volume->bytes <= volume->high);
	assert_true(per_slice == 0 || volume->low < volume->high);
}

static void test_functions(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "function", .totals = 1};
	const struct comm_report_total *put, *get;
	struct comm_report *report;

	(void)state;
	make_calls(false);
	report = report_of(&q);
	assert_int_equal(report->n_totals, 3);
	put = total_of(report, "put");
	check(&put->written, 7000);
	check(&put->read, 50 + 20);
	check(&put->all_written, 7000);
	assert_true(put->own_bytes == 8 * SLICES);
	assert_string_equal(put->reader->name, "get");
	assert_string_equal(put->writer->name, "get");
	assert_true(put->reader_bytes == 7000 * SLICES && put->writer_bytes == 50 * SLICES);
	assert_true(put->written.resolved && put->intensive);
	assert_true(put->around == SIZE_MAX && put->depth == 0);
	/* As one edge to the only reader, which has all bursts of each slice but no others. */
	assert_int_equal(put->written.samples, 9 * SLICES);
	get = total_of(report, "get");
	check(&get->read, 7300);
	check(&get->written, 50);
	assert_true(get->own_bytes == 0);
	assert_ptr_equal(comm_report_total_at(report, 0), get);
	/* Of 7370 the 320 are under 5 %, and seen by too few bursts. */
	assert_false(total_of(report, "produce")->intensive);
	assert_null(comm_report_total_at(report, 3));
	comm_report_free(report);
}

/* Of a sum of edges as much is in doubt as of its edges. */
static void test_doubts(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "thread", .totals = 1};
	const struct comm_report_total *total;
	struct comm_report *report;

	(void)state;
	make_calls(false);
	sql("UPDATE run SET doubt_sd = 3");
	for (int doubtful = 0; doubtful < 2; doubtful++) {
		report = report_of(&q);
		total = comm_report_total_at(report, 0);
		assert_true(total->written.share_low == comm_report_edge_at(report, 0)->share_low);
		assert_true(total->written.resolved == !doubtful);
		comm_report_free(report);
		sql("UPDATE edge SET thread_doubt = 500");
	}
}

/* Two edges of a node have the interval of one with their sum. */
static void test_intervals(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "thread", .totals = 1};
	const struct comm_report_total *total;
	const struct comm_report_edge *edge_out;
	struct comm_report *report;

	(void)state;
	make_calls(false);
	report = report_of(&q);
	total = comm_report_total_at(report, 0);
	edge_out = comm_report_edge_at(report, 0);
	assert_true(total->written.bytes == edge_out->bytes);
	assert_true(total->written.low == edge_out->low && total->written.high == edge_out->high);
	assert_true(total->written.share_low == edge_out->share_low);
	assert_true(total->written.samples == edge_out->samples);
	comm_report_free(report);
}

/* What a run that samples knows of an object: what is read from it, and not what is written to it. */
static void test_objects(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "object", .totals = 1};
	const struct comm_report_total *object;
	struct comm_report *report;

	(void)state;
	make_calls(false);
	report = report_of(&q);
	assert_int_equal(report->n_totals, 1);
	object = comm_report_total_at(report, 0);
	check(&object->written, 0);
	check(&object->read, 7350);
	assert_true(object->wrote_bytes < 0 && object->all_wrote_bytes < 0);
	assert_true(object->reads_bytes == (7350 + 28) * SLICES);
	assert_int_equal(object->reader->kind, COMM_NODE_THREAD);
	assert_int_equal(object->reader->tid, 11);
	assert_int_equal(object->writer->tid, 10);
	comm_report_free(report);
}

/* Of main's sites, in a slice. */
static int write_counted(struct comm_store *store, int slice)
{
	const struct comm_unwritten_end written[] = {
		{.thread = MAIN, .site = sites.produce, .object = 1, .bytes = 100},
		{.thread = MAIN, .site = sites.put_in_main, .object = 1, .bytes = 1000},
		{.thread = MAIN, .site = sites.put_in_produce, .object = 1, .bytes = 20},
		{.thread = MAIN, .site = sites.put_in_produce, .object = unread, .bytes = 3},
	};
	const struct comm_unwritten_end length[] = {
		{.thread = MAIN, .site = sites.produce, .bytes = 400},
		{.thread = MAIN, .site = sites.put_in_main, .bytes = 50},
		{.thread = MAIN, .site = sites.put_in_produce, .bytes = 6},
		{.thread = WORKER, .site = sites.get, .bytes = 7000},
	};
	static const char *const counters[] = {"frames", "instructions"};
	const struct comm_unwritten_end unwritten = {
		.thread = WORKER, .site = sites.get, .object = 1, .bytes = 5};
	const struct comm_edge read = edge(MAIN, sites.put_in_main, WORKER, sites.get, 4000, 1);
	const struct comm_slice_info info = {
		.start_ns = START + slice * SECOND,
		.end_ns = START + (slice + 1) * SECOND,
		.unwritten = {.bytes = 5, .end = &unwritten, .n_ends = 1},
		.written = {written, 4},
		.lengths = {length, 4, 1},
		.counter = counters,
		.n_counters = 2,
	};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, &read, 1, &naming);
}

static void make_counted(void)
{
	struct comm_store_config c = config();
	struct comm_store *store;

	make_calls(false);
	unread = made_object(names, COMM_OBJECT_STATIC, "unread", "program", 8);
	unlink(path);
	c.rollup_ns = 4 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < SLICES; i++)
		assert_int_equal(write_counted(store, i), 0);
	comm_store_close(store);
}

static void test_counted_writes(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "object", .totals = 1, .unwritten = 1};
	const struct comm_report_total *total;
	struct comm_report *report;

	(void)state;
	make_counted();
	report = report_of(&q);
	assert_int_equal(report->n_totals, 2);
	total = comm_report_total_at(report, 0);
	check(&total->read, 4000);
	assert_true(total->wrote_bytes == 1120 * SLICES);
	assert_true(total->reads_bytes == 4005 * SLICES);
	total = comm_report_total_at(report, 1);
	check(&total->read, 0);
	assert_true(total->wrote_bytes == 3 * SLICES && total->reads_bytes == 0);
	comm_report_free(report);
	q.by = "function";
	report = report_of(&q);
	total = total_of(report, "put");
	check(&total->written, 4000);
	assert_true(total->wrote_bytes == 1023 * SLICES);
	assert_true(total_of(report, "produce")->wrote_bytes == 100 * SLICES);
	assert_true(total_of(report, "get")->wrote_bytes == 0);
	assert_true(total_of(report, "get")->reads_bytes == 4005 * SLICES);
	comm_report_free(report);
	q.by = "path";
	report = report_of(&q);
	assert_true(total_of(report, "main")->wrote_bytes == 0);
	assert_true(total_of(report, "main")->all_wrote_bytes == 1123 * SLICES);
	assert_true(total_of(report, "produce from main")->all_wrote_bytes == 123 * SLICES);
	comm_report_free(report);
}

static void check_lengths(void)
{
	struct comm_query q = {.size = sizeof(q), .by = "function", .totals = 1};
	struct comm_report *report = report_of(&q);

	assert_string_equal(report->length_unit, "instructions");
	assert_true(total_of(report, "put")->length == 56 * SLICES);
	assert_true(total_of(report, "get")->length == 7000 * SLICES);
	comm_report_free(report);
	q.by = "path";
	report = report_of(&q);
	assert_true(total_of(report, "main")->length == 0);
	assert_true(total_of(report, "main")->all_length == 456 * SLICES);
	assert_true(total_of(report, "produce from main")->length == 400 * SLICES);
	assert_true(total_of(report, "produce from main")->all_length == 406 * SLICES);
	comm_report_free(report);
}

/* Of slices, and of wider ones that are left when these are gone. */
static void test_lengths(void **state)
{
	(void)state;
	make_counted();
	check_lengths();
	sql("DELETE FROM length WHERE slice IN (SELECT id FROM slice WHERE level = 0)");
	sql("DELETE FROM edge WHERE slice IN (SELECT id FROM slice WHERE level = 0)");
	sql("DELETE FROM slice WHERE level = 0");
	assert_true(query("SELECT count(*) FROM slice") == SLICES / 4);
	check_lengths();
}

/* Of data, and of what may be a part of a node, no length is known. */
static void test_unknown_lengths(void **state)
{
	const struct comm_query asked[] = {
		{.size = sizeof(asked[0]), .by = "object", .totals = 1},
		{.size = sizeof(asked[0]), .by = "function,object", .totals = 1},
		{.size = sizeof(asked[0]), .by = "function", .objects = 1, .totals = 1},
		{.size = sizeof(asked[0]), .by = "struct", .totals = 1},
		{.size = sizeof(asked[0]), .by = "function", .thread = "worker", .totals = 1},
	};

	(void)state;
	make_counted();
	sql("INSERT INTO type VALUES (2, 'struct s', 'f', 0)");
	sql("UPDATE context SET type = 2 WHERE id > 1");
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		struct comm_report *report = report_of(&asked[i]);

		assert_null(report->length_unit);
		assert_true(report->n_totals > 0);
		for (size_t j = 0; j < report->n_totals; j++)
			assert_true(comm_report_total_at(report, j)->length < 0);
		comm_report_free(report);
	}
}

/* A hostile store: lengths of a counter that is not there. */
static void test_lengths_of_nothing(void **state)
{
	const struct comm_query q = {.size = sizeof(q), .by = "path", .totals = 1};
	struct comm_report *report;

	(void)state;
	make_counted();
	sql("DELETE FROM counter");
	report = report_of(&q);
	assert_null(report->length_unit);
	assert_true(report->n_totals > 0);
	for (size_t i = 0; i < report->n_totals; i++) {
		assert_true(comm_report_total_at(report, i)->length < 0);
		assert_true(comm_report_total_at(report, i)->all_length < 0);
	}
	comm_report_free(report);
}

/* Of whom, and of what, writes are not known though they were counted. */
static void test_unknown_writes(void **state)
{
	const struct comm_query asked[] = {
		{.size = sizeof(asked[0]), .by = "object", .thread = "worker", .totals = 1},
		{.size = sizeof(asked[0]), .by = "object", .function = "put", .totals = 1},
		{.size = sizeof(asked[0]), .by = "object", .writer = "worker", .totals = 1},
		{.size = sizeof(asked[0]), .by = "struct", .totals = 1},
		{.size = sizeof(asked[0]), .by = "object", .totals = 1},
	};
	enum { N = sizeof(asked) / sizeof(*asked) };

	(void)state;
	make_counted();
	sql("INSERT INTO type VALUES (2, 'struct s', 'f', 0)");
	sql("UPDATE context SET type = 2 WHERE id > 1");
	for (int i = 0; i < N; i++) {
		struct comm_report *report;

		/* Ends that a store had no room for may be of any object. */
		if (i == N - 1)
			sql("UPDATE written SET ends = x'0000000100' || ends WHERE slice = 3");
		report = report_of(&asked[i]);
		assert_true(report->n_totals > 0);
		for (size_t j = 0; j < report->n_totals; j++)
			assert_true(comm_report_total_at(report, j)->wrote_bytes < 0);
		comm_report_free(report);
	}
}

static void test_call_tree(void **state)
{
	static const char *const order[] = {
		"main",		 "produce from main", "put from produce from main",
		"put from main", "(callers unknown)", "get from ..."};
	struct comm_query q = {.size = sizeof(q), .by = "path", .totals = 1};
	const struct comm_report_total *total;
	struct comm_report *report;

	(void)state;
	make_calls(false);
	report = report_of(&q);
	assert_int_equal(report->n_totals, 6);
	/* Callers before what they call, the larger ones before the smaller ones. */
	for (int i = 0; i < 6; i++)
		assert_non_null(total_of(report, order[i]));
	assert_string_equal(comm_report_total_at(report, 0)->node.name, "main");
	for (int i = 1; i < 4; i++)
		assert_string_equal(comm_report_total_at(report, i)->node.name, order[i]);
	total = total_of(report, "main");
	check(&total->all_written, 7300);
	check(&total->written, 0);
	check(&total->all_read, 50);
	assert_true(total->around == SIZE_MAX && total->depth == 0);
	total = total_of(report, "produce from main");
	check(&total->all_written, 6300);
	check(&total->written, 300);
	check(&total->all_read, 50);
	check(&total->read, 0);
	assert_true(total->around == 0 && total->depth == 1);
	total = total_of(report, "put from produce from main");
	check(&total->all_written, 6000);
	check(&total->written, 6000);
	assert_true(total->around == 1 && total->depth == 2);
	assert_int_equal(total->node.n_parts, 3);
	assert_string_equal(total->node.parts[0]->name, "main");
	assert_string_equal(total->node.parts[2]->name, "put");
	check(&total_of(report, "put from main")->written, 1000);
	total = total_of(report, "(callers unknown)");
	check(&total->all_read, 7300);
	check(&total->read, 0);
	check(&total_of(report, "get from ...")->read, 7300);
	comm_report_free(report);
	/* Also what a thread tells itself. */
	q.self = true;
	report = report_of(&q);
	check(&total_of(report, "main")->all_written, 7328);
	check(&total_of(report, "main")->all_read, 78);
	comm_report_free(report);
}

static void test_trees_of_threads(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "thread,path", .across = true, .totals = 1};
	const struct comm_report_total *total;
	struct comm_query plain = {.size = sizeof(plain), .by = "thread", .totals = 1};
	struct comm_report *report, *by_thread;
	size_t n_trees = 0, n_same = 0;

	(void)state;
	make_calls(true);
	report = report_of(&q);
	by_thread = report_of(&plain);
	for (size_t i = 0; i < report->n_totals; i++) {
		total = comm_report_total_at(report, i);
		n_trees += total->around == SIZE_MAX;
		if (total->around != SIZE_MAX)
			continue;
		assert_string_equal(total->node.name, "worker");
		check(&total->written, 0);
		/* What is known of a thread does not depend on how many paths it has. */
		for (size_t j = 0; j < by_thread->n_totals; j++) {
			const struct comm_report_total *whole = comm_report_total_at(by_thread, j);

			if (strcmp(whole->node.id, total->node.parts[0]->id) != 0)
				continue;
			check(&total->all_written, whole->written.bytes / SLICES);
			assert_true(fabs(total->all_written.low / whole->written.low - 1) < 1e-9);
			assert_true(fabs(total->all_written.high / whole->written.high - 1) < 1e-9);
			assert_true(fabs(total->all_read.high / whole->read.high - 1) < 1e-9);
			n_same++;
		}
	}
	assert_int_equal(n_trees, 2);
	assert_int_equal(n_same, 2);
	comm_report_free(by_thread);
	total = total_of(report, "worker produce from main");
	check(&total->all_written, 6300);
	assert_int_equal(total->depth, 2);
	comm_report_free(report);
}

/* Calls within each other, within themselves, and within calls that are not there. */
static void test_hostile_calls(void **state)
{
	struct comm_query q = {.size = sizeof(q), .by = "path", .totals = 1};
	struct comm_report *report;
	double written = 0;

	(void)state;
	make_calls(false);
	sql("UPDATE call SET parent = 3 WHERE id = 2");
	report = report_of(&q);
	for (size_t i = 0; i < report->n_totals; i++) {
		const struct comm_report_total *total = comm_report_total_at(report, i);

		assert_true(total->around == SIZE_MAX || total->around < i);
		written += total->written.bytes;
	}
	assert_true(fabs(written - report->total_bytes) < 1e-6);
	comm_report_free(report);
	sql("UPDATE call SET parent = id WHERE id > 1");
	comm_report_free(report_of(&q));
	sql("UPDATE call SET parent = -5, function = 9000000000 + id WHERE id > 1");
	comm_report_free(report_of(&q));
	sql("UPDATE context SET caller = 77 + id WHERE caller > 0");
	comm_report_free(report_of(&q));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_functions),	     TEST(test_doubts),
		TEST(test_intervals),	     TEST(test_objects),
		TEST(test_call_tree),	     TEST(test_hostile_calls),
		TEST(test_trees_of_threads), TEST(test_counted_writes),
		TEST(test_unknown_writes),   TEST(test_lengths),
		TEST(test_unknown_lengths),  TEST(test_lengths_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
