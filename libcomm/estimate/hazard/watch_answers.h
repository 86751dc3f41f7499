/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchpoint answers, and what they change in the shares of a read's candidates: the writers that
 * came next (watch_next.h) stand for those before, and consecutive accesses (pairs.h) tell how
 * often the reader itself was the last.  The forecasts that they are scored against are hazard.c's.
 */
#ifndef COMM_WATCH_ANSWERS_H
#define COMM_WATCH_ANSWERS_H

#include "candidate.h"
#include "estimator.h"
#include "pairs.h"
#include "watch_next.h"

enum { COMM_WATCH_ANSWERS_ASKED = 256 }; /* kept until they are foretold */

struct comm_watch_answers {
	struct comm_pairs *pairs;
	struct comm_watch_next *next;
	struct comm_evidence asked[COMM_WATCH_ANSWERS_ASKED]; /* to be foretold and scored */
	uint32_t n_asked;
};

/* -ENOMEM; deinit is due even then, and nothing for a zeroed one. */
int comm_watch_answers_init(struct comm_watch_answers *answers, uint32_t granularity_bytes);
void comm_watch_answers_deinit(struct comm_watch_answers *answers);

/* -ENOSPC: too many wait to be foretold. */
int comm_watch_answers_add(struct comm_watch_answers *answers,
			   const struct comm_evidence *evidence);
/*
 * Scores an answer against the candidates' shares of the same read, before it was known; what they
 * leave is of who touched the page first (NULL: not known).
 */
void comm_watch_answers_score(struct comm_watch_answers *answers,
			      const struct comm_evidence *evidence,
			      const struct comm_candidate *candidate, uint32_t n,
			      const struct comm_touch *touch, double unwritten);

/*
 * Gives the writers that watchpoints named their part of all shares, as candidates: there may be
 * more then.  Returns the chance that none of them wrote, which was unwritten.
 */
double comm_watch_answers_share(const struct comm_watch_answers *answers,
				const struct comm_window_read *read, uint32_t reader,
				struct comm_candidate *candidate, uint32_t *n, double unwritten);
/*
 * Corrects the reader's own share by how often watchpoints saw it to be the last writer; written: the
 * sum of all shares.
 */
void comm_watch_answers_self(const struct comm_watch_answers *answers,
			     const struct comm_window_read *read, uint32_t reader,
			     struct comm_candidate *candidate, uint32_t n, double written);

#endif
