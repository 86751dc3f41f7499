// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shared cache lines: from bursts to lines (contention.h), through the store's slices, to what
 * a report says of them.
 */
#include <math.h>

#include "contention.h"
#include "event.h"
#include "line_sharing.h"
#include "made_store.h"

enum { A = 1, B, C, SLICES = 16, LONG = 960, R = COMM_ACCESS_READ, W = COMM_ACCESS_WRITE };

static const uint64_t line = (3ull << 48) + 0x1000;

static struct comm_contention *contention;
static struct comm_cachelines found;

static int setup_contention(void **state)
{
	return setup(state) || comm_contention_create(1, &contention);
}

static int teardown_contention(void **state)
{
	comm_contention_destroy(contention);
	comm_cachelines_deinit(&found);
	return teardown(state);
}

/* A burst of one access. */
static void touch(uint32_t thread, uint64_t datum, uint32_t size, uint16_t flags)
{
	const struct comm_access access = {
		.datum = datum,
		.size_bytes = size,
		.object = 1,
		.site = 1 + thread,
		.flags = flags,
		.known = 1,
		.ip_key = 1 + thread,
	};
	const struct comm_access_burst burst = {
		.thread = thread,
		.trigger = COMM_TRIGGER_ACCESSES,
		.period = 1000,
		.n_insns = 1,
		.n = 1,
		.access = &access,
	};

	comm_contention_burst(contention, &burst);
}

static size_t take(void)
{
	comm_cachelines_clear(&found);
	assert_int_equal(comm_contention_take(contention, &found), 0);
	return found.n_lines;
}

static const struct comm_cacheline_use *use_of(uint32_t thread, uint64_t datum, bool write)
{
	for (size_t i = 0; i < found.n_uses; i++)
		if (found.use[i].thread == thread && found.use[i].datum == datum &&
		    found.use[i].write == write)
			return &found.use[i];
	fail_msg("no use");
	return NULL;
}

static void test_turns(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		touch(A, line, 4, W);
		touch(B, line + 4, 4, W);
	}
	assert_int_equal(take(), 1);
	assert_true(found.line[0].datum == line);
	/* The first burst found nobody else there, and of the second the line is tracked. */
	assert_int_equal(found.line[0].bursts, 199);
	assert_int_equal(found.line[0].turns, 199);
	assert_int_equal(found.n_uses, 2);
	assert_int_equal(use_of(A, line, true)->size_bytes, 4);
	assert_int_equal(use_of(A, line, true)->bursts, 99);
	assert_true(use_of(B, line + 4, true)->accesses == 100 * 1000);
	/* What was taken is not taken again. */
	assert_int_equal(take(), 0);
	touch(A, line, 4, R);
	assert_int_equal(take(), 1);
	assert_int_equal(found.line[0].bursts, 1);
}

/* At first an object may have its file's name, as its symbols are still being read. */
static void test_last_object_names(void **state)
{
	struct comm_cacheline_use use = {
		.datum = line, .object = 1, .offset = 0x240, .bursts = 9, .accesses = 9};

	(void)state;
	comm_cachelines_clear(&found);
	assert_int_equal(comm_cachelines_add_use(&found, &use, NULL), 0);
	use.object = 2;
	use.offset = 0;
	use.bursts = use.accesses = 1;
	assert_int_equal(comm_cachelines_add_use(&found, &use, NULL), 0);
	assert_int_equal(found.n_uses, 1);
	assert_int_equal(found.use[0].object, 2);
	assert_int_equal(found.use[0].offset, 0);
	assert_int_equal(found.use[0].bursts, 10);
}

/* What one thread uses, what nobody writes, and what one thread uses after the other. */
static void test_no_turns(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		touch(A, line, 8, W);
		touch(A, line, 8, R);
		touch(B, line + 64, 8, W);
		touch(A + i % 3, line + 128, 8, R);
	}
	for (int i = 0; i < 100; i++)
		touch(C, line + 64, 8, W);
	assert_int_equal(take(), 0);
}

/* A long access uses all lines that it meets, of the first and the last a part. */
static void test_long_access(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		touch(A, line + 32, 128, W);
		touch(B, line + 64, 1, R);
		touch(B, line, 1, W);
		touch(B, line + 191, 1, R);
	}
	assert_int_equal(take(), 3);
	assert_int_equal(use_of(A, line + 32, true)->size_bytes, 32);
	assert_int_equal(use_of(A, line + 64, true)->size_bytes, 64);
	assert_int_equal(use_of(A, line + 128, true)->size_bytes, 32);
	assert_int_equal(use_of(B, line + 191, false)->size_bytes, 1);
	/* A wild size ends. */
	touch(A, line, UINT32_MAX, W);
	touch(A, UINT64_MAX, 8, W);
}

/* However many lines there are, memory is bounded, and the one with the most turns is told. */
static void test_many_lines(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		touch(A + i % 2, line + 64 * (1 + i / 4 % 50000), 8, W);
		if (i % 50 == 0) {
			touch(A, line, 8, W);
			touch(B, line + 8, 8, W);
		}
	}
	assert_int_equal(take(), COMM_CONTENTION_TAKEN);
	assert_true(use_of(B, line + 8, true)->bursts > 3000);
}

/* Many threads in one line: those without a place are (other), with the same bytes. */
static void test_many_threads(void **state)
{
	double sum = 0;
	int other = 0;

	(void)state;
	for (int i = 0; i < 10; i++)
		for (uint32_t thread = 1; thread <= 200; thread++)
			touch(thread, line + 8 * (thread % 8), 8, W);
	assert_int_equal(take(), 1);
	assert_in_range(found.n_uses, 32, COMM_CONTENTION_USES);
	for (size_t i = 0; i < found.n_uses; i++) {
		sum += found.use[i].accesses;
		other += found.use[i].thread == COMM_ID_OTHER;
	}
	assert_true(sum == 1999 * 1000 && other > 0);
}

static double true_share(struct comm_line_sharing_cell *cell, size_t n)
{
	struct comm_line_sharing sharing;

	comm_line_sharing_judge(cell, n, &sharing);
	return sharing.contended > 0 ? sharing.truly / sharing.contended : -1;
}

static void test_judge(void **state)
{
	/* Two halves of a word. */
	struct comm_line_sharing_cell fields[] = {{A, 0x0f, true, 100, 0}, {B, 0xf0, true, 100, 0}};
	struct comm_line_sharing_cell same[] = {{A, 0xff, true, 100, 0}, {B, 0xff, false, 50, 0}};
	struct comm_line_sharing_cell read[] = {{A, 0xff, false, 100, 0}, {B, 0xff, false, 50, 0}};
	/* One who sums up all words once, and who set them to zero. */
	struct comm_line_sharing_cell summed[] = {{A, 0x00ff, true, 1000, 0},
						  {B, 0xff00, true, 1000, 0},
						  {C, 0x00ff, false, 1, 0},
						  {C, 0xff00, false, 1, 0},
						  {C, 0xffff, true, 1, 0}};
	/* An object under a lock: each changes all of it, one of them more often. */
	struct comm_line_sharing_cell moved[] = {{A, 0x00ff, true, 400, 0},
						 {A, 0xff00, true, 400, 0},
						 {B, 0x00ff, true, 100, 0},
						 {B, 0xff00, true, 100, 0}};
	/* Two of those who have no name of their own may be two threads. */
	struct comm_line_sharing_cell other[] = {{COMM_ID_OTHER, 0x0f, true, 100, 0},
						 {COMM_ID_OTHER, 0x1f, true, 100, 0}};
	struct comm_line_sharing sharing;

	(void)state;
	assert_true(true_share(fields, 2) == 0);
	assert_true(true_share(same, 2) == 1);
	assert_true(true_share(read, 2) < 0);
	assert_in_range((int)(1000 * true_share(summed, 5)), 0, 5);
	assert_true(true_share(moved, 4) == 1);
	assert_true(true_share(other, 2) == 1);
	comm_line_sharing_judge(same, 2, &sharing);
	assert_true(sharing.accesses == 150 && sharing.contended == 100);
	assert_true(comm_line_sharing_bytes(0, 64) == UINT64_MAX &&
		    comm_line_sharing_bytes(60, 4) >> 60 == 15 &&
		    comm_line_sharing_bytes(63, 1) == 1ull << 63);
}

/* A run of n slices, from first of which on threads A and B use the line so, so many times each. */
static void make_of(int n, int first, uint64_t turns, uint64_t datum_b, bool b_writes)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	struct comm_naming naming;

	if (n > SLICES)
		c.rollup_ns = 2 * SECOND;
	store = open_store(&c);
	begin(store);
	naming = made_naming(names);
	for (int i = 0; i < n; i++) {
		const struct comm_cacheline one = {line, 2 * turns, turns};
		const struct comm_cacheline_use uses[] = {
			{line, A, 2, 8, true, 1, 0, turns, 1e6},
			{datum_b, B, 3, 8, b_writes, 1, (int64_t)(datum_b - line), turns, 1e6},
		};
		struct comm_cachelines table = {0};
		struct comm_slice_info info = {.start_ns = START + i * SECOND,
					       .end_ns = START + (i + 1) * SECOND,
					       .cachelines = &table,
					       .watched = {.watches = 4}};

		if (i >= first && (first >= 0 || i % 2)) {
			assert_int_equal(comm_cachelines_add(&table, &one, NULL), 0);
			for (int j = 0; j < 2; j++)
				assert_int_equal(comm_cachelines_add_use(&table, &uses[j], NULL),
						 0);
		}
		assert_int_equal(comm_store_write_slice(store, &info, NULL, 0, &naming), 0);
		comm_cachelines_deinit(&table);
	}
	assert_int_equal(comm_store_end_run(store, START + n * SECOND, "duration"), 0);
	comm_store_close(store);
}

static void make(int first, uint64_t turns, uint64_t datum_b, bool b_writes)
{
	make_of(SLICES, first, turns, datum_b, b_writes);
}

static struct comm_report *look_by(bool watched)
{
	struct comm_query q = COMM_QUERY_INIT;

	q.cachelines = 1;
	q.fresh = watched;
	return report_of(&q);
}

static struct comm_report *look(void)
{
	return look_by(false);
}

static void test_false(void **state)
{
	const struct comm_report_cacheline *one;
	const struct comm_report_cacheline_use *use;
	struct comm_report *report;

	(void)state;
	make(0, 5, line + 8, true);
	report = look();
	assert_int_equal(report->n_cachelines, 1);
	one = comm_report_cacheline_at(report, 0);
	assert_string_equal(one->verdict, "false");
	assert_true(one->stated && one->bursts == 10 * SLICES && one->turns == 5 * SLICES);
	assert_true(one->accesses == 2e6 * SLICES && one->contended == one->accesses);
	/* What was seen, and the most that there may be. */
	assert_true(one->contended_low == 5 * SLICES && one->contended < one->contended_high);
	assert_true(one->true_share == 0 && one->true_low == 0 && one->true_high > 0);
	assert_string_equal(one->object->name, "object");
	assert_true(one->offset == 0 && one->n_uses == 2 && report->n_cacheline_uses == 2);
	use = comm_report_cacheline_use_at(report, one->first_use + 1);
	assert_true(use->byte == 8 && use->size_bytes == 8 && use->writes && use->offset == 8);
	assert_int_equal(use->thread->tid, 11);
	assert_string_equal(use->place->source, "file.c");
	assert_int_equal(use->place->kind, COMM_NODE_LINE);
	assert_null(comm_report_cacheline_at(report, 1));
	assert_null(comm_report_cacheline_use_at(report, 2));
	comm_report_free(report);
}

static bool is(const char *verdict)
{
	struct comm_report *report = look();
	const struct comm_report_cacheline *one = comm_report_cacheline_at(report, 0);
	bool same =
		!strcmp(one->verdict, verdict) && one->stated == (strcmp(verdict, "unclear") != 0);

	if (!same)
		print_error("%s, %d\n", one->verdict, one->stated);
	comm_report_free(report);
	return same;
}

/* Lines are of bursts: a report by watchpoints says the same of them. */
static void test_watched(void **state)
{
	struct comm_report *report[2];
	const struct comm_report_cacheline *one[2];

	(void)state;
	make(0, 5, line + 8, true);
	for (int i = 0; i < 2; i++) {
		report[i] = look_by(i);
		assert_true(report[i]->fresh == i);
		one[i] = comm_report_cacheline_at(report[i], 0);
		assert_non_null(one[i]);
	}
	assert_true(one[0]->contended_low == one[1]->contended_low &&
		    one[0]->contended_high == one[1]->contended_high);
	assert_int_equal(one[0]->stated, one[1]->stated);
	comm_report_free(report[0]);
	comm_report_free(report[1]);
}

static void test_true(void **state)
{
	(void)state;
	make(0, 5, line, false);
	assert_true(is("true"));
}

/* The same bytes of a heap may be a buffer that one thread gets after the other. */
static void test_handed_over(void **state)
{
	(void)state;
	make(0, 5, line, false);
	sql("UPDATE object SET kind = 3");
	assert_true(is("unclear"));
	make(0, 5, line + 8, true);
	sql("UPDATE object SET kind = 3");
	assert_true(is("false"));
}

/* Too few bursts, and a line that is met in one half of the run alone. */
static void test_rare(void **state)
{
	(void)state;
	make(SLICES - 1, 2, line + 8, true);
	assert_true(is("unclear"));
}

static void test_one_half(void **state)
{
	(void)state;
	make(-1, 50, line + 8, true);
	assert_true(is("unclear"));
}

/* Edges make do with the strands of wide slices; the halves of a line's run are narrower slices. */
static void test_long(void **state)
{
	struct comm_report *report;

	(void)state;
	make_of(LONG, 0, 5, line + 8, true);
	assert_true(is("false"));
	report = look();
	assert_true(comm_report_cacheline_at(report, 0)->bursts == 10 * LONG);
	comm_report_free(report);
	make_of(LONG, LONG - 100, 50, line + 8, true);
	assert_true(is("unclear"));
}

/* Nothing of what no daemon writes comes into a report. */
static void test_hostile(void **state)
{
	static const char *const rows[] = {
		"INSERT INTO cacheline_use SELECT 1, 1, datum, 1, 1, 65, 1, 1, 0, 9, 1e9 FROM"
		" cacheline WHERE slice = 1",
		"INSERT INTO cacheline_use SELECT 1, 1, datum + 60, 1, 1, 8, 1, 1, 0, 9, 1e9 FROM"
		" cacheline WHERE slice = 1",
		"INSERT INTO cacheline_use SELECT 1, 1, datum, 1, 1, -8, 1, 1, 0, 9, 1e9 FROM"
		" cacheline WHERE slice = 1",
		"INSERT INTO cacheline_use SELECT 1, 1, datum, 9, 9, 8, 1, 1, 0, -9, 1e9 FROM"
		" cacheline WHERE slice = 1",
		"INSERT INTO cacheline_use SELECT 1, 1, datum, 9, 8, 8, 1, 1, 0, 9, 9e999 FROM"
		" cacheline WHERE slice = 1",
		"INSERT INTO cacheline_use SELECT 1, 1, datum, 9, 7, 8, 1, 1, -5, 9, 1e9 FROM"
		" cacheline WHERE slice = 1",
		/* Uses without their line. */
		"INSERT INTO cacheline_use VALUES (1, 1, 64, 1, 1, 8, 1, 1, 0, 9, 1e9)",
		"INSERT INTO cacheline_use VALUES (1, 1, -64, 1, 1, 8, 1, 1, 0, 9, 1e9)",
		"INSERT INTO cacheline VALUES (1, 1, 65, 9, 9)",
		"INSERT INTO cacheline VALUES (1, 1, 128, -9, 9)",
		"INSERT INTO cacheline VALUES (1, 1, 192, 9, 10)",
		"INSERT INTO cacheline VALUES (1, 1, 256, 9223372036854775807, 9)",
	};
	struct comm_report *report;

	(void)state;
	make(0, 5, line + 8, true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		sql(rows[i]);
	report = look();
	assert_int_equal(report->n_cachelines, 1);
	assert_int_equal(report->n_cacheline_uses, 2);
	assert_string_equal(comm_report_cacheline_at(report, 0)->verdict, "false");
	comm_report_free(report);
	/* Names of what is not there, and numbers that are none. */
	sql("UPDATE cacheline_use SET thread = 4294967295, context = -1, object = 'x'"
	    " WHERE thread = 1");
	report = look();
	assert_int_equal(report->n_cachelines, 1);
	comm_report_free(report);
}

/* Of too many uses those of the lines with the most turns stay, whole. */
static void test_fold(void **state)
{
	uint64_t dropped = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		const struct comm_cacheline one = {line + 64 * i, 200, i};

		assert_int_equal(comm_cachelines_add(&found, &one, NULL), 0);
		for (uint64_t j = 0; j < 4; j++) {
			const struct comm_cacheline_use use = {
				one.datum + 8 * j, A, 1, 8, true, 1, 0, 1, 1};

			assert_int_equal(comm_cachelines_add_use(&found, &use, NULL), 0);
			assert_int_equal(comm_cachelines_add_use(&found, &use, NULL), 0);
		}
	}
	assert_int_equal(found.n_uses, 400);
	assert_int_equal(comm_cachelines_fold(&found, 42, &dropped), 0);
	assert_true(found.n_lines == 10 && found.n_uses == 40 && dropped == 360);
	comm_cachelines_sort(&found);
	assert_true(found.line[0].datum == line + 64 * 90 && found.use[0].accesses == 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_contention, teardown_contention)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_turns),      TEST(test_last_object_names),
		TEST(test_no_turns),   TEST(test_long_access),
		TEST(test_many_lines), TEST(test_many_threads),
		TEST(test_judge),      TEST(test_false),
		TEST(test_true),       TEST(test_rare),
		TEST(test_one_half),   TEST(test_long),
		TEST(test_hostile),    TEST(test_fold),
		TEST(test_watched),    TEST(test_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
