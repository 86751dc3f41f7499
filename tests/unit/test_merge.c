// SPDX-License-Identifier: GPL-2.0-or-later
/* The merge: order, stability, watermark, lateness, payloads that move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "merge.h"

struct seen {
	size_t n;
	uint64_t time_ns[20000];
	uint32_t tid[20000];
	uint8_t last_byte[20000];
};

static void see(void *ctx, const struct comm_event *event)
{
	struct seen *seen = ctx;

	assert_true(seen->n < 20000);
	seen->time_ns[seen->n] = event->time_ns;
	seen->tid[seen->n] = event->tid;
	if (event->kind == COMM_EV_SAMPLE)
		seen->last_byte[seen->n] = event->sample->data[event->sample->data_bytes - 1];
	seen->n++;
}

static void push(struct comm_merge *merge, uint64_t time_ns, uint32_t tid)
{
	struct comm_event event = {.time_ns = time_ns, .tid = tid, .kind = COMM_EV_EXIT};

	comm_merge_push(merge, &event);
}

static const uint64_t ms = 1000000;

static void test_orders_streams(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct comm_merge *merge;

	(void)state;
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	for (int stream = 0; stream < 5; stream++)
		for (uint64_t i = 0; i < 1000; i++)
			push(merge, 10 * ms + i * 5 + (uint64_t)stream, (uint32_t)stream);
	comm_merge_cut(merge, 20 * ms);
	assert_int_equal(seen->n, 5000);
	for (size_t i = 1; i < seen->n; i++)
		assert_true(seen->time_ns[i - 1] < seen->time_ns[i]);
	comm_merge_destroy(merge);
	free(seen);
}

static void test_equal_times_keep_push_order(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct comm_merge *merge;

	(void)state;
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	push(merge, 9 * ms, 1);
	for (uint32_t i = 2; i < 100; i++)
		push(merge, 5 * ms, i);
	comm_merge_flush(merge);
	for (uint32_t i = 0; i < 98; i++)
		assert_int_equal(seen->tid[i], i + 2);
	assert_int_equal(seen->tid[98], 1);
	comm_merge_destroy(merge);
	free(seen);
}

static void test_watermark_holds_back_and_counts_late(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct comm_merge *merge;

	(void)state;
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	push(merge, 10 * ms, 1);
	push(merge, 19 * ms, 2);
	comm_merge_cut(merge, 20 * ms); /* the margin is 2 ms: tid 2 waits */
	assert_int_equal(seen->n, 1);
	push(merge, 18 * ms + 1, 3); /* straggler inside the margin */
	comm_merge_cut(merge, 30 * ms);
	assert_int_equal(seen->n, 3);
	assert_int_equal(seen->tid[1], 3);
	assert_int_equal(comm_merge_late(merge), 0);
	push(merge, 20 * ms, 4); /* 8 ms behind the watermark: COMM_LOSS_LATE */
	assert_int_equal(comm_merge_late(merge), 1);
	comm_merge_cut(merge, 31 * ms);
	assert_true(comm_merge_margin_ns(merge) >= 16 * ms);
	assert_int_equal(seen->n, 3);
	for (int i = 0; i < 2000; i++)
		comm_merge_cut(merge, 32 * ms);
	assert_true(comm_merge_margin_ns(merge) < 3 * ms);
	comm_merge_destroy(merge);
	free(seen);
}

/* Events without memory to hold them are counted, and the rest is delivered in order. */
static void test_out_of_memory_is_counted(void **state)
{
	struct comm_merge *merge;
	struct seen *seen;
	struct rlimit before, small;
	uint64_t late;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* its allocator ends the program instead */
#endif
	seen = calloc(1, sizeof(*seen));
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	for (uint32_t i = 0; i < 1000; i++)
		push(merge, 10 * ms + i, i);
	/* From here on no further memory can be mapped. */
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	small = (struct rlimit){1, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
	for (uint32_t i = 1000; i < 19000; i++)
		push(merge, 10 * ms + i, i);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	late = comm_merge_late(merge);
	assert_true(late > 0);
	push(merge, 11 * ms, 19000);
	comm_merge_flush(merge);
	assert_int_equal(seen->n + late, 19001);
	assert_int_equal(comm_merge_late(merge), late);
	for (size_t i = 1; i < seen->n; i++)
		assert_true(seen->time_ns[i - 1] < seen->time_ns[i]);
	assert_int_equal(seen->tid[seen->n - 1], 19000);
	comm_merge_destroy(merge);
	free(seen);
}

/* Payloads survive growth of the arena and the move of events that are kept back. */
static void test_samples_are_copied(void **state)
{
	static struct comm_sample sample;
	struct seen *seen = calloc(1, sizeof(*seen));
	struct comm_merge *merge;

	(void)state;
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	for (uint32_t i = 0; i < 3000; i++) {
		struct comm_event event = {
			.time_ns = (3000 - i) * ms, .kind = COMM_EV_SAMPLE, .sample = &sample};

		sample.data_bytes = (uint16_t)(1 + i % 1000);
		memset(sample.data, (int)(3000 - i) & 0xff, sizeof(sample.data));
		comm_merge_push(merge, &event);
	}
	memset(&sample, 0xcc, sizeof(sample));
	comm_merge_cut(merge, 1500 * ms);
	comm_merge_cut(merge, 2500 * ms);
	comm_merge_flush(merge);
	assert_int_equal(seen->n, 3000);
	for (uint32_t i = 0; i < 3000; i++)
		assert_int_equal(seen->last_byte[i], (i + 1) & 0xff);
	comm_merge_destroy(merge);
	free(seen);
}

static bool over;

static bool is_over(void *ctx)
{
	(void)ctx;
	return over;
}

/* When the run is over, what is queued is counted; what tells of losses still arrives. */
static void test_the_end_does_not_wait(void **state)
{
	struct seen *seen = calloc(1, sizeof(*seen));
	struct comm_merge *merge;

	(void)state;
	assert_int_equal(comm_merge_create(see, seen, &merge), 0);
	comm_merge_until(merge, is_over);
	push(merge, 1 * ms, 1);
	push(merge, 2 * ms, 2);
	comm_merge_cut(merge, 1000 * ms);
	assert_int_equal(seen->n, 2);
	push(merge, 1001 * ms, 3);
	over = true;
	push(merge, 1002 * ms, 4);
	comm_merge_flush(merge);
	assert_int_equal(seen->n, 2);
	assert_int_equal(comm_merge_unfinished(merge), 2);
	push(merge, 1003 * ms, 5);
	comm_merge_push(merge, &(struct comm_event){.time_ns = 1004 * ms,
						    .tid = 99,
						    .kind = COMM_EV_LOSS,
						    .cause = COMM_LOSS_UNFINISHED,
						    .count = 1});
	comm_merge_flush(merge);
	assert_int_equal(seen->n, 3);
	assert_int_equal(seen->tid[2], 99);
	assert_int_equal(comm_merge_unfinished(merge), 3);
	comm_merge_destroy(merge);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orders_streams),
		cmocka_unit_test(test_equal_times_keep_push_order),
		cmocka_unit_test(test_watermark_holds_back_and_counts_late),
		cmocka_unit_test(test_out_of_memory_is_counted),
		cmocka_unit_test(test_samples_are_copied),
		cmocka_unit_test(test_the_end_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
