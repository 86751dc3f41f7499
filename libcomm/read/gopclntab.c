// SPDX-License-Identifier: GPL-2.0-or-later
#include "gopclntab.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Go 1.20 has the layout of 1.18 and another number. */
enum {
	MAGIC_1_2 = 0xfffffffbu,
	MAGIC_1_16 = 0xfffffffau,
	MAGIC_1_18 = 0xfffffff0u,
	MAGIC_1_20 = 0xfffffff1u,
};

/* Words of 8 bytes in the header, from its beginning. */
enum { WORD_FUNCTIONS = 1 };

struct pclntab {
	const uint8_t *at;
	size_t n;
	uint64_t functions, text;      /* text: added to the addresses of functions */
	uint64_t names, list, records; /* where these begin in the table */
	unsigned int field_bytes; /* of an address, and of an offset, in the list and in records */
};

static bool read_number(const struct pclntab *t, uint64_t at, unsigned int bytes, uint64_t *ret)
{
	*ret = 0;
	if (at > t->n || t->n - at < bytes)
		return false;
	memcpy(ret, t->at + at, bytes);
	return true;
}

static bool read_word(const struct pclntab *t, unsigned int i, uint64_t *ret)
{
	return read_number(t, 8 * (uint64_t)i, 8, ret);
}

/* Where things are, by the header. */
static int read_header(struct pclntab *t)
{
	uint64_t magic, sizes;

	if (!read_number(t, 0, 4, &magic) || !read_number(t, 4, 4, &sizes) ||
	    !read_word(t, WORD_FUNCTIONS, &t->functions))
		return -ENOEXEC;
	/* Two zeros, the size of an instruction's unit (1 on x86), the size of a pointer. */
	if (sizes != 0x08010000)
		return -ENOEXEC;
	t->field_bytes = magic == MAGIC_1_18 || magic == MAGIC_1_20 ? 4 : 8;
	switch (magic) {
	case MAGIC_1_2:
		t->list = 16;
		return 0;
	case MAGIC_1_16:
		if (!read_word(t, 3, &t->names) || !read_word(t, 7, &t->list))
			return -ENOEXEC;
		t->records = t->list;
		return 0;
	case MAGIC_1_18:
	case MAGIC_1_20:
		if (!read_word(t, 3, &t->text) || !read_word(t, 4, &t->names) ||
		    !read_word(t, 8, &t->list) || !t->text)
			return -ENOEXEC;
		t->records = t->list;
		return 0;
	}
	return -ENOEXEC;
}

static const char *name_at(const struct pclntab *t, uint64_t offset)
{
	uint64_t at = t->names + offset, n;

	if (at < offset || at >= t->n)
		return NULL;
	n = t->n - at;
	if (n > COMM_GOPCLNTAB_NAME_BYTES)
		n = COMM_GOPCLNTAB_NAME_BYTES;
	return memchr(t->at + at, 0, n) ? (const char *)t->at + at : NULL;
}

/* The i-th function: its address and the offset of its record stand in the list, the next one's behind. */
static int read_function(const struct pclntab *t, uint64_t i, struct comm_gopclntab_function *ret)
{
	uint64_t at = t->list + 2 * i * t->field_bytes, record, name;

	if (!read_number(t, at, t->field_bytes, &ret->start) ||
	    !read_number(t, at + t->field_bytes, t->field_bytes, &record) ||
	    !read_number(t, at + 2 * t->field_bytes, t->field_bytes, &ret->end))
		return -ENODATA;
	/* A record begins with the address again. */
	record += t->records;
	if (record < t->records || !read_number(t, record + t->field_bytes, 4, &name))
		return -ENODATA;
	ret->name = name_at(t, name);
	ret->start += t->text;
	ret->end += t->text;
	return ret->name && ret->start < ret->end ? 0 : -ENODATA;
}

int comm_gopclntab_walk(const void *table, size_t n_bytes,
			int (*found)(void *ctx, const struct comm_gopclntab_function *function),
			void *ctx)
{
	struct pclntab t = {.at = table, .n = n_bytes};
	int err = read_header(&t);

	if (err)
		return err;
	/* Offsets past the table must not wrap. */
	if (t.names > n_bytes || t.list > n_bytes || t.functions > n_bytes)
		return -ENOEXEC;
	for (uint64_t i = 0; i < t.functions; i++) {
		struct comm_gopclntab_function function;

		if (read_function(&t, i, &function) || found(ctx, &function))
			break;
	}
	return 0;
}
