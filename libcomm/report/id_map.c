// SPDX-License-Identifier: GPL-2.0-or-later
#include "id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ids.h"
#include "schema.h"

enum { ID_MAP_FIRST = 64 };

/* Value of an id that was neither loaded nor asked for yet. */
#define UNKNOWN UINT32_MAX

uint32_t comm_id_of(int64_t value)
{
	return value > 0 && value < COMM_ID_MAX ? (uint32_t)value : COMM_ID_OTHER;
}

uint32_t comm_id_column(sqlite3_stmt *stmt, int column)
{
	return comm_id_of(sqlite3_column_int64(stmt, column));
}

static int reserve(struct comm_id_map *map, uint32_t id)
{
	size_t n = map->n ? map->n : ID_MAP_FIRST;
	uint32_t *grown;

	if (id < map->n)
		return 0;
	while (n <= id)
		n *= 2;
	grown = reallocarray(map->to, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + map->n, 0xff, (n - map->n) * sizeof(*grown));
	map->to = grown;
	map->n = n;
	return 0;
}

int comm_id_map_load(struct comm_id_map *map, sqlite3 *db, const char *sql, int64_t run)
{
	sqlite3_stmt *stmt;
	int rc, code = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	sqlite3_bind_int64(stmt, 1, run);
	while (!code && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		uint32_t id = comm_id_column(stmt, 0);

		code = reserve(map, id);
		if (!code)
			map->to[id] = comm_id_column(stmt, 1);
	}
	if (!code && rc != SQLITE_DONE)
		code = comm_schema_errno(db);
	sqlite3_finalize(stmt);
	return code;
}

int comm_id_map_ask(struct comm_id_map *map, sqlite3 *db, const char *sql)
{
	if (sqlite3_prepare_v2(db, sql, -1, &map->ask, NULL) != SQLITE_OK)
		return comm_schema_errno(db);
	return 0;
}

void comm_id_map_deinit(struct comm_id_map *map)
{
	sqlite3_finalize(map->ask);
	free(map->to);
	memset(map, 0, sizeof(*map));
}

int comm_id_map_at(struct comm_id_map *map, uint32_t id, uint32_t *ret)
{
	int rc, code;

	if (map->ask && (id >= map->n || map->to[id] == UNKNOWN)) {
		code = reserve(map, id);
		if (code)
			return code;
		sqlite3_bind_int64(map->ask, 1, id);
		rc = sqlite3_step(map->ask);
		map->to[id] = rc == SQLITE_ROW ? comm_id_column(map->ask, 0) : COMM_ID_OTHER;
		sqlite3_reset(map->ask);
		if (rc != SQLITE_ROW && rc != SQLITE_DONE)
			return comm_schema_errno(sqlite3_db_handle(map->ask));
	}
	*ret = id < map->n && map->to[id] != UNKNOWN ? map->to[id] : COMM_ID_OTHER;
	return 0;
}
