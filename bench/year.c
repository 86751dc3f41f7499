// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A year of a service in minutes: what its store takes, what a slice costs to be stored, and how long reports take,
 * as the days go by.  The clock is the slices' own.
 *
 *   year STORE [DAYS [SLICE_S [EDGES [QUOTA_MIB]]]]
 *
 * Default: 365 days of slices of 60 s with 200 edges, --detail 30m, --quota 1G.  The service restarts every 30 days: 13 runs.
 * At night little is done: a sixth of the edges.  The store must not be there, and stays.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "clock.h"
#include "estimator.h"
#include "hash.h"
#include "made_names.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL
#define DAY (86400 * SECOND)

enum {
	THREADS = 16,
	SITES = 400,
	OBJECTS = 100,
	EDGES_MAX = 10000,
	RUN_DAYS = 30,
};

static uint64_t slice_ns, start_ns = SECOND;
static struct comm_edge edges[EDGES_MAX];

static void make_edges(size_t n, uint64_t slice)
{
	for (size_t i = 0; i < n; i++) {
		/* One of twenty is met now and then. */
		uint64_t key = i % 20 ? i : i + slice % 1000 * n;
		uint64_t x = comm_hash_word(key + 1), y = comm_hash_word(x ^ slice);

		edges[i] = (struct comm_edge){
			.src_thread = 1 + (x >> 10) % THREADS,
			.dst_thread = 1 + (x >> 20) % THREADS,
			.src_site = 2 + (x >> 30) % SITES,
			.dst_site = 2 + (x >> 40) % SITES,
			.object = 1 + (x >> 50) % OBJECTS,
			.bursts = 1 + y % 8,
			.bytes = 1e7 / (double)(1 + i % 97) * (1 + (double)(y % 1000) / 1000.),
			.variance = 1e12 / (double)(1 + y % 50) + 0.1,
		};
	}
}

static size_t edges_at(uint64_t time_ns, size_t n)
{
	uint64_t hour = time_ns % DAY / (3600 * SECOND);

	return hour < 6 ? 1 + n / 6 : n;
}

static void ask(const char *path, struct comm_query query)
{
	double start_s = (double)comm_clock_now_ns() / 1e9;
	struct comm_report *report;
	struct comm_reader *reader;
	char *err = NULL;
	int code;

	query.size = sizeof(query);
	if (comm_reader_open(path, &reader, &err)) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	code = comm_reader_report(reader, &query, &report, &err);
	if (code)
		printf(" %8s", "-");
	else
		printf(" %8.3f", (double)comm_clock_now_ns() / 1e9 - start_s);
	if (!code)
		comm_report_free(report);
	free(code ? err : NULL);
	comm_reader_close(reader);
}

static int64_t number(const char *path, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t n = -1;
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(db));
		exit(1);
	}
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

static void tell(const char *path, uint64_t day, uint64_t spent_ns, uint64_t longest_ns,
		 uint64_t slices)
{
	struct stat st = {0};

	stat(path, &st);
	printf("%4llu %8.1f %8lld %7.2f %7.0f", (unsigned long long)day,
	       (double)st.st_size / (1 << 20),
	       (long long)number(path, "SELECT count(*) FROM slice"),
	       (double)spent_ns / 1e6 / (double)slices, (double)longest_ns / 1e6);
	ask(path, (struct comm_query){.by = "role"});
	ask(path, (struct comm_query){.by = "function"});
	ask(path, (struct comm_query){.by = "function", .from_ns = -3600 * (int64_t)SECOND});
	ask(path, (struct comm_query){.by = "function", .from_ns = -7 * (int64_t)DAY});
	putchar('\n');
	fflush(stdout);
}

static struct made_names *names_of_service(void)
{
	struct made_names *names = made_names_create();

	for (int i = 0; i < THREADS; i++)
		made_thread(names, 1, 1 + i, "worker");
	for (int i = 0; i < SITES; i++) {
		made_function(names, "function", "program", 16 * i);
		made_site(names, 2 + i, "file.c", i);
	}
	for (int i = 0; i < OBJECTS; i++)
		made_object(names, COMM_OBJECT_STATIC, "object", "program", 64);
	return names;
}

static int fail(const char *what, char *err)
{
	fprintf(stderr, "year: %s: %s\n", what, err ? err : "failed");
	return 1;
}

int main(int argc, char **argv)
{
	struct comm_store_config config = {
		.row_cap = 5000, .detail_ns = 1800 * SECOND, .rollup_ns = 60 * SECOND};
	struct comm_run_info run = {.source = "made",
				    .command = "service",
				    .estimator = "none",
				    .error_model = &comm_est_hazard.error_model};
	uint64_t days = argc > 2 ? strtoull(argv[2], NULL, 10) : 365, told_day = 0;
	uint64_t spent_ns = 0, longest_ns = 0, slices = 0;
	size_t n = argc > 4 ? strtoul(argv[4], NULL, 10) : 200;
	struct comm_store *store = NULL;
	struct made_names *names = names_of_service();
	struct comm_naming naming = made_naming(names);
	char *err = NULL;
	int64_t id;

	slice_ns = (argc > 3 ? strtoull(argv[3], NULL, 10) : 60) * SECOND;
	config.quota_bytes = (argc > 5 ? strtoull(argv[5], NULL, 10) : 1024) << 20;
	if (argc < 2 || !days || !slice_ns || !n || n > EDGES_MAX) {
		fprintf(stderr, "usage: year STORE [DAYS [SLICE_S [EDGES [QUOTA_MIB]]]]\n");
		return 2;
	}
	config.path = argv[1];
	printf("                   ms a slice         s for a report of the latest run\n"
	       " day      MiB   slices    mean longest     role function, last hour, last week\n");
	for (uint64_t t = 0; t < days * DAY; t += slice_ns) {
		struct comm_slice_info info = {.start_ns = start_ns + t,
					       .end_ns = start_ns + t + slice_ns,
					       .samples = 1000,
					       .bursts = 900,
					       .accesses = 9000,
					       .target_ns = slice_ns};
		uint64_t day = t / DAY, begin_ns;

		if (t % (RUN_DAYS * DAY) < slice_ns) {
			if (store && comm_store_end_run(store, start_ns + t, "restart"))
				return fail("the end of a run", NULL);
			comm_store_close(store);
			if (comm_store_open(&config, &store, &err))
				return fail(config.path, err);
			run.start_ns = info.start_ns;
			run.start_unix_ns = 1700000000 * SECOND + t;
			if (comm_store_begin_run(store, &run, &id))
				return fail("a run", NULL);
		}
		make_edges(edges_at(t, n), t / slice_ns);
		begin_ns = comm_clock_now_ns();
		if (comm_store_write_slice(store, &info, edges, edges_at(t, n), &naming) < 0)
			return fail("a slice", NULL);
		begin_ns = comm_clock_now_ns() - begin_ns;
		spent_ns += begin_ns;
		longest_ns = begin_ns > longest_ns ? begin_ns : longest_ns;
		slices++;
		/* The last slice of a day. */
		if ((t + slice_ns) / DAY != day &&
		    (day + 1 == days || day + 1 >= told_day + 1 + told_day / 2)) {
			told_day = day + 1;
			tell(config.path, told_day, spent_ns, longest_ns, slices);
			spent_ns = longest_ns = slices = 0;
		}
	}
	comm_store_close(store);
	return 0;
}
