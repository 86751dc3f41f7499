// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Everything at once, until the shell says that it is over: sessions with whatever
 * settings come and go, are killed and changed, while processes fork, execute, map and
 * exit, and threads write what others read.  The shell takes CPUs away meanwhile.
 * Whatever is recorded of code that is known must be true.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code.h"
#include "cptest.h"

/*
 * LEAST_PERIOD_NS: under a debug kernel in an emulator a sample takes a good part of a
 * millisecond, and what is tried here is not how much it takes but what comes between.
 */
enum { MAKERS = 3, MOST_SOURCES = 3, CODE_INSNS = 1024, LEAST_PERIOD_NS = 4000000 };

/* What all processes of the storm share; pid[]: whom a session may look at. */
struct storm {
	uint64_t sessions, refused, killed, records, known, wrong, odd, execs, threads;
	uint64_t armed, hits, windows, last_error;
	pid_t pid[4];
	struct code code;
	volatile uint64_t datum[8];
};

#define add(to, n) __atomic_fetch_add(&(to), n, __ATOMIC_RELAXED)

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % n;
}

struct tally {
	struct storm *storm;
	uint64_t last_ns[64 * CP_CONTEXTS];
	uint32_t ring;
};

static void take(struct tally *tally, const struct cp_record *record)
{
	const struct cp_access *access = (const void *)record;
	const struct cp_evidence *evidence = (const void *)record;
	struct storm *storm = tally->storm;
	const struct code_truth *truth;

	add(storm->records, 1);
	if (record->size_bytes < sizeof(*record) || record->size_bytes % 8 || record->cpu >= 64 ||
	    record->context >= CP_CONTEXTS || !record->tgid || !record->time_ns)
		add(storm->odd, 1);
	switch (record->type) {
	case CP_REC_WINDOW:
		add(storm->windows, 1);
		return; /* stands for its watch, not for the moment */
	case CP_REC_WATCH:
	case CP_REC_PAIR:
		if (record->time_ns < evidence->armed_ns ||
		    (evidence->first_tid && evidence->first.addr - evidence->second.addr >= 8))
			add(storm->odd, 1);
		return; /* may be older than its neighbours */
	case CP_REC_ACCESS:
		truth = record->tgid == (uint32_t)storm->pid[0]
				? code_find(&storm->code, access->ip)
				: NULL;
		if (truth && !access->latency_cycles) {
			add(storm->known, 1);
			if (truth->addr != access->addr || truth->size_bytes != access->size_bytes)
				add(storm->wrong, 1);
		}
		break;
	case CP_REC_SAMPLE:
	case CP_REC_COPY:
		break;
	default:
		add(storm->odd, 1);
		return;
	}
	if (record->time_ns < tally->last_ns[tally->ring])
		add(storm->odd, 1);
	tally->last_ns[tally->ring] = record->time_ns;
}

static int choose_source(uint64_t *seed, struct cp_reader *reader)
{
	bool timer = draw(seed, 3), burst = draw(seed, 2);
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_JITTER | (burst ? CP_SOURCE_BURST : CP_SOURCE_ACCESSES),
		.type = timer ? 1 : pmu_type("standin"),
		.period = LEAST_PERIOD_NS + draw(seed, 5 * LEAST_PERIOD_NS),
	};

	if (burst) {
		source.flags |= draw(seed, 2) ? CP_SOURCE_COPIES : 0;
		source.flags |= draw(seed, 2) ? CP_SOURCE_VECTOR : 0;
		source.stack_bytes = 64 * draw(seed, 8);
		source.depth = draw(seed, 4);
		source.chunk_bytes = source.depth ? 64 : 0;
	} else {
		source.max_accesses = 1 + draw(seed, 16);
	}
	if (!draw(seed, 4))
		source = (struct cp_source){.kind = CP_SOURCE_PEBS,
					    .type = pmu_type("standin_pebs"),
					    .config = 0x1cd,
					    .config1 = 3,
					    .period = 1600};
	return cp_reader_source(reader, &source);
}

static void drain(struct tally *tally, struct cp_reader *reader)
{
	const struct cp_record *record;

	for (uint32_t i = 0; i < cp_reader_rings(reader) && i < 64 * CP_CONTEXTS; i++) {
		tally->ring = i;
		while ((record = cp_reader_next(reader, i)))
			take(tally, record);
	}
}

/* While it runs: something else each time. */
static void meddle(struct storm *storm, uint64_t *seed, struct cp_reader *reader)
{
	switch (draw(seed, 6)) {
	case 0:
		cp_reader_rate(reader, 0, draw(seed, 2) ? CP_RATE_EVERY_CPU : draw(seed, 4),
			       LEAST_PERIOD_NS + draw(seed, 5 * LEAST_PERIOD_NS));
		break;
	case 1:
		cp_reader_target(reader, CP_TARGET_TGID, draw(seed, 2) ? CP_TARGET_REMOVE : 0,
				 storm->pid[draw(seed, 4)]);
		break;
	case 2:
		cp_reader_pointees(reader, 0, draw(seed, 2));
		break;
	case 3:
		cp_reader_stop(reader);
		cp_reader_start(reader);
		break;
	default:
		break;
	}
}

/* -errno: it could not be had, which is a rare case. */
static int one_session(struct storm *storm, uint64_t *seed)
{
	struct tally *tally = calloc(1, sizeof(*tally));
	struct cp_budget budget = {.cap_ppm = 10000 + draw(seed, 90000)};
	struct cp_watch watch = {
		.flags = 1 + draw(seed, 3),
		.slots = 1 + draw(seed, 2),
		.per_second = 1 + draw(seed, 200),
		.timeout_us = 1000 + draw(seed, 50000),
	};
	struct cp_watch windows = {
		.flags = CP_WATCH_WINDOW,
		.slots = watch.slots,
		.per_second = watch.per_second,
		.timeout_us = watch.timeout_us,
		.window_us = 100 + draw(seed, 5000),
	};
	struct cp_reader *reader = NULL;
	struct cp_stats stats = {};
	int err = cp_reader_create(CP_DEVICE, 1 << (16 + draw(seed, 4)), 0, &reader);

	tally->storm = storm;
	if (!err)
		err = cp_reader_target(reader, draw(seed, 3) ? CP_TARGET_ALL : CP_TARGET_TGID, 0,
				       0);
	if (err == -ESRCH)
		err = cp_reader_target(reader, CP_TARGET_TGID,
				       draw(seed, 2) ? CP_TARGET_CHILDREN : 0,
				       storm->pid[draw(seed, 4)]);
	if (!err)
		err = cp_reader_budget(reader, &budget);
	for (uint32_t n = 1 + draw(seed, MOST_SOURCES); n && !err; n--)
		err = choose_source(seed, reader);
	if (!err && draw(seed, 3))
		err = cp_reader_watch(reader, draw(seed, 2) ? &windows : &watch);
	if (!err)
		err = cp_reader_start(reader);
	for (uint32_t steps = err ? 0 : 1 + draw(seed, 12); steps; steps--) {
		struct pollfd fd = {.fd = cp_reader_fd(reader), .events = POLLIN};

		poll(&fd, 1, draw(seed, 100));
		drain(tally, reader);
		meddle(storm, seed, reader);
	}
	if (!err && !cp_reader_stats(reader, &stats)) {
		add(storm->armed, stats.watch_armed);
		add(storm->hits, stats.watch_hits);
	}
	if (!err && draw(seed, 2)) {
		cp_reader_stop(reader);
		drain(tally, reader);
	}
	cp_reader_destroy(reader);
	free(tally);
	return err;
}

static void makes_sessions(void *argument)
{
	struct storm *storm = argument;
	uint64_t seed = getpid();

	for (;;) {
		int err, status;
		pid_t pid;

		if (draw(&seed, 4)) {
			err = one_session(storm, &seed);
		} else {
			/* In a child that is killed in the midst of it, now and then. */
			pid = fork();
			if (!pid)
				_exit(-one_session(storm, &seed));
			if (draw(&seed, 2)) {
				usleep(draw(&seed, 300000));
				kill(pid, SIGKILL);
			}
			waitpid(pid, &status, 0);
			add(storm->killed, WIFSIGNALED(status));
			err = WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
			draw(&seed, 2);
		}
		add(storm->sessions, 1);
		if (err) {
			add(storm->refused, 1);
			storm->last_error = -err;
		}
	}
}

static void *writes_and_ends(void *argument)
{
	struct storm *storm = argument;
	uint64_t end = now_ns() + 5000000;

	while (now_ns() < end)
		for (int i = 0; i < 100; i++)
			storm->datum[i % 8]++;
	add(storm->threads, 1);
	return NULL;
}

/* Processes that live for milliseconds, with another program, threads or mappings. */
static void churns(void *argument)
{
	struct storm *storm = argument;
	uint64_t seed = 1;

	for (;;) {
		uint32_t how = draw(&seed, 3);
		pid_t pid = fork();

		if (!pid && !how) {
			execl("/bin/busybox", "true", NULL);
			_exit(1);
		} else if (!pid && how == 1) {
			pthread_t thread[3];

			for (int i = 0; i < 3; i++)
				pthread_create(&thread[i], NULL, writes_and_ends, storm);
			for (int i = 0; i < 3; i++)
				pthread_join(thread[i], NULL);
			/* As another image, without these threads. */
			execl("/bin/busybox", "true", NULL);
			_exit(1);
		} else if (!pid) {
			for (int i = 0; i < 20; i++) {
				char *page = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

				memset(page, i, 1 << 16);
				munmap(page, 1 << 16);
			}
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		add(storm->execs, how < 2);
	}
}

static void *writes(void *argument)
{
	struct storm *storm = argument;

	for (;;)
		storm->datum[0]++;
	return NULL;
}

/* One thread reads what another writes, and what other processes do. */
static void shares(void *argument)
{
	struct storm *storm = argument;
	pthread_t thread;
	uint64_t sum = 0;

	pthread_create(&thread, NULL, writes, storm);
	for (;;)
		sum += storm->datum[0];
}

void test_storm(void)
{
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t begin = now_ns();
	pid_t maker[MAKERS];

	storm->code = code_make(CODE_INSNS);
	storm->pid[0] = spawn(code_run, &storm->code);
	storm->pid[1] = spawn(shares, storm);
	storm->pid[2] = spawn(churns, storm);
	storm->pid[3] = spawn(churns, storm);
	for (int i = 0; i < MAKERS; i++)
		maker[i] = spawn(makes_sessions, storm);
	for (uint64_t minute = 1; !told(); usleep(100000)) {
		if (now_ns() - begin < minute * 60000000000ull)
			continue;
		printf("# %lu min: %lu sessions, %lu records, %lu execs, %lu hits of %lu watches\n",
		       minute++, storm->sessions, storm->records, storm->execs, storm->hits,
		       storm->armed);
		fflush(stdout);
	}
	for (int i = 0; i < MAKERS; i++)
		reap(maker[i]);
	for (int i = 0; i < 4; i++)
		reap(storm->pid[i]);
	check(storm->sessions > 3 && storm->refused * 4 < storm->sessions &&
		      (storm->killed || storm->sessions < 100) && storm->records > 500 &&
		      storm->execs && storm->threads && storm->armed && storm->hits &&
		      (storm->windows || storm->sessions < 30),
	      "soak: all of it went on",
	      "%.0f s: %lu sessions, %lu refused (last: %s), %lu killed, %lu records, %lu execs, "
	      "%lu threads, %lu watchpoints armed, %lu hits, %lu windows over",
	      (now_ns() - begin) / 1e9, storm->sessions, storm->refused,
	      strerror(storm->last_error), storm->killed, storm->records, storm->execs,
	      storm->threads, storm->armed, storm->hits, storm->windows);
	check(storm->known > 100 && !storm->wrong && !storm->odd, "soak: what was recorded is true",
	      "%lu addresses of known code, %lu wrong; %lu records odd", storm->known, storm->wrong,
	      storm->odd);
}
