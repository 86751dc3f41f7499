/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "names.h"
#include "keyed.h"
#include "text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct block {
	struct block *next;
	size_t used;
	char text[BLOCK_BYTES];
};

/* Texts are of any length, so their hashes are the keys. */
struct name {
	uint64_t hash, nth; /* of the names that have this hash */
	const char *text;
};

struct comm_names {
	struct block *blocks;
	COMM_KEYED(keyed, struct name, name, n);
	size_t bytes, max_bytes;
};

int comm_names_create(size_t max_bytes, struct comm_names **ret)
{
	struct comm_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
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
	comm_keyed_deinit(&names->keyed);
	free(names);
}

/* Memory that stays where it is; NULL: there is none, or no more may be. */
static char *keep(struct comm_names *names, size_t bytes)
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
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct name, nth)};
	char clean[COMM_NAME_BYTES], *text;
	size_t len = comm_text_clean(str, len_bytes, clean, sizeof(clean)), at;
	struct name key = {.hash = comm_hash_secret(clean, len)};
	const struct name *known;

	for (; (known = comm_keyed_find(&names->keyed, &kind, &key)); key.nth++)
		if (!strcmp(known->text, clean))
			return known->text;
	text = keep(names, len + 1);
	if (!text || comm_keyed_at(&names->keyed, &kind, &key, &at))
		return "(other)";
	names->name[at].text = memcpy(text, clean, len + 1);
	return text;
}
