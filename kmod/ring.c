// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "ring.h"

/*
 * Pages of their own and not vmalloc_user(), which charges no cgroup.  An allocation
 * that the caller's cgroup has no room for fails; it kills nobody.
 */
static int cp_ring_alloc(struct cp_ring *ring, unsigned int cpu, u32 n)
{
	const gfp_t flags = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;

	ring->pages = kvmalloc_array(n, sizeof(*ring->pages), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!ring->pages)
		return -ENOMEM;
	for (ring->n_pages = 0; ring->n_pages < n; ring->n_pages++) {
		struct page *page = alloc_pages_node(cpu_to_node(cpu), flags, 0);

		if (!page)
			return -ENOMEM;
		ring->pages[ring->n_pages] = page;
	}
	ring->control = vmap(ring->pages, n, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	return ring->control ? 0 : -ENOMEM;
}

u32 cp_ring_pages(u32 bytes)
{
	return 1 + bytes / PAGE_SIZE;
}

int cp_ring_init(struct cp_ring *ring, unsigned int cpu, u32 bytes, u32 watermark)
{
	int ret = cp_ring_alloc(ring, cpu, cp_ring_pages(bytes));

	if (ret) {
		cp_ring_deinit(ring);
		return ret;
	}
	ring->data = (u8 *)ring->control + PAGE_SIZE;
	ring->size = bytes;
	ring->watermark = watermark;
	ring->woken_tail = U64_MAX;
	ring->control->abi = CP_ABI_VERSION;
	ring->control->size_bytes = bytes;
	return 0;
}

void cp_ring_deinit(struct cp_ring *ring)
{
	if (ring->control)
		vunmap(ring->control);
	while (ring->n_pages)
		__free_page(ring->pages[--ring->n_pages]);
	kvfree(ring->pages);
	ring->control = NULL;
	ring->data = NULL;
	ring->pages = NULL;
}

bool cp_ring_enter(struct cp_ring *ring)
{
	if (ring->busy) {
		cp_ring_count(ring, CP_LOST_NESTED);
		return false;
	}
	WRITE_ONCE(ring->busy, true);
	barrier(); /* whoever interrupts us on this CPU sees busy first */
	return true;
}

void cp_ring_leave(struct cp_ring *ring)
{
	barrier(); /* everything before is done when busy goes */
	WRITE_ONCE(ring->busy, false);
}

void cp_ring_count(struct cp_ring *ring, enum cp_lost cause)
{
	u64 n = ring->lost[cause] + 1;

	WRITE_ONCE(ring->lost[cause], n);
	WRITE_ONCE(ring->control->lost[cause], n);
}

/*
 * Once for each place that the reader has come to: until it reads, once is enough.  Full
 * barrier between head and tail, pairs with cp_session_poll(): a reader that has moved
 * its tail, and then sees no head that is worth it, is woken.
 */
static void cp_ring_wake(struct cp_ring *ring)
{
	u64 tail;

	smp_mb(); /* between our head and the reader's tail */
	tail = READ_ONCE(ring->control->tail);
	if (tail == ring->woken_tail)
		return;
	ring->woken_tail = tail;
	ring->wake = true;
}

void *cp_ring_reserve(struct cp_ring *ring, u32 most)
{
	/*
	 * The consumer's position is hostile: read once, judged, never used as
	 * an index.  Acquire pairs with the consumer's release of tail: its
	 * reads of the record are over before we overwrite it.
	 */
	u64 tail = smp_load_acquire(&ring->control->tail);
	u64 used = ring->head - tail;
	u32 at = ring->head & (ring->size - 1);
	u32 pad = at + most > ring->size ? ring->size - at : 0;
	struct cp_record *record;

	if (used > ring->size) {
		cp_ring_count(ring, CP_LOST_BAD_TAIL);
		return NULL;
	}
	if (used + pad + most > ring->size) {
		cp_ring_count(ring, CP_LOST_RING_FULL);
		cp_ring_wake(ring);
		return NULL;
	}
	if (pad) {
		/* Records are multiples of 8, so a pad holds size and type at least. */
		record = (struct cp_record *)(ring->data + at);
		memset(record, 0, min_t(u32, pad, sizeof(*record)));
		record->size_bytes = pad;
		record->type = CP_REC_PAD;
		ring->head += pad;
	}
	return ring->data + (ring->head & (ring->size - 1));
}

void cp_ring_commit(struct cp_ring *ring, void *record, u32 bytes)
{
	u64 tail = READ_ONCE(ring->control->tail);

	((struct cp_record *)record)->size_bytes = bytes;
	ring->head += bytes;
	WRITE_ONCE(ring->records, ring->records + 1);
	/* Pairs with the consumer's acquire of head: it sees the whole record. */
	smp_store_release(&ring->control->head, ring->head);
	if (ring->head - tail >= ring->watermark)
		cp_ring_wake(ring);
}

bool cp_ring_wakes(struct cp_ring *ring)
{
	bool wake = ring->wake;

	ring->wake = false;
	return wake;
}

bool cp_ring_readable(const struct cp_ring *ring)
{
	return READ_ONCE(ring->head) - READ_ONCE(ring->control->tail) >= ring->watermark;
}

int cp_ring_mmap_control(struct cp_ring *ring, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, ring->control, 0);
}

int cp_ring_mmap_data(struct cp_ring *ring, struct vm_area_struct *vma)
{
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
		/* Nor may mprotect() make it so later. */
#ifdef CP_HAVE_VM_FLAGS_CLEAR
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
#else
	vma->vm_flags &= ~(VM_MAYWRITE | VM_MAYEXEC);
#endif
	return remap_vmalloc_range(vma, ring->control, 1);
}
