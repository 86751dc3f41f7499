/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread has read: a hash table of its own, keyed by the writer (thread and site), the
 * reading site, how many frames lie between, and the object.  A site is an instruction in a marked
 * region.  Only the thread itself changes its table; whoever dumps reads it as it is.  All of it stands on
 * memory that children of fork() share.
 *
 * An instruction mostly does what it did before, so a thread keeps, by instruction, what that was.
 */
#ifndef COMM_EXACT_THREAD_H
#define COMM_EXACT_THREAD_H

#include <stdint.h>

#include "object.h"
#include "shadow.h"

/* Reached without a detour, also by position-independent code. */
#pragma GCC visibility push(hidden)

enum {
	COMM_EXACT_THREADS = 4096,
	COMM_EXACT_SITES = 1 << COMM_SITE_BITS,
	COMM_EXACT_RECENT = 1024,
	COMM_EXACT_NAME_BYTES = 16,
	COMM_EXACT_REGIONS = 4096,
	COMM_EXACT_MARKS = 8, /* as in <comm/mark.h> */
	COMM_EXACT_REGION_SHIFT = 48,
};

/*
 * In a pc: no access of the instruction behind it, but what the function called there did.  No
 * address of user space has this bit.
 */
#define COMM_EXACT_CALLED ((uint64_t)1 << 47)

/* Marked regions: none, and one for which there was no room. */
enum { COMM_EXACT_REGION_NONE, COMM_EXACT_REGION_OTHER, COMM_EXACT_REGION_FIRST };

/* Sites without code. */
enum { COMM_SITE_KERNEL = 1, COMM_SITE_UNKNOWN, COMM_SITE_FIRST };

struct comm_exact_edge {
	/* writer << 32 | frames back << COMM_SITE_BITS | reading site; 0: free */
	uint64_t key;
	uint64_t object;
	uint64_t bytes, first_bytes;
	uint64_t base_bytes, base_first_bytes; /* at the last reset */
};

/* The last access of an instruction; of one that reads, for each writer of what it reads. */
struct comm_exact_recent {
	uint64_t pc;	 /* | marked region << COMM_EXACT_REGION_SHIFT */
	uint32_t writer; /* as in the cell */
	uint32_t frames; /* comm_exact_frames_of() the cell then */
	uint32_t site, object;
	struct comm_exact_edge *edge;
};

struct comm_exact_thread {
	uint64_t bit;	      /* in comm_cell.seen */
	uint64_t after_write; /* comm_cell.seen of what this thread wrote */
	uint64_t region_bits; /* marked region << COMM_EXACT_REGION_SHIFT */
	uint32_t slot_bits;   /* slot << COMM_SITE_BITS */
	struct comm_exact_edge *edge;
	uint64_t mask, n;
	struct comm_exact_recent recent[COMM_EXACT_RECENT];
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
	return (uint64_t)(back < 2 ? back + 1 : 3) << COMM_SITE_BITS;
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
/* Of an instruction in a marked region: pc, or a site without code, and region bits. */
uint32_t comm_exact_site(uint64_t key);
/* Less than COMM_SITE_FIRST for one without code. */
uint64_t comm_exact_site_pc(uint32_t site);
/* The instruction itself accesses, not what is called there. */
int comm_exact_site_is_own(uint32_t site);
uint32_t comm_exact_site_region(uint32_t site);
/* name: NULL, there is no such region. */
void comm_exact_region(uint32_t region, uint32_t *ret_parent, const char **ret_name);
/* Threads that found no slot: they share the last one. */
uint64_t comm_exact_threads_lost(void);

static inline struct comm_exact_thread *comm_exact_thread(void)
{
	struct comm_exact_thread *t = comm_exact_self;

	return __builtin_expect(t != NULL, 1) ? t : comm_exact_thread_create();
}

/* Any length but 0; out of line.  pc: the instruction behind the access, or a site without code. */
void comm_exact_read(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc);
void comm_exact_write(struct comm_exact_thread *t, uint64_t addr, uint64_t len_bytes, uint64_t pc);

/* The same by the thread that calls, which may be new. */
void comm_exact_read_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc);
void comm_exact_write_slowly(uint64_t addr, uint64_t len_bytes, uint64_t pc);

/*
 * The frame that a cell was written in, and this one.  Apart from the writer, for who reads both at once waits
 * until a write of one of them has left the store buffer.
 */
static inline uint32_t comm_exact_frames_of(const struct comm_cell *cell)
{
	return (uint32_t)cell->frame << 16 | comm_exact_frame_now;
}

/*
 * Writes are kept by writer 0.  Sites are spread by a hash already; neighbours of a writer do the same.  Code
 * is seldom in two regions by turns: it shares one place.
 */
static inline struct comm_exact_recent *comm_exact_recent(struct comm_exact_thread *t, uint64_t pc,
							  uint32_t writer)
{
	return &t->recent[(pc >> 2 ^ writer ^ writer >> COMM_SITE_BITS) & (COMM_EXACT_RECENT - 1)];
}

/* The same for what comes before every access: short, and mostly as the last one. */
static inline __attribute__((always_inline)) void
comm_exact_read_now(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_thread *t = comm_exact_self;
	uint64_t bits = comm_shadow_bits(addr);
	struct comm_cell *cell = comm_shadow + (bits >> comm_shadow_shift);
	struct comm_exact_recent *r;
	uint32_t writer;

	if (__builtin_expect(!t || comm_cell_crossed(addr, len_bytes), 0))
		goto slowly;
	writer = cell->writer;
	r = comm_exact_recent(t, pc, writer);
	if (__builtin_expect(r->pc != (pc | t->region_bits) || r->writer != writer ||
				     r->frames != comm_exact_frames_of(cell) ||
				     r->object != comm_objects[bits >> 3],
			     0))
		goto slowly;
	r->edge->bytes += len_bytes;
	if (cell->seen & t->bit)
		return;
	r->edge->first_bytes += len_bytes;
	__atomic_fetch_or(&cell->seen, t->bit, __ATOMIC_RELAXED);
	return;
slowly:
	comm_exact_read_slowly(addr, len_bytes, pc);
}

static inline __attribute__((always_inline)) void
comm_exact_write_now(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_thread *t = comm_exact_self;
	struct comm_cell *cell = comm_cell(addr);
	struct comm_exact_recent *r;

	if (__builtin_expect(!t || comm_cell_crossed(addr, len_bytes), 0))
		goto slowly;
	r = comm_exact_recent(t, pc, 0);
	if (__builtin_expect(r->pc != (pc | t->region_bits), 0))
		goto slowly;
	cell->writer = t->slot_bits | r->site;
	if (__builtin_expect(comm_exact_frame_now, 0))
		cell->frame = comm_exact_frame_now;
	cell->seen = t->after_write;
	return;
slowly:
	comm_exact_write_slowly(addr, len_bytes, pc);
}

#pragma GCC visibility pop

#endif
