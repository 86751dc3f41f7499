/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of code, read from the memory of whichever process has mapped them: to have a page read takes hardly longer than
 * a block of instructions, and what is near in a file is asked for soon, of each of its processes.  Only code of a file
 * in a mapping that is not writable.  What is changed all the same, or was read where another file had come meanwhile,
 * is taken for the file's in all of its processes, for COMM_TEXT_PAGE_NS at most.
 */
#ifndef COMM_TEXT_PAGES_H
#define COMM_TEXT_PAGES_H

#include "maps.h"

#include <sys/types.h>

#define COMM_TEXT_PAGE_NS 30000000000ull

typedef ssize_t comm_text_read_fn(void *ctx, uint32_t tgid, uint64_t addr, void *buf,
				  size_t len_bytes);

struct comm_text_pages;

int comm_text_pages_create(comm_text_read_fn *read, void *ctx, struct comm_text_pages **ret);
void comm_text_pages_destroy(struct comm_text_pages *pages);
/* As inspect.h's text(), of a part of the mapping.  Returns how many bytes could be read, or -errno. */
ssize_t comm_text_pages_read(struct comm_text_pages *pages, uint32_t tgid,
			     const struct comm_mapping *m, uint64_t addr, void *buf,
			     size_t len_bytes, uint64_t now_ns);

#endif
