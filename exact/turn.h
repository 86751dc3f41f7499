/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind lets one thread of a process run at a time.  Of processes that share memory this does the same, so that
 * the order in which the shadow learns of accesses is the one in which they were made.  As long as nothing is
 * shared, nobody waits.
 */
#ifndef COMM_EXACT_TURN_H
#define COMM_EXACT_TURN_H

void comm_turn_init(void);
/* Memory is shared from now on. */
void comm_turn_want(void);
/* Before and after what touches the shadow; one may stand in another. */
void comm_turn_begin(void);
void comm_turn_end(void);
/* In a child of fork(): the turn is its parent's. */
void comm_turn_forked(void);

#endif
