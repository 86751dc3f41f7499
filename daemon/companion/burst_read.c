// SPDX-License-Identifier: GPL-2.0-or-later
#include "burst_read.h"

#include <math.h>
#include <string.h>

#include "hash.h"

enum {
	WATCHED_BYTES = 8,
};

/*
 * Cycles that a line takes which is filled.  One that is far is fetched and written back later, 128 bytes of the 12
 * GB/s that a core of some 3 GHz has; on a virtual machine of an EPYC that other guests share, code that fills new
 * blocks takes 33 to 58 (docs/method/survey.md).  A burst does not tell where its lines are, so that it takes the
 * geometric mean of both: the error is the same either way.
 */
static const double near_cycles = 2, far_cycles = 58;

/* In units of the period. */
static double length_of(enum comm_trigger trigger, const struct comm_burst *burst)
{
	double near = burst->cycles + near_cycles * burst->n_filled,
	       far = burst->cycles + far_cycles * burst->n_filled;
	double length = trigger == COMM_TRIGGER_TIME	       ? sqrt(near * far)
			: trigger == COMM_TRIGGER_INSTRUCTIONS ? burst->n_insns
							       : burst->n_accesses;

	return length > 1 ? length : 1;
}

static bool is_written(const struct comm_burst_access *access, uint32_t n,
		       const struct comm_burst_read *read)
{
	for (uint32_t i = 0; i < n; i++)
		if (access[i].flags & COMM_ACCESS_WRITE &&
		    access[i].addr < read->addr + read->size_bytes &&
		    read->addr < access[i].addr + access[i].size_bytes)
			return true;
	return false;
}

/* What the sample found where the burst reads; before: the accesses that come before that. */
static void find_value(struct comm_burst_read *read, const struct comm_sample *sample,
		       const struct comm_burst_access *before, uint32_t n)
{
	unsigned int chunks =
		sample->n_chunks < COMM_SAMPLE_CHUNKS ? sample->n_chunks : COMM_SAMPLE_CHUNKS;

	if (is_written(before, n, read))
		return;
	for (unsigned int i = 0; i < chunks && !read->has_value; i++) {
		const struct comm_chunk *c = &sample->chunk[i];
		uint64_t at = read->addr - c->addr;

		if (at >= c->len_bytes || c->len_bytes - at < read->size_bytes ||
		    (uint64_t)c->offset + c->len_bytes > COMM_SAMPLE_DATA_BYTES)
			continue;
		memcpy(&read->value, sample->data + c->offset + at, read->size_bytes);
		read->has_value = true;
	}
}

bool comm_burst_read_pick(struct comm_burst_read *ret, uint64_t *random, enum comm_trigger trigger,
			  const struct comm_event *event, const struct comm_burst *burst)
{
	const struct comm_sample *sample = event->sample;
	uint64_t total = 0;
	uint32_t picked = 0;

	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];
		uint64_t size = a->size_bytes;

		/* Other threads rarely write a thread's stack: not worth a look. */
		if (!(a->flags & COMM_ACCESS_READ) || a->flags & COMM_ACCESS_IMPLICIT ||
		    a->left_out || !size || comm_burst_on_stack(sample, a))
			continue;
		total += size;
		if (comm_hash_next(random) % total >= size)
			continue;
		picked = i;
		*ret = (struct comm_burst_read){
			.time_ns = event->time_ns,
			.addr = a->addr,
			.ip = a->bytecode ? a->bytecode : a->ip,
			.code_ip = a->ip,
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
	find_value(ret, sample, burst->access, picked);
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
