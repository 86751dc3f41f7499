/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of memory that bursts lack: they end at a value that the sample did not bring, and it is often in the same
 * place.  For a program it is a global, such as the flags that libc looks at where a lock is taken.  For a
 * page of code it is a member so far behind what a register points to, or behind what a pointer in there points to:
 * what is in the registers is known by where the thread is.  A sampler that brings these lines has longer
 * bursts.
 *
 * A place's score is how many of the last thousand bursts or so lacked it or, since it is brought, have
 * read its line.  Bounded: the programs and pages of code seen last, and of each the places of the highest scores.
 */
#ifndef COMM_WANTED_LINES_H
#define COMM_WANTED_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "burst.h"
#include "sample_event.h"

struct comm_wanted_lines;

int comm_wanted_lines_create(struct comm_wanted_lines **ret);
void comm_wanted_lines_destroy(struct comm_wanted_lines *lines);

/*
 * A sample came from this process, which runs the program: equal numbers for processes that have the same
 * data at the same addresses, as those have that a process has forked.  0: it is not known.
 */
void comm_wanted_lines_met(struct comm_wanted_lines *lines, uint32_t tgid, uint64_t program);

/* The program that the process runs; 0: it is not known. */
uint64_t comm_wanted_lines_program(const struct comm_wanted_lines *lines, uint32_t tgid);

/* What is to be brought with samples: a value of the map of them, and its key. */
struct comm_wanted {
	uint64_t key;
	struct comm_raw_wanted raw;
};

enum { COMM_WANTED_CHANGES = 2 };

/* Takes a burst and its sample into account.  Returns how much of what is wanted has changed. */
unsigned int comm_wanted_lines_burst(struct comm_wanted_lines *lines,
				     const struct comm_event *sample,
				     const struct comm_burst *burst,
				     struct comm_wanted ret[COMM_WANTED_CHANGES]);

#endif
