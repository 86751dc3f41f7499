/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Candidates: the threads that may have written a datum, by what was seen of the
 * areas that it lies in: where each of them writes (its profile), whether it
 * writes the datum at all, and which of them writes the data around it.  Not when
 * they wrote: compete.h says that, and keeps its numbers in struct comm_candidate too.
 */
#ifndef COMM_CANDIDATE_H
#define COMM_CANDIDATE_H

#include "age.h"
#include "window.h"
#include "write_profile.h"

enum {
	COMM_CANDIDATES = 64,
	COMM_CANDIDATE_BURSTS = 8, /* bursts that make a profile or an activity trusted */
	COMM_CANDIDATE_COARSE = 2, /* from this level on surroundings only are known */
};

/* A thread that may have written the datum x. */
struct comm_candidate {
	uint32_t thread;
	uint32_t site; /* of its writes, where no actor tells of them */
	uint32_t actor[COMM_AREA_LEVELS];
	uint8_t level;	 /* finest with a write */
	double rate;	 /* writes of x per on-CPU ns */
	double chance;	 /* that it writes x at all */
	double since_ns; /* on-CPU, since the last burst that wrote around x */
	double active;	 /* share of the rate that counts since then */
	double silent;	 /* how sure it is that it has stopped writing around x for silent_ns */
	double silent_ns;
	/* On-CPU times of the last bursts that wrote the finest area around x, and the one trusted; < 0: none. */
	double seen_ns, seen_around_ns;
	double profile; /* share of x in the writes at the level trusted */
	double tail;	/* weight of x, for what no hazard explains */
	double label;	/* chance that it is the one that writes around x */
	double factor;	/* of its share where surroundings alone are known (own_reads.h) */
	double most;	/* cumulated hazard for ever */
	double before;	/* cumulated hazard so far */
	double share;
	struct comm_ages ages; /* of share, the part of each age; the rest has no known one */
};

/* What was seen around a datum, level by level. */
struct comm_around {
	double pieces[COMM_AREA_LEVELS]; /* children in use */
	double n[COMM_AREA_LEVELS], weight[COMM_AREA_LEVELS];
	double n_read[COMM_AREA_LEVELS], weight_read[COMM_AREA_LEVELS];
	double n_reads[COMM_AREA_LEVELS]; /* of all threads */
	bool often;			  /* it was read over and over */
};

/* The candidates at a read, COMM_CANDIDATES at most; returns how many. */
uint32_t comm_candidates_find(const struct comm_write_profile *profile,
			      const struct comm_window_read *read, uint32_t reader,
			      struct comm_around *ret, struct comm_candidate *ret_candidate);
/* Fills in label: who writes the datum, were one thread to write it. */
void comm_candidates_label(const struct comm_write_profile *profile,
			   struct comm_candidate *candidate, uint32_t n);
/*
 * Fills in profile, level, chance and tail: the share of the datum in the
 * candidate's writes to the area whose actor is returned, and its level; as if nothing
 * below level from had been seen.  NULL: it was not seen to write there.
 */
const struct comm_actor *comm_candidate_profile(const struct comm_write_profile *profile,
						const struct comm_around *around, uint32_t word,
						uint32_t from, struct comm_candidate *candidate,
						uint32_t *ret_level);
/*
 * Of which sites a candidate's writes of the datum are, and their parts, COMM_ACTOR_SITES at most;
 * returns how many.  *ret_seen: they were seen to write it, by itself or with all of an area; else they
 * are those met around it.  0: none was.
 */
uint32_t comm_candidate_sites(const struct comm_areas *areas,
			      const struct comm_candidate *candidate, uint32_t word, bool *ret_seen,
			      uint32_t *ret_site, double *ret_part);
/* Whether one of them was seen to write the datum itself. */
bool comm_candidates_wrote(const struct comm_candidate *candidate, uint32_t n);

/*
 * Who touched a page first is known: that others write elsewhere in the object tells less, and gives way.
 * Returns the chances that did.
 */
double comm_candidates_drop_coarse(struct comm_candidate *candidate, uint32_t n);

#endif
