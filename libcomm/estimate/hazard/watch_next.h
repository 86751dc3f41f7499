/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watchpoints say of whose data a thread reads: each time they looked who
 * next writes a datum that it had read, at an instant that had nothing to do
 * with the read, so that in the long run the next writer is as likely as the last
 * one.  They see writes that are too few for any burst to meet.
 *
 * Each answer is foretold before it is known, by the estimator and from the
 * answers so far: their posterior odds, per object and place, say whose shares are used
 * (Dawid, The prequential approach, JRSS A 147, 1984).  The estimator is taken by
 * what it said of such reads on average: where turns are taken it may rightly name
 * the last writer of each read, and that one is not the next.
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
	bool known; /* the estimator saw somebody write it */
};

struct comm_watch_next_write {
	uint32_t thread, site;
};

struct comm_watch_next_writer {
	uint32_t thread, site;
	double share; /* of what is read there */
};

int comm_watch_next_create(struct comm_watch_next **ret);
void comm_watch_next_destroy(struct comm_watch_next *watched);

/* An answer, NULL: no write came in time; and the estimator's shares of that read. */
void comm_watch_next_add(struct comm_watch_next *watched, const struct comm_watch_next_read *read,
			 const struct comm_watch_next_write *write,
			 const struct comm_watch_next_writer *foretold, uint32_t n_foretold);
/*
 * Who writes what is read there, COMM_WATCH_NEXT_WRITERS at most; returns how many.
 * The shares are those by which the estimator's are to be replaced, and add up to
 * one at most: the rest is the estimator's.
 */
uint32_t comm_watch_next_shares(const struct comm_watch_next *watched,
				const struct comm_watch_next_read *read,
				struct comm_watch_next_writer *ret);

#endif
