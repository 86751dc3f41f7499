/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a target: threads that are stopped, traced or frozen touch no memory.  /proc and
 * the control groups tell; nothing is guessed.
 */
#ifndef COMM_HELD_H
#define COMM_HELD_H

#include <stddef.h>
#include <stdint.h>

struct comm_held {
	unsigned int threads; /* in all */
	unsigned int stopped; /* by a signal */
	unsigned int traced;  /* and stopped by their tracer */
	unsigned int frozen;  /* in a control group */
	unsigned int asleep;  /* and not frozen: they wait for something */
	uint32_t tracer;      /* of one of those; 0: there is none */
};

/* Adds the threads of a process as they are now. */
void comm_held_add(struct comm_held *held, uint32_t pid);
/* What that means, and what to do; "": nothing holds them. */
void comm_held_sentence(const struct comm_held *held, char *ret, size_t size);

#endif
