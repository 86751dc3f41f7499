/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions as far as types go through them: which register gets whose value, where memory is
 * accessed, where a jump leads.  What computes anything else just writes registers.  For
 * type_flow.c.
 */
#ifndef COMM_TYPE_INSN_H
#define COMM_TYPE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum comm_type_op {
	COMM_TYPE_OTHER,
	COMM_TYPE_COPY,	    /* dst = src */
	COMM_TYPE_CHOOSE,   /* dst = src, or dst stays */
	COMM_TYPE_LOAD,	    /* dst = memory */
	COMM_TYPE_STORE,    /* memory = src */
	COMM_TYPE_ADDRESS,  /* dst = address of memory */
	COMM_TYPE_CONSTANT, /* dst = value */
	COMM_TYPE_ADD,	    /* dst += value */
	COMM_TYPE_INDEX,    /* dst += src */
	COMM_TYPE_CALL,	    /* of value; 0: not known */
	COMM_TYPE_JUMP,	    /* to value, always */
	COMM_TYPE_BRANCH,   /* to value, or on */
	COMM_TYPE_END,	    /* never goes on behind it */
};

enum {
	COMM_TYPE_GPRS = 16, /* numbered as in their encoding */
	COMM_TYPE_RSP = 4,
	COMM_TYPE_RBP = 5,
};

struct comm_type_insn {
	uint64_t addr;
	int64_t value;
	int64_t disp;	  /* of the memory operand; without base: its address, or that of index 0 */
	uint16_t written; /* bit r: register r */
	uint16_t mem_bytes;
	uint8_t op; /* enum comm_type_op */
	uint8_t len_bytes;
	int8_t dst, src;
	int8_t base, index; /* -1: none */
	bool has_mem, reads, is_scaled;
};

struct comm_type_decoder;

int comm_type_decoder_create(struct comm_type_decoder **ret);
void comm_type_decoder_destroy(struct comm_type_decoder *decoder);

/* False: the bytes are no instruction. */
bool comm_type_insn_decode(const struct comm_type_decoder *decoder, uint64_t addr,
			   const uint8_t *bytes, size_t len_bytes, struct comm_type_insn *ret);

#endif
