// SPDX-License-Identifier: GPL-2.0-or-later
/* What commctl ship makes of a store: which slices, in which rows, and how texts are written. */
#include "batch.h"
#include "made_store.h"
#include "pause.h"
#include "reader.h"

static char *text_of(const char *text, size_t most)
{
	static struct ship_tsv tsv;

	ship_tsv_clear(&tsv);
	ship_tsv_text(&tsv, text, most);
	ship_tsv_text(&tsv, "", most);
	assert_int_equal(tsv.err, 0);
	assert_int_equal(tsv.bytes[tsv.n - 1], '\t');
	tsv.bytes[tsv.n - 1] = '\0';
	return tsv.bytes;
}

static void test_texts(void **state)
{
	char *text;

	(void)state;
	assert_string_equal(text_of("std::map<int, a::b>", 100), "std::map<int, a::b>");
	assert_string_equal(text_of("", 100), "");
	assert_string_equal(text_of("a\tb\nc\\d", 100), "a\\\\x09b\\\\x0ac\\\\d");
	assert_string_equal(text_of("\xff\xc3\xa9\xc3", 100), "\\\\xff\xc3\xa9\\\\xc3");
	/* What fits stays; of what does not, two that differ in their ends stay two. */
	assert_string_equal(text_of("0123456789012345678901234", 25), "0123456789012345678901234");
	text = strdup(text_of("01234567890123456789012345", 25));
	assert_int_equal(strlen(text), 25);
	assert_memory_equal(text, "01234567~", 9);
	assert_string_not_equal(text, text_of("01234567890123456789012346", 25));
	free(text);
	/* Not through a character. */
	text = text_of("0123456\xc3\xa9 0123456789012345", 25);
	assert_memory_equal(text, "0123456~", 8);
}

static void test_long_texts(void **state)
{
	char text[5000];

	(void)state;
	memset(text, 0xff, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	/* Each byte became four, and a backslash two. */
	assert_true(strlen(text_of(text, SHIP_NAME_BYTES)) <= SHIP_NAME_BYTES * 5 / 4);
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(strlen(text_of(text, SHIP_NAME_BYTES)), SHIP_NAME_BYTES);
	/* A limit beyond that of all names is that of all names. */
	assert_int_equal(strlen(text_of(text, 4000)), SHIP_NAME_BYTES);
}

static void test_numbers(void **state)
{
	struct ship_tsv tsv = {0};

	(void)state;
	ship_tsv_int(&tsv, INT64_MIN);
	ship_tsv_real(&tsv, 0.1);
	ship_tsv_real(&tsv, 1. / 0.);
	ship_tsv_real(&tsv, 0. / 0.);
	ship_tsv_end_row(&tsv);
	ship_tsv_int(&tsv, 7);
	ship_tsv_end_row(&tsv);
	assert_int_equal(tsv.err, 0);
	assert_int_equal(tsv.n, strlen("-9223372036854775808\t0.10000000000000001\t0\t0\n7\n"));
	assert_memory_equal(tsv.bytes, "-9223372036854775808\t0.10000000000000001\t0\t0\n7\n",
			    tsv.n);
	ship_tsv_deinit(&tsv);
}

static void test_pauses(void **state)
{
	uint64_t least = UINT64_MAX, most = 0;

	(void)state;
	for (uint64_t random = 0; random < 2000; random++) {
		uint64_t ms = ship_pause_ms(1, random);

		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
		assert_in_range(ship_pause_ms(4, random), 6000, 10000);
	}
	assert_int_equal(least, 750);
	assert_int_equal(most, 1250);
	assert_in_range(ship_pause_ms(UINT32_MAX, UINT64_MAX), 225000, 375000);
}

static void test_uuids(void **state)
{
	(void)state;
	assert_true(ship_is_uuid("db5745dd-d060-4b8d-ad29-6032a02b31a5"));
	assert_false(ship_is_uuid(""));
	assert_false(ship_is_uuid("db5745dd-d060-4b8d-ad29-6032a02b31a"));
	assert_false(ship_is_uuid("db5745dd-d060-4b8d-ad29-6032a02b31a5x"));
	assert_false(ship_is_uuid("DB5745dd-d060-4b8d-ad29-6032a02b31a5"));
	assert_false(ship_is_uuid("../45dd-d060-4b8d-ad29-6032a02b31a5/"));
}

static void called(const char *command, const char *label, const char *wanted)
{
	struct comm_run run = {.command = command, .label = label};
	char *service = ship_service_of(&run);

	assert_string_equal(service, wanted);
	free(service);
}

static void test_services(void **state)
{
	(void)state;
	called("redis-server *:6379 (pid 4242)", "", "redis-server *:6379");
	called("redis-server *:6379 (pid 4242)", "web", "web");
	called("cgroup /system.slice/redis-server.service", "", "redis-server.service");
	called("cgroup /", "", "cgroup /");
	called("./prog --path /a/b", "", "./prog --path /a/b");
}

/* A column of the batch's rows of a kind, as whole numbers summed up; *ret_rows: how many. */
static double sum_of(const struct ship_batch *batch, const char *kind, int column, int *ret_rows)
{
	double sum = 0;

	*ret_rows = 0;
	for (const char *at = batch->rows.bytes, *end = at + batch->rows.n; at < end;
	     at = strchr(at, '\n') + 1) {
		const char *field = at;

		if (strncmp(at, kind, strlen(kind)) != 0)
			continue;
		for (int i = 0; i < column; i++)
			field = strchr(field, '\t') + 1;
		sum += strtod(field, NULL);
		++*ret_rows;
	}
	return sum;
}

enum { BYTES = 22, VARIANCE = 23, SAMPLES = 26, UNSEEN = 28, TARGET = 29 };

static struct comm_reader *reader;

static int next_behind(uint64_t mark_ns, uint64_t from_ns, enum comm_run_state as,
		       struct ship_batch *batch)
{
	struct comm_runs *runs;
	char *err;
	int code;

	if (!reader)
		assert_int_equal(comm_reader_open(path, &reader, &err), 0);
	assert_int_equal(comm_reader_runs(reader, &runs, &err), 0);
	runs->run[0].state = as;
	code = ship_batch_next(reader, &runs->run[0], mark_ns, from_ns, batch, &err);
	if (code < 0)
		assert_non_null(err);
	free(err);
	comm_runs_free(runs);
	/* Whoever waits for a sink holds up nobody. */
	assert_int_equal(sqlite3_get_autocommit(reader->db), 1);
	return code;
}

static int next(uint64_t from_ns, enum comm_run_state as, struct ship_batch *batch)
{
	return next_behind(from_ns, from_ns, as, batch);
}

static int end(void **state)
{
	comm_reader_close(reader);
	reader = NULL;
	return teardown(state);
}

static void test_minutes(void **state)
{
	struct ship_batch batch = {0};
	double crossing = 0;
	uint64_t from_ns = 0;
	int rows, n = 0;

	(void)state;
	make_finished(150);
	while (!next(from_ns, COMM_RUN_FINISHED, &batch)) {
		assert_int_equal(batch.start_ns, n * 60 * SECOND);
		assert_int_equal(batch.length_ns, (n < 2 ? 60 : 30) * SECOND);
		assert_int_equal(batch.missing_ns, 0);
		assert_int_equal(batch.unix_ns, batch.start_ns + 1);
		crossing += sum_of(&batch, "flow", BYTES, &rows);
		assert_int_equal(rows, batch.flows);
		assert_true(sum_of(&batch, "slice", SAMPLES, &rows) == (n < 2 ? 600 : 300));
		assert_int_equal(rows, 1);
		assert_true(sum_of(&batch, "slice", UNSEEN, &rows) == 7 * (n < 2 ? 60 : 30));
		assert_true(sum_of(&batch, "slice", TARGET, &rows) ==
			    (double)SECOND * (n < 2 ? 60 : 30));
		assert_true(sum_of(&batch, "loss\t", SAMPLES, &rows) >= 2 * (n < 2 ? 60 : 30));
		from_ns = batch.start_ns + batch.length_ns;
		n++;
	}
	assert_int_equal(n, 3);
	/* What a thread wrote itself is not of a fleet. */
	assert_true(crossing > 0 &&
		    crossing ==
			    query("SELECT sum(edge.bytes) FROM edge JOIN slice ON slice.id = slice"
				  " WHERE slice.level = 1 AND src_thread <> dst_thread"));
	ship_batch_deinit(&batch);
}

/* A commd that writes may still sum what has no minute yet; one that is gone does not. */
static void test_settled(void **state)
{
	struct ship_batch batch = {0};

	(void)state;
	make_finished(400);
	sql("DELETE FROM slice WHERE level > 1 OR (level = 1 AND start_ns >= 1180000000000)");
	assert_int_equal(next(0, COMM_RUN_RUNNING, &batch), 0);
	assert_int_equal(batch.length_ns, 60 * SECOND);
	/* Long ago: nothing will sum it. */
	assert_int_equal(next(180 * SECOND, COMM_RUN_RUNNING, &batch), 0);
	assert_int_equal(batch.length_ns, SECOND);
	assert_int_equal(next(219 * SECOND, COMM_RUN_RUNNING, &batch), 0);
	assert_int_equal(next(220 * SECOND, COMM_RUN_RUNNING, &batch), 1);
	assert_int_equal(next(220 * SECOND, COMM_RUN_UNFINISHED, &batch), 0);
	assert_int_equal(next(400 * SECOND, COMM_RUN_UNFINISHED, &batch), 1);
	ship_batch_deinit(&batch);
}

/* Behind a part that was sent its minute does not come any more, and the other parts do. */
static void test_begun_minute(void **state)
{
	struct ship_batch batch = {0};
	uint64_t from_ns = 61 * SECOND;
	int n = 0;

	(void)state;
	make_finished(180);
	while (!next(from_ns, COMM_RUN_FINISHED, &batch)) {
		assert_int_equal(batch.start_ns, from_ns);
		assert_int_equal(batch.length_ns, (n < 59 ? 1 : 60) * SECOND);
		from_ns = batch.start_ns + batch.length_ns;
		n++;
	}
	assert_int_equal(n, 60);
	assert_int_equal(from_ns, 180 * SECOND);
	ship_batch_deinit(&batch);
}

static void test_missing(void **state)
{
	struct ship_batch batch = {0};

	(void)state;
	make_finished(240);
	sql("DELETE FROM slice WHERE level < 2 AND start_ns >= 1060000000000"
	    " AND start_ns < 1120000000000");
	assert_int_equal(next(60 * SECOND, COMM_RUN_FINISHED, &batch), 0);
	assert_int_equal(batch.start_ns, 120 * SECOND);
	assert_int_equal(batch.missing_ns, 60 * SECOND);
	/* What was passed over is missing, too. */
	assert_int_equal(next_behind(0, 60 * SECOND, COMM_RUN_FINISHED, &batch), 0);
	assert_int_equal(batch.start_ns, 120 * SECOND);
	assert_int_equal(batch.missing_ns, 120 * SECOND);
	/* Where nothing narrow is left, the wide one comes. */
	sql("DELETE FROM slice WHERE level < 2");
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), 0);
	assert_int_equal(batch.length_ns, 240 * SECOND);
	assert_int_equal(next(60 * SECOND, COMM_RUN_FINISHED, &batch), 1);
	ship_batch_deinit(&batch);
}

static void test_sums(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct ship_batch batch = {0};
	struct comm_edge edge[5];
	uint32_t stack;
	int rows;

	(void)state;
	/* Threads 1 and 2, a process's first and one of its pool; 3 of the pool, too. */
	stack = made_object(names, COMM_OBJECT_STACK, "stack of worker/12", "", 8192);
	names->object[stack].thread_tid = 12;
	for (int i = 0; i < 5; i++)
		edge[i] = (struct comm_edge){.src_thread = 1,
					     .dst_thread = 2 + (uint32_t)i % 2,
					     .src_site = 2,
					     .dst_site = 3 + (uint32_t)i / 2,
					     .object = i == 4 ? stack : 1,
					     .bursts = 1,
					     .bytes = 10,
					     .variance = 100,
					     .drawn_variance = 1};
	begin(store);
	assert_int_equal(write_at(store, 0, edge, 5), 0);
	assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	comm_store_close(store);
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), 0);
	/* Of two threads of the pool one flow, at each function. */
	assert_true(sum_of(&batch, "flow", BYTES, &rows) == 50);
	assert_int_equal(rows, 3);
	assert_true(sum_of(&batch, "flow", VARIANCE, &rows) == 505);
	assert_true(sum_of(&batch, "flow", SAMPLES, &rows) == 5);
	assert_non_null(strstr(batch.rows.bytes, "\tworker (main)\tfunction\tprogram\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tworker\tfunction\tprogram\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tstack\tstack of worker\t"));
	assert_null(strstr(batch.rows.bytes, "stack of worker/12"));
	ship_batch_deinit(&batch);
}

/* What windows and the census say: others apart from oneself, nobody's own stack, and what no window knows. */
static void test_survey(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct ship_batch batch = {0};
	uint32_t stack;
	int rows;

	(void)state;
	stack = made_object(names, COMM_OBJECT_STACK, "stack of worker/12", "", 8192);
	names->object[stack].thread_tid = names->thread[2].tid;
	const struct comm_edge edge[] = {
		{.src_thread = 1,
		 .dst_thread = 2,
		 .src_site = 2,
		 .dst_site = 3,
		 .object = 1,
		 .watched_bytes = 10,
		 .watched_variance = 25},
		{.src_thread = 2,
		 .dst_thread = 2,
		 .src_site = 2,
		 .dst_site = 3,
		 .object = 1,
		 .watched_bytes = 20},
		{.src_thread = 2,
		 .dst_thread = 2,
		 .src_site = 2,
		 .dst_site = 3,
		 .object = stack,
		 .watched_bytes = 40},
		/* Threads that were too many: whether it is one nobody knows. */
		{.watched_bytes = 80},
	};

	begin(store);
	assert_int_equal(write_at(store, 0, edge, 4), 0);
	assert_int_equal(comm_store_end_run(store, START + SECOND, "duration"), 0);
	comm_store_close(store);
	/* Of classes that no store of ours has, too, and what nobody reads. */
	sql("INSERT INTO census SELECT 1, (SELECT min(id) FROM slice), 2, (SELECT max(id) FROM "
	    "context), 1, value,"
	    " 3, 30, 300 FROM json_each('[-9223372036854775808, -1, 0, 1, 9, 10, 11, 19, 20, "
	    "4294967296]')");
	sql("INSERT INTO census SELECT run, slice, thread, context, object, 5, 0, 0, 0 FROM census "
	    "LIMIT 1");
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), 0);
	assert_int_equal(batch.flows, 0);
	assert_true(sum_of(&batch, "fresh", BYTES, &rows) == 10 + 20 + 7 + 80);
	assert_int_equal(rows, 3);
	assert_true(sum_of(&batch, "fresh", VARIANCE, &rows) == 25);
	/* 10^2 / 25, one, and both of the slice. */
	assert_true(sum_of(&batch, "fresh", SAMPLES, &rows) == 4 + 1 + 2);
	assert_non_null(strstr(batch.rows.bytes, "\tacross\t"));
	assert_non_null(strstr(batch.rows.bytes, "\town\t"));
	assert_non_null(strstr(batch.rows.bytes, "\t87\t0\t0\t0\t2\tunknown\t"));
	assert_true(sum_of(&batch, "census", BYTES, &rows) == 6 * 30);
	assert_int_equal(rows, 6);
	assert_true(sum_of(&batch, "census", VARIANCE, &rows) == 6 * 300);
	assert_true(sum_of(&batch, "census", SAMPLES, &rows) == 6 * 3);
	assert_non_null(strstr(batch.rows.bytes, "\twaits\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tchanged 1\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tchanged 10000\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tunchanged 1\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tunchanged 10000\t"));
	assert_non_null(strstr(batch.rows.bytes, "\tunchanged 0\t"));
	ship_batch_deinit(&batch);
}

static void test_hostile(void **state)
{
	struct ship_batch batch = {0};

	(void)state;
	make_finished(2);
	/* What lasts no time is no batch. */
	sql("UPDATE slice SET end_ns = start_ns");
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), 1);
	sql("UPDATE slice SET end_ns = start_ns + 1");
	sql("UPDATE run SET start_unix_ns = 9223372036854775807");
	assert_int_equal(next(SECOND, COMM_RUN_FINISHED, &batch), -EINVAL);
	sql("UPDATE run SET start_unix_ns = -9223372036854775807");
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), -EINVAL);
	assert_int_equal(next(INT64_MAX, COMM_RUN_FINISHED, &batch), -EINVAL);
	sql("UPDATE run SET start_unix_ns = 0, uuid = '/etc/passwd'");
	assert_int_equal(next(0, COMM_RUN_FINISHED, &batch), -EINVAL);
	ship_batch_deinit(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_uuids),
		cmocka_unit_test(test_services),
		cmocka_unit_test_setup_teardown(test_minutes, setup, end),
		cmocka_unit_test_setup_teardown(test_settled, setup, end),
		cmocka_unit_test_setup_teardown(test_begun_minute, setup, end),
		cmocka_unit_test_setup_teardown(test_missing, setup, end),
		cmocka_unit_test_setup_teardown(test_sums, setup, end),
		cmocka_unit_test_setup_teardown(test_survey, setup, end),
		cmocka_unit_test_setup_teardown(test_hostile, setup, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
