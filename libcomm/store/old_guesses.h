/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Old guesses: until schema 14 an edge's bytes could be a guess at the writer.  These SQL functions, which that
 * migration alone calls, make of a slice's guesses what was read there without a known writer:
 *
 *	comm_guess_ends(thread, context, object, bytes, first_bytes)	aggregate: the reading ends, packed
 *	comm_guess_strands(strands, bytes)	aggregate of edges' strands: those of their guesses, packed
 *	comm_join_ends(ends, ends)		packed ends as one
 *	comm_join_strands(strands, unwritten_bytes, guess_strands, guess_bytes)	a slice's strands with them
 */
#ifndef COMM_OLD_GUESSES_H
#define COMM_OLD_GUESSES_H

#include <sqlite3.h>

/* Registers them. */
int comm_old_guesses_init(sqlite3 *db);

#endif
