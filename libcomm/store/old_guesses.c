// SPDX-License-Identifier: GPL-2.0-or-later
#include "old_guesses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "packed_ends.h"
#include "schema.h"
#include "strand.h"

/* Of a slice, in memory; a store may be hostile. */
enum { GUESS_ENDS_MAX = 1 << 14 };

static double positive(sqlite3_value *value)
{
	double ret = sqlite3_value_double(value);

	return isfinite(ret) && ret > 0 ? ret : 0;
}

static uint32_t id(sqlite3_value *value)
{
	int64_t ret = sqlite3_value_int64(value);

	return ret >= 0 && ret <= UINT32_MAX ? (uint32_t)ret : COMM_ID_OTHER;
}

static int add(struct comm_unwritten_ends *ends, const struct comm_unwritten_end *end)
{
	uint64_t folded = 0;

	if (ends->n == GUESS_ENDS_MAX)
		comm_unwritten_ends_fold(ends, GUESS_ENDS_MAX / 2, &folded);
	return comm_unwritten_ends_add(ends, end);
}

/* Leaves none of them. */
static void give(sqlite3_context *context, struct comm_unwritten_ends *ends)
{
	uint8_t *packed;
	size_t bytes;

	comm_unwritten_ends_sort(ends);
	if (comm_packed_ends(ends->end, ends->n, &packed, &bytes))
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_blob64(context, packed, bytes, free);
	comm_unwritten_ends_deinit(ends);
}

static void step_ends(sqlite3_context *context, int n, sqlite3_value **args)
{
	struct comm_unwritten_ends *ends = sqlite3_aggregate_context(context, sizeof(*ends));
	const struct comm_unwritten_end end = {id(args[0]), id(args[1]), id(args[2]),
					       positive(args[3]), positive(args[4])};

	(void)n;
	if (!ends || add(ends, &end))
		sqlite3_result_error_nomem(context);
}

/* Also where the statement was cut off. */
static void end_ends(sqlite3_context *context)
{
	struct comm_unwritten_ends *ends = sqlite3_aggregate_context(context, 0);

	if (ends)
		give(context, ends);
}

static void join_ends(sqlite3_context *context, int n, sqlite3_value **args)
{
	struct comm_unwritten_ends ends = {0};
	struct comm_unwritten_end end;
	int err = 0;

	for (int i = 0; i < n; i++) {
		const uint8_t *packed = sqlite3_value_blob(args[i]);
		struct comm_unwritten_unpack unpack = {.at = packed, .end = packed};

		if (packed)
			unpack.end += sqlite3_value_bytes(args[i]);
		while (!err && comm_unwritten_next(&unpack, &end))
			err = add(&ends, &end);
	}
	if (!err) {
		give(context, &ends);
		return;
	}
	comm_unwritten_ends_deinit(&ends);
	sqlite3_result_error_nomem(context);
}

/* Adds bytes to the strands that the second ones of a row have shares of. */
static void add_second(struct comm_strands *to, sqlite3_value *row, double bytes)
{
	const uint8_t *packed = sqlite3_value_blob(row);
	double share[COMM_STRANDS];

	if (sqlite3_value_bytes(row) < 2 * COMM_STRANDS_PACKED ||
	    !comm_strands_unpack(packed + COMM_STRANDS_PACKED, share))
		return;
	for (size_t i = 0; i < COMM_STRANDS; i++)
		to->sum[i] += (float)(share[i] * bytes);
}

static void step_strands(sqlite3_context *context, int n, sqlite3_value **args)
{
	struct comm_strands *strands = sqlite3_aggregate_context(context, sizeof(*strands));

	(void)n;
	if (!strands)
		sqlite3_result_error_nomem(context);
	else
		add_second(strands, args[0], positive(args[1]));
}

static void end_strands(sqlite3_context *context)
{
	const struct comm_strands *strands = sqlite3_aggregate_context(context, 0);
	uint8_t packed[COMM_STRANDS_PACKED] = {0};

	if (strands)
		comm_strands_pack(strands, packed);
	sqlite3_result_blob(context, packed, sizeof(packed), SQLITE_TRANSIENT);
}

static void join_strands(sqlite3_context *context, int n, sqlite3_value **args)
{
	double share[COMM_STRANDS], bytes = positive(args[3]);
	uint8_t packed[2 * COMM_STRANDS_PACKED];
	struct comm_strands strands = {0};

	(void)n;
	/* A narrow slice has none. */
	if (sqlite3_value_bytes(args[0]) < COMM_STRANDS_PACKED ||
	    sqlite3_value_bytes(args[2]) < COMM_STRANDS_PACKED ||
	    !comm_strands_unpack(sqlite3_value_blob(args[2]), share)) {
		sqlite3_result_value(context, args[0]);
		return;
	}
	add_second(&strands, args[0], positive(args[1]));
	for (size_t i = 0; i < COMM_STRANDS; i++)
		strands.sum[i] += (float)(share[i] * bytes);
	memcpy(packed, sqlite3_value_blob(args[0]), COMM_STRANDS_PACKED);
	comm_strands_pack(&strands, packed + COMM_STRANDS_PACKED);
	sqlite3_result_blob(context, packed, sizeof(packed), SQLITE_TRANSIENT);
}

int comm_old_guesses_init(sqlite3 *db)
{
	enum { FLAGS = SQLITE_UTF8 | SQLITE_DIRECTONLY };

	if (sqlite3_create_function(db, "comm_guess_ends", 5, FLAGS, NULL, NULL, step_ends,
				    end_ends) == SQLITE_OK &&
	    sqlite3_create_function(db, "comm_guess_strands", 2, FLAGS, NULL, NULL, step_strands,
				    end_strands) == SQLITE_OK &&
	    sqlite3_create_function(db, "comm_join_ends", 2, FLAGS, NULL, join_ends, NULL, NULL) ==
		    SQLITE_OK &&
	    sqlite3_create_function(db, "comm_join_strands", 4, FLAGS, NULL, join_strands, NULL,
				    NULL) == SQLITE_OK)
		return 0;
	return comm_schema_errno(db);
}
