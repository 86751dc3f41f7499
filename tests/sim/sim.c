// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/sim.h"

#include "event.h"
#include "hash.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIM_SLICE_NS = 3000000, /* the scheduler's time slice */
	SIM_PENDING = 1 << 12,
	SIM_SITE_BASE = 16,
};

static const double sim_cycles_per_ns = 2.0;

struct sim_record {
	struct comm_access_burst burst;
	struct comm_access *access;
	uint32_t thread;
	double cycle;
	bool done;
};

struct sim_recorder {
	struct sim_record *record[SIM_PENDING]; /* pending samples, a ring in order of start */
	uint32_t head, tail;
	struct sim_record *active[SIM_THREADS];
	uint64_t next_ns[SIM_CPUS];
	uint64_t random;
};

struct sim_cpu {
	uint64_t now_ns, slice_end_ns;
	struct sim_thread *thread;
};

struct sim_machine {
	struct sim *sim;
	uint8_t *writer; /* 1 + last writer of each word */
	uint64_t *written_ns;
	uint32_t *readers;
	struct sim_recorder recorder[SIM_SAMPLERS];
	struct sim_cpu cpu[SIM_CPUS];
	struct sim_thread *queue[SIM_THREADS + 1];
	uint32_t n_queue;
};

uint64_t sim_random(struct sim_thread *t)
{
	return comm_hash_next(&t->random) >> 16;
}

void sim_set(struct sim *sim, uint32_t var, uint64_t value)
{
	sim->var[var] = value;
	sim->changed = true;
}

/* Factor by which the burst's time model is wrong about an instruction: 0.85 .. 1.2. */
static double sim_model(uint32_t ip)
{
	uint64_t state = ip;

	return 0.85 + 0.35 * (double)(comm_hash_next(&state) >> 44) / (1 << 20);
}

static void sim_truth_access(struct sim_machine *m, const struct sim_thread *t,
			     const struct sim_op *op, uint64_t now_ns)
{
	struct sim_truth *truth = &m->sim->truth;
	uint32_t writer = m->writer[op->word];

	if (op->flags & COMM_ACCESS_READ) {
		if (!writer) {
			truth->unwritten += SIM_WORD_BYTES;
		} else {
			uint64_t written_ns = m->written_ns[op->word];

			truth->all[writer - 1][t->id] += SIM_WORD_BYTES;
			/* CPUs are simulated one after the other, a little apart in time. */
			if (writer - 1 != t->id)
				truth->aged[comm_age_bin(now_ns > written_ns ? now_ns - written_ns
									     : 0)] +=
					SIM_WORD_BYTES;
			if (!(m->readers[op->word] >> t->id & 1))
				truth->first[writer - 1][t->id] += SIM_WORD_BYTES;
		}
		m->readers[op->word] |= 1u << t->id;
	}
	if (op->flags & COMM_ACCESS_WRITE) {
		m->writer[op->word] = (uint8_t)(t->id + 1);
		m->written_ns[op->word] = now_ns;
		m->readers[op->word] = 0;
	}
}

static void sim_deliver(struct sim_machine *m, uint32_t s)
{
	struct sim_recorder *rec = &m->recorder[s];
	struct sim_sampler *sampler = &m->sim->sampler[s];

	while (rec->head != rec->tail && rec->record[rec->head % SIM_PENDING]->done) {
		struct sim_record *r = rec->record[rec->head++ % SIM_PENDING];

		r->burst.access = r->access;
		r->burst.cycles = (float)r->cycle;
		if (r->burst.n) {
			sampler->bursts++;
			sampler->accesses += r->burst.n;
			for (int e = 0; e < 2; e++)
				if (sampler->ops[e])
					sampler->ops[e]->burst(sampler->est[e], &r->burst);
		}
		free(r->access);
		free(r);
	}
}

static void sim_record_end(struct sim_machine *m, uint32_t s, uint32_t thread)
{
	struct sim_recorder *rec = &m->recorder[s];

	if (!rec->active[thread])
		return;
	rec->active[thread]->done = true;
	rec->active[thread] = NULL;
	sim_deliver(m, s);
}

static void sim_record_op(struct sim_machine *m, uint32_t s, const struct sim_thread *t,
			  const struct sim_op *op, uint64_t start_ns)
{
	struct sim_record *r = m->recorder[s].active[t->id];
	double left = 1, cycles;
	uint32_t insns;

	if (!r)
		return;
	if (op->cut) {
		sim_record_end(m, s, t->id);
		return;
	}
	/* A burst that begins in the middle of an operation has only the rest of it. */
	if (r->burst.time_ns > start_ns && op->ns > 0)
		left = 1 - (double)(r->burst.time_ns - start_ns) / op->ns;
	/* The access is the last instruction of its operation. */
	cycles = op->ns * sim_cycles_per_ns * sim_model(op->ip) * left;
	insns = (uint32_t)ceil(op->insns * left);
	r->burst.n_insns += insns ? insns : 1;
	r->cycle += cycles;
	if (op->flags)
		r->access[r->burst.n++] = (struct comm_access){
			.datum = (1ull << 48) + (uint64_t)op->word * SIM_WORD_BYTES,
			.size_bytes = SIM_WORD_BYTES,
			.object = 1 + op->word / (SIM_WORDS / 16),
			.site = SIM_SITE_BASE + op->ip,
			.flags = op->flags,
			.insn = (uint16_t)(r->burst.n_insns - 1),
			.cycle = (float)(r->cycle - cycles / (insns ? insns : 1)),
			.known = 1,
			.ip_key = op->ip,
		};
	if (r->burst.n_insns >= SIM_BURST_INSNS || r->burst.n == SIM_BURST)
		sim_record_end(m, s, t->id);
}

static void sim_sample(struct sim_machine *m, uint32_t s, uint32_t cpu, uint64_t now_ns)
{
	struct sim_recorder *rec = &m->recorder[s];
	struct sim_thread *t = m->cpu[cpu].thread;
	struct sim_record *r;

	if (!t || rec->tail - rec->head == SIM_PENDING)
		return;
	sim_record_end(m, s, t->id);
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	r->access = calloc(SIM_BURST, sizeof(*r->access));
	if (!r->access) {
		free(r);
		return;
	}
	r->burst.time_ns = now_ns;
	r->burst.thread = t->id + 1;
	r->burst.cpu = (uint16_t)cpu;
	r->burst.trigger = COMM_TRIGGER_TIME;
	r->burst.period = m->sim->sampler[s].period_ns;
	rec->record[rec->tail++ % SIM_PENDING] = r;
	rec->active[t->id] = r;
}

static void sim_switch(struct sim_machine *m, struct sim_thread *t, uint64_t now_ns, bool on)
{
	if (t->on_cpu == on)
		return;
	t->on_cpu = on;
	for (uint32_t s = 0; s < m->sim->n_samplers; s++) {
		if (!on)
			sim_record_end(m, s, t->id);
		for (int e = 0; e < 2; e++) {
			struct sim_sampler *sampler = &m->sim->sampler[s];

			if (m->sim->sched_events && sampler->ops[e] && sampler->ops[e]->sched)
				sampler->ops[e]->sched(sampler->est[e], now_ns, t->id + 1, on);
		}
	}
}

/* Runs the program until its next operation; false: it blocked. */
static bool sim_fetch(struct sim *sim, struct sim_thread *t)
{
	for (int i = 0; i < 1000 && !t->has_op; i++) {
		if (t->blocked && sim->var[t->wait_var] < t->wait_value)
			return false;
		t->blocked = false;
		sim->pattern->program(sim, t);
	}
	return t->has_op;
}

static void sim_wake(struct sim_machine *m)
{
	struct sim *sim = m->sim;

	sim->changed = false;
	for (uint32_t i = 0; i < sim->pattern->n_threads; i++) {
		struct sim_thread *t = &sim->thread[i];

		if (t->blocked && !t->on_cpu && sim->var[t->wait_var] >= t->wait_value) {
			t->blocked = false;
			m->queue[m->n_queue++] = t;
		}
	}
}

static struct sim_thread *sim_next_thread(struct sim_machine *m)
{
	struct sim_thread *t;

	if (!m->n_queue)
		return NULL;
	t = m->queue[0];
	memmove(m->queue, m->queue + 1, --m->n_queue * sizeof(*m->queue));
	return t;
}

static void sim_step(struct sim_machine *m, uint32_t c)
{
	struct sim *sim = m->sim;
	struct sim_cpu *cpu = &m->cpu[c];
	struct sim_thread *t = cpu->thread;

	if (!t || (cpu->now_ns >= cpu->slice_end_ns && m->n_queue)) {
		if (t) {
			sim_switch(m, t, cpu->now_ns, false);
			m->queue[m->n_queue++] = t;
		}
		cpu->thread = t = sim_next_thread(m);
		cpu->slice_end_ns = cpu->now_ns + SIM_SLICE_NS;
		if (!t) {
			cpu->now_ns += 1000; /* the CPU is idle */
			return;
		}
		sim_switch(m, t, cpu->now_ns, true);
		cpu->now_ns += 1000;
	}
	if (!sim_fetch(sim, t)) {
		sim_switch(m, t, cpu->now_ns, false);
		cpu->thread = NULL;
		sim_wake(m);
		return;
	}
	for (uint32_t s = 0; s < sim->n_samplers; s++) {
		struct sim_recorder *rec = &m->recorder[s];

		if (rec->next_ns[c] >= cpu->now_ns + (uint64_t)t->op.ns && !rec->active[t->id])
			continue;
		while (rec->next_ns[c] < cpu->now_ns + (uint64_t)t->op.ns) {
			uint64_t at = rec->next_ns[c];

			if (at >= cpu->now_ns)
				sim_sample(m, s, c, at);
			rec->next_ns[c] += sim->sampler[s].period_ns / 2 +
					   comm_hash_next(&rec->random) % sim->sampler[s].period_ns;
		}
		sim_record_op(m, s, t, &t->op, cpu->now_ns);
	}
	if (t->op.flags)
		sim_truth_access(m, t, &t->op, cpu->now_ns);
	cpu->now_ns += (uint64_t)t->op.ns;
	t->has_op = false;
	if (sim->changed)
		sim_wake(m);
}

static void sim_slice(struct sim_machine *m, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit,
		      void *ctx[SIM_SAMPLERS][2])
{
	struct comm_unwritten unwritten;

	for (uint32_t s = 0; s < m->sim->n_samplers; s++) {
		struct sim_sampler *sampler = &m->sim->sampler[s];

		for (int e = 0; e < 2; e++)
			if (sampler->ops[e])
				sampler->ops[e]->slice(sampler->est[e], start_ns, end_ns, emit,
						       ctx[s][e], &unwritten);
	}
}

static void sim_init(struct sim_machine *m)
{
	struct sim *sim = m->sim;

	memset(sim->thread, 0, sizeof(sim->thread));
	memset(sim->var, 0, sizeof(sim->var));
	memset(&sim->truth, 0, sizeof(sim->truth));
	for (uint32_t i = 0; i < sim->pattern->n_threads; i++) {
		sim->thread[i].id = i;
		sim->thread[i].random = i + 1;
		m->queue[m->n_queue++] = &sim->thread[i];
	}
	for (uint32_t c = 0; c < sim->pattern->n_cpus; c++)
		m->cpu[c].now_ns = 1000000000 + c;
	for (uint32_t s = 0; s < sim->n_samplers; s++) {
		m->recorder[s].random = s + 77;
		for (uint32_t c = 0; c < sim->pattern->n_cpus; c++)
			m->recorder[s].next_ns[c] =
				1000000000 +
				comm_hash_next(&m->recorder[s].random) % sim->sampler[s].period_ns;
	}
}

int sim_run(struct sim *sim, const struct sim_pattern *pattern, uint64_t duration_ns,
	    uint64_t slice_ns, comm_edge_fn *emit, void *ctx[SIM_SAMPLERS][2])
{
	struct sim_machine *m = calloc(1, sizeof(*m));
	uint64_t slice_end_ns, start_ns;

	if (!m)
		return -ENOMEM;
	m->sim = sim;
	m->writer = calloc(SIM_WORDS, sizeof(*m->writer));
	m->readers = calloc(SIM_WORDS, sizeof(*m->readers));
	sim->pattern = pattern;
	m->written_ns = calloc(SIM_WORDS, sizeof(*m->written_ns));
	if (!m->writer || !m->readers || !m->written_ns) {
		free(m->writer);
		free(m->written_ns);
		free(m->readers);
		free(m);
		return -ENOMEM;
	}
	sim_init(m);
	start_ns = m->cpu[0].now_ns;
	slice_end_ns = start_ns + slice_ns;
	for (;;) {
		uint32_t c = 0;

		for (uint32_t i = 1; i < pattern->n_cpus; i++)
			if (m->cpu[i].now_ns < m->cpu[c].now_ns)
				c = i;
		if (m->cpu[c].now_ns >= slice_end_ns) {
			sim_slice(m, slice_end_ns - slice_ns, slice_end_ns, emit, ctx);
			slice_end_ns += slice_ns;
		}
		if (m->cpu[c].now_ns >= start_ns + duration_ns)
			break;
		sim_step(m, c);
	}
	for (uint32_t s = 0; s < sim->n_samplers; s++) {
		for (uint32_t i = 0; i < pattern->n_threads; i++)
			sim_record_end(m, s, i);
	}
	sim_slice(m, slice_end_ns - slice_ns, UINT64_MAX, emit, ctx);
	free(m->writer);
	free(m->written_ns);
	free(m->readers);
	free(m);
	return 0;
}
