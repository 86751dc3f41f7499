// SPDX-License-Identifier: GPL-2.0-or-later
/* Doubts: of whom an estimator's chances leave it unsure, and how much of it an edge of a report errs by. */
#include <math.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "doubt.h"
#include "interval.h"
#include "made_run.h"

static const double DOUBT_SD = 2, EDGE_SD = 0.15, ROLE_EDGE_SD = 0.2, CODE_EDGE_SD = 0.3;

static void of(const struct comm_doubt *doubt, uint32_t thread, uint32_t role, uint32_t site,
	       const struct comm_doubts *wanted)
{
	struct comm_doubts d = comm_doubt_of(
		doubt, &(struct comm_doubt_writer){.thread = thread, .role = role, .site = site});

	assert_true(fabsf(d.thread - wanted->thread) < 1e-6f);
	assert_true(fabsf(d.role - wanted->role) < 1e-6f);
	assert_true(fabsf(d.side - wanted->side) < 1e-6f);
	assert_true(fabsf(d.code - wanted->code) < 1e-6f);
}

/* Thread 9 reads what 1 and 2, of a pool, 3, of unknown role, or itself, of the pool too, have written. */
static void test_writers(void **state)
{
	static const struct comm_doubt_writer writers[] = {
		{1, 7, 100, 0.1},  {1, 7, 101, 0.1},  {2, 7, 100, 0.08},
		{3, 0, 101, 0.04}, {9, 7, 100, 0.08}, {4, 7, 100, 0},
	};
	static struct comm_doubt doubt; /* too large for the stack */

	(void)state;
	for (int times = 0; times < 2; times++) {
		comm_doubt_begin(&doubt, 9);
		for (size_t i = 0; i < sizeof(writers) / sizeof(*writers); i++)
			comm_doubt_add(&doubt, &writers[i]);
		of(&doubt, 1, 7, 100, &(struct comm_doubts){0.5f, 0.3f, 0.2f, 0.35f});
		of(&doubt, 2, 7, 100, &(struct comm_doubts){0.8f, 0.3f, 0.2f, 0.35f});
		of(&doubt, 3, 0, 101, &(struct comm_doubts){0.9f, 0.9f, 0.2f, 0.65f});
		of(&doubt, 9, 7, 100, &(struct comm_doubts){0.8f, 0.8f, 0.8f, 0.35f});
	}
	/* Whom no chance was given has all of them against him; a single writer none. */
	of(&doubt, 5, 8, 102, &(struct comm_doubts){1, 1, 0.2f, 1});
	comm_doubt_begin(&doubt, 9);
	comm_doubt_add(&doubt, &writers[0]);
	of(&doubt, 1, 7, 100, &(struct comm_doubts){0});
	for (size_t i = 0; i < 2 * COMM_DOUBT_WRITERS; i++)
		comm_doubt_add(&doubt, &writers[0]);
	assert_int_equal(doubt.n, COMM_DOUBT_WRITERS);
}

/* A reader keeps what it has read, so another one takes its place. */
static void sql(const char *text)
{
	sqlite3 *db;
	char *err;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	comm_reader_close(reader);
	assert_int_equal(comm_reader_open(path, &reader, &err), 0);
}

/* Of the edge whose writer and reader have these names, by how much its logarithm errs besides sampling. */
static double errs(struct comm_query query, const char *from, const char *to)
{
	struct comm_report *report = ask(query);
	const struct comm_report_edge *e = find(report, from, to);
	double z = comm_interval_z(0.9), all, noise;

	assert_non_null(e);
	all = log(e->bytes / e->low) / z;
	noise = log(e->noise) / z;
	comm_report_free(report);
	return sqrt(all * all - noise * noise - model.factor_sd * model.factor_sd);
}

static void by(struct comm_query query, const char *from, const char *to, double doubt,
	       double edge_sd)
{
	assert_true(fabs(errs(query, from, to) - hypot(DOUBT_SD * doubt, edge_sd)) < 1e-6);
}

static double first_share(struct comm_query query)
{
	struct comm_report *report = ask(query);
	double share = comm_report_edge_at(report, 0)->share_low;

	comm_report_free(report);
	return share;
}

/* What is in doubt depends on what is counted as one. */
static void test_groupings(void **state)
{
	double before = errs((struct comm_query){0}, "alpha", "beta");
	double by_time = first_share((struct comm_query){.by = "time"});

	(void)state;
	sql("UPDATE edge SET thread_doubt = 400, role_doubt = 300, side_doubt = 100,"
	    " code_doubt = 50");
	assert_true(fabs(errs((struct comm_query){0}, "alpha", "beta") - before) < 1e-9);
	sql("UPDATE run SET doubt_sd = 2");
	by((struct comm_query){0}, "alpha", "beta", 0.4, EDGE_SD);
	by((struct comm_query){.first_read = true}, "alpha", "beta", 0.4, EDGE_SD);
	by((struct comm_query){.by = "role"}, "alpha", "beta", 0.3, ROLE_EDGE_SD);
	/* When it was written is another matter. */
	assert_true(fabs(first_share((struct comm_query){.by = "time"}) - by_time) < 1e-9);
	by((struct comm_query){.by = "function"}, "f", "g", 0.05, CODE_EDGE_SD);
	by((struct comm_query){.by = "function", .across = true}, "f", "g", 0.15, CODE_EDGE_SD);
	by((struct comm_query){.objects = 1}, "alpha", "x", 0.4, EDGE_SD);
	/* Of threads' bytes the part that some code has: both. */
	sql("UPDATE edge SET code_doubt = 450");
	by((struct comm_query){.function = "f"}, "alpha", "beta", 0.45, EDGE_SD);
	by((struct comm_query){.by = "thread,function"}, "alpha f", "beta g", 0.45, EDGE_SD);
	by((struct comm_query){.by = "role,function"}, "alpha f", "beta g", 0.45, ROLE_EDGE_SD);
	sql("UPDATE edge SET code_doubt = 50");
	by((struct comm_query){.by = "role,function"}, "alpha f", "beta g", 0.3, ROLE_EDGE_SD);
	/* No more than all is in doubt, whatever a store says. */
	sql("UPDATE edge SET thread_doubt = 5000");
	by((struct comm_query){0}, "alpha", "beta", 1, EDGE_SD);
	sql("UPDATE edge SET thread_doubt = 'much', role_doubt = -7");
	by((struct comm_query){0}, "alpha", "beta", 0, EDGE_SD);
	by((struct comm_query){.by = "role"}, "alpha", "beta", 0, ROLE_EDGE_SD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writers),
		cmocka_unit_test_setup_teardown(test_groupings, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
