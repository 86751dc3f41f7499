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

static int joined_open(struct comm_grouping_use *use, char **err)
{
	struct joined *joined = calloc(1, sizeof(*joined));
	const char *at = use->by;
	char name[32];
	int code = 0;

	use->state = joined;
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
		/* A grouping that asks for each slice may give an end several nodes. */
		if (!ops || ops->slice || joined->n == COMM_JOINED_MAX)
			return comm_reader_fail(err, -EINVAL,
						"'%s' joins what cannot be joined: at most %d of "
						"the groupings, without cpu",
						use->by, COMM_JOINED_MAX);
		code = comm_grouping_open(&joined->part[joined->n++].use, ops, name, use->reader,
					  use->run, use->texts, err);
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

static int joined_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	struct joined *joined = use->state;
	struct comm_edge *cell, key = {0};
	bool known = false;
	int code = 0;

	for (size_t i = 0; i < joined->n && !code; i++) {
		struct comm_grouping_use *part = &joined->part[i].use;
		struct comm_shares one;

		code = part->ops->at(part, end, &one);
		if (code)
			return code;
		*key_part(&key, i) = one.one.id;
		known |= one.one.id != COMM_ID_OTHER;
	}
	comm_shares_one(ret, COMM_ID_OTHER);
	if (!known)
		return 0;
	code = comm_edge_table_at(&joined->ids, &key, &cell);
	if (!code)
		ret->one.id = cell - joined->ids.edge + 1;
	return code;
}

static uint32_t joined_first(struct comm_grouping_use *use, uint32_t id)
{
	struct joined *joined = use->state;

	return id == COMM_ID_OTHER ? id : joined->ids.edge[id - 1].src_thread;
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
		node->key = comm_texts_format(use->texts, "%s, %s", node->key, parts[i]->key);
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
	.at = joined_at,
	.first = joined_first,
	.sql = "SELECT ?2 WHERE ?1",
	.describe = joined_describe,
};
