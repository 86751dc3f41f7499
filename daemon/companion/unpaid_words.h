/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpaid words: live words that got no window, as it would have cost too much, or as the run ended.  They stand for what they
 * stand for all the same.  Of words of like lags it is chance which get a window, so those that got none are taken to be like
 * those that did: what they stand for is shared out among the last two to four windows of their stratum, which are told once more
 * (response homogeneity groups: Saerndal, Swensson and Wretman, Model Assisted Survey Sampling, chapter 15).  A
 * window is told so once, and no later than a minute on; where there are none the writer is not known.
 *
 * Which words are of like lags late_words.h says; those that change soon are alike, too.  A zeroed one is empty.
 */
#ifndef COMM_UNPAID_WORDS_H
#define COMM_UNPAID_WORDS_H

#include "late_words.h"
#include "window_pairs.h"

enum {
	COMM_UNPAID_STRATA = COMM_LATE_STRATA + 1, /* the last one: of words that change soon */
	COMM_UNPAID_DONORS = 4,
	COMM_UNPAID_PAIRS = 24, /* of a window with more the first ones stand for all */
};

/* A window that has ended. */
struct comm_unpaid_donor {
	uint64_t time_ns; /* 0: none */
	struct comm_live_word word;
	struct comm_window_pairs pairs; /* its own array is not used */
	struct comm_window_pair pair[COMM_UNPAID_PAIRS];
};

struct comm_unpaid_words {
	struct comm_unpaid_stratum {
		struct comm_word_pool waiting[2]; /* of processes of several threads, and of one */
		struct comm_unpaid_donor donor[COMM_UNPAID_DONORS];
		unsigned int next;
	} stratum[COMM_UNPAID_STRATA];
	uint64_t told_ns;
};

/* A word that gets no window. */
void comm_unpaid_words_add(struct comm_unpaid_words *unpaid, uint64_t *random,
			   const struct comm_live_word *word);
/* A window has ended; its word stands for what the window does. */
void comm_unpaid_words_seen(struct comm_unpaid_words *unpaid, const struct comm_live_word *word,
			    const struct comm_window_pairs *pairs, uint64_t now_ns);
/* The process has ended, or runs another program: its windows are told of no more. */
void comm_unpaid_words_gone(struct comm_unpaid_words *unpaid, uint32_t tgid);
/* Tells of all that wait, once a second at most; *numbers: of the last window that was told. */
void comm_unpaid_words_tell(struct comm_unpaid_words *unpaid, uint32_t *numbers, uint64_t now_ns,
			    comm_event_fn *push, void *ctx);

#endif
