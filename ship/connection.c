// SPDX-License-Identifier: GPL-2.0-or-later
#include "connection.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sink.h"

enum {
	PIECE_BYTES = 64 << 10, /* of COPY */
	LEAST_VERSION = 130000,
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool has_password(const PQconninfoOption *option)
{
	static const char *const secret[] = {"password", "sslpassword"};

	for (; option->keyword; option++)
		for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++)
			if (!strcmp(option->keyword, secret[i]) && option->val)
				return true;
	return false;
}

/* What libpq says of an address that it cannot read may have a part of a password in it. */
const char *ship_connection_wrong(const char *address)
{
	PQconninfoOption *options;
	char *said = NULL;
	bool is_secret;

	options = PQconninfoParse(address, &said);
	PQfreemem(said);
	if (!options)
		return "it is no address as "
		       "postgresql://[USER@]HOST[:PORT]/DATABASE[?OPTION=VALUE&...]";
	is_secret = has_password(options);
	PQconninfoFree(options);
	return is_secret ? "it has a password in it, which everybody may read in the list of "
			   "processes: "
			   "give it by PGPASSFILE, ~/.pgpass or a service file"
			 : NULL;
}

/* The first line of what libpq or the server says. */
static int first_line(const char *said)
{
	return (int)strcspn(said, "\n");
}

/* Errors that go away by themselves, or when somebody has made room: PostgreSQL, appendix A. */
static bool is_passing(const char *state)
{
	static const char *const classes[] = {
		"08",	 /* connection */
		"23514", /* no partition for the row: its day was dropped meanwhile */
		"25",	 /* a server that is read-only, as one that has become a standby */
		"40",	 /* a deadlock */
		"53",	 /* no room: disk, memory, connections */
		"55",	 /* an object is in use */
		"57",	 /* the server stops, or was told to end the statement */
		"58",	 /* its disk or its kernel */
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (!strncmp(state, classes[i], strlen(classes[i])))
			return true;
	return false;
}

static int fail_lost(struct ship_connection *connection, char **err)
{
	const char *said = PQerrorMessage(connection->pg);

	if (!*said)
		said = "the connection is gone";
	return ship_fail(err, -EAGAIN, "%s: %.*s", connection->name, first_line(said), said);
}

static int fail_result(struct ship_connection *connection, const PGresult *result, char **err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int code;

	if (!state || !said || PQstatus(connection->pg) != CONNECTION_OK)
		return fail_lost(connection, err);
	code = is_passing(state) ? -EAGAIN : !strcmp(state, "42501") ? -EACCES : -EPROTO;
	return ship_fail(err, code, "%s: %.*s", connection->name, first_line(said), said);
}

/* Waits until the server's next word is there, and what is to be sent is sent. */
static int wait_for(struct ship_connection *connection, bool for_answer, char **err)
{
	uint64_t end_ms = now_ms() + connection->timeout_ms;
	PGconn *pg = connection->pg;
	int left = PQflush(pg);

	while (left > 0 || (!left && for_answer && PQisBusy(pg))) {
		struct pollfd fd = {.fd = PQsocket(pg), .events = POLLIN};
		uint64_t at_ms = now_ms();
		int n;

		if (left > 0)
			fd.events |= POLLOUT;
		n = at_ms < end_ms ? poll(&fd, 1, (int)(end_ms - at_ms)) : 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			return ship_fail(err, -EAGAIN, "%s does not answer within %g s",
					 connection->name, (double)connection->timeout_ms / 1e3);
		if (fd.revents & (POLLIN | POLLERR | POLLHUP) && !PQconsumeInput(pg))
			return fail_lost(connection, err);
		left = PQflush(pg);
	}
	return left < 0 ? fail_lost(connection, err) : 0;
}

/*
 * The answer to what was sent, the last where several statements were; *ret may be kept by the caller.  COPY ends the
 * answers for now.
 */
static int finish(struct ship_connection *connection, PGresult **ret, char **err)
{
	PGresult *result, *last = NULL;
	int code;

	while (!(code = wait_for(connection, true, err)) &&
	       (result = PQgetResult(connection->pg))) {
		ExecStatusType status = PQresultStatus(result);

		PQclear(last);
		last = result;
		if (status == PGRES_COPY_IN)
			break;
		if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
			code = fail_result(connection, result, err);
			break;
		}
	}
	if (!code && !last)
		code = fail_lost(connection, err);
	if (code || !ret)
		PQclear(last);
	else
		*ret = last;
	return code;
}

int ship_connection_do(struct ship_connection *connection, const char *sql, char **err)
{
	if (!PQsendQuery(connection->pg, sql))
		return fail_lost(connection, err);
	return finish(connection, NULL, err);
}

int ship_connection_ask(struct ship_connection *connection, const char *sql,
			const char *const *values, int n, char **ret, char **err)
{
	PGresult *result = NULL;
	int code = 0;

	*ret = NULL;
	if (!PQsendQueryParams(connection->pg, sql, n, NULL, values, NULL, NULL, 0))
		return fail_lost(connection, err);
	code = finish(connection, &result, err);
	if (code)
		return code;
	if (PQntuples(result) && PQnfields(result) && !PQgetisnull(result, 0, 0)) {
		*ret = strdup(PQgetvalue(result, 0, 0));
		if (!*ret)
			code = -ENOMEM;
	}
	PQclear(result);
	return code;
}

int ship_connection_copy(struct ship_connection *connection, const char *sql, const char *bytes,
			 size_t n, char **err)
{
	PGconn *pg = connection->pg;
	int code = ship_connection_do(connection, sql, err);

	for (size_t at = 0; at < n && !code;) {
		size_t piece = n - at < PIECE_BYTES ? n - at : PIECE_BYTES;
		int sent = PQputCopyData(pg, bytes + at, (int)piece);

		if (sent < 0)
			code = fail_lost(connection, err);
		else if (sent)
			at += piece;
		if (!code)
			code = wait_for(connection, false, err);
	}
	if (!code && PQputCopyEnd(pg, NULL) < 0)
		code = fail_lost(connection, err);
	return code ? code : finish(connection, NULL, err);
}

static int name_it(struct ship_connection *connection)
{
	const char *host = PQhost(connection->pg), *database = PQdb(connection->pg);

	if (asprintf(&connection->name, "postgresql at %s, database %s",
		     host && *host ? host : "this machine", database ? database : "") >= 0)
		return 0;
	connection->name = NULL;
	return -ENOMEM;
}

static int check(struct ship_connection *connection, char **err)
{
	const char *encoding = PQparameterStatus(connection->pg, "server_encoding");

	if (PQserverVersion(connection->pg) < LEAST_VERSION)
		return ship_fail(err, -EPROTO, "%s is older than version %d", connection->name,
				 LEAST_VERSION / 10000);
	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return ship_fail(err, -EPROTO,
				 "%s keeps text as %s, which has not all names; make a database of "
				 "encoding UTF8",
				 connection->name, encoding ? encoding : "it likes");
	return 0;
}

/* Of the server, as of a table that is there already: for nobody. */
static void take_notice(void *ctx, const PGresult *result)
{
	(void)ctx;
	(void)result;
}

int ship_connection_open(const char *address, uint64_t timeout_ms, struct ship_connection *ret,
			 char **err)
{
	char seconds[24];
	/* What stands in front of the address is what the address does not say, behind it what it cannot say otherwise. */
	const char *const names[] = {"connect_timeout",		  "tcp_user_timeout",
				     "fallback_application_name", "dbname",
				     "client_encoding",		  NULL};
	const char *const values[] = {seconds, "60000", "commprof", address, "UTF8", NULL};
	int code;

	snprintf(seconds, sizeof(seconds), "%d", (int)((timeout_ms + 999) / 1000));
	*ret = (struct ship_connection){.timeout_ms = timeout_ms};
	ret->pg = PQconnectdbParams(names, values, 1);
	if (!ret->pg)
		return -ENOMEM;
	code = name_it(ret);
	if (!code && PQstatus(ret->pg) != CONNECTION_OK)
		code = fail_lost(ret, err);
	if (!code)
		PQsetNoticeReceiver(ret->pg, take_notice, NULL);
	if (!code && PQsetnonblocking(ret->pg, 1) < 0)
		code = fail_lost(ret, err);
	if (!code)
		code = check(ret, err);
	if (code)
		ship_connection_close(ret);
	return code;
}

void ship_connection_close(struct ship_connection *connection)
{
	PQfinish(connection->pg);
	free(connection->name);
	*connection = (struct ship_connection){0};
}
