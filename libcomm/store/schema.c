// SPDX-License-Identifier: GPL-2.0-or-later
#include "schema.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edge.h"
#include "old_guesses.h"
#include "role.h"
#include "text.h"
#include "uuid.h"

enum { SCHEMA_FOREIGN = 64 };

#define STRING_(x) #x
#define STRING(x) STRING_(x)

/*
 * Times are CLOCK_MONOTONIC nanoseconds.  Sites and functions are known by
 * build-id and file address, so runs and hosts can be compared; threads and
 * objects belong to a run.  A slice of level 0 is what the engine delivered; a
 * slice of level n + 1 sums those of level n that it spans, so a reader takes
 * the widest that fit into its time range.  The slice's own columns are sums
 * too, its edges count all reads, "crossing" those between two threads.
 *
 * A new store goes through all versions as well: there is one way to each.
 */
static const char version_1[] =
	"CREATE TABLE run ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" source TEXT NOT NULL, event TEXT NOT NULL, estimator TEXT NOT NULL,"
	" command TEXT NOT NULL, host TEXT NOT NULL, notes TEXT NOT NULL,"
	" start_ns INTEGER NOT NULL, start_unix_ns INTEGER NOT NULL,"
	" overhead_limit REAL NOT NULL, granularity_bytes INTEGER NOT NULL,"
	" end_ns INTEGER, how TEXT,"
	" deleted_ns INTEGER NOT NULL DEFAULT 0);"
	"CREATE TABLE thread ("
	" run INTEGER NOT NULL, id INTEGER NOT NULL,"
	" tgid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
	" PRIMARY KEY (run, id)) WITHOUT ROWID;"
	"CREATE TABLE function ("
	" id INTEGER PRIMARY KEY,"
	" name TEXT NOT NULL, module TEXT NOT NULL, build_id TEXT NOT NULL,"
	" start INTEGER NOT NULL,"
	" UNIQUE (start, build_id, module, name));"
	"CREATE TABLE site ("
	" id INTEGER PRIMARY KEY,"
	" function INTEGER NOT NULL, inlined TEXT NOT NULL, source TEXT NOT NULL,"
	" line INTEGER NOT NULL, offset INTEGER NOT NULL,"
	" UNIQUE (function, line, source, inlined));"
	"CREATE TABLE object ("
	" run INTEGER NOT NULL, id INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, name TEXT NOT NULL, module TEXT NOT NULL,"
	" build_id TEXT NOT NULL, start INTEGER NOT NULL, size_bytes INTEGER NOT NULL,"
	" thread_tid INTEGER NOT NULL,"
	" PRIMARY KEY (run, id)) WITHOUT ROWID;"
	"CREATE TABLE slice ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" run INTEGER NOT NULL, level INTEGER NOT NULL,"
	" start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
	" samples INTEGER NOT NULL, bursts INTEGER NOT NULL, accesses INTEGER NOT NULL,"
	" handler_ns INTEGER NOT NULL, daemon_ns INTEGER NOT NULL, setup_ns INTEGER NOT NULL,"
	" target_ns INTEGER NOT NULL,"
	" unwritten_bytes REAL NOT NULL, unwritten_first_bytes REAL NOT NULL,"
	" edges INTEGER NOT NULL, bytes REAL NOT NULL, crossing_bytes REAL NOT NULL,"
	" crossing_first_bytes REAL NOT NULL);"
	"CREATE INDEX slice_time ON slice (run, start_ns, level);"
	"CREATE INDEX slice_level ON slice (level, run, start_ns);"
	"CREATE TABLE loss ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL, cause TEXT NOT NULL,"
	" n INTEGER NOT NULL, PRIMARY KEY (run, slice, cause)) WITHOUT ROWID;"
	"CREATE TABLE edge ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL,"
	" src_thread INTEGER NOT NULL, dst_thread INTEGER NOT NULL,"
	" src_site INTEGER NOT NULL, dst_site INTEGER NOT NULL, object INTEGER NOT NULL,"
	" bytes REAL NOT NULL, variance REAL NOT NULL,"
	" first_bytes REAL NOT NULL, first_variance REAL NOT NULL,"
	" bursts INTEGER NOT NULL, level INTEGER NOT NULL,"
	" PRIMARY KEY (run, slice, src_thread, dst_thread, src_site, dst_site, object))"
	" WITHOUT ROWID;"
	"INSERT INTO function VALUES (0, '(other)', '', '', 0), (1, '[kernel]', '', '', 0);"
	"INSERT INTO site VALUES (0, 0, '', '', 0, 0), (1, 1, '', '', 0, 0);";

/*
 * An edge's ends are contexts, where in the program a thread wrote or read: the
 * site, and the marked region and the phase around it, 0 while there are none.
 * Contexts are shared by all runs as sites are.  Each site becomes the context
 * of its own number, so that no edge is touched.
 *
 * Runs have a UUID, by which stores of several hosts can be put together, and
 * the error model of their estimator (error_model.h).  Runs of version 1 get the
 * one model that reports applied to all but exact runs until then.
 *
 * Threads have their role (role.h), and the title that their process gave
 * itself (title.h), "" when it gave none or the thread has a name of its own.  The role is the
 * title's where there is one.
 *
 * A placement is how many of a slice's samples found a thread on a CPU; wider
 * slices hold the sums.
 */
static const char version_2[] =
	"CREATE TABLE context ("
	" id INTEGER PRIMARY KEY,"
	" site INTEGER NOT NULL, region INTEGER NOT NULL, phase INTEGER NOT NULL,"
	" UNIQUE (site, region, phase));"
	"INSERT INTO context SELECT id, id, 0, 0 FROM site;"
	"ALTER TABLE edge RENAME COLUMN src_site TO src_context;"
	"ALTER TABLE edge RENAME COLUMN dst_site TO dst_context;"
	"ALTER TABLE run ADD COLUMN uuid TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE run ADD COLUMN sampled_ends REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN factor_sd REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN confusion_sd REAL NOT NULL DEFAULT 0;"
	"UPDATE run SET uuid = comm_uuid();"
	"UPDATE run SET sampled_ends = 2, factor_sd = 0.3, confusion_sd = 0.175"
	" WHERE estimator <> 'exact';"
	"CREATE UNIQUE INDEX run_uuid ON run (uuid);"
	"CREATE TABLE placement ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL,"
	" thread INTEGER NOT NULL, cpu INTEGER NOT NULL, samples INTEGER NOT NULL,"
	" PRIMARY KEY (run, slice, thread, cpu)) WITHOUT ROWID;"
	"ALTER TABLE thread ADD COLUMN role TEXT NOT NULL DEFAULT '';"
	"ALTER TABLE thread ADD COLUMN title TEXT NOT NULL DEFAULT '';"
	"UPDATE thread SET role = comm_role(name);";

/*
 * Of an edge's bytes, those that are a guess at the writer: it was only seen to write elsewhere in
 * the object.  An older row tells of its deepest level alone: where that is the object, all of it
 * counts as guessed.  crossing_bytes of a slice are without guesses from here on.
 *
 * An object that one process has to itself, a heap or a private variable, is of
 * that process; 0: shared, or not known.
 */
static const char version_3[] =
	"ALTER TABLE edge ADD COLUMN guess_bytes REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN guess_first_bytes REAL NOT NULL DEFAULT 0;"
	"UPDATE edge SET guess_bytes = bytes, guess_first_bytes = first_bytes WHERE level >= 6;"
	"ALTER TABLE object ADD COLUMN tgid INTEGER NOT NULL DEFAULT 0;";

/*
 * An origin is where the loads of a slice's reading end (thread, context, object) found
 * their data, by the name of the place (data_src.h), as precise samples told: so many of
 * them, and the loads that these stand for; timed_loads of which had their latency measured,
 * together timed_cycles.  Wider slices hold the sums.  Older runs have none: where data
 * came from did not leave the source.
 */
static const char version_4[] =
	"CREATE TABLE origin ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL,"
	" thread INTEGER NOT NULL, context INTEGER NOT NULL, object INTEGER NOT NULL,"
	" source TEXT NOT NULL, samples INTEGER NOT NULL, loads REAL NOT NULL,"
	" timed_loads REAL NOT NULL, timed_cycles REAL NOT NULL,"
	" PRIMARY KEY (run, slice, thread, context, object, source)) WITHOUT ROWID;";

/*
 * A marked region is a name within another region, its parent; 0 is none.  The context
 * of an edge's end names the innermost region.
 */
static const char version_5[] = "CREATE TABLE region ("
				" id INTEGER PRIMARY KEY,"
				" name TEXT NOT NULL, parent INTEGER NOT NULL,"
				" UNIQUE (name, parent));"
				"INSERT INTO region VALUES (0, '', 0), (1, '(other)', 0);";

/* A label is what the user calls a run, "" where he does not. */
static const char version_6[] = "ALTER TABLE run ADD COLUMN label TEXT NOT NULL DEFAULT '';";

/* What overhead may take of one CPU in any case, of whatever little time the target uses. */
static const char version_7[] = "ALTER TABLE run ADD COLUMN floor REAL NOT NULL DEFAULT 0;";

/*
 * A count is how much of a counter fell to a thread in a slice, and of the counter "sampled" to
 * a thread within a region (count.h); where enabled_ns is not 0, the counter counted in
 * running_ns of it, and the value is scaled.  Wider slices hold the sums.  Counters are named
 * as their sources name them, for all runs.
 *
 * An edge's age is how long before the read its bytes were written, as age.h packs it; empty:
 * it is not known of any, as in older rows.
 *
 * A run knows which CPUs were on which NUMA node, "0:0-3,8;1:4-7"; '' where that is not known.
 *
 * A cacheline is 64 bytes that threads took from each other in the slice, as bursts met it
 * (cacheline.h); a cacheline_use what a thread did at a context with some bytes of it, named by
 * the datum of their first.  The datum is that of the run: neither an address nor the same in
 * other runs.  Wider slices hold the sums.  Of older runs nothing is known: no offsets were kept.
 *
 * What is read at a context has a type, and a field in it at an offset; 1 where it is not known.
 * So a line that reads several fields is several contexts.
 *
 * A site in an inlined function also names the line that calls it, '' and 0 where that is not
 * known, as of older sites.  The caller of a context is the call in which the site's function was
 * called, 0 where that is not known, as where nobody asked (commd --callers).  A call is a function
 * within the call that it was called in, its parent: 1 where nobody called it, 0 where it is not
 * known who did.
 *
 * A slice of level 2 and wider is dealt out in turn to strands (strand.h): so many parts, those of
 * level 1 in which sampling was enabled for any time.  Its strands are of that time and, if there
 * are any, of unwritten_bytes, those of an edge of its bytes without guesses and, if there are
 * any, of guess_bytes.  0 and empty: in narrower slices, and older ones.
 *
 * An unwritten is what a slice's reading ends (thread, context, object) read of data that was never
 * seen to be written, as unwritten.h packs it: a row for each end would make a store an eighth
 * larger.  Of the slice's unwritten_bytes, what is missing there is of ends that are not known, as
 * all of it is of older slices.  Wider slices hold the sums.
 *
 * What watchpoints saw stands beside what the estimator says (edge.h): of a slice how many reads
 * were watched, and the bytes of those that nobody answered by a write.  0 in older rows.
 *
 * What drawn_variance has was part of an edge's variance in older rows (edge.h).
 */
static const char version_8[] =
	"CREATE TABLE counter (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE count ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL,"
	" thread INTEGER NOT NULL, region INTEGER NOT NULL, counter INTEGER NOT NULL,"
	" value REAL NOT NULL, enabled_ns INTEGER NOT NULL, running_ns INTEGER NOT NULL,"
	" PRIMARY KEY (run, slice, thread, region, counter)) WITHOUT ROWID;"
	"ALTER TABLE edge ADD COLUMN age BLOB NOT NULL DEFAULT x'';"
	"ALTER TABLE edge ADD COLUMN drawn_variance REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN strands BLOB NOT NULL DEFAULT x'';"
	"ALTER TABLE slice ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE slice ADD COLUMN strands BLOB NOT NULL DEFAULT x'';"
	"ALTER TABLE slice ADD COLUMN polled_bytes REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE slice ADD COLUMN watches INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE slice ADD COLUMN unanswered_bytes REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN watched_bytes REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN watched_variance REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE run ADD COLUMN numa TEXT NOT NULL DEFAULT '';"
	"CREATE TABLE cacheline ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL, datum INTEGER NOT NULL,"
	" bursts INTEGER NOT NULL, turns INTEGER NOT NULL,"
	" PRIMARY KEY (run, slice, datum)) WITHOUT ROWID;"
	"CREATE TABLE cacheline_use ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL, datum INTEGER NOT NULL,"
	" thread INTEGER NOT NULL, context INTEGER NOT NULL,"
	" size_bytes INTEGER NOT NULL, writes INTEGER NOT NULL,"
	" object INTEGER NOT NULL, offset INTEGER NOT NULL,"
	" bursts INTEGER NOT NULL, accesses REAL NOT NULL,"
	" PRIMARY KEY (run, slice, datum, thread, context, size_bytes, writes)) WITHOUT ROWID;"
	"CREATE TABLE unwritten ("
	" slice INTEGER PRIMARY KEY, run INTEGER NOT NULL, ends BLOB NOT NULL);"
	"CREATE TABLE type ("
	" id INTEGER PRIMARY KEY,"
	" name TEXT NOT NULL, field TEXT NOT NULL, offset INTEGER NOT NULL,"
	" UNIQUE (name, field, offset));"
	"INSERT INTO type VALUES (0, '(other)', '', 0), (1, '(no type)', '', 0);"
	"CREATE TABLE typed_context ("
	" id INTEGER PRIMARY KEY,"
	" site INTEGER NOT NULL, region INTEGER NOT NULL,"
	" type INTEGER NOT NULL, caller INTEGER NOT NULL,"
	" UNIQUE (site, region, type, caller));"
	"INSERT INTO typed_context SELECT id, site, region, 1, 0 FROM context;"
	"DROP TABLE context;"
	"ALTER TABLE typed_context RENAME TO context;"
	"CREATE TABLE call ("
	" id INTEGER PRIMARY KEY,"
	" function INTEGER NOT NULL, parent INTEGER NOT NULL,"
	" UNIQUE (function, parent));"
	"INSERT INTO call VALUES (0, 0, 0), (1, 0, 1);"
	"CREATE TABLE called_site ("
	" id INTEGER PRIMARY KEY,"
	" function INTEGER NOT NULL, inlined TEXT NOT NULL, source TEXT NOT NULL,"
	" line INTEGER NOT NULL, offset INTEGER NOT NULL,"
	" call_source TEXT NOT NULL, call_line INTEGER NOT NULL,"
	" UNIQUE (function, line, source, inlined, call_line, call_source));"
	"INSERT INTO called_site"
	" SELECT id, function, inlined, source, line, offset, '', 0 FROM site;"
	"DROP TABLE site;"
	"ALTER TABLE called_site RENAME TO site;";

/*
 * How unsure the estimator is of an edge's writer (comm_doubts of edge.h), in thousandths of its
 * bytes without guesses, and by how much an edge errs for that (error_model.h); 0 in older rows
 * and runs, whose edges err by what their readers read else.
 */
static const char version_9[] =
	"ALTER TABLE run ADD COLUMN doubt_sd REAL NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN thread_doubt INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN role_doubt INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN side_doubt INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE edge ADD COLUMN code_doubt INTEGER NOT NULL DEFAULT 0;";

/*
 * The census: what became of words that a slice's reading ends (thread, context, object) read, so
 * many of each class, and the bytes read that they stand for (census.h).  Wider slices hold the
 * sums.  Older runs have none.
 *
 * A written is what a slice's writing ends (thread, context, object) wrote, whoever reads it, as
 * unwritten.h packs it, in as many parts as it takes.  None: nobody counted it, as of runs that
 * sampled, and older ones.  Wider slices hold the sums.
 *
 * A context whose code was still being read when its slice was stored is a row of its own, by its
 * run and site there, and is told what it is once that is known; 0: all others, which say so from
 * the beginning.  So several contexts may say the same, and readers group by what they say.
 */
static const char version_10[] =
	"CREATE TABLE census ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL,"
	" thread INTEGER NOT NULL, context INTEGER NOT NULL, object INTEGER NOT NULL,"
	" class INTEGER NOT NULL, words INTEGER NOT NULL,"
	" bytes REAL NOT NULL, squares REAL NOT NULL,"
	" PRIMARY KEY (run, slice, thread, context, object, class)) WITHOUT ROWID;"
	"CREATE TABLE written ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL, part INTEGER NOT NULL,"
	" ends BLOB NOT NULL, PRIMARY KEY (run, slice, part)) WITHOUT ROWID;"
	"CREATE TABLE told_context ("
	" id INTEGER PRIMARY KEY,"
	" site INTEGER NOT NULL, region INTEGER NOT NULL,"
	" type INTEGER NOT NULL, caller INTEGER NOT NULL,"
	" own INTEGER NOT NULL,"
	" UNIQUE (own, site, region, type, caller));"
	"INSERT INTO told_context"
	" SELECT id, site, region, type, caller, 0 FROM context;"
	"DROP TABLE context;"
	"ALTER TABLE told_context RENAME TO context;";

/*
 * How long the rings of the kernel waited at most for the loop that reads them, beyond its sleep, and the longest that
 * a slice took to be written.  0: not known, as of older runs and of those that have not ended.
 */
static const char version_11[] = "ALTER TABLE run ADD COLUMN stall_ns INTEGER NOT NULL DEFAULT 0;"
				 "ALTER TABLE run ADD COLUMN store_ns INTEGER NOT NULL DEFAULT 0;";

/* What the daemon used of CPUs that were idle; until then daemon_ns had all that it used. */
static const char version_12[] =
	"ALTER TABLE slice ADD COLUMN daemon_idle_ns INTEGER NOT NULL DEFAULT 0;";

/* overhead_limit and floor are the largest that were in force, this is the least limit; 0: there was but one. */
static const char version_13[] =
	"ALTER TABLE run ADD COLUMN overhead_least REAL NOT NULL DEFAULT 0;";

/*
 * There are no guesses any more: what they were about has no known writer, at its reading ends.  Edges that
 * were nothing else go, but for what watchpoints saw; of others the rest stays, with the strands
 * of that.  In place: the store may be as large as it may be.
 */
static const char version_14[] =
	"CREATE TABLE guess (slice INTEGER PRIMARY KEY, run, edges, bytes, first_bytes, strands, "
	"ends);"
	"INSERT OR IGNORE INTO guess SELECT slice, run,"
	" sum(bytes <= guess_bytes AND watched_bytes <= 0), sum(min(guess_bytes, bytes)),"
	" sum(min(guess_first_bytes, first_bytes)), comm_guess_strands(strands, guess_bytes),"
	" comm_guess_ends(dst_thread, dst_context, object, min(guess_bytes, bytes),"
	"  min(guess_first_bytes, first_bytes))"
	" FROM edge WHERE guess_bytes > 0 GROUP BY run, slice;"
	"INSERT OR REPLACE INTO unwritten (slice, run, ends)"
	" SELECT guess.slice, guess.run, comm_join_ends(unwritten.ends, guess.ends)"
	" FROM guess LEFT JOIN unwritten ON unwritten.slice = guess.slice;"
	"UPDATE slice SET edges = slice.edges - guess.edges, bytes = slice.bytes - guess.bytes,"
	" strands = comm_join_strands(slice.strands, unwritten_bytes, guess.strands, guess.bytes),"
	" unwritten_bytes = unwritten_bytes + guess.bytes,"
	" unwritten_first_bytes = unwritten_first_bytes + guess.first_bytes"
	" FROM guess WHERE guess.slice = slice.id AND guess.run = slice.run;"
	"DROP TABLE guess;"
	"DELETE FROM edge WHERE guess_bytes > 0 AND bytes <= guess_bytes AND watched_bytes <= 0;"
	"UPDATE edge SET bytes = bytes - min(guess_bytes, bytes),"
	" first_bytes = first_bytes - min(guess_first_bytes, first_bytes), level = min(level, 5),"
	" strands = CASE WHEN bytes > guess_bytes AND strands <> x''"
	"  THEN substr(strands, 1, 32) ELSE x'' END"
	" WHERE guess_bytes > 0 OR level > 5;"
	"ALTER TABLE edge DROP COLUMN guess_bytes;"
	"ALTER TABLE edge DROP COLUMN guess_first_bytes;";

/*
 * A length is how much of a counter fell to a slice's ends, a thread at a context each, as unwritten.h packs it, with object 0,
 * in as many parts as it takes.  Of runs that sampled it is what samples stand for.  There is none of runs that sampled without --callers, of programs that
 * count by themselves with --function, and of older runs.  Wider slices hold the sums.
 */
static const char version_15[] =
	"CREATE TABLE length ("
	" run INTEGER NOT NULL, slice INTEGER NOT NULL, counter INTEGER NOT NULL,"
	" part INTEGER NOT NULL, ends BLOB NOT NULL,"
	" PRIMARY KEY (run, slice, counter, part)) WITHOUT ROWID;";

/*
 * An edge's dates are when its bytes were written, where that was counted, as dated.h packs them; the rest is of a time
 * not known, unless its age tells.  Wide slices have none.
 */
static const char version_16[] = "ALTER TABLE edge ADD COLUMN dates BLOB NOT NULL DEFAULT x'';";

/* The longest stall but for the time without a CPU, which may be of another stall; 0: not known. */
static const char version_17[] =
	"ALTER TABLE run ADD COLUMN stall_own_ns INTEGER NOT NULL DEFAULT 0;";

_Static_assert(COMM_STRANDS_PACKED == 32 && COMM_LEVEL_OBJECT == 6, "the numbers above");

static const struct {
	int to;
	const char *sql;
} migrations[] = {
	{1, version_1},	  {2, version_2},   {3, version_3},   {4, version_4},	{5, version_5},
	{6, version_6},	  {7, version_7},   {8, version_8},   {9, version_9},	{10, version_10},
	{11, version_11}, {12, version_12}, {13, version_13}, {14, version_14}, {15, version_15},
	{16, version_16}, {17, version_17},
};

_Static_assert(sizeof(migrations) / sizeof(*migrations) == COMM_SCHEMA_VERSION,
	       "each version has its migration");

int comm_schema_probe(int fd, bool *ret_new)
{
	static const char magic[16] = "SQLite format 3";
	unsigned char header[100];
	struct stat st;
	uint32_t id;
	ssize_t n;

	*ret_new = false;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (!st.st_size) {
		*ret_new = true;
		return 0;
	}
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(header) || memcmp(header, magic, sizeof(magic)) != 0)
		return -EMEDIUMTYPE;
	id = (uint32_t)header[68] << 24 | header[69] << 16 | header[70] << 8 | header[71];
	return id == COMM_SCHEMA_APPLICATION_ID ? 0 : -EMEDIUMTYPE;
}

int comm_schema_version(sqlite3 *db, int *ret)
{
	sqlite3_stmt *stmt;
	int version = -1;

	if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		version = sqlite3_column_int(stmt, 0);
	if (sqlite3_finalize(stmt) != SQLITE_OK)
		return comm_schema_errno(db);
	if (version < 0 || version > COMM_SCHEMA_VERSION)
		return -EPROTO;
	*ret = version;
	return 0;
}

static void sql_uuid(sqlite3_context *context, int n, sqlite3_value **args)
{
	char uuid[COMM_UUID_CHARS + 1];
	int err = comm_uuid_make(uuid);

	(void)n;
	(void)args;
	if (err)
		sqlite3_result_error(context, "no random bytes", -1);
	else
		sqlite3_result_text(context, uuid, -1, SQLITE_TRANSIENT);
}

static void sql_role(sqlite3_context *context, int n, sqlite3_value **args)
{
	const char *name = (const char *)sqlite3_value_text(args[0]);
	char role[COMM_ROLE_BYTES];

	(void)n;
	comm_role_of(name ? name : "", role);
	sqlite3_result_text(context, role, -1, SQLITE_TRANSIENT);
}

/* Registers the SQL functions that the migrations call. */
static int add_functions(sqlite3 *db)
{
	if (sqlite3_create_function(db, "comm_uuid", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
				    sql_uuid, NULL, NULL) == SQLITE_OK &&
	    sqlite3_create_function(db, "comm_role", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
				    sql_role, NULL, NULL) == SQLITE_OK)
		return comm_old_guesses_init(db);
	return comm_schema_errno(db);
}

static int migrate_one(sqlite3 *db, size_t i)
{
	char pragma[64];
	int err;

	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", migrations[i].to);
	if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, migrations[i].sql, NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, "PRAGMA application_id = " STRING(0x636f6d6d), NULL, NULL, NULL) ==
		    SQLITE_OK &&
	    sqlite3_exec(db, pragma, NULL, NULL, NULL) == SQLITE_OK &&
	    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	err = comm_schema_errno(db);
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

static int migrate(sqlite3 *db, int from, int to)
{
	int err = add_functions(db);

	for (int i = from; !err && i < to; i++)
		err = migrate_one(db, i);
	return err;
}

#define SCHEMA_ROWS "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name, type"

enum { SCHEMA_COLUMNS = 4 };

static const char *column(sqlite3_stmt *stmt, int i)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	return text ? text : "";
}

/* By name and type, as the rows are ordered. */
static int order(sqlite3_stmt *a, sqlite3_stmt *b)
{
	int name = strcmp(column(a, 1), column(b, 1));

	return name ? name : strcmp(column(a, 0), column(b, 0));
}

/* Steps through both schemas at once. */
static int compare(sqlite3_stmt *has, sqlite3_stmt *wants, char foreign[SCHEMA_FOREIGN])
{
	int has_rc = sqlite3_step(has), wants_rc = sqlite3_step(wants);
	bool is_missing = false;

	while (has_rc == SQLITE_ROW || wants_rc == SQLITE_ROW) {
		int at = has_rc != SQLITE_ROW ? 1 : wants_rc != SQLITE_ROW ? -1 : order(has, wants);

		for (int i = 0; i < SCHEMA_COLUMNS && !at; i++)
			if (strcmp(column(has, i), column(wants, i)) != 0)
				at = -1;
		if (at < 0) {
			snprintf(foreign, SCHEMA_FOREIGN, "%s %s", column(has, 0), column(has, 1));
			return -EMEDIUMTYPE;
		}
		is_missing |= at > 0;
		if (!at)
			has_rc = sqlite3_step(has);
		wants_rc = sqlite3_step(wants);
	}
	if (has_rc != SQLITE_DONE)
		return comm_schema_errno(sqlite3_db_handle(has));
	return is_missing ? -EUCLEAN : 0;
}

/* An empty store of that version, in memory. */
static int make_model(int version, sqlite3 **ret)
{
	sqlite3 *model;
	int err = sqlite3_open(":memory:", &model) == SQLITE_OK ? migrate(model, 0, version)
								: -ENOMEM;

	if (err)
		sqlite3_close(model);
	else
		*ret = model;
	return err;
}

static int compare_to(sqlite3 *model, sqlite3 *db, char foreign[SCHEMA_FOREIGN])
{
	sqlite3_stmt *has = NULL, *wants = NULL;
	int err = 0;

	if (sqlite3_prepare_v2(model, SCHEMA_ROWS, -1, &wants, NULL) != SQLITE_OK)
		err = comm_schema_errno(model);
	if (!err && sqlite3_prepare_v2(db, SCHEMA_ROWS, -1, &has, NULL) != SQLITE_OK)
		err = comm_schema_errno(db);
	if (!err)
		err = compare(has, wants, foreign);
	sqlite3_finalize(has);
	sqlite3_finalize(wants);
	return err;
}

/*
 * The model of today's version is made once: all migrations take several times as long as a
 * report on a small store.  Threads may open readers at once.
 */
static int check_today(sqlite3 *db, char foreign[SCHEMA_FOREIGN])
{
	static sqlite3 *model;
	sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
	int err = 0;

	sqlite3_mutex_enter(mutex);
	if (!model)
		err = make_model(COMM_SCHEMA_VERSION, &model);
	if (!err)
		err = compare_to(model, db, foreign);
	sqlite3_mutex_leave(mutex);
	return err;
}

static int check(sqlite3 *db, int version, char foreign[SCHEMA_FOREIGN])
{
	sqlite3 *model;
	int err;

	if (version == COMM_SCHEMA_VERSION)
		return check_today(db, foreign);
	err = make_model(version, &model);
	if (err)
		return err;
	err = compare_to(model, db, foreign);
	sqlite3_close(model);
	return err;
}

int comm_schema_check(sqlite3 *db, int version)
{
	char foreign[SCHEMA_FOREIGN];

	return check(db, version, foreign);
}

/* What the store has that no store has: "view edge"; "": nothing. */
static void find_foreign(sqlite3 *db, char foreign[SCHEMA_FOREIGN])
{
	char name[SCHEMA_FOREIGN];
	int version = 0;

	if (comm_schema_version(db, &version) || check(db, version, foreign) != -EMEDIUMTYPE)
		*foreign = '\0';
	memcpy(name, foreign, sizeof(name));
	comm_text_clean(name, sizeof(name), foreign, SCHEMA_FOREIGN);
}

int comm_schema_migrate(sqlite3 *db, int to)
{
	int version = 0, err;

	err = comm_schema_version(db, &version);
	return err ? err : migrate(db, version, to);
}

int comm_schema_errno(sqlite3 *db)
{
	int system = sqlite3_system_errno(db);

	switch (sqlite3_extended_errcode(db)) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	/* The shared index of the WAL could not grow: a full disk as well. */
	case SQLITE_IOERR_SHMSIZE:
		return -ENOSPC;
	/* What a writer that was killed has begun can be taken back by a writer alone. */
	case SQLITE_READONLY_ROLLBACK:
		return -EINPROGRESS;
	}
	/* Databases are opened so that sqlite3_errcode() gives the extended codes, too. */
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_FORMAT:
	/* A table of the schema is missing: the file is damaged. */
	case SQLITE_ERROR:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
	/* More work than an honest store can make (guard.h). */
	case SQLITE_INTERRUPT:
		return -EUCLEAN;
	case SQLITE_CANTOPEN:
		return system ? -system : -EACCES;
	case SQLITE_IOERR:
		return system == ENOSPC || system == EDQUOT ? -ENOSPC : -EIO;
	default:
		return -EIO;
	}
}

char *comm_schema_sentence(const char *path, int err, sqlite3 *db)
{
	char foreign[SCHEMA_FOREIGN] = "", *ret = NULL;
	const char *why;

	if (db && err == -EMEDIUMTYPE)
		find_foreign(db, foreign);
	if (*foreign) {
		if (asprintf(&ret,
			     "cannot use the store %s: it holds what is not a store's (%s); "
			     "take that out, or name another file",
			     path, foreign) < 0)
			return NULL;
		return ret;
	}
	switch (err) {
	case -ENOENT:
		why = "there is no such file";
		break;
	case -ENOTDIR:
		why = "a part of the path before the last is no directory";
		break;
	case -EISDIR:
		why = "it is a directory; name a file in it";
		break;
	case -EMEDIUMTYPE:
		why = "it is not a commprof store, and is left as it is; name another file";
		break;
	case -EPROTO:
		why = "it was written by a newer version of commprof; use that version";
		break;
	case -EUCLEAN:
		why = "it is damaged; \"commctl salvage\" may save a part of it";
		break;
	case -ELOOP:
		why = "it is a symbolic link; name the file that it leads to";
		break;
	case -EMLINK:
		why = "it has several names (hard links), and only one can be written to; "
		      "copy it";
		break;
	case -EREMOTE:
		why = "another user made it, in a directory where anyone may make files; name "
		      "another file";
		break;
	case -EROFS:
		why = "it, its directory or the file system is read-only";
		break;
	case -EACCES:
	case -EPERM:
		why = "permission denied for the file or its directory";
		break;
	case -EINPROGRESS:
		why = "a change of it was cut off; commd --store takes that back";
		break;
	case -ENOSPC:
	case -EDQUOT:
		why = "the disk or the quota is full";
		break;
	case -EBUSY:
		why = "another program has locked it; end that, or try again";
		break;
	case -ENOMEM:
		why = "out of memory";
		break;
	default:
		why = db && sqlite3_errcode(db) ? sqlite3_errmsg(db) : strerror(-err);
	}
	if (asprintf(&ret, "cannot use the store %s: %s", path, why) < 0)
		return NULL;
	return ret;
}
