// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-region: code regions that a program marked.  No source sees markers yet, so
 * no run has any.
 */
#include <errno.h>

#include "grouping.h"
#include "ids.h"

static int region_open(struct comm_grouping_use *use, char **err)
{
	return comm_reader_fail(err, -ENODATA,
				"run %lld has no code regions: the program marked none",
				(long long)use->run->id);
}

static int region_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	(void)use;
	(void)end;
	comm_shares_one(ret, COMM_ID_OTHER);
	return 0;
}

const struct comm_grouping_ops comm_grouping_region = {
	.grouping = {.name = "region",
		     .help = "Code regions that the program marked",
		     .title = "regions",
		     .noun = "region",
		     .within = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "region",
	.letter = 'r',
	.open = region_open,
	.at = region_at,
	.sql = "SELECT ?1, ?2 WHERE 0",
};
