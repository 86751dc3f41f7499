// SPDX-License-Identifier: GPL-2.0-or-later
#include "node_ends.h"

#include <string.h>

#include "ids.h"
#include "schema.h"
#include "unwritten.h"

int comm_node_ends_init(struct comm_node_ends *ends, sqlite3 *db, int64_t run, const char *sql)
{
	if (sqlite3_prepare_v2(db, sql, -1, &ends->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(ends->ask, 1, run);
	return 0;
}

void comm_node_ends_deinit(struct comm_node_ends *ends)
{
	sqlite3_finalize(ends->ask);
	comm_keyed_deinit(&ends->sums.keyed);
	memset(ends, 0, sizeof(*ends));
}

int comm_node_sums_add(struct comm_id_sums *sums, const struct comm_shares *nodes, double bytes)
{
	int code = 0;

	for (size_t i = 0; i < nodes->n && !code; i++) {
		const uint32_t key[] = {nodes->share[i].id, 0, 0, 0};
		struct comm_id_sum *sum;

		code = comm_id_sums_at(sums, key, &sum);
		if (!code)
			sum->bytes += nodes->share[i].weight * bytes;
	}
	return code;
}

int comm_node_sum_of(struct comm_id_sums *sums, uint32_t node, double *ret)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *sum;
	int code = comm_id_sums_at(sums, key, &sum);

	if (!code)
		*ret = sum->bytes;
	return code;
}

static int take(struct comm_node_ends *ends, struct comm_grouping_use *own,
		const struct comm_filter *filter)
{
	const uint8_t *packed = sqlite3_column_blob(ends->ask, 0);
	int n = sqlite3_column_bytes(ends->ask, 0); /* 0: packed is NULL */
	struct comm_unwritten_unpack unpack = {.at = packed, .end = n ? packed + n : packed};
	struct comm_unwritten_end from;
	struct comm_shares nodes;
	int code = 0;

	ends->counted = true;
	while (!code && comm_unwritten_next(&unpack, &from)) {
		const struct comm_end end = {.thread = comm_id_of(from.thread),
					     .context = comm_id_of(from.site),
					     .object = comm_id_of(from.object)};

		if (end.thread == COMM_ID_OTHER && end.object == COMM_ID_OTHER)
			ends->folded = true;
		if (filter && !comm_filter_takes_read(filter, end.thread, end.context, end.object))
			continue;
		code = own->ops->at(own, &end, &nodes);
		if (!code)
			code = comm_node_sums_add(&ends->sums, &nodes, from.bytes);
	}
	return code;
}

int comm_node_ends_slice(struct comm_node_ends *ends, struct comm_grouping_use *own,
			 const struct comm_filter *filter, const struct comm_slices_one *slice)
{
	sqlite3_stmt *row = ends->ask;
	int rc = SQLITE_DONE, code = 0;

	if (!row)
		return 0;
	sqlite3_bind_int64(row, 2, slice->id);
	while (!code && (rc = sqlite3_step(row)) == SQLITE_ROW)
		code = take(ends, own, filter);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(row));
	sqlite3_reset(row);
	return code;
}

int comm_node_ends_of(struct comm_node_ends *ends, uint32_t node, double *ret)
{
	*ret = -1;
	return ends->counted && !ends->folded ? comm_node_sum_of(&ends->sums, node, ret) : 0;
}
