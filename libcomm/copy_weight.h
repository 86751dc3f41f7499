/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel copies: what a sample of one in a system call stands for.  engine.c asks for each COMM_EV_KCOPY. */
#ifndef COMM_COPY_WEIGHT_H
#define COMM_COPY_WEIGHT_H

#include "estimator.h"
#include "event.h"

/*
 * Of the burst that has the copy as its only access.  What the kernel read stands for as many as it
 * has counted, and else, as what it wrote, for those of the time that a copy takes; a piece of what a
 * thread sent for its part of the calls of that time.
 */
void comm_copy_weigh(const struct comm_precise *copy, struct comm_access_burst *burst,
		     struct comm_access *access);

#endif
