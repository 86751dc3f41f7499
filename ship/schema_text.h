/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a fleet's database, as schema.sql makes them. */
#ifndef SHIP_SCHEMA_TEXT_H
#define SHIP_SCHEMA_TEXT_H

/* As the last line of schema.sql has it. */
enum { SHIP_SCHEMA_VERSION = 2 };

extern const char ship_schema_text[];

#endif
