// SPDX-License-Identifier: GPL-2.0-only
#include <linux/align.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include <asm/msr.h>
#include <asm/perf_event.h>

#include "capture.h"

enum {
	RED_ZONE_BYTES = 128,
	LINE_BYTES = 64,
	MAX_MISSES = 12, /* integers that look like pointers cost time */
};

/* Pages are looked up one at a time; neighbours often share one. */
struct view {
	struct page *page;
	u64 base;
	struct cp_sample *sample;
	u8 *at;
	u64 limit; /* end of user addresses in this mode */
};

/* thread.fsbase is stale while the task runs. */
u64 cp_capture_thread_pointer(void)
{
	u64 base;

#ifdef CP_HAVE_RDMSRQ
	rdmsrq(MSR_FS_BASE, base);
#else
	rdmsrl(MSR_FS_BASE, base);
#endif
	return base;
}

void cp_capture_cpu(const struct pt_regs *regs, struct cp_cpu *ret)
{
	u64 *reg = ret->reg;

	reg[0] = regs->ax;
	reg[1] = regs->cx;
	reg[2] = regs->dx;
	reg[3] = regs->bx;
	reg[4] = regs->sp;
	reg[5] = regs->bp;
	reg[6] = regs->si;
	reg[7] = regs->di;
	reg[8] = regs->r8;
	reg[9] = regs->r9;
	reg[10] = regs->r10;
	reg[11] = regs->r11;
	reg[12] = regs->r12;
	reg[13] = regs->r13;
	reg[14] = regs->r14;
	reg[15] = regs->r15;
	ret->fs_base = cp_capture_thread_pointer();
	/* The entry from user mode swapped gs, so the user's is the "kernel" one now. */
#ifdef CP_HAVE_RDMSRQ
	rdmsrq(MSR_KERNEL_GS_BASE, ret->gs_base);
#else
	rdmsrl(MSR_KERNEL_GS_BASE, ret->gs_base);
#endif
	ret->ip = regs->ip;
	ret->down = regs->flags & X86_EFLAGS_DF;
	ret->known = CP_KNOWN_ALL;
}

u32 cp_capture_text(u64 addr, u8 *text, u32 most)
{
	u32 first = min_t(u64, most, PAGE_SIZE - offset_in_page(addr));
	u32 rest = most - first;
	u32 got = first - copy_from_user_nmi(text, (void __user *)addr, first);

	/* The next page may be missing: the first part may still be enough. */
	if (got == first && rest)
		got += rest - copy_from_user_nmi(text + first, (void __user *)(addr + first), rest);
	return got;
}

/*
 * The memory is read through its page, not its address: looking the page up
 * never faults (a fault in this context costs more than a microsecond), and it
 * refuses what must not be read by accident, such as device registers.
 */
static const u8 *cp_capture_look(struct view *view, u64 addr)
{
	u64 base = addr & PAGE_MASK;

	if (view->page && view->base == base)
		return (u8 *)page_address(view->page) + offset_in_page(addr);
	if (view->page)
		put_page(view->page);
	view->page = NULL;
	if (!get_user_page_fast_only(base, 0, &view->page)) {
		view->page = NULL;
		return NULL;
	}
	view->base = base;
	return (u8 *)page_address(view->page) + offset_in_page(addr);
}

/* addr and bytes are multiples of 8 and stay inside a page. */
static struct cp_chunk *cp_capture_chunk(struct view *view, u64 addr, u32 bytes)
{
	struct cp_sample *sample = view->sample;
	struct cp_chunk *chunk = (struct cp_chunk *)view->at;
	const u64 *from;
	u64 *to = (u64 *)(chunk + 1);
	u32 i;

	if (sample->n_chunks >= CP_MAX_CHUNKS || sample->data_bytes + bytes > CP_MAX_DATA_BYTES ||
	    !bytes)
		return NULL;
	from = (const u64 *)cp_capture_look(view, addr);
	if (!from) {
		sample->misses++;
		return NULL;
	}
	chunk->addr = addr;
	chunk->len_bytes = bytes;
	chunk->reserved = 0;
	/* Other threads write here: eight bytes at a time are never torn. */
	for (i = 0; i < bytes / 8; i++)
		to[i] = READ_ONCE(from[i]);
	sample->n_chunks++;
	sample->data_bytes += bytes;
	view->at += sizeof(*chunk) + bytes;
	return chunk;
}

static struct cp_chunk *cp_capture_next_chunk(struct cp_chunk *chunk)
{
	return (struct cp_chunk *)((u8 *)(chunk + 1) + chunk->len_bytes);
}

static bool cp_capture_is_held(const struct view *view, u64 addr)
{
	struct cp_chunk *chunk =
		(struct cp_chunk *)((u8 *)(view->sample + 1) + view->sample->vector_bytes);
	u32 i;

	for (i = 0; i < view->sample->n_chunks; i++, chunk = cp_capture_next_chunk(chunk))
		if (addr - chunk->addr < chunk->len_bytes)
			return true;
	return false;
}

static struct cp_chunk *cp_capture_pointee(struct view *view, u64 value, u32 bytes)
{
	u64 addr = ALIGN_DOWN(value, LINE_BYTES);

	/* The first 64 KiB are never mapped (mmap_min_addr). */
	if (value < 65536 || value >= view->limit || view->sample->misses >= MAX_MISSES ||
	    cp_capture_is_held(view, value))
		return NULL;
	return cp_capture_chunk(view, addr, min_t(u64, bytes, PAGE_SIZE - offset_in_page(addr)));
}

static void cp_capture_stack(struct view *view, u64 sp, u32 bytes)
{
	u64 addr = ALIGN_DOWN(sp, 8) - RED_ZONE_BYTES;
	u64 end = addr + RED_ZONE_BYTES + bytes;

	if (!bytes || sp < 65536 || end > view->limit)
		return;
	while (addr < end) {
		u32 here = min_t(u64, end - addr, PAGE_SIZE - offset_in_page(addr));

		cp_capture_chunk(view, addr, here);
		addr += here;
	}
}

/*
 * From one register breadth first: what it points to, then what that points to.
 * Objects are aligned, so only such words are taken for pointers in memory.
 */
static void cp_capture_follow(struct view *view, const struct cp_capture *what, u64 value)
{
	struct cp_chunk *from = (struct cp_chunk *)view->at;
	u32 n_from = view->sample->n_chunks;
	u32 level, i, k, n_to;

	cp_capture_pointee(view, value, what->chunk_bytes);
	for (level = 1; level < what->depth; level++) {
		n_to = view->sample->n_chunks;
		for (i = n_from; i < n_to; i++, from = cp_capture_next_chunk(from)) {
			const u64 *word = (const u64 *)(from + 1);

			for (k = 0; k < from->len_bytes / 8; k++)
				if (!(word[k] & 7))
					cp_capture_pointee(view, word[k], LINE_BYTES);
		}
		if (view->sample->n_chunks == n_to)
			break;
		n_from = n_to;
	}
}

/* The stack is no root: pointers in it are mostly return addresses. */
static void cp_capture_pointees(struct view *view, const struct cp_capture *what,
				const struct cp_cpu *cpu, u32 hot)
{
	u32 i;

	for (i = 0; i < 16; i++)
		if (hot >> i & 1 && i != 4)
			cp_capture_follow(view, what, cpu->reg[i]);
	for (i = 0; i < 16; i++)
		if (!(hot >> i & 1) && i != 4)
			cp_capture_pointee(view, cpu->reg[i], what->chunk_bytes);
}

/*
 * On entry from user mode the vector registers still hold the user's values,
 * unless the kernel took them meanwhile.  The lower halves only: the upper ones
 * may be in their initial state, which costs an XSAVE to find out.
 */
static u32 cp_capture_vectors(u8 *to)
{
	if (test_thread_flag(TIF_NEED_FPU_LOAD))
		return 0;
	asm volatile("movups %%xmm0, 0(%0)\n"
		     "movups %%xmm1, 16(%0)\n"
		     "movups %%xmm2, 32(%0)\n"
		     "movups %%xmm3, 48(%0)\n"
		     "movups %%xmm4, 64(%0)\n"
		     "movups %%xmm5, 80(%0)\n"
		     "movups %%xmm6, 96(%0)\n"
		     "movups %%xmm7, 112(%0)\n"
		     "movups %%xmm8, 128(%0)\n"
		     "movups %%xmm9, 144(%0)\n"
		     "movups %%xmm10, 160(%0)\n"
		     "movups %%xmm11, 176(%0)\n"
		     "movups %%xmm12, 192(%0)\n"
		     "movups %%xmm13, 208(%0)\n"
		     "movups %%xmm14, 224(%0)\n"
		     "movups %%xmm15, 240(%0)\n"
		     :
		     : "r"(to)
		     : "memory");
	return CP_VECTOR_BYTES;
}

u32 cp_capture_bytes(const struct cp_capture *what)
{
	return sizeof(struct cp_sample) + (what->vector ? CP_VECTOR_BYTES : 0) +
	       (what->stack_bytes || what->chunk_bytes
			? CP_MAX_CHUNKS * sizeof(struct cp_chunk) + CP_MAX_DATA_BYTES
			: 0);
}

u32 cp_capture(const struct cp_capture *what, const struct pt_regs *regs, const struct cp_cpu *cpu,
	       u32 hot, struct cp_sample *sample)
{
	struct view view = {.sample = sample};
	bool is_64 = user_64bit_mode((struct pt_regs *)regs);

	memset((u8 *)sample + sizeof(sample->head), 0, sizeof(*sample) - sizeof(sample->head));
	sample->ip = regs->ip;
	sample->flags = regs->flags;
	memcpy(sample->reg, cpu->reg, sizeof(cpu->reg));
	sample->reg[16] = cpu->fs_base;
	sample->reg[17] = cpu->gs_base;
	sample->known = cpu->known;
	view.at = (u8 *)(sample + 1);
	view.limit = is_64 ? TASK_SIZE_MAX : 1ULL << 32;
	if (what->vector) {
		sample->vector_bytes = cp_capture_vectors(view.at);
		view.at += sample->vector_bytes;
	}
	pagefault_disable(); /* no fault can come; the page look-up wants it said */
	cp_capture_stack(&view, cpu->reg[4], what->stack_bytes);
	if (what->chunk_bytes)
		cp_capture_pointees(&view, what, cpu, hot);
	if (view.page)
		put_page(view.page);
	pagefault_enable();
	return view.at - (u8 *)sample;
}
