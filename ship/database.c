// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --to postgresql://...: a batch is copied into a table of the connection, and commprof.take_batch() of schema.sql puts it
 * where it belongs and moves the run's mark, in one transaction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "connection.h"
#include "schema_text.h"
#include "sink.h"

enum {
	CLOCK_OFF_S = 60, /* a host whose clock is off by more is told of */
	/* As commprof.add_day() has it. */
	FIRST_S = 946684800, /* 2000-01-01 */
	AHEAD_S = 365 * 86400,
};

struct ship_sink {
	struct ship_connection connection;
	double clock_ahead_s;
	int64_t day; /* since 1970, whose partitions are there; INT64_MIN: none */
};

/* Not to_regclass(): that keeps what it has not found, though another made it while this waited. */
static const char has_schema[] =
	"SELECT 1 FROM pg_tables WHERE schemaname = 'commprof' AND tablename = 'version'";

/* *ret: of the tables that are there; 0: there are none. */
static int ask_version(struct ship_sink *sink, long *ret, char **err)
{
	struct ship_connection *connection = &sink->connection;
	char *there = NULL, *version = NULL;
	int code = ship_connection_ask(connection, has_schema, NULL, 0, &there, err);

	*ret = 0;
	if (!code && there)
		code = ship_connection_ask(connection, "SELECT max(version) FROM commprof.version",
					   NULL, 0, &version, err);
	if (!code && there) {
		*ret = version ? strtol(version, NULL, 10) : 0;
		if (*ret < 1)
			code = ship_fail(err, -EPROTO,
					 "%s has tables of no version, or of one that nobody can "
					 "make ('%s')",
					 connection->name, version ? version : "");
	}
	free(there);
	free(version);
	return code;
}

/*
 * Who comes first makes the tables, or brings them up to date; who comes meanwhile waits for the lock, and finds them.  *version: as
 * of ask_version().
 */
static int make_schema(struct ship_sink *sink, long *version, char **err)
{
	struct ship_connection *connection = &sink->connection;
	char *why = NULL;
	int code;

	code = ship_connection_do(connection, "BEGIN; " SHIP_SCHEMA_LOCK, err);
	if (!code)
		code = ask_version(sink, version, err);
	if (!code && *version < SHIP_SCHEMA_VERSION)
		code = ship_connection_do(connection, ship_schema_text, err);
	if (!code)
		code = ship_connection_do(connection, "COMMIT", err);
	if (!code && *version < SHIP_SCHEMA_VERSION)
		*version = SHIP_SCHEMA_VERSION;
	if (code != -EACCES)
		return code;
	why = *err;
	code = ship_fail(err, -EACCES,
			 "%s; its owner makes the tables: commctl ship --schema | psql DATABASE",
			 why ? why : connection->name);
	free(why);
	return code;
}

/* Tables of an older version take what they know of, so who may not change them sends all the same. */
static int update_schema(struct ship_sink *sink, long *version, char **err)
{
	static const char may[] = "SELECT tableowner = current_user FROM pg_tables"
				  " WHERE schemaname = 'commprof' AND tablename = 'version'";
	char *answer = NULL;
	int code = ship_connection_ask(&sink->connection, may, NULL, 0, &answer, err);
	bool is_owner = answer && *answer == 't';

	free(answer);
	if (code)
		return code;
	if (is_owner)
		return make_schema(sink, version, err);
	fprintf(stderr,
		"commctl: %s has tables of version %ld, which keep a part of what is sent, and the "
		"rest "
		"does not come later; their owner brings them up to date: commctl ship --schema | "
		"psql DATABASE\n",
		sink->connection.name, *version);
	return 0;
}

static int check_schema(struct ship_sink *sink, char **err)
{
	long version = 0;
	int code = ask_version(sink, &version, err);

	if (!code && !version)
		code = make_schema(sink, &version, err);
	else if (!code && version < SHIP_SCHEMA_VERSION)
		code = update_schema(sink, &version, err);
	if (!code && version > SHIP_SCHEMA_VERSION)
		code = ship_fail(
			err, -EPROTO,
			"%s has tables of a newer version of commprof (%ld, here %d); use that "
			"version",
			sink->connection.name, version, SHIP_SCHEMA_VERSION);
	return code;
}

static double unix_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Half of what the answer takes is charged to each way. */
static int compare_clocks(struct ship_sink *sink, char **err)
{
	double before_s = unix_s(), there_s;
	char *answer = NULL;
	int code = ship_connection_ask(&sink->connection,
				       "SELECT extract(epoch FROM clock_timestamp())", NULL, 0,
				       &answer, err);

	if (code)
		return code;
	there_s = answer ? strtod(answer, NULL) : 0;
	free(answer);
	sink->clock_ahead_s = (before_s + unix_s()) / 2 - there_s;
	if (sink->clock_ahead_s < CLOCK_OFF_S && sink->clock_ahead_s > -CLOCK_OFF_S)
		sink->clock_ahead_s = 0;
	else
		fprintf(stderr,
			"commctl: the clock of this host is %.0f s %s that of %s; slices have the "
			"time "
			"of this host, and commprof.run.clock_ahead_s says so\n",
			sink->clock_ahead_s < 0 ? -sink->clock_ahead_s : sink->clock_ahead_s,
			sink->clock_ahead_s < 0 ? "behind" : "ahead of", sink->connection.name);
	return 0;
}

static void database_close(struct ship_sink *sink)
{
	if (!sink)
		return;
	ship_connection_close(&sink->connection);
	free(sink);
}

static int database_open(const struct ship_sink_config *config, struct ship_sink **ret, char **err)
{
	/* Whatever the server's default: who waited for a lock is to see what was done meanwhile. */
	static const char isolation[] =
		"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";
	static const char own_table[] =
		"CREATE TEMPORARY TABLE batch (LIKE commprof.arrival) ON COMMIT DELETE ROWS";
	struct ship_sink *sink = calloc(1, sizeof(*sink));
	int code;

	if (!sink)
		return -ENOMEM;
	sink->day = INT64_MIN;
	code = ship_connection_open(config->to, config->timeout_ms, &sink->connection, err);
	if (!code)
		code = ship_connection_do(&sink->connection, isolation, err);
	if (!code)
		code = check_schema(sink, err);
	if (!code)
		code = compare_clocks(sink, err);
	if (!code)
		code = ship_connection_do(&sink->connection, own_table, err);
	if (code)
		database_close(sink);
	else
		*ret = sink;
	return code;
}

static int database_mark(struct ship_sink *sink, const char *uuid, uint64_t *ret_ns, char **err)
{
	char *answer = NULL;
	int code = ship_connection_ask(&sink->connection,
				       "SELECT shipped_ns FROM commprof.run WHERE uuid = $1", &uuid,
				       1, &answer, err);

	if (!code)
		*ret_ns = answer ? strtoull(answer, NULL, 10) : 0;
	free(answer);
	return code;
}

static bool takes(const struct ship_sink *sink, int64_t unix_ns)
{
	double s = (double)unix_ns / 1e9;

	return s >= FIRST_S && s <= unix_s() - sink->clock_ahead_s + AHEAD_S;
}

/* In a transaction of its own, so that nobody waits for a batch of another host. */
static int add_day(struct ship_sink *sink, int64_t unix_ns, char **err)
{
	int64_t seconds = unix_ns / 1000000000, day = seconds / 86400;
	char text[24], *answer = NULL;
	const char *const values[] = {text};
	int code;

	if (day == sink->day)
		return 0;
	snprintf(text, sizeof(text), "%" PRId64, seconds);
	code = ship_connection_ask(&sink->connection,
				   "SELECT commprof.add_day(to_timestamp($1::bigint))", values, 1,
				   &answer, err);
	free(answer);
	if (!code)
		sink->day = day;
	return code;
}

static int database_put(struct ship_sink *sink, const struct ship_batch *batch, bool *ret_taken,
			char **err)
{
	struct ship_connection *connection = &sink->connection;
	char ahead[40], *answer = NULL;
	const char *const values[] = {ahead};
	int code;

	/* The connection stays of use. */
	if (!takes(sink, batch->unix_ns))
		return ship_fail(err, -ERANGE,
				 "run %s is of a time that %s does not take: before 2000, or more "
				 "than a year ahead",
				 batch->uuid, connection->name);
	code = add_day(sink, batch->unix_ns, err);
	snprintf(ahead, sizeof(ahead), "%.3f", sink->clock_ahead_s);
	if (!code)
		code = ship_connection_do(connection, "BEGIN", err);
	if (!code)
		code = ship_connection_copy(connection, "COPY pg_temp.batch FROM STDIN",
					    batch->rows.bytes, batch->rows.n, err);
	if (!code)
		code = ship_connection_ask(connection, "SELECT commprof.take_batch($1)", values, 1,
					   &answer, err);
	if (!code)
		code = ship_connection_do(connection, "COMMIT", err);
	if (!code)
		*ret_taken = answer && *answer == 't';
	else
		sink->day = INT64_MIN; /* it may be what is gone */
	free(answer);
	return code;
}

static int database_drop_older(struct ship_sink *sink, uint64_t seconds, uint64_t *ret_days,
			       char **err)
{
	char text[24], *answer = NULL;
	const char *const values[] = {text};
	int code;

	snprintf(text, sizeof(text), "%" PRIu64, seconds);
	code = ship_connection_ask(
		&sink->connection,
		"SELECT commprof.drop_older($1::double precision * interval '1 second')", values, 1,
		&answer, err);
	if (!code)
		*ret_days = answer ? strtoull(answer, NULL, 10) : 0;
	free(answer);
	/* Its own day's may be among them. */
	sink->day = INT64_MIN;
	return code;
}

const struct ship_sink_ops ship_database = {
	.prefix = "postgresql://",
	.form = "postgresql://...",
	.wrong = ship_connection_wrong,
	.open = database_open,
	.close = database_close,
	.mark = database_mark,
	.put = database_put,
	.drop_older = database_drop_older,
};
