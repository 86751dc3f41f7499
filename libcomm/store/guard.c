// SPDX-License-Identifier: GPL-2.0-or-later
#include "guard.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader_lock.h"
#include "store_file.h"

enum {
	/*
	 * A page of a damaged or hostile table may be the child of several others, so that a
	 * file of a few pages holds more rows than can ever be read.  A report on an honest
	 * store takes less than one instruction for each byte (test_guard).
	 */
	GUARD_TASK = 16 << 20,
	GUARD_PER_BYTE = 10,
	GUARD_PER_ROW = 1000,
	GUARD_LOOK = 1000,
	/* Longer texts and rows are an error. */
	GUARD_TEXT_BYTES = 1 << 16,
	GUARD_SQL_BYTES = 1 << 16,
};

static sqlite3_vfs guarded;
static const sqlite3_vfs *unguarded;

/*
 * Whether there is nothing of that name, or a regular file that has no other name and is of
 * who may have made it: the user of the store that has the first bytes of the name.
 */
static bool is_own(const char *name, size_t store_bytes)
{
	char store[PATH_MAX];
	struct stat st, of;

	if (lstat(name, &st) < 0)
		return true;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    snprintf(store, sizeof(store), "%.*s", (int)store_bytes, name) >= PATH_MAX)
		return false;
	return !comm_store_file_is_planted(name, &st, lstat(store, &of) ? geteuid() : of.st_uid);
}

/*
 * What SQLite opens beside the store it writes to, or cuts to nothing: a link to another file
 * of who runs this must not be taken for it.  The -shm file is opened after the -wal file.
 */
static bool are_own(const char *name, int flags)
{
	size_t n = strlen(name), suffix = flags & SQLITE_OPEN_WAL ? 4 : 8; /* "-wal", "-journal" */
	char shm[PATH_MAX];

	if (!(flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)))
		return true;
	if (n < suffix || !is_own(name, n - suffix))
		return false;
	if (!(flags & SQLITE_OPEN_WAL))
		return true;
	return snprintf(shm, sizeof(shm), "%.*s-shm", (int)(n - 4), name) < PATH_MAX &&
	       is_own(shm, n - 4);
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
		     int *ret_flags)
{
	int code;

	(void)vfs;
	/* Files without methods are not closed by SQLite. */
	file->pMethods = NULL;
	if (flags & SQLITE_OPEN_SUPER_JOURNAL || !are_own(name, flags))
		return SQLITE_CORRUPT;
	code = unguarded->xOpen((sqlite3_vfs *)unguarded, name, file, flags, ret_flags);
	if (code == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB && flags & SQLITE_OPEN_READWRITE)
		comm_reader_lock_watch(unguarded, name, file);
	return code;
}

const char *comm_guard_vfs(void)
{
	const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	/* Threads may open readers at once. */
	sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_VFS1);
	const char *name = NULL;

	sqlite3_mutex_enter(mutex);
	if (vfs && vfs != unguarded) {
		unguarded = vfs;
		guarded = *vfs;
		guarded.pNext = NULL;
		guarded.zName = "comm";
		guarded.szOsFile += comm_reader_lock_bytes();
		guarded.xOpen = open_file;
	}
	if (vfs && sqlite3_vfs_register(&guarded, 0) == SQLITE_OK)
		name = guarded.zName;
	sqlite3_mutex_leave(mutex);
	return name;
}

static int look(void *ctx)
{
	struct comm_guard *guard = ctx;

	if (guard->left < GUARD_LOOK)
		return 1;
	guard->left -= GUARD_LOOK;
	return 0;
}

void comm_guard_init(struct comm_guard *guard, sqlite3 *db)
{
	static const struct {
		int option, value;
	} settings[] = {
		{SQLITE_DBCONFIG_DEFENSIVE, 1},	  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
		{SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
		{SQLITE_DBCONFIG_DQS_DDL, 0},	  {SQLITE_DBCONFIG_DQS_DML, 0},
		{SQLITE_DBCONFIG_ENABLE_FKEY, 0},
	};
	static const struct {
		int limit, value;
	} limits[] = {
		{SQLITE_LIMIT_LENGTH, GUARD_TEXT_BYTES},
		{SQLITE_LIMIT_SQL_LENGTH, GUARD_SQL_BYTES},
		{SQLITE_LIMIT_COLUMN, 100},
		{SQLITE_LIMIT_EXPR_DEPTH, 100},
		{SQLITE_LIMIT_COMPOUND_SELECT, 10},
		{SQLITE_LIMIT_ATTACHED, 0},
		{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
		{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		sqlite3_db_config(db, settings[i].option, settings[i].value, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(db, limits[i].limit, limits[i].value);
	sqlite3_progress_handler(db, GUARD_LOOK, look, guard);
}

void comm_guard_begin(struct comm_guard *guard, const char *path, uint64_t rows)
{
	guard->left = GUARD_TASK + GUARD_PER_BYTE * comm_guard_bytes(path) + GUARD_PER_ROW * rows;
}

uint64_t comm_guard_bytes(const char *path)
{
	static const char *const suffixes[] = {"", "-wal"};
	uint64_t bytes = 0;
	struct stat st;
	char *name;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0)
			return bytes;
		if (stat(name, &st) == 0)
			bytes += st.st_size;
		free(name);
	}
	return bytes;
}
