// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --by-region and --by-outermost: the code regions that a program marked.  What is called
 * inside a region counts for it; of regions inside each other the former takes the innermost,
 * the latter the outermost, so that each byte counts once.
 */
#include "grouping.h"

static const char any_sql[] =
	"SELECT 1 FROM region WHERE id > 1 AND EXISTS (SELECT 1 FROM edge WHERE run = ?1 AND"
	" (dst_context IN (SELECT id FROM context WHERE region > 1) OR"
	" src_context IN (SELECT id FROM context WHERE region > 1))) LIMIT 1";

/*
 * A name has several regions if it stands within several others, thousands where calls are told apart:
 * the one that an index finds at once is its node.  Of the fixed ones 0, which of nodes is "(other)",
 * and 1 change places: node 1 is outside of all.
 */
#define NODE                                     \
	" CASE r.id WHEN 0 THEN 1 WHEN 1 THEN 0" \
	" ELSE (SELECT s.id FROM region s WHERE s.name = r.name ORDER BY s.parent LIMIT 1) END"

/* Context 0 is no code at all. */
static const char innermost_sql[] =
	"SELECT" NODE
	" FROM context c JOIN region r ON r.id = c.region WHERE c.id = ?1 AND c.id > 0";

/* UNION, not UNION ALL: it ends also where parents of a damaged store go round. */
static const char outermost_sql[] =
	"WITH RECURSIVE around (id) AS (SELECT region FROM context WHERE id = ?1 AND id > 0 UNION"
	" SELECT r.parent FROM around JOIN region r ON r.id = around.id WHERE r.parent > 0)"
	" SELECT" NODE " FROM around JOIN region r ON r.id = around.id WHERE r.parent = 0";

static int open_with(struct comm_grouping_use *use, const char *sql, char **err)
{
	int code = comm_grouping_need(
		use, any_sql,
		"has no code regions: the program marked none, or its source does not see them",
		err);

	return code ? code : comm_id_map_ask(&use->map, use->reader->db, sql);
}

static int region_open(struct comm_grouping_use *use, char **err)
{
	return open_with(use, innermost_sql, err);
}

static int outermost_open(struct comm_grouping_use *use, char **err)
{
	return open_with(use, outermost_sql, err);
}

static int region_at(struct comm_grouping_use *use, const struct comm_end *end,
		     struct comm_shares *ret)
{
	uint32_t node;
	int code = comm_id_map_at(&use->map, end->context, &node);

	if (!code)
		comm_shares_one(ret, node);
	return code;
}

static int region_describe(struct comm_grouping_use *use, sqlite3_stmt *row, struct comm_node *node)
{
	node->name = comm_texts_keep(use->texts, row, 0);
	return 0;
}

static const char describe_sql[] =
	"SELECT CASE id WHEN 1 THEN '(no region)' ELSE name END FROM region WHERE ?1 AND id = ?2";

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
	.sql = describe_sql,
	.describe = region_describe,
};

const struct comm_grouping_ops comm_grouping_outermost = {
	.grouping = {.name = "outermost",
		     .help = "Marked code regions, with all regions inside them",
		     .title = "outermost regions",
		     .noun = "region",
		     .within = true},
	.kind = COMM_NODE_NAMED,
	.kind_name = "region",
	.letter = 'r',
	.open = outermost_open,
	.at = region_at,
	.sql = describe_sql,
	.describe = region_describe,
};
