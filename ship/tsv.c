// SPDX-License-Identifier: GPL-2.0-or-later
#include "tsv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TSV_FIRST = 1 << 16,
	HASH_CHARS = 17, /* "~" and 16 digits */
};

static void add(struct ship_tsv *tsv, const char *bytes, size_t n)
{
	if (tsv->err)
		return;
	if (n > SHIP_TSV_MAX - tsv->n) {
		tsv->err = -EFBIG;
		return;
	}
	if (tsv->n + n > tsv->capacity) {
		size_t capacity = tsv->capacity ? 2 * tsv->capacity : TSV_FIRST;
		char *grown;

		while (capacity < tsv->n + n)
			capacity *= 2;
		grown = realloc(tsv->bytes, capacity);
		if (!grown) {
			tsv->err = -ENOMEM;
			return;
		}
		tsv->bytes = grown;
		tsv->capacity = capacity;
	}
	memcpy(tsv->bytes + tsv->n, bytes, n);
	tsv->n += n;
}

static void begin_field(struct ship_tsv *tsv)
{
	if (tsv->in_row)
		add(tsv, "\t", 1);
	tsv->in_row = true;
}

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
uint64_t ship_tsv_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

const char *ship_tsv_clean(const char *text, size_t most, char ret[SHIP_CLEAN_BYTES])
{
	char hash[HASH_CHARS + 1];
	size_t n;

	if (most > SHIP_NAME_BYTES)
		most = SHIP_NAME_BYTES;
	n = comm_text_clean(text, most + 1, ret, SHIP_CLEAN_BYTES);
	if (n > most) {
		n = comm_text_whole(ret, most - HASH_CHARS);
		snprintf(hash, sizeof(hash), "~%016" PRIx64, ship_tsv_hash(text));
		memcpy(ret + n, hash, sizeof(hash));
	}
	return ret;
}

void ship_tsv_text(struct ship_tsv *tsv, const char *text, size_t most)
{
	char room[SHIP_CLEAN_BYTES];

	begin_field(tsv);
	for (const char *at = ship_tsv_clean(text, most, room); *at;) {
		size_t plain = strcspn(at, "\\");

		add(tsv, at, plain);
		at += plain;
		if (*at) {
			add(tsv, "\\\\", 2);
			at++;
		}
	}
}

void ship_tsv_int(struct ship_tsv *tsv, int64_t value)
{
	char text[24];

	begin_field(tsv);
	add(tsv, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void ship_tsv_real(struct ship_tsv *tsv, double value)
{
	char text[32];

	begin_field(tsv);
	add(tsv, text, (size_t)snprintf(text, sizeof(text), "%.17g", isfinite(value) ? value : 0.));
}

void ship_tsv_end_row(struct ship_tsv *tsv)
{
	add(tsv, "\n", 1);
	tsv->in_row = false;
}

void ship_tsv_clear(struct ship_tsv *tsv)
{
	tsv->n = 0;
	tsv->err = 0;
	tsv->in_row = false;
}

void ship_tsv_deinit(struct ship_tsv *tsv)
{
	free(tsv->bytes);
	memset(tsv, 0, sizeof(*tsv));
}
