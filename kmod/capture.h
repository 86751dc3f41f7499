/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What user space needs to emulate on from an interrupt: the registers, and the
 * memory that they point to as it is at that instant.  Any context above a user
 * mode frame; interrupts are off.
 */
#ifndef CP_CAPTURE_H
#define CP_CAPTURE_H

#include <linux/ptrace.h>

#include "commprof.h"
#include "decode.h"

struct cp_capture {
	u32 stack_bytes;
	u32 chunk_bytes;
	u32 depth;
	bool vector;
};

/* Registers of a user mode frame. */
void cp_capture_cpu(const struct pt_regs *regs, struct cp_cpu *ret);
/* The current task's, which is in user mode or in a call from there: its FS base. */
u64 cp_capture_thread_pointer(void);
/* Most bytes that cp_capture() may write. */
u32 cp_capture_bytes(const struct cp_capture *what);
/*
 * Fills all but sample->head; returns the bytes used.  hot: registers that the
 * code ahead uses as addresses; they come first, and only they are followed.
 */
u32 cp_capture(const struct cp_capture *what, const struct pt_regs *regs, const struct cp_cpu *cpu,
	       u32 hot, struct cp_sample *sample);
/* Instruction bytes at addr; how many could be read, up to most. */
u32 cp_capture_text(u64 addr, u8 *text, u32 most);

#endif
