/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of memory that bursts of a program lack: they end at a value that the sample did not bring, and
 * in most programs it is often the same few, such as the flags that libc looks at where a lock is taken,
 * or the address of a table.  A sampler that brings them with each sample has longer bursts.
 *
 * A line's score is how many of the last thousand bursts or so lacked it or, since it is brought, have
 * read it.  Bounded: the programs seen last, and of each the lines of the highest scores.
 */
#ifndef COMM_WANTED_LINES_H
#define COMM_WANTED_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "burst.h"

enum { COMM_WANTED_LINES = 16 }; /* of a program */

struct comm_wanted_lines;

int comm_wanted_lines_create(struct comm_wanted_lines **ret);
void comm_wanted_lines_destroy(struct comm_wanted_lines *lines);

/*
 * A sample came from this process, which runs the program: equal numbers for processes that have the same
 * data at the same addresses, as those have that a process has forked.  0: it is not known.
 */
void comm_wanted_lines_met(struct comm_wanted_lines *lines, uint32_t tgid, uint64_t program);

/* What is to be brought with samples of a program: addresses of lines of 64 bytes, zeros behind them. */
struct comm_wanted {
	uint64_t program;
	uint64_t addr[COMM_WANTED_LINES];
};

/* Takes a burst of the process into account.  True: what is wanted of its program has changed. */
bool comm_wanted_lines_burst(struct comm_wanted_lines *lines, uint32_t tgid,
			     const struct comm_burst *burst, struct comm_wanted *ret);

#endif
