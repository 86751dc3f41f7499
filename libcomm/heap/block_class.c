// SPDX-License-Identifier: GPL-2.0-or-later
#include "block_class.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "keyed.h"

enum {
	NAMES = (1 << 14) - 1, /* of classes, in a run */
	LEADS = 1 << 13,       /* words that were followed lately; a power of two */
	LEAD_WAYS = 4, /* places that one word may have: two that are met by turns keep theirs */
	FOLLOWED_MOST = 8, /* words, in one reading of a piece */
	NAME_PIECE = 128,  /* bytes of a text that are read at once */
};

/* A class may have been unloaded, and its memory be another's. */
static const uint64_t fresh_ns = UINT64_C(10) * 1000 * 1000 * 1000;

/* Where a word of a process leads. */
struct lead {
	uint64_t word, until_ns;
	uint32_t tgid;
	uint16_t id; /* 0: to no class */
	uint8_t kind;
};

struct comm_block_classes {
	struct lead lead[LEADS];
	COMM_KEYED(keyed, const char *, name, n); /* by id - 1 */
	struct comm_seen seen;
};

int comm_block_classes_create(struct comm_block_classes **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void comm_block_classes_destroy(struct comm_block_classes *classes)
{
	if (!classes)
		return;
	comm_keyed_deinit(&classes->keyed);
	free(classes);
}

const char *comm_block_classes_name(const struct comm_block_classes *classes, uint16_t id)
{
	return id && id <= classes->n ? classes->name[id - 1] : NULL;
}

int comm_class_words(const struct comm_class_question *question, uint64_t at, uint64_t *word,
		     size_t n)
{
	ssize_t got = question->memory->read(question->memory->ctx, at, word, n * sizeof(*word));

	if (got < 0)
		return (int)got;
	return (size_t)got == n * sizeof(*word) ? 0 : -EPROTO;
}

/* In pieces, as most names are short. */
int comm_class_text(const struct comm_class_question *question, uint64_t at, char *text,
		    size_t capacity)
{
	for (size_t n = 0; n < capacity;) {
		size_t bytes = capacity - n < NAME_PIECE ? capacity - n : NAME_PIECE;
		ssize_t got =
			question->memory->read(question->memory->ctx, at + n, text + n, bytes);

		if (got <= 0)
			return got ? (int)got : -EPROTO;
		if (memchr(text + n, 0, (size_t)got))
			return 0;
		n += (size_t)got;
	}
	return -EPROTO;
}

/* Equal names are equal pointers.  0: there are too many. */
static uint16_t id_of(struct comm_block_classes *classes, const char *name)
{
	static const struct comm_keyed_kind kind = {
		.row_bytes = sizeof(name), .key_bytes = sizeof(name), .most = NAMES};
	size_t at;

	return comm_keyed_at(&classes->keyed, &kind, &name, &at) ? 0 : (uint16_t)(at + 1);
}

/* The place of a word: its own, or that of the one that goes stale first. */
static struct lead *lead_of(struct comm_block_classes *classes, uint32_t tgid, unsigned int kind,
			    uint64_t word)
{
	uint64_t key = comm_hash_mix(comm_hash_mix(word, word >> 32), (uint64_t)tgid << 8 | kind);
	struct lead *way = &classes->lead[key & (LEADS - LEAD_WAYS)], *first = way;

	for (unsigned int i = 0; i < LEAD_WAYS; i++) {
		if (way[i].word == word && way[i].tgid == tgid && way[i].kind == kind)
			return &way[i];
		if (way[i].until_ns < first->until_ns)
			first = &way[i];
	}
	return first;
}

/* Follows a word, unless that was done lately.  -EAGAIN: later. */
static int follow(struct comm_block_classes *classes, const struct comm_class_question *question,
		  unsigned int kind, uint64_t word, uint64_t now_ns, unsigned int *followed,
		  uint16_t *ret)
{
	struct lead *lead = lead_of(classes, question->tgid, kind, word);
	char name[COMM_NAME_BYTES];
	int err;

	if (lead->word == word && lead->tgid == question->tgid && lead->kind == kind &&
	    now_ns < lead->until_ns) {
		*ret = lead->id;
		return 0;
	}
	if (!comm_class_kinds[kind]->leads(question->place, word)) {
		*ret = 0;
		return 0;
	}
	if (*followed == FOLLOWED_MOST)
		return -EAGAIN;
	++*followed;
	err = comm_class_kinds[kind]->name(question, word, name);
	if (err == -EAGAIN)
		return err;
	*lead = (struct lead){
		.word = word,
		.until_ns = now_ns + fresh_ns,
		.tgid = question->tgid,
		.kind = (uint8_t)kind,
	};
	if (!err)
		lead->id = id_of(classes,
				 comm_names_add(question->reading->names, name, sizeof(name)));
	*ret = lead->id;
	return 0;
}

static void look(struct comm_block_classes *classes, const struct comm_class_question *question,
		 const struct comm_block *block, const uint64_t word[COMM_CLASS_WORDS],
		 uint64_t now_ns, unsigned int *followed, struct comm_block_class *ret)
{
	uint64_t leads;
	uint32_t object;
	uint16_t id;

	for (unsigned int kind = 0; kind < COMM_CLASS_KINDS; kind++)
		for (unsigned int i = 0;
		     comm_class_kinds[kind]->word(block, word, i, &leads, &object); i++)
			if (leads &&
			    !follow(classes, question, kind, leads, now_ns, followed, &id) && id) {
				*ret = (struct comm_block_class){.id = id,
								 .object = (uint8_t)object};
				return;
			}
}

/* Where the blocks in list begin, as far as that can be read: mostly their allocator has done so. */
static int see(struct comm_block_classes *classes, const struct comm_class_question *question,
	       const struct comm_block_list *list, const struct comm_seen **ret)
{
	const struct comm_block *last = &list->block[list->n - 1];
	uint64_t start = list->block[0].start, bytes = COMM_CLASS_WORDS * sizeof(uint64_t);
	uint64_t end = last->start + (bytes < last->size_bytes ? bytes : last->size_bytes);
	struct comm_seen *seen = &classes->seen;
	ssize_t n;

	*ret = list->seen;
	if (list->seen && start >= list->seen->start && end <= list->seen->start + list->seen->n)
		return 0;
	*ret = seen;
	if (end - start > sizeof(seen->bytes))
		return -EPROTO;
	n = question->memory->read(question->memory->ctx, start, seen->bytes, end - start);
	seen->start = start;
	seen->n = n > 0 ? (size_t)n : 0;
	return n < 0 ? (int)n : 0;
}

int comm_block_classes_read(struct comm_block_classes *classes,
			    const struct comm_class_question *question, uint64_t now_ns,
			    const struct comm_block_list *list, struct comm_block_class *ret)
{
	uint64_t word[COMM_CLASS_WORDS];
	const struct comm_seen *seen;
	unsigned int followed = 0;
	int found = 0, err;

	if (!list->n)
		return 0;
	err = see(classes, question, list, &seen);
	if (err)
		return err;
	for (size_t i = 0; i < list->n; i++) {
		const struct comm_block *b = &list->block[i];
		size_t at = b->start - seen->start, bytes = sizeof(word);

		ret[i] = (struct comm_block_class){0};
		if (at >= seen->n)
			continue;
		if (bytes > seen->n - at)
			bytes = seen->n - at;
		if (bytes > b->size_bytes)
			bytes = b->size_bytes;
		memset(word, 0, sizeof(word));
		memcpy(word, seen->bytes + at, bytes - bytes % sizeof(*word));
		look(classes, question, b, word, now_ns, &followed, &ret[i]);
		found += !!ret[i].id;
	}
	return found;
}
