/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watchpoint answers: which thread wrote a datum after a thread had read it.  The
 * watchpoint was set at an instant independent of the read, so that in the long
 * run these writers are distributed as those before the read are.  Answers see writes that
 * are too rare for any burst to meet.
 *
 * What threads write themselves is counted apart, whichever thread it is, from what others write: of
 * an object in which each has data of its own the answers of one do not say that it writes what
 * another reads.
 *
 * Each answer is foretold before it is known, by the estimator and by the answers so
 * far; the posterior odds of these two, per object and place, decide which shares are
 * used (Dawid, The prequential approach, JRSS A 147, 1984).  Answers are scored
 * against the estimator's average forecast of such reads: where threads take turns it
 * may rightly name the last writer of each read, which is not the next writer.
 */
#ifndef COMM_WATCH_NEXT_H
#define COMM_WATCH_NEXT_H

#include <stdbool.h>
#include <stdint.h>

struct comm_watch_next;

enum {
	COMM_WATCH_NEXT_WRITERS = 8,
};

struct comm_watch_next_read {
	uint32_t thread, object;
	uint64_t datum;
	bool known; /* the estimator saw a thread write it */
};

struct comm_watch_next_write {
	uint32_t thread, site;
};

struct comm_watch_next_writer {
	uint32_t thread, site;
	double share; /* of what is read there */
};

int comm_watch_next_create(struct comm_watch_next **ret);
void comm_watch_next_destroy(struct comm_watch_next *watch_next);

/* An answer, NULL: no write came in time; and the estimator's shares of that read, one for each thread. */
void comm_watch_next_add(struct comm_watch_next *watch_next,
			 const struct comm_watch_next_read *read,
			 const struct comm_watch_next_write *write,
			 const struct comm_watch_next_writer *foretold, uint32_t n_foretold);
/*
 * The writers of what is read there, COMM_WATCH_NEXT_WRITERS at most; returns how
 * many.  Their shares replace the estimator's and add up to one at most: the rest
 * stays the estimator's.
 */
uint32_t comm_watch_next_shares(const struct comm_watch_next *watch_next,
				const struct comm_watch_next_read *read,
				struct comm_watch_next_writer *ret);

#endif
