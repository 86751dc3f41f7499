// SPDX-License-Identifier: GPL-2.0-or-later
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "schema.h"

enum { NODES_FIRST = 64 };

const char *comm_node_kind_name(enum comm_node_kind kind)
{
	static const char *const names[] = {
		[COMM_NODE_THREAD] = "thread",
		[COMM_NODE_FUNCTION] = "function",
		[COMM_NODE_OBJECT] = "object",
		[COMM_NODE_LINE] = "line",
	};

	return (unsigned int)kind < sizeof(names) / sizeof(*names) ? names[kind] : "unknown";
}

static const char *object_kind_name(int64_t kind)
{
	static const char *const names[] = {
		[COMM_OBJECT_OTHER] = "other",	 [COMM_OBJECT_STATIC] = "static",
		[COMM_OBJECT_DATA] = "data",	 [COMM_OBJECT_HEAP] = "heap",
		[COMM_OBJECT_STACK] = "stack",	 [COMM_OBJECT_ANON] = "anonymous",
		[COMM_OBJECT_SHARED] = "shared",
	};

	return kind >= 0 && kind < (int64_t)(sizeof(names) / sizeof(*names)) ? names[kind]
									     : "other";
}

const char *comm_texts_keep(struct comm_texts *texts, sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_text(stmt, column);
	char *own;

	if (!text || !*text)
		return "";
	if (texts->n == texts->capacity) {
		size_t capacity = texts->capacity ? 2 * texts->capacity : NODES_FIRST;
		char **grown = reallocarray(texts->text, capacity, sizeof(*grown));

		if (!grown) {
			texts->failed = true;
			return "";
		}
		texts->text = grown;
		texts->capacity = capacity;
	}
	own = strdup((const char *)text);
	if (!own) {
		texts->failed = true;
		return "";
	}
	texts->text[texts->n++] = own;
	return own;
}

void comm_texts_deinit(struct comm_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->text[i]);
	free(texts->text);
}

static const char *const names_sql[] = {
	[COMM_NODE_THREAD] = "SELECT name, tgid, tid FROM thread WHERE run = ?1 AND id = ?2",
	[COMM_NODE_FUNCTION] = "SELECT name, module, build_id, start FROM function"
			       " WHERE ?1 AND id = ?2",
	[COMM_NODE_OBJECT] = "SELECT name, module, build_id, kind, size_bytes, thread_tid"
			     " FROM object WHERE run = ?1 AND id = ?2",
	[COMM_NODE_LINE] = "SELECT f.name, f.module, f.build_id, f.start, s.source, s.line,"
			   " s.inlined FROM site s JOIN function f ON f.id = s.function"
			   " WHERE ?1 AND s.id = ?2",
};

enum { N_KINDS = COMM_NODE_LINE + 1 };

static void read_node(struct comm_texts *texts, sqlite3_stmt *stmt, struct comm_node *node)
{
	node->name = comm_texts_keep(texts, stmt, 0);
	switch (node->kind) {
	case COMM_NODE_THREAD:
		node->tgid = sqlite3_column_int64(stmt, 1);
		node->tid = sqlite3_column_int64(stmt, 2);
		return;
	case COMM_NODE_OBJECT:
		node->object_kind = object_kind_name(sqlite3_column_int64(stmt, 3));
		node->size_bytes = sqlite3_column_int64(stmt, 4);
		node->tid = sqlite3_column_int64(stmt, 5);
		break;
	case COMM_NODE_LINE:
		node->source = comm_texts_keep(texts, stmt, 4);
		node->line = sqlite3_column_int64(stmt, 5);
		node->inlined = comm_texts_keep(texts, stmt, 6);
	/* fall through */
	case COMM_NODE_FUNCTION:
		node->start = sqlite3_column_int64(stmt, 3);
	}
	node->module = comm_texts_keep(texts, stmt, 1);
	node->build_id = comm_texts_keep(texts, stmt, 2);
}

int comm_nodes_name(sqlite3 *db, int64_t run, struct comm_node *nodes, size_t n,
		    struct comm_texts *texts)
{
	sqlite3_stmt *stmt[N_KINDS] = {NULL};
	int rc, code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		struct comm_node *node = &nodes[i];
		sqlite3_stmt **s = &stmt[node->kind];

		if (node->other)
			continue;
		if (!*s &&
		    sqlite3_prepare_v2(db, names_sql[node->kind], -1, s, NULL) != SQLITE_OK) {
			code = comm_schema_errno(db);
			break;
		}
		sqlite3_bind_int64(*s, 1, run);
		sqlite3_bind_int64(*s, 2, strtoll(node->id + 1, NULL, 10));
		rc = sqlite3_step(*s);
		if (rc == SQLITE_ROW)
			read_node(texts, *s, node);
		else if (rc == SQLITE_DONE)
			node->name = "(unnamed)";
		else
			code = comm_schema_errno(db);
		sqlite3_reset(*s);
	}
	for (size_t i = 0; i < N_KINDS; i++)
		sqlite3_finalize(stmt[i]);
	return code;
}
