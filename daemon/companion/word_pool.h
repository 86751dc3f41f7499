/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Word pool: of the live words that were offered since the last draw one, drawn with a chance
 * proportional to the bytes that it stands for (a reservoir of one, Efraimidis and Spirakis, IPL
 * 97, 2006).  What is drawn stands for all that was offered: Horvitz and Thompson's weight of
 * a draw by size.  A zeroed pool is an empty one.
 */
#ifndef COMM_WORD_POOL_H
#define COMM_WORD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "live_word.h"

struct comm_word_pool {
	struct comm_live_word kept;
	double stands_for; /* of all offered */
};

/* *random: the state of a stream (hash.h). */
void comm_word_pool_offer(struct comm_word_pool *pool, uint64_t *random,
			  const struct comm_live_word *word);
/* Empties the pool.  False: it was empty. */
bool comm_word_pool_draw(struct comm_word_pool *pool, struct comm_live_word *ret);

/*
 * Several pools, to which offers go in turn, and the heaviest is drawn from: so windows stand for much the same each, and
 * after a time in which none could begin several share what came meanwhile.  There are as many as are drawn from in half a
 * second, for words come in heaps, and COMM_WORD_POOLS_LEAST at least.  Zeroed ones are empty.
 */
enum { COMM_WORD_POOLS = 32, COMM_WORD_POOLS_LEAST = 4 };

struct comm_word_pools {
	struct comm_word_pool pool[COMM_WORD_POOLS];
	unsigned int n, next;
	/* In the second since that time: words that were drawn, and whether one more was asked for. */
	unsigned int drawn;
	bool is_dry;
	uint64_t since_ns;
};

void comm_word_pools_offer(struct comm_word_pools *pools, uint64_t *random,
			   const struct comm_live_word *word, uint64_t now_ns);
bool comm_word_pools_any(const struct comm_word_pools *pools);
/* Empties one of the pools.  False: all were empty. */
bool comm_word_pools_draw(struct comm_word_pools *pools, struct comm_live_word *ret);

#endif
