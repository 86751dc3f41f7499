// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: what the survey tells of reads. */
#include <math.h>

#include "made_engine.h"

#define MS 1000000ull

static struct comm_event census_of(uint64_t addr, uint64_t quiet_ns, uint64_t changed_ns)
{
	struct comm_event event = {
		.kind = COMM_EV_CENSUS, .time_ns = START + 30, .tgid = TGID, .tid = FIRST};

	event.census.read = (struct comm_precise){
		.addr = addr, .ip = TEXT, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	event.census.stands_for = 5;
	event.census.quiet_ns = quiet_ns;
	event.census.changed_ns = changed_ns;
	return event;
}

static void words_are_summed_by_class(void **state)
{
	struct comm_event event = census_of(HEAP, 3 * MS, 10 * MS);

	(void)state;
	give(&event);
	give(&event);
	event = census_of(HEAP, 10000 * MS, 0);
	event.census.waits = true;
	give(&event);
	first_slice();
	assert_int_equal(world.n_census, 2);
	assert_int_equal(world.census[0].class, COMM_CENSUS_CHANGED + 2);
	assert_int_equal(world.census[0].words, 2);
	/* What a burst of so many cycles reads in a period of so many nanoseconds. */
	assert_true(world.census[0].bytes == 2 * 5 * CYCLES_PER_NS);
	assert_true(world.census[0].squares == 2 * pow(5 * CYCLES_PER_NS, 2));
	assert_int_equal(world.census[1].class, COMM_CENSUS_WAITS);
	assert_int_equal(world.census[0].site, world.census[1].site);
	/* A slice has its own alone. */
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_census, 0);
}

static void words_that_say_nothing(void **state)
{
	static const double bytes[] = {0, -1, NAN, INFINITY};
	struct comm_event event = census_of(HEAP, 0, 0);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		event.census.stands_for = bytes[i];
		give(&event);
	}
	event = census_of(UNMAPPED, 0, 0);
	give(&event);
	first_slice();
	assert_int_equal(world.n_census, 0);
	assert_lost(COMM_LOSS_UNMAPPED, 1);
}

/* Two pairs of a window are one observation, those of two windows two. */
static void pairs_of_windows(void **state)
{
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);
	const struct comm_slice_info *slice;

	(void)state;
	world.watched = 1;
	give(&event);
	give(&event);
	event.fed.window = 2;
	give(&event);
	event = fed_of(HEAP, HEAP, 3, 5);
	event.fed.write.flags = 0;
	give(&event);
	slice = first_slice();
	assert_int_equal(slice->watched.watches, 3);
	assert_true(slice->watched.unanswered_bytes == 5 * CYCLES_PER_NS);
	assert_int_equal(world.n_edges, 1);
	assert_true(world.last_edge.watched_bytes == 9 * CYCLES_PER_NS);
	assert_true(fabs(world.last_edge.watched_variance / pow(CYCLES_PER_NS, 2) - (36 + 9)) <
		    1e-6);
	assert_true(world.last_edge.src_thread != world.last_edge.dst_thread);
}

/* Who frees a block writes into it what the allocator reads when it gives it away: that feeds nobody. */
static void what_an_allocator_reads(void **state)
{
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);

	(void)state;
	event.fed.read.ip = ALLOCATES;
	give(&event);
	assert_int_equal(first_slice()->watched.watches, 0);
	assert_int_equal(world.n_edges, 0);
	assert_lost(COMM_LOSS_MAX, 0);
}

static void code_of_a_writer_is_not_told(void **state)
{
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);

	(void)state;
	world.watched = 1;
	event.fed.write.ip = 0;
	give(&event);
	first_slice();
	assert_int_equal(world.last_edge.src_site, COMM_SITE_NOT_TOLD);
	assert_true(world.last_edge.dst_site != COMM_SITE_NOT_TOLD);
	assert_lost(COMM_LOSS_MAX, 0);
}

/* The kernel has no code that is told, and nobody guesses at it. */
static void the_kernel_writes(void **state)
{
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);

	(void)state;
	world.watched = 1;
	event.fed.write.ip = 0;
	event.fed.write.flags |= COMM_ACCESS_KERNEL;
	give(&event);
	first_slice();
	assert_int_equal(world.last_edge.src_site, COMM_SITE_KERNEL);
	assert_lost(COMM_LOSS_MAX, 0);
}

static const char *writer_told(uint64_t addr)
{
	const struct comm_sites *sites = comm_engine_identity(engine)->sites;
	struct comm_event event = fed_of(addr, addr, 1, 3);
	static uint64_t slices;

	slices = world.n_slices + 1;
	world.watched = 1;
	event.fed.write.ip = 0;
	event.time_ns = START + (slices - 1) * SLICE + 1;
	give(&event);
	comm_engine_advance(engine, START + slices * SLICE);
	return comm_sites_function_at(sites,
				      comm_sites_function_of(sites, world.last_edge.src_site))
		->name;
}

static void give_writes(uint32_t tid, uint64_t ip, uint64_t addr, int times)
{
	struct comm_sample sample = sample_at(ip);

	sample.reg[COMM_RBX] = addr;
	for (int i = 0; i < times; i++)
		give_sample(START + world.n_slices * SLICE, tid, &sample);
}

/* Looks tell threads; of code there is a guess by what samples saw them write, which is called one. */
static void code_of_a_writer_is_guessed(void **state)
{
	(void)state;
	/* mov %eax,(%rbx); hlt */
	memcpy(world.text, "\x89\x03\xf4", 3);
	memcpy(world.text + ALLOCATES - TEXT, "\x89\x03\xf4", 3);
	/* Nothing is remembered before it is asked for. */
	give_writes(SECOND, TEXT, HEAP, 4);
	assert_string_equal(writer_told(HEAP), "[code not known]");
	give_writes(SECOND, TEXT, HEAP, 4);
	assert_string_equal(writer_told(HEAP), "made (seen writing it)");
	assert_string_equal(writer_told(HEAP + 4), "made (seen writing it)");
	/* Another word of the heap says nothing of this one. */
	assert_string_equal(writer_told(HEAP + 64), "[code not known]");
	/* Of two functions that write it alike none is named, of unlike ones the one with most. */
	give_writes(SECOND, ALLOCATES, HEAP, 4);
	assert_string_equal(writer_told(HEAP), "[code not known]");
	give_writes(SECOND, ALLOCATES, HEAP, 1);
	assert_string_equal(writer_told(HEAP), "_int_malloc (seen writing it)");
	/* What another one of its role was seen to do, if it was not seen itself. */
	give_writes(SECOND + 1, TEXT, HEAP + 128, 1);
	assert_string_equal(writer_told(HEAP + 128), "made (seen writing it)");
	assert_lost(COMM_LOSS_MAX, 0);
}

/* What a window saw itself is no guess. */
static void code_that_is_told_is_no_guess(void **state)
{
	const struct comm_sites *sites = comm_engine_identity(engine)->sites;
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);

	(void)state;
	world.watched = 1;
	give(&event);
	first_slice();
	assert_string_equal(comm_sites_function_at(
				    sites, comm_sites_function_of(sites, world.last_edge.src_site))
				    ->name,
			    "made");
}

/* The same address of another process is other data. */
static void a_write_elsewhere(void **state)
{
	struct comm_event event = fed_of(HEAP, HEAP + 8, 1, 3);

	(void)state;
	give(&event);
	event = fed_of(HEAP, HEAP, 2, 3);
	event.tgid = OTHER_TGID;
	give(&event);
	assert_int_equal(first_slice()->watched.watches, 0);
	assert_lost(COMM_LOSS_WATCH, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(words_are_summed_by_class),
		TEST(words_that_say_nothing),
		TEST(pairs_of_windows),
		TEST(what_an_allocator_reads),
		TEST(code_of_a_writer_is_not_told),
		TEST(the_kernel_writes),
		TEST(a_write_elsewhere),
		TEST(code_of_a_writer_is_guessed),
		TEST(code_that_is_told_is_no_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
