/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learned: what reads of data that threads were seen to write tell of reads whose writer was not
 * seen: whether threads read their own writes (own_reads.h), and whose code meets at one datum (code_pairs.h).  Not what the write profile learns
 * of writes alone.
 */
#ifndef COMM_LEARNED_H
#define COMM_LEARNED_H

#include "candidate.h"
#include "code_pairs.h"
#include "own_reads.h"

struct comm_learned {
	struct comm_own_reads *own;
	struct comm_code_pairs *code_pairs;
	struct comm_write_profile *profile;
	struct comm_areas *areas; /* the profile's */
	struct comm_candidate candidate[COMM_CANDIDATES];
};

/* The profile must outlive it.  -ENOMEM; deinit is due even then, and nothing for a zeroed one. */
int comm_learned_init(struct comm_learned *learned, const struct comm_est_config *config,
		      struct comm_write_profile *profile);
void comm_learned_deinit(struct comm_learned *learned);

/* Some of the window's n oldest bursts, each without its own writes; the profile has them all. */
void comm_learned_take(struct comm_learned *learned, struct comm_window *window, uint32_t n);
/* Halves what is told by time. */
void comm_learned_halve(struct comm_learned *learned);

#endif
