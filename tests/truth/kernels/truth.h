/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels with a known communication matrix.
 *
 * Every shared datum is one 8-byte word, and its value names its writer: the
 * top 8 bits hold the writer's number + 1, the rest a sequence number that the
 * writer never uses twice.  So whoever reads a word knows, from the value
 * alone, who wrote it last and whether he has read that very value before; he
 * counts it in counters of his own.  The matrix is exact by construction, races
 * included, and counting adds no traffic between threads.  Kernels whose
 * pattern is fixed compare a whole segment with the one value that must stand
 * there and count it at once; a wrong value ends the program.
 *
 * Barriers, locks and the word that says when to stop (sync.c) are counted in
 * the same way, but apart: at the default size barriers add less than 0.1 % to
 * the matrix, locks up to a sixth, though in the proportions of the data that
 * they protect.  Kernels without communication have neither: their workers
 * share nothing but the word of main's.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TRUTH_THREADS_MAX = 64,
	TRUTH_MAIN = TRUTH_THREADS_MAX, /* main's number as a writer */
	TRUTH_WRITERS = TRUTH_MAIN + 2, /* and 0 for nobody */
	TRUTH_LOCKS = 1024,
	TRUTH_WORD_BYTES = 8,
	TRUTH_TAG_SHIFT = 56,
};

struct truth_sync;

/* The values that a worker has last seen. */
struct truth_sync_seen {
	uint64_t arrived, generation, ctl, lock[TRUTH_LOCKS];
};

/* One worker.  Lives on pages that only this worker writes. */
struct truth_thread {
	uint32_t id, n;	      /* 0..n-1 of n */
	uint64_t words;	      /* size of a segment */
	unsigned int work;    /* rounds of private work after each access */
	uint64_t turn;	      /* 1 in the first turn */
	uint64_t phase_turns; /* turns before the pattern changes */
	uint64_t random;
	uint64_t sequence; /* last one used in a value */
	uint64_t *shared;  /* the words all workers see */
	uint64_t *own;	   /* the words nobody else sees */
	/* Bytes read, by writer's number + 1; 0: never written. */
	uint64_t bytes[TRUTH_WRITERS], first[TRUTH_WRITERS];
	/* The same for the words of sync.h. */
	uint64_t sync[TRUTH_WRITERS], sync_first[TRUTH_WRITERS];
	/* The harness's own. */
	struct truth_sync *sync_words;
	struct truth_sync_seen sync_seen;
	uint64_t sync_sequence, from_turn, epoch;
	uint32_t tid;
};

struct truth_kernel {
	const char *name, *help;
	void (*run)(struct truth_thread *t);
	/* Words of shared and, for each worker, of own memory. */
	uint64_t (*shared_words)(const struct truth_thread *t);
	uint64_t (*own_words)(const struct truth_thread *t);
	/*
	 * The formula, where there is one: bytes that dst reads of src in this
	 * turn, and how many for the first time.  It repeats every period()
	 * turns (absent: 1).
	 */
	void (*expect)(const struct truth_thread *t, unsigned int src, unsigned int dst,
		       uint64_t turn, uint64_t *bytes, uint64_t *first);
	uint64_t (*period)(const struct truth_thread *t);
	bool processes; /* workers are processes */
};

extern const struct truth_kernel truth_regular[];   /* regular.c */
extern const struct truth_kernel truth_irregular[]; /* irregular.c */

/* A barrier; false: the run is over. The same answer for all workers. */
bool truth_turn(struct truth_thread *t);
void truth_barrier(struct truth_thread *t);
/* For kernels without barriers: false when the run is over. */
bool truth_poll(struct truth_thread *t);
void truth_lock(struct truth_thread *t, unsigned int i);
void truth_unlock(struct truth_thread *t, unsigned int i);
void truth_fail(const struct truth_thread *t, const char *what) __attribute__((noreturn));

static inline uint64_t truth_value(uint32_t id, uint64_t sequence)
{
	return (uint64_t)(id + 1) << TRUTH_TAG_SHIFT | sequence;
}

static inline uint64_t truth_random(struct truth_thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

/* Work in registers, about four cycles a round. */
static inline void truth_work(unsigned int rounds)
{
	uint64_t x = rounds;

	while (rounds--) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
}

static inline void truth_count(struct truth_thread *t, uint32_t src, uint64_t words,
			       uint64_t first_words)
{
	t->bytes[src + 1] += words * TRUTH_WORD_BYTES;
	t->first[src + 1] += first_words * TRUTH_WORD_BYTES;
}

/* Counts one word by its value; seen is this worker's memory of that word. */
static inline void truth_note(struct truth_thread *t, uint64_t value, uint64_t *seen)
{
	unsigned int tag = value >> TRUTH_TAG_SHIFT;

	t->bytes[tag] += TRUTH_WORD_BYTES;
	if (*seen != value) {
		t->first[tag] += TRUTH_WORD_BYTES;
		*seen = value;
	}
}

#endif
