/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contention: finds the cache lines that threads take from each other, and counts who does what
 * with which bytes of them.  It stands beside any estimator and is fed the same bursts.  It
 * tells no false sharing from true: that is a matter of all slices together (report room).
 *
 * How often a line goes back and forth between two samples is not known: turns are the least,
 * and accesses the most, as a time sample that falls into a wait for the line counts as so many
 * accesses that do not wait.
 *
 * A line becomes tracked when a second thread uses it while it is remembered that another
 * one did, and one of both wrote.  What is remembered of all lines is a direct-mapped table of
 * their last thread.  The tracked lines are kept by how often threads took turns in them: the
 * fewest give way to a new one, which inherits their count (Metwally, Agrawal and El Abbadi,
 * Efficient computation of frequent and top-k elements in data streams, ICDT 2005).  All tables
 * are of fixed size, some 2.5 MiB.
 */
#ifndef COMM_CONTENTION_H
#define COMM_CONTENTION_H

#include "cacheline.h"
#include "estimator.h"

struct comm_contention;

enum {
	COMM_CONTENTION_LINES = 512, /* tracked at a time */
	COMM_CONTENTION_USES = 64,   /* kept of one line */
	COMM_CONTENTION_TAKEN = 64,  /* lines of one slice */
};

int comm_contention_create(double cycles_per_ns, struct comm_contention **ret);
void comm_contention_destroy(struct comm_contention *contention);

/* In order of time. */
void comm_contention_burst(struct comm_contention *contention,
			   const struct comm_access_burst *burst);
/*
 * Adds what was counted since the last call to the table, and begins anew: of the lines with
 * the most turns ever.  The uses' offsets stay 0: objects are the caller's.  A line that is used
 * in too many ways has further ones as those of thread and site (other).  -ENOMEM.
 */
int comm_contention_take(struct comm_contention *contention, struct comm_cachelines *table);

#endif
