/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin and end, from .eh_frame: stripped files keep it, since
 * exceptions and unwinding need it.
 */
#ifndef COMM_EHFRAME_H
#define COMM_EHFRAME_H

#include <libelf.h>
#include <stdint.h>

/*
 * Calls each(ctx, start, size) for the range of every FDE that is understood,
 * until each() returns nonzero.  data: the section, at virtual address vaddr.
 */
void comm_ehframe_walk(const unsigned char *ident, Elf_Data *data, uint64_t vaddr,
		       int (*each)(void *ctx, uint64_t start, uint64_t size), void *ctx);

#endif
