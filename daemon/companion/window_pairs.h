/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of a window: from the accesses to a live word, in order, who wrote last before each read that is like the one
 * that drew the word: by code near its instruction.  Other code reads the word for another purpose, or another datum
 * that lies there by now, and a window has no measure of how often: of code that reads a word without end it sees some reads alone.
 * Reads before the first write are of an unknown writer, and so are those after an access of which it is not known
 * which way it went, or after a gap.  An instruction that reads and writes is a read of what the write before
 * it left, and then a write.  The kernel's writes count, its reads do not: they may be the sampler's own.
 *
 * It knows nothing of how accesses are seen.  One thread uses it.
 */
#ifndef COMM_WINDOW_PAIRS_H
#define COMM_WINDOW_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "live_word.h"
#include "merge.h"

struct comm_window_access {
	uint64_t time_ns;
	uint64_t ip; /* of the instruction */
	uint32_t tgid, tid;
	uint16_t cpu;
	uint16_t flags; /* enum comm_access_flags; neither way: not known */
};

/* Reads by one instruction in one thread, of what one instruction in one thread wrote. */
struct comm_window_pair {
	struct comm_window_access read, write; /* the last ones */
	uint64_t n;
};

struct comm_window_pairs {
	struct comm_window_pair *pair;
	uint32_t n_pairs, capacity;
	uint64_t code_ip;  /* of the drawn read's instruction */
	uint64_t n_reads;  /* of all pairs */
	uint64_t n_others; /* reads by other code, of whatever write */
	uint64_t n_writes; /* that were seen */
	/* Several, all by one thread; and by one instruction of it. */
	bool are_of_thread, are_of_one;
	bool known;			 /* last_write is the last one until now */
	struct comm_window_access write; /* the last one that was seen; flags 0: none was */
};

/* capacity: how many accesses there may be in one window. */
int comm_window_pairs_init(struct comm_window_pairs *pairs, uint32_t capacity);
void comm_window_pairs_deinit(struct comm_window_pairs *pairs);

/* Another window begins.  code_ip: of the instruction of the read that drew its word. */
void comm_window_pairs_clear(struct comm_window_pairs *pairs, uint64_t code_ip);
/* The next access to the word. */
void comm_window_pairs_access(struct comm_window_pairs *pairs,
			      const struct comm_window_access *access);
/* Accesses may have been missed. */
void comm_window_pairs_gap(struct comm_window_pairs *pairs);

/*
 * Pushes the window's COMM_EV_FED events, which share what the word stands for by their reads.  Where no
 * pair was seen and no read by other code, but several writes, all of one thread, they are taken to be what the drawn read
 * finds (read_ns is 0: nobody saw it): the next write after a read need not be of who wrote last before it.  Of several
 * instructions write.ip is 0, as it is where nobody but the reader can have written the word.  Else the writer is
 * not known: one event with write.flags 0.
 */
void comm_window_pairs_tell(const struct comm_window_pairs *pairs,
			    const struct comm_live_word *word, uint32_t window,
			    enum comm_fed_how how, uint64_t now_ns, comm_event_fn *push, void *ctx);

#endif
