/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The window: bursts kept until their slice is estimated, each collapsed to the
 * lines it wrote and to a few of its reads.  What a burst says for certain is
 * settled here: a read after the burst's own write of the datum has that write
 * as its last one, and a read after the burst's own read of the datum is no
 * first read.
 *
 * Of the other reads at most COMM_WINDOW_READS are kept, drawn systematically
 * with a chance proportional to the bytes they stand for; each then counts
 * 1 / chance times (Horvitz-Thompson again).
 */
#ifndef COMM_WINDOW_H
#define COMM_WINDOW_H

#include "weight.h"

struct comm_window;

enum {
	COMM_WINDOW_READS = 3,	    /* fewer when bursts are many */
	COMM_WINDOW_CELLS = 16,	    /* most areas one long write is cut into */
	COMM_WINDOW_SPIN_TURNS = 8, /* turns of one loop, from which on it waits */
	COMM_WINDOW_YIELD_READS =
		16, /* before a thread yields: who reads more does not only wait */
};

struct comm_window_write {
	uint64_t datum;
	uint32_t object; /* comm_access_whole() */
	uint32_t site;
	uint32_t weight_slot;
	uint32_t actor; /* the estimator's */
	float count;	/* writes of each datum, scaled by all/known */
	float weight;	/* the estimator's: count in executed accesses */
	uint8_t mask;	/* data of the line written; level 1 only */
	uint8_t level;	/* above 1: the whole area was written */
};

struct comm_window_read {
	uint64_t datum;
	uint32_t object; /* comm_access_whole() */
	uint32_t shown;	 /* the object that its edges name */
	uint32_t site;
	uint32_t weight_slot;
	uint32_t self_site;
	uint32_t area;	 /* the estimator's */
	float bytes;	 /* scaled by all/known and 1/chance */
	float count;	 /* accesses, scaled likewise */
	float weight;	 /* the estimator's: count in executed accesses */
	float first;	 /* share of the bytes that may be a first read */
	bool self;	 /* last written at self_site in this very burst */
	bool constant;	 /* COMM_ACCESS_CONSTANT */
	bool own_stack;	 /* COMM_ACCESS_OWN_STACK */
	bool of_file;	 /* COMM_ACCESS_OF_FILE */
	bool by_creator; /* COMM_ACCESS_BY_CREATOR */
	/*
	 * Its burst waits for another thread's write: it writes nothing and reads the same few
	 * addresses over and over, or such as were met in a burst that does (waited_reads.h).  What is
	 * waited for comes with the loop's last read alone, and all others find what was there before:
	 * neither who wrote it first nor who is seen to write it says whose that is.
	 */
	bool spins;
};

struct comm_window_burst {
	uint64_t time_ns;
	struct comm_weight_burst weighing;
	struct comm_frame_at frame;
	uint32_t thread; /* that of comm_window_add() */
	uint32_t reader; /* the thread itself */
	uint32_t creator, initial;
	uint32_t first_write, n_writes; /* of the window's writes */
	uint32_t first_read, n_reads;
};

int comm_window_create(uint64_t memory_bytes, uint32_t granularity_bytes, struct comm_window **ret);
void comm_window_destroy(struct comm_window *window);

/*
 * thread: what the estimator takes for the burst's, of which it learns.  -ENOSPC: full, the caller estimates and
 * drops what it has.
 */
int comm_window_add(struct comm_window *window, struct comm_weights *weights,
		    const struct comm_access_burst *burst, uint32_t thread);
/* Reads kept per second at most, from the next burst on; at first they are unlimited. */
void comm_window_pace(struct comm_window *window, double reads_per_s);
/* Accesses, or pieces of long ones, that one burst had too many of. */
uint64_t comm_window_thinned(const struct comm_window *window);
uint32_t comm_window_count(const struct comm_window *window);
const struct comm_window_burst *comm_window_at(const struct comm_window *window, uint32_t i);
struct comm_window_write *comm_window_writes(struct comm_window *window,
					     const struct comm_window_burst *burst);
struct comm_window_read *comm_window_reads(struct comm_window *window,
					   const struct comm_window_burst *burst);
/* Drops the n oldest bursts. */
void comm_window_drop(struct comm_window *window, uint32_t n);

#endif
