// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "record_bytes.h"

#include "text.h"

bool comm_bytes_reserve(struct comm_bytes *bytes, size_t more)
{
	size_t capacity = bytes->capacity ? bytes->capacity : 256;
	uint8_t *data;

	while (capacity - bytes->n < more)
		capacity *= 2;
	if (capacity == bytes->capacity)
		return true;
	data = realloc(bytes->data, capacity);
	if (!data) {
		bytes->failed = true;
		return false;
	}
	bytes->data = data;
	bytes->capacity = capacity;
	return true;
}

void comm_bytes_clear(struct comm_bytes *bytes)
{
	bytes->n = 0;
	bytes->failed = false;
}

void comm_bytes_free(struct comm_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof(*bytes));
}

static void put(struct comm_bytes *to, const void *from, size_t n)
{
	if (to->failed || !comm_bytes_reserve(to, n))
		return;
	if (n)
		memcpy(to->data + to->n, from, n);
	to->n += n;
}

void comm_bytes_u8(struct comm_bytes *to, uint8_t value)
{
	put(to, &value, sizeof(value));
}

void comm_bytes_u16(struct comm_bytes *to, uint16_t value)
{
	value = htole16(value);
	put(to, &value, sizeof(value));
}

void comm_bytes_u32(struct comm_bytes *to, uint32_t value)
{
	value = htole32(value);
	put(to, &value, sizeof(value));
}

void comm_bytes_u64(struct comm_bytes *to, uint64_t value)
{
	value = htole64(value);
	put(to, &value, sizeof(value));
}

void comm_bytes_f64(struct comm_bytes *to, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	comm_bytes_u64(to, bits);
}

/* Zeros behind n bytes. */
static size_t padding(size_t n)
{
	return -n & 7;
}

void comm_bytes_block(struct comm_bytes *to, const void *from, size_t n)
{
	static const uint8_t zero[8];

	put(to, from, n);
	put(to, zero, padding(n));
}

/* NULL and "" differ: an unknown source has no name. */
void comm_bytes_string(struct comm_bytes *to, const char *text)
{
	static const uint8_t zero[8];
	size_t n = text ? strlen(text) + 1 : 0;

	comm_bytes_u32(to, (uint32_t)n);
	put(to, text, n);
	put(to, zero, padding(sizeof(uint32_t) + n));
}

static void get(struct comm_cursor *c, void *to, size_t n)
{
	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, c->at, n);
	c->at += n;
}

uint8_t comm_cursor_u8(struct comm_cursor *c)
{
	uint8_t value;

	get(c, &value, sizeof(value));
	return value;
}

uint16_t comm_cursor_u16(struct comm_cursor *c)
{
	uint16_t value;

	get(c, &value, sizeof(value));
	return le16toh(value);
}

uint32_t comm_cursor_u32(struct comm_cursor *c)
{
	uint32_t value;

	get(c, &value, sizeof(value));
	return le32toh(value);
}

uint64_t comm_cursor_u64(struct comm_cursor *c)
{
	uint64_t value;

	get(c, &value, sizeof(value));
	return le64toh(value);
}

double comm_cursor_f64(struct comm_cursor *c)
{
	uint64_t bits = comm_cursor_u64(c);
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Steps over n bytes, padding included, and returns the first used of them. */
static const uint8_t *take(struct comm_cursor *c, size_t used, size_t n)
{
	const uint8_t *at = c->at;

	if (c->bad || (size_t)(c->end - at) < used || (size_t)(c->end - at) - used < n - used) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return at;
}

const void *comm_cursor_block(struct comm_cursor *c, size_t n)
{
	return take(c, n, n + padding(n));
}

const char *comm_cursor_text(struct comm_cursor *c)
{
	size_t n = comm_cursor_u32(c);
	const uint8_t *text = take(c, n, n + padding(sizeof(uint32_t) + n));

	if (!text || !n)
		return NULL;
	if (text[n - 1])
		c->bad = true;
	return c->bad ? NULL : (const char *)text;
}

const char *comm_cursor_name(struct comm_cursor *c)
{
	const char *name = comm_cursor_text(c);

	if (name && !comm_text_is_clean(name, strlen(name)))
		c->bad = true;
	return c->bad ? NULL : name;
}
