// SPDX-License-Identifier: GPL-2.0-or-later
#include "weight.h"
#include "hash.h"
#include "model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	WEIGHT_BITS = 16,
	WEIGHT_SLOTS = 1 << WEIGHT_BITS,
	WEIGHT_PROBES = 16,
	WEIGHT_INSN_CYCLES = 8, /* at most, for the instruction itself */
	WEIGHT_HALVE = 4096,	/* forget by halves, so that a changed phase shows */
};

struct weight_slot {
	uint64_t ip_key;
	float n;
	float cycles; /* sums of positions */
	float insns;
};

struct comm_weights {
	double cycles_per_ns;
	struct weight_slot slot[WEIGHT_SLOTS]; /* 0: instructions that found no slot */
};

int comm_weights_create(double cycles_per_ns, struct comm_weights **ret)
{
	struct comm_weights *weights = calloc(1, sizeof(*weights));

	if (!weights)
		return -ENOMEM;
	weights->cycles_per_ns = cycles_per_ns > 0 && isfinite(cycles_per_ns) ? cycles_per_ns : 1;
	*ret = weights;
	return 0;
}

void comm_weights_destroy(struct comm_weights *weights)
{
	free(weights);
}

static uint32_t weight_find(struct comm_weights *weights, uint64_t ip_key)
{
	uint64_t hash = comm_hash_word(ip_key ^ ip_key >> 29);

	for (uint32_t i = 0; i < WEIGHT_PROBES; i++) {
		uint32_t at = ((hash >> (64 - WEIGHT_BITS)) + i) & (WEIGHT_SLOTS - 1);
		struct weight_slot *s = &weights->slot[at];

		if (!at)
			continue;
		if (s->n > 0 && s->ip_key == ip_key)
			return at;
		if (s->n > 0)
			continue;
		s->ip_key = ip_key;
		return at;
	}
	return 0;
}

uint32_t comm_weights_learn(struct comm_weights *weights, const struct comm_access_burst *burst,
			    const struct comm_access *access)
{
	struct weight_slot *s;
	uint32_t at;
	float known;

	if (burst->exact)
		return 0;
	at = weight_find(weights, access->ip_key);
	s = &weights->slot[at];
	if (s->n >= WEIGHT_HALVE) {
		s->n /= 2;
		s->cycles /= 2;
		s->insns /= 2;
	}
	/*
	 * The position meant is that of all the instruction's accesses.  Those
	 * whose address is unknown count through 1 / known; they lie anywhere in
	 * the burst, while the known ones often are the first of each only.
	 */
	known = access->known > 0 && access->known < 1 ? access->known : 1;
	s->n++;
	s->insns += known * access->insn + (1 - known) / 2 * (float)burst->n_insns;
	if (access->cycle > 0 && access->cycle < 1e9f)
		s->cycles += known * access->cycle;
	if (burst->cycles > 0 && burst->cycles < 1e9f)
		s->cycles += (1 - known) / 2 * burst->cycles;
	return at;
}

void comm_weight_burst(const struct comm_access_burst *burst, struct comm_weight_burst *ret)
{
	*ret = (struct comm_weight_burst){
		.period = burst->period ? (double)burst->period : 1,
		.insns = burst->n_insns ? burst->n_insns : 1,
		.cycles = burst->cycles,
		.trigger = (uint8_t)burst->trigger,
		.exact = burst->exact,
	};
	if (!(ret->cycles > 0) || ret->cycles > 1e9f)
		ret->cycles = ret->insns;
}

double comm_weight_of(const struct comm_weights *weights, const struct comm_weight_burst *burst,
		      uint32_t slot)
{
	const struct weight_slot *s = &weights->slot[slot];
	double one, reach, prior = comm_parameter(COMM_P_length_prior);

	if (burst->exact)
		return burst->period;
	if (burst->trigger == COMM_TRIGGER_INSTRUCTIONS) {
		reach = (2 * s->insns + prior * burst->insns) / (s->n + prior) + 1;
		return burst->period / reach;
	}
	if (burst->trigger == COMM_TRIGGER_ACCESSES) {
		reach = (2 * s->insns + prior * (burst->insns - 1)) / (s->n + prior) + 1;
		return burst->period / reach;
	}
	one = burst->cycles / burst->insns;
	if (one > WEIGHT_INSN_CYCLES)
		one = WEIGHT_INSN_CYCLES;
	reach = (2 * s->cycles + prior * burst->cycles) / (s->n + prior) + one;
	return burst->period * weights->cycles_per_ns / reach;
}
