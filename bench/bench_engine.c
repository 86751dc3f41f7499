// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The throughput of one core through merge, decode, estimate and store:
 *   bench_engine RECORDING DIRECTORY
 * The recording's events are fed again and again, moved on in time; then made-up
 * single accesses of 64 threads.  Medians of five rounds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "engine.h"
#include "merge.h"
#include "replay.h"

enum { ROUNDS = 5, BATCH = 2000, SINGLES = 2000000, THREADS = 64 };

static double now_s(void)
{
	return (double)comm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static double peak_mb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value)
{
	qsort(value, ROUNDS, sizeof(*value), compare);
	return value[ROUNDS / 2];
}

static void die(const char *what, int err)
{
	fprintf(stderr, "bench_engine: %s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

static struct comm_store *open_store(const char *dir)
{
	struct comm_store_config config = {.row_cap = 4000,
					   .detail_ns = 1800ull * 1000000000,
					   .rollup_ns = 60ull * 1000000000};
	struct comm_store *store;
	char path[4096], *why = NULL;
	int err;

	snprintf(path, sizeof(path), "%s/bench_engine.db", dir);
	unlink(path);
	config.path = path;
	err = comm_store_open(&config, &store, &why);
	if (err)
		die(why ? why : path, err);
	return store;
}

static struct comm_engine *start(const struct comm_inspect *inspect, struct comm_store *store,
				 uint64_t start_ns)
{
	const struct comm_run_info info = {.source = "bench",
					   .event = "none",
					   .estimator = comm_estimator()->name,
					   .error_model = &comm_estimator()->error_model,
					   .command = "bench",
					   .host = "",
					   .start_ns = start_ns,
					   .granularity_bytes = 8,
					   .notes = ""};
	const struct comm_engine_config config = {
		.inspect = inspect,
		.store = store,
		.estimator = comm_estimator(),
		.est = {.granularity_bytes = 8, .cycles_per_ns = 3, .memory_bytes = 64 << 20},
		.slice_ns = 1000000000,
		.start_ns = start_ns,
	};
	struct comm_engine *engine;
	int64_t run;
	int err = comm_store_begin_run(store, &info, &run);

	if (!err)
		err = comm_engine_create(&config, &engine);
	if (err)
		die("start", err);
	return engine;
}

/* Loads the events of a recording into memory, with copies of their samples. */
static struct comm_event *load(struct comm_replay *replay, size_t *ret_n)
{
	struct comm_event *events = NULL, event;
	size_t n = 0, capacity = 0;
	int got;

	while ((got = comm_replay_next(replay, &event)) == 1) {
		if (n == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			events = realloc(events, capacity * sizeof(*events));
			if (!events)
				die("load", ENOMEM);
		}
		events[n] = event;
		if (event.kind == COMM_EV_SAMPLE) {
			struct comm_sample *copy = malloc(sizeof(*copy));

			if (!copy)
				die("load", ENOMEM);
			memcpy(copy, event.sample, comm_sample_bytes(event.sample));
			events[n].sample = copy;
		}
		n++;
	}
	if (got < 0 || !n)
		die("recording", got ? got : ENODATA);
	*ret_n = n;
	return events;
}

static void bench_bursts(const char *recording, const char *dir)
{
	struct comm_engine_stats stats = {0};
	struct comm_store *store = open_store(dir);
	struct comm_replay *replay;
	struct comm_engine *engine;
	struct comm_event *events;
	struct comm_merge *merge;
	struct comm_inspect inspect;
	double rate[ROUNDS];
	uint64_t shift_ns = 0, length_ns;
	size_t n;
	int err = comm_replay_open(recording, &replay);

	if (err)
		die(recording, err);
	events = load(replay, &n);
	length_ns = events[n - 1].time_ns - events[0].time_ns + 1000000;
	comm_replay_inspect(replay, &inspect);
	engine = start(&inspect, store, events[0].time_ns);
	err = comm_merge_create(comm_engine_event, engine, &merge);
	if (err)
		die("merge", err);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t bursts = stats.bursts;
		double begin = now_s();

		/* Until 20,000 more bursts have gone through. */
		do {
			for (size_t i = 0; i < n; i++) {
				struct comm_event event = events[i];

				event.time_ns += shift_ns;
				comm_merge_push(merge, &event);
				if (i % BATCH == BATCH - 1)
					comm_merge_cut(merge, event.time_ns);
			}
			shift_ns += length_ns;
			comm_engine_stats(engine, &stats);
		} while (stats.bursts - bursts < 20000);
		rate[round] = (double)(stats.bursts - bursts) / (now_s() - begin);
	}
	printf("%-34s median %.0f bursts/s, %.1f accesses each, peak memory %.0f MB\n",
	       "replay through the whole chain", median(rate),
	       (double)stats.accesses / (double)stats.bursts, peak_mb());
	comm_merge_destroy(merge);
	comm_engine_destroy(engine);
	comm_store_close(store);
}

/* A process made of 64 MB of data and a page of code. */
static struct comm_mapping made_up[2] = {
	{.start = 0x400000,
	 .end = 0x500000,
	 .readable = true,
	 .executable = true,
	 .path = "/made/up",
	 .dev = 1,
	 .ino = 1,
	 .file = 1},
	{.start = 0x10000000,
	 .end = 0x14000000,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
};

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx, (void)tgid;
	*ret = made_up;
	*ret_n = 2;
	return 0;
}

static ssize_t fake_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	(void)ctx, (void)tgid, (void)m, (void)addr;
	memset(buf, 0x90, len_bytes);
	return (ssize_t)len_bytes;
}

static int fake_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_code){.function = "f", .module = "made", .build_id = ""};
	ret->start = ip & ~0xfffull;
	ret->end = ret->start + 4096;
	return 0;
}

static int fake_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	(void)ctx, (void)tgid, (void)m, (void)addr, (void)ret;
	return -ENOENT;
}

static int fake_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid;
	snprintf(name, 16, "t%u", tid);
	return 0;
}

static const struct comm_inspect_ops fake_ops = {.maps = fake_maps,
						 .text = fake_text,
						 .code = fake_code,
						 .data = fake_data,
						 .thread_name = fake_name};

static void bench_singles(const char *dir)
{
	const struct comm_inspect inspect = {&fake_ops, NULL};
	struct comm_store *store = open_store(dir);
	struct comm_engine *engine = start(&inspect, store, 1000000000);
	struct comm_event event = {.time_ns = 1000000000, .kind = COMM_EV_RATE, .tgid = 1};
	struct comm_merge *merge;
	double rate[ROUNDS];
	uint64_t random = 88172645463325252ull;
	int err = comm_merge_create(comm_engine_event, engine, &merge);

	if (err)
		die("merge", err);
	event.trigger = COMM_TRIGGER_ACCESSES;
	event.period = 10007;
	comm_merge_push(merge, &event);
	event.kind = COMM_EV_ACCESS;
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_s();

		for (int i = 0; i < SINGLES; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			event.time_ns += 500; /* two million a second */
			event.tid = 100 + random % THREADS;
			event.access.addr = 0x10000000 + (random >> 8) % 0x400000 * 8;
			event.access.ip = 0x400000 + (random >> 40) % 64 * 256;
			event.access.size_bytes = 8;
			event.access.flags =
				random & 0x700000 ? COMM_ACCESS_READ : COMM_ACCESS_WRITE;
			comm_merge_push(merge, &event);
			if (i % BATCH == BATCH - 1)
				comm_merge_cut(merge, event.time_ns);
		}
		rate[round] = SINGLES / (now_s() - begin);
	}
	printf("%-34s median %.2f million/s, peak memory %.0f MB\n", "single accesses, 64 threads",
	       median(rate) / 1e6, peak_mb());
	comm_merge_destroy(merge);
	comm_engine_destroy(engine);
	comm_store_close(store);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench_engine RECORDING DIRECTORY\n");
		return 2;
	}
	bench_bursts(argv[1], argv[2]);
	bench_singles(argv[2]);
	return 0;
}
