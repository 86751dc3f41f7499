// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a sample costs the one who is sampled: how long a loop that only looks at
 * the clock stands still.  By turns for the timer alone, for perf's sample and for
 * ours, so that whatever else the host does meets all alike; a pause counts when a
 * record was made in it.  The emulator's times are not a processor's: what they
 * are worth is their ratio.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cptest.h"

enum {
	ROUNDS = 15,
	ROUND_MS = 50,
	ENOUGH = 150, /* pauses of each way */
	PERIOD_NS = 500000,
	PAUSE_NS = 2000, /* shorter is the loop itself */
	MOST = 1 << 14,
	STACK_BYTES = 512,
	RED_ZONE_BYTES = 128, /* the module's stack begins below the pointer */
	PERF_PAGES = 1 << 8,
};

enum way { TIMER, PERF, STACK, POINTEES, DEEP, WAYS };

/* All pauses of a round, then those of a way that held a sample. */
static struct pause {
	uint64_t from_ns, to_ns;
} pauses[MOST];
static uint32_t n_pauses, next_pause;
static uint64_t took_ns[WAYS][MOST];
static uint32_t n_took[WAYS];

static void watch_the_clock(void)
{
	static struct node {
		struct node *next;
		uint64_t value;
	} ring[64];
	uint64_t before = now_ns(), end = before + ROUND_MS * 1000000ull;
	struct node *node = ring;

	for (int i = 0; i < 64; i++)
		ring[i].next = &ring[(i * 7 + 1) % 64];
	n_pauses = next_pause = 0;
	while (before < end && n_pauses < MOST) {
		uint64_t now = now_ns();

		if (now - before >= PAUSE_NS)
			pauses[n_pauses++] = (struct pause){before, now};
		before = now;
		node = ((struct node *volatile)node)->next;
		node->value++;
	}
}

/* Records of one CPU ascend in time. */
static void sampled_at(enum way way, uint64_t time_ns)
{
	while (next_pause < n_pauses && pauses[next_pause].to_ns < time_ns)
		next_pause++;
	if (next_pause < n_pauses && pauses[next_pause].from_ns <= time_ns && n_took[way] < MOST)
		took_ns[way][n_took[way]++] = pauses[next_pause].to_ns - pauses[next_pause].from_ns;
}

struct perf {
	int fd;
	struct perf_event_mmap_page *page;
};

static struct perf perf_open(bool samples)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 0xff0fff,
		.sample_stack_user = STACK_BYTES,
		.exclude_kernel = 1,
		.exclude_user = !samples, /* the timer fires, and that is all */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = PERF_PAGES * 4096 / 2,
	};
	struct perf perf = {.fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0)};

	if (perf.fd >= 0)
		perf.page = mmap(NULL, (1 + PERF_PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				 perf.fd, 0);
	return perf;
}

static void perf_close(const struct perf *perf, bool samples)
{
	const uint8_t *data = (const uint8_t *)perf->page + 4096;
	uint64_t at = 0, head;

	ioctl(perf->fd, PERF_EVENT_IOC_DISABLE, 0);
	head = __atomic_load_n(&perf->page->data_head, __ATOMIC_ACQUIRE);
	/* The ring is never full, so it has not wrapped. */
	while (samples && at < head && head <= PERF_PAGES * 4096) {
		const struct perf_event_header *record = (const void *)(data + at);
		const struct {
			struct perf_event_header header;
			uint64_t ip;
			uint32_t pid, tid;
			uint64_t time;
		} *sample = (const void *)record;

		if (record->type == PERF_RECORD_SAMPLE && sample->tid == (uint32_t)getpid())
			sampled_at(PERF, sample->time);
		at += record->size;
	}
	munmap(perf->page, (1 + PERF_PAGES) * 4096);
	close(perf->fd);
}

static struct cp_reader *ours(enum way way)
{
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.period = PERIOD_NS,
		.stack_bytes = STACK_BYTES - RED_ZONE_BYTES,
		.chunk_bytes = way == STACK ? 0 : 64,
		.depth = way - STACK,
	};
	struct cp_reader *reader = session(getpid());

	if (cp_reader_budget(reader, &budget) || cp_reader_source(reader, &source))
		check(false, "cost: source", "refused");
	return reader;
}

static void round_of_ours(struct cp_reader *reader, enum way way)
{
	const struct cp_record *record;

	cp_reader_start(reader);
	watch_the_clock();
	cp_reader_stop(reader);
	for (uint32_t i = 0; i < cp_reader_rings(reader); i++)
		while ((record = cp_reader_next(reader, i)))
			if (record->cpu == 0)
				sampled_at(way, record->time_ns);
}

static void round_of_perf(bool samples)
{
	struct perf perf = perf_open(samples);

	if (perf.fd < 0)
		return;
	watch_the_clock();
	perf_close(&perf, samples);
	/* No record says when the timer came: nearly all pauses are its. */
	for (uint32_t i = 0; !samples && i < n_pauses && n_took[TIMER] < MOST; i++)
		took_ns[TIMER][n_took[TIMER]++] = pauses[i].to_ns - pauses[i].from_ns;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In microseconds. */
static double quantile(enum way way, double q)
{
	return n_took[way] ? took_ns[way][(uint32_t)(q * (n_took[way] - 1))] / 1e3 : 0;
}

/* The handler by its own clock. */
static double own_quantile(const __u64 *cost, double q)
{
	uint64_t total = 0, sum = 0;

	for (int i = 0; i < CP_COST_BUCKETS; i++)
		total += cost[i];
	for (int i = 0; i < CP_COST_BUCKETS; i++) {
		sum += cost[i];
		if (sum >= q * total)
			return 16.0 * (1 << i / 4) * (1 + i % 4 / 4.0);
	}
	return 0;
}

/*
 * What all pauses have in common is the timer's interrupt.  Its own pauses cannot
 * be told from others, so on a busy host what lies beyond it means nothing: half of our pauses
 * may be the host's.  So what is judged is the timer's pause and the handler by its own clock.
 */
static void judge(const char *name, enum way way, const struct cp_stats *stats, double most)
{
	double base = quantile(TIMER, 0.5);
	double whole = quantile(way, 0.5) / quantile(PERF, 0.5);
	double median = (quantile(way, 0.5) - base) / (quantile(PERF, 0.5) - base);
	double p99 = (quantile(way, 0.99) - base) / (quantile(PERF, 0.99) - base);
	double least = (base + own_quantile(stats->cost, 0.5) / 1e3) / quantile(PERF, 0.5);

	check(n_took[TIMER] > 100 && n_took[PERF] > 100 && n_took[way] > 100 && least < most, name,
	      "%.2f of perf's pause; beyond the timer's %.1f us %.2f, p99 %.2f (pauses %.1f us, "
	      "p99 %.1f; perf's %.1f us, p99 %.1f; the handler by its own clock %.1f us, p99 "
	      "%.1f; %u samples)",
	      whole, base, median, p99, quantile(way, 0.5), quantile(way, 0.99),
	      quantile(PERF, 0.5), quantile(PERF, 0.99), own_quantile(stats->cost, 0.5) / 1e3,
	      own_quantile(stats->cost, 0.99) / 1e3, n_took[way]);
}

static uint32_t fewest(void)
{
	uint32_t n = MOST;

	for (enum way way = 0; way < WAYS; way++)
		if (n_took[way] < n)
			n = n_took[way];
	return n;
}

void test_cost(void)
{
	struct cp_reader *reader[WAYS] = {};
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull;
	struct cp_stats stats[WAYS];

	test_switch(); /* first, while the module has had no watcher */
	for (enum way way = STACK; way < WAYS; way++)
		reader[way] = ours(way);
	pin(0);
	for (int i = 0; i < ROUNDS || (fewest() < ENOUGH && now_ns() < end_ns); i++) {
		round_of_perf(false);
		round_of_perf(true);
		for (enum way way = STACK; way < WAYS; way++)
			round_of_ours(reader[way], way);
	}
	for (enum way way = 0; way < WAYS; way++)
		qsort(took_ns[way], n_took[way], sizeof(**took_ns), by_size);
	for (enum way way = STACK; way < WAYS; way++) {
		cp_reader_stats(reader[way], &stats[way]);
		cp_reader_destroy(reader[way]);
	}
	judge("cost: registers and stack", STACK, &stats[STACK], 4);
	judge("cost: what registers point to, too", POINTEES, &stats[POINTEES], 8);
	judge("cost: and what that points to", DEEP, &stats[DEEP], 8);
}
