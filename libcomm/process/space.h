/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address spaces: which mapping an address of a process lies in.  Mappings are
 * read from the view (inspect.h) when first needed, and again after an event that
 * changed them or on a miss (a heap that grew), but at most every 50 ms of event
 * time per process (less often when it has thousands of mappings), unless the view is
 * asked at once.  While the view reads them those that were read before count.
 */
#ifndef COMM_SPACE_H
#define COMM_SPACE_H

#include "inspect.h"

struct comm_space;	 /* one process */
struct comm_space_table; /* all of them */

int comm_space_table_create(const struct comm_inspect *inspect, struct comm_space_table **ret);
void comm_space_table_destroy(struct comm_space_table *table);

/* The space of a process, made when first asked for; NULL: out of memory. */
struct comm_space *comm_space_get(struct comm_space_table *table, uint32_t tgid);
/* The mapping that addr is in, or NULL.  Valid until the next call. */
const struct comm_mapping *comm_space_find(struct comm_space *space, uint64_t addr,
					   uint64_t now_ns);
/*
 * Grows whenever the mappings changed: caches key on it.  An answer may be kept
 * only when the generation is the same before and after comm_space_find().
 */
uint32_t comm_space_generation(const struct comm_space *space);
uint32_t comm_space_tgid(const struct comm_space *space);
/* May the memory at addr be other processes', too?  By the mappings as they were read last: none are read. */
bool comm_space_is_shared(const struct comm_space_table *table, uint32_t tgid, uint64_t addr);
/* Has the process a file mapped whose base name begins so?  Likewise by the mappings as they were read last. */
bool comm_space_has_file(const struct comm_space_table *table, uint32_t tgid, const char *base);
/*
 * Is the memory at addr a file's or the kernel's, of which the process can write nothing?  Likewise by
 * the mappings as they were read last.
 */
bool comm_space_is_constant(struct comm_space *space, uint64_t addr);
/* In a private mapping of a file, or in none that is known. */
bool comm_space_is_file(struct comm_space *space, uint64_t addr);
/* An mmap or exec happened: the mappings are read anew when next needed. */
void comm_space_changed(struct comm_space_table *table, uint32_t tgid);
/* The process is gone: forget it. */
void comm_space_drop(struct comm_space_table *table, uint32_t tgid);
/*
 * Whether there are more spaces than should be kept; *ret_tgid is the process that was asked for
 * least recently.
 */
bool comm_space_crowded(const struct comm_space_table *table, uint32_t *ret_tgid);

#endif
