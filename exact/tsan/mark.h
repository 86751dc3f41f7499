/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What <comm/mark.h> calls in a program with this library.  That header is not included: in
 * the library itself it would make marks of its own.
 */
#ifndef COMM_EXACT_TSAN_MARK_H
#define COMM_EXACT_TSAN_MARK_H

#include <stdint.h>

struct comm_mark_stack {
	uint64_t depth;
	const char *name[];
};

void comm_exact_mark(const struct comm_mark_stack *stack);
void comm_exact_frame(uint64_t frame);
/* That memory has a name of its own; bytes 0: no more. */
void comm_exact_name(const void *start, uint64_t bytes, const char *name);
/* Of the process: reads do not count until it is told 0; writes are followed all the same. */
void comm_exact_stop(uint32_t stopped);

#endif
