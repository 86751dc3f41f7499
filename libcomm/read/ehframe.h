/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin and end, from .eh_frame: stripped files keep it, since
 * exceptions and unwinding need it; and the instructions that tell their frames (frame_table.h).
 */
#ifndef COMM_EHFRAME_H
#define COMM_EHFRAME_H

#include <libelf.h>
#include <stdint.h>

#include "frame_table.h"

/* What .eh_frame says of a function. */
struct comm_ehframe {
	uint64_t start, size;
	struct comm_frame_cie cie;
	const uint8_t *at, *end; /* instructions; NULL: not understood, or of a signal frame */
};

/*
 * Calls each(ctx, frame) for every FDE whose range is understood,
 * until each() returns nonzero.  data: the section, at virtual address vaddr.
 */
void comm_ehframe_walk(const unsigned char *ident, Elf_Data *data, uint64_t vaddr,
		       int (*each)(void *ctx, const struct comm_ehframe *frame), void *ctx);

#endif
