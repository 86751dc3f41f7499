/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One single-producer ring: records from one context of one CPU to user space.
 * The contract is in uapi/commprof.h.  reserve and commit are called in the
 * ring's own context only, between cp_ring_enter() and cp_ring_leave(), and any
 * number of times in between.
 */
#ifndef CP_RING_H
#define CP_RING_H

#include <linux/mm_types.h>
#include <linux/types.h>

#include "commprof.h"

struct cp_ring {
	struct cp_ring_control *control; /* shared: nothing but tail is read */
	u8 *data;
	struct page **pages; /* that of control, then those of data */
	u32 n_pages;
	u32 size;
	u32 watermark;
	u64 head; /* the module's own; control->head is a copy */
	u64 records;
	u64 lost[CP_LOST_CAUSES];
	bool busy;
	u64 woken_tail; /* where the reader was when it was last woken */
	bool wake;	/* set at the watermark, taken by cp_ring_wakes() */
};

/* Charged to the caller's memory cgroup. */
int cp_ring_init(struct cp_ring *ring, unsigned int cpu, u32 bytes, u32 watermark);
void cp_ring_deinit(struct cp_ring *ring);
/* How many pages a ring of so many bytes has, with its control page. */
u32 cp_ring_pages(u32 bytes);

/* False, and counted, when this context is already inside: drop everything. */
bool cp_ring_enter(struct cp_ring *ring);
void cp_ring_leave(struct cp_ring *ring);

/* Room for a record of at most so many bytes, not zeroed; NULL: counted. */
void *cp_ring_reserve(struct cp_ring *ring, u32 most);
/* Publishes the reserved record, now so long. */
void cp_ring_commit(struct cp_ring *ring, void *record, u32 bytes);
void cp_ring_count(struct cp_ring *ring, enum cp_lost cause);
bool cp_ring_wakes(struct cp_ring *ring);
/* From any context, with a full barrier before: is there something worth reading? */
bool cp_ring_readable(const struct cp_ring *ring);

int cp_ring_mmap_control(struct cp_ring *ring, struct vm_area_struct *vma);
int cp_ring_mmap_data(struct cp_ring *ring, struct vm_area_struct *vma);

#endif
