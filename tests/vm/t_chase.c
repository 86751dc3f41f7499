// SPDX-License-Identifier: GPL-2.0-or-later
/* A program that chases pointers: keys looked up in the chains of a hash table. */
#include <stdlib.h>

#include "cptest.h"

struct entry {
	struct entry *next;
	uint64_t key;
	uint64_t value;
};

enum { ENTRIES = 1 << 14, HEADS = 1 << 11, LOOKUPS = 1 << 12, SECONDS = 3 };

static struct entry *head[HEADS];
static volatile uint64_t sum;

static uint64_t hash(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> 53;
}

__attribute__((noinline)) static struct entry *find(uint64_t key)
{
	struct entry *entry = head[hash(key)];

	while (entry && entry->key != key)
		entry = entry->next;
	return entry;
}

void test_chase(void)
{
	uint64_t until = now_ns() + SECONDS * 1000000000ull, all = 0;
	struct entry *entries = calloc(ENTRIES, sizeof(*entries));
	uint32_t turn = 1;

	for (uint64_t i = 0; i < ENTRIES; i++) {
		/* Neighbours in a chain are not neighbours in memory. */
		struct entry *entry = &entries[i * 7919 % ENTRIES];

		entry->key = i;
		entry->value = i;
		entry->next = head[hash(i)];
		head[hash(i)] = entry;
	}
	while (now_ns() < until) {
		for (int i = 0; i < LOOKUPS; i++) {
			turn = turn * 1664525 + 1013904223;
			all += find(turn >> 18)->value;
		}
	}
	sum = all;
	free(entries);
}
