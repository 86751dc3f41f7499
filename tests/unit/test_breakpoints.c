// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How many debug registers breakpoints take, on CPUs of which a debugger may hold some; their limits, on
 * CPUs that are made; and what their records say.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_hotplug.h"

static int fake_ioctl(int fd, unsigned long request, ...);
static int fake_close(int fd);
static ssize_t fake_read(int fd, void *to, size_t bytes);
#define ioctl fake_ioctl
#define close fake_close
#define read(fd, to, bytes) fake_read(fd, to, bytes)
#include "../../daemon/companion/breakpoints.c"
#undef ioctl
#undef close
#undef read

enum { CPUS = 2, FD = 1000, OWN_FD = FD + CPUS };

static bool deaf;      /* debug registers can be set, and do not trap */
static bool is_broken; /* the registers of CPU 1 cannot be set */
static int held;       /* by a debugger, of each CPU's registers */
static int held_on_1;  /* besides, of that CPU's */
static int taken[CPUS], most[CPUS];
static uint32_t trapped; /* kinds of accesses, as of the last aim */
/* A breakpoint of each CPU, as the kernel keeps it (perf_event_refresh: a limit adds up with what is left). */
static struct {
	bool enabled, has_period;
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
	if (held + cpu * held_on_1 + taken[cpu] >= 4)
		return -ENOSPC;
	most[cpu] = ++taken[cpu] > most[cpu] ? taken[cpu] : most[cpu];
	return FD + cpu;
}

static int fake_close(int fd)
{
	if (fd != OWN_FD)
		taken[fd - FD]--;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	int rc = 0;

	if (fd == OWN_FD)
		return 0;
	va_start(args, request);
	if (request == PERF_EVENT_IOC_REFRESH)
		kept[fd - FD].limit += va_arg(args, int);
	if (request == PERF_EVENT_IOC_REFRESH || request == PERF_EVENT_IOC_ENABLE) {
		kept[fd - FD].enabled = true;
		kept[fd - FD].has_period = false;
	}
	/* Without it newer kernels count no trap of what a limit has stopped. */
	kept[fd - FD].has_period |= request == PERF_EVENT_IOC_PERIOD;
	if (request == PERF_EVENT_IOC_DISABLE)
		kept[fd - FD].enabled = false;
	if (request == PERF_EVENT_IOC_MODIFY_ATTRIBUTES) {
		const struct perf_event_attr *attr = va_arg(args, const struct perf_event_attr *);

		assert_true(!attr->exclude_kernel && attr->disabled);
		assert_int_equal(attr->sample_type, SAMPLE_TYPE);
		kept[fd - FD].enabled = false;
		trapped = attr->bp_type;
		rc = is_broken && fd == FD + 1 ? -1 : 0;
	}
	va_end(args);
	return rc;
}

static ssize_t fake_read(int fd, void *to, size_t bytes)
{
	uint64_t own = deaf ? 0 : 1;

	assert_int_equal(bytes, sizeof(kept->traps));
	memcpy(to, fd == OWN_FD ? &own : &kept[fd - FD].traps, bytes);
	return (ssize_t)bytes;
}

/* A thread on each CPU accesses the datum so often. */
static void access_datum(unsigned int times)
{
	for (int cpu = 0; cpu < CPUS; cpu++)
		for (unsigned int i = 0; i < times && kept[cpu].enabled && kept[cpu].has_period;
		     i++) {
			kept[cpu].traps++;
			if (kept[cpu].limit && !--kept[cpu].limit)
				kept[cpu].enabled = false;
		}
}

int comm_cpu_rings_open(const struct comm_cpu_rings_config *config, struct comm_cpu_rings *ret,
			char **err)
{
	/* No registers are named for their own events. */
	assert_false(config->sample_type & PERF_SAMPLE_REGS_INTR);
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

/* What CPU 1's ring holds. */
static union {
	struct perf_event_header header;
	struct {
		struct perf_event_header header;
		struct record record;
	} sample;
} queued[4];
static unsigned int n_queued;
static const struct comm_perf_ring *ring_of_0;

void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx)
{
	for (unsigned int i = 0; i < n_queued && ring != ring_of_0; i++)
		fn(ctx, &queued[i].header);
	if (ring != ring_of_0)
		n_queued = 0;
}

static int reset(void **state)
{
	(void)state;
	reset_hotplug(FD + 1);
	held = held_on_1 = 0;
	memset(taken, 0, sizeof(taken));
	memset(most, 0, sizeof(most));
	memset(kept, 0, sizeof(kept));
	memset(queued, 0, sizeof(queued));
	n_queued = 0;
	deaf = is_broken = false;
	return 0;
}

/* Returns how many registers of each CPU are taken for so many wanted, or -errno. */
static int create(uint32_t wanted, char **why)
{
	struct comm_breakpoints *b = NULL;
	int n, rc = comm_breakpoints_create(wanted, 1000, &b, why);

	if (rc)
		return rc;
	n = taken[0];
	assert_int_equal(taken[1], n);
	assert_int_equal(comm_breakpoints_slots(b), n);
	assert_int_equal(comm_breakpoints_cpus(b), CPUS);
	comm_breakpoints_destroy(b);
	assert_int_equal(taken[0] + taken[1], 0);
	return n;
}

static void test_as_many_as_asked_for(void **state)
{
	char *why = NULL;

	for (int n = 1; n <= 4; n++) {
		reset(state);
		assert_int_equal(create((uint32_t)n, &why), n);
		assert_int_equal(most[0], n);
	}
}

static void test_leaves_a_debuggers(void **state)
{
	char *why = NULL;

	(void)state;
	held = 3;
	assert_int_equal(create(3, &why), 1);
	/* All CPUs use as many as the one that has the fewest. */
	held = 0;
	held_on_1 = 2;
	assert_int_equal(create(3, &why), 2);
	held = 4;
	assert_int_equal(create(1, &why), -ENOSPC);
	assert_non_null(strstr(why, "debug registers are in use"));
	free(why);
}

static void test_doctor_tells(void **state)
{
	char *why = NULL;

	(void)state;
	assert_int_equal(comm_breakpoints_probe(&why), 0);
	assert_non_null(strstr(why, "three debug registers"));
	assert_non_null(strstr(why, "4 of 4 are free"));
	free(why);
	assert_int_equal(taken[1], 0);
	held = 2;
	assert_int_equal(comm_breakpoints_probe(&why), 0);
	assert_non_null(strstr(why, "2 of 4 are free: a debugger"));
	free(why);
	held = 4;
	assert_int_equal(comm_breakpoints_probe(&why), -ENOSPC);
	free(why);
}

/* What never traps would look like data that nobody writes. */
static void test_deaf_registers_are_none(void **state)
{
	char *why = NULL;

	(void)state;
	deaf = true;
	assert_int_equal(create(3, &why), -ENOTSUP);
	assert_non_null(strstr(why, "do not trap"));
	free(why);
	assert_int_equal(taken[0] + taken[1], 0);
	assert_int_equal(comm_breakpoints_probe(&why), -ENOTSUP);
	assert_non_null(strstr(why, "do not trap"));
	free(why);
}

static struct comm_breakpoints *make(void)
{
	struct comm_breakpoints *b = NULL;
	char *why = NULL;

	assert_int_equal(comm_breakpoints_create(1, 1000, &b, &why), 0);
	ring_of_0 = &b->rings.ring[0].ring;
	return b;
}

/* Whatever there was before, each aim has so many traps of each CPU and no more; all are counted. */
static void test_traps_are_bounded(void **state)
{
	struct comm_breakpoints *b = make();
	uint64_t all = 0;

	(void)state;
	for (unsigned int i = 1; i <= 200; i++) {
		unsigned int times = i % 7 ? i % 3 : 1000;

		assert_true(comm_breakpoints_aim(b, 0, 0x1000, 8, i % 2));
		assert_int_equal(trapped, i % 2 ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W);
		access_datum(times);
		all += CPUS * (times < COMM_BREAKPOINT_TRAPS ? times : COMM_BREAKPOINT_TRAPS);
		assert_int_equal(kept[0].traps + kept[1].traps, all);
		/* It may be aimed at something else at once. */
		if (i % 5)
			comm_breakpoints_silence(b, 0);
		access_datum(i % 5 ? 10 : 0);
	}
	comm_breakpoints_silence(b, 0);
	assert_int_equal(comm_breakpoints_traps(b), all);
	/* Setting them costs, too. */
	assert_true(comm_breakpoints_cost_ns(b) > all * 1000);
	comm_breakpoints_destroy(b);
}

/* One CPU without it, and all are silent. */
static void test_cpu_that_cannot_be_set(void **state)
{
	struct comm_breakpoints *b = make();

	(void)state;
	is_broken = true;
	assert_false(comm_breakpoints_aim(b, 0, 0x1000, 8, true));
	assert_false(kept[0].enabled || kept[1].enabled);
	comm_breakpoints_destroy(b);
}

static struct comm_breakpoint_trap got[4];
static void get(void *ctx, const struct comm_breakpoint_trap *trap);

/* A CPU that is away has no breakpoints, and has them when it is back. */
static void test_cpu_that_goes(void **state)
{
	struct comm_breakpoints *b = make();

	(void)state;
	assert_true(hotplug.is_started);
	assert_int_equal(hotplug.n_listed, comm_breakpoints_slots(b));
	hotplug.gone = 1;
	assert_int_equal(comm_breakpoints_drain(b, get, NULL), 1);
	assert_int_equal(taken[1], 0);
	memset(kept, 0, sizeof(kept));
	assert_true(comm_breakpoints_aim(b, 0, 0x1000, 8, true));
	assert_true(kept[0].enabled && !kept[1].enabled);
	comm_breakpoints_silence(b, 0);
	hotplug.back = 1;
	taken[1] = (int)hotplug.n_listed; /* by the process that opens them */
	assert_int_equal(comm_breakpoints_drain(b, get, NULL), hotplug.n_listed);
	assert_true(comm_breakpoints_aim(b, 0, 0x1000, 8, true));
	assert_true(kept[0].enabled && kept[1].enabled);
	access_datum(1000);
	assert_int_equal(kept[1].traps, COMM_BREAKPOINT_TRAPS);
	comm_breakpoints_destroy(b);
	assert_int_equal(taken[1], 0);
}

/* What happens on a CPU without breakpoints nobody sees: then nothing is told of the others. */
static void test_cpu_that_stays_without(void **state)
{
	struct comm_breakpoints *b = make();

	(void)state;
	hotplug.gone = hotplug.back = 1;
	hotplug.fd = -1;
	comm_breakpoints_drain(b, get, NULL);
	assert_int_equal(comm_breakpoints_unopened(b), hotplug.n_listed);
	assert_false(comm_breakpoints_aim(b, 0, 0x1000, 8, true));
	assert_false(kept[0].enabled);
	comm_breakpoints_destroy(b);
}

static unsigned int n_got;

static void get(void *ctx, const struct comm_breakpoint_trap *trap)
{
	(void)ctx;
	got[n_got++] = *trap;
}

static void test_records(void **state)
{
	struct comm_breakpoints *b = make();
	struct record *r = &queued[0].sample.record;

	(void)state;
	n_got = 0;
	*r = (struct record){.ip = 1, .pid = 2, .tid = 3, .time_ns = 4, .addr = 5, .cpu = 6};
	r->abi = PERF_SAMPLE_REGS_ABI_64;
	for (unsigned int i = 0; i < N_REGS; i++)
		r->reg[i] = 100 + i;
	queued[0].header.type = PERF_RECORD_SAMPLE;
	queued[0].header.size = sizeof(queued[0].sample);
	/* Without registers. */
	queued[1] = queued[0];
	queued[1].sample.record.abi = PERF_SAMPLE_REGS_ABI_NONE;
	queued[1].header.size -= sizeof(r->reg);
	queued[2].header.type = PERF_RECORD_LOST;
	queued[2].header.size = sizeof(queued[2].header) + 16;
	/* Too short. */
	queued[3] = queued[0];
	queued[3].header.size = 16;
	n_queued = 4;
	assert_int_equal(comm_breakpoints_drain(b, get, NULL), 2);
	assert_int_equal(n_got, 2);
	assert_int_equal(got[0].tgid, 2);
	assert_int_equal(got[0].tid, 3);
	assert_int_equal(got[0].time_ns, 4);
	assert_int_equal(got[0].cpu, 6);
	assert_int_equal(got[0].nth_cpu, 1);
	assert_int_equal(got[0].mode_bits, 64);
	assert_int_equal(got[0].at.ip, 1);
	assert_int_equal(got[0].at.addr, 5);
	/* By PERF_REG_X86_AX, BX, CX, DX, SI, DI, BP, SP, FLAGS, R8 on. */
	assert_int_equal(got[0].at.reg[COMM_RAX], 100);
	assert_int_equal(got[0].at.reg[COMM_RBX], 101);
	assert_int_equal(got[0].at.reg[COMM_RDX], 103);
	assert_int_equal(got[0].at.reg[COMM_RSP], 107);
	assert_int_equal(got[0].at.flags, 108);
	assert_int_equal(got[0].at.reg[COMM_R8], 109);
	assert_int_equal(got[0].at.reg[COMM_R15], 116);
	assert_int_equal(__builtin_popcountll(REGS), N_REGS);
	assert_int_equal(got[1].mode_bits, 32);
	assert_int_equal(got[1].at.reg[COMM_RAX], 0);
	assert_int_equal(comm_breakpoints_drain(b, get, NULL), 0);
	comm_breakpoints_destroy(b);
}

static void test_string_loss(void **state)
{
	(void)state;
	assert_float_equal(loss_of(100, 2000), 0.95, 1e-12);
	assert_float_equal(loss_of(100, 100), 0, 0);
	assert_float_equal(loss_of(100, 90), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_as_many_as_asked_for, reset),
		cmocka_unit_test_setup(test_leaves_a_debuggers, reset),
		cmocka_unit_test_setup(test_doctor_tells, reset),
		cmocka_unit_test_setup(test_deaf_registers_are_none, reset),
		cmocka_unit_test_setup(test_traps_are_bounded, reset),
		cmocka_unit_test_setup(test_cpu_that_cannot_be_set, reset),
		cmocka_unit_test_setup(test_cpu_that_goes, reset),
		cmocka_unit_test_setup(test_cpu_that_stays_without, reset),
		cmocka_unit_test_setup(test_records, reset),
		cmocka_unit_test(test_string_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
