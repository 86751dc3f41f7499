/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread reads of its own stack is in no row of a report of fresh data: none but itself writes it.  The survey leaves it
 * out by itself (surveyed_reads.c); exact runs count it.
 */
#ifndef COMM_OWN_STACK_H
#define COMM_OWN_STACK_H

/*
 * A condition on rows of a table that has objects, in a statement whose ?1 is the run, and ?3
 * COMM_OBJECT_STACK: thread, a column of it, reads no stack of its own.
 */
#define COMM_NO_OWN_STACK(table, thread)                                          \
	" AND NOT EXISTS (SELECT 1 FROM object AS o JOIN thread AS t"             \
	" ON t.run = ?1 AND t.id = " table "." thread " AND t.tid = o.thread_tid" \
	" WHERE o.run = ?1 AND o.id = " table ".object AND o.kind = ?3)"

#endif
