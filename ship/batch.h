/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch: the rows of one finished slice of a run, summed for a fleet (docs/formats/batch.md), or its profile
 * (profile.h).  Threads are their roles, sites their functions, and of what a thread reads only what others wrote counts.
 *
 * A batch is the next slice of the cover (slices.h) from a time on, so each instant is in one batch: a minute where
 * the store has that, its parts where it has none, and a wider slice where the minutes are gone.  What is in
 * it never changes any more, whenever it is made, but for labels and roles that are known better later.
 */
#ifndef SHIP_BATCH_H
#define SHIP_BATCH_H

#include "reader.h"
#include "tsv.h"

/*
 * Bytes of the flows of a slice, as rows, of which a profile is made at most: making it takes many times as much memory.
 * Pyroscope takes no profile of more than 4 MiB by default.
 */
enum { SHIP_PROFILE_MAX = 6 << 20 };

struct ship_batch {
	char *uuid;	   /* of the run, checked: safe in names of files */
	int64_t unix_ns;   /* when it begins */
	uint64_t start_ns; /* since the run's start */
	uint64_t length_ns;
	uint64_t missing_ns; /* in front of it, which the store does not have any more */
	uint64_t flows;
	bool as_profile; /* what it is to have; of the batch's owner */
	struct ship_tsv rows;
	/* With as_profile; no bytes: the slice has no flow. */
	char *profile, *service, *host;
	size_t profile_bytes;
};

/*
 * The next batch of the run that begins from_ns after the run's start, or later; what is between mark_ns and it is missing.
 * 1: there is none, for now or at all.  Ends its read transaction before it returns, so that whoever waits for a sink
 * holds up no commd.  The batch's memory is taken anew.
 *
 * Else with a sentence in *err.  -EFBIG: the batch is too large, and its start and length say which; -ESTALE: what it is of has gone
 * meanwhile.  -EINVAL: the run has
 * no UUID or no time, so none of it can be sent.  -EUCLEAN, ...: as of comm_reader_runs().
 */
int ship_batch_next(struct comm_reader *reader, const struct comm_run *run, uint64_t mark_ns,
		    uint64_t from_ns, struct ship_batch *batch, char **err);
void ship_batch_deinit(struct ship_batch *batch);

/*
 * What a run is of, the same for each of its instances: its label; else the unit of its control group; else its command
 * without the number of its process.  malloc'ed.
 */
char *ship_service_of(const struct comm_run *run);
/* Whether it is one, in lower case. */
bool ship_is_uuid(const char *text);

#endif
