// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Groupings joined: for --by's "thread,function,object" a node is a thread's function at an
 * object.  A view in depth, from threads to functions to lines, is a report by ever more
 * groupings, each of whose edges has an interval of its own: those of its parts cannot be
 * summed outside the library, which alone knows how their errors belong together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge_table.h"
#include "grouping.h"
#include "ids.h"

struct joined_part {
	struct comm_grouping_use use;
	struct comm_node **node; /* those described already, by id; the report owns them */
	size_t n_nodes;
};

struct joined {
	struct joined_part part[COMM_JOINED_MAX];
	size_t n;
	struct comm_edge_table ids; /* of parts; a node's id is its cell's index and one */
};

static uint32_t *key_part(struct comm_edge *key, size_t i)
{
	uint32_t *const fields[COMM_JOINED_MAX] = {&key->src_thread, &key->dst_thread,
						   &key->src_site, &key->dst_site};

	return fields[i];
}

static int refuse(const struct comm_grouping_use *use, char **err)
{
	return comm_reader_fail(
		err, -EINVAL,
		"'%s' joins what cannot be joined: at most %d of the groupings, "
		"without cpu and node, and with one of phase, time, frame and frames",
		use->by, COMM_JOINED_MAX);
}

static int joined_open(struct comm_grouping_use *use, char **err)
{
	struct joined *joined = calloc(1, sizeof(*joined));
	const char *at = use->by;
	int n_times = 0;
	char name[32];
	int code = 0;

	use->state = joined;
	use->by_thread = true;
	if (!joined)
		return -ENOMEM;
	while (*at && !code) {
		size_t len = strcspn(at, ",");
		const struct comm_grouping_ops *ops = NULL;

		if (len < sizeof(name)) {
			memcpy(name, at, len);
			name[len] = '\0';
			ops = comm_grouping_find(name);
		}
		if (!ops || ops->many || joined->n == COMM_JOINED_MAX)
			return refuse(use, err);
		code = comm_grouping_open(&joined->part[joined->n++].use, ops, name, use->piece_ns,
					  use->reader, use->run, use->texts, err);
		/* Of groupings by time an end may have several nodes. */
		n_times += joined->part[joined->n - 1].use.by_time;
		if (!code && n_times > 1)
			return refuse(use, err);
		use->by_time |= n_times;
		use->by_frame |= joined->part[joined->n - 1].use.by_frame;
		use->by_thread &= joined->part[joined->n - 1].use.by_thread;
		use->tells_threads |= joined->part[joined->n - 1].use.tells_threads;
		use->tells_roles |= joined->part[joined->n - 1].use.tells_roles;
		use->of_reads |= joined->part[joined->n - 1].use.of_reads;
		use->of_data |= joined->part[joined->n - 1].use.of_data;
		at += len + (at[len] == ',');
	}
	return code;
}

static void joined_close(struct comm_grouping_use *use)
{
	struct joined *joined = use->state;

	for (size_t i = 0; joined && i < joined->n; i++) {
		comm_grouping_close(&joined->part[i].use);
		free(joined->part[i].node);
	}
	if (joined)
		comm_edge_table_deinit(&joined->ids);
	free(joined);
}

static int joined_slice(struct comm_grouping_use *use, const struct comm_slices_one *slice)
{
	struct joined *joined = use->state;
	int code = 0;

	for (size_t i = 0; i < joined->n && !code; i++) {
		struct comm_grouping_use *part = &joined->part[i].use;

		if (part->ops->slice)
			code = part->ops->slice(part, slice);
	}
	return code;
}

static int joined_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	struct joined *joined = use->state;
	struct comm_edge *cell, key = {0};
	struct comm_shares several;
	size_t which = 0; /* the part with several nodes */
	bool known = false;
	int code = 0;

	comm_shares_one(ret, COMM_ID_OTHER);
	for (size_t i = 0; i < joined->n && !code; i++) {
		struct comm_grouping_use *part = &joined->part[i].use;
		struct comm_shares shares;

		code = part->ops->at(part, end, &shares);
		if (code)
			return code;
		*key_part(&key, i) = shares.share[0].id;
		known |= shares.share[0].id != COMM_ID_OTHER;
		if (part->by_time) {
			which = i;
			ret->n = shares.n;
			memcpy(several.own, shares.own, shares.n * sizeof(*shares.own));
		}
	}
	if (!known)
		return 0;
	for (size_t i = 0; i < ret->n && !code; i++) {
		if (ret->n > 1) {
			*key_part(&key, which) = several.own[i].id;
			ret->own[i].weight = several.own[i].weight;
		}
		code = comm_edge_table_at(&joined->ids, &key, &cell);
		if (!code)
			ret->own[i].id = cell - joined->ids.edge + 1;
	}
	return code;
}

/* What a thread reads in a phase is not mistaken for what it reads in another one. */
static uint32_t joined_first(struct comm_grouping_use *use, uint32_t id)
{
	struct joined *joined = use->state;
	uint32_t first = id, period = 0;

	if (id == COMM_ID_OTHER)
		return id;
	first = joined->ids.edge[id - 1].src_thread;
	for (size_t i = 1; i < joined->n && i < COMM_JOINED_MAX; i++)
		if (joined->part[i].use.by_time)
			period = *key_part(&joined->ids.edge[id - 1], i);
	return first * (COMM_SHARES_OWN + 1) + period;
}

/*
 * Of "thread,path" the paths of a thread are within each other, and the outermost ones within
 * the thread, whose node has no path.
 */
static int joined_around(struct comm_grouping_use *use, uint32_t id, uint32_t *ret)
{
	struct joined *joined = use->state;
	struct comm_edge *cell, key = {0};
	bool is_within = false;
	int code = 0;

	*ret = COMM_ID_OTHER;
	for (size_t i = 0; i < joined->n && !code; i++) {
		struct comm_grouping_use *part = &joined->part[i].use;
		uint32_t at = *key_part(&joined->ids.edge[id - 1], i);

		if (part->ops->around && !is_within && at != COMM_ID_OTHER) {
			code = part->ops->around(part, at, &at);
			is_within = true;
		}
		*key_part(&key, i) = at;
	}
	if (code || !is_within)
		return code;
	code = comm_edge_table_at(&joined->ids, &key, &cell);
	if (!code)
		*ret = cell - joined->ids.edge + 1;
	return code;
}

static int part_node(struct joined_part *part, uint32_t id, const struct comm_node **ret)
{
	struct comm_node *node;
	int code;

	if (id >= part->n_nodes) {
		size_t n = id + id / 2 + 1;
		struct comm_node **grown = reallocarray(part->node, n, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + part->n_nodes, 0, (n - part->n_nodes) * sizeof(*grown));
		part->node = grown;
		part->n_nodes = n;
	}
	if (!part->node[id]) {
		node = comm_texts_alloc(part->use.texts, sizeof(*node));
		code = node ? comm_grouping_describe(&part->use, id, node) : -ENOMEM;
		if (code)
			return code;
		part->node[id] = node;
	}
	*ret = part->node[id];
	return 0;
}

static int joined_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	struct joined *joined = use->state;
	const struct comm_node **parts = comm_texts_alloc(use->texts, joined->n * sizeof(*parts));
	int code = parts ? 0 : -ENOMEM;

	node->key = "joined";
	node->name = "";
	for (size_t i = 0; i < joined->n && !code; i++) {
		code = part_node(&joined->part[i],
				 *key_part(&joined->ids.edge[sqlite3_column_int64(row, 0) - 1], i),
				 &parts[i]);
		if (code)
			break;
		if (joined->part[i].use.by_time) {
			node->from_ns = parts[i]->from_ns;
			node->to_ns = parts[i]->to_ns;
		}
		node->key = comm_texts_format(use->texts, "%s, %s", node->key, parts[i]->key);
		if (parts[i]->other && joined->part[i].use.ops->around)
			continue;
		node->other |= parts[i]->other;
		node->name = comm_texts_format(use->texts, "%s%s%s", node->name, i ? " " : "",
					       parts[i]->name);
	}
	node->parts = parts;
	node->n_parts = joined->n;
	return code;
}

const struct comm_grouping_ops comm_grouping_joined = {
	.grouping = {.name = "joined",
		     .help = "Several groupings at once",
		     .title = "nodes of several groupings",
		     .noun = "node",
		     .within = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "joined",
	.letter = 'j',
	.open = joined_open,
	.close = joined_close,
	.slice = joined_slice,
	.at = joined_at,
	.first = joined_first,
	.around = joined_around,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = joined_describe,
};
