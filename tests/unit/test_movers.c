// SPDX-License-Identifier: GPL-2.0-or-later
/* Who moves memory for a language's runtime is not told to be the writer of what is in it. */
#include "made_engine.h"

static int begin_run(void **state)
{
	const struct comm_engine_config config = {
		.inspect = &inspect,
		.store = (struct comm_store *)&world,
		.estimator = &noting,
		.est = {.granularity_bytes = 16, .memory_bytes = 1, .cycles_per_ns = CYCLES_PER_NS},
		.slice_ns = SLICE,
		.start_ns = START,
	};
	static const uint8_t reads[] = {0x48, 0x8b, 0x03, 0xf4}; /* mov rax, [rbx]; hlt */

	(void)state;
	memset(&world, 0, sizeof(world));
	memcpy(world.text, reads, sizeof(reads));
	world.edges = 1; /* of 2 bytes, from the first thread to the second */
	mappings[0].path = "/usr/lib/jvm/lib/server/libjvm.so";
	return comm_engine_create(&config, &engine);
}

static int end_run(void **state)
{
	mappings[0].path = "/bin/made";
	return teardown(state);
}

static void meet(uint32_t tid, const char *name)
{
	struct comm_sample sample = sample_at(TEXT);

	world.name = name;
	give_sample(START + tid, tid, &sample);
}

static void edge_is_told(void)
{
	const struct comm_slice_info *slice = first_slice();

	assert_int_equal(world.n_edges, 1);
	assert_true(slice->unwritten.bytes == 5 && slice->unwritten.first_bytes == 4);
}

static void edge_is_of_nobody(void)
{
	const struct comm_slice_info *slice = first_slice();

	assert_int_equal(world.n_edges, 0);
	assert_true(slice->unwritten.bytes == 5 + 2 && slice->unwritten.first_bytes == 4 + 1);
}

static void of_a_collector(void **state)
{
	(void)state;
	meet(FIRST, "GC Thread#1");
	meet(SECOND, "consumer");
	edge_is_of_nobody();
}

/* Who ended before the slice did was one all the same. */
static void of_a_process_that_ended(void **state)
{
	(void)state;
	meet(FIRST, "GC Thread#1");
	meet(SECOND, "consumer");
	give(&(struct comm_event){
		.kind = COMM_EV_EXIT, .time_ns = START + 50, .tgid = TGID, .tid = SECOND});
	give(&(struct comm_event){
		.kind = COMM_EV_EXIT, .time_ns = START + 60, .tgid = TGID, .tid = FIRST});
	edge_is_of_nobody();
}

static void among_collectors(void **state)
{
	(void)state;
	meet(FIRST, "GC Thread#1");
	meet(SECOND, "VM Thread");
	edge_is_told();
}

static void to_a_collector(void **state)
{
	(void)state;
	meet(FIRST, "consumer");
	meet(SECOND, "GC Thread#1");
	edge_is_told();
}

/* A name alone is nothing: any program may have such a thread. */
static void without_the_runtime(void **state)
{
	(void)state;
	mappings[0].path = "/bin/made";
	meet(FIRST, "GC Thread#1");
	meet(SECOND, "consumer");
	edge_is_told();
}

/* FIRST wrote, SECOND read. */
static void give_window(void)
{
	struct comm_event event = fed_of(HEAP, HEAP, 1, 3);

	event.tid = FIRST;
	event.fed.read_tid = SECOND;
	give(&event);
}

/* What a window sees is that it was written, and not by whom. */
static void in_a_window(void **state)
{
	const struct comm_slice_info *slice;

	(void)state;
	world.edges = 0;
	meet(FIRST, "G1 Conc#0");
	meet(SECOND, "consumer");
	give_window();
	slice = first_slice();
	assert_int_equal(world.n_edges, 0);
	assert_true(slice->watched.unanswered_bytes == 3 * CYCLES_PER_NS);
}

static void in_a_window_of_others(void **state)
{
	(void)state;
	world.edges = 0;
	meet(FIRST, "producer");
	meet(SECOND, "consumer");
	give_window();
	first_slice();
	assert_int_equal(world.n_edges, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_run, end_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(of_a_collector),	     TEST(of_a_process_that_ended), TEST(among_collectors),
		TEST(to_a_collector),	     TEST(without_the_runtime),	    TEST(in_a_window),
		TEST(in_a_window_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
