// SPDX-License-Identifier: GPL-2.0-or-later
#include "grouping.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ids.h"
#include "schema.h"

#define OPS(name) &comm_grouping_##name,
#define PUBLIC(name) &comm_grouping_##name.grouping,

static const struct comm_grouping_ops *const all[] = {COMM_GROUPINGS(OPS) NULL};
static const struct comm_grouping *const all_public[] = {COMM_GROUPINGS(PUBLIC) NULL};

const struct comm_grouping *const *comm_groupings(void)
{
	return all_public;
}

const struct comm_grouping_ops *comm_grouping_find(const char *name)
{
	size_t i = 0;

	if (name && strchr(name, ','))
		return &comm_grouping_joined;
	while (name && all[i] && strcmp(all[i]->grouping.name, name) != 0)
		i++;
	return all[i];
}

int comm_grouping_open(struct comm_grouping_use *use, const struct comm_grouping_ops *ops,
		       const char *by, uint64_t piece_ns, struct comm_reader *reader,
		       const struct comm_run *run, struct comm_texts *texts, char **err)
{
	int code = 0;

	*use = (struct comm_grouping_use){.ops = ops,
					  .by = by,
					  .piece_ns = piece_ns,
					  .reader = reader,
					  .run = run,
					  .texts = texts,
					  .by_thread = ops->by_thread,
					  .tells_threads = ops->by_thread && !ops->by_role,
					  .tells_roles = ops->by_role,
					  .of_reads = ops->of_reads,
					  .of_data = ops->of_data};
	if (sqlite3_prepare_v2(reader->db, ops->sql, -1, &use->row, NULL) != SQLITE_OK)
		code = comm_schema_errno(reader->db);
	else if (ops->open)
		code = ops->open(use, err);
	/* Of a grouping of others the inner one has said it. */
	if (code && code != -ENODATA && code != -EINVAL && !(err && *err))
		comm_reader_fail_db(reader, err, code);
	if (code)
		comm_grouping_close(use);
	return code;
}

int comm_grouping_need(struct comm_grouping_use *use, const char *sql, const char *lacks,
		       char **err)
{
	sqlite3_stmt *any = NULL;
	int rc, code = 0;

	if (sqlite3_prepare_v2(use->reader->db, sql, -1, &any, NULL) != SQLITE_OK)
		return comm_schema_errno(use->reader->db);
	sqlite3_bind_int64(any, 1, use->run->id);
	rc = sqlite3_step(any);
	if (rc == SQLITE_DONE)
		code = comm_reader_fail(err, -ENODATA, "run %lld %s", (long long)use->run->id,
					lacks);
	else if (rc != SQLITE_ROW)
		code = comm_schema_errno(use->reader->db);
	sqlite3_finalize(any);
	return code;
}

void comm_grouping_close(struct comm_grouping_use *use)
{
	if (use->ops && use->ops->close)
		use->ops->close(use);
	comm_id_map_deinit(&use->map);
	sqlite3_finalize(use->row);
	memset(use, 0, sizeof(*use));
}

int comm_grouping_describe(struct comm_grouping_use *use, uint32_t id, struct comm_node *node)
{
	const struct comm_grouping_ops *ops = use->ops;
	int rc, code = 0;

	memset(node, 0, sizeof(*node));
	snprintf(node->id, sizeof(node->id), "%c%u", ops->letter, id);
	node->kind = ops->kind;
	node->kind_name = ops->kind_name;
	node->other = id == COMM_ID_OTHER;
	node->name = node->other ? "(other)" : "(unnamed)";
	node->module = node->build_id = node->source = node->inlined = node->object_kind = "";
	node->call_source = "";
	if (!node->other) {
		sqlite3_bind_int64(use->row, 1, use->run->id);
		sqlite3_bind_int64(use->row, 2, id);
		rc = sqlite3_step(use->row);
		if (rc == SQLITE_ROW)
			code = ops->describe(use, use->row, node);
		else if (rc != SQLITE_DONE)
			code = comm_schema_errno(use->reader->db);
		sqlite3_reset(use->row);
	}
	if (!code && !node->key)
		node->key = comm_texts_format(use->texts, "%s %s", node->kind_name, node->name);
	return code;
}
