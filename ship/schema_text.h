/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a fleet's database, as schema.sql makes them. */
#ifndef SHIP_SCHEMA_TEXT_H
#define SHIP_SCHEMA_TEXT_H

/* As the last line of schema.sql has it. */
enum { SHIP_SCHEMA_VERSION = 2 };

/* Statements of a transaction; before them this one, so that no two run them at once. */
#define SHIP_SCHEMA_LOCK "SELECT pg_advisory_xact_lock(1668246893)"
extern const char ship_schema_text[];

#endif
