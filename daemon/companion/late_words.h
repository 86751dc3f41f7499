/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Late words: live words that change after more than COMM_SOON_NS, which wait for a window.  Windows on them are dear and few, and
 * the longer the later a word changes, so words of like lags are drawn apart: else those that wait for long would
 * be left out, and the others stand for them.
 *
 * Of the strata the next draw is of that with most bytes for the square root of what a window costs: windows shared out so
 * tell most for their cost, of strata of unknown variance (Neyman's allocation; Cochran, Sampling Techniques, 3rd
 * edition, section 5.5).  Zeroed ones, with n_pools set, are empty.
 */
#ifndef COMM_LATE_WORDS_H
#define COMM_LATE_WORDS_H

#include "word_pool.h"

enum { COMM_LATE_STRATA = 4, COMM_LATE_POOLS = 3 };

struct comm_late_words {
	/* Of each stratum as many words are kept as windows can be begun at once. */
	struct comm_word_pool pool[COMM_LATE_STRATA][COMM_LATE_POOLS];
	unsigned int n_pools; /* 1 to COMM_LATE_POOLS */
	unsigned int next[COMM_LATE_STRATA];
	/* Of the last draw, or of the first offer since the stratum was empty. */
	uint64_t since_ns[COMM_LATE_STRATA];
};

/* Of a word with that lag, 0 to COMM_LATE_STRATA - 1. */
unsigned int comm_late_words_stratum(uint64_t lag_ns);

void comm_late_words_offer(struct comm_late_words *late, uint64_t *random,
			   const struct comm_live_word *word, uint64_t now_ns);
/*
 * A word whose lag is so long at most; it stands for all that were offered to its pool.  Those that change later
 * wait, as what windows cost may change.  False: there is none.
 */
bool comm_late_words_draw(struct comm_late_words *late, double longest_ns, uint64_t now_ns,
			  struct comm_live_word *ret);
/* A word of a stratum of which none was drawn for as long as words wait, a minute.  False: there is none. */
bool comm_late_words_overdue(struct comm_late_words *late, uint64_t now_ns,
			     struct comm_live_word *ret);

#endif
