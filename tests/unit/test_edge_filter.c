// SPDX-License-Identifier: GPL-2.0-or-later
/* Queries that want the edges of some functions or data objects alone. */
#include <errno.h>

#include "made_store.h"

static struct comm_report *ask(struct comm_query query)
{
	query.size = sizeof(query);
	query.by = query.by ? query.by : "function";
	query.self = true;
	return report_of(&query);
}

static void no_data(struct comm_query query, const char *words)
{
	struct comm_report *report = NULL;
	struct comm_reader *reader;
	char *err;

	query.size = sizeof(query);
	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	assert_int_equal(comm_reader_report(reader, &query, &report, &err), -ENODATA);
	if (!strstr(err, words))
		fail_msg("the sentence is: %s", err);
	free(err);
	comm_reader_close(reader);
}

static void total_is(struct comm_query query, double bytes)
{
	struct comm_report *report = ask(query);

	if (report->total_bytes != bytes)
		fail_msg("%s %s: %g bytes, not %g", query.function ? query.function : "",
			 query.object ? query.object : "", report->total_bytes, bytes);
	comm_report_free(report);
}

/* main writes the table that parse reads (1000), and the queue that take reads (200); take (30) its own. */
static void make(void)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	uint32_t in_main, parse, take, table, queue;
	struct comm_edge edges[3];

	in_main = made_site(names, made_function(names, "main", "program", 0x9000), "m.c", 1);
	parse = made_site(names, made_function(names, "ns::parse(char const*)", "program", 0x9100),
			  "p.c", 2);
	take = made_site(names, made_function(names, "queue_take", "program", 0x9200), "q.c", 3);
	table = made_object(names, COMM_OBJECT_STATIC, "table", "program", 64);
	queue = made_object(names, COMM_OBJECT_STATIC, "queue", "program", 64);
	edges[0] = (struct comm_edge){.src_thread = 1,
				      .dst_thread = 2,
				      .src_site = in_main,
				      .dst_site = parse,
				      .object = table,
				      .bursts = 9,
				      .bytes = 1000};
	edges[1] = edges[0];
	edges[1].dst_site = take;
	edges[1].object = queue;
	edges[1].bytes = 200;
	edges[2] = edges[1];
	edges[2].src_site = take;
	edges[2].bytes = 30;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 3), 0);
	assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	comm_store_close(store);
}

/* Brackets that are no parameters are a part of the name; nobody types what a compiler adds. */
static void test_brackets(void **state)
{
	static const char *const names_of[] = {"(anonymous namespace)::parse(int)",
					       "T::operator()(int) const", "main.(*T).get",
					       "step.constprop.0"};
	static const struct {
		const char *pattern;
		double bytes;
	} of[] = {
		{"(anonymous namespace)::parse", 1},
		{"(anonymous namespace)::*", 1},
		{"T::operator()", 2},
		{"main.(\\*T).get", 4},
		{"main.(*T).get", 4},
		{"step", 8},
	};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	uint32_t in_main;
	struct comm_edge edges[4];

	(void)state;
	in_main = made_site(names, made_function(names, "main", "program", 0x9000), "m.c", 1);
	for (int i = 0; i < 4; i++)
		edges[i] = (struct comm_edge){
			.src_thread = 1,
			.dst_thread = 2,
			.src_site = in_main,
			.dst_site = made_site(
				names,
				made_function(names, names_of[i], "program", 0x9100 + 16 * i),
				"p.c", i),
			.bursts = 9,
			.bytes = 1 << i};
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 4), 0);
	assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	comm_store_close(store);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		total_is((struct comm_query){.function = of[i].pattern}, of[i].bytes);
	no_data((struct comm_query){.function = "main."}, "no function 'main.'");
	no_data((struct comm_query){.function = ""}, "no function ''");
}

static void test_functions(void **state)
{
	(void)state;
	make();
	total_is((struct comm_query){0}, 1230);
	total_is((struct comm_query){.function = "main"}, 1200);
	total_is((struct comm_query){.function = "queue_*"}, 230);
	total_is((struct comm_query){.function = "ns::parse"}, 1000);
	total_is((struct comm_query){.function = "ns::parse(char const*)"}, 1000);
	total_is((struct comm_query){.function = "ns::*"}, 1000);
	/* In any grouping. */
	total_is((struct comm_query){.function = "queue_take", .by = "thread"}, 230);
	no_data((struct comm_query){.function = "pars"}, "no function 'pars'");
}

static void test_objects(void **state)
{
	(void)state;
	make();
	total_is((struct comm_query){.object = "table"}, 1000);
	total_is((struct comm_query){.object = "q*"}, 230);
	total_is((struct comm_query){.object = "q*", .function = "main"}, 200);
	no_data((struct comm_query){.object = "tab"}, "no object 'tab'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_brackets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_objects, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
