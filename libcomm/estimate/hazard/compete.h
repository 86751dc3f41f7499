/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Competing hazards: which candidate wrote a datum last before a read, when each
 * writes at its own rate while it is on a CPU.  Time is walked back from the read
 * in slabs, each four times as long as the one before.
 *
 * What it is not for: the rates themselves (candidate.h, hazard.c).
 */
#ifndef COMM_COMPETE_H
#define COMM_COMPETE_H

#include "candidate.h"
#include "on_cpu.h"

struct comm_compete;

/* On-CPU times of a thread, ns. */
struct comm_compete_time {
	double start_ns, end_ns; /* at the ends of the span */
	double now_ns;		 /* at the read */
};

/* What is read: at which rate by whom, and what is known of it. */
struct comm_compete_read {
	uint32_t reader;
	double rate;	/* per ns on a CPU */
	double written; /* the chance that it is written at all; < 0: it was seen to be */
};

/* on_cpu must outlive it. */
int comm_compete_create(struct comm_on_cpu *on_cpu, struct comm_compete **ret);
void comm_compete_destroy(struct comm_compete *compete);

/* Reads lie before end_ns, and nothing is known from before start_ns. */
void comm_compete_span(struct comm_compete *compete, uint64_t start_ns, uint64_t end_ns);
/* The reads asked of from now on are at now_ns, and there in their process's frames; NULL: in none. */
void comm_compete_at(struct comm_compete *compete, uint64_t now_ns, const struct comm_frame_at *at);
/* Valid until comm_compete_at(). */
const struct comm_compete_time *comm_compete_time(struct comm_compete *compete, uint32_t thread);
/*
 * Adds to the candidates' shares, and sets their ages where the hazards tell when they wrote;
 * returns the chance that none of them wrote.  A datum that was not seen to be written is shared by
 * label and factor, whoever ran last, but not with who runs after the read only.  *ret_first is the chance
 * that the reader did not read the datum since it was written: of n reads for each write one.
 */
double comm_compete_run(struct comm_compete *compete, const struct comm_compete_read *read,
			struct comm_candidate *candidate, uint32_t n, double *ret_first);

#endif
