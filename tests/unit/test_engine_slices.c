// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: when slices end, and what they count and lose. */
#include "made_engine.h"

static void costs_land_in_their_slice(void **state)
{
	struct comm_event cost = {.kind = COMM_EV_COST, .time_ns = START};

	(void)state;
	cost.cost.handler_ns = 1;
	cost.cost.daemon_ns = 2;
	cost.cost.setup_ns = 3;
	cost.cost.target_ns = 4;
	cost.cost.daemon_idle_ns = 5;
	give(&cost);
	give(&cost);
	cost.time_ns = START + SLICE;
	give(&cost);
	comm_engine_finish(engine, START + SLICE + 1);
	assert_int_equal(world.n_slices, 2);
	for (int i = 0; i < 2; i++)
		assert_true(world.slice[i].handler_ns == 2u - i &&
			    world.slice[i].daemon_ns == 2 * (2u - i) &&
			    world.slice[i].setup_ns == 3 * (2u - i) &&
			    world.slice[i].target_ns == 4 * (2u - i) &&
			    world.slice[i].daemon_idle_ns == 5 * (2u - i));
}

/* Budgets that were in force in a slice, also of events without one. */
static void budgets_land_in_their_slice(void **state)
{
	struct comm_event cost = {.kind = COMM_EV_COST, .time_ns = START};
	static const double limits[] = {0.01, 0.05, 0, 0.002};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		cost.cost.limit = limits[i];
		cost.cost.floor = limits[i] / 10;
		give(&cost);
	}
	cost.time_ns = START + SLICE;
	cost.cost.limit = 0.03;
	give(&cost);
	comm_engine_finish(engine, START + SLICE + 1);
	assert_true(world.slice[0].budgets.most == 0.05 && world.slice[0].budgets.least == 0.002 &&
		    world.slice[0].budgets.floor == 0.005);
	assert_true(world.slice[1].budgets.most == 0.03 && world.slice[1].budgets.least == 0.03);
}

/* Losses of a source, the merge or the recorder are stored with their slice. */
static void losses_land_in_their_slice(void **state)
{
	struct comm_event loss = {.kind = COMM_EV_LOSS};

	(void)state;
	for (uint32_t cause = 0; cause <= COMM_LOSS_MAX; cause++) {
		loss.time_ns = START + cause;
		loss.cause = cause;
		loss.count = cause + 1;
		give(&loss);
		/*
		 * The estimator must be told of these two causes: which threads run
		 * is unknown from then on.
		 */
		if (cause == COMM_LOSS_SCHED || cause == COMM_LOSS_BUDGET)
			assert_int_equal(world.lost_ns, START + cause);
	}
	assert_int_equal(world.n_lost, 2);
	loss.cause = UINT32_MAX;
	give(&loss);
	for (uint32_t cause = 0; cause < COMM_LOSS_MAX; cause++)
		assert_int_equal(first_slice()->loss[cause], cause + 1);
}

static void slices_are_cut_in_time(void **state)
{
	(void)state;
	comm_engine_advance(engine, START + SLICE - 1);
	assert_int_equal(world.n_slices, 0);
	/* An event exactly at the end of a slice belongs to the next one. */
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = START + SLICE,
				  .tgid = TGID,
				  .tid = FIRST,
				  .access = {.addr = HEAP, .ip = TEXT, .size_bytes = 1}});
	assert_int_equal(world.n_slices, 1);
	assert_true(world.slice[0].start_ns == START && world.slice[0].end_ns == START + SLICE);
	assert_int_equal(world.slice[0].samples, 0);
	assert_true(world.slice[0].unwritten.bytes == 5 &&
		    world.slice[0].unwritten.first_bytes == 4);
	/* Time that goes back cuts nothing. */
	comm_engine_advance(engine, 0);
	assert_int_equal(world.n_slices, 1);
	/* A silence of three slices is three slices. */
	comm_engine_advance(engine, START + 4 * SLICE + 5);
	assert_int_equal(world.n_slices, 4);
	assert_int_equal(world.slice[1].samples, 1);
	for (int i = 1; i < 4; i++)
		assert_true(world.slice[i].start_ns == START + (uint64_t)i * SLICE &&
			    world.slice[i].end_ns == START + (uint64_t)(i + 1) * SLICE);
	comm_engine_finish(engine, START + 4 * SLICE + 100);
	assert_int_equal(world.n_slices, 5);
	assert_true(world.slice[4].start_ns == START + 4 * SLICE &&
		    world.slice[4].end_ns == START + 4 * SLICE + 100);
	comm_engine_finish(engine, START + 4 * SLICE + 100);
	assert_int_equal(world.n_slices, 5);
	assert_int_equal(world.n_done, 5);
}

static void a_long_silence_is_one_slice(void **state)
{
	(void)state;
	comm_engine_advance(engine, START + 5000ull * SLICE + 7);
	assert_int_equal(world.n_slices, 1);
	assert_true(world.slice[0].start_ns == START &&
		    world.slice[0].end_ns == START + 5000ull * SLICE);
	comm_engine_advance(engine, START + 5001ull * SLICE);
	assert_int_equal(world.n_slices, 2);
	assert_int_equal(world.slice[1].end_ns, START + 5001ull * SLICE);
}

static void an_estimator_without_room(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03\x48\x8b\x01", 6);
	world.burst_err = -ENOSPC;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_WINDOW, 2);
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 2);
}

static void an_estimator_that_cannot_follow_threads(void **state)
{
	(void)state;
	world.sched_err = -ENOMEM;
	give_switch(TGID, FIRST, TGID, SECOND);
	assert_lost(COMM_LOSS_SCHED, 2);
	assert_int_equal(world.n_lost, 0);
}

static void an_estimator_that_fails_to_estimate(void **state)
{
	(void)state;
	world.slice_err = -ENOMEM;
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 2);
	/* A failed estimate is counted even for a slice without bursts. */
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_WINDOW], 1);
	assert_lost(COMM_LOSS_WINDOW, 3);
}

/* Growth of the estimator's totals is stored once. */
static void what_the_estimator_thinned(void **state)
{
	(void)state;
	world.thinned = 10;
	world.folded = 3;
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 10);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_CELLS], 3);
	world.thinned = 12;
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_WINDOW], 2);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_CELLS], 0);
}

static void edges_without_room_are_folded(void **state)
{
	(void)state;
	world.edges = 5000;
	assert_int_equal(first_slice()->loss[COMM_LOSS_CELLS], 0);
	assert_true(world.n_edges == 5000 && world.edge_bytes == 10000);
	world.edges = MANY_EDGES;
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_true(world.slice[1].loss[COMM_LOSS_CELLS] >= 100);
	assert_int_equal(world.n_edges + world.slice[1].loss[COMM_LOSS_CELLS], MANY_EDGES + 1);
	assert_true(world.edge_bytes == 2.0 * MANY_EDGES);
	assert_true(world.last_edge.src_thread == COMM_ID_OTHER &&
		    world.last_edge.dst_thread == COMM_ID_OTHER && world.last_edge.src_site == 0);
	assert_true(world.last_edge.bursts == world.slice[1].loss[COMM_LOSS_CELLS] &&
		    world.last_edge.first_bytes == world.last_edge.bursts &&
		    world.last_edge.variance == 3.0 * world.last_edge.bursts &&
		    world.last_edge.level == 4);
	/* The folded edges are not in the slice after it, too. */
	world.edges = 2;
	comm_engine_advance(engine, START + 3 * SLICE);
	assert_true(world.n_edges == 2 && world.edge_bytes == 4);
}

static void a_store_that_fails(void **state)
{
	(void)state;
	world.store_err = -ENOSPC;
	give_precise(COMM_EV_ACCESS, UNMAPPED, COMM_ACCESS_READ);
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_slices, 0);
	assert_int_equal(lost(COMM_LOSS_STORE), 2);
	world.store_err = 0;
	comm_engine_advance(engine, START + 4 * SLICE);
	assert_int_equal(world.n_slices, 2);
	/*
	 * The losses of the two slices that could not be stored come with the next
	 * one that is, once.
	 */
	assert_int_equal(world.slice[0].start_ns, START + 2 * SLICE);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_STORE], 2);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_UNMAPPED], 1);
	assert_int_equal(world.slice[0].samples, 0);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_STORE], 0);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_UNMAPPED], 0);
	assert_int_equal(world.n_done, 4);
}

static void threads_without_an_id(void **state)
{
	struct comm_event event = {.kind = COMM_EV_FORK, .time_ns = START};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t tid = 1; tid < COMM_THREADS_MAX + 10; tid++) {
			event.fork.child_tgid = event.fork.child_tid = tid;
			give(&event);
		}
	}
	/* One id less, as one is "(other)"; a thread that asks twice is counted once. */
	assert_int_equal(first_slice()->loss[COMM_LOSS_THREADS], 10);
	assert_lost(COMM_LOSS_THREADS, 10);
}

static void code_without_an_id(void **state)
{
	(void)state;
	mappings[0].end = TEXT + COMM_SITES_MAX + 100;
	for (uint32_t i = 0; i < COMM_SITES_MAX + 50; i++)
		give(&(struct comm_event){
			.kind = COMM_EV_ACCESS,
			.time_ns = START,
			.tgid = TGID,
			.tid = FIRST,
			.access = {.addr = STACK, .ip = TEXT + i, .size_bytes = 1}});
	mappings[0].end = TEXT + 2 * PAGE;
	/* Six are "(other)", "[kernel]", "[first write]", "[startup]", "[code not known]" and "[unknown]". */
	assert_int_equal(first_slice()->loss[COMM_LOSS_IDS], 56);
	assert_lost(COMM_LOSS_IDS, 56);
}

/* Optional functions of an estimator may be missing, and so may the store. */
static void the_least_of_all(void **state)
{
	struct comm_event loss = {.kind = COMM_EV_LOSS, .time_ns = START};
	struct comm_engine_stats stats;

	(void)state;
	comm_engine_destroy(engine);
	begin(&least, false);
	world.thinned = world.folded = 9;
	loss.cause = COMM_LOSS_SCHED;
	loss.count = 1;
	give(&loss);
	give_switch(TGID, FIRST, TGID, SECOND);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	comm_engine_finish(engine, START + SLICE);
	assert_true(world.n_scheds == 0 && world.n_lost == 0);
	assert_int_equal(world.n_bursts, 1);
	assert_lost(COMM_LOSS_SCHED, 1);
	comm_engine_stats(engine, &stats);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(world.n_slices, 0);
	assert_int_equal(world.n_done, 1);
}

static void making_an_engine(void **state)
{
	struct comm_engine_config config = {
		.inspect = &inspect, .estimator = &noting, .slice_ns = SLICE, .start_ns = START};
	struct comm_engine *none = NULL;

	(void)state;
	assert_true(world.config.granularity_bytes == 16 && world.config.memory_bytes == 1);
	world.create_err = -ENOMEM;
	assert_int_equal(comm_engine_create(&config, &none), -ENOMEM);
	assert_null(none);
	/* An estimator with tables needs a bound of its memory. */
	config.estimator = &comm_est_hazard;
	assert_int_equal(comm_engine_create(&config, &none), -EINVAL);
	assert_null(none);
	comm_engine_destroy(NULL);
	world.destroyed = false;
	comm_engine_destroy(engine);
	engine = NULL;
	assert_true(world.destroyed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(budgets_land_in_their_slice),
		TEST(costs_land_in_their_slice),
		TEST(losses_land_in_their_slice),
		TEST(slices_are_cut_in_time),
		TEST(a_long_silence_is_one_slice),
		TEST(an_estimator_without_room),
		TEST(an_estimator_that_cannot_follow_threads),
		TEST(an_estimator_that_fails_to_estimate),
		TEST(what_the_estimator_thinned),
		TEST(edges_without_room_are_folded),
		TEST(a_store_that_fails),
		TEST(threads_without_an_id),
		TEST(code_without_an_id),
		TEST(the_least_of_all),
		TEST(making_an_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
