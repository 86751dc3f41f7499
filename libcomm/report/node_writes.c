// SPDX-License-Identifier: GPL-2.0-or-later
#include "node_writes.h"

#include <string.h>

#include "ids.h"
#include "schema.h"
#include "unwritten.h"

int comm_node_writes_init(struct comm_node_writes *writes, const struct comm_query *query,
			  const struct comm_grouping_use *own, sqlite3 *db, int64_t run)
{
	if (own->of_reads || query->fresh || query->thread || query->writer || query->function)
		return 0;
	if (sqlite3_prepare_v2(db,
			       "SELECT ends FROM written WHERE run = ?1 AND slice = ?2"
			       " ORDER BY part",
			       -1, &writes->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(writes->ask, 1, run);
	return 0;
}

void comm_node_writes_deinit(struct comm_node_writes *writes)
{
	sqlite3_finalize(writes->ask);
	comm_keyed_deinit(&writes->writes.keyed);
	comm_keyed_deinit(&writes->reads.keyed);
	memset(writes, 0, sizeof(*writes));
}

static int add(struct comm_id_sums *sums, const struct comm_shares *nodes, double bytes)
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

static int take(struct comm_node_writes *writes, struct comm_grouping_use *own,
		const struct comm_filter *filter)
{
	const uint8_t *packed = sqlite3_column_blob(writes->ask, 0);
	struct comm_unwritten_unpack unpack = {
		.at = packed, .end = packed + sqlite3_column_bytes(writes->ask, 0)};
	struct comm_unwritten_end from;
	struct comm_shares nodes;
	int code = 0;

	writes->counted = true;
	while (!code && comm_unwritten_next(&unpack, &from)) {
		const struct comm_end end = {.thread = comm_id_of(from.thread),
					     .context = comm_id_of(from.site),
					     .object = comm_id_of(from.object)};

		if (end.thread == COMM_ID_OTHER && end.object == COMM_ID_OTHER)
			writes->folded = true;
		if (!comm_filter_takes_read(filter, end.thread, end.context, end.object))
			continue;
		code = own->ops->at(own, &end, &nodes);
		if (!code)
			code = add(&writes->writes, &nodes, from.bytes);
	}
	return code;
}

int comm_node_writes_slice(struct comm_node_writes *writes, struct comm_grouping_use *own,
			   const struct comm_filter *filter, const struct comm_slices_one *slice)
{
	sqlite3_stmt *row = writes->ask;
	int rc = SQLITE_DONE, code = 0;

	if (!row)
		return 0;
	sqlite3_bind_int64(row, 2, slice->id);
	while (!code && (rc = sqlite3_step(row)) == SQLITE_ROW)
		code = take(writes, own, filter);
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(sqlite3_db_handle(row));
	sqlite3_reset(row);
	return code;
}

int comm_node_writes_read(struct comm_node_writes *writes, const struct comm_shares *nodes,
			  double bytes)
{
	return add(&writes->reads, nodes, bytes);
}

static int sum_of(struct comm_id_sums *sums, uint32_t node, double *ret)
{
	const uint32_t key[] = {node, 0, 0, 0};
	struct comm_id_sum *sum;
	int code = comm_id_sums_at(sums, key, &sum);

	if (!code)
		*ret = sum->bytes;
	return code;
}

int comm_node_writes_of(struct comm_node_writes *writes, uint32_t node, double *ret)
{
	*ret = -1;
	return writes->counted && !writes->folded ? sum_of(&writes->writes, node, ret) : 0;
}

int comm_node_writes_reads_of(struct comm_node_writes *writes, uint32_t node, double *ret)
{
	return sum_of(&writes->reads, node, ret);
}
