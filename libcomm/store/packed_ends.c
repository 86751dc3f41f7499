// SPDX-License-Identifier: GPL-2.0-or-later
#include "packed_ends.h"

#include <errno.h>
#include <stdlib.h>

static int most_of(const struct comm_unwritten_end *end, size_t n, struct comm_unwritten_ends *ret)
{
	uint64_t folded = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = comm_unwritten_ends_add(ret, &end[i]);
	if (err)
		return err;
	comm_unwritten_ends_fold(ret, COMM_PACKED_ENDS - 1, &folded);
	comm_unwritten_ends_sort(ret);
	return 0;
}

int comm_packed_ends(const struct comm_unwritten_end *end, size_t n, uint8_t **ret,
		     size_t *ret_bytes)
{
	uint8_t *ends = reallocarray(NULL, n + 1, COMM_UNWRITTEN_PACKED);
	struct comm_unwritten_ends most = {0};
	size_t bytes;
	int err = 0;

	if (!ends)
		return -ENOMEM;
	bytes = comm_unwritten_pack(end, n, ends);
	if (bytes > COMM_PACKED_ENDS_BYTES) {
		err = most_of(end, n, &most);
		if (!err)
			bytes = comm_unwritten_pack(most.end, most.n, ends);
		comm_unwritten_ends_deinit(&most);
	}
	if (err) {
		free(ends);
		return err;
	}
	*ret = ends;
	*ret_bytes = bytes;
	return 0;
}
