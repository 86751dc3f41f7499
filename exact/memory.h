/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that the shadow and the tables live in.  Whoever hosts them (the
 * Valgrind tool, a test, another binary translator) gives these
 * functions; none returns when memory is out: it says so and ends the run.
 */
#ifndef COMM_EXACT_MEMORY_H
#define COMM_EXACT_MEMORY_H

#include <stddef.h>

/* Zeroed, page aligned, and backed only where it is touched. */
void *comm_mem_map(size_t bytes);
/* Likewise, and shared with children of fork(), at the same address. */
void *comm_mem_map_shared(size_t bytes);
void comm_mem_unmap(void *mapped, size_t bytes);
/* Whole pages within a mapping read as zero again and take no memory. */
void comm_mem_drop(void *start, size_t bytes);
/* Small and long-lived; not zeroed.  old may be NULL. */
void *comm_mem_realloc(void *old, size_t bytes);
void comm_mem_free(void *small);
/* What was made for so many bytes is full. */
void comm_mem_out(size_t bytes) __attribute__((noreturn));
/* Of nothing: the pages of a shared mapping are also at `to`, whole pages (mremap(2)). */
void comm_mem_show(void *to, void *shared, size_t bytes);
/* Memory of its own, zero, in place of that. */
void comm_mem_hide(void *at, size_t bytes);

#endif
