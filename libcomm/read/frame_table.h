/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames: where an x86-64 function keeps its return address, at each of its instructions; from the
 * .eh_frame of one ELF file.  Only what one register and three numbers can say, which compilers
 * write for all but a few functions: no expressions (PLT stubs, realigned stacks), no signal
 * frames.  The program is the file's: it is bounded, and what is not understood is unknown.
 * Embedded in the symbols of a file (elfsym.h); zeroed memory is an empty table.
 */
#ifndef COMM_FRAME_TABLE_H
#define COMM_FRAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { COMM_FRAME_ROWS_MAX = 2 << 20 };

enum comm_frame_kind {
	COMM_FRAME_UNKNOWN,
	COMM_FRAME_OF_RSP,    /* the frame's address is rsp + offset */
	COMM_FRAME_OF_RBP,    /* it is rbp + offset */
	COMM_FRAME_OUTERMOST, /* nobody called it */
	COMM_FRAME_KINDS
};

enum { COMM_FRAME_RBP_LOST = INT16_MIN };

/* The return address stands 8 bytes below the frame's address. */
struct comm_frame_rule {
	uint16_t kind;	    /* enum comm_frame_kind */
	int16_t rbp_offset; /* from there to the caller's rbp; 0: rbp holds it; COMM_FRAME_RBP_LOST */
	int32_t offset;
};

/* Of code that keeps a frame pointer, behind its first two instructions. */
extern const struct comm_frame_rule comm_frame_by_pointer;

struct comm_frame_row {
	uint64_t start; /* of the addresses that the rule holds for, up to the next row */
	struct comm_frame_rule rule;
};

struct comm_frame_table {
	struct comm_frame_row *row;
	size_t n, capacity;
};

/* What the initial instructions of a CIE say. */
struct comm_frame_cie {
	uint64_t code_align;
	int64_t data_align;
	const uint8_t *start, *end; /* of the instructions */
};

void comm_frame_table_deinit(struct comm_frame_table *table);
/* Adds a function, whose own instructions are from at to end.  -ENOSPC: the table is full. */
int comm_frame_table_add(struct comm_frame_table *table, const struct comm_frame_cie *cie,
			 uint64_t start, uint64_t size, const uint8_t *at, const uint8_t *end);
/* To be called when all is added: from then on the table can be asked and saved. */
void comm_frame_table_sort(struct comm_frame_table *table);

/* Reads n rows of a saved table (saved.h); checks all: -ENODATA. */
int comm_frame_table_load(struct comm_frame_table *table, int from, uint64_t n, uint64_t *at);

/* The rule at a virtual address of the file. */
struct comm_frame_rule comm_frame_table_find(const struct comm_frame_table *table, uint64_t vaddr);

#endif
