/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code made at run time in which every instruction touches one address of its
 * own, so that the instruction pointer of a sample says what the address must be.
 */
#ifndef CODE_H
#define CODE_H

#include <stddef.h>
#include <stdint.h>

struct code_truth {
	uint64_t ip;
	uint64_t addr;
	uint32_t size_bytes;
	uint16_t flags;
};

struct code {
	uint8_t *text;
	uint8_t *data;
	struct code_truth *truth; /* ascending by ip */
	size_t n;
};

struct code code_make(size_t n);
const struct code_truth *code_find(const struct code *code, uint64_t ip);
/* Never returns. */
void code_run(void *code);

#endif
