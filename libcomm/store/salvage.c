// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Salvage: copies what can be read of a damaged store into a new one.  SQLite's own recovery
 * (ext/recover) is not in Debian's library, and the shell's .recover puts rows whose
 * table it does not know into a table of its own.  A store's tables are all ordered by run and
 * slice, or by a number: so each is read in the order of its key, and where a page is missing
 * or damaged, from the next key on that can be read.
 */
#include <comm/comm.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "event.h"
#include "guard.h"
#include "schema.h"
#include "store_file.h"

enum {
	COLUMNS_MAX = 64,
	NAME_BYTES = 64,
	/* Keys that are tried behind what cannot be read, each twice as far from it. */
	LAST_STEP_LOG2 = 48,
	/* More damaged places than that are not looked behind. */
	GAPS_MAX = 10000,
};

struct salvage {
	const char *path;
	sqlite3 *from, *to;
	struct comm_guard guard;
	struct comm_salvaged saved;
	int failed; /* -errno of writing */
};

/* A table in the order of its key. */
struct salvage_table {
	char name[NAME_BYTES], key[NAME_BYTES];
	bool by_run; /* the key follows the run's number */
	sqlite3_stmt *read, *read_back, *write;
};

static void table_deinit(struct salvage_table *table)
{
	sqlite3_finalize(table->read);
	sqlite3_finalize(table->read_back);
	sqlite3_finalize(table->write);
}

static int prepare(sqlite3 *db, sqlite3_stmt **ret, char *sql)
{
	int err = 0;

	if (!sql)
		return -ENOMEM;
	if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK)
		err = comm_schema_errno(db);
	sqlite3_free(sql);
	return err;
}

static int table_init(struct salvage *salvage, const char *name, struct salvage_table *table)
{
	char marks[2 * COLUMNS_MAX] = "?";
	sqlite3_stmt *info = NULL;
	const char *by_run;
	int n = 0, err;

	memset(table, 0, sizeof(*table));
	snprintf(table->name, sizeof(table->name), "%s", name);
	err = prepare(salvage->to, &info,
		      sqlite3_mprintf("SELECT name, pk FROM pragma_table_info(%Q)", name));
	for (; !err && sqlite3_step(info) == SQLITE_ROW; n++) {
		const char *column = (const char *)sqlite3_column_text(info, 0);
		int pk = sqlite3_column_int(info, 1);

		if (n)
			snprintf(marks + 2 * n - 1, sizeof(marks) - (2 * n - 1), ",?");
		if (pk == 1 && !strcmp(column, "run"))
			table->by_run = true;
		else if (pk == 1 || (pk == 2 && table->by_run))
			snprintf(table->key, sizeof(table->key), "%s", column);
	}
	sqlite3_finalize(info);
	if (err)
		return err;
	by_run = table->by_run ? "run = ?3 AND" : "?3 IS NOT NULL AND";
	err = prepare(
		salvage->from, &table->read,
		sqlite3_mprintf("SELECT %s, * FROM %s WHERE %s %s BETWEEN ?1 AND ?2 ORDER BY %s",
				table->key, name, by_run, table->key, table->key));
	if (!err)
		err = prepare(salvage->from, &table->read_back,
			      sqlite3_mprintf("SELECT %s, * FROM %s WHERE %s %s BETWEEN ?1 AND ?2"
					      " ORDER BY %s DESC",
					      table->key, name, by_run, table->key, table->key));
	if (!err)
		err = prepare(salvage->to, &table->write,
			      sqlite3_mprintf("INSERT OR IGNORE INTO %s VALUES (%s)", name, marks));
	if (err)
		table_deinit(table);
	return err;
}

static void write_row(struct salvage *salvage, struct salvage_table *table, sqlite3_stmt *row)
{
	int rc;

	for (int i = 1; i < sqlite3_column_count(row); i++)
		sqlite3_bind_value(table->write, i, sqlite3_column_value(row, i));
	rc = sqlite3_step(table->write);
	/* A value that no store has, where the schema asks for one, is damage. */
	if (rc != SQLITE_DONE && (rc & 0xff) != SQLITE_CONSTRAINT && !salvage->failed)
		salvage->failed = comm_schema_errno(salvage->to);
	sqlite3_reset(table->write);
}

/*
 * Copies the rows with keys from first to last.  Returns false at the first that cannot be
 * read; *ret_key then has the key of the last that could, or is left alone.
 */
static bool copy(struct salvage *salvage, struct salvage_table *table, sqlite3_stmt *read,
		 int64_t run, int64_t first, int64_t last, int64_t *ret_key)
{
	int64_t before = first;
	int rc;

	comm_guard_begin(&salvage->guard, salvage->path, 0);
	sqlite3_bind_int64(read, 1, first);
	sqlite3_bind_int64(read, 2, last);
	sqlite3_bind_int64(read, 3, run);
	while ((rc = sqlite3_step(read)) == SQLITE_ROW && !salvage->failed) {
		int64_t key = sqlite3_column_int64(read, 0);

		/* Keys that do not grow are of a page that was there already. */
		if (read == table->read && key < before)
			break;
		before = key;
		write_row(salvage, table, read);
		*ret_key = key;
	}
	sqlite3_reset(read);
	return rc == SQLITE_DONE || salvage->failed;
}

static bool can_read(struct salvage *salvage, struct salvage_table *table, int64_t run, int64_t key)
{
	int rc;

	comm_guard_begin(&salvage->guard, salvage->path, 0);
	sqlite3_bind_int64(table->read, 1, key);
	sqlite3_bind_int64(table->read, 2, INT64_MAX);
	sqlite3_bind_int64(table->read, 3, run);
	rc = sqlite3_step(table->read);
	sqlite3_reset(table->read);
	return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

/*
 * The first key behind the damage that follows one: tries keys at ever larger distances, then
 * halves what lies between.  -1: there is none.
 */
static int64_t behind(struct salvage *salvage, struct salvage_table *table, int64_t run,
		      int64_t key)
{
	int64_t low, high;
	int step = 0;

	/* A hostile store has keys up to the largest number. */
	do {
		if (step > LAST_STEP_LOG2 || key > INT64_MAX - ((int64_t)1 << step))
			return -1;
	} while (!can_read(salvage, table, run, key + ((int64_t)1 << step++)));
	step--;
	high = key + ((int64_t)1 << step);
	for (low = key + ((int64_t)1 << step) / 2 + 1; low < high;) {
		int64_t mid = low + (high - low) / 2;

		if (can_read(salvage, table, run, mid))
			high = mid;
		else
			low = mid + 1;
	}
	return high;
}

static void copy_all(struct salvage *salvage, struct salvage_table *table, int64_t run)
{
	int64_t at = 0, key, ignored;

	while (at >= 0 && !salvage->failed) {
		key = at - 1;
		if (copy(salvage, table, table->read, run, at, INT64_MAX, &key) ||
		    salvage->saved.gaps >= GAPS_MAX)
			return;
		salvage->saved.gaps++;
		at = behind(salvage, table, run, key);
		/* A key's rows may be on several pages: from their end, those behind the damage. */
		copy(salvage, table, table->read_back, run, key, at < 0 ? INT64_MAX : at - 1,
		     &ignored);
	}
}

static int copy_table(struct salvage *salvage, const char *name)
{
	sqlite3_stmt *runs = NULL;
	struct salvage_table table;
	int err = table_init(salvage, name, &table), rc = SQLITE_DONE;

	if (err)
		return err;
	if (!table.by_run) {
		copy_all(salvage, &table, 0);
	} else {
		err = prepare(salvage->to, &runs, sqlite3_mprintf("SELECT id FROM run"));
		while (!err && !salvage->failed && (rc = sqlite3_step(runs)) == SQLITE_ROW)
			copy_all(salvage, &table, sqlite3_column_int64(runs, 0));
		if (!err && !salvage->failed && rc != SQLITE_DONE)
			err = comm_schema_errno(salvage->to);
		sqlite3_finalize(runs);
	}
	table_deinit(&table);
	return err ? err : salvage->failed;
}

static int exec(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : comm_schema_errno(db);
}

/* Tables without a run first, "run" among them: the others are read run by run. */
static int copy_tables(struct salvage *salvage)
{
	sqlite3_stmt *names = NULL;
	int rc = SQLITE_DONE;
	int err = prepare(
		salvage->to, &names,
		sqlite3_mprintf("SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c"
				" WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%%'"
				" AND c.pk = 1 ORDER BY c.name = 'run', m.name"));

	while (!err && (rc = sqlite3_step(names)) == SQLITE_ROW)
		err = copy_table(salvage, (const char *)sqlite3_column_text(names, 0));
	if (!err && rc != SQLITE_DONE)
		err = comm_schema_errno(salvage->to);
	sqlite3_finalize(names);
	return err;
}

/* Of each table that names slices, the rows of slices that there are: readers ask by run and slice. */
static int drop_strays(struct salvage *salvage)
{
	sqlite3_stmt *names = NULL;
	int rc = SQLITE_DONE;
	int err = exec(salvage->to, "DELETE FROM slice WHERE run NOT IN (SELECT id FROM run)");

	if (!err)
		err = prepare(
			salvage->to, &names,
			sqlite3_mprintf(
				"SELECT m.name FROM sqlite_master m, pragma_table_info(m.name)"
				" c WHERE m.type = 'table' AND c.name = 'slice'"));
	while (!err && (rc = sqlite3_step(names)) == SQLITE_ROW) {
		char *sql = sqlite3_mprintf("DELETE FROM %s WHERE NOT EXISTS (SELECT 1 FROM slice s"
					    " WHERE s.id = %s.slice AND s.run = %s.run)",
					    sqlite3_column_text(names, 0),
					    sqlite3_column_text(names, 0),
					    sqlite3_column_text(names, 0));

		err = sql ? exec(salvage->to, sql) : -ENOMEM;
		sqlite3_free(sql);
	}
	if (!err && rc != SQLITE_DONE)
		err = comm_schema_errno(salvage->to);
	sqlite3_finalize(names);
	return err;
}

/* Takes out what belongs to nothing, and counts as lost what a slice has not any more. */
static int tidy(struct salvage *salvage)
{
	static const char sql[] =
		"CREATE TEMP TABLE partial AS SELECT run, id FROM slice s WHERE edges <>"
		" (SELECT count(*) FROM edge WHERE run = s.run AND slice = s.id);";
	sqlite3_stmt *lose = NULL;
	int err = drop_strays(salvage);

	if (!err)
		err = exec(salvage->to, sql);
	if (!err)
		err = prepare(salvage->to, &lose,
			      sqlite3_mprintf("INSERT INTO loss (run, slice, cause, n)"
					      " SELECT run, id, %Q, 1 FROM temp.partial WHERE true"
					      " ON CONFLICT DO UPDATE SET n = n + 1",
					      comm_loss_name(COMM_LOSS_STORE)));
	if (!err && sqlite3_step(lose) != SQLITE_DONE)
		err = comm_schema_errno(salvage->to);
	sqlite3_finalize(lose);
	return err;
}

static uint64_t count(struct salvage *salvage, const char *table)
{
	sqlite3_stmt *stmt = NULL;
	uint64_t n = 0;

	if (!prepare(salvage->to, &stmt, sqlite3_mprintf("SELECT count(*) FROM %s", table)) &&
	    sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static int open_from(struct salvage *salvage, int *ret_version)
{
	int err;

	if (sqlite3_open_v2(salvage->path, &salvage->from,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    comm_guard_vfs()) != SQLITE_OK)
		return salvage->from ? comm_schema_errno(salvage->from) : -ENOMEM;
	comm_guard_init(&salvage->guard, salvage->from);
	comm_guard_begin(&salvage->guard, salvage->path, 0);
	/* Only so does SQLite open a file that is shorter than it says. */
	sqlite3_db_config(salvage->from, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sqlite3_db_config(salvage->from, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	err = exec(salvage->from, "PRAGMA query_only = ON; PRAGMA cell_size_check = ON");
	if (!err)
		err = comm_schema_version(salvage->from, ret_version);
	/* Nothing was ever stored. */
	if (!err && !*ret_version)
		err = -EUCLEAN;
	return err ? err : comm_schema_check(salvage->from, *ret_version);
}

/* Copies by the old store's schema, then brings the copy up to date. */
static int save(struct salvage *salvage, const char *to, int version)
{
	char sql[64];
	int err;

	if (sqlite3_open_v2(to, &salvage->to,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW,
			    comm_guard_vfs()) != SQLITE_OK)
		return salvage->to ? comm_schema_errno(salvage->to) : -ENOMEM;
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %d", COMM_SCHEMA_PAGE_BYTES);
	err = exec(salvage->to, sql);
	/* It is removed when anything fails, and made durable at the end. */
	if (!err)
		err = exec(salvage->to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
					"PRAGMA temp_store = MEMORY");
	if (!err)
		err = comm_schema_migrate(salvage->to, version);
	if (!err)
		err = exec(salvage->to, "BEGIN");
	if (!err)
		err = copy_tables(salvage);
	if (!err)
		err = exec(salvage->to, "COMMIT");
	if (!err)
		err = comm_schema_migrate(salvage->to, COMM_SCHEMA_VERSION);
	if (!err)
		err = tidy(salvage);
	if (err)
		return err;
	salvage->saved.runs = count(salvage, "run");
	salvage->saved.slices = count(salvage, "slice");
	salvage->saved.edges = count(salvage, "edge");
	salvage->saved.partial = count(salvage, "temp.partial");
	return salvage->saved.runs ? 0 : -ENODATA;
}

static int fail(char **err, int code, char *sentence)
{
	if (err)
		*err = sentence;
	else
		free(sentence);
	return code;
}

static char *sentence(const char *format, const char *path, const char *why)
{
	char *ret;

	return asprintf(&ret, format, path, why) < 0 ? NULL : ret;
}

/* Whether SQLite, or commd, would take a file of that name for a part of the damaged store. */
static bool is_beside(const char *from, const char *to)
{
	static const char *const suffixes[] = {"-wal", "-shm", "-journal", "-ballast"};
	size_t n = strlen(from);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (strncmp(to, from, n) == 0 && strcmp(to + n, suffixes[i]) == 0)
			return true;
	return false;
}

/*
 * Makes the copy under a name of its own, so that one that was cut off never has the name that
 * is asked for.  What another such copy has left there is begun anew.
 */
static int write_copy(struct salvage *salvage, const char *to, int version, char **err)
{
	char name[PATH_MAX];
	struct comm_store_file file;
	struct stat st;
	pid_t holder;
	int code = lstat(to, &st) == 0 ? -EEXIST : 0;

	if (is_beside(salvage->path, to))
		return fail(
			err, -EEXIST,
			sentence("%s is a name of %s's own: name another file", to, salvage->path));
	if (!code && snprintf(name, sizeof(name), "%s-partial", to) >= PATH_MAX)
		code = -ENAMETOOLONG;
	if (!code)
		code = comm_store_file_open(name, &file, &holder);
	if (code)
		return fail(
			err, code,
			sentence("cannot make %s: %s", to,
				 code == -EEXIST ? "it exists; name a new file" : strerror(-code)));
	code = ftruncate(file.fd, 0) < 0 ? -errno : save(salvage, file.name, version);
	if (!code && fsync(file.fd) < 0)
		code = -errno;
	sqlite3_close(salvage->to);
	if (!code && rename(file.name, to) < 0)
		code = -errno;
	if (code)
		unlink(file.name);
	comm_store_file_close(&file);
	if (code == -ENODATA)
		return fail(err, code, sentence("nothing of %s can be saved%s", salvage->path, ""));
	if (code)
		return fail(err, code, sentence("cannot write %s: %s", to, strerror(-code)));
	return 0;
}

int comm_salvage(const char *from, const char *to, struct comm_salvaged *ret, char **err)
{
	struct salvage salvage = {.path = from};
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int code = fd < 0 ? -errno : 0, version = 0;
	bool is_new = false;

	if (err)
		*err = NULL;
	if (!code)
		code = comm_schema_probe(fd, &is_new);
	if (!code && is_new)
		code = -EMEDIUMTYPE;
	if (!code && comm_store_file_writer(fd))
		code = -EBUSY;
	if (!code)
		code = open_from(&salvage, &version);
	if (code == -EUCLEAN)
		fail(err, code, sentence("nothing of %s can be saved%s", from, ""));
	else if (code)
		fail(err, code, comm_schema_sentence(from, code, salvage.from));
	else
		code = write_copy(&salvage, to, version, err);
	sqlite3_close(salvage.from);
	if (fd >= 0)
		close(fd);
	if (!code)
		memcpy((char *)ret + sizeof(ret->size), (char *)&salvage.saved + sizeof(ret->size),
		       (ret->size < sizeof(*ret) ? ret->size : sizeof(*ret)) - sizeof(ret->size));
	return code;
}
