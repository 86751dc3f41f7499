// SPDX-License-Identifier: GPL-2.0-or-later
#include "slices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema.h"

enum { COVER_FIRST = 256 };

/* At most all of a slice, whatever the store says: it is told in steps. */
static uint64_t disabled_ns(uint64_t length_ns, int64_t ms)
{
	if (ms <= 0)
		return 0;
	return (uint64_t)ms > length_ns / 1000000 ? length_ns : (uint64_t)ms * 1000000;
}

/* The bytes without a writer may have no strands of their own: then there are none. */
static void read_strands(sqlite3_stmt *stmt, struct comm_slices_one *slice)
{
	const uint8_t *packed = sqlite3_column_blob(stmt, 17);
	int n = sqlite3_column_bytes(stmt, 17);

	if (n < COMM_STRANDS_PACKED || !comm_strands_unpack(packed, slice->enabled_share))
		return;
	if (n < 2 * COMM_STRANDS_PACKED ||
	    !comm_strands_unpack(packed + COMM_STRANDS_PACKED, slice->unwritten_share))
		memcpy(slice->unwritten_share, slice->enabled_share,
		       sizeof(slice->unwritten_share));
	slice->parts = sqlite3_column_int64(stmt, 16);
}

static void read_slice(sqlite3_stmt *stmt, struct comm_slices_one *slice)
{
	memset(slice, 0, sizeof(*slice));
	slice->id = sqlite3_column_int64(stmt, 0);
	slice->start_ns = sqlite3_column_int64(stmt, 1);
	slice->end_ns = sqlite3_column_int64(stmt, 2);
	slice->samples = sqlite3_column_int64(stmt, 3);
	slice->bursts = sqlite3_column_int64(stmt, 4);
	slice->accesses = sqlite3_column_int64(stmt, 5);
	slice->handler_ns = sqlite3_column_int64(stmt, 6);
	slice->daemon_ns = sqlite3_column_int64(stmt, 7);
	slice->target_ns = sqlite3_column_int64(stmt, 8);
	slice->edges = sqlite3_column_int64(stmt, 9);
	slice->unwritten_bytes = sqlite3_column_double(stmt, 10);
	slice->unwritten_first_bytes = sqlite3_column_double(stmt, 11);
	slice->crossing_bytes = sqlite3_column_double(stmt, 12);
	slice->crossing_first_bytes = sqlite3_column_double(stmt, 13);
	slice->setup_ns = sqlite3_column_int64(stmt, 14);
	slice->enabled_ns = slice->end_ns - slice->start_ns;
	slice->enabled_ns -= disabled_ns(slice->enabled_ns, sqlite3_column_int64(stmt, 15));
	slice->polled_bytes = fmin(sqlite3_column_double(stmt, 18), slice->unwritten_bytes);
	slice->watches = sqlite3_column_int64(stmt, 19);
	slice->unanswered_bytes = sqlite3_column_double(stmt, 20);
	slice->daemon_idle_ns = sqlite3_column_int64(stmt, 21);
	if (sqlite3_column_int64(stmt, 16) > 0)
		read_strands(stmt, slice);
}

/* A store may be hostile: no run has times that are none. */
static bool is_possible(const struct comm_slices_one *slice)
{
	return slice->start_ns <= slice->end_ns && slice->end_ns <= INT64_MAX;
}

static int load(sqlite3_stmt *stmt, bool strands, struct comm_slices *slices)
{
	size_t capacity = 0;
	int rc;

	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (slices->n == capacity) {
			struct comm_slices_one *grown;

			capacity = capacity ? 2 * capacity : COVER_FIRST;
			grown = reallocarray(slices->slice, capacity, sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			slices->slice = grown;
		}
		read_slice(stmt, &slices->slice[slices->n]);
		if (!strands)
			slices->slice[slices->n].parts = 0;
		slices->n += is_possible(&slices->slice[slices->n]);
	}
	return rc == SQLITE_DONE ? 0 : comm_schema_errno(sqlite3_db_handle(stmt));
}

/*
 * Slices are ordered so that a slice's parts follow it.  A slice inside the range and
 * narrow enough is taken and its parts are skipped; of others the parts are taken, or the
 * slice whole when it has none left.
 */
static void choose(struct comm_slices *slices, uint64_t from_ns, uint64_t to_ns, uint64_t max_ns)
{
	uint64_t done_ns = 0;

	for (size_t i = 0; i < slices->n; i++) {
		struct comm_slices_one *slice = &slices->slice[i];

		slice->leaf = i + 1 == slices->n || slices->slice[i + 1].start_ns >= slice->end_ns;
		if (slice->start_ns < done_ns)
			continue;
		if ((slice->start_ns >= from_ns && slice->end_ns <= to_ns &&
		     (slice->end_ns - slice->start_ns) / (slice->parts ? slice->parts : 1) <=
			     max_ns) ||
		    slice->leaf) {
			slice->taken = true;
			done_ns = slice->end_ns;
		}
	}
}

int comm_slices_load(sqlite3 *db, int64_t run, uint64_t from_ns, uint64_t to_ns, uint64_t max_ns,
		     bool strands, struct comm_slices *ret)
{
	struct comm_slices slices = {0};
	sqlite3_stmt *stmt;
	int err;

	if (sqlite3_prepare_v2(db,
			       "SELECT id, start_ns, end_ns, samples, bursts, accesses, handler_ns,"
			       " daemon_ns, target_ns, edges, unwritten_bytes,"
			       " unwritten_first_bytes, crossing_bytes, crossing_first_bytes,"
			       " setup_ns,"
			       " (SELECT n FROM loss WHERE loss.run = slice.run AND loss.slice ="
			       "  slice.id AND cause = 'disabled_ms'), parts, strands,"
			       " polled_bytes, watches, unanswered_bytes, daemon_idle_ns"
			       " FROM slice WHERE run = ?1 AND start_ns < ?3 AND end_ns > ?2"
			       " ORDER BY start_ns, level DESC",
			       -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	sqlite3_bind_int64(stmt, 2, from_ns);
	sqlite3_bind_int64(stmt, 3, to_ns > INT64_MAX ? INT64_MAX : to_ns);
	err = load(stmt, strands, &slices);
	sqlite3_finalize(stmt);
	if (err) {
		comm_slices_deinit(&slices);
		return err;
	}
	choose(&slices, from_ns, to_ns, max_ns);
	*ret = slices;
	return 0;
}

void comm_slices_deinit(struct comm_slices *slices)
{
	free(slices->slice);
	memset(slices, 0, sizeof(*slices));
}
