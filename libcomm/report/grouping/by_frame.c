// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-frame: what is read in the frame in which it was written, what one frame later, and what later
 * still (PinComm, III.C).  Frames are rounds of work that a program marks (COMM_FRAME()), and how far
 * back an edge's bytes were written the estimator tells, read by read (age.h).  The writing end is one
 * of these distances; all that is read is read in the frame that they are counted from.
 */
#include "age.h"
#include "count.h"
#include "grouping.h"

enum {
	FRAME_UNKNOWN = 1, /* the node of what was written in a frame not known */
	FRAME_SAME,	   /* and those of comm_ages.back, this frame first */
};

int comm_grouping_need_frames(struct comm_grouping_use *use, char **err)
{
	/* Ages are read where times are told apart. */
	use->by_time = use->by_frame = true;
	return comm_grouping_need(use,
				  "SELECT 1 FROM count c JOIN counter k ON k.id = c.counter"
				  " AND k.name = '" COMM_COUNTER_FRAMES
				  "' WHERE c.run = ?1 LIMIT 1",
				  "has no frames: the program marked none (COMM_FRAME() of "
				  "<comm/mark.h>), or its source does not see them",
				  err);
}

static int frame_at(struct comm_grouping_use *use, const struct comm_end *end,
		    struct comm_shares *ret)
{
	double known = 0;

	(void)use;
	if (!end->ages) {
		comm_shares_one(ret, FRAME_SAME);
		return 0;
	}
	ret->share = ret->own;
	ret->n = 0;
	for (uint32_t i = 0; i < COMM_AGES_BACK; i++) {
		double weight = (double)end->ages->back[i];

		if (!(weight > 0))
			continue;
		known += weight;
		ret->own[ret->n++] = (struct comm_share){FRAME_SAME + i, weight};
	}
	if (known < 1)
		ret->own[ret->n++] = (struct comm_share){FRAME_UNKNOWN, 1 - known};
	for (size_t i = 0; i < ret->n && known > 1; i++)
		ret->own[i].weight /= known;
	return 0;
}

static int frame_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	static const char *const names[] = {
		[FRAME_UNKNOWN] = "(frame not known)",
		[FRAME_SAME] = "this frame",
		[FRAME_SAME + 1] = "the frame before",
		[FRAME_SAME + 2] = "earlier frames",
	};
	int64_t id = sqlite3_column_int64(row, 0);

	(void)use;
	if (id > 0 && id < (int64_t)(sizeof(names) / sizeof(*names)))
		node->name = names[id];
	return 0;
}

const struct comm_grouping_ops comm_grouping_frame = {
	.grouping = {.name = "frame",
		     .help = "Read in the frame in which it was written, or how much later",
		     .title = "frames by their distance",
		     .noun = "distance",
		     .matrix = true,
		     .across = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "frame",
	.letter = 'q',
	.open = comm_grouping_need_frames,
	.at = frame_at,
	.of_reads = true,
	.by_thread = true,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = frame_describe,
};
