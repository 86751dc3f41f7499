// SPDX-License-Identifier: GPL-2.0-or-later
/* Who wrote what comes out of channels, where it is known what went in: the kernel here is a number of bytes. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../exact/transit.c"

enum { A = 1, B, C, RUNS_MAX = 64 };

static const struct comm_transit_end pipe_a = {1, 100, COMM_TRANSIT_PIPE},
				     pipe_b = {1, 101, COMM_TRANSIT_PIPE},
				     left = {2, 200, COMM_TRANSIT_SOCKET},
				     right = {2, 201, COMM_TRANSIT_SOCKET};
static int64_t kernel; /* bytes that it has */
static uint32_t self;
static char got[256]; /* "writer:bytes " for each run */

static void *map_shared(size_t bytes)
{
	return calloc(1, bytes);
}

static int give_way(unsigned int turn)
{
	return turn < 3;
}

static uint32_t self_is(void)
{
	return self;
}

static int64_t queued(int fd)
{
	(void)fd;
	return kernel;
}

static const struct comm_transit_host made = {map_shared, give_way, self_is, queued};

static int setup(void **state)
{
	(void)state;
	kernel = 0;
	self = 1;
	return comm_transit_init(&made);
}

static int teardown(void **state)
{
	(void)state;
	free(table);
	table = NULL;
	return 0;
}

static struct comm_transit_call begin(const struct comm_transit_end *end, uint32_t writer,
				      uint64_t bytes)
{
	struct comm_transit_call call;

	if (comm_transit_write(end, 0, &call)) {
		comm_transit_put(&call, writer, 7, bytes);
		comm_transit_sent(&call);
	}
	return call;
}

static void end(struct comm_transit_call *call, int64_t bytes)
{
	kernel += bytes > 0 ? bytes : 0;
	comm_transit_written(call, bytes);
}

static void put(const struct comm_transit_end *to, uint32_t writer, uint64_t bytes)
{
	struct comm_transit_call call = begin(to, writer, bytes);

	end(&call, bytes);
}

static void note(void *ctx, uint32_t writer, uint64_t date, uint64_t bytes)
{
	size_t n = strlen(got);

	(void)ctx;
	assert_int_equal(date, writer ? 7 : date);
	snprintf(got + n, sizeof(got) - n, "%u:%" PRIu64 " ", writer, bytes);
}

/* The kernel has taken the bytes out already. */
static void finish(struct comm_transit_call *call, int64_t bytes, const char *runs)
{
	*got = 0;
	comm_transit_got(call, 0, bytes, note, NULL);
	assert_string_equal(got, runs);
}

static void take_out(const struct comm_transit_end *from, int64_t bytes, const char *runs)
{
	struct comm_transit_call call;

	comm_transit_read(from, &call);
	kernel -= bytes;
	finish(&call, bytes, runs);
}

static void in_order(void **state)
{
	struct comm_transit_call call;

	(void)state;
	put(&pipe_a, A, 100);
	put(&pipe_a, B, 50);
	take_out(&pipe_a, 30, "1:30 ");
	put(&pipe_a, A, 8);
	take_out(&pipe_a, 90, "1:70 2:20 ");
	/* One call has what several wrote. */
	assert_true(comm_transit_write(&pipe_a, 0, &call));
	comm_transit_put(&call, B, 7, 4);
	comm_transit_put(&call, C, 7, 4);
	comm_transit_put(&call, C, 7, 4);
	comm_transit_sent(&call);
	end(&call, 12);
	take_out(&pipe_a, 50, "2:30 1:8 2:4 3:8 ");
	assert_int_equal(table->free != 0, 1);
	/* What was used comes into use again. */
	for (int i = 0; i < COMM_TRANSIT_RUNS + 10; i++) {
		put(&pipe_a, A, 1);
		take_out(&pipe_a, 1, "1:1 ");
	}
	assert_true(table->n_runs < 10);
}

static void other_channels(void **state)
{
	(void)state;
	put(&pipe_a, A, 10);
	kernel = 0;
	put(&pipe_b, B, 10);
	take_out(&pipe_b, 10, "2:10 ");
	kernel = 10;
	take_out(&pipe_a, 10, "1:10 ");
}

/* The kernel takes less than it is given, or nothing. */
static void partial_writes(void **state)
{
	struct comm_transit_call call;

	(void)state;
	put(&pipe_a, A, 10);
	call = begin(&pipe_a, B, 100);
	end(&call, 20);
	call = begin(&pipe_a, C, 100);
	end(&call, -1);
	put(&pipe_a, A, 5);
	take_out(&pipe_a, 35, "1:10 2:20 1:5 ");
	/* Some of it is read while it goes on: 30 of the 40 that it comes to. */
	call = begin(&pipe_a, B, 100);
	kernel = 30;
	take_out(&pipe_a, 30, "2:30 ");
	end(&call, 40);
	kernel = 10;
	put(&pipe_a, C, 3);
	take_out(&pipe_a, 13, "2:10 3:3 ");
}

/* What is missing in the pipe has not come yet; unless others read, who may have taken it. */
static void writes_that_go_on(void **state)
{
	struct comm_transit_call call, other;

	(void)state;
	put(&pipe_a, C, 5);
	assert_true(comm_transit_write(&pipe_a, 0, &call));
	comm_transit_put(&call, A, 7, 10);
	comm_transit_put(&call, B, 7, 90);
	comm_transit_sent(&call);
	kernel = 35;
	take_out(&pipe_a, 10, "3:5 1:5 ");
	comm_transit_read(&pipe_a, &other);
	take_out(&pipe_a, 10, "0:5 0:5 ");
	comm_transit_written(&call, 100);
}

/* What begins first need not be first in the pipe. */
static void writes_that_overlap(void **state)
{
	struct comm_transit_call first, second;

	(void)state;
	put(&pipe_a, C, 5);
	first = begin(&pipe_a, A, 10);
	second = begin(&pipe_a, B, 20);
	end(&second, 20);
	end(&first, 10);
	put(&pipe_a, C, 5);
	take_out(&pipe_a, 40, "3:5 0:10 0:20 3:5 ");
	/* Unless the pipe has the first by then. */
	first = begin(&pipe_a, A, 10);
	kernel = 10;
	second = begin(&pipe_a, B, 20);
	kernel = 30;
	comm_transit_written(&second, 20);
	comm_transit_written(&first, 10);
	take_out(&pipe_a, 30, "1:10 2:20 ");
	/* Of a third one it is not asked again. */
	first = begin(&pipe_a, A, 10);
	kernel = 10;
	second = begin(&pipe_a, B, 20);
	put(&pipe_a, C, 5);
	kernel = 35;
	comm_transit_written(&second, 20);
	comm_transit_written(&first, 10);
	take_out(&pipe_a, 35, "1:10 0:20 0:5 ");
}

static void reads_that_overlap(void **state)
{
	struct comm_transit_call first, second;

	(void)state;
	comm_transit_read(&pipe_a, &first);
	comm_transit_read(&pipe_a, &second);
	/* One of them waits: the pipe has what it should. */
	put(&pipe_a, A, 10);
	put(&pipe_a, B, 10);
	kernel = 10;
	finish(&first, 10, "1:10 ");
	/* Both took some, and who came first is not known. */
	put(&pipe_a, C, 10);
	comm_transit_read(&pipe_a, &first);
	kernel = 0;
	finish(&first, 10, "0:10 ");
	finish(&second, 10, "0:10 ");
	/* It does not matter where one has written all. */
	comm_transit_read(&pipe_a, &first);
	comm_transit_read(&pipe_a, &second);
	put(&pipe_a, C, 10);
	put(&pipe_a, C, 10);
	kernel = 0;
	finish(&first, 10, "3:10 ");
	finish(&second, 10, "3:10 ");
}

/* A process that nobody follows. */
static void strangers(void **state)
{
	(void)state;
	/* It writes: where in the pipe nobody knows. */
	put(&pipe_a, A, 10);
	kernel += 5;
	put(&pipe_a, B, 10);
	take_out(&pipe_a, 12, "0:12 ");
	put(&pipe_a, C, 10);
	take_out(&pipe_a, 23, "0:13 3:10 ");
	/* More comes than there is. */
	put(&pipe_a, A, 10);
	kernel += 5;
	take_out(&pipe_a, 15, "0:15 ");
	put(&pipe_a, B, 4);
	take_out(&pipe_a, 4, "2:4 ");
	/* It reads. */
	put(&pipe_a, A, 10);
	put(&pipe_a, B, 10);
	kernel -= 5;
	take_out(&pipe_a, 8, "0:5 0:3 ");
	take_out(&pipe_a, 7, "0:7 ");
	put(&pipe_a, B, 4);
	take_out(&pipe_a, 4, "2:4 ");
	/* Nothing was ever written here by any that is followed. */
	kernel = 9;
	take_out(&pipe_b, 9, "0:9 ");
}

static void sockets(void **state)
{
	struct comm_transit_call call;

	(void)state;
	/* Not paired: it may be anybody's. */
	put(&left, A, 10);
	comm_transit_read(&right, &call);
	finish(&call, 10, "");
	comm_transit_pair(&left, &right);
	kernel = 0;
	put(&left, A, 10);
	kernel = 0;
	put(&right, B, 6);
	take_out(&left, 6, "2:6 ");
	kernel = 10;
	take_out(&right, 10, "1:10 ");
	/* The writer's end does not tell what has come. */
	call = begin(&left, A, 10);
	kernel = 10;
	put(&left, B, 10);
	comm_transit_written(&call, 10);
	take_out(&right, 20, "0:10 0:10 ");
}

/* A handler writes while its own thread is here; and who has the table is killed. */
static void interrupted(void **state)
{
	struct comm_transit_call call, handler;

	(void)state;
	assert_true(comm_transit_write(&pipe_a, 0, &call));
	comm_transit_put(&call, A, 7, 10);
	assert_false(comm_transit_write(&pipe_a, 0, &handler));
	comm_transit_written(&handler, 4);
	comm_transit_sent(&call);
	end(&call, 10);
	kernel += 4;
	take_out(&pipe_a, 14, "0:14 ");
	assert_true(comm_transit_write(&pipe_a, 0, &call));
	self = 2;
	put(&pipe_b, B, 5);
	kernel = 5;
	take_out(&pipe_b, 5, "2:5 ");
}

static void many_channels(void **state)
{
	struct comm_transit_end one = pipe_b;

	(void)state;
	put(&pipe_a, B, 10);
	/* Those that hold nothing make room. */
	for (uint32_t i = 0; i < 3 * COMM_TRANSIT_CHANNELS; i++) {
		one.number = 1000 + i;
		kernel = 0;
		put(&one, A, 1);
		take_out(&one, 1, "1:1 ");
	}
	kernel = 10;
	take_out(&pipe_a, 10, "2:10 ");
	assert_int_equal(comm_transit_lost(), 0);
	/* Those that were left full do so, too, and it is said. */
	for (uint32_t i = 0; i < 3 * COMM_TRANSIT_CHANNELS; i++) {
		one.number = 100000 + i;
		put(&one, A, 2);
	}
	assert_true(comm_transit_lost() >= 2 * 2 * COMM_TRANSIT_CHANNELS);
	kernel = 2;
	take_out(&one, 2, "1:2 ");
}

static void many_runs(void **state)
{
	struct comm_transit_call call;

	(void)state;
	put(&pipe_b, C, 3);
	kernel = 0;
	/* What others left makes room. */
	for (uint32_t i = 0; i < COMM_TRANSIT_RUNS; i++)
		put(&pipe_a, A + i % 2, 1);
	assert_int_equal(comm_transit_lost(), 3);
	take_out(&pipe_a, 2, "1:1 2:1 ");
	put(&pipe_a, A, 2);
	put(&pipe_a, B, 2);
	/* One channel cannot have more than all. */
	assert_true(comm_transit_write(&pipe_a, 0, &call));
	comm_transit_put(&call, A, 7, 1);
	comm_transit_put(&call, B, 7, 1);
	comm_transit_sent(&call);
	end(&call, 2);
	assert_int_equal(comm_transit_lost(), 3 + COMM_TRANSIT_RUNS + 3);
	take_out(&pipe_a, 9, "0:9 ");
	kernel = 0;
	put(&pipe_b, B, 1);
	take_out(&pipe_b, 1, "2:1 ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(in_order),
		TEST(other_channels),
		TEST(partial_writes),
		TEST(writes_that_go_on),
		TEST(writes_that_overlap),
		TEST(reads_that_overlap),
		TEST(strangers),
		TEST(sockets),
		TEST(interrupted),
		TEST(many_channels),
		TEST(many_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
