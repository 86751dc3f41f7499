/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the symbol tables of elfsym.h are made of: between elfread.c, which builds them, and
 * elfsym.c, which searches, saves and loads them.  For nobody else.
 */
#ifndef COMM_ELFSYM_TABLE_H
#define COMM_ELFSYM_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "frame_table.h"

enum {
	SEGMENTS_MAX = 64,
	DATA_SECTIONS_MAX = 128,
	SECTION_NAME_BYTES = 32,
	SYMBOL_NAME_BYTES = 4096,  /* of a name as the file has it, with its NUL */
	TEXT_BYTES_MAX = 32 << 20, /* of all names together */
};

struct symbol_range {
	uint64_t start;
	uint32_t size;
	uint32_t name; /* into text; 0: none */
};

struct table {
	struct symbol_range *entry;
	size_t n;
};

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
	uint32_t flags;
};

struct section {
	uint64_t start, end;
	char name[SECTION_NAME_BYTES];
};

struct comm_elfsym {
	struct table function, variable;
	char *text;
	size_t text_bytes, text_capacity;
	struct segment segment[SEGMENTS_MAX];
	uint32_t n_segments;
	struct section section[DATA_SECTIONS_MAX];
	uint32_t n_sections;
	struct comm_frame_table frames;
};

#endif
