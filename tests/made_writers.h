/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads that may have written what is read at NOW, and the times at which they ran, for tests of compete.h. */
#ifndef TESTS_MADE_WRITERS_H
#define TESTS_MADE_WRITERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "compete.h"

enum {
	US = 1000, /* ns */
	START = 10000 * US,
	SPAN = 1024 * US,
	LATE = 256 * US, /* of the span, its end */
	NOW = START + SPAN,
	READER = 1,
	A = 2,
	B = 3,
};

static const double often = 1.0 / US; /* writes per ns: it is certain that there is one */
static const double once = 1.0 / SPAN;
static struct comm_on_cpu *on_cpu;
static struct comm_compete *compete;
static struct comm_candidate candidate[2];
static double first;

static inline int setup(void **state)
{
	(void)state;
	if (comm_on_cpu_create(1 << 24, &on_cpu) || comm_compete_create(on_cpu, &compete))
		return -1;
	comm_compete_span(compete, START, NOW + SPAN);
	comm_compete_at(compete, NOW, NULL);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	comm_compete_destroy(compete);
	comm_on_cpu_destroy(on_cpu);
	return 0;
}

/* Thread A and thread B, who write so often while they run, as all writers that were seen. */
static inline void rates(double a, double b)
{
	const double rate[] = {a, b};

	for (uint32_t i = 0; i < 2; i++)
		candidate[i] = (struct comm_candidate){.thread = A + i,
						       .rate = rate[i],
						       .chance = 1,
						       .active = 1,
						       .label = 0.5,
						       .factor = 1,
						       .seen_ns = -1,
						       .seen_around_ns = -1};
}

/* Thread A runs up to the last part of the span, and thread B in that. */
static inline void take_turns(void)
{
	assert_int_equal(comm_on_cpu_switch(on_cpu, START, A, true), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, START, B, false), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, NOW - LATE, A, false), 0);
	assert_int_equal(comm_on_cpu_switch(on_cpu, NOW - LATE, B, true), 0);
}

static inline double run(uint32_t n, double read_rate, double written)
{
	const struct comm_compete_read read = {READER, read_rate, written};

	return comm_compete_run(compete, &read, candidate, n, &first);
}

static inline bool near(double value, double expected)
{
	return fabs(value - expected) < 1e-5;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
