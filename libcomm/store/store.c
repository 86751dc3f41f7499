// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sqlite3.h>

#include "ballast.h"
#include "clock.h"
#include "dictionary.h"
#include "guard.h"
#include "reader_lock.h"
#include "rollup.h"
#include "rows.h"
#include "run_budget.h"
#include "schema.h"
#include "store_file.h"
#include "stored_slice.h"
#include "uuid.h"

enum {
	STORE_DISK_LOW_BYTES = 8 << 20,
	STORE_BUSY_MS = 2000,
	/* Half of the reserve, or a full disk would leave too much in the log. */
	STORE_CHECKPOINT_PAGES = 256,
	STORE_PAGES_MAX = 0x7ffffffe,
	/* Attempts to make room for a slice: at most 15 times its edges are deleted for it. */
	STORE_ATTEMPTS = 5,
	/* A smaller quota has no room for a slice beside the schema. */
	STORE_QUOTA_MIN_BYTES = 1 << 20,
	STORE_KEPT_MAX = 32,
	/* While readers keep the log, it may take so much, or this part of the quota. */
	STORE_LOG_BYTES = 64 << 20,
	STORE_LOG_OF_QUOTA = 4,
};

struct comm_store {
	sqlite3 *db;
	struct comm_guard guard;
	char *path; /* as the user names it */
	struct comm_store_file file;
	int lost; /* what was done to the file, see comm_store_lost() */
	uint32_t row_cap;
	int64_t run; /* 0: none */
	struct comm_rows rows;
	struct comm_dictionary dict;
	struct comm_rollup rollup;
	struct comm_stored_slice slice;
	/* Slices that hold nothing but numbers and are not written yet. */
	struct comm_slice_info kept[STORE_KEPT_MAX];
	size_t n_kept;
	uint64_t empty_ns;
	uint64_t quota_bytes;
	struct comm_ballast ballast;
	bool is_capped;		      /* the disk was full: the file grows no more */
	int log_pages, log_pages_max; /* in the log that are not in the file yet */
	int missed;		      /* see comm_store_missed() */
	pid_t reader;
	uint64_t longest_ns, stall_ns, stall_own_ns; /* of the run */
	struct comm_run_budget budget;		     /* likewise */
};

static int exec(struct comm_store *store, const char *sql)
{
	if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return comm_schema_errno(store->db);
}

static bool beside(const struct comm_store *store, const char *suffix, char name[PATH_MAX])
{
	return snprintf(name, PATH_MAX, "%s%s", store->file.name, suffix) < PATH_MAX;
}

/* SQLite ignores the reserved bytes: they follow the last valid frame of the log. */
static void reserve_log(struct comm_store *store)
{
	char name[PATH_MAX];

	int fd;

	if (!beside(store, "-wal", name))
		return;
	fd = open(name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	comm_ballast_reserve(fd);
	if (fd >= 0)
		close(fd);
}

/*
 * Moves of the log what no reader keeps there into the file, and waits for none: once all of it is
 * moved and read, it is written from its start again.  Whether there was space for it.
 */
static bool checkpoint(struct comm_store *store)
{
	int pages = 0, moved = 0, code;

	code = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages,
					 &moved);
	store->log_pages = code == SQLITE_OK && moved >= pages ? 0 : pages;
	return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY;
}

/* SQLite's own way, which knows no limit: after each transaction that leaves so much in the log. */
static int committed(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct comm_store *store = ctx;

	(void)db;
	(void)name;
	store->log_pages = pages;
	if (pages >= STORE_CHECKPOINT_PAGES)
		checkpoint(store);
	return SQLITE_OK;
}

/* A reader that goes on and on keeps the log from being written from its start again. */
static bool is_log_full(struct comm_store *store)
{
	if (store->log_pages >= store->log_pages_max)
		checkpoint(store);
	return store->log_pages >= store->log_pages_max;
}

static int64_t pages(struct comm_store *store)
{
	sqlite3_stmt *stmt;
	int64_t n = 0;

	if (sqlite3_prepare_v2(store->db, "PRAGMA page_count", -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

static int limit_pages(struct comm_store *store, int64_t n)
{
	char text[64];

	snprintf(text, sizeof(text), "PRAGMA max_page_count = %lld", (long long)n);
	return exec(store, text);
}

static int set_quota(struct comm_store *store)
{
	uint64_t bytes = store->quota_bytes ? store->quota_bytes : INT64_MAX;
	uint64_t log_bytes = bytes / STORE_LOG_OF_QUOTA;
	uint64_t n;

	n = (log_bytes > STORE_LOG_BYTES ? log_bytes : STORE_LOG_BYTES) / COMM_SCHEMA_PAGE_BYTES;
	store->log_pages_max = n < INT_MAX ? (int)n : INT_MAX;

	if (bytes < STORE_QUOTA_MIN_BYTES)
		bytes = STORE_QUOTA_MIN_BYTES;
	n = bytes / COMM_SCHEMA_PAGE_BYTES;
	return limit_pages(store, n < STORE_PAGES_MAX ? n : STORE_PAGES_MAX);
}

/* A task writes one slice at most, and the wide ones that it completes. */
static void begin_task(struct comm_store *store)
{
	comm_guard_begin(&store->guard, store->file.name,
			 store->row_cap * (1ull + COMM_ROLLUP_LEVELS * COMM_ROLLUP_KEEP));
}

static int open_db(struct comm_store *store, const struct comm_store_config *config, bool is_new)
{
	char sql[64];
	int version, err;

	if (sqlite3_open_v2(store->file.name, &store->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
				    SQLITE_OPEN_NOFOLLOW,
			    comm_guard_vfs()) != SQLITE_OK)
		return store->db ? comm_schema_errno(store->db) : -ENOMEM;
	/* Without the right to write, SQLite opens a file read-only and gives no error. */
	if (sqlite3_db_readonly(store->db, "main") == 1)
		return access(store->file.name, W_OK) < 0 ? -errno : -EROFS;
	sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
	comm_guard_init(&store->guard, store->db);
	begin_task(store);
	snprintf(sql, sizeof(sql), "PRAGMA page_size = %d", COMM_SCHEMA_PAGE_BYTES);
	err = is_new ? exec(store, sql) : 0;
	/*
	 * The tables are made before the WAL, so that the header that marks
	 * the file as ours stands in the file itself.
	 */
	if (!err)
		err = exec(store, "PRAGMA temp_store = MEMORY");
	if (!err)
		err = comm_schema_version(store->db, &version);
	if (!err)
		err = comm_schema_check(store->db, version);
	if (!err)
		err = comm_schema_migrate(store->db, COMM_SCHEMA_VERSION);
	if (!err)
		err = exec(store, "PRAGMA journal_mode = WAL");
	if (!err)
		err = exec(store, "PRAGMA synchronous = NORMAL");
	if (!err)
		err = exec(store, "PRAGMA cell_size_check = ON");
	/* A log that had to grow goes back to what is reserved for it. */
	snprintf(sql, sizeof(sql), "PRAGMA journal_size_limit = %d", COMM_BALLAST_BYTES);
	if (!err)
		err = exec(store, sql);
	if (!err)
		sqlite3_wal_hook(store->db, committed, store);
	/* Cheap checks that find most damage; a full check takes minutes. */
	if (!err)
		err = exec(store, "SELECT max(id) FROM run; SELECT max(id) FROM slice;"
				  "SELECT max(id) FROM site; SELECT max(id) FROM function;"
				  "SELECT max(id) FROM context; SELECT max(id) FROM region; SELECT "
				  "max(id) FROM type;"
				  "SELECT slice FROM edge ORDER BY run DESC LIMIT 1");
	if (!err)
		err = set_quota(store);
	if (!err)
		err = comm_rows_init(&store->rows, store->db);
	if (!err)
		err = comm_dictionary_init(&store->dict, store->db);
	if (!err)
		err = comm_rollup_init(&store->rollup, store->db, config);
	return err;
}

static char *sentence(const struct comm_store *store, int err, pid_t holder)
{
	char *ret;

	if (err == -EBUSY && holder) {
		if (asprintf(&ret,
			     "cannot use the store %s: process %d is writing to it; "
			     "stop that, or name another file",
			     store->path, holder) < 0)
			ret = NULL;
		return ret;
	}
	if (err == -ENOENT) {
		if (asprintf(&ret, "cannot make the store %s: its directory does not exist",
			     store->path) < 0)
			ret = NULL;
		return ret;
	}
	return comm_schema_sentence(store->path, err, store->db);
}

int comm_store_open(const struct comm_store_config *config, struct comm_store **ret, char **err_ret)
{
	struct comm_store *store = calloc(1, sizeof(*store));
	pid_t holder = 0;
	bool is_new;
	int err;

	*err_ret = NULL;
	if (!store)
		return -ENOMEM;
	store->file.fd = store->file.index_fd = store->ballast.fd = -1;
	store->quota_bytes = config->quota_bytes;
	store->empty_ns = config->empty_ns;
	store->row_cap = config->row_cap ? config->row_cap : UINT32_MAX / 64;
	store->path = strdup(config->path);
	err = store->path ? comm_store_file_open(store->path, &store->file, &holder) : -ENOMEM;
	if (!err && !store->file.is_owned && comm_ballast_is_held(store->file.name, &holder))
		err = -EBUSY;
	if (!err)
		err = comm_schema_probe(store->file.fd, &is_new);
	if (!err)
		err = open_db(store, config, is_new);
	if (err) {
		if (store->path)
			*err_ret = sentence(store, err, holder);
		comm_store_close(store);
		return err;
	}
	store->rollup.row_cap = store->row_cap;
	comm_ballast_load(&store->ballast, store->file.name);
	*ret = store;
	return 0;
}

/*
 * The file is not the one any more that others find by its name.  One that was moved gets
 * what the log has, which stays behind with the old name.  One that was cut gets nothing: its
 * pages would go to where others are missing, and the log may be all that can be saved.
 */
static void leave(struct comm_store *store)
{
	static const char *const left[] = {"-wal", "-shm"};
	char name[PATH_MAX];
	struct stat st;

	if (store->lost == -ENODATA) {
		sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
		return;
	}
	sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	/* Another store may have the name by now, and a log of its own. */
	for (size_t i = 0; i < sizeof(left) / sizeof(*left) && lstat(store->file.name, &st) < 0;
	     i++)
		if (beside(store, left[i], name))
			comm_ballast_remove_file(name);
}

void comm_store_close(struct comm_store *store)
{
	bool was_opened;

	if (!store)
		return;
	was_opened = store->rollup.db;
	comm_dictionary_deinit(&store->dict);
	comm_rollup_deinit(&store->rollup);
	comm_rows_deinit(&store->rows);
	comm_stored_slice_deinit(&store->slice);
	comm_ballast_remove(&store->ballast, store->file.name);
	if (store->lost) {
		leave(store);
	} else if (was_opened) {
		/*
		 * A reader without the right to write cannot open a WAL database whose
		 * log is gone, so a closed store has a plain journal.  With readers
		 * connected the change of journal fails, which leaves the log that they need.
		 * The change itself is one page; its own journal would be a file, which cannot be made
		 * at the end of a run, and what is lost without one is shown by test_crash.
		 */
		sqlite3_busy_timeout(store->db, 0);
		sqlite3_exec(store->db, "PRAGMA journal_mode = MEMORY", NULL, NULL, NULL);
	}
	sqlite3_close(store->db);
	comm_store_file_close(&store->file);
	free(store->path);
	free(store);
}

static void roll_back(struct comm_store *store)
{
	if (!sqlite3_get_autocommit(store->db))
		sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	comm_dictionary_forget(&store->dict);
}

static bool is_disk_low(const struct comm_store *store)
{
	struct statvfs fs;

	return fstatvfs(store->file.fd, &fs) < 0 ||
	       (uint64_t)fs.f_bavail * fs.f_frsize < STORE_DISK_LOW_BYTES;
}

/*
 * The quota or the disk is full.  Under a quota deleting old rows is enough.
 * On a full disk three things are needed besides: the log's own space, which
 * was reserved when the run began; the ballast, for pages that are in the log
 * but have no place in the file yet; and a file that grows no more, or the log
 * fills with pages that have no place again.
 */
static bool make_room(void *ctx, int attempt, int64_t want)
{
	struct comm_store *store = ctx;
	bool checked = checkpoint(store);
	int64_t dropped;

	begin_task(store);
	if ((!checked || is_disk_low(store)) && !store->is_capped) {
		comm_ballast_drop(&store->ballast);
		checkpoint(store);
		store->is_capped = !limit_pages(store, pages(store));
	}
	if (attempt == 0)
		return true;
	dropped = comm_rollup_make_room(&store->rollup, want);
	checkpoint(store);
	/* Old sites and functions stay: they are few, and other runs use them. */
	return dropped > 0;
}

/* The disk has room again after it was full. */
static void lift_cap(struct comm_store *store)
{
	if (!store->is_capped || is_disk_low(store))
		return;
	store->is_capped = set_quota(store) != 0;
	reserve_log(store);
	comm_ballast_load(&store->ballast, store->file.name);
}

typedef int transaction_fn(struct comm_store *store, void *ctx);

/* Runs fn in a transaction; when space was lacking, makes room and tries again. */
static int transact(struct comm_store *store, int64_t want, transaction_fn *fn, void *ctx)
{
	int err = 0;

	for (int i = 0; i < STORE_ATTEMPTS; i++) {
		begin_task(store);
		err = exec(store, "BEGIN IMMEDIATE");
		if (!err)
			err = fn(store, ctx);
		if (!err)
			err = exec(store, "COMMIT");
		if (!err)
			return 0;
		roll_back(store);
		if (err != -ENOSPC || !make_room(store, i, want << i))
			break;
	}
	return err;
}

struct begin {
	const struct comm_run_info *info;
	int64_t run;
};

static const char *text(const char *s)
{
	return s ? s : "";
}

static int begin_run(struct comm_store *store, void *ctx)
{
	struct begin *begin = ctx;
	const struct comm_run_info *info = begin->info;
	const char *const texts[] = {text(info->source),  text(info->event), text(info->estimator),
				     text(info->command), text(info->host),  text(info->notes)};
	const struct comm_error_model *model = info->error_model;
	char uuid[COMM_UUID_CHARS + 1];
	sqlite3_stmt *stmt;
	int err = comm_uuid_make(uuid);

	if (err)
		return err;
	if (sqlite3_prepare_v2(
		    store->db,
		    "INSERT INTO run (source, event, estimator, command, host, notes,"
		    " start_ns, start_unix_ns, overhead_limit, granularity_bytes, uuid,"
		    " sampled_ends, factor_sd, confusion_sd, label, floor, numa, doubt_sd)"
		    " VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
		    -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(store->db);
	for (int i = 0; i < 6; i++)
		sqlite3_bind_text(stmt, i + 1, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 7, info->start_ns);
	sqlite3_bind_int64(stmt, 8, info->start_unix_ns);
	sqlite3_bind_double(stmt, 9, isfinite(info->overhead_limit) ? info->overhead_limit : 0);
	sqlite3_bind_int64(stmt, 10, info->granularity_bytes);
	sqlite3_bind_text(stmt, 11, uuid, -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 12, model->sampled_ends);
	sqlite3_bind_double(stmt, 13, model->factor_sd);
	sqlite3_bind_double(stmt, 14, model->confusion_sd);
	sqlite3_bind_text(stmt, 15, text(info->label), -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 16, isfinite(info->floor) ? info->floor : 0);
	sqlite3_bind_text(stmt, 17, text(info->numa), -1, SQLITE_STATIC);
	sqlite3_bind_double(stmt, 18, model->doubt_sd);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(store->db);
	sqlite3_finalize(stmt);
	begin->run = sqlite3_last_insert_rowid(store->db);
	return err;
}

int comm_store_begin_run(struct comm_store *store, const struct comm_run_info *info,
			 int64_t *ret_run)
{
	struct begin begin = {.info = info};
	int err;

	if (!info->error_model)
		return -EINVAL;
	err = transact(store, 1, begin_run, &begin);
	if (err)
		return err;
	store->run = begin.run;
	store->n_kept = 0;
	store->longest_ns = store->stall_ns = store->stall_own_ns = 0;
	comm_run_budget_begin(&store->budget, info->overhead_limit, info->floor);
	comm_dictionary_begin(&store->dict, begin.run);
	comm_rollup_begin(&store->rollup, begin.run, info->start_ns);
	store->rollup.make_room = make_room;
	store->rollup.ctx = store;
	reserve_log(store);
	if (!store->ballast.is_loaded)
		comm_ballast_load(&store->ballast, store->file.name);
	/* From here on who calls has samples to look after, and waits for nobody's lock. */
	sqlite3_busy_timeout(store->db, 0);
	*ret_run = begin.run;
	return 0;
}

static int look_at_file(struct comm_store *store)
{
	if (!store->lost)
		store->lost = comm_store_file_check(&store->file);
	return store->lost;
}

int comm_store_lost(const struct comm_store *store)
{
	return store->lost;
}

/* Of several causes the first is told. */
static void note_missed(struct comm_store *store, int err)
{
	if (store->missed)
		return;
	store->missed = err == -ENOSPC && !is_disk_low(store) ? -EDQUOT : err;
	if (err == -EBUSY && comm_store_file_index(&store->file) >= 0)
		store->reader = comm_reader_lock_holder(store->file.index_fd);
}

int comm_store_missed(const struct comm_store *store, pid_t *ret_reader)
{
	*ret_reader = store->reader;
	return store->missed;
}

struct slice {
	const struct comm_slice_info *info;
	const struct comm_edge *edges;
	size_t n;
	const struct comm_naming *naming;
};

static int put_kept(struct comm_store *store, void *ctx)
{
	int err = 0;

	(void)ctx;
	for (size_t i = 0; i < store->n_kept && !err; i++)
		err = comm_rows_put(&store->rows, store->run, 0, &store->kept[i], NULL, 0, NULL);
	return err;
}

static int write_slice(struct comm_store *store, void *ctx)
{
	const struct slice *slice = ctx;
	struct comm_stored_slice *stored = &store->slice;
	int err = put_kept(store, NULL);

	if (!err)
		err = comm_run_budget_put(&store->budget, store->db, store->run);
	if (!err)
		err = comm_stored_slice_make(stored, &store->dict, slice->naming, store->row_cap,
					     slice->info, slice->edges, slice->n);
	return err ? err
		   : comm_rows_put(&store->rows, store->run, 0, &stored->info, stored->cells.edge,
				   stored->cells.n, NULL);
}

static bool is_empty(const struct comm_slice_info *info, size_t n_edges)
{
	return !n_edges && !info->samples && !info->n_placements && !info->n_origins &&
	       !info->n_counts && !info->n_census && !info->unwritten.n_ends &&
	       !info->written.n_ends && !info->lengths.n_ends && !(info->unwritten.bytes > 0) &&
	       !(info->watched.unanswered_bytes > 0) &&
	       (!info->cachelines || (!info->cachelines->n_lines && !info->cachelines->n_uses));
}

/* May the slice wait for the next, and those before it on? */
static bool may_keep(const struct comm_store *store, const struct comm_slice_info *info)
{
	uint64_t start_ns = store->n_kept ? store->kept[0].start_ns : info->start_ns;

	return store->n_kept < STORE_KEPT_MAX && info->end_ns > start_ns &&
	       info->end_ns - start_ns < store->empty_ns;
}

static void keep(struct comm_store *store, const struct comm_slice_info *info)
{
	struct comm_slice_info *kept = &store->kept[store->n_kept++];

	*kept = *info;
	kept->placement = NULL;
	kept->origin = NULL;
	kept->count = NULL;
	kept->counter = NULL;
	kept->n_counters = 0;
	kept->cachelines = NULL;
	kept->census = NULL;
	kept->unwritten.end = kept->written.end = kept->lengths.end = NULL;
}

/* Slices that were written are safe; a wide slice that cannot be written costs readers time, not data. */
static void roll_up(struct comm_store *store, const struct comm_slice_info *info,
		    const struct comm_edge *edges, size_t n_edges)
{
	begin_task(store);
	(void)comm_rollup_add(&store->rollup, info, edges, n_edges);
}

static void roll_up_kept(struct comm_store *store)
{
	for (size_t i = 0; i < store->n_kept; i++)
		roll_up(store, &store->kept[i], NULL, 0);
	store->n_kept = 0;
}

static int store_slice(struct comm_store *store, const struct slice *slice)
{
	int err;

	if (look_at_file(store) == -ENODATA)
		return -ENODATA;
	err = is_log_full(store) ? -EBUSY
				 : transact(store, (int64_t)(slice->n + store->n_kept) + 1,
					    write_slice, (void *)slice);
	if (err) {
		note_missed(store, err);
		return err;
	}
	store->budget.is_new = false;
	roll_up_kept(store);
	roll_up(store, &store->slice.info, store->slice.cells.edge, store->slice.cells.n);
	lift_cap(store);
	return 0;
}

int comm_store_write_slice(struct comm_store *store, const struct comm_slice_info *info,
			   const struct comm_edge *edges, size_t n_edges,
			   const struct comm_naming *naming)
{
	const struct slice slice = {.info = info, .edges = edges, .n = n_edges, .naming = naming};
	uint64_t began_ns = comm_clock_now_ns(), took_ns;
	int err;

	if (!store->run)
		return -EINVAL;
	/* Whatever becomes of the slice: they may not be told again. */
	err = comm_dictionary_note(&store->dict, naming);
	if (err)
		return err;
	comm_run_budget_add(&store->budget, &info->budgets);
	if (is_empty(info, n_edges) && may_keep(store, info)) {
		keep(store, info);
		return 1;
	}
	err = store_slice(store, &slice);
	took_ns = comm_clock_now_ns() - began_ns;
	if (took_ns > store->longest_ns)
		store->longest_ns = took_ns;
	return err;
}

uint64_t comm_store_longest_ns(const struct comm_store *store)
{
	return store->longest_ns;
}

void comm_store_tell_stall(struct comm_store *store, uint64_t stall_ns, uint64_t own_ns)
{
	store->stall_ns = stall_ns;
	store->stall_own_ns = own_ns;
}

struct finish {
	uint64_t end_ns;
	const char *how;
};

static int end_run(struct comm_store *store, void *ctx)
{
	const struct finish *finish = ctx;
	sqlite3_stmt *stmt;
	int err = comm_run_budget_put(&store->budget, store->db, store->run);

	if (err)
		return err;
	if (sqlite3_prepare_v2(store->db,
			       "UPDATE run SET end_ns = ?2, how = ?3, stall_ns = ?4,"
			       " store_ns = ?5, stall_own_ns = ?6 WHERE id = ?1",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(store->db);
	sqlite3_bind_int64(stmt, 1, store->run);
	sqlite3_bind_int64(stmt, 2, finish->end_ns);
	sqlite3_bind_text(stmt, 3, text(finish->how), -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 4, (int64_t)store->stall_ns);
	sqlite3_bind_int64(stmt, 5, (int64_t)store->longest_ns);
	sqlite3_bind_int64(stmt, 6, (int64_t)store->stall_own_ns);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(store->db);
	sqlite3_finalize(stmt);
	return err;
}

int comm_store_end_run(struct comm_store *store, uint64_t end_ns, const char *how)
{
	struct finish finish = {end_ns, how};
	int err;

	if (!store->run)
		return -EINVAL;
	if (look_at_file(store) == -ENODATA)
		return -ENODATA;
	sqlite3_busy_timeout(store->db, STORE_BUSY_MS);
	if (store->n_kept && !transact(store, (int64_t)store->n_kept, put_kept, NULL))
		roll_up_kept(store);
	begin_task(store);
	comm_rollup_finish(&store->rollup);
	err = transact(store, 1, end_run, &finish);
	if (!err)
		store->run = 0;
	return err;
}

int comm_store_forget_run(struct comm_store *store)
{
	int64_t run = store->run;

	if (!run)
		return -EINVAL;
	if (look_at_file(store) == -ENODATA)
		return -ENODATA;
	store->run = 0;
	return comm_store_delete_run(store, run);
}

bool comm_store_is_label(const char *label)
{
	size_t len = strlen(label);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)label[i] < 0x20 || label[i] == 0x7f)
			return false;
	return len <= COMM_LABEL_BYTES && *label != '-' &&
	       (!len || label[strspn(label, "0123456789")]);
}

struct label {
	int64_t run;
	const char *text;
};

static int label_run(struct comm_store *store, void *ctx)
{
	const struct label *label = ctx;
	sqlite3_stmt *stmt;
	int err = 0;

	if (sqlite3_prepare_v2(store->db, "UPDATE run SET label = ?2 WHERE id = ?1", -1, &stmt,
			       NULL) != SQLITE_OK)
		return comm_schema_errno(store->db);
	sqlite3_bind_int64(stmt, 1, label->run);
	sqlite3_bind_text(stmt, 2, label->text, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) != SQLITE_DONE)
		err = comm_schema_errno(store->db);
	else if (!sqlite3_changes(store->db))
		err = -ENODATA;
	sqlite3_finalize(stmt);
	return err;
}

int comm_store_label_run(struct comm_store *store, int64_t run, const char *text)
{
	struct label label = {run, text};

	return comm_store_is_label(text) ? transact(store, 1, label_run, &label) : -EINVAL;
}

int comm_store_delete_run(struct comm_store *store, int64_t run)
{
	begin_task(store);
	return comm_rollup_drop_run(&store->rollup, run);
}
