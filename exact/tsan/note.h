/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a libc function of ours did for the thread that called it, there where it called. */
#ifndef COMM_EXACT_NOTE_H
#define COMM_EXACT_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "thread.h"

#pragma GCC visibility push(hidden)

/* Behind the call of the function that this stands in. */
#define COMM_NOTE_BEHIND ((uint64_t)__builtin_return_address(0))
#define COMM_NOTE_PC (COMM_NOTE_BEHIND | COMM_EXACT_CALLEE)

static inline void comm_note_read(const void *p, size_t n, uint64_t pc)
{
	if (n)
		comm_exact_read(comm_exact_thread(), (uint64_t)p, n, pc);
}

static inline void comm_note_write(void *p, size_t n, uint64_t pc)
{
	if (n)
		comm_exact_write(comm_exact_thread(), (uint64_t)p, n, pc);
}

/* channel.c: once, before any of its functions is called. */
void comm_channels_init(void);

/* libc.c; allocated where the pc is. */
void *comm_note_malloc(size_t bytes, uint64_t pc);

#pragma GCC visibility pop

#endif
