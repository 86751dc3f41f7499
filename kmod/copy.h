/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel copies: which of its own memory a task has written by the system call
 * that it is in.  Known from the call's arguments alone, so a call that fails or
 * comes up short counts as if it had filled its buffers.  Calls of 32-bit code are
 * not looked at.  Any context, interrupts off.
 */
#ifndef CP_COPY_H
#define CP_COPY_H

#include <linux/types.h>

struct pt_regs;

enum { CP_COPY_RANGES = 4 };

struct cp_copy {
	u64 ip; /* user mode, behind the call */
	u32 n;
	struct {
		u64 addr;
		u64 bytes;
	} range[CP_COPY_RANGES];
};

/* Of current, a user task that was interrupted in kernel mode at regs.  False: none. */
bool cp_copy(const struct pt_regs *regs, struct cp_copy *ret);

#endif
