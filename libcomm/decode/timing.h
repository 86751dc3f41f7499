/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a burst takes: a dataflow model of an out-of-order core whose data
 * is in the first-level cache, lists in the second, and whose branches are
 * predicted.  Each instruction waits for its inputs, for a slot of the front
 * end and for a port; it retires in order.  The machine is 6 wide, with two
 * loads and two stores a cycle, between Zen 3..5 and Ice Lake..Golden Cove.
 *
 * Ports are booked in program order from the time the front end delivers, so a
 * late instruction does not hold up those after it.
 *
 * What it does not know: other cache misses than those of long copies, mispredictions, the ends of
 * fetch blocks.  Programs take COMM_TIMING_SLOWDOWN times as long, which the cycles of burst.h have.
 */
#ifndef COMM_TIMING_H
#define COMM_TIMING_H

#include "insn.h"
#include "known_memory.h"

/*
 * 2^1.1 in the median of 16 programs (-1.9 to 4.0), 2^0.9 of 20 kernels (docs/method/accuracy.md).
 * A factor of two is one of all rates, but for what the kernel reads, which is counted.
 */
#define COMM_TIMING_SLOWDOWN 2.0F
#define COMM_TIMING_SLOT_CYCLES (1.0F / 6)
#define COMM_TIMING_LOAD_CYCLES 5.0F
/* A load from the second-level cache: the next element of a list is there at best. */
#define COMM_TIMING_LIST_CYCLES 14.0F
/* Loads no further apart than this walk a table, such as a CRC's, not a list. */
#define COMM_TIMING_TABLE_BYTES 4096
/* Store forwarding: 5 on CPUs without memory renaming (to Ice Lake), else 0 or 1 (Zen 5). */
#define COMM_TIMING_FORWARD_CYCLES 3.0F
#define COMM_TIMING_LOAD_PORT_CYCLES 0.4F
#define COMM_TIMING_STORE_PORT_CYCLES 0.5F
/* Bytes a cycle: 31 in the first-level cache, 4 to 13 where another core wrote the data. */
#define COMM_TIMING_STRING_BYTES 12.0F
/*
 * A line that a burst meets first with a vector of so many bytes comes at that rate, too: the loops
 * of memcpy() would load 128 bytes a cycle, but from the first-level cache alone.
 */
#define COMM_TIMING_WIDE_BYTES 32
#define COMM_TIMING_LINE_CYCLES (64 / COMM_TIMING_STRING_BYTES)

struct comm_timing {
	float front, retire, first_retire;
	float taken; /* when the last taken branch left the front end */
	float load_port, store_port;
	float port[COMM_PORT_MAX];
	float ready[COMM_READY_MAX];
	const struct comm_uop
		*loaded[COMM_READY_MAX]; /* the load that the value comes from, or NULL */
	/* Of the current instruction, when they are ready: */
	float address, data, done;
	struct comm_known_line *store_line;
	unsigned store_granule;
	bool first, loads;
	float strings; /* cycles that the instruction's elements took, if it is a string instruction */
	bool follows;	   /* the address depends on what this very load gave the last time */
	uint64_t followed; /* the last time's address; 0: not known */
};

static inline float comm_later(float a, float b)
{
	return a > b ? a : b;
}

static inline void comm_timing_start(struct comm_timing *c)
{
	memset(c, 0, sizeof(*c));
	c->first = true;
}

static inline void comm_timing_begin(struct comm_timing *c, const struct comm_uop *u)
{
	float early = comm_later(c->ready[u->in[0]], c->ready[u->in[1]]);

	c->front += COMM_TIMING_SLOT_CYCLES;
	c->address = comm_later(c->front, early);
	c->data = comm_later(comm_later(c->ready[u->in[2]], c->ready[u->in[3]]), c->front);
	if (!(u->bits & COMM_UOP_MEM))
		c->data = comm_later(c->data, early);
	if (u->bits & COMM_UOP_FLAGS_IN)
		c->data = comm_later(c->data, c->ready[COMM_READY_FLAGS]);
	c->done = c->front;
	c->store_line = NULL;
	c->loads = false;
	c->strings = 0;
	c->follows = c->loaded[u->in[0]] == u || c->loaded[u->in[1]] == u;
}

/* Returns when the load issues.  line may be NULL; is_new: the burst has not met it. */
static inline float comm_timing_load(struct comm_timing *c, const struct comm_known_line *line,
				     uint64_t addr, unsigned bytes, bool is_new)
{
	float at, latency = COMM_TIMING_LOAD_CYCLES;

	c->load_port = comm_later(c->load_port, c->front);
	at = comm_later(c->address, c->load_port);
	c->load_port += is_new && bytes >= COMM_TIMING_WIDE_BYTES ? COMM_TIMING_LINE_CYCLES
								  : COMM_TIMING_LOAD_PORT_CYCLES;
	c->loads = true;
	if (c->follows) {
		if (!addr ||
		    addr - c->followed + COMM_TIMING_TABLE_BYTES > 2 * COMM_TIMING_TABLE_BYTES)
			latency = COMM_TIMING_LIST_CYCLES;
		c->followed = addr;
	}
	c->data = comm_later(c->data, at + latency);
	if (line && line->ready[addr >> 3 & 7] > 0)
		c->data = comm_later(c->data,
				     line->ready[addr >> 3 & 7] + COMM_TIMING_FORWARD_CYCLES);
	return at;
}

/* Returns when the store's address is ready; its data is stored when the instruction ends. */
static inline float comm_timing_store(struct comm_timing *c, struct comm_known_line *line,
				      uint64_t addr)
{
	float at;

	c->store_port = comm_later(c->store_port, c->front);
	at = comm_later(c->address, c->store_port);
	c->store_port += COMM_TIMING_STORE_PORT_CYCLES;
	c->done = comm_later(c->done, at);
	c->store_line = line;
	c->store_granule = addr >> 3 & 7;
	return at;
}

/* Returns when half of the bytes are moved, which is the mean of when each of them is. */
static inline float comm_timing_string(struct comm_timing *c, uint64_t bytes)
{
	float at = comm_later(c->data, c->load_port);
	float cycles = (float)bytes / COMM_TIMING_STRING_BYTES;

	c->load_port = c->data = at + cycles;
	c->strings += cycles;
	return at + cycles / 2;
}

static inline void comm_timing_end(struct comm_timing *c, const struct comm_uop *u)
{
	const struct comm_cost *cost = &comm_cost_table[u->cost];
	const struct comm_uop *from;
	float *port = &c->port[cost->port];
	float done;

	*port = comm_later(*port, c->front);
	done = comm_later(c->data, *port) + cost->latency_cycles;
	*port += cost->port_cycles;
	c->ready[u->out[0]] = done;
	c->ready[u->out[1]] = done;
	if (c->store_line)
		c->store_line->ready[c->store_granule] = done;
	c->ready[COMM_READY_SINK] = 0;
	from = c->loads ? u : NULL;
	for (unsigned i = 0; !from && i < sizeof(u->in); i++)
		from = c->loaded[u->in[i]];
	c->loaded[u->out[0]] = from;
	c->loaded[COMM_READY_SINK] = NULL;
	c->retire = comm_later(c->retire + COMM_TIMING_SLOT_CYCLES, comm_later(done, c->done));
	if (c->first) {
		c->first_retire = c->retire - c->strings;
		c->first = false;
	}
}

static inline void comm_timing_taken(struct comm_timing *c)
{
	c->front = comm_later(c->front, c->taken + 1);
	c->taken = c->front;
}

/*
 * From the retirement of the first instruction to that of the last: the pipeline
 * was full when the sample came, so filling it costs nothing.  What is left of a string
 * instruction that was sampled in its middle does.
 */
static inline float comm_timing_cycles(const struct comm_timing *c)
{
	float cycles = c->retire - c->first_retire + COMM_TIMING_SLOT_CYCLES;

	return c->first ? 0 : COMM_TIMING_SLOWDOWN * cycles;
}

#endif
