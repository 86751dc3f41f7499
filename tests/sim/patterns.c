// SPDX-License-Identifier: GPL-2.0-or-later
/* Access patterns of small parallel programs.  Addresses are words of 8 B. */
#include "sim/sim.h"

#include "event.h"

enum {
	KI = 1024,
};

/* All threads wait for each other; var[v] counts arrivals, t->n the barriers passed. */
#define SIM_BARRIER(v)                                         \
	do {                                                   \
		t->n++;                                        \
		sim_set(sim, (v), sim->var[v] + 1);            \
		SIM_WAIT((v), t->n * sim->pattern->n_threads); \
	} while (0)

/* Each thread fills its buffer for the next one in the ring. */
static void sim_ring(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;;) {
		for (t->i = 0; t->i < 4 * KI; t->i++)
			SIM_WRITE(t->id * 4 * KI + t->i, 40);
		SIM_BARRIER(0);
		t->a = (t->id + 1) % sim->pattern->n_threads;
		for (t->i = 0; t->i < 4 * KI; t->i++)
			SIM_READ(t->a * 4 * KI + t->i, 30);
		SIM_BARRIER(0);
	}
	SIM_END
}

/* Stages of 1 : 2 : 4 : 3 in time per item, two buffers between them. */
static void sim_pipeline(struct sim *sim, struct sim_thread *t)
{
	static const float cost[] = {20, 40, 80, 60};

	SIM_BEGIN
	for (t->k = 1;; t->k++) {
		if (t->id) {
			SIM_WAIT(t->id - 1, t->k);
			for (t->i = 0; t->i < KI; t->i++) {
				SIM_READ((t->id - 1) * 64 * KI + (t->k & 1) * KI + t->i,
					 cost[t->id]);
				SIM_WORK(20);
			}
			sim_set(sim, 100 + t->id - 1, t->k);
		}
		if (t->id + 1 < sim->pattern->n_threads) {
			SIM_WAIT(100 + t->id, t->k < 2 ? 0 : t->k - 2);
			for (t->i = 0; t->i < (t->id + 1) * KI / 4; t->i++)
				SIM_WRITE(t->id * 64 * KI + (t->k & 1) * KI + t->i, cost[t->id]);
			/* The rest of the buffer is written by the same loop, unrolled. */
			for (; t->i < KI; t->i++)
				SIM_WRITE(t->id * 64 * KI + (t->k & 1) * KI + t->i, 15);
			sim_set(sim, t->id, t->k);
		}
	}
	SIM_END
}

/* Jacobi in one dimension: only the ends of each block are shared. */
static void sim_stencil1(struct sim *sim, struct sim_thread *t)
{
	enum { BLOCK = 512 };

	SIM_BEGIN
	for (t->k = 0;; t->k ^= 1) {
		for (t->i = 0; t->i < BLOCK; t->i++) {
			t->a = t->k * 64 * KI + t->id * BLOCK + t->i + 1;
			t->b = (1 - t->k) * 64 * KI + t->id * BLOCK + t->i + 1;
			SIM_READ(t->a - 1, 15);
			SIM_READ(t->a, 10);
			SIM_READ(t->a + 1, 10);
			SIM_WRITE(t->b, 20);
		}
		SIM_BARRIER(0);
	}
	SIM_END
}

/* Jacobi over rows of 256 words, 8 rows a thread. */
static void sim_stencil2(struct sim *sim, struct sim_thread *t)
{
	enum { WIDTH = 256, ROWS = 8 };

	SIM_BEGIN
	for (t->k = 0;; t->k ^= 1) {
		for (t->i = 0; t->i < ROWS * WIDTH; t->i++) {
			t->a = t->k * 64 * KI + (t->id * ROWS + 1) * WIDTH + t->i;
			t->b = (1 - t->k) * 64 * KI + (t->id * ROWS + 1) * WIDTH + t->i;
			SIM_READ(t->a - WIDTH, 20);
			SIM_READ(t->a, 10);
			SIM_READ(t->a + WIDTH, 20);
			SIM_WRITE(t->b, 20);
		}
		SIM_BARRIER(0);
	}
	SIM_END
}

/* Each thread writes rows of a matrix and reads columns. */
static void sim_transpose(struct sim *sim, struct sim_thread *t)
{
	enum { SIDE = 256 };

	SIM_BEGIN
	for (;;) {
		t->m = SIDE / sim->pattern->n_threads;
		for (t->i = 0; t->i < t->m * SIDE; t->i++)
			SIM_WRITE(t->id * t->m * SIDE + t->i, 15);
		SIM_BARRIER(0);
		for (t->i = 0; t->i < t->m * SIDE; t->i++) {
			SIM_READ(t->i % SIDE * SIDE + t->id * t->m + t->i / SIDE, 25);
			SIM_WRITE(128 * KI + t->id * t->m * SIDE + t->i, 15);
		}
		SIM_BARRIER(0);
	}
	SIM_END
}

/* One thread writes, all threads read once. */
static void sim_broadcast(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;;) {
		if (t->id == 0)
			for (t->i = 0; t->i < 8 * KI; t->i++)
				SIM_WRITE(t->i, 15);
		SIM_BARRIER(0);
		if (t->id)
			for (t->i = 0; t->i < 8 * KI; t->i++)
				SIM_READ(t->i, 25);
		SIM_BARRIER(0);
	}
	SIM_END
}

/* The neighbour's block is read ten times over. */
static void sim_reread(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;;) {
		for (t->i = 0; t->i < 2 * KI; t->i++)
			SIM_WRITE(t->id * 64 * KI + t->i, 20);
		SIM_BARRIER(0);
		t->a = (t->id + 1) % sim->pattern->n_threads;
		for (t->i = 0; t->i < 20 * KI; t->i++)
			SIM_READ(t->a * 64 * KI + t->i % (2 * KI), 12);
		SIM_BARRIER(0);
	}
	SIM_END
}

/* A counter and its neighbour under a mutex; bursts end at the lock. */
static void sim_migratory(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;;) {
		SIM_CUT(20);
		while (sim->var[1]) {
			t->a = sim->var[2] + 1;
			SIM_WAIT(2, t->a);
			SIM_CUT(50);
		}
		sim->var[1] = 1;
		for (t->i = 0; t->i < 4; t->i++) {
			SIM_READ(t->i, 10);
			SIM_WRITE(t->i, 10);
		}
		sim->var[1] = 0;
		sim_set(sim, 2, sim->var[2] + 1);
		t->m = 4 + sim_random(t) % 8;
		for (t->i = 0; t->i < t->m; t->i++)
			SIM_WORK(30);
	}
	SIM_END
}

/* Many producers and consumers on a ring of slots with two indices. */
static void sim_queue(struct sim *sim, struct sim_thread *t)
{
	enum { SLOTS = 1024, ITEM = 8 };

	SIM_BEGIN
	for (;;) {
		if (t->id < sim->pattern->n_threads / 2) {
			SIM_READ(0, 10);
			SIM_CUT(20);
			t->a = sim->var[10]++;
			SIM_WRITE(0, 10);
			SIM_WAIT(11, t->a < SLOTS - 32 ? 0 : t->a - (SLOTS - 32));
			for (t->i = 0; t->i < ITEM; t->i++)
				SIM_WRITE(KI + t->a % SLOTS * ITEM + t->i, 15);
			sim_set(sim, 12, sim->var[12] + 1);
			SIM_WORK(100);
		} else {
			SIM_READ(8, 10);
			SIM_CUT(20);
			t->a = sim->var[13]++;
			SIM_WRITE(8, 10);
			SIM_WAIT(12, t->a + 16);
			for (t->i = 0; t->i < ITEM; t->i++)
				SIM_READ(KI + t->a % SLOTS * ITEM + t->i, 15);
			sim_set(sim, 11, sim->var[11] + 1);
			SIM_WORK(60 + t->id * 20);
		}
	}
	SIM_END
}

/* Random buckets: half look-ups, half updates; bursts end at each bucket. */
static void sim_hash(struct sim *sim, struct sim_thread *t)
{
	(void)sim;
	SIM_BEGIN
	for (;;) {
		SIM_WORK(40);
		t->a = sim_random(t) % (8 * KI) * 4;
		SIM_CUT(20);
		SIM_READ(t->a, 40);
		SIM_READ(t->a + 1, 5);
		if (sim_random(t) % 8 < 1 + t->id) {
			SIM_WRITE(t->a + 1, 5);
			SIM_WRITE(t->a + 2, 5);
		} else {
			SIM_READ(t->a + 2, 5);
		}
	}
	SIM_END
}

/* A task's data is written by its owner and read by the thread that takes the task. */
static void sim_steal(struct sim *sim, struct sim_thread *t)
{
	enum { TASK = 64, TASKS = 128 };

	SIM_BEGIN
	for (;;) {
		/* Thread 0 makes twice as many tasks as it can do. */
		t->m = t->id == 0 ? 8 : 2;
		for (t->k = 0; t->k < t->m; t->k++, sim->var[20 + t->id]++)
			for (t->i = 0; t->i < TASK; t->i++)
				SIM_WRITE(t->id * 64 * KI + sim->var[20 + t->id] % TASKS * TASK +
						  t->i,
					  10);
		for (t->k = 0; t->k < 4; t->k++) {
			t->a = t->id;
			if (sim->var[40 + t->a] >= sim->var[20 + t->a])
				t->a = sim_random(t) % sim->pattern->n_threads;
			if (sim->var[40 + t->a] >= sim->var[20 + t->a])
				t->a = 0;
			t->b = sim->var[40 + t->a];
			if (t->b + TASKS < sim->var[20 + t->a])
				sim->var[40 + t->a] = t->b = sim->var[20 + t->a] - TASKS / 2;
			if (t->b < sim->var[20 + t->a])
				sim->var[40 + t->a]++;
			SIM_CUT(50);
			for (t->i = 0; t->i < TASK; t->i++) {
				SIM_READ(t->a * 64 * KI + t->b % TASKS * TASK + t->i, 15);
				SIM_WORK(20);
			}
		}
	}
	SIM_END
}

/* The right to write a table moves on every 20 ms or so; all read it. */
static void sim_rotate(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;; t->k++) {
		t->a = sim->var[30];
		if (t->a % sim->pattern->n_threads == t->id) {
			for (t->i = 0; t->i < 4 * KI; t->i++)
				SIM_WRITE(t->i, 20);
			if (++t->m % 240 == 0)
				sim_set(sim, 30, sim->var[30] + 1);
		} else {
			for (t->i = 0; t->i < 4 * KI; t->i++)
				SIM_READ(t->i, 20);
		}
	}
	SIM_END
}

/* Neighbouring words of one line, each of one thread. */
static void sim_falseshare(struct sim *sim, struct sim_thread *t)
{
	(void)sim;
	SIM_BEGIN
	for (;;) {
		SIM_READ(t->id, 15);
		SIM_WRITE(t->id, 15);
		SIM_WORK(20);
	}
	SIM_END
}

/* A table that all threads read; now and then one thread writes a word of it. */
static void sim_readmostly(struct sim *sim, struct sim_thread *t)
{
	(void)sim;
	SIM_BEGIN
	if (t->id == 0)
		for (t->i = 0; t->i < 8 * KI; t->i++)
			SIM_WRITE(t->i, 20);
	for (;;) {
		for (t->i = 0; t->i < 200; t->i++)
			SIM_READ(sim_random(t) % (8 * KI), 20);
		if (t->id < 2)
			for (t->i = 0; t->i < 4; t->i++)
				SIM_WRITE((sim_random(t) % KI + t->id * KI) * 4 + t->i, 20);
	}
	SIM_END
}

/* Each thread reads the blocks of three others, at random weights. */
static void sim_graph(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (t->k = 0;; t->k++) {
		for (t->i = 0; t->i < 512; t->i++)
			SIM_WRITE(t->id * 2 * KI + t->i, 20);
		for (t->j = 0; t->j < 6; t->j++) {
			static const uint8_t weight[] = {0, 0, 0, 1, 1, 2};

			t->a = (t->id * 7 + 3 + weight[t->j] * 5) % sim->pattern->n_threads;
			for (t->i = 0; t->i < 256; t->i++)
				SIM_READ(t->a * 2 * KI + t->i * 2, 20);
		}
		if (t->k % 16 == 0)
			SIM_BARRIER(0);
	}
	SIM_END
}

/* The pairs that communicate change every 300 ms or so. */
static void sim_phases(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (t->k = 0;; t->k++) {
		t->m = t->k / 1000 % 3;
		t->a = (t->id + t->m) % sim->pattern->n_threads;
		for (t->i = 0; t->i < 4 * KI; t->i++)
			SIM_WRITE(t->a * 4 * KI + t->i, 30);
		SIM_BARRIER(0);
		t->a = (t->id + 1) % sim->pattern->n_threads;
		for (t->i = 0; t->i < 4 * KI; t->i++)
			SIM_READ(t->a * 4 * KI + t->i, 30);
		SIM_BARRIER(0);
	}
	SIM_END
}

/* Each thread works on memory of its own, all in one object. */
static void sim_private(struct sim *sim, struct sim_thread *t)
{
	(void)sim;
	SIM_BEGIN
	for (;;) {
		for (t->i = 0; t->i < 3000; t->i++) {
			SIM_READ(t->id * 3 * KI + t->i, 15);
			SIM_WRITE(t->id * 3 * KI + t->i, 15);
		}
	}
	SIM_END
}

/* An unbalanced loop: cheap reads of one thread's data, dear ones of another's. */
static void sim_unbalanced(struct sim *sim, struct sim_thread *t)
{
	SIM_BEGIN
	for (;;) {
		if (t->id < 2) {
			for (t->i = 0; t->i < 4 * KI; t->i++)
				SIM_WRITE(t->id * 64 * KI + t->i, 20);
		} else {
			for (t->i = 0; t->i < 4 * KI; t->i++)
				SIM_READ(t->i, 10);
			for (t->i = 0; t->i < 4 * KI; t->i++) {
				SIM_READ(64 * KI + t->i, 20);
				for (t->j = 0; t->j < 4; t->j++)
					SIM_WORK(25);
			}
		}
		SIM_BARRIER(0);
	}
	SIM_END
}

const struct sim_pattern sim_patterns[] = {
	{"ring", sim_ring, 4, 4, false, true},
	{"pipeline", sim_pipeline, 4, 4, true, true},
	{"stencil1", sim_stencil1, 8, 4, false, true},
	{"stencil2", sim_stencil2, 4, 4, true, true},
	{"transpose", sim_transpose, 4, 4, false, true},
	{"broadcast", sim_broadcast, 4, 2, true, true},
	{"reread", sim_reread, 4, 4, false, true},
	{"migratory", sim_migratory, 4, 2, false, true},
	{"queue", sim_queue, 4, 4, true, true},
	{"hash", sim_hash, 8, 4, false, true},
	{"hash32", sim_hash, 32, 2, true, true},
	{"steal", sim_steal, 4, 4, true, true},
	{"rotate", sim_rotate, 4, 4, false, true},
	{"rotate8", sim_rotate, 8, 2, true, true},
	{"readmostly", sim_readmostly, 4, 2, true, true},
	{"graph", sim_graph, 16, 4, false, true},
	{"phases", sim_phases, 4, 4, true, true},
	{"unbalanced", sim_unbalanced, 4, 4, false, true},
	{"falseshare", sim_falseshare, 4, 4, false, false},
	{"private", sim_private, 4, 4, true, false},
};
const uint32_t sim_n_patterns = sizeof(sim_patterns) / sizeof(sim_patterns[0]);
