/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Word census: looks at words that bursts read, again and again after the lags of census.h, until
 * they have another value or the last look is over, and tells what became of each as a CENSUS event.
 * Words that were found changed are live: windows may be opened on them.  Nothing is done to the
 * target: the process that reads its memory reads all words that are due in one system call.
 *
 * Not for what one burst tells by itself (burst_read.h), nor for who wrote.  One thread uses it.
 */
#ifndef COMM_WORD_CENSUS_H
#define COMM_WORD_CENSUS_H

#include "burst_read.h"
#include "live_word.h"
#include "merge.h"
#include "peek_child.h"

struct comm_word_census;

struct comm_word_census_config {
	/* Reads words as comm_inspect_live_words() does. */
	int (*read)(void *ctx, const struct comm_peek_place *place, size_t n,
		    struct comm_peek_word *ret);
	void *read_ctx;
	/* Is told of each word that a look found changed. */
	void (*live)(void *ctx, const struct comm_live_word *word);
	void *live_ctx;
};

struct comm_word_census_stats {
	uint64_t words;	  /* that were taken */
	uint64_t looks;	  /* at words */
	uint64_t live;	  /* words that changed */
	uint64_t crowded; /* words that found no place */
};

int comm_word_census_create(const struct comm_word_census_config *config,
			    struct comm_word_census **ret);
void comm_word_census_destroy(struct comm_word_census *census);

/* A read of a burst, drawn by its bytes; its word gets its first look in the next turn. */
void comm_word_census_offer(struct comm_word_census *census, const struct comm_burst_read *read);
/* Looks at all words that are due. */
void comm_word_census_turn(struct comm_word_census *census, uint64_t now_ns);
/* Pushes the CENSUS events of words that were settled since the last call, then losses. */
void comm_word_census_collect(struct comm_word_census *census, uint64_t now_ns, comm_event_fn *push,
			      void *ctx);
/* Until the next look is due, ms; INT_MAX: there is no word. */
int comm_word_census_turn_ms(const struct comm_word_census *census, uint64_t now_ns);
void comm_word_census_stats(const struct comm_word_census *census,
			    struct comm_word_census_stats *ret);

#endif
