// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_sample.h"

#include <asm/perf_regs.h>
#include <string.h>

/* Mask of the registers first to last: AX to CS, R8 to R15. */
#define BITS(first, last) (((2ULL << (last)) - 1) & ~((1ULL << (first)) - 1))
const uint64_t comm_perf_sample_regs =
	BITS(PERF_REG_X86_AX, PERF_REG_X86_CS) | BITS(PERF_REG_X86_R8, PERF_REG_X86_R15);

/* The order of the registers in a record: ascending bits of the mask. */
enum {
	AT_FLAGS = 9,
	AT_IP = 8,
	AT_CS = 10,
	AT_END = 19,
};

static const uint8_t reg_at[COMM_NGPR] = {
	[COMM_RAX] = 0,	 [COMM_RBX] = 1,  [COMM_RCX] = 2,  [COMM_RDX] = 3,
	[COMM_RSI] = 4,	 [COMM_RDI] = 5,  [COMM_RBP] = 6,  [COMM_RSP] = 7,
	[COMM_R8] = 11,	 [COMM_R9] = 12,  [COMM_R10] = 13, [COMM_R11] = 14,
	[COMM_R12] = 15, [COMM_R13] = 16, [COMM_R14] = 17, [COMM_R15] = 18,
};

struct sample {
	struct comm_perf_sample head;
	uint64_t reg[AT_END];
};

bool comm_perf_sample_whole(const struct perf_event_header *record)
{
	struct comm_perf_sample head;

	if (record->size < sizeof(*record) + sizeof(head))
		return false;
	memcpy(&head, record + 1, sizeof(head));
	/* No registers of a kernel thread (abi 0); else the stack's size follows them. */
	return !head.abi ||
	       record->size >= sizeof(*record) + sizeof(struct sample) + sizeof(uint64_t);
}

bool comm_perf_sample_head(const struct perf_event_header *record, struct comm_perf_sample *ret)
{
	if (record->size < sizeof(*record) + sizeof(struct sample) + sizeof(uint64_t))
		return false;
	memcpy(ret, record + 1, sizeof(*ret));
	return ret->abi && (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER;
}

void comm_perf_sample_state(const struct perf_event_header *record, struct comm_sample *ret)
{
	const unsigned char *p = (const unsigned char *)(record + 1),
			    *end = (const unsigned char *)record + record->size;
	uint64_t size, got;
	struct sample raw;

	memcpy(&raw, p, sizeof(raw));
	p += sizeof(raw);
	for (unsigned int i = 0; i < COMM_NGPR; i++)
		ret->reg[i] = raw.reg[reg_at[i]];
	ret->reg[COMM_FS_BASE] = ret->reg[COMM_GS_BASE] = 0;
	ret->known = (1U << COMM_NGPR) - 1;
	ret->ip = raw.reg[AT_IP];
	ret->flags = raw.reg[AT_FLAGS];
	ret->mode_bits = raw.head.abi == PERF_SAMPLE_REGS_ABI_32 ? 32 : 64;
	ret->n_chunks = 0;
	ret->data_bytes = 0;
	memcpy(&size, p, sizeof(size));
	p += sizeof(size);
	if (!size || size > COMM_SAMPLE_DATA_BYTES || (size_t)(end - p) < size + sizeof(got))
		return;
	memcpy(&got, p + size, sizeof(got));
	if (!got || got > size)
		return;
	ret->chunk[0] = (struct comm_chunk){ret->reg[COMM_RSP], (uint32_t)got, 0};
	memcpy(ret->data, p, got);
	ret->data_bytes = (uint16_t)got;
	ret->n_chunks = 1;
}
