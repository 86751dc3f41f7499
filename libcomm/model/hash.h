/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashing and pseudo-random numbers for tables of our own: fast, the same in each
 * run and on each machine.  Not for keys that an adversary may choose.
 */
#ifndef COMM_HASH_H
#define COMM_HASH_H

#include <stdint.h>

/* Two words into one; the low bits are the better ones for an index. */
static inline uint64_t comm_hash_mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0xc2b2ae3d27d4eb4fu)) * 0x9e3779b97f4a7c15u;

	return h ^ h >> 32;
}

/* FNV-1a of a text. */
static inline uint64_t comm_hash_text(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return h;
}

/*
 * The next number of a stream, and its new state; any state is a good one.
 * Steele, Lea and Flood, Fast splittable pseudorandom number generators,
 * OOPSLA 2014 (SplitMix64).
 */
static inline uint64_t comm_hash_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

#endif
