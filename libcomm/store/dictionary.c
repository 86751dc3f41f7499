// SPDX-License-Identifier: GPL-2.0-or-later
#include "dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "role.h"
#include "schema.h"
#include "zeroed_array.h"

static const struct {
	size_t offset;
	const char *sql;
} statements[] = {
	{offsetof(struct comm_dictionary, put_thread),
	 "INSERT OR REPLACE INTO thread (run, id, tgid, tid, name, start_ns, end_ns, role, title)"
	 " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"},
	{offsetof(struct comm_dictionary, put_object),
	 "INSERT OR REPLACE INTO object (run, id, kind, name, module, build_id, start,"
	 " size_bytes, thread_tid, tgid) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"},
	{offsetof(struct comm_dictionary, put_function),
	 "INSERT INTO function (name, module, build_id, start) VALUES (?1,?2,?3,?4)"},
	{offsetof(struct comm_dictionary, get_function),
	 "SELECT id FROM function WHERE name = ?1 AND module = ?2 AND build_id = ?3"
	 " AND start = ?4"},
	{offsetof(struct comm_dictionary, put_site),
	 "INSERT INTO site (function, inlined, source, line, call_source, call_line, offset)"
	 " VALUES (?1,?2,?3,?4,?5,?6,?7)"},
	{offsetof(struct comm_dictionary, get_site),
	 "SELECT id FROM site WHERE function = ?1 AND inlined = ?2 AND source = ?3"
	 " AND line = ?4 AND call_source = ?5 AND call_line = ?6"},
	{offsetof(struct comm_dictionary, put_context),
	 "INSERT INTO context (site, region, type, caller, own) VALUES (?1,?2,?3,?4,?5)"},
	{offsetof(struct comm_dictionary, get_context),
	 "SELECT id FROM context WHERE site = ?1 AND region = ?2 AND type = ?3"
	 " AND caller = ?4 AND own = ?5"},
	{offsetof(struct comm_dictionary, get_own_context),
	 "SELECT id FROM context WHERE own = ?5"},
	{offsetof(struct comm_dictionary, tell_own_context),
	 "UPDATE context SET site = ?1, region = ?2, type = ?3, caller = ?4 WHERE own = ?5"},
	{offsetof(struct comm_dictionary, put_region),
	 "INSERT INTO region (name, parent) VALUES (?1,?2)"},
	{offsetof(struct comm_dictionary, get_region),
	 "SELECT id FROM region WHERE name = ?1 AND parent = ?2"},
	{offsetof(struct comm_dictionary, put_call),
	 "INSERT INTO call (function, parent) VALUES (?1,?2)"},
	{offsetof(struct comm_dictionary, get_call),
	 "SELECT id FROM call WHERE function = ?1 AND parent = ?2"},
	{offsetof(struct comm_dictionary, put_counter), "INSERT INTO counter (name) VALUES (?1)"},
	{offsetof(struct comm_dictionary, get_counter), "SELECT id FROM counter WHERE name = ?1"},
	{offsetof(struct comm_dictionary, put_type),
	 "INSERT INTO type (name, field, offset) VALUES (?1,?2,?3)"},
	{offsetof(struct comm_dictionary, get_type),
	 "SELECT id FROM type WHERE name = ?1 AND field = ?2 AND offset = ?3"},
};

enum { N_STATEMENTS = sizeof(statements) / sizeof(*statements) };

enum { REGIONS_DEEP = 128 };

static sqlite3_stmt **statement(struct comm_dictionary *dict, size_t i)
{
	return (sqlite3_stmt **)((char *)dict + statements[i].offset);
}

int comm_dictionary_init(struct comm_dictionary *dict, sqlite3 *db)
{
	memset(dict, 0, sizeof(*dict));
	dict->db = db;
	for (size_t i = 0; i < N_STATEMENTS; i++) {
		if (sqlite3_prepare_v3(db, statements[i].sql, -1, SQLITE_PREPARE_PERSISTENT,
				       statement(dict, i), NULL) != SQLITE_OK) {
			int err = comm_schema_errno(db);

			comm_dictionary_deinit(dict);
			return err;
		}
	}
	return 0;
}

void comm_dictionary_deinit(struct comm_dictionary *dict)
{
	for (size_t i = 0; i < N_STATEMENTS; i++)
		sqlite3_finalize(*statement(dict, i));
	free(dict->thread);
	free(dict->context);
	free(dict->function);
	free(dict->region);
	free(dict->call);
	free(dict->object);
	free(dict->own);
	free(dict->is_own);
	memset(dict, 0, sizeof(*dict));
}

void comm_dictionary_forget(struct comm_dictionary *dict)
{
	for (size_t i = 0; i < dict->n_threads; i++)
		dict->thread[i].is_stored = false;
	if (dict->n_contexts)
		memset(dict->context, 0, dict->n_contexts * sizeof(*dict->context));
	if (dict->n_functions)
		memset(dict->function, 0, dict->n_functions * sizeof(*dict->function));
	if (dict->n_regions)
		memset(dict->region, 0, dict->n_regions * sizeof(*dict->region));
	if (dict->n_calls)
		memset(dict->call, 0, dict->n_calls * sizeof(*dict->call));
	memset(dict->counter, 0, sizeof(dict->counter));
	for (size_t i = 0; i < dict->n_own; i++) {
		dict->own[i].told = false;
		dict->own[i].function = COMM_ID_OTHER;
	}
	if (dict->n_objects)
		memset(dict->object, 0, dict->n_objects * sizeof(*dict->object));
}

void comm_dictionary_begin(struct comm_dictionary *dict, int64_t run)
{
	dict->run = run;
	dict->n_own = 0;
	if (dict->n_threads)
		memset(dict->thread, 0, dict->n_threads * sizeof(*dict->thread));
	if (dict->n_is_own)
		memset(dict->is_own, 0, dict->n_is_own * sizeof(*dict->is_own));
	comm_dictionary_forget(dict);
}

static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
	sqlite3_bind_text(stmt, at, text ? text : "", -1, SQLITE_STATIC);
}

static int run(struct comm_dictionary *dict, sqlite3_stmt *stmt)
{
	int err = 0;

	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(dict->db);
	sqlite3_reset(stmt);
	return err;
}

static int put_thread(struct comm_dictionary *dict, uint32_t id, const struct comm_thread *thread)
{
	sqlite3_stmt *s = dict->put_thread;
	char name[sizeof(thread->name) + 1] = "", role[COMM_ROLE_BYTES];
	char title_role[COMM_TITLE_BYTES];

	memcpy(name, thread->name, sizeof(thread->name));
	comm_role_of(name, role);
	comm_title_role(thread->title, title_role);
	sqlite3_bind_int64(s, 1, dict->run);
	sqlite3_bind_int64(s, 2, id);
	sqlite3_bind_int64(s, 3, thread->tgid);
	sqlite3_bind_int64(s, 4, thread->tid);
	sqlite3_bind_text(s, 5, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, thread->start_ns);
	sqlite3_bind_int64(s, 7, thread->end_ns);
	sqlite3_bind_text(s, 8, *title_role ? title_role : role, -1, SQLITE_STATIC);
	bind_text(s, 9, thread->title);
	return run(dict, s);
}

int comm_dictionary_note(struct comm_dictionary *dict, const struct comm_naming *naming)
{
	size_t n = naming->n_threads;
	int err = n ? comm_zeroed_array_reach(&dict->thread, &dict->n_threads, n - 1,
					      sizeof(*dict->thread))
		    : 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct comm_thread *now = naming->thread_at(naming->ctx, i);
		struct comm_dictionary_thread *then = &dict->thread[i];

		if (!now || (then->is_known && !memcmp(now, &then->thread, sizeof(*now))))
			continue;
		memcpy(&then->thread, now, sizeof(*now));
		then->is_known = true;
		then->is_stored = false;
	}
	return err;
}

int comm_dictionary_threads(struct comm_dictionary *dict, const struct comm_naming *naming)
{
	int err = comm_dictionary_note(dict, naming);

	for (size_t i = 0; i < dict->n_threads && !err; i++) {
		struct comm_dictionary_thread *thread = &dict->thread[i];

		if (!thread->is_known || thread->is_stored)
			continue;
		err = put_thread(dict, comm_thread_id(i, thread->thread.round), &thread->thread);
		thread->is_stored = !err;
	}
	return err;
}

/* Looks a row up with get, or makes it with put, which has the same parameters. */
static int find_or_put(struct comm_dictionary *dict, sqlite3_stmt *get, sqlite3_stmt *put,
		       uint32_t *ret)
{
	int64_t id;
	int rc, err;

	rc = sqlite3_step(get);
	id = rc == SQLITE_ROW ? sqlite3_column_int64(get, 0) : -1;
	err = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : comm_schema_errno(dict->db);
	sqlite3_reset(get);
	if (!err && rc == SQLITE_DONE) {
		err = run(dict, put);
		id = sqlite3_last_insert_rowid(dict->db);
	}
	if (err)
		return err;
	if (id < 0 || id > UINT32_MAX)
		return -EUCLEAN;
	*ret = id;
	return 0;
}

static int put_function(struct comm_dictionary *dict, const struct comm_naming *naming, uint32_t id,
			uint32_t *ret)
{
	sqlite3_stmt *const both[] = {dict->get_function, dict->put_function};
	const struct comm_function *function;
	int err;

	if (id <= COMM_FUNCTION_KERNEL || id >= naming->n_functions) {
		*ret = id == COMM_FUNCTION_KERNEL ? id : COMM_ID_OTHER;
		return 0;
	}
	err = comm_zeroed_array_reach(&dict->function, &dict->n_functions, id,
				      sizeof(*dict->function));
	if (err)
		return err;
	if (!dict->function[id]) {
		function = naming->function_at(naming->ctx, id);
		for (int i = 0; i < 2; i++) {
			bind_text(both[i], 1, function->name);
			bind_text(both[i], 2, function->module);
			bind_text(both[i], 3, function->build_id);
			sqlite3_bind_int64(both[i], 4, function->start);
		}
		err = find_or_put(dict, both[0], both[1], ret);
		/* One that has no name yet will be another row. */
		if (err || function->pending)
			return err;
		dict->function[id] = *ret;
	}
	*ret = dict->function[id];
	return 0;
}

static int put_site(struct comm_dictionary *dict, const struct comm_naming *naming, uint32_t id,
		    uint32_t *ret)
{
	const struct comm_site *site = naming->site_at(naming->ctx, id);
	sqlite3_stmt *const both[] = {dict->get_site, dict->put_site};
	uint32_t function;
	int err;

	err = put_function(dict, naming, site->function, &function);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		sqlite3_bind_int64(both[i], 1, function);
		bind_text(both[i], 2, site->inlined);
		bind_text(both[i], 3, site->source);
		sqlite3_bind_int64(both[i], 4, site->line);
		bind_text(both[i], 5, site->call_source);
		sqlite3_bind_int64(both[i], 6, site->call_line);
	}
	sqlite3_bind_int64(dict->put_site, 7, site->offset);
	return find_or_put(dict, both[0], both[1], ret);
}

/*
 * A damaged file's parents may go round: a chain that is longer than programs can mark, and calls
 * can be told apart within each other, ends in a region within none.
 */
static int put_region(struct comm_dictionary *dict, const struct comm_naming *naming, uint32_t id,
		      unsigned int depth, uint32_t *ret)
{
	sqlite3_stmt *const both[] = {dict->get_region, dict->put_region};
	const struct comm_code_region *region;
	uint32_t parent = COMM_CODE_REGION_NONE;
	int err;

	if (id <= COMM_CODE_REGION_OTHER || id >= naming->n_regions) {
		*ret = id == COMM_CODE_REGION_NONE ? id : COMM_CODE_REGION_OTHER;
		return 0;
	}
	err = comm_zeroed_array_reach(&dict->region, &dict->n_regions, id, sizeof(*dict->region));
	if (err)
		return err;
	if (!dict->region[id]) {
		region = naming->region_at(naming->ctx, id);
		if (depth < REGIONS_DEEP)
			err = put_region(dict, naming, region->parent, depth + 1, &parent);
		for (int i = 0; i < 2; i++) {
			bind_text(both[i], 1, region->name);
			sqlite3_bind_int64(both[i], 2, parent);
		}
		if (!err)
			err = find_or_put(dict, both[0], both[1], &dict->region[id]);
		if (err)
			return err;
	}
	*ret = dict->region[id];
	return 0;
}

/* Whether a function has no name yet in which, or in whose callers, a call is. */
static bool is_call_pending(const struct comm_naming *naming, uint32_t id)
{
	for (unsigned int depth = 0; depth < COMM_CALL_DEPTH_MAX; depth++) {
		const struct comm_call *call;

		if (id <= COMM_CALL_OUTERMOST || id >= naming->n_calls)
			return false;
		call = naming->call_at(naming->ctx, id);
		if (call->function < naming->n_functions &&
		    naming->function_at(naming->ctx, call->function)->pending)
			return true;
		id = call->parent;
	}
	return false;
}

/* As put_region(): a path that is longer than any stack is unwound has no callers beyond. */
static int put_call(struct comm_dictionary *dict, const struct comm_naming *naming, uint32_t id,
		    unsigned int depth, uint32_t *ret)
{
	sqlite3_stmt *const both[] = {dict->get_call, dict->put_call};
	uint32_t parent = COMM_CALL_UNKNOWN, function;
	const struct comm_call *call;
	int err;

	if (id <= COMM_CALL_OUTERMOST || id >= naming->n_calls) {
		*ret = id == COMM_CALL_OUTERMOST ? id : COMM_CALL_UNKNOWN;
		return 0;
	}
	err = comm_zeroed_array_reach(&dict->call, &dict->n_calls, id, sizeof(*dict->call));
	if (err)
		return err;
	if (!dict->call[id]) {
		call = naming->call_at(naming->ctx, id);
		err = put_function(dict, naming, call->function, &function);
		if (!err && depth < COMM_CALL_DEPTH_MAX)
			err = put_call(dict, naming, call->parent, depth + 1, &parent);
		for (int i = 0; i < 2 && !err; i++) {
			sqlite3_bind_int64(both[i], 1, function);
			sqlite3_bind_int64(both[i], 2, parent);
		}
		if (!err)
			err = find_or_put(dict, both[0], both[1], ret);
		if (err || is_call_pending(naming, id))
			return err;
		dict->call[id] = *ret;
	}
	*ret = dict->call[id];
	return 0;
}

int comm_dictionary_region(struct comm_dictionary *dict, const struct comm_naming *naming,
			   uint32_t region, uint32_t *ret)
{
	return put_region(dict, naming, region, 1, ret);
}

int comm_dictionary_counter(struct comm_dictionary *dict, uint32_t index, const char *name,
			    uint32_t *ret)
{
	int err = 0;

	if (!dict->counter[index]) {
		bind_text(dict->get_counter, 1, name);
		bind_text(dict->put_counter, 1, name);
		err = find_or_put(dict, dict->get_counter, dict->put_counter,
				  &dict->counter[index]);
	}
	*ret = dict->counter[index];
	return err;
}

static int put_type(struct comm_dictionary *dict, const struct comm_site *site, uint32_t *ret)
{
	sqlite3_stmt *const both[] = {dict->get_type, dict->put_type};

	*ret = COMM_TYPE_UNKNOWN;
	if (!site->type)
		return 0;
	for (int i = 0; i < 2; i++) {
		bind_text(both[i], 1, site->type);
		bind_text(both[i], 2, site->field);
		sqlite3_bind_int64(both[i], 3, site->field_offset);
	}
	return find_or_put(dict, both[0], both[1], ret);
}

bool comm_dictionary_is_pending(const struct comm_naming *naming, const struct comm_site *site)
{
	return site->pending || is_call_pending(naming, site->caller);
}

/* Binds all that a context says to a statement, and its own number. */
static int bind_context(struct comm_dictionary *dict, const struct comm_naming *naming,
			uint32_t site, uint64_t own, sqlite3_stmt *stmt)
{
	const struct comm_site *s = naming->site_at(naming->ctx, site);
	uint32_t stored = 0, region = 0, type = 0, caller = 0;
	int err;

	err = put_site(dict, naming, site, &stored);
	if (!err)
		err = put_region(dict, naming, s->region, 1, &region);
	if (!err)
		err = put_type(dict, s, &type);
	if (!err)
		err = put_call(dict, naming, s->caller, 1, &caller);
	sqlite3_bind_int64(stmt, 1, stored);
	sqlite3_bind_int64(stmt, 2, region);
	sqlite3_bind_int64(stmt, 3, type);
	sqlite3_bind_int64(stmt, 4, caller);
	sqlite3_bind_int64(stmt, 5, (int64_t)own);
	return err;
}

static uint64_t own_number(const struct comm_dictionary *dict, uint32_t site)
{
	return (uint64_t)dict->run << 32 | site;
}

/* It may be listed already, in a transaction that was rolled back. */
static int list_own(struct comm_dictionary *dict, uint32_t site, uint32_t function)
{
	int err = comm_zeroed_array_reach(&dict->is_own, &dict->n_is_own, site,
					  sizeof(*dict->is_own));

	if (!err && !dict->is_own[site])
		err = comm_zeroed_array_reach(&dict->own, &dict->own_capacity, dict->n_own,
					      sizeof(*dict->own));
	if (err || dict->is_own[site])
		return err;
	dict->own[dict->n_own++] = (struct comm_dictionary_own){site, function, false};
	dict->is_own[site] = true;
	return 0;
}

int comm_dictionary_context(struct comm_dictionary *dict, const struct comm_naming *naming,
			    uint32_t site, uint32_t *ret)
{
	const struct comm_site *s;
	sqlite3_stmt *get;
	uint64_t own;
	int err;

	if (site < dict->n_contexts && dict->context[site]) {
		*ret = dict->context[site];
		return 0;
	}
	/* "(other)" and "[kernel]" have the same ids as contexts and as sites. */
	if (site <= COMM_SITE_KERNEL || site >= naming->n_sites) {
		*ret = site == COMM_SITE_KERNEL ? site : COMM_ID_OTHER;
		return 0;
	}
	s = naming->site_at(naming->ctx, site);
	own = comm_dictionary_is_pending(naming, s) ? own_number(dict, site) : 0;
	get = own ? dict->get_own_context : dict->get_context;
	err = comm_zeroed_array_reach(&dict->context, &dict->n_contexts, site,
				      sizeof(*dict->context));
	if (!err && own)
		err = list_own(dict, site, s->function);
	if (!err)
		err = bind_context(dict, naming, site, own, get);
	if (!err)
		err = bind_context(dict, naming, site, own, dict->put_context);
	if (!err)
		err = find_or_put(dict, get, dict->put_context, &dict->context[site]);
	if (err)
		return err;
	*ret = dict->context[site];
	return 0;
}

int comm_dictionary_settle(struct comm_dictionary *dict, const struct comm_naming *naming)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < dict->n_own; i++) {
		struct comm_dictionary_own own = dict->own[i];
		const struct comm_site *s;
		bool pending;

		/* Told in a transaction that was committed: else told was taken back. */
		if (own.told) {
			dict->is_own[own.site] = false;
			continue;
		}
		s = naming->site_at(naming->ctx, own.site);
		pending = !s || comm_dictionary_is_pending(naming, s);
		if (!err && s && (!pending || s->function != own.function)) {
			err = bind_context(dict, naming, own.site, own_number(dict, own.site),
					   dict->tell_own_context);
			if (!err)
				err = run(dict, dict->tell_own_context);
			own.told = !err && !pending;
			own.function = err ? own.function : s->function;
		}
		dict->own[kept++] = own;
	}
	dict->n_own = kept;
	return err;
}

int comm_dictionary_object(struct comm_dictionary *dict, const struct comm_naming *naming,
			   uint32_t id, uint32_t *ret)
{
	const struct comm_object *object;
	sqlite3_stmt *s = dict->put_object;
	struct comm_dictionary_object *then;
	int err;

	if (id == COMM_ID_OTHER || id >= naming->n_objects) {
		*ret = COMM_ID_OTHER;
		return 0;
	}
	*ret = id;
	err = comm_zeroed_array_reach(&dict->object, &dict->n_objects, id, sizeof(*dict->object));
	if (err)
		return err;
	then = &dict->object[id];
	object = naming->object_at(naming->ctx, id);
	if (then->name == object->name && then->start == object->start &&
	    then->size_bytes == object->size_bytes)
		return 0;
	sqlite3_bind_int64(s, 1, dict->run);
	sqlite3_bind_int64(s, 2, id);
	sqlite3_bind_int(s, 3, object->kind);
	bind_text(s, 4, object->name);
	bind_text(s, 5, object->module);
	bind_text(s, 6, object->build_id);
	sqlite3_bind_int64(s, 7, object->start);
	sqlite3_bind_int64(s, 8, object->size_bytes);
	sqlite3_bind_int64(s, 9, object->thread_tid);
	sqlite3_bind_int64(s, 10, object->tgid);
	err = run(dict, s);
	if (!err) {
		then->name = object->name;
		then->start = object->start;
		then->size_bytes = object->size_bytes;
	}
	return err;
}
