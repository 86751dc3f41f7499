/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread has read: a hash table of its own, keyed by the writer
 * (thread and function), the reading function and how many frames lie between.  Only the thread itself
 * changes its table; whoever dumps reads it as it is.  All of it stands on memory
 * that children of fork() share.
 */
#ifndef COMM_EXACT_THREAD_H
#define COMM_EXACT_THREAD_H

#include <stdint.h>

#include "shadow.h"

/* Reached without a detour, also by position-independent code. */
#pragma GCC visibility push(hidden)

enum {
	COMM_EXACT_THREADS = 4096,
	COMM_EXACT_FUNCTIONS = 1 << COMM_FUNCTION_BITS,
	COMM_EXACT_DEPTH = 1024,
	COMM_EXACT_PC_CACHE = 256,
	COMM_EXACT_NAME_BYTES = 16,
	COMM_EXACT_REGIONS = 4096,
	COMM_EXACT_MARKS = 8, /* as in <comm/mark.h> */
	COMM_EXACT_REGION_SHIFT = 48,
};

/* Marked regions: none, and one for which there was no room. */
enum { COMM_EXACT_REGION_NONE, COMM_EXACT_REGION_OTHER, COMM_EXACT_REGION_FIRST };

/* Functions without code. */
enum { COMM_FUNCTION_KERNEL = 1, COMM_FUNCTION_UNKNOWN, COMM_FUNCTION_FIRST };

struct comm_exact_edge {
	/* writer << 32 | frames back << COMM_FUNCTION_BITS | reading function; 0: free */
	uint64_t key;
	uint64_t bytes, first_bytes;
	uint64_t base_bytes, base_first_bytes; /* at the last reset */
};

struct comm_exact_thread {
	uint64_t last_key;
	struct comm_exact_edge *last;
	uint64_t bit;	      /* in comm_cell.seen */
	uint64_t after_write; /* comm_cell.seen of what this thread wrote */
	uint64_t region_bits; /* marked region << COMM_EXACT_REGION_SHIFT */
	uint32_t slot_bits;   /* slot << COMM_FUNCTION_BITS */
	uint32_t is_marked;   /* was in a region, ever */
	uint32_t function;
	struct comm_exact_edge *edge;
	uint64_t mask, n;
	uint32_t depth; /* may exceed COMM_EXACT_DEPTH: then functions are kept no more */
	uint32_t stack[COMM_EXACT_DEPTH];
	struct {
		uint64_t pc;
		uint32_t function;
	} cache[COMM_EXACT_PC_CACHE];
	struct comm_exact_thread *next;
};

struct comm_exact_identity {
	uint32_t pid, tid;
	char name[COMM_EXACT_NAME_BYTES]; /* as it was at the first access or, later, the end */
};

extern __thread struct comm_exact_thread *comm_exact_self
	__attribute__((tls_model("initial-exec")));

/*
 * The frame that the process is in, 0 before the first one: all that is kept of its number in a cell.
 * After COMM_EXACT_FRAME_WRAP it begins again at 1, so what was written as many frames ago seems to be new.
 */
enum { COMM_EXACT_FRAME_WRAP = UINT16_MAX };
extern uint16_t comm_exact_frame_now;
/* How many have begun. */
extern uint64_t comm_exact_frames;

/*
 * In an edge's key, what the writing end of --by-frame is: none before the first frame, and else 1 for
 * this frame, 2 for the one before it, 3 for earlier ones.
 */
static inline uint64_t comm_exact_back(uint16_t written)
{
	uint16_t now = comm_exact_frame_now;
	uint32_t back = now - written + (written > now ? COMM_EXACT_FRAME_WRAP : 0);

	if (__builtin_expect(!now, 1))
		return 0;
	return (uint64_t)(back < 2 ? back + 1 : 3) << COMM_FUNCTION_BITS;
}

void comm_exact_threads_init(void);
struct comm_exact_thread *comm_exact_thread_create(void);
/* The calling thread's last name is the one that says what it did. */
void comm_exact_thread_end(void);
/* Of this process and of all that came from one fork() or another, newest first. */
struct comm_exact_thread *comm_exact_threads(void);
const struct comm_exact_identity *comm_exact_identity(uint32_t slot);
/* A thread's table and its size less 1, which belong together. */
struct comm_exact_edge *comm_exact_table(struct comm_exact_thread *t, uint64_t *ret_mask);
struct comm_exact_edge *comm_exact_edge(struct comm_exact_thread *t, uint64_t key);
/* A function in each region is another one: pc, or one without code, and region bits. */
uint32_t comm_exact_function(uint64_t key);
/* The same function within the region that the thread is in. */
uint32_t comm_exact_function_within(const struct comm_exact_thread *t, uint32_t function);
/* Less than COMM_FUNCTION_FIRST for one without code. */
uint64_t comm_exact_function_pc(uint32_t function);
uint32_t comm_exact_function_region(uint32_t function);
/* name: NULL, there is no such region. */
void comm_exact_region(uint32_t region, uint32_t *ret_parent, const char **ret_name);
/* Threads that found no slot: they share the last one. */
uint64_t comm_exact_threads_lost(void);

static inline struct comm_exact_thread *comm_exact_thread(void)
{
	struct comm_exact_thread *t = comm_exact_self;

	return __builtin_expect(t != NULL, 1) ? t : comm_exact_thread_create();
}

/* Any length but 0; out of line. */
void comm_exact_read(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes,
		     uint32_t function);
void comm_exact_write(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes,
		      uint32_t function);

/* The same for what comes before every access: short, and mostly as the last one. */
static inline void comm_exact_read_now(uint64_t addr, uint64_t len_bytes)
{
	struct comm_exact_thread *t = comm_exact_self;
	struct comm_cell *cell = comm_cell(addr);
	struct comm_exact_edge *e;

	if (__builtin_expect(t && !comm_cell_crossed(addr, len_bytes), 1)) {
		e = t->last;
		/* Since the first frame the last key says how far back, so it is never this. */
		if (((uint64_t)cell->writer << 32 | t->function) == t->last_key &&
		    cell->seen & t->bit) {
			e->bytes += len_bytes;
			return;
		}
	} else {
		t = comm_exact_thread();
	}
	comm_exact_read(t, addr, len_bytes, t->function);
}

static inline void comm_exact_write_now(uint64_t addr, uint64_t len_bytes)
{
	struct comm_exact_thread *t = comm_exact_self;
	struct comm_cell *cell = comm_cell(addr);

	if (__builtin_expect(t && !comm_cell_crossed(addr, len_bytes), 1)) {
		cell->writer = t->slot_bits | t->function;
		if (__builtin_expect(comm_exact_frame_now, 0))
			cell->frame = comm_exact_frame_now;
		cell->seen = t->after_write;
		return;
	}
	t = comm_exact_thread();
	comm_exact_write(t, addr, len_bytes, t->function);
}

#pragma GCC visibility pop

#endif
