/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's inside: what reports need of an open store and its runs.
 * Programs include comm/comm.h instead.
 */
#ifndef COMM_READER_H
#define COMM_READER_H

#include <sqlite3.h>

#include <comm/comm.h>

#include "error_model.h"
#include "guard.h"
#include "kept_rows.h"

struct comm_reader {
	sqlite3 *db;
	char *path;
	int fd; /* of the same file, to ask who writes it */
	struct comm_guard guard;
	struct comm_kept_rows kept;
};

/* Both comm_reader_fail functions return code, and set *err unless err is NULL. */
int comm_reader_fail(char **err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int comm_reader_fail_db(struct comm_reader *reader, char **err, int code);

/*
 * All runs.  comm_reader_sum_run() adds to a run the sums of its slices, which
 * costs time.
 */
struct comm_runs {
	struct comm_run *run;
	size_t n;
};

/* All statements until comm_reader_release() see one snapshot. */
int comm_reader_snapshot(struct comm_reader *reader);
void comm_reader_release(struct comm_reader *reader);

int comm_reader_load_runs(struct comm_reader *reader, struct comm_runs **ret);
int comm_reader_sum_run(struct comm_reader *reader, struct comm_run *run);
void comm_run_deinit(struct comm_run *run);
/* The error model of the run's estimator; all zero: every access was counted. */
int comm_reader_error_model(struct comm_reader *reader, int64_t run, struct comm_error_model *ret);

/* part / whole, 0 when there is no whole. */
double comm_reader_share(double part, double whole);

#endif
