// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "count_event.h"
#include "sample_event.h"

#include "capture.skel.h"

#include "clock.h"
#include "count.h"
#include "counter_event.h"
#include "source.h"
#include "trigger.h"

enum {
	BATCH = 512, /* threads read at once */
	/* All that is told of a thread: the kernel's totals, and what follows from them. */
	BLOCKED = COMM_RAW_COUNTERS,
	TOLD,
};

_Static_assert((int)COMM_RAW_EVENTS_MAX == (int)COMM_COUNTER_LIST_MAX, "count_event.h, sampler.h");

static const char *const names[TOLD] = {
	[COMM_RAW_CPU_NS] = COMM_COUNTER_CPU,
	[COMM_RAW_WAIT_NS] = COMM_COUNTER_WAIT,
	[COMM_RAW_VOLUNTARY] = COMM_COUNTER_VOLUNTARY,
	[COMM_RAW_INVOLUNTARY] = COMM_COUNTER_INVOLUNTARY,
	[COMM_RAW_MINOR_FAULTS] = "minor-faults",
	[COMM_RAW_MAJOR_FAULTS] = "major-faults",
	[COMM_RAW_MIGRATIONS] = COMM_COUNTER_MIGRATIONS,
	[BLOCKED] = COMM_COUNTER_BLOCKED,
};

/* What was told of a thread up to now. */
struct told {
	uint32_t tid;
	uint64_t start_ns;
	uint64_t idle_ns; /* it neither ran nor waited for a CPU */
	bool asleep, ended;
	uint64_t value[TOLD];
	struct comm_raw_event_count event[COMM_RAW_EVENTS_MAX];
};

struct tolds {
	struct told *told; /* in order of tids */
	size_t n, capacity;
};

struct comm_bpf_counts {
	struct capture_bpf *bpf; /* bpf_life's */
	unsigned int n_cpus;
	const struct comm_counter_list *events;
	struct bpf_link *pass; /* over all threads */
	bool attached;	       /* the program at switches is */
	int *fd;	       /* of event i on CPU c at c * COMM_RAW_EVENTS_MAX + i; -1: none */
	struct tolds before;
	uint32_t tid[BATCH];
	struct comm_raw_counts read[BATCH];
};

/* A machine of two kinds of cores has most events on one of them alone. */
static int open_event(struct comm_bpf_counts *counts, unsigned int i, const int *cpu, int n,
		      char **err)
{
	const char *name = counts->events->name[i];
	struct perf_event_attr attr;
	int rc = comm_counter_event(name, &attr, err);

	for (int k = 0; k < n && !rc; k++) {
		uint32_t at = (uint32_t)cpu[k] * COMM_RAW_EVENTS_MAX + i;
		int fd = comm_perf_open(&attr, -1, cpu[k], -1, 0);

		if (fd == -EMFILE)
			return comm_source_fail(err, fd,
						"cannot count %s on CPU %d: %s (raise "
						"'ulimit -n')",
						name, cpu[k], strerror(-fd));
		if (fd < 0)
			continue;
		counts->fd[at] = fd;
		if (bpf_map_update_elem(bpf_map__fd(counts->bpf->maps.events), &at, &fd, BPF_ANY))
			rc = comm_source_fail(err, -errno, "BPF programs cannot read %s: %s", name,
					      strerror(errno));
	}
	return rc;
}

static int open_events(struct comm_bpf_counts *counts, char **err)
{
	int *cpu = calloc(counts->n_cpus, sizeof(*cpu)), n, rc = 0;

	if (!cpu)
		return -ENOMEM;
	n = comm_online_cpus(cpu, (int)counts->n_cpus);
	if (n < 0)
		rc = comm_source_fail(err, n, "cannot tell which CPUs there are: %s", strerror(-n));
	n = n > (int)counts->n_cpus ? (int)counts->n_cpus : n;
	for (unsigned int i = 0; i < counts->events->n && !rc; i++)
		rc = open_event(counts, i, cpu, n, err);
	free(cpu);
	return rc;
}

int comm_bpf_counts_create(struct capture_bpf *bpf, unsigned int n_cpus,
			   const struct comm_counter_list *events, struct comm_bpf_counts **ret,
			   char **err)
{
	struct comm_bpf_counts *counts = calloc(1, sizeof(*counts));
	size_t n_fds = (size_t)n_cpus * COMM_RAW_EVENTS_MAX;
	int rc = 0;

	if (!counts)
		return -ENOMEM;
	counts->bpf = bpf;
	counts->n_cpus = n_cpus;
	counts->events = events;
	counts->fd = malloc(n_fds * sizeof(*counts->fd));
	if (!counts->fd) {
		free(counts);
		return -ENOMEM;
	}
	memset(counts->fd, -1, n_fds * sizeof(*counts->fd));
	if (events->n)
		rc = open_events(counts, err);
	if (rc)
		comm_bpf_counts_destroy(counts);
	else
		*ret = counts;
	return rc;
}

void comm_bpf_counts_destroy(struct comm_bpf_counts *counts)
{
	if (!counts)
		return;
	for (size_t i = 0; i < (size_t)counts->n_cpus * COMM_RAW_EVENTS_MAX; i++)
		if (counts->fd[i] >= 0)
			close(counts->fd[i]);
	bpf_link__destroy(counts->pass);
	free(counts->fd);
	free(counts->before.told);
	free(counts);
}

/*
 * A pass over all threads of the machine, for each of which the kernel wants a file.  Returns when
 * it began, 0: it failed.
 */
static uint64_t count_totals(struct comm_bpf_counts *counts)
{
	uint64_t began_ns = comm_clock_now_ns();
	int fd = bpf_iter_create(bpf_link__fd(counts->pass));
	char nothing[64];
	ssize_t n;

	if (fd < 0)
		return 0;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && errno == EAGAIN));
	close(fd);
	return n < 0 ? 0 : began_ns;
}

/*
 * Gives the threads that run what the events have counted up to now.  Without switches it is not known
 * whose it is: others may have run on the CPU meanwhile.
 */
static void count_events(struct comm_bpf_counts *counts)
{
	if (!counts->attached)
		return;
	for (unsigned int i = 0; i < counts->n_cpus && counts->events->n; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = i);

		/* A CPU that is offline counts nothing. */
		bpf_prog_test_run_opts(bpf_program__fd(counts->bpf->progs.count_now), &opts);
	}
}

int comm_bpf_counts_start(struct comm_bpf_counts *counts, char **err)
{
	for (size_t i = 0; i < (size_t)counts->n_cpus * COMM_RAW_EVENTS_MAX; i++)
		if (counts->fd[i] >= 0)
			ioctl(counts->fd[i], PERF_EVENT_IOC_ENABLE, 0);
	counts->bpf->bss->count_since_ns = comm_clock_now_ns();
	counts->pass = bpf_program__attach_iter(counts->bpf->progs.count_all, NULL);
	if (!counts->pass)
		return comm_source_fail(err, -errno, "BPF cannot go through the threads: %s",
					strerror(errno));
	/* Those that live have counts from before the run. */
	count_totals(counts);
	return 0;
}

void comm_bpf_counts_attaching(struct comm_bpf_counts *counts)
{
	counts->bpf->data->attached++;
}

void comm_bpf_counts_attached(struct comm_bpf_counts *counts)
{
	counts->attached = true;
	count_events(counts);
}

void comm_bpf_counts_detach(struct comm_bpf_counts *counts)
{
	count_events(counts);
	counts->attached = false;
	counts->bpf->data->attached++;
}

static int order(const void *pa, const void *pb)
{
	const struct told *a = pa, *b = pb;

	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int keep(struct tolds *tolds, const struct told *told)
{
	if (tolds->n == tolds->capacity) {
		size_t capacity = tolds->capacity ? 2 * tolds->capacity : BATCH;
		struct told *grown = reallocarray(tolds->told, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		tolds->told = grown;
		tolds->capacity = capacity;
	}
	tolds->told[tolds->n++] = *told;
	return 0;
}

static struct told *find(const struct tolds *tolds, size_t n, uint32_t tid)
{
	const struct told key = {.tid = tid};

	return n ? bsearch(&key, tolds->told, n, sizeof(key), order) : NULL;
}

/* What is to be told of a thread in all; before: what was, or zeros. */
static void take(const struct comm_raw_counts *raw, const struct told *before, struct told *ret)
{
	uint64_t all_ns = raw->to_ns - raw->from_ns;
	uint64_t busy_ns = raw->value[COMM_RAW_CPU_NS] + raw->value[COMM_RAW_WAIT_NS];

	memcpy(ret->value, raw->value, sizeof(raw->value));
	memcpy(ret->event, raw->event, sizeof(ret->event));
	ret->asleep = raw->asleep;
	ret->idle_ns = before->idle_ns;
	ret->value[BLOCKED] = before->value[BLOCKED];
	/* The kernel adds up the time of a thread that runs a few ms late. */
	if (all_ns <= busy_ns + before->idle_ns)
		return;
	ret->idle_ns = all_ns - busy_ns;
	/* Of one that never slept it is what interrupts and a hypervisor took. */
	if (raw->asleep || before->asleep ||
	    raw->value[COMM_RAW_VOLUNTARY] > before->value[COMM_RAW_VOLUNTARY])
		ret->value[BLOCKED] += ret->idle_ns - before->idle_ns;
}

static int tell(const struct comm_bpf_counts *counts, const struct told *told,
		const struct told *before, struct comm_event *event, comm_event_fn *push, void *ctx)
{
	uint64_t now_ns = told->value[COMM_RAW_CPU_NS], then_ns = before->value[COMM_RAW_CPU_NS];
	uint64_t cpu_ns = now_ns > then_ns ? now_ns - then_ns : 0;
	int pushed = 0;

	for (int i = 0; i < TOLD; i++) {
		if (told->value[i] <= before->value[i])
			continue;
		snprintf(event->counted.counter, COMM_COUNTER_BYTES, "%s", names[i]);
		event->counted.value = told->value[i] - before->value[i];
		event->counted.enabled_ns = event->counted.running_ns = 0;
		push(ctx, event);
		pushed++;
	}
	for (unsigned int i = 0; i < counts->events->n; i++) {
		const struct comm_raw_event_count *now = &told->event[i], *then = &before->event[i];

		if (now->enabled_ns <= then->enabled_ns && !cpu_ns)
			continue;
		snprintf(event->counted.counter, COMM_COUNTER_BYTES, "%s", counts->events->name[i]);
		event->counted.value = now->value - then->value;
		event->counted.enabled_ns = now->enabled_ns - then->enabled_ns;
		event->counted.running_ns = now->running_ns - then->running_ns;
		/* It ran, and no switch told of it: nothing is known, which is not nothing. */
		if (!event->counted.enabled_ns)
			event->counted.enabled_ns = cpu_ns;
		push(ctx, event);
		pushed++;
	}
	return pushed;
}

static void sort(struct tolds *tolds)
{
	if (tolds->n)
		qsort(tolds->told, tolds->n, sizeof(*tolds->told), order);
}

/*
 * When not all could be read: what was told of the others stays told, or the next time they would
 * be told as a whole again.
 */
static void keep_unread(struct tolds *after, const struct tolds *before, int fd)
{
	size_t n_read = after->n;

	for (size_t i = 0; i < before->n; i++)
		if (!find(after, n_read, before->told[i].tid) && keep(after, &before->told[i]))
			bpf_map_delete_elem(fd, &before->told[i].tid);
	sort(after);
}

int comm_bpf_counts_read(struct comm_bpf_counts *counts, uint64_t time_ns, comm_event_fn *push,
			 void *ctx)
{
	int fd = bpf_map__fd(counts->bpf->maps.counts), pushed = 0, rc = 0;
	struct comm_event event = {.kind = COMM_EV_COUNT, .time_ns = time_ns};
	struct tolds after = {0};
	uint64_t began_ns;
	uint32_t at, *from = NULL;

	/* Not started yet. */
	if (!counts->pass)
		return 0;
	count_events(counts);
	began_ns = count_totals(counts);
	while (!rc) {
		uint32_t n = BATCH;

		rc = bpf_map_lookup_batch(fd, from, &at, counts->tid, counts->read, &n, NULL);
		if (rc && rc != -ENOENT)
			break;
		from = &at;
		for (uint32_t i = 0; i < n; i++) {
			static const struct told none;
			const struct comm_raw_counts *raw = &counts->read[i];
			struct told told = {.tid = counts->tid[i],
					    .start_ns = raw->start_ns,
					    .ended = raw->ended};
			const struct told *before =
				find(&counts->before, counts->before.n, told.tid);

			/* Another thread of this tid, or one that took it over by an exec. */
			if (!before || before->start_ns != raw->start_ns ||
			    before->value[COMM_RAW_CPU_NS] > raw->value[COMM_RAW_CPU_NS])
				before = &none;
			take(raw, before, &told);
			event.tgid = raw->tgid;
			event.tid = told.tid;
			pushed += tell(counts, &told, before, &event, push, ctx);
			/*
			 * One that the pass did not meet took another's tid by an exec, or is no
			 * target any more.  One that cannot be remembered would be told again as a
			 * whole.  One that has ended may not have left its CPU: the events up to
			 * then are still its own.
			 */
			if ((raw->ended && (before->ended || !counts->events->n)) ||
			    (!raw->ended && raw->to_ns && raw->to_ns < began_ns) ||
			    keep(&after, &told))
				bpf_map_delete_elem(fd, &told.tid);
		}
	}
	sort(&after);
	if (rc != -ENOENT)
		keep_unread(&after, &counts->before, fd);
	free(counts->before.told);
	counts->before = after;
	return pushed;
}
