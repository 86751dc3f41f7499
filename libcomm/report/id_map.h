/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps from ids of a store to other ids or small numbers: from a thread to the
 * main thread of its process, from a site to its function.  A map is either loaded
 * at once or asked id by id.  A store may be hostile: ids are bounded.
 */
#ifndef COMM_ID_MAP_H
#define COMM_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* Bounds tables indexed by ids; larger than any id that a writer gives out. */
enum { COMM_ID_MAX = 1 << 24 };

struct comm_id_map {
	uint32_t *to;
	size_t n;
	sqlite3_stmt *ask;
};

/* A number of a store as an id, COMM_ID_OTHER when it cannot be one. */
uint32_t comm_id_of(int64_t value);
/* The same, of a column. */
uint32_t comm_id_column(sqlite3_stmt *stmt, int column);

/* Fills a zeroed map.  sql gives rows of an id of run ?1 and what the id maps to. */
int comm_id_map_load(struct comm_id_map *map, sqlite3 *db, const char *sql, int64_t run);
/* Prepares a zeroed map: sql gives what id ?1 maps to, and is run once for each id. */
int comm_id_map_ask(struct comm_id_map *map, sqlite3 *db, const char *sql);
void comm_id_map_deinit(struct comm_id_map *map);

/* What id maps to; COMM_ID_OTHER where the store has nothing. */
int comm_id_map_at(struct comm_id_map *map, uint32_t id, uint32_t *ret);

#endif
