// SPDX-License-Identifier: GPL-2.0-or-later
#include "protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void ctl_message_append(struct ctl_message *m, const void *bytes, size_t n)
{
	if ((!m->bytes || m->n + n > m->capacity) && !m->failed) {
		size_t capacity = 2 * (m->n + n) + 64;
		char *grown = realloc(m->bytes, capacity);

		if (grown) {
			m->bytes = grown;
			m->capacity = capacity;
		}
		m->failed = !grown;
	}
	if (m->failed || !n)
		return;
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

void ctl_message_append_varint(struct ctl_message *m, uint64_t value)
{
	uint8_t byte;

	do {
		byte = (value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		ctl_message_append(m, &byte, 1);
		value >>= 7;
	} while (value);
}

void ctl_message_append_text(struct ctl_message *m, const char *text)
{
	while (*text) {
		int n;
		const char *shown = ctl_utf8_take(&text, &n);

		ctl_message_append(m, shown, n);
	}
}

static void put_key(struct ctl_message *m, int field, int wire)
{
	ctl_message_append_varint(m, (uint64_t)field << 3 | wire);
}

void ctl_message_number(struct ctl_message *m, int field, uint64_t value)
{
	put_key(m, field, WIRE_VARINT);
	ctl_message_append_varint(m, value);
}

void ctl_message_fixed64(struct ctl_message *m, int field, uint64_t value)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = value >> (8 * i);
	put_key(m, field, WIRE_FIXED64);
	ctl_message_append(m, bytes, sizeof(bytes));
}

void ctl_message_double(struct ctl_message *m, int field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	ctl_message_fixed64(m, field, bits);
}

static void put_bytes(struct ctl_message *m, int field, const void *bytes, size_t n)
{
	put_key(m, field, WIRE_BYTES);
	ctl_message_append_varint(m, n);
	ctl_message_append(m, bytes, n);
}

void ctl_message_text(struct ctl_message *m, int field, const char *text)
{
	struct ctl_message clean = {0};

	ctl_message_append_text(&clean, text);
	ctl_message_put(m, field, &clean);
}

void ctl_message_put(struct ctl_message *m, int field, struct ctl_message *inner)
{
	if (inner->failed)
		m->failed = true;
	else
		put_bytes(m, field, inner->bytes, inner->n);
	free(inner->bytes);
	*inner = (struct ctl_message){0};
}
