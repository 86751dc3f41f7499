// SPDX-License-Identifier: GPL-2.0-or-later
#include "python_objects.h"

#include <errno.h>
#include <string.h>

enum {
	POINTERS_LEAST = 4 << 20,
	/* Words of an object with a number of items. */
	LENGTH = 2,
	/* A text: how many characters, as words; and what they are like. */
	TEXT_STATE = 4,
	TEXT_WORDS = 5,
};

static const uint64_t lives_for_ever = UINT32_MAX; /* from 3.12 on */

static const struct comm_python_layout layouts[] = {
	{11, 48, 72},
	{12, 40, 56},
	{13, 40, 56},
};

const struct comm_python_layout *comm_python_layout_of(unsigned int minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

int comm_python_read(struct comm_python_memory *memory, uint64_t at, void *buf, size_t bytes)
{
	ssize_t n;

	if (!memory->reads_left)
		return -E2BIG;
	memory->reads_left--;
	n = memory->read(memory->ctx, memory->tgid, at, buf, bytes);
	if (n < 0)
		return (int)n;
	return (size_t)n == bytes ? 0 : -EPROTO;
}

bool comm_python_is_count(uint64_t word)
{
	return word && (word < POINTERS_LEAST || word == lives_for_ever);
}

bool comm_python_is_pointer(uint64_t word)
{
	return word >= POINTERS_LEAST && word % sizeof(word) == 0 && !(word >> 47);
}

static size_t encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

int comm_python_text(struct comm_python_memory *memory, uint64_t at, char text[COMM_NAME_BYTES])
{
	uint64_t head[TEXT_WORDS];
	uint8_t raw[COMM_NAME_BYTES * 4];
	uint32_t kind, state;
	size_t n, out = 0;
	int err = comm_python_read(memory, at, head, sizeof(head));

	if (err)
		return err;
	state = (uint32_t)head[TEXT_STATE];
	kind = state >> 2 & 7;
	/* Compact: its characters are behind its head. */
	if (!(state & 1 << 5) || (kind != 1 && kind != 2 && kind != 4))
		return -ENOENT;
	n = head[LENGTH] < COMM_NAME_BYTES - 1 ? head[LENGTH] : COMM_NAME_BYTES - 1;
	err = comm_python_read(memory,
			       at + (state & 1 << 6 ? memory->layout->ascii : memory->layout->wide),
			       raw, n * kind);
	if (err)
		return err;
	for (size_t i = 0; i < n && out + 4 < COMM_NAME_BYTES; i++) {
		uint32_t c = 0;

		memcpy(&c, raw + i * kind, kind);
		if (!c)
			break;
		out += encode(c, text + out);
	}
	text[out] = 0;
	return out ? 0 : -ENOENT;
}
