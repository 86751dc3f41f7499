/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Seats: threads of one role (estimator.h) in one process that come one after the other.  Where a
 * program starts threads for each piece of work, each lives too briefly to be learned of, and works in
 * memory in which those before it worked.  So a new thread takes the seat of one that has ended, the latest of its role
 * first, and what is learned is learned of the seat.  A seat has the id of the first thread that
 * had it: a thread that succeeds nobody is its own seat.
 *
 * Bounded: of the threads that had a seat the latest are remembered, and of the free seats.
 */
#ifndef COMM_SEATS_H
#define COMM_SEATS_H

#include "age.h"
#include "estimator.h"

struct comm_seats;

int comm_seats_create(struct comm_seats **ret);
void comm_seats_destroy(struct comm_seats *seats);

/* The seat of a burst's thread, which takes one with its first burst. */
uint32_t comm_seats_take(struct comm_seats *seats, const struct comm_access_burst *burst);
/* A thread has ended: another may take its seat.  Nothing for one without a seat. */
void comm_seats_leave(struct comm_seats *seats, uint32_t thread);
/* The thread's seat; the thread itself if it took none. */
uint32_t comm_seats_of(struct comm_seats *seats, uint32_t thread);

/* The thread's role; 0: not known. */
uint32_t comm_seats_role(struct comm_seats *seats, uint32_t thread);

/* A thread's part of what is said to be written from a seat. */
struct comm_seat_part {
	uint32_t thread, role;
	double part;	/* the parts' sum is 1 */
	double doubted; /* Part before unsure reads were assigned; used for doubts only (doubt.h) */
};

enum { COMM_SEAT_PARTS = 3 };

/*
 * Which threads wrote what a reader's burst read at now_ns and was written from a seat, so long before as ages
 * say: the one that had the seat then.  But where the reader has succeeded another thread and few
 * bursts have met it, it is unsure whether it wrote by itself what its role is seen to write, and
 * is taken to have.  Returns how many parts there are.
 */
uint32_t comm_seats_parts(struct comm_seats *seats, uint32_t reader, uint32_t seat,
			  const struct comm_ages *ages, uint64_t now_ns,
			  struct comm_seat_part ret[COMM_SEAT_PARTS]);

#endif
