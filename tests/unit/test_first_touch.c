// SPDX-License-Identifier: GPL-2.0-or-later
/* First touches of pages: what the estimator is told of them. */
#include <stdio.h>

#include "made_engine.h"

static void give_touch_by(uint64_t ip, uint64_t addr, uint16_t flags)
{
	give(&(struct comm_event){
		.kind = COMM_EV_TOUCH,
		.time_ns = START + 10,
		.tgid = TGID,
		.tid = SECOND,
		.access = {.addr = addr, .ip = ip, .size_bytes = 2 * PAGE, .flags = flags}});
}

static void give_touch(uint64_t addr, uint16_t flags)
{
	give_touch_by(TEXT, addr, flags);
}

static const char *touching(void)
{
	const struct comm_sites *sites = comm_engine_identity(engine)->sites;

	return comm_sites_function_at(sites, comm_sites_at(sites, world.touch.site)->function)
		->name;
}

/* What touches pages is said to have written all of them where it filled them. */
static void first_writes_have_code(void **state)
{
	const uint16_t filled = COMM_ACCESS_WRITE | COMM_ACCESS_REP;

	(void)state;
	give_touch(HEAP, COMM_ACCESS_WRITE);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
	give_touch(HEAP, filled);
	assert_string_equal(touching(), "made");
	give_touch_by(0, HEAP, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
	give_touch_by(0, HEAP, filled | COMM_ACCESS_KERNEL);
	assert_int_equal(world.touch.site, COMM_SITE_KERNEL);
	/* An allocator only cuts them, memset() only clears them, and code in no mapping is not known. */
	give_touch_by(ALLOCATES, HEAP, filled);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
	give_touch_by(CLEARS, HEAP, filled);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
	give_touch_by(TEXT - PAGE, HEAP, filled);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
}

static void first_writes_reach_the_estimator(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;
	uint64_t heap;

	(void)state;
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	heap = world.access[0].datum;
	give_touch(HEAP, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 1);
	assert_true(world.touch.time_ns == START + 10 && world.touch.datum == heap &&
		    world.touch.size_bytes == 2 * PAGE);
	assert_int_equal(comm_threads_at(threads, world.touch.thread)->tid, SECOND);
	give_touch(HEAP, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	assert_int_equal(world.n_touches, 2);
	/* Memory so new that no mapping of it is known is the process's own. */
	give_touch(HEAP + 64 * PAGE, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 3);
	assert_int_equal(world.touch.datum, heap + 64 * PAGE);
	/* Who changed a page of a file did not write what else it holds, unless all was filled. */
	give_touch(TEXT, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 3);
	give_touch(TEXT, COMM_ACCESS_WRITE | COMM_ACCESS_REP);
	assert_int_equal(world.n_touches, 4);
	/* Shared memory may have been written by others before. */
	give_touch(SHARED, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 4);
	assert_lost(COMM_LOSS_MAX, 0);
	assert_int_equal(world.n_bursts, 1);
}

/* The loader relocates pages of files one by one, and makes them constant. */
static void the_loader_writes_files(void **state)
{
	const struct comm_mapping was = mappings[0];

	(void)state;
	mappings[0].path = "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
	give_touch(TEXT, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 1);
	assert_true(world.touch.loads);
	assert_int_equal(world.touch.site, COMM_SITE_STARTUP);
	/* Other memory that it touches is as any. */
	give_touch(HEAP, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_touches, 2);
	assert_false(world.touch.loads);
	assert_int_equal(world.touch.site, COMM_SITE_FIRST_WRITE);
	mappings[0] = was;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_writes_reach_the_estimator),
		TEST(first_writes_have_code),
		TEST(the_loader_writes_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
