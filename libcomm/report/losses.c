// SPDX-License-Identifier: GPL-2.0-or-later
#include "losses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "schema.h"

static int order_losses(const void *pa, const void *pb)
{
	const struct comm_report_loss *a = pa, *b = pb;

	return (a->n < b->n) - (a->n > b->n);
}

static void describe(struct comm_report_loss *loss)
{
	loss->help = "";
	loss->spared = false;
	for (int i = 0; i < COMM_LOSS_MAX; i++) {
		if (strcmp(comm_loss_name(i), loss->cause))
			continue;
		loss->help = comm_loss_help(i);
		loss->spared = comm_loss_is_spared(i);
	}
}

/* Finds the loss of that cause, or appends it. */
static int loss_of(struct comm_report_loss **losses, size_t *n, struct comm_texts *texts,
		   sqlite3_stmt *row, struct comm_report_loss **ret)
{
	const char *cause = (const char *)sqlite3_column_text(row, 0);
	struct comm_report_loss *grown;
	size_t at = 0;

	while (at < *n && strcmp((*losses)[at].cause, cause ? cause : "") != 0)
		at++;
	if (at == *n) {
		grown = reallocarray(*losses, at + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		*losses = grown;
		++*n;
		grown[at].cause = comm_texts_keep(texts, row, 0);
		describe(&grown[at]);
		grown[at].n = 0;
	}
	*ret = &(*losses)[at];
	return 0;
}

static bool is_disabled(sqlite3_stmt *row)
{
	const char *cause = (const char *)sqlite3_column_text(row, 0);

	return cause && !strcmp(cause, comm_loss_name(COMM_LOSS_DISABLED));
}

int comm_losses_load(sqlite3 *db, int64_t run, const struct comm_slices *slices,
		     struct comm_texts *texts, struct comm_report_loss **ret, size_t *ret_n)
{
	struct comm_report_loss *loss;
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db, "SELECT cause, n FROM loss WHERE run = ?1 AND slice = ?2", -1,
			       &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	for (size_t i = 0; i < slices->n && !code; i++) {
		if (!slices->slice[i].taken)
			continue;
		sqlite3_bind_int64(stmt, 2, slices->slice[i].id);
		while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
			/* Wanted so, and told as the time that was enabled. */
			if (is_disabled(stmt))
				continue;
			code = loss_of(ret, ret_n, texts, stmt, &loss);
			if (!code)
				loss->n += sqlite3_column_int64(stmt, 1);
		}
		if (!code && rc != SQLITE_DONE)
			code = comm_schema_errno(db);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	if (*ret_n)
		qsort(*ret, *ret_n, sizeof(**ret), order_losses);
	return code;
}
