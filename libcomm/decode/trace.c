// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace.h"

/* Of the first n of ready. */
static uint64_t ready_set(const uint8_t *ready, unsigned int n)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < n; i++)
		if (ready[i] != COMM_READY_NONE && ready[i] != COMM_READY_SINK)
			set |= comm_trace_one(ready[i]);
	return set;
}

static bool is_known(struct comm_known_memory *memory, const struct comm_trace_step *s)
{
	for (unsigned int i = 0; i < s->access_bytes; i++)
		if (!comm_memory_load(memory, s->addr + i, 1).known)
			return false;
	return true;
}

static bool is_stored(const struct comm_trace_step *step, uint32_t n, uint64_t addr)
{
	for (uint32_t i = 0; i < n; i++)
		if ((step[i].bits & COMM_UOP_WRITE) &&
		    (!step[i].has_addr || (addr - step[i].addr < step[i].access_bytes)))
			return true;
	return false;
}

uint64_t comm_trace_lacked(const struct comm_trace_step *step, uint32_t n, uint64_t wanted,
			   struct comm_known_memory *memory)
{
	while (n-- > 0 && wanted) {
		const struct comm_trace_step *s = &step[n];
		uint64_t out = ready_set(s->out, 2);

		if (!(out & wanted))
			continue;
		wanted &= ~out;
		if (s->bits & COMM_UOP_FLAGS_IN)
			wanted |= comm_trace_one(COMM_READY_FLAGS);
		if (!(s->bits & COMM_UOP_READ)) {
			wanted |= ready_set(s->in, 4);
		} else if (!s->has_addr) {
			wanted |= ready_set(s->in, 2);
		} else if (is_known(memory, s)) {
			wanted |= ready_set(s->in + 2, 2);
		} else {
			return is_stored(step, n, s->addr) ? 0 : s->addr;
		}
	}
	return 0;
}
