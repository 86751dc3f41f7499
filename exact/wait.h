/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets other processes go on. */
#ifndef COMM_EXACT_WAIT_H
#define COMM_EXACT_WAIT_H

/* turn: how often the caller has waited already.  Returns 0 after some ten seconds: what it waits for does not come. */
int comm_wait(unsigned int turn);

#endif
