/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live view (inspect.h) of this very process, with code and data whose names and lines are known, and questions that
 * are asked until what children read has come.  To be included once by a test program.
 */
#ifndef TESTS_OWN_VIEW_H
#define TESTS_OWN_VIEW_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "first_child.h"
#include "inspect.h"

static struct comm_inspect inspect;
static uint32_t self;
static int test_live_data[1000] __attribute__((used)) = {1};

enum { TEST_LIVE_LINE = __LINE__ + 1 };
__attribute__((noinline, noclone, used)) static int test_live_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n * 5;
}

static inline int setup(void **state)
{
	(void)state;
	self = (uint32_t)getpid();
	return comm_inspect_live_create(&inspect);
}

static inline int teardown(void **state)
{
	(void)state;
	comm_inspect_destroy(&inspect);
	comm_inspect_destroy(&inspect);
	return 0;
}

/* Returns a copy, as the inspect view's mapping is only valid until the next call. */
static inline struct comm_mapping mapping_of(uint32_t tgid, const volatile void *p)
{
	uint64_t addr = (uint64_t)(uintptr_t)p;
	const struct comm_mapping *m;
	size_t n;

	assert_int_equal(inspect.ops->maps(inspect.ctx, tgid, &m, &n), 0);
	for (size_t i = 0; i < n; i++)
		if (addr >= m[i].start && addr < m[i].end)
			return m[i];
	fail();
	return m[0];
}

/* Asks until the symbols of the file have come. */
static inline int code_of(uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
			  struct comm_code *ret)
{
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	int err;

	while ((err = inspect.ops->code(inspect.ctx, tgid, m, ip, ret)) == 0 && ret->provisional &&
	       *ret->function == '[' && comm_clock_now_ns() < stop_ns)
		usleep(2000);
	return err;
}

static inline int data_of(const struct comm_mapping *m, uint64_t addr, struct comm_static *ret)
{
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	int err;

	while ((err = inspect.ops->data(inspect.ctx, self, m, addr, ret)) == -EAGAIN &&
	       comm_clock_now_ns() < stop_ns)
		usleep(2000);
	return err;
}

/* Asks until all that is being read of the file, or of the perf map, has come. */
static inline int whole_code_of(const struct comm_mapping *m, uint64_t ip, struct comm_code *ret)
{
	uint64_t stop_ns = comm_clock_now_ns() + 60ull * 1000000000;
	int err;

	while ((err = inspect.ops->code(inspect.ctx, self, m, ip, ret)) == 0 && ret->provisional &&
	       comm_clock_now_ns() < stop_ns)
		usleep(2000);
	return err;
}

#endif
