// SPDX-License-Identifier: GPL-2.0-or-later
/* perf's clock in terms of CLOCK_MONOTONIC: by made anchors, and against the kernel's own records. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/perf_clock.c"

static void test_anchors(void **state)
{
	struct comm_perf_clock clock = {0};

	(void)state;
	comm_perf_clock_anchor(&clock, 1000000, 5000000);
	assert_int_equal(comm_perf_clock_mono(&clock, 1000500), 5000500);
	assert_int_equal(comm_perf_clock_mono(&clock, 999500), 4999500);
	/* CLOCK_MONOTONIC is slewed: here it runs 500 ppm faster. */
	comm_perf_clock_anchor(&clock, 1001000000, 5000000 + 1000500000);
	assert_int_equal(comm_perf_clock_mono(&clock, 1001000000), 1005500000);
	assert_int_equal(comm_perf_clock_mono(&clock, 1000000), 5000000);
	assert_int_equal(comm_perf_clock_mono(&clock, 501000000), 505250000);
	assert_int_equal(comm_perf_clock_mono(&clock, 1011000000), 1015505000);
	/* An anchor that is not later is none. */
	comm_perf_clock_anchor(&clock, 1001000000, 77);
	assert_int_equal(comm_perf_clock_mono(&clock, 1001000000), 1005500000);
}

static void test_page(void **state)
{
	struct perf_event_mmap_page page = {.time_zero = 12345, .time_mult = 1u << 20};
	struct comm_perf_clock clock = {0};
	uint64_t before, now, after;

	(void)state;
	page.time_shift = 20;
	assert_false(comm_perf_clock_now(&page, &now));
	comm_perf_clock_read(&clock, &page);
	assert_int_equal(clock.perf_ns[1], 0);
	page.cap_user_time_zero = 1;
	/* A time stamp is a nanosecond. */
	before = __rdtsc() + 12345;
	assert_true(comm_perf_clock_now(&page, &now));
	after = __rdtsc() + 12345;
	assert_true(now >= before && now <= after);
	comm_perf_clock_read(&clock, &page);
	assert_true(clock.perf_ns[1] > after);
	before = comm_clock_now_ns();
	assert_true(clock.mono_ns[1] <= before && clock.mono_ns[1] > before - 1000000000);
}

/* The time that the kernel writes into a record lies between two looks at CLOCK_MONOTONIC. */
static void test_kernel(void **state)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_type = PERF_SAMPLE_TIME,
				       .sample_id_all = 1,
				       .comm = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct comm_perf_clock clock = {0};
	struct perf_event_mmap_page *page;
	uint64_t before, after, time_ns, mono_ns, head;
	struct perf_event_header header;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	(void)state;
	if (fd < 0) {
		print_message("no perf events here: %s\n", strerror(errno));
		skip();
	}
	page = mmap(NULL, 2 * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	comm_perf_clock_read(&clock, page);
	if (!clock.perf_ns[1]) {
		print_message("perf's clock cannot be read here\n");
		munmap(page, 2 * page_bytes);
		close(fd);
		skip();
	}
	before = comm_clock_now_ns();
	/* A renamed thread is a record. */
	assert_int_equal(syscall(SYS_prctl, 15 /* PR_SET_NAME */, "clock", 0, 0, 0), 0);
	after = comm_clock_now_ns();
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	assert_true(head >= sizeof(header) + sizeof(time_ns));
	memcpy(&header, (char *)page + page_bytes, sizeof(header));
	assert_int_equal(header.type, PERF_RECORD_COMM);
	memcpy(&time_ns, (char *)page + page_bytes + header.size - sizeof(time_ns),
	       sizeof(time_ns));
	mono_ns = comm_perf_clock_mono(&clock, time_ns);
	/* So exact is an anchor: it was taken while this thread ran on, or was preempted. */
	assert_true(mono_ns + 50000 >= before && mono_ns <= after + 50000);
	munmap(page, 2 * page_bytes);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anchors),
		cmocka_unit_test(test_page),
		cmocka_unit_test(test_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
