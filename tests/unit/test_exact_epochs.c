/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a cell was written, of a run that counts by itself (libcomm-exact): by frames, and by slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* A slice that begins just before the epoch of reads is set; 0: none does. */
static uint32_t slice_between;
static void between(const void *to);

#define __atomic_compare_exchange_n(p, ...) \
	(between(p), __atomic_compare_exchange_n(p, __VA_ARGS__))
#define __atomic_store_n(p, value, order)           \
	({                                          \
		__typeof__(*(p)) value_ = (value);  \
                                                    \
		between(p);                         \
		__atomic_store_n(p, value_, order); \
	})

#include "../exact/tsan/epoch.c"

static void between(const void *to)
{
	const uint32_t slice = slice_between;

	if (to != &comm_exact_epoch_read || !slice)
		return;
	slice_between = 0;
	comm_exact_epoch_slice(slice);
}

void *comm_exact_map_shared(size_t bytes)
{
	void *p = calloc(1, bytes);

	assert_non_null(p);
	return p;
}

/* As if the process had just begun. */
static void begin_epochs(int are_cut)
{
	free(epochs);
	epochs = NULL;
	comm_exact_epoch = comm_exact_epoch_read = 0;
	if (are_cut)
		comm_exact_epochs_cut();
}

static void test_frames_alone(void **state)
{
	(void)state;
	begin_epochs(0);
	assert_int_equal(comm_exact_back(0), 0);
	comm_exact_epoch_frame(1);
	assert_int_equal(comm_exact_back(0), 2);
	comm_exact_epoch_frame(2);
	assert_int_equal(comm_exact_epoch_read, 2);
	assert_int_equal(comm_exact_back(2), 1);
	assert_int_equal(comm_exact_back(1), 2);
	assert_int_equal(comm_exact_back(0), 3);
	assert_int_equal(comm_exact_earlier(1), 0);
	comm_exact_epoch_frame(COMM_EXACT_EPOCH_WRAP + 1);
	assert_int_equal(comm_exact_epoch, 1);
	assert_int_equal(comm_exact_back(COMM_EXACT_EPOCH_WRAP), 2);
}

/* Frames and slices begin by turns. */
static void test_frames_and_slices(void **state)
{
	static const uint32_t backs[4] = {3, 2, 2, 1};
	uint16_t written[4];

	(void)state;
	begin_epochs(1);
	written[0] = comm_exact_epoch;
	assert_true(written[0] > 0);
	assert_int_equal(comm_exact_back(written[0]), 0);
	comm_exact_epoch_frame(1);
	written[1] = comm_exact_epoch;
	comm_exact_epoch_slice(1);
	written[2] = comm_exact_epoch;
	comm_exact_epoch_frame(2);
	written[3] = comm_exact_epoch;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(comm_exact_back(written[i]), backs[i]);
		assert_int_equal(comm_exact_earlier(written[i]), i < 2);
	}
	comm_exact_epoch_slice(7);
	assert_int_equal(comm_exact_earlier(written[3]), 2);
	assert_int_equal(comm_exact_back(written[3]), 1);
	/* What a child of fork() writes is of no slice, and what it read of its parent is. */
	comm_exact_epochs_forked();
	assert_int_equal(comm_exact_earlier(comm_exact_epoch), COMM_EXACT_NO_SLICE);
	assert_int_equal(comm_exact_earlier(written[3]), 2);
	assert_int_equal(comm_exact_back(written[3]), 1);
	comm_exact_epoch_slice(8);
	assert_int_equal(comm_exact_earlier(comm_exact_epoch), COMM_EXACT_NO_SLICE);
}

/* Reads stay stopped while frames and slices begin. */
static void test_stopped(void **state)
{
	(void)state;
	begin_epochs(1);
	comm_exact_epoch_stop(1);
	comm_exact_epoch_slice(1);
	comm_exact_epoch_frame(1);
	assert_int_equal(comm_exact_epoch_read, COMM_EXACT_STOPPED);
	comm_exact_epoch_stop(0);
	assert_int_equal(comm_exact_epoch_read, comm_exact_epoch);
	comm_exact_epoch_slice(2);
	assert_int_equal(comm_exact_epoch_read, comm_exact_epoch);
}

/* A slice begins in another thread while a frame does, and while reads go on. */
static void test_at_once(void **state)
{
	(void)state;
	begin_epochs(1);
	slice_between = 1;
	comm_exact_epoch_frame(1);
	assert_int_equal(slice_between, 0);
	assert_int_equal(comm_exact_epoch_read, comm_exact_epoch);
	comm_exact_epoch_stop(1);
	slice_between = 2;
	comm_exact_epoch_stop(0);
	assert_int_equal(slice_between, 0);
	assert_int_equal(comm_exact_epoch_read, comm_exact_epoch);
	/* Stopped, reads stay so. */
	slice_between = 3;
	comm_exact_epoch_stop(1);
	assert_int_equal(slice_between, 0);
	assert_int_equal(comm_exact_epoch_read, COMM_EXACT_STOPPED);
}

/* No slice is told wrongly once numbers are given again. */
static void test_wrap(void **state)
{
	uint16_t first, last;

	(void)state;
	begin_epochs(1);
	first = comm_exact_epoch;
	for (uint32_t i = 1; i < COMM_EXACT_EPOCH_WRAP; i++)
		comm_exact_epoch_slice(i);
	last = comm_exact_epoch;
	assert_int_equal(comm_exact_earlier(first), 1);
	assert_int_equal(comm_exact_earlier(last), 0);
	comm_exact_epoch_frame(1);
	assert_int_equal(comm_exact_epoch, first);
	assert_int_equal(comm_exact_earlier(first), COMM_EXACT_NO_SLICE);
	assert_int_equal(comm_exact_earlier(last), COMM_EXACT_EPOCH_WRAP);
	comm_exact_epoch_slice(COMM_EXACT_EPOCH_WRAP);
	assert_int_equal(comm_exact_epoch, first);
	comm_exact_epoch_frame(2);
	assert_int_equal(comm_exact_earlier(comm_exact_epoch), COMM_EXACT_NO_SLICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_alone), cmocka_unit_test(test_frames_and_slices),
		cmocka_unit_test(test_stopped),	     cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_wrap),
	};
	int code = cmocka_run_group_tests(tests, NULL, NULL);

	free(epochs);
	return code;
}
