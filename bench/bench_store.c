// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Write speed of the store, bytes per row, and the time of a report.
 *
 *   bench_store [SECONDS [EDGES [DIRECTORY [keep]]]]
 *
 * Default: an hour of 1 s slices of 64 threads, each on 4 CPUs, 2000 edges each,
 * in /tmp.  keep: the store stays, as DIRECTORY/hour.db.
 */
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "estimator.h"
#include "hash.h"
#include "made_names.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL

enum {
	BENCH_THREADS = 64,
	BENCH_PLACEMENTS = 4 * BENCH_THREADS,
	BENCH_SITES = 400,
	BENCH_OBJECTS = 40,
	BENCH_EDGES_MAX = 100000
};

static double seconds_of(clockid_t clock)
{
	return (double)comm_clock_ns(clock) / 1e9;
}

/* Most edges recur slice after slice and some are new, as in real programs. */
static void make_edges(struct comm_edge *edges, size_t n, int slice)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t key = i % 10 ? i : i + (uint64_t)slice * n;
		uint64_t x = comm_hash_word(key + 1), y = x ^ ((uint64_t)slice << 7);

		edges[i] = (struct comm_edge){
			.src_thread = 1 + (x >> 10) % BENCH_THREADS,
			.dst_thread = 1 + (x >> 20) % BENCH_THREADS,
			.src_site = 2 + (x >> 30) % BENCH_SITES,
			.dst_site = 2 + (x >> 40) % BENCH_SITES,
			.object = 1 + (x >> 50) % BENCH_OBJECTS,
			.bursts = 1 + y % 8,
			.level = y % 3,
			.bytes = 1e7 / (1 + i % 97) * (1 + y % 1000 / 1000.),
			.variance = 1e12 / (1 + y % 50) + 0.1,
			.first_bytes = 1e6 / (1 + i % 97) * (1 + y % 1000 / 1000.),
			.first_variance = 1e10 / (1 + y % 50) + 0.1,
		};
		/* Three or four ages, as of a reader that is now and then late. */
		for (int age = 0; age < 3 + (int)(x % 2); age++)
			edges[i].ages.bytes[4 + y % 4 + age] = (float)(edges[i].bytes / 5);
	}
}

static void ask(const char *path, const char *what_for, struct comm_query query)
{
	struct comm_report *report;
	struct comm_reader *reader;
	double start = seconds_of(CLOCK_MONOTONIC);
	char *err;

	query.size = sizeof(query);
	if (comm_reader_open(path, &reader, &err) ||
	    comm_reader_report(reader, &query, &report, &err)) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	printf("report %-28s %7.3f s  %zu edges of %zu nodes\n", what_for,
	       seconds_of(CLOCK_MONOTONIC) - start, report->n_edges, report->n_nodes);
	comm_report_free(report);
	comm_reader_close(reader);
}

int main(int argc, char **argv)
{
	struct comm_store_config config = {
		.row_cap = 5000, .detail_ns = 7200 * SECOND, .rollup_ns = 60 * SECOND};
	struct comm_run_info run = {.source = "bench",
				    .command = "bench",
				    .error_model = &comm_est_hazard.error_model,
				    .start_ns = SECOND};
	int seconds = argc > 1 ? atoi(argv[1]) : 3600;
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000;
	double cpu, wall, cpu_max = 0, total_cpu = 0, total_wall = 0;
	static struct comm_edge edges[BENCH_EDGES_MAX];
	struct comm_placement placements[BENCH_PLACEMENTS];
	struct comm_store *store;
	struct comm_naming naming;
	struct made_names *names;
	char path[256], kept[256], *err;
	struct stat st;
	int64_t id;

	if (n > BENCH_EDGES_MAX || seconds < 1)
		return 2;
	snprintf(path, sizeof(path), "%s/bench_store.%d.db", argc > 3 ? argv[3] : "/tmp", getpid());
	names = made_names_create();
	for (int i = 0; i < BENCH_THREADS; i++)
		made_thread(names, 1, 1 + i, "worker");
	for (int i = 0; i < BENCH_SITES; i++) {
		made_function(names, "function", "program", 16 * i);
		made_site(names, 2 + i, "file.c", i);
	}
	for (int i = 0; i < BENCH_OBJECTS; i++)
		made_object(names, COMM_OBJECT_STATIC, "object", "program", 64);
	for (uint32_t i = 0; i < BENCH_PLACEMENTS; i++)
		placements[i] = (struct comm_placement){1 + i / 4, i % 4, 250};
	naming = made_naming(names);
	config.path = path;
	if (comm_store_open(&config, &store, &err)) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	if (comm_store_begin_run(store, &run, &id))
		return 1;
	for (int i = 0; i < seconds; i++) {
		struct comm_slice_info info = {.start_ns = run.start_ns + i * SECOND,
					       .end_ns = run.start_ns + (i + 1) * SECOND,
					       .samples = 64000,
					       .target_ns = 64 * SECOND,
					       .placement = placements,
					       .n_placements = BENCH_PLACEMENTS};

		make_edges(edges, n, i);
		cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		wall = seconds_of(CLOCK_MONOTONIC);
		if (comm_store_write_slice(store, &info, edges, n, &naming))
			return 1;
		cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		total_wall += seconds_of(CLOCK_MONOTONIC) - wall;
		total_cpu += cpu;
		cpu_max = cpu > cpu_max ? cpu : cpu_max;
	}
	ask(path, "run, while it runs", (struct comm_query){0});
	if (comm_store_end_run(store, run.start_ns + seconds * SECOND, "bench"))
		return 1;
	comm_store_close(store);
	stat(path, &st);
	printf("%d slices of %zu edges: %.0f k edges/s of CPU time, %.0f k edges/s of wall time,\n"
	       "%.2f ms a slice, %.0f ms at most, %.1f bytes an edge with its sums\n",
	       seconds, n, seconds * n / total_cpu / 1e3, seconds * n / total_wall / 1e3,
	       total_cpu / seconds * 1e3, cpu_max * 1e3, (double)st.st_size / seconds / n);
	ask(path, "run, by thread", (struct comm_query){0});
	ask(path, "run, by function", (struct comm_query){.by = "function"});
	ask(path, "run, by line", (struct comm_query){.by = "line"});
	ask(path, "run, by object", (struct comm_query){.by = "object"});
	ask(path, "run, by thread and phase", (struct comm_query){.by = "thread,phase"});
	ask(path, "range but 30 s at each end",
	    (struct comm_query){.from_ns = 30 * SECOND, .to_ns = -30 * (int64_t)SECOND});
	ask(path, "last 30 s", (struct comm_query){.from_ns = -30 * (int64_t)SECOND});
	snprintf(kept, sizeof(kept), "%s/hour.db", argc > 4 ? argv[3] : "");
	if (argc <= 4 || rename(path, kept))
		unlink(path);
	free(names);
	return 0;
}
