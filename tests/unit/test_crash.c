// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The disk fails, or the machine stops, at each write of a store in turn, as SQLite's own tests do
 * it (https://www.sqlite.org/testing.html, sections 3.2 and 3.3): with a VFS that lets so many
 * writes through.  Afterwards the store can be used, and no slice is lost that was reported as
 * stored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "made_store.h"
#include "schema.h"

enum mode {
	ONCE, /* one write fails, what follows works */
	EVER, /* from then on all fail: the disk is gone, or the machine stops */
	HALF, /* as EVER, and the first to fail is done by half */
	N_MODES,
};

/* What a write is for, by its file and by whether a log is open. */
enum purpose {
	SCHEMA, /* the tables are made, or another version's are changed, in plain journal mode */
	LOG,	/* a slice is stored */
	CHECKPOINT,
	N_PURPOSES,
};

static const char *const purposes[] = {"of the schema", "to the log", "of checkpoints"};

static sqlite3_vfs crashing;
static sqlite3_vfs *real;
static enum mode mode;
static uint64_t n_writes, fails_at; /* 0: never */
enum { WRITES_MAX = 4096 };

static uint8_t purpose_at[WRITES_MAX]; /* of each write, when none fails */
static int n_logs;		       /* open */

struct crash_file {
	sqlite3_file base;
	sqlite3_file *file; /* behind this struct */
	bool is_log;
};

static sqlite3_file *file_of(sqlite3_file *file)
{
	return ((struct crash_file *)file)->file;
}

static enum purpose purpose_of(const sqlite3_file *file)
{
	if (((const struct crash_file *)file)->is_log)
		return LOG;
	return n_logs ? CHECKPOINT : SCHEMA;
}

static bool fails(enum purpose purpose)
{
	n_writes++;
	if (!fails_at && n_writes < WRITES_MAX)
		purpose_at[n_writes] = purpose;
	return fails_at && (mode == ONCE ? n_writes == fails_at : n_writes >= fails_at);
}

static int crash_close(sqlite3_file *f)
{
	n_logs -= ((struct crash_file *)f)->is_log;
	return file_of(f)->pMethods->xClose(file_of(f));
}

static int crash_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	return file_of(f)->pMethods->xRead(file_of(f), to, n, at);
}

static int crash_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	if (fails(purpose_of(f))) {
		if (mode == HALF && n_writes == fails_at)
			file_of(f)->pMethods->xWrite(file_of(f), from, n / 2, at);
		return SQLITE_IOERR_WRITE;
	}
	return file_of(f)->pMethods->xWrite(file_of(f), from, n, at);
}

static int crash_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return fails(purpose_of(f)) ? SQLITE_IOERR_TRUNCATE
				    : file_of(f)->pMethods->xTruncate(file_of(f), size);
}

/* Nothing is made durable: a machine that stops is not what the kernel would see. */
static int crash_sync(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return fails(purpose_of(f)) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int crash_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return file_of(f)->pMethods->xFileSize(file_of(f), ret);
}

static int crash_lock(sqlite3_file *f, int lock)
{
	return file_of(f)->pMethods->xLock(file_of(f), lock);
}

static int crash_unlock(sqlite3_file *f, int lock)
{
	return file_of(f)->pMethods->xUnlock(file_of(f), lock);
}

static int crash_check(sqlite3_file *f, int *ret)
{
	return file_of(f)->pMethods->xCheckReservedLock(file_of(f), ret);
}

static int crash_control(sqlite3_file *f, int op, void *arg)
{
	return file_of(f)->pMethods->xFileControl(file_of(f), op, arg);
}

static int crash_sector(sqlite3_file *f)
{
	return file_of(f)->pMethods->xSectorSize(file_of(f));
}

static int crash_device(sqlite3_file *f)
{
	return file_of(f)->pMethods->xDeviceCharacteristics(file_of(f));
}

static int crash_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return file_of(f)->pMethods->xShmMap(file_of(f), page, size, extend, ret);
}

static int crash_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return file_of(f)->pMethods->xShmLock(file_of(f), offset, n, flags);
}

static void crash_shm_barrier(sqlite3_file *f)
{
	file_of(f)->pMethods->xShmBarrier(file_of(f));
}

static int crash_shm_unmap(sqlite3_file *f, int delete)
{
	return file_of(f)->pMethods->xShmUnmap(file_of(f), delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = crash_close,
	.xRead = crash_read,
	.xWrite = crash_write,
	.xTruncate = crash_truncate,
	.xSync = crash_sync,
	.xFileSize = crash_size,
	.xLock = crash_lock,
	.xUnlock = crash_unlock,
	.xCheckReservedLock = crash_check,
	.xFileControl = crash_control,
	.xSectorSize = crash_sector,
	.xDeviceCharacteristics = crash_device,
	.xShmMap = crash_shm_map,
	.xShmLock = crash_shm_lock,
	.xShmBarrier = crash_shm_barrier,
	.xShmUnmap = crash_shm_unmap,
};

static int crash_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret)
{
	struct crash_file *file = (struct crash_file *)f;
	int rc;

	(void)vfs;
	file->file = (sqlite3_file *)(file + 1);
	file->base.pMethods = NULL;
	file->is_log = false;
	rc = real->xOpen(real, name, file->file, flags, ret);
	if (file->file->pMethods) {
		file->base.pMethods = &methods;
		file->is_log = flags & SQLITE_OPEN_WAL;
		n_logs += file->is_log;
	}
	return rc;
}

static int crash_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)sync;
	return fails(n_logs ? CHECKPOINT : SCHEMA) ? SQLITE_IOERR_DELETE
						   : real->xDelete(real, name, 0);
}

static void install(void)
{
	real = sqlite3_vfs_find(NULL);
	crashing = *real;
	crashing.pNext = NULL;
	crashing.zName = "crashing";
	crashing.szOsFile = real->szOsFile + (int)sizeof(struct crash_file);
	crashing.xOpen = crash_open;
	crashing.xDelete = crash_delete;
	sqlite3_vfs_register(&crashing, 1);
}

/* What a writer does; each returns how many slices were reported as stored, -1: not even a run. */
static int write_run(const struct comm_store_config *c, int slices, size_t n_edges)
{
	struct comm_run_info info = {.estimator = "none",
				     .error_model = &comm_est_hazard.error_model,
				     .start_ns = START};
	struct comm_store *store;
	struct comm_edge *edges;
	char *err = NULL;
	int stored = -1;
	int64_t run;

	if (comm_store_open(c, &store, &err)) {
		free(err);
		return -1;
	}
	edges = calloc(n_edges, sizeof(*edges));
	if (!comm_store_begin_run(store, &info, &run)) {
		stored = 0;
		for (int i = 0; i < slices; i++) {
			fill(edges, n_edges, i);
			if (!write_at(store, i, edges, n_edges))
				stored |= 1 << i;
		}
		comm_store_end_run(store, START + slices * SECOND, "duration");
	}
	comm_store_close(store);
	free(edges);
	return stored;
}

enum { SLICES = 5 };

static int write_new(void)
{
	struct comm_store_config c = config();

	c.rollup_ns = 2 * SECOND;
	return write_run(&c, SLICES, 40);
}

static void make_new(void)
{
}

static void copy_file(const char *from_path, const char *to_path)
{
	char block[65536];
	int from = open(from_path, O_RDONLY);
	int to = open(to_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, n), n);
	close(from);
	close(to);
}

/* The oldest version goes through all migrations. */
static void make_old(void)
{
	copy_file("tests/unit/data/schema1.store", path);
}

/* A full store: old slices are deleted for new ones. */
static void make_full(void)
{
	struct comm_store_config c = config();

	write_run(&c, 30, 1000);
}

static int write_full(void)
{
	struct comm_store_config c = config();

	c.quota_bytes = 1 << 20;
	c.rollup_ns = 2 * SECOND;
	return write_run(&c, SLICES, 1000);
}

/* After a crash: the slices of the last run are those that were stored, and perhaps one more. */
static void check(uint64_t at, int stored)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	char *err = NULL, text[128];
	int there = 0;

	/* The next writer mends what there is to mend. */
	assert_true(write_new() == (1 << SLICES) - 1);
	if (comm_reader_open(path, &reader, &err))
		fail_msg("%s", err);
	assert_int_equal(comm_reader_runs(reader, &runs, NULL), 0);
	comm_runs_free(runs);
	comm_reader_close(reader);
	if (stored < 0)
		return;
	for (int i = 0; i < SLICES; i++) {
		snprintf(text, sizeof(text),
			 "SELECT count(*) FROM slice WHERE level = 0 AND start_ns = %llu"
			 " AND run = (SELECT max(id) - 1 FROM run)",
			 (unsigned long long)(START + i * SECOND));
		there |= (query(text) > 0) << i;
	}
	if (stored & ~there)
		fail_msg("mode %d, write %llu: stored %x, there %x", mode, (unsigned long long)at,
			 stored, there);
}

static bool is_whole(void)
{
	sqlite3_stmt *stmt;
	bool whole;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL),
			 SQLITE_OK);
	whole = sqlite3_step(stmt) == SQLITE_ROW &&
		!strcmp((const char *)sqlite3_column_text(stmt, 0), "ok");
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return whole;
}

static void remove_store(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", "-ballast"};
	char name[160];

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", path, suffixes[i]);
		unlink(name);
	}
}

/* At each step-th write, which are others in each mode. */
static void crash_everywhere(void (*make)(void), int (*writes)(void), uint64_t step)
{
	uint64_t n, n_of[N_PURPOSES] = {0};
	char made[160];

	fails_at = 0;
	make();
	snprintf(made, sizeof(made), "%s/made.db", dir);
	if (!access(path, F_OK))
		copy_file(path, made);
	n_writes = 0;
	assert_true(writes() >= 0);
	n = n_writes;
	assert_true(n < WRITES_MAX);
	for (uint64_t at = 1; at <= n; at++)
		n_of[purpose_at[at]]++;
	for (int i = 0; i < N_PURPOSES; i++) {
		print_message("%llu writes %s\n", (unsigned long long)n_of[i], purposes[i]);
		assert_true(n_of[i] >= 10);
	}
	for (mode = 0; mode < N_MODES; mode++) {
		for (uint64_t at = 1; at <= n; at++) {
			int stored;

			if ((at + mode) % step)
				continue;
			fails_at = 0;
			remove_store();
			if (!access(made, F_OK))
				copy_file(made, path);
			n_writes = 0;
			fails_at = at;
			stored = writes();
			fails_at = 0;
			check(at, stored);
			if (!is_whole())
				fail_msg("mode %d, write %llu", mode, (unsigned long long)at);
		}
	}
}

static void test_new(void **state)
{
	(void)state;
	crash_everywhere(make_new, write_new, 3);
}

static void test_migrated(void **state)
{
	(void)state;
	crash_everywhere(make_old, write_new, 3);
}

static void test_full(void **state)
{
	(void)state;
	crash_everywhere(make_full, write_full, 23);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_new),
		TEST(test_migrated),
		TEST(test_full),
	};

	install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
