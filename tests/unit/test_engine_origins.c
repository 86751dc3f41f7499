// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: where loads found their data. */
#include <linux/perf_event.h>

#include "made_engine.h"

static void give_load(uint64_t addr, uint64_t data_src, uint16_t latency_cycles, uint32_t period)
{
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = START,
				  .tgid = TGID,
				  .tid = SECOND,
				  .access = {.addr = addr,
					     .ip = TEXT,
					     .size_bytes = 8,
					     .flags = COMM_ACCESS_READ,
					     .latency_cycles = latency_cycles,
					     .period = period,
					     .data_src = data_src}});
}

#define P(a, b) PERF_MEM_S(a, b)
static const uint64_t from_own = P(OP, LOAD) | P(LVL, HIT) | P(LVL, L1);
static const uint64_t from_modified = P(OP, LOAD) | P(LVL, HIT) | P(LVL, L3) | P(SNOOP, HITM);
static const uint64_t from_nowhere = P(OP, LOAD) | P(LVL, NA);

static const struct comm_origin *origin_of(const char *object)
{
	const struct comm_identity *identity = comm_engine_identity(engine);

	for (size_t i = 0; i < world.n_origins; i++)
		if (!strcmp(comm_objects_at(identity->objects, world.origin[i].object)->name,
			    object))
			return &world.origin[i];
	fail_msg("no origin of %s", object);
	return NULL;
}

static bool sums_are(const struct comm_origin *origin, enum comm_data_from from, uint64_t samples,
		     double loads, double timed_loads, double timed_cycles)
{
	const struct comm_origin_sums *sums = &origin->from[from];

	return sums->samples == samples && sums->loads == loads &&
	       sums->timed_loads == timed_loads && sums->timed_cycles == timed_cycles;
}

/* By the end that read, and each by what its sample stands for. */
static void loads_have_an_origin(void **state)
{
	struct comm_event event = {.kind = COMM_EV_ACCESS, .time_ns = START, .tgid = TGID};
	const struct comm_origin *heap, *shared;

	(void)state;
	give_load(HEAP, from_modified, 200, 1000);
	give_load(HEAP + 64, from_modified, 400, 3000);
	give_load(HEAP, from_own, 5, 1000);
	give_load(HEAP, from_own, 0, 1000);
	give_load(HEAP, from_nowhere, 0, 500);
	give_load(SHARED, from_own, 7, 100);
	/* A PMU that was not asked, what no load is, and what no PMU saw. */
	give_load(HEAP, 0, 9, 1000);
	event.tid = SECOND;
	event.access = (struct comm_precise){.addr = HEAP,
					     .ip = TEXT,
					     .size_bytes = 8,
					     .flags = COMM_ACCESS_WRITE,
					     .data_src = from_own};
	give(&event);
	event.kind = COMM_EV_KCOPY;
	event.access.flags = COMM_ACCESS_READ;
	give(&event);
	/* An address of nothing is lost as before. */
	give_load(UNMAPPED, from_own, 5, 1000);
	first_slice();
	assert_int_equal(world.n_origins, 2);
	heap = origin_of("[heap]");
	shared = origin_of("/dev/shm/made");
	assert_int_equal(heap->thread, world.burst.thread);
	assert_int_equal(heap->site, shared->site);
	assert_true(sums_are(heap, COMM_FROM_MODIFIED, 2, 4000, 4000, 200e3 + 1200e3));
	assert_true(sums_are(heap, COMM_FROM_OWN, 2, 2000, 1000, 5000));
	assert_true(sums_are(heap, COMM_FROM_UNKNOWN, 1, 500, 0, 0));
	assert_true(sums_are(heap, COMM_FROM_REMOTE, 0, 0, 0, 0));
	assert_true(sums_are(shared, COMM_FROM_OWN, 1, 100, 100, 700));
	/* Not again in the next slice. */
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_origins, 0);
}

/* A load that a burst follows has its origin once, and the burst's loads have none. */
static void bursts_add_no_origin(void **state)
{
	struct comm_sample sample = sample_at(TEXT);
	struct comm_event load = {.kind = COMM_EV_ACCESS,
				  .time_ns = START + 10,
				  .tgid = TGID,
				  .tid = SECOND,
				  .access = {.addr = HEAP,
					     .ip = TEXT + 0x40,
					     .size_bytes = 8,
					     .flags = COMM_ACCESS_READ | COMM_ACCESS_BURST,
					     .period = 10,
					     .data_src = from_modified}};

	(void)state;
	memcpy(world.text, "\x48\x8b\x03", 3); /* mov rax,[rbx] */
	give(&load);
	give_sample(START + 10, SECOND, &sample);
	assert_int_equal(world.burst.n, 2);
	first_slice();
	assert_int_equal(world.n_origins, 1);
	assert_true(sums_are(&world.origin[0], COMM_FROM_MODIFIED, 1, 10, 0, 0));
	assert_true(sums_are(&world.origin[0], COMM_FROM_UNKNOWN, 0, 0, 0, 0));
}

/* Ends past the bound lose their names, fewest loads first, and are counted. */
static void origins_are_bounded(void **state)
{
	struct comm_event event = {
		.kind = COMM_EV_ACCESS, .time_ns = START, .tgid = TGID, .tid = FIRST};
	const uint32_t n = (1 << 16) + 1;

	(void)state;
	mappings[0].end = TEXT + n + PAGE;
	event.access = (struct comm_precise){
		.addr = HEAP, .size_bytes = 8, .flags = COMM_ACCESS_READ, .data_src = from_own};
	for (uint32_t i = 0; i < n; i++) {
		event.access.ip = TEXT + i;
		event.access.period = n - i;
		give(&event);
	}
	mappings[0].end = TEXT + 2 * PAGE;
	assert_int_equal(first_slice()->loss[COMM_LOSS_CELLS], 1 << 15);
	/* Half of the bound, the sum of the others, and the last. */
	assert_int_equal(world.n_origins, (1 << 15) + 2);
	assert_true(world.origin[0].from[COMM_FROM_OWN].loads == n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(loads_have_an_origin),
		TEST(bursts_add_no_origin),
		TEST(origins_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
