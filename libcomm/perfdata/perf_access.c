// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_access.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>
#include <string.h>

enum {
	X86_FLAGS_FIXED = 1 << 1,
	X86_FLAGS_EXACT = 1 << 3, /* PERF_EFLAGS_EXACT */
	MASK_BITS = 64,
};

/* Bits of a mask of registers. */
static const uint8_t bit_of[COMM_NGPR] = {
	[COMM_RAX] = PERF_REG_X86_AX,  [COMM_RBX] = PERF_REG_X86_BX,  [COMM_RCX] = PERF_REG_X86_CX,
	[COMM_RDX] = PERF_REG_X86_DX,  [COMM_RSI] = PERF_REG_X86_SI,  [COMM_RDI] = PERF_REG_X86_DI,
	[COMM_RBP] = PERF_REG_X86_BP,  [COMM_RSP] = PERF_REG_X86_SP,  [COMM_R8] = PERF_REG_X86_R8,
	[COMM_R9] = PERF_REG_X86_R9,   [COMM_R10] = PERF_REG_X86_R10, [COMM_R11] = PERF_REG_X86_R11,
	[COMM_R12] = PERF_REG_X86_R12, [COMM_R13] = PERF_REG_X86_R13, [COMM_R14] = PERF_REG_X86_R14,
	[COMM_R15] = PERF_REG_X86_R15,
};

uint16_t comm_perf_access_ways(uint64_t data_src)
{
	const union perf_mem_data_src src = {.val = data_src};

	return (uint16_t)((src.mem_op & PERF_MEM_OP_LOAD ? COMM_ACCESS_READ : 0) |
			  (src.mem_op & PERF_MEM_OP_STORE ? COMM_ACCESS_WRITE : 0));
}

/* The registers of the mask, by their bits. */
static void spread(const struct comm_perf_access *from, uint64_t reg[MASK_BITS])
{
	const unsigned char *at = from->regs;

	for (unsigned int bit = 0; bit < MASK_BITS; bit++) {
		if (!(from->regs_mask >> bit & 1))
			continue;
		memcpy(&reg[bit], at, sizeof(reg[bit]));
		at += sizeof(reg[bit]);
	}
}

static void push_burst(const struct comm_perf_access *from, const struct comm_event *access,
		       struct comm_sample *out, comm_event_fn *push, void *ctx)
{
	struct comm_event event = *access;
	uint64_t reg[MASK_BITS] = {0}, flags;

	spread(from, reg);
	flags = reg[PERF_REG_X86_FLAGS];
	event.kind = COMM_EV_SAMPLE;
	event.sample = out;
	out->known = (uint32_t)COMM_SAMPLE_AFTER;
	for (unsigned int i = 0; i < COMM_NGPR; i++) {
		out->reg[i] = reg[bit_of[i]];
		out->known |= (uint32_t)(from->regs_mask >> bit_of[i] & 1) << i;
	}
	out->reg[COMM_FS_BASE] = out->reg[COMM_GS_BASE] = 0;
	out->ip = access->access.ip;
	out->flags = flags & ~(uint64_t)X86_FLAGS_EXACT;
	/* Adaptive PEBS has no flags: then not even the bit that is always set is. */
	if (!(flags & X86_FLAGS_FIXED))
		out->known |= (uint32_t)COMM_SAMPLE_NO_FLAGS;
	out->period = access->access.period;
	out->mode_bits = 64;
	out->n_chunks = 0;
	out->data_bytes = 0;
	push(ctx, &event);
}

void comm_perf_access_push(const struct comm_perf_access *from, struct comm_sample *scratch,
			   uint64_t loss[COMM_LOSS_MAX], comm_event_fn *push, void *ctx)
{
	struct comm_event out = {
		.kind = COMM_EV_ACCESS,
		.time_ns = from->time_ns,
		.cpu = from->cpu,
		.tgid = from->pid,
		.tid = from->tid,
	};
	bool burst = from->bursts && from->regs_abi == PERF_SAMPLE_REGS_ABI_64;

	if (!from->addr || from->addr >> 63) {
		loss[COMM_LOSS_NO_ADDRESS] += !from->addr;
		return;
	}
	if (!from->exact) {
		loss[COMM_LOSS_IMPRECISE]++;
		return;
	}
	out.access.flags = from->ways ? from->ways : comm_perf_access_ways(from->data_src);
	out.access.addr = from->addr;
	out.access.ip = from->ip;
	out.access.latency_cycles = from->weight < UINT16_MAX ? (uint16_t)from->weight : UINT16_MAX;
	out.access.data_src = from->data_src;
	out.access.period = from->period < UINT32_MAX ? (uint32_t)from->period : UINT32_MAX;
	loss[COMM_LOSS_MODE32] += from->regs_abi == PERF_SAMPLE_REGS_ABI_32;
	if (burst)
		out.access.flags |= COMM_ACCESS_BURST;
	push(ctx, &out);
	if (burst)
		push_burst(from, &out, scratch, push, ctx);
}
