/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store: SQLite, written by one process, read by many (comm/comm.h).
 * The schema and its migrations live in schema.c, what writes in stored_slice.c, rows.c,
 * dictionary.c and rollup.c, what locks and watches the file in store_file.c, what reads in the report room (reader.c, query.c).
 * One transaction per slice, so that kill -9 loses at most the slice at hand, and empty ones of empty_ns before it;
 * and those that wait in a queue (slice_queue.h).
 * Files are made 0640.
 */
#ifndef COMM_STORE_H
#define COMM_STORE_H

#include <sys/types.h>

#include "cacheline.h"
#include "census.h"
#include "count.h"
#include "dated.h"
#include "edge.h"
#include "error_model.h"
#include "event.h"
#include "naming.h"
#include "origin.h"
#include "placement.h"
#include "unwritten.h"
#include "watched_sums.h"

struct comm_store;

enum { COMM_LABEL_BYTES = 100 };

struct comm_store_config {
	const char *path;
	uint64_t quota_bytes; /* 0: none */
	/* Most edges, placements, reading ends of a kind, counts and uses of lines of a slice. */
	uint32_t row_cap;
	uint64_t detail_ns; /* full detail kept that long, then rolled up */
	uint64_t rollup_ns; /* width of a rolled-up slice */
	/* Slices in which nothing was sampled may wait so long for the next, to be written with it. */
	uint64_t empty_ns;
};

/* What a run is, written when it begins. */
struct comm_run_info {
	const char *source; /* "perf", "replay", ... */
	const char *event;  /* the event that really triggers: "cpu-clock" */
	const char *estimator;
	const struct comm_error_model *error_model; /* of the estimator; never NULL */
	const char *command;			    /* the target as a person would name it */
	const char *host;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t start_unix_ns; /* CLOCK_REALTIME at the same instant */
	double overhead_limit;	/* share asked for, 0.01 is 1 %; 0: a rate */
	double floor;		/* overhead that is allowed in any case, as a share of one CPU */
	uint32_t granularity_bytes;
	const char *notes; /* "" or what was missing: "no BPF: ..." */
	const char *label; /* what the user calls the run; NULL: nothing */
	const char *numa; /* which CPUs are on which node, "0:0-3,8;1:4-7"; "" or NULL: not known */
};

/* Budgets that were in force, see overhead_limit and floor of struct comm_run_info; all 0: none was told. */
struct comm_budgets {
	double most, least, floor; /* of floors the largest */
};

/* A limit of 0 is none. */
void comm_budgets_add(struct comm_budgets *budgets, double limit, double floor);

struct comm_slice_info {
	uint64_t start_ns, end_ns;
	uint64_t samples; /* samples processed */
	uint64_t bursts;  /* bursts with at least one access */
	uint64_t accesses;
	uint64_t handler_ns, daemon_ns, daemon_idle_ns, setup_ns, target_ns; /* cost, see event.h */
	struct comm_budgets budgets;
	struct comm_unwritten unwritten; /* its ends are the caller's, may be none */
	struct comm_written written;	 /* likewise */
	struct comm_lengths lengths;	 /* likewise; of a counter by its index below */
	/* When edges' bytes were written, sorted; the caller's, NULL: nobody counted it.  Not of queued slices. */
	const struct comm_dated *date;
	size_t n_dates;
	struct comm_watched_sums watched;
	uint64_t loss[COMM_LOSS_MAX];
	/* Of a wide slice: how many parts its strands are made of, and these (schema.c); else 0. */
	uint64_t parts;
	struct comm_strands enabled, unwritten_strands;
	/* Where threads ran, each (thread, cpu) once; the caller's, may be NULL. */
	const struct comm_placement *placement;
	size_t n_placements;
	/* Where loads found their data, each reading end once; likewise. */
	const struct comm_origin *origin;
	size_t n_origins;
	/* Counts, each (thread, region, counter) once, of counters by their names; likewise. */
	const struct comm_count *count;
	size_t n_counts;
	const char *const *counter;
	uint32_t n_counters;
	/* Lines that threads take from each other; likewise. */
	const struct comm_cachelines *cachelines;
	/* What became of words that were read, each cell once; likewise. */
	const struct comm_census_words *census;
	size_t n_census;
};

/*
 * Opens or makes a store.  On failure *err (malloc'ed, caller frees) is a
 * sentence for the user.  -EMEDIUMTYPE: not a store of ours; -EPROTO: made by
 * a newer version; -EUCLEAN: corrupt; -EROFS, -EACCES, -ENOSPC, -EBUSY: as
 * named; -ELOOP: a symbolic link; -EMLINK: a file of several names.
 */
int comm_store_open(const struct comm_store_config *config, struct comm_store **ret, char **err);
void comm_store_close(struct comm_store *store);

/* Gives the run a UUID of its own.  -EINVAL: without an error model. */
int comm_store_begin_run(struct comm_store *store, const struct comm_run_info *info,
			 int64_t *ret_run);
/*
 * Writes a slice: new dictionary entries, cells, losses, in one transaction.
 * naming gives the names behind the ids that the edges use; of threads, and of sites that an earlier slice had, it may
 * be without those that have not changed.  It waits for nobody's lock.
 * -ENOSPC: the disk or quota is full even after rolling up and giving back the ballast; -EBUSY: see
 * comm_store_missed(); the caller counts COMM_LOSS_STORE and goes on, older slices are intact.
 * 1: it holds nothing but numbers, and is kept to be written with the next (empty_ns), or at the end of the run.
 */
int comm_store_write_slice(struct comm_store *store, const struct comm_slice_info *info,
			   const struct comm_edge *edges, size_t n_edges,
			   const struct comm_naming *naming);
/*
 * Why slices of the run could not be stored.  -ENOSPC: the disk was full; -EDQUOT: the quota has no
 * room for such a slice; -EBUSY: another program was writing to the store, or it keeps the log that
 * a slice is written to, which may only grow to a limit (*ret_reader: a process that reads, 0 or less:
 * not known); else as SQLite says.  0: all could be.
 */
int comm_store_missed(const struct comm_store *store, pid_t *ret_reader);
/*
 * What others did to the file, noticed when a slice or the end is written.  -ENOENT: it was
 * deleted; -ESTALE: it was moved, and what is written still goes to it, as it does with -EACCES: a
 * directory on its path may not be searched any more; -ENODATA: it was cut short, and nothing is
 * written any more.  0: nothing.
 */
int comm_store_lost(const struct comm_store *store);
/* The longest that a slice of the run took to be written. */
uint64_t comm_store_longest_ns(const struct comm_store *store);
/*
 * How long whoever samples kept the rings of the kernel waiting at most, beyond what was meant, and at most but for the
 * time without a CPU; stored at the end of the run.
 */
void comm_store_tell_stall(struct comm_store *store, uint64_t stall_ns, uint64_t own_ns);
/* how: "duration", "interrupted", "target exited", "end of recording". */
int comm_store_end_run(struct comm_store *store, uint64_t end_ns, const char *how);
/* Takes the run back that was begun, and all that was stored of it. */
int comm_store_forget_run(struct comm_store *store);

/* What of earlier runs can be changed.  -ENODATA: there is no such run. */
int comm_store_label_run(struct comm_store *store, int64_t run, const char *label);
int comm_store_delete_run(struct comm_store *store, int64_t run);
/*
 * Is that a label: a text of one line, of COMM_LABEL_BYTES at most, and neither a number nor
 * an option, for which it would be taken on a command line?  "" is one, too: none.
 */
bool comm_store_is_label(const char *label);

#endif
