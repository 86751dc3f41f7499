// SPDX-License-Identifier: GPL-2.0-or-later
#include "seen_writers.h"

#include <errno.h>
#include <stdlib.h>

#include "event.h"
#include "hash.h"

enum {
	SLOTS = 1 << 14,
	FUNCTIONS = 4, /* of a slot; what many write has none that stands out */
	WORD_SHIFT = 3,
};

/* Whose writes, and of what. */
enum level { WORD_BY_THREAD, WORD_BY_ROLE, OBJECT_BY_THREAD, OBJECT_BY_ROLE, LEVELS };

/* Misra and Gries, Finding repeated elements, Science of Computer Programming 2 (1982). */
struct seen_slot {
	uint64_t what;
	uint32_t who, all;
	uint8_t level;
	struct {
		uint32_t function, n;
	} of[FUNCTIONS];
};

struct comm_seen_writers {
	struct seen_slot slot[SLOTS];
};

int comm_seen_writers_create(struct comm_seen_writers **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_seen_writers_destroy(struct comm_seen_writers *seen)
{
	free(seen);
}

/* False: at this level nothing can be told of it. */
static bool key_of(const struct comm_identity *identity, enum level level,
		   const struct comm_access *access, uint32_t thread, uint32_t role,
		   struct seen_slot *ret)
{
	bool by_role = level == WORD_BY_ROLE || level == OBJECT_BY_ROLE;
	enum comm_object_kind kind = comm_objects_at(identity->objects, access->object)->kind;

	*ret = (struct seen_slot){.who = by_role ? role : thread, .level = (uint8_t)level};
	if (!ret->who)
		return false;
	if (level == WORD_BY_THREAD || level == WORD_BY_ROLE) {
		ret->what = access->datum >> WORD_SHIFT;
		return true;
	}
	ret->what = comm_access_whole(access);
	return access->large || kind == COMM_OBJECT_STATIC || kind == COMM_OBJECT_MARKED;
}

static size_t index_of(const struct seen_slot *key)
{
	return comm_hash_mix(comm_hash_mix(key->what, key->who), key->level) & (SLOTS - 1);
}

static bool is_same(const struct seen_slot *slot, const struct seen_slot *key)
{
	return slot->what == key->what && slot->who == key->who && slot->level == key->level;
}

static void count(struct seen_slot *slot, uint32_t function)
{
	int unused = -1;

	slot->all++;
	for (int i = 0; i < FUNCTIONS; i++) {
		if (slot->of[i].n && slot->of[i].function == function) {
			slot->of[i].n++;
			return;
		}
		if (!slot->of[i].n)
			unused = i;
	}
	if (unused >= 0) {
		slot->of[unused].function = function;
		slot->of[unused].n = 1;
		return;
	}
	for (int i = 0; i < FUNCTIONS; i++)
		slot->of[i].n--;
}

void comm_seen_writers_burst(struct comm_seen_writers *seen, const struct comm_identity *identity,
			     const struct comm_access_burst *burst)
{
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct comm_access *access = &burst->access[i];
		uint32_t function = comm_sites_function_of(identity->sites, access->site);
		struct seen_slot key;

		if (!(access->flags & COMM_ACCESS_WRITE) || access->flags & COMM_ACCESS_OWN_STACK ||
		    access->flags & COMM_ACCESS_KERNEL)
			continue;
		for (enum level level = 0; level < LEVELS; level++) {
			struct seen_slot *slot;

			if (!key_of(identity, level, access, burst->thread, burst->role, &key))
				continue;
			slot = &seen->slot[index_of(&key)];
			if (!is_same(slot, &key))
				*slot = key;
			count(slot, function);
		}
	}
}

uint32_t comm_seen_writers_site(const struct comm_seen_writers *seen,
				const struct comm_identity *identity, uint32_t thread,
				const struct comm_access *read)
{
	uint32_t role = comm_threads_role(identity->threads, thread);
	struct seen_slot key;

	for (enum level level = 0; level < LEVELS; level++) {
		const struct seen_slot *slot;

		if (!key_of(identity, level, read, thread, role, &key))
			continue;
		slot = &seen->slot[index_of(&key)];
		if (!is_same(slot, &key))
			continue;
		for (int i = 0; i < FUNCTIONS; i++)
			if (slot->of[i].n > slot->all / 2)
				return comm_sites_seen_writing(identity->sites,
							       slot->of[i].function);
		return COMM_SITE_NOT_TOLD;
	}
	return COMM_SITE_NOT_TOLD;
}
