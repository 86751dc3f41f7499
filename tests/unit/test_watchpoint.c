// SPDX-License-Identifier: GPL-2.0-or-later
/* How many debug registers watchpoints take, on CPUs of which a debugger may hold some. */
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

static int fake_ioctl(int fd, unsigned long request, ...);
static int fake_close(int fd);
#define ioctl fake_ioctl
#define close fake_close
#include "../../daemon/companion/watchpoint.c"
#undef ioctl
#undef close
#include "../../daemon/companion/worth.c"
#include "../../daemon/loss_teller.c"

enum { CPUS = 2, FD = 1000 };

static int held; /* by a debugger, of each CPU's registers */
static int taken[CPUS], most[CPUS];

int comm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		   unsigned long flags)
{
	(void)pid;
	(void)group;
	(void)flags;
	assert_int_equal(attr->type, PERF_TYPE_BREAKPOINT);
	assert_in_range(cpu, 0, CPUS - 1);
	if (held + taken[cpu] >= 4)
		return -ENOSPC;
	most[cpu] = ++taken[cpu] > most[cpu] ? taken[cpu] : most[cpu];
	return FD + cpu;
}

static int fake_close(int fd)
{
	taken[fd - FD]--;
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return 0;
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

void comm_perf_ring_read(struct comm_perf_ring *ring, comm_perf_record_fn *fn, void *ctx)
{
	(void)ring;
	(void)fn;
	(void)ctx;
	fail();
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
	return 0;
}

/* Returns how many registers of each CPU are taken for so many wanted, or -errno. */
static int create(uint32_t wanted, char **why)
{
	const struct comm_watchpoint_config config = {.per_s = 20, .slots = wanted};
	struct comm_watchpoints *w = NULL;
	int n, rc = comm_watchpoint_create(&config, &w, why);

	if (rc)
		return rc;
	n = taken[0];
	assert_int_equal(taken[1], n);
	comm_watchpoint_destroy(w);
	assert_int_equal(taken[0] + taken[1], 0);
	return n;
}

static void test_as_many_as_asked_for(void **state)
{
	char *why = NULL;

	(void)state;
	for (int n = 1; n <= 4; n++) {
		reset(NULL);
		assert_int_equal(create(n, &why), n);
		assert_int_equal(most[0], n);
	}
}

static void test_leaves_a_debuggers(void **state)
{
	char *why = NULL;

	(void)state;
	held = 3;
	assert_int_equal(create(3, &why), 1);
	held = 4;
	assert_int_equal(create(1, &why), -ENOSPC);
	assert_non_null(strstr(why, "debug registers are in use"));
	free(why);
}

static void test_doctor_tells(void **state)
{
	char *why = NULL;

	(void)state;
	assert_int_equal(comm_watchpoint_probe(&why), 0);
	assert_non_null(strstr(why, "4 of 4 are free"));
	free(why);
	assert_int_equal(taken[1], 0);
	held = 2;
	assert_int_equal(comm_watchpoint_probe(&why), 0);
	assert_non_null(strstr(why, "2 of 4 are free: a debugger"));
	free(why);
	held = 4;
	assert_int_equal(comm_watchpoint_probe(&why), -ENOSPC);
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_as_many_as_asked_for, reset),
		cmocka_unit_test_setup(test_leaves_a_debuggers, reset),
		cmocka_unit_test_setup(test_doctor_tells, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
