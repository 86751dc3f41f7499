// SPDX-License-Identifier: GPL-2.0-or-later
#include "hash.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static uint64_t rotate(uint64_t word, unsigned int by)
{
	return word << by | word >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void draw_key(uint64_t key[2])
{
	struct timespec now;

	/* Early in the boot there may be no entropy: then time and place must do. */
	if (getrandom(key, 2 * sizeof(key[0]), GRND_NONBLOCK) == 2 * sizeof(key[0]))
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	key[0] = (uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&now;
	key[1] = (uint64_t)(uintptr_t)key ^ (uint64_t)now.tv_sec << 32;
}

uint64_t comm_hash_secret(const void *bytes, size_t n)
{
	static uint64_t key[2];
	static bool drawn; /* one thread owns the tables, see target/inspect.h */
	const uint8_t *at = bytes, *end = at + (n & ~(size_t)7);
	uint64_t v[4], word;

	if (!drawn)
		draw_key(key);
	drawn = true;
	v[0] = key[0] ^ 0x736f6d6570736575u;
	v[1] = key[1] ^ 0x646f72616e646f6du;
	v[2] = key[0] ^ 0x6c7967656e657261u;
	v[3] = key[1] ^ 0x7465646279746573u;
	for (; at < end; at += 8) {
		memcpy(&word, at, sizeof(word));
		word = le64toh(word);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	word = (uint64_t)n << 56;
	for (size_t i = 0; i < (n & 7); i++)
		word |= (uint64_t)at[i] << 8 * i;
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
