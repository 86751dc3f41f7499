/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A deterministic machine: threads that loop over known access patterns on a few CPUs
 * with time slices, sampled the way the tool samples.  It yields bursts and switches
 * for estimators, and the exact last-writer matrices.
 *
 * Programs are written as coroutines that resume at a line (SIM_BEGIN ..  SIM_END);
 * state that must survive a step is in struct sim_thread.
 *
 * The simulation leaves out on purpose: caches, the pipeline of a CPU, stacks.  The
 * time model that bursts carry is wrong by a factor per instruction, as any such
 * model is.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include "estimator.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	SIM_THREADS = 32,
	SIM_CPUS = 16,
	SIM_SAMPLERS = 3,
	SIM_WORDS = 1 << 20,
	SIM_BURST = 512,
	SIM_BURST_INSNS = 256,
	SIM_VARS = 256,
	SIM_WORD_BYTES = 8,
};

struct sim;

struct sim_sampler {
	uint64_t period_ns;
	const struct comm_est_ops *ops[2];
	void *est[2];
	uint64_t bursts, accesses;
};

struct sim_op {
	uint32_t word;
	uint32_t ip;
	uint16_t flags; /* enum comm_access_flags, 0: no access */
	uint16_t insns;
	bool cut; /* a burst ends here */
	float ns;
};

struct sim_thread {
	uint32_t id;
	int line; /* where the program resumes */
	uint64_t i, j, k, n, m, a, b;
	uint64_t random;
	struct sim_op op;
	bool has_op, blocked, on_cpu;
	uint32_t wait_var;
	uint64_t wait_value;
};

typedef void sim_program(struct sim *sim, struct sim_thread *t);

struct sim_pattern {
	const char *name;
	sim_program *program;
	uint32_t n_threads, n_cpus;
	bool held_out; /* not used for tuning any constant */
	bool communicates;
};

struct sim_truth {
	double all[SIM_THREADS][SIM_THREADS]; /* bytes [writer][reader] */
	double first[SIM_THREADS][SIM_THREADS];
	double aged
		[COMM_AGES]; /* bytes of all, between threads, by how long ago they were written */
	double unwritten;
};

struct sim {
	const struct sim_pattern *pattern;
	struct sim_sampler sampler[SIM_SAMPLERS];
	uint32_t n_samplers;
	uint64_t var[SIM_VARS]; /* synchronisation, outside of memory */
	struct sim_thread thread[SIM_THREADS];
	struct sim_truth truth;
	bool sched_events;
	bool changed; /* a variable changed since blocked threads were last checked */
};

/* Runs for duration_ns and calls slice() of every estimator each slice_ns. */
int sim_run(struct sim *sim, const struct sim_pattern *pattern, uint64_t duration_ns,
	    uint64_t slice_ns, comm_edge_fn *emit, void *ctx[SIM_SAMPLERS][2]);

extern const struct sim_pattern sim_patterns[];
extern const uint32_t sim_n_patterns;

/* Called by the programs of patterns. */
uint64_t sim_random(struct sim_thread *t);
void sim_set(struct sim *sim, uint32_t var, uint64_t value);

#define SIM_BEGIN          \
	switch (t->line) { \
	default:
#define SIM_END \
	}       \
	t->line = 0;
#define SIM_YIELD                   \
	do {                        \
		t->line = __LINE__; \
		return;             \
	case __LINE__:;             \
	} while (0)
#define SIM_OP(w, f, cost_ns, stop)                            \
	do {                                                   \
		t->op = (struct sim_op){.word = (uint32_t)(w), \
					.ip = __LINE__,        \
					.flags = (f),          \
					.insns = 4,            \
					.cut = (stop),         \
					.ns = (cost_ns)};      \
		t->has_op = true;                              \
		t->line = __LINE__;                            \
		return;                                        \
	case __LINE__:;                                        \
	} while (0)
#define SIM_READ(w, cost_ns) SIM_OP(w, COMM_ACCESS_READ, cost_ns, false)
#define SIM_WRITE(w, cost_ns) SIM_OP(w, COMM_ACCESS_WRITE, cost_ns, false)
#define SIM_WORK(cost_ns) SIM_OP(0, 0, cost_ns, false)
#define SIM_CUT(cost_ns) SIM_OP(0, 0, cost_ns, true)
/* Blocks, off the CPU, until the variable has at least that value. */
#define SIM_WAIT(v, at_least)                                       \
	do {                                                        \
		t->wait_var = (uint32_t)(v);                        \
		t->wait_value = (at_least);                         \
		t->blocked = sim->var[t->wait_var] < t->wait_value; \
		t->line = __LINE__;                                 \
		if (t->blocked)                                     \
			return;                                     \
		__attribute__((fallthrough));                       \
	case __LINE__:;                                             \
	} while (0)

#endif
