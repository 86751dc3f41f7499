/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sinks: where batches go.  A sink is a file and a line in the table of sink.c.
 *
 * A sink knows what it has: of each run up to which time, its mark.  It takes a batch as a whole, and then the mark
 * behind it, or not at all.  So whoever sends begins behind the mark, keeps no state of its own, needs no right to write
 * to the store, and may be killed at any moment.  One that keeps both in one transaction says so of a batch that it has.
 *
 * Functions return 0, -EAGAIN where the same may succeed later, else -errno; on failure *err is a sentence, malloc'ed.  No
 * sentence has a password.
 */
#ifndef SHIP_SINK_H
#define SHIP_SINK_H

#include "batch.h"

struct ship_sink;

struct ship_sink_config {
	const char *to;
	uint64_t timeout_ms; /* how long a target may take to answer */
	const char *marks;   /* a directory, for those that want one */
	uint64_t *wait_ms;   /* a sink that failed: how long its target wants to be left alone */
};

struct ship_sink_ops {
	const char *prefix; /* of --to */
	const char *form;
	bool profiles; /* it takes profiles, not rows, and wants a directory for its marks */
	/* A sentence that says what is wrong with --to, not malloc'ed; NULL: nothing. */
	const char *(*wrong)(const char *to);
	int (*open)(const struct ship_sink_config *config, struct ship_sink **ret, char **err);
	void (*close)(struct ship_sink *sink);
	/* Up to which time since its start the sink has the run; 0: it has nothing of it. */
	int (*mark)(struct ship_sink *sink, const char *uuid, uint64_t *ret_ns, char **err);
	/*
	 * *ret_taken false: the sink had the batch.  Of use for others are: -ERANGE, it takes nothing of that time; -EBADMSG, its
	 * target refuses what is in the batch.
	 */
	int (*put)(struct ship_sink *sink, const struct ship_batch *batch, bool *ret_taken,
		   char **err);
	/* Drops what is older, as whole days; NULL: the sink keeps what it has. */
	int (*drop_older)(struct ship_sink *sink, uint64_t seconds, uint64_t *ret_days, char **err);
};

extern const struct ship_sink_ops ship_directory, ship_database, ship_pyroscope, ship_parca;

/* The sink of an address, or NULL. */
const struct ship_sink_ops *ship_sink_find(const char *to);
/* "file:DIR, postgresql://... or ..." */
const char *ship_sink_forms(void);

/* Sets *err, and returns code. */
int ship_fail(char **err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
