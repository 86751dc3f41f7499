/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashing and pseudo-random numbers for tables of our own: fast, the same in each
 * run and on each machine.  Not for keys that an adversary may choose: those take
 * comm_hash_secret().
 */
#ifndef COMM_HASH_H
#define COMM_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Hashes one word: take the high bits as index.  Words in sequence, such as the lines of an
 * array, collide more seldom than by chance.  Knuth, The Art of Computer
 * Programming 3, 6.4 (Fibonacci hashing).
 */
static inline uint64_t comm_hash_word(uint64_t word)
{
	return word * 0x9e3779b97f4a7c15u;
}

/*
 * Hashes two words into one: take the low bits as index.  Bit i of the result does not depend
 * on bits above 32 + i of the words: where words differ only in those, mix twice.
 */
static inline uint64_t comm_hash_mix(uint64_t a, uint64_t b)
{
	uint64_t h = comm_hash_word(a ^ (b * 0xc2b2ae3d27d4eb4fu));

	return h ^ h >> 32;
}

/*
 * Hashes bytes that an adversary may choose, with a key that this process drew: who does not
 * know the key cannot find keys that collide.  Take any bits as index.  Another run gives
 * other values, so nothing that is stored or printed may depend on them.
 * Aumasson and Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012 (SipHash-1-3).
 */
uint64_t comm_hash_secret(const void *bytes, size_t n);

/*
 * The next pseudo-random number of a stream; advances *state, whose first value may be any.
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

/* The next pseudo-random number of a stream, uniform in [0, 1), a multiple of 2^-53. */
static inline double comm_hash_uniform(uint64_t *state)
{
	return (double)(comm_hash_next(state) >> 11) / 9007199254740992.0;
}

#endif
