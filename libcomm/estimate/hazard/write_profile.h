/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write profile: where each thread writes, and how often of late, learned from the
 * window's bursts and kept in areas.
 */
#ifndef COMM_WRITE_PROFILE_H
#define COMM_WRITE_PROFILE_H

#include "area.h"
#include "weight.h"
#include "window.h"

struct comm_write_profile;

int comm_write_profile_create(uint64_t memory_bytes, uint32_t granularity_bytes,
			      struct comm_write_profile **ret);
void comm_write_profile_destroy(struct comm_write_profile *profile);

/* Read by all, written by the profile. */
struct comm_areas *comm_write_profile_areas(const struct comm_write_profile *profile);
/* The window's n oldest bursts: their writes, and the areas of their reads. */
void comm_write_profile_learn(struct comm_write_profile *profile, struct comm_window *window,
			      const struct comm_weights *weights, uint32_t n);
/* Takes a learned burst's writes out (sign -1) and puts them back (1). */
void comm_write_profile_take_out(struct comm_write_profile *profile, struct comm_window *window,
				 const struct comm_window_burst *burst, int sign);
/*
 * The burst's writes become part of the recent activity of its thread; now_ns
 * and start_ns are the thread's on-CPU time at the burst and at the beginning.
 */
void comm_write_profile_activity(struct comm_write_profile *profile, struct comm_window *window,
				 const struct comm_window_burst *burst, double now_ns,
				 double start_ns);
/*
 * A read of an object was of a datum seen to be written (1 or 0), and would be
 * with chance expected if all data read were written.
 */
void comm_write_profile_read(struct comm_write_profile *profile, uint32_t object, double seen,
			     double expected);
/* The share of written data in what is read of the object. */
double comm_write_profile_written(const struct comm_write_profile *profile, uint32_t object);
/* Writes and reads that found no room. */
uint64_t comm_write_profile_thinned(const struct comm_write_profile *profile);

#endif
