// SPDX-License-Identifier: GPL-2.0-or-later
#include "node_writes.h"

int comm_node_writes_init(struct comm_node_writes *writes, const struct comm_query *query,
			  const struct comm_grouping_use *own, sqlite3 *db, int64_t run)
{
	if (own->of_reads || query->fresh || query->thread || query->writer || query->function)
		return 0;
	return comm_node_ends_init(&writes->writes, db, run,
				   "SELECT ends FROM written WHERE run = ?1 AND slice = ?2"
				   " ORDER BY part");
}

void comm_node_writes_deinit(struct comm_node_writes *writes)
{
	comm_node_ends_deinit(&writes->writes);
	comm_keyed_deinit(&writes->reads.keyed);
}

int comm_node_writes_read(struct comm_node_writes *writes, const struct comm_shares *nodes,
			  double bytes)
{
	return comm_node_sums_add(&writes->reads, nodes, bytes);
}

int comm_node_writes_reads_of(struct comm_node_writes *writes, uint32_t node, double *ret)
{
	return comm_node_sum_of(&writes->reads, node, ret);
}
