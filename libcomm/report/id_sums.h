/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Id sums: bytes by up to four ids, those that are not used 0.  For the tables that each row of
 * a report goes through: an edge table does the same, and its cells are ten times as large.
 */
#ifndef COMM_ID_SUMS_H
#define COMM_ID_SUMS_H

#include "keyed.h"

struct comm_id_sum {
	uint32_t id[4];
	double bytes;
};

/* Zeroed, it is empty; comm_keyed_deinit(&sums->keyed) leaves it so. */
struct comm_id_sums {
	COMM_KEYED(keyed, struct comm_id_sum, sum, n);
};

/* The sum of these ids, 0 at first.  -ENOMEM. */
static inline int comm_id_sums_at(struct comm_id_sums *sums, const uint32_t id[4],
				  struct comm_id_sum **ret)
{
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct comm_id_sum, id)};
	size_t at;
	int err = comm_keyed_at(&sums->keyed, &kind, id, &at);

	if (!err)
		*ret = &sums->sum[at];
	return err;
}

#endif
