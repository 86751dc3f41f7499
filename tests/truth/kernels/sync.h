/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words through which workers wait for each other.  They are written and
 * read by the workers as the data are, so that is communication too, and
 * counted in the same way: each word's value names its writer.  It is counted
 * apart (truth_thread.sync), for a formula knows nothing of it.
 *
 * This file's functions are instrumented like the kernels.
 */
#ifndef TRUTH_SYNC_H
#define TRUTH_SYNC_H

#include "truth.h"

enum { TRUTH_LINE_BYTES = 64, TRUTH_STOP = 1, TRUTH_EPOCH = 2 };

/* On memory that processes share.  Each group of words has its own lines. */
struct truth_sync {
	struct {
		uint64_t arrived, generation, decision;
	} barrier __attribute__((aligned(TRUTH_LINE_BYTES)));
	/* Written by main: TRUTH_STOP, and a multiple of TRUTH_EPOCH that each reset raises. */
	uint64_t ctl __attribute__((aligned(TRUTH_LINE_BYTES)));
	struct {
		uint64_t word;
	} __attribute__((aligned(TRUTH_LINE_BYTES))) lock[TRUTH_LOCKS];
};

/* By main: all workers count from zero; all stop. */
void truth_sync_reset(struct truth_sync *sync);
void truth_sync_stop(struct truth_sync *sync);

#endif
