// SPDX-License-Identifier: GPL-2.0-or-later
/* How long rings wait too long: by made times, and what of it was work by the thread's own clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../../daemon/stall.c"

static const uint64_t MS = 1000000;

static void test_beyond_the_sleep(void **state)
{
	struct comm_stall stall;

	(void)state;
	comm_stall_open(&stall);
	comm_stall_sleep(&stall, 100 * MS);
	comm_stall_read(&stall, 900 * MS, 10);
	assert_int_equal(stall.longest_ns, 0); /* nothing was read before */
	comm_stall_sleep(&stall, 902 * MS);
	comm_stall_read(&stall, 915 * MS, 10);
	assert_int_equal(stall.longest_ns, 5 * MS);
	/* A shorter one is none. */
	comm_stall_sleep(&stall, 916 * MS);
	comm_stall_read(&stall, 926 * MS, 10);
	assert_int_equal(stall.longest_ns, 5 * MS);
	/* No sleep at all. */
	comm_stall_sleep(&stall, 936 * MS);
	comm_stall_read(&stall, 936 * MS, 0);
	assert_int_equal(stall.longest_ns, 10 * MS);
}

/* Work before a long sleep that an event ends at once. */
static void test_work_before_a_long_sleep(void **state)
{
	struct comm_stall stall;

	(void)state;
	comm_stall_open(&stall);
	comm_stall_read(&stall, 1000 * MS, 0);
	comm_stall_sleep(&stall, 1300 * MS);
	comm_stall_read(&stall, 1301 * MS, 5000);
	assert_int_equal(stall.longest_ns, 300 * MS);
}

static void set_without_cpu(struct comm_stall *stall, const char *text)
{
	assert_int_equal(pwrite(stall->fd, text, strlen(text), 0), strlen(text));
}

static void open_made(struct comm_stall *stall)
{
	comm_stall_open(stall);
	comm_stall_close(stall);
	stall->fd = memfd_create("schedstat", MFD_CLOEXEC);
	assert_true(stall->fd >= 0);
}

static uint64_t work(uint64_t ns)
{
	uint64_t from_ns = comm_clock_ns(CLOCK_THREAD_CPUTIME_ID), now_ns;

	do
		now_ns = comm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (now_ns - from_ns < ns);
	return now_ns - from_ns;
}

static void test_parts(void **state)
{
	struct comm_stall stall;
	uint64_t worked_ns;

	(void)state;
	open_made(&stall);
	set_without_cpu(&stall, "1000 2000000 7\n");
	comm_stall_read(&stall, 1000 * MS, 0);
	set_without_cpu(&stall, "1000 9000000 8\n");
	worked_ns = work(3 * MS);
	comm_stall_sleep(&stall, 1100 * MS);
	comm_stall_read(&stall, 1100 * MS, 0);
	assert_int_equal(stall.longest_ns, 100 * MS);
	assert_int_equal(stall.parts.cpu_ns, 7 * MS);
	assert_true(stall.parts.work_ns >= worked_ns);
	/* Those of the longest stay. */
	set_without_cpu(&stall, "1000 9900000 9\n");
	comm_stall_sleep(&stall, 1150 * MS);
	comm_stall_read(&stall, 1150 * MS, 0);
	assert_int_equal(stall.parts.cpu_ns, 7 * MS);
	comm_stall_close(&stall);
	assert_int_equal(stall.fd, -1);
}

/* Who waited for a CPU has waited for nobody else: the longest of one kind may be another stall than that of both. */
static void test_own(void **state)
{
	struct comm_stall stall;

	(void)state;
	open_made(&stall);
	set_without_cpu(&stall, "1000 0000000 1\n");
	comm_stall_read(&stall, 1000 * MS, 0);
	comm_stall_sleep(&stall, 1040 * MS);
	comm_stall_read(&stall, 1040 * MS, 0);
	assert_int_equal(stall.own_ns, 40 * MS);
	set_without_cpu(&stall, "1000 90000000 2\n");
	comm_stall_sleep(&stall, 1140 * MS);
	comm_stall_read(&stall, 1140 * MS, 0);
	assert_int_equal(stall.longest_ns, 100 * MS);
	assert_int_equal(stall.own_ns, 40 * MS);
	/* Without a CPU after the sleep that was meant, and before. */
	comm_stall_sleep(&stall, 1140 * MS);
	set_without_cpu(&stall, "1000 130000000 3\n");
	comm_stall_read(&stall, 1190 * MS, 10);
	assert_int_equal(stall.own_ns, 40 * MS);
	comm_stall_sleep(&stall, 1240 * MS);
	set_without_cpu(&stall, "1000 140000000 4\n");
	comm_stall_read(&stall, 1250 * MS, 10);
	assert_int_equal(stall.own_ns, 50 * MS);
	/* Without schedstat nothing is known to be without a CPU. */
	comm_stall_close(&stall);
	comm_stall_sleep(&stall, 1260 * MS);
	comm_stall_read(&stall, 1260 * MS, 0);
	comm_stall_sleep(&stall, 1320 * MS);
	comm_stall_read(&stall, 1320 * MS, 0);
	assert_int_equal(stall.own_ns, 60 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beyond_the_sleep),
		cmocka_unit_test(test_work_before_a_long_sleep),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
