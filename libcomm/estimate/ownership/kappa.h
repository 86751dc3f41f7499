/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kappa: how many bursts the surroundings of a region are worth beside the votes of
 * the region itself, by object and level.  With v(w) of N votes for thread w at
 * a level, and p(w) the share that the next coarser level gives it,
 *
 *	p'(w) = (v(w) + kappa * p(w)) / (N + kappa)
 *
 * is the share at this level: a hierarchy of Dirichlet distributions (MacKay and
 * Peto, A hierarchical Dirichlet language model, 1995).  Each write foretold by
 * the writes of other bursts scores all values of a grid by log p'(writer); kappa
 * is the mean over the grid, weighted by likelihood.  So data that each thread
 * keeps apart get a small kappa, a hash table gets a large one.
 */
#ifndef COMM_KAPPA_H
#define COMM_KAPPA_H

#include "nest.h"

struct comm_kappas;

int comm_kappas_create(struct comm_kappas **ret);
void comm_kappas_destroy(struct comm_kappas *kappas);

/* A burst of thread wrote what view is of, the burst itself left out.  weight: its part of the burst. */
void comm_kappas_learn(struct comm_kappas *kappas, uint32_t object,
		       const struct comm_nest_view *view, uint32_t thread, double weight);
/* Draws conclusions from all that was learned. */
void comm_kappas_settle(struct comm_kappas *kappas);
double comm_kappa(const struct comm_kappas *kappas, uint32_t object, uint32_t level);

#endif
