// SPDX-License-Identifier: GPL-2.0-or-later
#include "unseen_nodes.h"

#include <math.h>
#include <string.h>

#include "schema.h"
#include "unwritten.h"

/* Less is what whole bytes and sums in another order differ by. */
static const double least_rest = 1;

int comm_unseen_nodes_init(struct comm_unseen_nodes *unseen, bool first_read, sqlite3 *db,
			   int64_t run)
{
	unseen->first_read = first_read;
	if (sqlite3_prepare_v2(db, "SELECT ends FROM unwritten WHERE run = ?1 AND slice = ?2", -1,
			       &unseen->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(unseen->ask, 1, run);
	return 0;
}

void comm_unseen_nodes_deinit(struct comm_unseen_nodes *unseen)
{
	sqlite3_finalize(unseen->ask);
	comm_edge_table_deinit(&unseen->nodes);
	memset(unseen, 0, sizeof(*unseen));
}

static int add_to(struct comm_unseen_nodes *unseen, bool is_end, const struct comm_shares *shares,
		  double bytes)
{
	int code = 0;

	for (size_t i = 0; i < shares->n && !code; i++) {
		struct comm_edge *node,
			key = {.src_thread = is_end, .dst_thread = shares->share[i].id};

		code = comm_edge_table_at(&unseen->nodes, &key, &node);
		if (code)
			break;
		node->bytes += shares->share[i].weight * bytes;
	}
	return code;
}

/* Adds what a reading end read to its nodes. */
static int add_end(struct comm_unseen_nodes *unseen, struct comm_grouping_use *own,
		   struct comm_grouping_use *ends, const struct comm_end *end, double bytes)
{
	bool is_between = own->ops->ends;
	struct comm_grouping_use *use = is_between ? ends : own;
	struct comm_shares shares;
	int code = use->ops->at(use, end, &shares);

	if (!code)
		code = add_to(unseen, is_between, &shares, bytes);
	if (code || !is_between)
		return code;
	code = own->ops->at(own, end, &shares);
	return code ? code : add_to(unseen, false, &shares, bytes);
}

/* Takes the ends of a slice; *rest is left of its bytes. */
static int take(struct comm_unseen_nodes *unseen, struct comm_grouping_use *own,
		struct comm_grouping_use *ends, const struct comm_filter *filter, double *rest)
{
	const uint8_t *packed = sqlite3_column_blob(unseen->ask, 0);
	int n = sqlite3_column_bytes(unseen->ask, 0); /* 0: packed is NULL */
	struct comm_unwritten_unpack unpack = {.at = packed, .end = n ? packed + n : packed};
	struct comm_unwritten_end from;
	int code = 0;

	while (!code && comm_unwritten_next(&unpack, &from)) {
		const struct comm_end end = {.thread = comm_id_of(from.thread),
					     .context = comm_id_of(from.site),
					     .object = comm_id_of(from.object),
					     .read = comm_id_of(from.site)};
		double bytes = unseen->first_read ? from.first_bytes : from.bytes;

		*rest -= bytes;
		if (bytes > 0 &&
		    comm_filter_takes_read(filter, end.thread, end.context, end.object))
			code = add_end(unseen, own, ends, &end, bytes);
	}
	return code;
}

int comm_unseen_nodes_slice(struct comm_unseen_nodes *unseen, struct comm_grouping_use *own,
			    struct comm_grouping_use *ends, const struct comm_filter *filter,
			    const struct comm_slices_one *slice)
{
	static const struct comm_end unknown;
	sqlite3_stmt *row = unseen->ask;
	double rest = unseen->first_read ? slice->unwritten_first_bytes : slice->unwritten_bytes;
	int rc, code = 0;

	if (!row)
		return 0;
	sqlite3_bind_int64(row, 2, slice->id);
	rc = sqlite3_step(row);
	if (rc == SQLITE_ROW)
		code = take(unseen, own, ends, filter, &rest);
	else if (rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(row));
	sqlite3_reset(row);
	if (!code && isfinite(rest) && rest >= least_rest &&
	    comm_filter_takes_read(filter, unknown.thread, unknown.context, unknown.object))
		code = add_end(unseen, own, ends, &unknown, rest);
	return code;
}
