// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings of perf whose records are damaged: counted, and never read beyond their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../daemon/perf_ring.c"
#include "../../daemon/source/perf_life.c"
#include "../../daemon/source/perf_sample.c"

enum { PAGE = 4096 };

static struct comm_perf_ring ring;
static int n_seen;

static void take(void *ctx, const struct perf_event_header *record)
{
	(void)ctx;
	assert_true(record->size >= sizeof(*record));
	n_seen++;
}

static int begin(void **state)
{
	(void)state;
	ring.page = aligned_alloc(PAGE, 2 * PAGE);
	memset(ring.page, 0, 2 * PAGE);
	ring.bytes = PAGE;
	ring.malformed = 0;
	n_seen = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(ring.page);
	return 0;
}

static void put(uint16_t size, uint16_t capacity)
{
	const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = size};

	memcpy((char *)ring.page + PAGE + ring.page->data_head % PAGE, &header, sizeof(header));
	ring.page->data_head += capacity;
}

static void test_whole(void **state)
{
	(void)state;
	put(16, 16);
	put(8, 8);
	comm_perf_ring_read(&ring, take, NULL);
	assert_int_equal(n_seen, 2);
	assert_int_equal(ring.malformed, 0);
}

/* Once what stands in the ring is no record, no other can be found behind it. */
static void test_damaged(void **state)
{
	(void)state;
	put(16, 16);
	put(7, 16);
	put(16, 16);
	comm_perf_ring_read(&ring, take, NULL);
	assert_int_equal(n_seen, 1);
	assert_int_equal(ring.malformed, 1);
	assert_int_equal(ring.page->data_tail, ring.page->data_head);
	put(64, 16); /* longer than what is there */
	comm_perf_ring_read(&ring, take, NULL);
	assert_int_equal(ring.malformed, 2);
	put(16, 16);
	comm_perf_ring_read(&ring, take, NULL);
	assert_int_equal(n_seen, 2);
	assert_int_equal(ring.malformed, 2);
}

static struct {
	struct perf_event_header header;
	uint64_t word[64];
} record;

static bool life_whole(uint32_t type, uint16_t size)
{
	record.header = (struct perf_event_header){.type = type, .size = size};
	return comm_perf_life_whole(&record.header);
}

static bool sample_whole(uint64_t abi, uint16_t size)
{
	struct comm_perf_sample head = {.abi = abi};

	record.header = (struct perf_event_header){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .size = size};
	memcpy(record.word, &head, sizeof(head));
	return comm_perf_sample_whole(&record.header);
}

/* A record that is passed over because it is short is told from one that nobody wants. */
static void test_short(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_FORK, PERF_RECORD_EXIT, PERF_RECORD_COMM,
					 PERF_RECORD_MMAP, PERF_RECORD_SWITCH_CPU_WIDE};
	struct comm_perf_sample head;
	struct comm_event event;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_true(life_whole(types[i], 128));
		assert_false(life_whole(types[i], 16));
		assert_false(comm_perf_life_event(&record.header, &event));
	}
	assert_true(life_whole(PERF_RECORD_UNTHROTTLE, 16));
	assert_true(sample_whole(PERF_SAMPLE_REGS_ABI_64, 400));
	assert_true(comm_perf_sample_head(&record.header, &head));
	assert_false(sample_whole(PERF_SAMPLE_REGS_ABI_64, 100));
	assert_false(comm_perf_sample_head(&record.header, &head));
	assert_false(sample_whole(PERF_SAMPLE_REGS_ABI_64, 16));
	assert_true(sample_whole(PERF_SAMPLE_REGS_ABI_NONE, 100));
	assert_false(comm_perf_sample_head(&record.header, &head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, begin, end),
		cmocka_unit_test_setup_teardown(test_damaged, begin, end),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
