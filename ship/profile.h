/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of a slice, for servers that add profiles up: who wrote what others read, as "commctl export --as pprof
 * --all" has it, of roles in the place of threads.  Not for the survey, which such a server cannot tell apart.
 */
#ifndef SHIP_PROFILE_H
#define SHIP_PROFILE_H

#include "batch.h"

/*
 * Fills in the batch's profile, service and host, of its start and length.  A slice without flows has no profile.  -ESTALE: the
 * slice has gone meanwhile.  Else as comm_reader_report(), with a sentence in *err or without.
 */
int ship_profile_make(struct comm_reader *reader, const struct comm_run *run,
		      struct ship_batch *batch, char **err);

#endif
