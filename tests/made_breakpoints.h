/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Breakpoints of two CPUs as the kernel keeps them, and traps that are made: for the one test that takes
 * watchpoint.c into itself, after its headers.
 */
#ifndef MADE_BREAKPOINTS_H
#define MADE_BREAKPOINTS_H

static int fake_ioctl(int fd, unsigned long request, ...);
static int fake_close(int fd);
static ssize_t fake_read(int fd, void *to, size_t bytes);
#define ioctl fake_ioctl
#define close fake_close
#define read(fd, to, bytes) fake_read(fd, to, bytes)
#include "../daemon/companion/watchpoint.c"
#undef ioctl
#undef close
#undef read
#include "../daemon/companion/burst_read.c"
#include "../daemon/companion/worth.c"
#include "../daemon/loss_teller.c"

enum { CPUS = 2, FD = 1000, OWN_FD = FD + CPUS };

static bool deaf;    /* debug registers can be set, and do not trap */
static bool updates; /* the datum is written after it was read, by the same code */
static bool is_private;
static void (*while_set)(void); /* called when CPU 1's breakpoint is about to be set */
static int held;		/* by a debugger, of each CPU's registers */
static int taken[CPUS], most[CPUS];
static uint32_t trapped; /* kinds of accesses, as of the last watch */
/* A breakpoint of each CPU, as the kernel keeps it (perf_event_refresh: a limit adds up with what is left). */
static struct {
	bool enabled;
	int limit; /* 0: none */
	uint64_t traps;
} kept[CPUS];

int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	(void)group;
	(void)flags;
	assert_int_equal(attr->type, PERF_TYPE_BREAKPOINT);
	/* Excluded accesses trap all the same, and no limit ends that. */
	assert_true(!attr->exclude_kernel && !attr->exclude_user);
	/* The calling thread's own: to see whether it traps. */
	if (cpu == -1) {
		assert_int_equal(pid, 0);
		return held >= 4 ? -ENOSPC : OWN_FD;
	}
	assert_int_equal(pid, -1);
	assert_in_range(cpu, 0, CPUS - 1);
	if (held + taken[cpu] >= 4)
		return -ENOSPC;
	most[cpu] = ++taken[cpu] > most[cpu] ? taken[cpu] : most[cpu];
	return FD + cpu;
}

static int fake_close(int fd)
{
	if (fd == OWN_FD)
		return 0;
	taken[fd - FD]--;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
	va_list args;

	if (fd == OWN_FD)
		return 0;
	va_start(args, request);
	if (request == PERF_EVENT_IOC_REFRESH)
		kept[fd - FD].limit += va_arg(args, int);
	if (request == PERF_EVENT_IOC_REFRESH || request == PERF_EVENT_IOC_ENABLE)
		kept[fd - FD].enabled = true;
	if (request == PERF_EVENT_IOC_DISABLE)
		kept[fd - FD].enabled = false;
	if (request == PERF_EVENT_IOC_MODIFY_ATTRIBUTES) {
		const struct perf_event_attr *attr = va_arg(args, const struct perf_event_attr *);

		assert_true(!attr->exclude_kernel);
		if (while_set && fd == FD + 1)
			while_set();
		trapped = attr->bp_type;
	}
	va_end(args);
	return 0;
}

static ssize_t fake_read(int fd, void *to, size_t bytes)
{
	uint64_t own = deaf ? 0 : 1;

	assert_int_equal(bytes, sizeof(kept->traps));
	memcpy(to, fd == OWN_FD ? &own : &kept[fd - FD].traps, bytes);
	return (ssize_t)bytes;
}

/* A thread on each CPU writes the watched datum so often. */
static void write_datum(unsigned int times)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (unsigned int i = 0; i < times && kept[cpu].enabled; i++) {
			kept[cpu].traps++;
			if (kept[cpu].limit && !--kept[cpu].limit)
				kept[cpu].enabled = false;
		}
}

int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err)
{
	(void)config;
	(void)err;
	*ret = (struct comm_cpu_rings){.ring = calloc(CPUS, sizeof(*ret->ring)), .n = CPUS};
	for (int i = 0; i < CPUS; i++)
		ret->ring[i].cpu = i;
	return 0;
}

void comm_cpu_rings_close(struct comm_cpu_rings *rings)
{
	free(rings->ring);
}

int comm_online_cpus(int *cpu, int max)
{
	assert_true(max > 0);
	*cpu = 1;
	return 1;
}

int comm_perf_paranoid(void)
{
	return 2;
}

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	assert_true(vasprintf(err, fmt, args) >= 0);
	va_end(args);
	return error;
}

/* Traps to come, of the CPU whose ring is read next, in no order. */
static struct trap {
	int cpu;
	struct record record;
} trap[8];
static size_t n_traps;
static const struct comm_perf_ring *ring_of_0;

void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx)
{
	struct {
		struct perf_event_header header;
		struct record record;
	} sample = {.header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(sample)}};

	for (size_t i = 0; i < n_traps; i++) {
		if (trap[i].cpu != (ring != ring_of_0))
			continue;
		sample.record = trap[i].record;
		fn(ctx, &sample.header);
	}
}

bool comm_target_has(const struct comm_target *target, uint32_t tgid)
{
	(void)target;
	(void)tgid;
	return true;
}

static int reset(void **state)
{
	(void)state;
	held = 0;
	memset(taken, 0, sizeof(taken));
	memset(most, 0, sizeof(most));
	memset(kept, 0, sizeof(kept));
	updates = is_private = deaf = false;
	while_set = NULL;
	return 0;
}

#endif
