/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"
#include "hash.h"
#include "text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_BYTES = 64 * 1024,
	SLOTS_MIN = 1024,
};

struct block {
	struct block *next;
	size_t used;
	char text[BLOCK_BYTES];
};

struct name_slot {
	uint32_t hash;
	uint32_t len;
	const char *text;
};

struct comm_names {
	struct block *blocks;
	struct name_slot *slots;
	size_t n_slots; /* a power of two */
	size_t n;
	size_t bytes, max_bytes;
};

int comm_names_create(size_t max_bytes, struct comm_names **ret)
{
	struct comm_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->slots = calloc(SLOTS_MIN, sizeof(*names->slots));
	if (!names->slots) {
		free(names);
		return -ENOMEM;
	}
	names->n_slots = SLOTS_MIN;
	names->max_bytes = max_bytes;
	*ret = names;
	return 0;
}

void comm_names_destroy(struct comm_names *names)
{
	struct block *next;

	if (!names)
		return;
	for (struct block *b = names->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	free(names->slots);
	free(names);
}

static int grow(struct comm_names *names)
{
	size_t n_slots = names->n_slots * 2;
	struct name_slot *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < names->n_slots; i++) {
		size_t at = names->slots[i].hash & (n_slots - 1);

		if (!names->slots[i].text)
			continue;
		while (slots[at].text)
			at = (at + 1) & (n_slots - 1);
		slots[at] = names->slots[i];
	}
	free(names->slots);
	names->slots = slots;
	names->n_slots = n_slots;
	return 0;
}

static char *capacity(struct comm_names *names, size_t bytes)
{
	struct block *b = names->blocks;
	char *text;

	if (names->bytes + bytes > names->max_bytes)
		return NULL;
	if (!b || b->used + bytes > BLOCK_BYTES) {
		b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->next = names->blocks;
		b->used = 0;
		names->blocks = b;
	}
	text = b->text + b->used;
	b->used += bytes;
	names->bytes += bytes;
	return text;
}

const char *comm_names_add(struct comm_names *names, const char *str, size_t len_bytes)
{
	char clean[COMM_NAME_BYTES];
	uint32_t hash;
	size_t len = comm_text_clean(str, len_bytes, clean, sizeof(clean)), at;
	char *text;

	hash = (uint32_t)comm_hash_secret(clean, len);

	if (names->n * 2 >= names->n_slots && grow(names) < 0 && names->n + 1 >= names->n_slots)
		return "(other)";
	at = hash & (names->n_slots - 1);
	for (; names->slots[at].text; at = (at + 1) & (names->n_slots - 1)) {
		const struct name_slot *s = &names->slots[at];

		if (s->hash == hash && s->len == len && !memcmp(s->text, clean, len))
			return s->text;
	}
	text = capacity(names, len + 1);
	if (!text)
		return "(other)";
	memcpy(text, clean, len + 1);
	names->slots[at] = (struct name_slot){.hash = hash, .len = (uint32_t)len, .text = text};
	names->n++;
	return text;
}
