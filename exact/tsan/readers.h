/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of threads by number, so that a cell holds who has read it in 14 bits: 0 is nobody, a slot is that
 * thread alone, larger numbers are kept in a table that children of fork() share.  In a set of several
 * threads those whose slots are equal modulo 64 count as one.
 */
#ifndef COMM_EXACT_READERS_H
#define COMM_EXACT_READERS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { COMM_READERS_BITS = 14 };

/* 0 or -errno. */
int comm_readers_init(void);

static inline uint64_t comm_readers_bit(uint32_t slot)
{
	return (uint64_t)1 << slot % 64;
}

/* Its members, as comm_readers_bit() has them. */
uint64_t comm_readers_of(uint32_t set);
int comm_readers_have(uint32_t set, uint32_t slot);
/* The set with the thread in it; 0: there was no room for another one. */
uint32_t comm_readers_with(uint32_t set, uint32_t slot);

#pragma GCC visibility pop

#endif
