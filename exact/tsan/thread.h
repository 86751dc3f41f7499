/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread has read and written: a hash table of its own, keyed by the writer (thread and site), the
 * reading site, how many frames lie between, and the object; or by the writing site and the object.  A site is
 * an instruction in a place: a marked region, in a path of calls if somebody asked for callers (path.h).  Only the thread itself changes its table; whoever dumps reads it as it is.  All of it stands on
 * memory that children of fork() share.
 *
 * An instruction mostly does what it did before, so a thread keeps, by instruction, what that was.
 */
#ifndef COMM_EXACT_THREAD_H
#define COMM_EXACT_THREAD_H

#include <stddef.h>
#include <stdint.h>

#include "../channel.h"
#include "epoch.h"
#include "object.h"
#include "path.h"
#include "selected.h"
#include "shadow.h"

/* Reached without a detour, also by position-independent code. */
#pragma GCC visibility push(hidden)

enum {
	COMM_EXACT_THREADS = 4096,
	COMM_EXACT_SITES = 1 << COMM_SITE_BITS,
	COMM_EXACT_RECENT = 2048,
	COMM_EXACT_NAME_BYTES = 16,
	COMM_EXACT_REGIONS = 1 << 14,
	COMM_EXACT_MARKS = 8, /* as in <comm/mark.h> */
	COMM_EXACT_PLACE_SHIFT = 48,
};

/*
 * In a pc: no access of the instruction behind it, but what the function called there did.  No
 * address of user space has this bit.
 */
#define COMM_EXACT_CALLEE ((uint64_t)1 << 47)

/* Marked regions: none, and one for which there was no room. */
enum { COMM_EXACT_REGION_NONE, COMM_EXACT_REGION_OTHER, COMM_EXACT_REGION_FIRST };

/* Sites without code. */
enum {
	COMM_SITE_CHANNELS = 1,
	COMM_SITE_UNKNOWN = COMM_SITE_CHANNELS + COMM_CHANNELS,
	COMM_SITE_FIRST
};

/* In the key of an edge: no read, but what the thread itself wrote. */
#define COMM_EXACT_WROTE ((uint64_t)1 << 31)

struct comm_exact_edge {
	/* writer << 32 | frames back << COMM_SITE_BITS | reading site, or COMM_EXACT_WROTE | writing site; 0: free */
	uint64_t key;
	/* Of a read in the upper half comm_exact_earlier(): when that was written. */
	uint64_t object;
	uint64_t bytes, first_bytes;
	uint64_t base_bytes, base_first_bytes; /* at the last reset */
};

/* The last read of an instruction, for each writer and object of what it reads. */
struct comm_exact_read {
	uint64_t pc;   /* | place << COMM_EXACT_PLACE_SHIFT */
	uint64_t cell; /* as it was then, and says by itself that this thread has read it */
	struct comm_exact_edge *edge;
	uint16_t object, epoch; /* comm_exact_epoch then */
	uint16_t before;	/* a set: with it, the cell had not been read by this thread */
	uint16_t own;		/* the thread wrote it itself, which says that it has read it */
};

/* The last write of an instruction, or the last access of code that is called. */
struct comm_exact_write {
	uint64_t pc;   /* likewise */
	uint64_t cell; /* less the frame */
	struct comm_exact_edge *edge;
	uint64_t object; /* of edge; 0: there is none */
};

/* What is looked at for each access stands first, and not across lines. */
struct comm_exact_thread {
	struct comm_exact_read read[COMM_EXACT_RECENT];
	struct comm_exact_write written[COMM_EXACT_RECENT];
	struct comm_exact_read dated[COMM_EXACT_RECENT]; /* reads by when that was written, too */
	uint64_t place_bits;				 /* place << COMM_EXACT_PLACE_SHIFT */
	uint32_t slot;
	struct comm_exact_edge *edge;
	uint64_t mask, n;
	uint32_t
		cpu; /* and 1, that it ran on when it first met an edge anew in the epoch; 0: none yet */
	uint16_t cpu_epoch;
	struct comm_exact_thread *next;
};

struct comm_exact_identity {
	uint32_t pid, tid;
	char name[COMM_EXACT_NAME_BYTES]; /* as it was at the first access or, later, the end */
};

/* NULL: not known yet. */
extern __thread struct comm_exact_thread *comm_exact_self
	__attribute__((tls_model("initial-exec")));

/* What an access looks at first: the same, but NULL where granules are not of COMM_EXACT_QUICK_BYTES. */
enum { COMM_EXACT_QUICK_SHIFT = 3, COMM_EXACT_QUICK_BYTES = 1 << COMM_EXACT_QUICK_SHIFT };
extern __thread struct comm_exact_thread *comm_exact_quick
	__attribute__((tls_model("initial-exec")));
/* The same for reads: NULL as well where not all of them count (selected.h). */
extern __thread struct comm_exact_thread *comm_exact_quick_read
	__attribute__((tls_model("initial-exec")));

/* How many frames have begun. */
extern uint64_t comm_exact_frames;

/* The region of a call that is told apart (call.h), and how many marks its thread had begun before it; the path of a call. */
struct comm_exact_inside {
	uint32_t region, path;
	uint64_t marks;
};

void comm_exact_threads_init(void);
/* Zero, never given back, shared with children of fork(). */
void *comm_exact_map_shared(size_t bytes);
struct comm_exact_thread *comm_exact_thread_create(void);
/* The calling thread's last name is the one that says what it did. */
void comm_exact_thread_end(void);
/* Of this process and of all that came from one fork() or another, newest first. */
struct comm_exact_thread *comm_exact_threads(void);
const struct comm_exact_identity *comm_exact_identity(uint32_t slot);
/* A thread's table and its size less 1, which belong together. */
struct comm_exact_edge *comm_exact_table(struct comm_exact_thread *t, uint64_t *ret_mask);
/* Of an instruction in a place: pc, or a site without code, and the place's bits. */
uint32_t comm_exact_site(uint64_t key);
/* Less than COMM_SITE_FIRST for one without code. */
uint64_t comm_exact_site_pc(uint32_t site);
/* The instruction itself accesses, not what is called there. */
int comm_exact_site_is_own(uint32_t site);
struct comm_exact_place comm_exact_site_place(uint32_t site);
/* How many an access there is of; of what reads or writes as much as it is told each word of eight counts as one.  0: none was made. */
uint32_t comm_exact_site_bytes(uint32_t site);
/* name: NULL, there is no such region. */
void comm_exact_region(uint32_t region, uint32_t *ret_parent, const char **ret_name);
/*
 * The calling thread enters a region within those that it is in, and those that it marks until it leaves are
 * within this one.  One that stands around already is entered again: recursion makes no more of them.
 */
void comm_exact_region_enter(const char *name, struct comm_exact_inside *ret_around);
void comm_exact_region_leave(const struct comm_exact_inside *around);
/* It is in a path, until that is left as a region is. */
uint32_t comm_exact_path_now(void);
void comm_exact_path_enter(uint32_t path, struct comm_exact_inside *ret_around);
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

/* The writer in a cell of what the calling thread writes there. */
uint32_t comm_exact_writer(uint64_t pc);

/*
 * Calls are eight bytes apart at least: five of their own, and what sets the address.  Sites and objects are
 * spread by a hash already; neighbours of a writer do the same.  Code is seldom in two regions by turns: it shares one
 * place.  To tell epochs apart here took a fifth more time: what is read of several by turns is looked for in
 * comm_exact_thread.dated, where it is not found here.
 */
static inline struct comm_exact_read *comm_exact_last_read(struct comm_exact_thread *t, uint64_t pc,
							   uint64_t cell, uint32_t object)
{
	uint64_t writer = cell >> COMM_CELL_WRITER_SHIFT;

	return &t->read[(pc / 8 ^ writer ^ writer >> COMM_SITE_BITS ^ object) % COMM_EXACT_RECENT];
}

static inline struct comm_exact_write *comm_exact_last_write(struct comm_exact_thread *t,
							     uint64_t pc)
{
	return &t->written[pc / 8 % COMM_EXACT_RECENT];
}

/* Whether the thread is known, so that there is a shadow, and the access is of one granule. */
static inline int comm_exact_is_quick(const struct comm_exact_thread *quick, uint64_t addr,
				      uint64_t len_bytes)
{
	return quick && (addr & (COMM_EXACT_QUICK_BYTES - 1)) + len_bytes <= COMM_EXACT_QUICK_BYTES;
}

/* The last read of a cell so written, if this one is the same but for who has read it; else NULL. */
static inline __attribute__((always_inline)) struct comm_exact_read *
comm_exact_read_again(struct comm_exact_thread *t, uint64_t addr, uint64_t was, uint64_t pc)
{
	uint32_t object = *comm_object_at(addr);
	struct comm_exact_read *r = comm_exact_last_read(t, pc, was, object);

	if (__builtin_expect(r->pc != (pc | t->place_bits) || r->epoch != comm_exact_epoch_read ||
				     r->object != object,
			     0))
		return NULL;
	return r;
}

/*
 * Counts a read of a cell that was as `was` says, which is what r has but for who has read it.  Returns 0
 * when it is not one of what this thread has read, or a first one as r has it.
 */
static inline __attribute__((always_inline)) int
comm_exact_count_again(struct comm_exact_read *r, uint64_t *cell, uint64_t was, uint64_t len_bytes)
{
	if (was != r->cell && !r->own) {
		/* Who wrote it stays, even if a signal handler puts another read there now. */
		uint64_t now = (was & ~COMM_CELL_SEEN) | (r->cell & COMM_CELL_SEEN);

		if (comm_cell_set(was) != r->before ||
		    !__atomic_compare_exchange_n(cell, &was, now, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			return 0;
		r->edge->first_bytes += len_bytes;
	}
	r->edge->bytes += len_bytes;
	return 1;
}

/* The same for what comes before every access: short, and mostly as the last one. */
static inline __attribute__((always_inline)) void
comm_exact_read_now(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_thread *t = comm_exact_quick_read;
	uint64_t *cell = comm_cell_by(addr, COMM_EXACT_QUICK_SHIFT), was;
	struct comm_exact_read *r;

	if (__builtin_expect(!comm_exact_is_quick(t, addr, len_bytes), 0))
		goto slowly;
	was = __atomic_load_n(cell, __ATOMIC_RELAXED);
	r = comm_exact_read_again(t, addr, was, pc);
	if (__builtin_expect(!r, 0))
		goto slowly;
	if (__builtin_expect(was == r->cell, 1)) {
		r->edge->bytes += len_bytes;
		return;
	}
	if (!((was ^ r->cell) & ~COMM_CELL_SEEN) && comm_exact_count_again(r, cell, was, len_bytes))
		return;
slowly:
	if (!comm_exact_is_skipped(pc))
		comm_exact_read_slowly(addr, len_bytes, pc);
}

static inline __attribute__((always_inline)) void
comm_exact_write_now(uint64_t addr, uint64_t len_bytes, uint64_t pc)
{
	struct comm_exact_thread *t = comm_exact_quick;
	const struct comm_exact_write *w = comm_exact_last_write(t, pc);
	uint64_t object;

	if (__builtin_expect(!comm_exact_is_quick(t, addr, len_bytes), 0))
		goto slowly;
	object = *comm_object_at(addr);
	if (__builtin_expect(w->pc != (pc | t->place_bits) || !object || w->object != object ||
				     comm_exact_epoch_read == COMM_EXACT_STOPPED,
			     0))
		goto slowly;
	w->edge->bytes += len_bytes;
	__atomic_store_n(comm_cell_by(addr, COMM_EXACT_QUICK_SHIFT), w->cell | comm_exact_epoch,
			 __ATOMIC_RELAXED);
	return;
slowly:
	comm_exact_write_slowly(addr, len_bytes, pc);
}

#pragma GCC visibility pop

#endif
