/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shipper: sends what is finished of each run of a store to a sink, oldest first.  It holds one batch in memory, whatever waits.
 * The store is opened for each look, as it may be replaced meanwhile.
 */
#ifndef SHIP_SHIPPER_H
#define SHIP_SHIPPER_H

#include "sink.h"

struct ship_sums {
	uint64_t slices, flows, runs;
	uint64_t had;	     /* slices that the sink had, as another one sent them meanwhile */
	uint64_t passed;     /* slices and whole runs that cannot be sent */
	uint64_t missing_ns; /* told of a run once; with that of what cannot be sent */
};

/* What of a run was told of as not to be sent, so that it is told once. */
struct ship_passed {
	int64_t run;
	uint64_t until_ns;  /* since the run's start; UINT64_MAX: all of it */
	uint64_t length_ns; /* of what was passed behind the mark */
};

struct ship_shipper {
	const char *store;
	const struct ship_sink_ops *ops;
	struct ship_sink_config config;
	struct ship_sink *sink; /* NULL: not open */
	struct ship_sums sums;
	struct ship_batch batch;
	uint64_t wait_ms; /* after a round that failed: no earlier is another to be tried */
	/* Runs that are over, and of which nothing is left: their ids, in order. */
	int64_t *over;
	size_t n_over, capacity;
	struct ship_passed *passed;
	size_t n_passed;
	char *over_store; /* which both are of: the UUID of the first run */
};

/*
 * Sends all that is finished.  0, -EAGAIN where the store may be read or the sink may take it later, else -errno, with a
 * sentence in *err.  On failure the sink is closed, and what it has not taken is sent the next time.  A run or slice that
 * cannot be sent is no failure: it is told, counted, and passed over.
 */
int ship_shipper_round(struct ship_shipper *shipper, char **err);
int ship_shipper_drop_older(struct ship_shipper *shipper, uint64_t seconds, uint64_t *ret_days,
			    char **err);
void ship_shipper_deinit(struct ship_shipper *shipper);

#endif
