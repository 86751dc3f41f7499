/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses of a report: what was lost in its slices, by cause. */
#ifndef COMM_LOSSES_H
#define COMM_LOSSES_H

#include <sqlite3.h>

#include <comm/comm.h>

#include "slices.h"
#include "texts.h"

/*
 * Loads the losses of the cover's taken slices, largest first; texts owns the causes'
 * names.  The caller frees the malloc'ed array, also on failure.
 */
int comm_losses_load(sqlite3 *db, int64_t run, const struct comm_slices *slices,
		     struct comm_texts *texts, struct comm_report_loss **ret, size_t *ret_n);

#endif
