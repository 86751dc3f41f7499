// SPDX-License-Identifier: GPL-2.0-or-later
#include "row_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function_pattern.h"
#include "ids.h"
#include "schema.h"
#include "thread_keys.h"

enum {
	LABEL = 128,	  /* room for "NAME/TID" of a thread */
	ID_MAX = 1 << 24, /* a hostile store does not get more memory than this by an id */
};

_Static_assert(COMM_OBJECT_STACK == 4, "as objects_sql has it");

typedef bool matches_fn(const char *want, sqlite3_stmt *row);

static const char *text_at(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

/* A tid, a name or title, or either with /TID, as reports tell threads of one name apart. */
static bool is_thread(const char *want, sqlite3_stmt *row)
{
	char number[16], label[LABEL];

	snprintf(number, sizeof(number), "%u", (uint32_t)sqlite3_column_int64(row, 1));
	if (!strcmp(number, want))
		return true;
	for (int column = 2; column < 4; column++) {
		const char *name = text_at(row, column);

		snprintf(label, sizeof(label), "%s/%s", name, number);
		if (*name && (!strcmp(label, want) || !fnmatch(want, name, 0)))
			return true;
	}
	return false;
}

static bool is_named(const char *want, sqlite3_stmt *row)
{
	for (int column = 1; column < sqlite3_column_count(row); column++) {
		const char *name = text_at(row, column);

		if (*name && comm_function_pattern_has(want, name))
			return true;
	}
	return false;
}

static int add(struct comm_id_set *set, int64_t id)
{
	size_t n = set->n ? set->n : 64;
	uint8_t *has;

	if (id < 0 || id >= ID_MAX)
		return 0;
	while (n <= (size_t)id)
		n *= 2;
	if (n != set->n) {
		has = realloc(set->has, n);
		if (!has)
			return -ENOMEM;
		memset(has + set->n, 0, n - set->n);
		set->has = has;
		set->n = n;
	}
	set->has[id] = 1;
	return 0;
}

/* Fills set with the ids, in column 0 of sql, of what is called as wanted. */
static int find(struct comm_id_set *set, const char *want, const char *noun, const char *by,
		matches_fn *matches, const char *sql, struct comm_reader *reader, int64_t run,
		char **err)
{
	sqlite3_stmt *row;
	int rc, code = 0;

	if (!want)
		return 0;
	if (sqlite3_prepare_v2(reader->db, sql, -1, &row, NULL) != SQLITE_OK)
		return comm_reader_fail_db(reader, err, comm_schema_errno(reader->db));
	sqlite3_bind_int64(row, 1, run);
	while (!code && (rc = sqlite3_step(row)) == SQLITE_ROW)
		if (matches(want, row))
			code = add(set, sqlite3_column_int64(row, 0));
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(reader->db);
	sqlite3_finalize(row);
	if (code)
		return comm_reader_fail_db(reader, err, code);
	if (!set->has)
		return comm_reader_fail(err, -ENODATA,
					"run %lld has no %s '%s'; \"commctl report%s --all\" shows "
					"what it has",
					(long long)run, noun, want, by);
	return 0;
}

int comm_filter_open(struct comm_filter *filter, const struct comm_query *query,
		     struct comm_reader *reader, int64_t run, char **err)
{
	static const char threads_sql[] = "SELECT id, tid, name, title FROM thread WHERE run = ?1";
	/* Contexts are shared by all runs. */
	static const char contexts_sql[] =
		"SELECT context.id, function.name, site.inlined FROM context"
		" JOIN site ON site.id = context.site JOIN function ON function.id = site.function";
	/* Of stacks also as reports call them (by_object.c). */
	static const char objects_sql[] =
		"SELECT o.id, o.name, 'stack of ' || t.called || '/' || t.tid FROM object o"
		" LEFT JOIN (SELECT tid, tgid," COMM_THREAD_CALLED "AS called, max(id) FROM thread"
		" WHERE run = ?1 GROUP BY tid) t ON o.kind = 4 AND t.tid = o.thread_tid"
		" AND (t.tgid = o.tgid OR NOT o.tgid) WHERE o.run = ?1";
	int code;

	code = find(&filter->threads, query->thread, "thread", "", is_thread, threads_sql, reader,
		    run, err);
	if (!code)
		code = find(&filter->writers, query->writer, "thread", "", is_thread, threads_sql,
			    reader, run, err);
	if (!code)
		code = find(&filter->contexts, query->function, "function", " --by-function",
			    is_named, contexts_sql, reader, run, err);
	if (!code)
		code = find(&filter->objects, query->object, "object", " --by-object", is_named,
			    objects_sql, reader, run, err);
	return code;
}

void comm_filter_close(struct comm_filter *filter)
{
	free(filter->threads.has);
	free(filter->writers.has);
	free(filter->contexts.has);
	free(filter->objects.has);
}

static bool has(const struct comm_id_set *set, uint32_t id)
{
	return !set->has || (id < set->n && set->has[id]);
}

bool comm_filter_takes(const struct comm_filter *filter, const struct comm_edge *row)
{
	/* In edges of a store src_site and dst_site hold contexts (dictionary.h). */
	return has(&filter->writers, row->src_thread) && has(&filter->objects, row->object) &&
	       (has(&filter->threads, row->src_thread) || has(&filter->threads, row->dst_thread)) &&
	       (has(&filter->contexts, row->src_site) || has(&filter->contexts, row->dst_site));
}

bool comm_filter_takes_read(const struct comm_filter *filter, uint32_t thread, uint32_t context,
			    uint32_t object)
{
	return !filter->writers.has && has(&filter->threads, thread) &&
	       has(&filter->contexts, context) && has(&filter->objects, object);
}
