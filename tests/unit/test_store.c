// SPDX-License-Identifier: GPL-2.0-or-later
/* What a store keeps of runs and slices: rows, names that come later, no byte lost. Its file is test_store_file.c's. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "made_store.h"

static void test_stores_what_it_is_given(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_thread = 1,
				 .dst_thread = 2,
				 .src_site = 2,
				 .dst_site = 3,
				 .object = 4,
				 .bursts = 9,
				 .level = 3,
				 .bytes = 0.1,
				 .variance = 2.5,
				 .first_bytes = 0.05,
				 .first_variance = 1e300};

	(void)state;
	assert_int_equal(comm_store_end_run(store, 1, "early"), -EINVAL);
	assert_int_equal(write_at(store, 0, &edge, 1), -EINVAL);
	assert_int_equal(begin(store), 1);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 1 AND dst_thread = 2 AND"
			  " src_context = 2 AND dst_context = 3 AND object = 4 AND bursts = 9 AND"
			  " level = 3 AND variance = 2.5 AND first_bytes = 0.05 AND"
			  " first_variance = 1e300") == 0.1);
	assert_true(query("SELECT n FROM loss WHERE cause = 'late'") == 2);
	assert_true(query("SELECT unwritten_bytes * 10 + unwritten_first_bytes FROM slice") == 73);
	assert_true(query("SELECT end_ns IS NULL AND how IS NULL FROM run") == 1);

	/* A thread that was renamed and ended; an object that grew. */
	snprintf(names->thread[1].name, sizeof(names->thread[1].name), "renamed-7");
	names->thread[1].end_ns = 77;
	names->object[4].size_bytes = 16;
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT end_ns FROM thread WHERE id = 1 AND name = 'renamed-7'"
			  " AND role = 'renamed'") == 77);
	assert_true(query("SELECT size_bytes FROM object WHERE id = 4") == 16);
	assert_int_equal(comm_store_end_run(store, START + 2 * SECOND, "target exited"), 0);
	assert_true(query("SELECT how = 'target exited' AND end_ns = 1002000000000 FROM run") == 1);

	/* Functions, sites and contexts are the same ones in the next run. */
	assert_int_equal(begin(store), 2);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM site") == 2 + 2);
	assert_true(query("SELECT count(*) FROM context") == 2 + 2);
	assert_true(query("SELECT count(*) FROM function") == 2 + 2);
	comm_store_close(store);
}

static const struct comm_object *same_object(const void *ctx, uint32_t id)
{
	static const struct comm_object object = {.kind = COMM_OBJECT_HEAP, .name = "[heap]"};

	(void)ctx;
	(void)id;
	return &object;
}

/* More ends than have room in a row: the largest are kept, and no byte is lost. */
static void test_many_unwritten_ends(void **state)
{
	enum { ENDS = 30000 };
	struct comm_unwritten_end *end = calloc(ENDS, sizeof(*end));
	struct comm_slice_info info = {
		.start_ns = START,
		.end_ns = START + SECOND,
		.unwritten = {.bytes = 7.0 * ENDS, .end = end, .n_ends = ENDS},
	};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_naming naming = made_naming(names);

	(void)state;
	naming.n_objects = 1 + ENDS / 6;
	naming.object_at = same_object;
	for (uint32_t i = 0; i < ENDS; i++)
		end[i] = (struct comm_unwritten_end){1 + i / 5000, 2, 1 + i % 5000, 7, 0};
	assert_int_equal(begin(store), 1);
	assert_int_equal(comm_store_write_slice(store, &info, NULL, 0, &naming), 0);
	assert_true(query("SELECT length(ends) > 5000 FROM unwritten") == 1);
	assert_true(query("SELECT unwritten_bytes FROM slice") == 7.0 * ENDS);
	comm_store_close(store);
	free(end);
}

static int write_empty(struct comm_store *store, int second)
{
	const struct comm_slice_info info = {.start_ns = START + second * SECOND,
					     .end_ns = START + (second + 1) * SECOND,
					     .daemon_ns = 100,
					     .daemon_idle_ns = 200,
					     .loss = {[COMM_LOSS_LATE] = 2}};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

/* Slices without a sample wait for the next, or for their time to be over; none is lost. */
static void test_empty_slices(void **state)
{
	struct comm_store_config c = config();
	struct comm_edge edge = {.src_thread = 1, .dst_thread = 2, .bytes = 1, .bursts = 1};
	struct comm_store *store;

	(void)state;
	c.empty_ns = 5 * SECOND;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 3; i++)
		assert_int_equal(write_empty(store, i), 1);
	assert_true(query("SELECT count(*) FROM slice") == 0);
	assert_int_equal(write_at(store, 3, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM slice") == 4);
	assert_true(query("SELECT total(n) FROM loss") == 3 * 2 + 2);
	for (int i = 4; i < 8; i++)
		assert_int_equal(write_empty(store, i), 1);
	assert_int_equal(write_empty(store, 8), 0);
	assert_true(query("SELECT count(*) FROM slice") == 9);
	assert_int_equal(write_empty(store, 9), 1);
	assert_int_equal(comm_store_end_run(store, START + 10 * SECOND, "duration"), 0);
	assert_true(query("SELECT count(*) FROM slice WHERE level = 0") == 10);
	assert_true(query("SELECT total(daemon_ns) FROM slice WHERE level = 0") == 9 * 100);
	/* Each in the wide slice, once. */
	assert_true(query("SELECT total(daemon_ns) FROM slice WHERE level = 1") == 9 * 100);
	assert_true(query("SELECT total(daemon_idle_ns) FROM slice WHERE level = 1") == 9 * 200);
	assert_true(query("SELECT count(*) FROM (SELECT DISTINCT start_ns FROM slice WHERE level = "
			  "0)") == 10);
	comm_store_close(store);
}

static int write_budgets(struct comm_store *store, int second, struct comm_budgets budgets)
{
	const struct comm_slice_info info = {.start_ns = START + second * SECOND,
					     .end_ns = START + (second + 1) * SECOND,
					     .budgets = budgets};
	struct comm_naming naming = made_naming(names);

	return comm_store_write_slice(store, &info, NULL, 0, &naming);
}

/* The row of a run whose budget changed has the largest and the least, as soon as a slice of them is stored. */
static void test_budgets(void **state)
{
	const struct comm_run_info run = {.source = "test",
					  .event = "e",
					  .command = "c",
					  .error_model = &comm_est_hazard.error_model,
					  .start_ns = START,
					  .overhead_limit = 0.01,
					  .floor = 0.002};
	struct comm_store_config c = config();
	struct comm_edge edge = {.src_thread = 1, .dst_thread = 2, .bytes = 1, .bursts = 1};
	struct comm_store *store;
	int64_t id;

	(void)state;
	c.empty_ns = 60 * SECOND;
	store = open_store(&c);
	assert_int_equal(comm_store_begin_run(store, &run, &id), 0);
	/* Of one budget, and of slices that tell none. */
	assert_int_equal(write_budgets(store, 0, (struct comm_budgets){0.01, 0.01, 0.002}), 1);
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT overhead_limit = 0.01 AND overhead_least = 0 AND floor = 0.002"
			  " FROM run"));
	/* As in a replay, whose head has no floor. */
	assert_int_equal(write_budgets(store, 2, (struct comm_budgets){0.01, 0.01, 0.003}), 1);
	assert_int_equal(write_at(store, 3, &edge, 1), 0);
	assert_true(query("SELECT overhead_limit = 0.01 AND overhead_least = 0 AND floor = 0.003"
			  " FROM run"));
	/* Of a slice that waits, too. */
	assert_int_equal(write_budgets(store, 4, (struct comm_budgets){0.05, 0.01, 0.004}), 1);
	assert_true(query("SELECT overhead_limit FROM run") == 0.01);
	assert_int_equal(write_at(store, 5, &edge, 1), 0);
	assert_true(query("SELECT overhead_limit = 0.05 AND overhead_least = 0.01 AND floor = 0.004"
			  " FROM run"));
	/* Smaller again: what was in force stays told. */
	assert_int_equal(write_budgets(store, 6, (struct comm_budgets){0.002, 0.002, 0.001}), 1);
	assert_int_equal(comm_store_end_run(store, START + 7 * SECOND, "duration"), 0);
	assert_true(query("SELECT overhead_limit = 0.05 AND overhead_least = 0.002 AND"
			  " floor = 0.004 FROM run"));
	/* Another run begins with its own, and one without a budget gets none. */
	assert_int_equal(comm_store_begin_run(store,
					      &(struct comm_run_info){
						      .error_model = &comm_est_hazard.error_model,
						      .start_ns = START},
					      &id),
			 0);
	assert_int_equal(write_budgets(store, 0, (struct comm_budgets){0.05, 0.05, 0.004}), 1);
	assert_int_equal(comm_store_end_run(store, START + 1 * SECOND, "duration"), 0);
	assert_true(query("SELECT overhead_limit + overhead_least + floor FROM run WHERE id = 2") ==
		    0);
	comm_store_close(store);
}

/* A place in the table of threads is given again: each thread has a row, by its id. */
static void test_thread_of_a_later_round(void **state)
{
	enum { LATER = 1 + 2 * COMM_THREADS_MAX, NEVER = 1 + 3 * COMM_THREADS_MAX };
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[] = {
		{.src_thread = 1, .dst_thread = LATER, .bytes = 1, .bursts = 1},
		{.src_thread = NEVER, .dst_thread = LATER, .bytes = 2, .bursts = 1},
		{.src_thread = LATER, .dst_thread = UINT32_MAX, .bytes = 4, .bursts = 1},
	};

	(void)state;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 1), 0);
	assert_true(query("SELECT count(*) FROM thread WHERE id > 65536") == 0);
	names->thread[1].round = 2;
	names->thread[1].tid = 777;
	assert_int_equal(write_at(store, 1, edges, 3), 0);
	assert_true(query("SELECT tid FROM thread WHERE id = 131073") == 777);
	assert_true(query("SELECT count(*) FROM thread WHERE id = 1 AND tid <> 777") == 1);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 1 AND dst_thread = 131073") ==
		    1);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 0 AND dst_thread = 131073") ==
		    2);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 131073 AND dst_thread = 0") ==
		    4);
	comm_store_close(store);
}

/* A line that reads two fields is two contexts of one site. */
static void test_types(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};

	(void)state;
	assert_int_equal(begin(store), 1);
	names->site[2].type = "struct client";
	names->site[2].field = "querybuf";
	names->site[2].field_offset = 72;
	names->site[3] = names->site[2];
	names->site[3].field = "";
	names->site[3].field_offset = 0;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	comm_store_close(store);
	assert_true(query("SELECT count(*) FROM context c JOIN type t ON t.id = c.type"
			  " WHERE t.name = 'struct client'") == 2);
	assert_true(query("SELECT count(DISTINCT site) FROM context WHERE type > 1") == 1);
	assert_true(query("SELECT offset FROM type WHERE field = 'querybuf'") == 72);
	assert_true(query("SELECT count(*) FROM context WHERE type < 1") == 0);
}

/* Code whose name, and whose caller's, come when its slice is stored already. */
static void test_names_that_come_later(void **state)
{
	static const char same[] = "SELECT count(*) FROM edge JOIN context c ON c.id = src_context"
				   " JOIN site s ON s.id = c.site"
				   " JOIN function f ON f.id = s.function WHERE f.name = 'late'";
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};
	uint32_t own = made_function(names, "[unknown]", "m", 0);
	uint32_t late = made_function(names, "late", "m", 0x40), call = made_call(names, 1, own);
	uint32_t function = names->site[2].function;

	(void)state;
	assert_int_equal(begin(store), 1);
	names->function[own].pending = true;
	names->site[2].function = own;
	names->site[2].pending = 1;
	names->site[3].caller = call;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query(same) == 0);
	/* The same code, by another site that is named at once. */
	names->site[4] = names->site[2];
	names->site[4].pending = 0;
	names->site[4].function = late;
	edge.src_site = 4;
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query(same) == 1);
	names->function[own] = names->function[late];
	names->site[2].function = late;
	names->site[2].pending = 0;
	edge.src_site = 2;
	assert_int_equal(write_at(store, 2, &edge, 1), 0);
	assert_true(query(same) == 3);
	assert_true(query("SELECT count(DISTINCT c.site) FROM edge JOIN context c"
			  " ON c.id = src_context") == 1);
	assert_true(
		query("SELECT count(*) FROM edge JOIN context c ON c.id = dst_context JOIN call k"
		      " ON k.id = c.caller JOIN function f ON f.id = k.function"
		      " WHERE f.name = 'late'") == 3);
	names->site[2].function = function;
	names->site[3].caller = COMM_CALL_UNKNOWN;
	comm_store_close(store);
}

/* An inner region may come first, and one of a damaged file may be its own parent. */
static void test_regions(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_site = 2, .dst_site = 3, .bytes = 1, .bursts = 1};
	uint32_t inner = made_region(names, 3, "inner"), outer = made_region(names, 0, "outer");
	uint32_t round = made_region(names, 4, "round");

	(void)state;
	assert_true(inner == 2 && outer == 3 && round == 4);
	assert_int_equal(begin(store), 1);
	names->site[2].region = inner;
	names->site[3].region = round;
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM edge JOIN context c ON c.id = src_context"
			  " JOIN region r ON r.id = c.region JOIN region p ON p.id = r.parent"
			  " WHERE r.name = 'inner' AND p.name = 'outer' AND p.parent = 0") == 1);
	assert_true(query("SELECT count(*) FROM edge JOIN context c ON c.id = dst_context"
			  " JOIN region r ON r.id = c.region WHERE r.name = 'round'") == 1);
	assert_true(query("SELECT count(*) FROM region") <= 2 + 2 + 128);
	names->site[2].region = names->site[3].region = COMM_CODE_REGION_NONE;
	comm_store_close(store);
}

static void test_runs_say_what_they_are(void **state)
{
	const struct comm_error_model model = {
		.sampled_ends = 1.5, .factor_sd = 0.25, .confusion_sd = 0.125, .doubt_sd = 3};
	struct comm_run_info info = {.estimator = "test", .error_model = &model};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	int64_t run;

	(void)state;
	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	assert_true(query("SELECT sampled_ends = 1.5 AND factor_sd = 0.25 AND"
			  " confusion_sd = 0.125 AND doubt_sd = 3 FROM run") == 1);
	assert_int_equal(comm_store_begin_run(store, &info, &run), 0);
	/* Version 4, variant 10 (RFC 4122), and another one for each run. */
	assert_true(query("SELECT count(DISTINCT uuid) FROM run WHERE uuid LIKE"
			  " '________-____-4___-____-____________'"
			  " AND substr(uuid, 20, 1) IN ('8', '9', 'a', 'b')"
			  " AND uuid NOT GLOB '*[^-0-9a-f]*'") == 2);
	/*
	 * A run without an error model is refused, as its errors are unknown and not
	 * none; the estimator's model is not the exact one.
	 */
	info.error_model = NULL;
	assert_int_equal(comm_store_begin_run(store, &info, &run), -EINVAL);
	assert_false(comm_error_model_is_exact(&comm_est_hazard.error_model));
	comm_store_close(store);
}

/* In thousandths of the bytes, and no more than all of them. */
static void test_doubts(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edge = {.src_thread = 1,
				 .dst_thread = 2,
				 .bytes = 200,
				 .bursts = 1,
				 .doubts = {.thread = 50, .role = 1, .side = 0.04f, .code = 201}};

	(void)state;
	assert_int_equal(begin(store), 1);
	assert_int_equal(write_at(store, 0, &edge, 1), 0);
	edge.doubts = (struct comm_doubts){.thread = NAN, .role = -1, .code = INFINITY};
	assert_int_equal(write_at(store, 1, &edge, 1), 0);
	assert_true(query("SELECT count(*) FROM edge WHERE thread_doubt = 250 AND role_doubt = 5"
			  " AND side_doubt = 0 AND code_doubt = 1000") == 1);
	assert_true(query("SELECT count(*) FROM edge WHERE thread_doubt = 0 AND role_doubt = 0"
			  " AND side_doubt = 0 AND code_doubt = 1000") == 1);
	comm_store_close(store);
}

static void test_survives_nonsense(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_edge edges[] = {
		{.src_thread = 1, .dst_thread = 2, .bytes = NAN, .variance = NAN},
		{.src_thread = 1, .dst_thread = 3, .bytes = INFINITY, .first_bytes = -INFINITY},
		{.src_thread = 1, .dst_thread = 4, .bytes = -5},
		{.src_thread = 4000000000U, .dst_thread = 1, .src_site = 4000000000U, .bytes = 3},
		{.src_thread = 1, .dst_thread = 2, .object = 4000000000U, .bytes = 4},
		/* The same key twice. */
		{.src_thread = 5, .dst_thread = 6, .bytes = 10, .bursts = UINT32_MAX},
		{.src_thread = 5, .dst_thread = 6, .bytes = 20, .bursts = 7},
	};

	(void)state;
	begin(store);
	assert_int_equal(write_at(store, 0, edges, 7), 0);
	assert_true(query("SELECT sum(bytes) FROM edge") == 37);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 0 AND dst_thread = 1") == 3);
	assert_true(query("SELECT bytes FROM edge WHERE src_thread = 5") == 30);
	assert_true(query("SELECT bursts FROM edge WHERE src_thread = 5") == UINT32_MAX);
	assert_int_equal(write_at(store, 1, NULL, 0), 0);
	comm_store_close(store);
}

static void test_kill(void **state)
{
	struct comm_store_config c = config();
	struct comm_report *report;
	struct comm_query q = COMM_QUERY_INIT;
	struct comm_edge edges[500];
	int pipes[2], status, n = 0;
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	if (!child) {
		struct comm_store *store = open_store(&c);

		begin(store);
		for (int i = 0;; i++) {
			fill(edges, 500, 1);
			if (write_at(store, i, edges, 500) || write(pipes[1], "x", 1) != 1)
				_exit(1);
		}
	}
	close(pipes[1]);
	while (n < 100 && read(pipes[0], &byte, 1) == 1)
		n++;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	/* Slices that the killed writer reported as stored must be there, too. */
	while (read(pipes[0], &byte, 1) == 1)
		n++;
	close(pipes[0]);
	report = report_of(&q);
	assert_int_equal(report->run->state, COMM_RUN_UNFINISHED);
	assert_string_equal(report->run->how, "unfinished");
	assert_true(report->run->slices == (unsigned int)n ||
		    report->run->slices == (unsigned int)n + 1);
	assert_int_equal(report->run->end_ns - report->run->start_ns, report->run->slices * SECOND);
	assert_true(report->read_bytes - report->unwritten_bytes ==
		    fill(edges, 500, 1) * report->run->slices);
	comm_report_free(report);
	make_finished(2);
	assert_true(query("SELECT count(*) FROM run") == 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_stores_what_it_is_given),
		TEST(test_many_unwritten_ends),
		TEST(test_empty_slices),
		TEST(test_budgets),
		TEST(test_thread_of_a_later_round),
		TEST(test_types),
		TEST(test_names_that_come_later),
		TEST(test_regions),
		TEST(test_runs_say_what_they_are),
		TEST(test_doubts),
		TEST(test_survives_nonsense),
		TEST(test_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
