// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads come and go for as long as a service runs: where the memory for them ends, and that each
 * has an id of its own.  The table of threads is full after COMM_THREADS_MAX of them; then those
 * that have ended give way.
 */
#include "made_engine.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "estimator.h"

enum {
	LIVES = COMM_THREADS_MAX + 5000, /* threads of a round: the first fills the table */
	LIVE_NS = 1000000,
	PID_MAX = 32768,
};

#ifdef __SANITIZE_ADDRESS__
/* Of sanitizer/allocator_interface.h, which gcc has not. */
size_t __sanitizer_get_current_allocated_bytes(void);

static size_t allocated(void)
{
	return __sanitizer_get_current_allocated_bytes();
}

/* Of what is allocated: what was freed the sanitizer keeps for a while. */
static double resident_mib(void)
{
	return (double)allocated() / (1 << 20);
}
#else
static double resident_mib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long size, resident;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &size, &resident), 2);
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
#endif

/* A thread is made, writes and reads what all write and read, and its stack, and ends. */
static void live(uint64_t i)
{
	struct comm_event event = {.time_ns = START + i * LIVE_NS,
				   .cpu = (uint16_t)(i % 4),
				   .tgid = TGID,
				   .tid = FIRST};
	uint32_t tid = 100 + (uint32_t)(i % (PID_MAX - 100));

	event.kind = COMM_EV_FORK;
	event.fork.child_tgid = TGID;
	event.fork.child_tid = tid;
	give(&event);
	for (int part = 0; part < 3; part++) {
		event = (struct comm_event){
			.time_ns = START + i * LIVE_NS + LIVE_NS / 10 * (1 + (uint64_t)part),
			.cpu = (uint16_t)(i % 4),
			.tgid = TGID,
			.tid = tid,
			.kind = COMM_EV_ACCESS,
			.access = {.addr = part < 2 ? SHARED + 8 * (i % 64) : HEAP + 16 * (i % 512),
				   .ip = TEXT + 5,
				   .size_bytes = 8,
				   .flags = part == 1 ? COMM_ACCESS_WRITE : COMM_ACCESS_READ}};
		give(&event);
	}
	event = (struct comm_event){.time_ns = START + i * LIVE_NS + LIVE_NS / 2,
				    .cpu = (uint16_t)(i % 4),
				    .tgid = TGID,
				    .tid = tid,
				    .kind = COMM_EV_EXIT};
	give(&event);
}

static void test_memory_ends(void **state)
{
	const struct comm_engine_config config = {
		.inspect = &inspect,
		.estimator = &comm_est_hazard,
		.est = {.granularity_bytes = 8, .memory_bytes = 8 << 20, .cycles_per_ns = 3},
		.slice_ns = 1000000000,
		.start_ns = START,
	};
	double mib[4];
	size_t made;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.name = "worker";
	assert_int_equal(comm_engine_create(&config, &engine), 0);
	made = allocated();
	for (uint64_t round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < LIVES; i++)
			live(round * LIVES + i);
		mib[round] = resident_mib();
		print_message("%d threads: %.1f MiB\n", (int)((round + 1) * LIVES), mib[round]);
	}
	assert_int_equal(lost(COMM_LOSS_THREADS), 0);
	assert_true(mib[3] - mib[1] < 1);
	/* Little is kept of each thread besides what has its bound from the start. */
	assert_true(allocated() < made + (6 << 20));
	comm_engine_destroy(engine);
}

/*
 * Records come after the end of their process, or its end was not told: what is kept of it goes
 * when others come, and does not use up the ids of address spaces, of which there are 65,536.
 */
static void test_processes_whose_end_is_not_told(void **state)
{
	enum { PROCESSES = 70000 };
	struct comm_event event = {
		.kind = COMM_EV_ACCESS,
		.access = {
			.addr = HEAP, .ip = TEXT + 5, .size_bytes = 8, .flags = COMM_ACCESS_WRITE}};
	size_t before = 0;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.name = "child";
	begin(&noting, false);
	for (uint32_t i = 1; i <= PROCESSES; i++) {
		event.time_ns = START + i * (uint64_t)SLICE / 100;
		event.tgid = event.tid = i;
		give(&event);
		if (i == PROCESSES / 2)
			before = allocated();
	}
	assert_int_equal(lost(COMM_LOSS_UNMAPPED), 0);
	assert_int_equal(world.n_bursts, PROCESSES);
	assert_true(allocated() < before + (4 << 20));
	comm_engine_destroy(engine);
}

/* SECURITY.md and tests/soak/soak.sh say what 64,000 edges of a wide slice take by this. */
static void test_size_of_an_edge(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct comm_edge), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_ends),
		cmocka_unit_test(test_size_of_an_edge),
		cmocka_unit_test(test_processes_whose_end_is_not_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
