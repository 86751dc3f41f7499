/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ELF file that is mapped around an address, read in the target's own mapping of it.  All of it is hostile
 * input: what is told lies where the target can read.
 */
#ifndef COMM_EXACT_IMAGE_H
#define COMM_EXACT_IMAGE_H

#include <elf.h>

#include "pub_tool_basics.h"

struct comm_image {
	Addr start; /* where the file's first byte is mapped */
	Addr bias;  /* of run-time addresses over the file's own */
	const Elf64_Phdr *segment;
	UInt n_segments;
};

/* False: no such file, or none of these. */
Bool comm_image_find(Addr addr, struct comm_image *ret);
/* Whether the target can read it. */
Bool comm_image_is_readable(Addr at, SizeT bytes);

#endif
