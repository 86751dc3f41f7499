// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst_read.h"

#include "hash.h"

enum {
	WATCHED_BYTES = 8,
	STACK_BELOW_BYTES = 128,
	STACK_ABOVE_BYTES = 8192,
};

/* In units of the period. */
static double length_of(enum comm_trigger trigger, const struct comm_burst *burst)
{
	double length = trigger == COMM_TRIGGER_TIME	       ? (double)burst->cycles
			: trigger == COMM_TRIGGER_INSTRUCTIONS ? burst->n_insns
							       : burst->n_accesses;

	return length > 1 ? length : 1;
}

bool comm_burst_read_pick(struct comm_burst_read *ret, uint64_t *random, enum comm_trigger trigger,
			  const struct comm_event *event, const struct comm_burst *burst)
{
	const struct comm_sample *sample = event->sample;
	uint64_t sp = sample->reg[COMM_RSP], total = 0;

	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];
		uint64_t size = a->size_bytes;

		/* Other threads rarely write a thread's stack: not worth a look. */
		if (!(a->flags & COMM_ACCESS_READ) || a->flags & COMM_ACCESS_IMPLICIT || !size ||
		    a->addr - (sp - STACK_BELOW_BYTES) < STACK_BELOW_BYTES + STACK_ABOVE_BYTES)
			continue;
		total += size;
		if (comm_hash_next(random) % total >= size)
			continue;
		*ret = (struct comm_burst_read){
			.time_ns = event->time_ns,
			.addr = a->addr,
			.ip = a->ip,
			.tgid = event->tgid,
			.tid = event->tid,
			.size_bytes = size > WATCHED_BYTES ? WATCHED_BYTES : (uint32_t)size,
		};
		/* Of a vector, or of what one instruction copies, any part. */
		if (size > WATCHED_BYTES)
			ret->addr +=
				comm_hash_next(random) % (size / WATCHED_BYTES) * WATCHED_BYTES;
	}
	if (!total)
		return false;
	/* What runs like this burst for a period reads as many bytes a cycle as it does. */
	ret->stands_for = (double)total * (double)(sample->period ? sample->period : 1) /
			  length_of(trigger, burst);
	return true;
}

void comm_burst_read_tell(const struct comm_burst_read *read, struct comm_event *ret)
{
	ret->tgid = read->tgid;
	ret->tid = read->tid;
	ret->census.read = (struct comm_precise){.addr = read->addr,
						 .ip = read->ip,
						 .size_bytes = read->size_bytes,
						 .flags = COMM_ACCESS_READ};
	ret->census.stands_for = read->stands_for;
	ret->census.waits = read->waits;
}
