// SPDX-License-Identifier: GPL-2.0-or-later
/* The CPU time of a target's processes, by clocks made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

enum { FIRST = 100, MANY = 1000, MS = 1000000 };

static uint64_t cpu_ms[FIRST + MANY]; /* by pid; 0: there is no such process */
static int n_looks;

static int made_getcpuclockid(pid_t pid, clockid_t *ret)
{
	n_looks++;
	*ret = pid;
	return cpu_ms[pid] ? 0 : 3;
}

static int made_gettime(clockid_t clock, struct timespec *ret)
{
	ret->tv_sec = (time_t)(cpu_ms[clock] / 1000);
	ret->tv_nsec = (long)(cpu_ms[clock] % 1000 * MS);
	return 0;
}

#define clock_getcpuclockid made_getcpuclockid
#define clock_gettime made_gettime
#include "../../daemon/collectors.c"
#include "../../daemon/container.c"
#include "../../daemon/priority.c"
#include "../../daemon/target.c"

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	(void)err;
	(void)fmt;
	return error;
}

static struct comm_target *target_of(uint32_t n)
{
	struct comm_target *target = NULL;

	memset(cpu_ms, 0, sizeof(cpu_ms));
	assert_int_equal(comm_target_create(COMM_TARGET_PIDS, true, &target), 0);
	for (uint32_t i = 0; i < n; i++)
		comm_target_adopt(target, FIRST + i);
	return target;
}

/* What a process used since it was last looked at counts when it ends. */
static void test_ended(void **state)
{
	struct comm_target *target = target_of(2);

	(void)state;
	comm_target_expect_ends(target);
	cpu_ms[FIRST] = 10;
	cpu_ms[FIRST + 1] = 20;
	assert_int_equal(comm_target_cpu_ns(target), 30ull * MS);
	cpu_ms[FIRST] = 0;
	comm_target_ended(target, FIRST, 17ull * MS);
	assert_false(comm_target_has(target, FIRST));
	assert_int_equal(comm_target_cpu_ns(target), 37ull * MS);
	/* Of a process that is no member nothing is known: it may be counted already. */
	comm_target_ended(target, FIRST, 17ull * MS);
	comm_target_add_cpu(target, 3ull * MS);
	assert_int_equal(comm_target_cpu_ns(target), 40ull * MS);
	comm_target_destroy(target);
}

/* The file of a cgroup that was removed tells nothing any more: no CPU time was given back. */
static void test_removed_cgroup(void **state)
{
	static const char usage[] = "usage_usec 2000000\n";
	struct comm_target *target = target_of(0);
	int fd = memfd_create("cpu.stat", MFD_CLOEXEC);

	(void)state;
	target->kind = COMM_TARGET_CGROUP;
	target->stat_fd = fd;
	assert_int_equal(write(fd, usage, strlen(usage)), strlen(usage));
	assert_int_equal(comm_target_cpu_ns(target), 2000ull * MS);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(comm_target_cpu_ns(target), 2000ull * MS);
	comm_target_destroy(target);
}

/* One that is gone is dropped, but not before its end had the time to be told. */
static void test_gone(void **state)
{
	struct comm_target *target = target_of(1);

	(void)state;
	/* No process has this number: it is beyond the kernel's greatest. */
	target->pid[0] = UINT32_MAX;
	comm_target_expect_ends(target);
	assert_false(comm_target_alive(target));
	assert_true(comm_target_has(target, UINT32_MAX));
	assert_false(comm_target_alive(target));
	assert_false(comm_target_has(target, UINT32_MAX));
	comm_target_destroy(target);
}

/* Numbers of processes that have ended are given again, to whom a stranger forks. */
static void test_number_again(void **state)
{
	struct comm_event fork = {.kind = COMM_EV_FORK, .tgid = FIRST, .tid = FIRST};
	struct comm_target *target = target_of(1);

	(void)state;
	fork.fork.child_tgid = fork.fork.child_tid = FIRST + 7;
	comm_target_event(target, &fork);
	assert_true(comm_target_has(target, FIRST + 7));
	/* A thread of a stranger is no process. */
	fork.tgid = fork.fork.child_tgid = FIRST + 9;
	comm_target_event(target, &fork);
	fork.fork.child_tgid = fork.fork.child_tid = FIRST + 7;
	comm_target_event(target, &fork);
	assert_false(comm_target_has(target, FIRST + 7));
	assert_true(comm_target_has(target, FIRST));
	comm_target_destroy(target);
}

/* To look at a thousand processes costs no more than at some, and none is forgotten. */
static void test_many(void **state)
{
	struct comm_target *target = target_of(MANY);
	uint64_t all_ms = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		all_ms += cpu_ms[FIRST + i] = i + 1;
	for (int i = 0; i < MANY / LOOK_MOST + 1; i++) {
		n_looks = 0;
		comm_target_cpu_ns(target);
		assert_in_range(n_looks, 1, LOOK_MOST);
	}
	assert_int_equal(comm_target_cpu_ns(target), all_ms * MS);
	comm_target_destroy(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ended), cmocka_unit_test(test_removed_cgroup),
		cmocka_unit_test(test_gone),  cmocka_unit_test(test_number_again),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
