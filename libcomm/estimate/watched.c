// SPDX-License-Identifier: GPL-2.0-or-later
#include "watched.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "edge_sums.h"
#include "event.h"

enum {
	EDGES_BYTES = 256 << 10, /* windows of a slice are few */
};

struct comm_watched {
	struct comm_edge_sums *edges;
	struct comm_watched_sums sums;
	uint32_t window; /* of the last pair */
};

/* Who is told of the edges. */
struct told {
	comm_edge_fn *emit;
	void *ctx;
};

int comm_watched_create(struct comm_watched **ret)
{
	struct comm_watched *watched = calloc(1, sizeof(*watched));

	if (!watched)
		return -ENOMEM;
	if (comm_edge_sums_create(EDGES_BYTES, &watched->edges)) {
		free(watched);
		return -ENOMEM;
	}
	*ret = watched;
	return 0;
}

void comm_watched_destroy(struct comm_watched *watched)
{
	if (!watched)
		return;
	comm_edge_sums_destroy(watched->edges);
	free(watched);
}

/* Each window is an observation of its own. */
static void begin(struct comm_watched *watched, uint32_t window)
{
	if (window && window == watched->window)
		return;
	comm_edge_sums_end_burst(watched->edges);
	watched->window = window;
	watched->sums.watches++;
}

void comm_watched_add(struct comm_watched *watched, uint32_t window,
		      const struct comm_watched_pair *pair)
{
	const struct comm_access *read = &pair->read, *write = &pair->write;

	if (!(pair->bytes > 0) || !isfinite(pair->bytes) || !(read->flags & COMM_ACCESS_READ))
		return;
	begin(watched, window);
	if (!write->flags) {
		watched->sums.unanswered_bytes += pair->bytes;
		return;
	}
	comm_edge_sums_add(watched->edges,
			   &(struct comm_edge_key){pair->writer, write->site, pair->reader,
						   read->site, comm_access_shown(read)},
			   pair->bytes, 0, 0);
}

static void tell(void *ctx, const struct comm_edge *edge)
{
	const struct told *told = ctx;
	const struct comm_edge e = {
		.src_thread = edge->src_thread,
		.src_site = edge->src_site,
		.dst_thread = edge->dst_thread,
		.dst_site = edge->dst_site,
		.object = edge->object,
		.watched_bytes = edge->bytes,
		.watched_variance = edge->variance,
	};

	told->emit(told->ctx, &e);
}

void comm_watched_take(struct comm_watched *watched, comm_edge_fn *emit, void *ctx,
		       struct comm_watched_sums *ret)
{
	struct told told = {emit, ctx};

	comm_edge_sums_end_burst(watched->edges);
	comm_edge_sums_emit(watched->edges, tell, &told);
	*ret = watched->sums;
	watched->sums = (struct comm_watched_sums){0};
}
