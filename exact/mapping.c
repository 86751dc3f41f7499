/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mapping.h"

#include <linux/mman.h>
#include <linux/stat.h>
#include <stdint.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "backing.h"
#include "kernel.h"
#include "memory.h"
#include "shadow.h"
#include "turn.h"
#include "wait.h"

enum {
	AT_EMPTY = 0x1000, /* AT_EMPTY_PATH */
	PAGE = 4096,
};

static struct comm_shadow *shadow;

static void show(uint64_t addr, size_t pages, uint32_t backing)
{
	comm_shadow_show(shadow, addr, pages, backing);
}

static void copy(uint64_t addr, size_t pages, uint32_t backing)
{
	comm_shadow_copy(shadow, addr, pages, backing);
}

static void clear(uint64_t addr, size_t bytes)
{
	comm_shadow_forget(shadow, addr, bytes);
}

static void empty(uint32_t backing)
{
	comm_shadow_empty(shadow, backing);
}

/* Words that no other place shows are all there can be. */
static void share(uint64_t addr, size_t bytes)
{
}

static uint32_t *shown(uint64_t addr)
{
	return comm_shadow_shown(shadow, addr);
}

static const struct comm_backing_shadow backing = {
	.backing_pages = COMM_SHADOW_PIECES * COMM_SHADOW_PIECE_PAGES,
	.show = show,
	.copy = copy,
	.clear = clear,
	.empty = empty,
	.share = share,
	.shown = shown,
	.map_shared = comm_mem_map_shared,
	.give_way = comm_wait,
};

void comm_mapping_init(struct comm_shadow *of)
{
	shadow = of;
	comm_backing_init(&backing);
}

void comm_mapping_gone(Addr addr, SizeT bytes)
{
	comm_backing_unmap(addr, bytes);
	comm_shadow_clear(shadow, addr, bytes);
}

void comm_mapping_moved(Addr from, Addr to, SizeT bytes)
{
	comm_mapping_gone(to, bytes);
	if (comm_backing_is_shared(from))
		comm_backing_repeat(from, bytes, to, bytes);
	else
		comm_shadow_move(shadow, from, to, bytes);
}

/* Devices are left out: each mapping of /dev/zero is memory of its own. */
static Bool is_file(Int fd, struct comm_backing_file *ret)
{
	struct statx st;

	if (comm_kernel(__NR_statx, fd, (long)"", AT_EMPTY, STATX_TYPE | STATX_INO | STATX_BTIME,
			(long)&st) ||
	    !VKI_S_ISREG(st.stx_mode))
		return False;
	*ret = (struct comm_backing_file){
		.kind = COMM_BACKING_FILE,
		.device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.number = st.stx_ino,
	};
	if (st.stx_mask & STATX_BTIME)
		ret->birth = st.stx_btime.tv_sec * 1000000000ull + st.stx_btime.tv_nsec;
	return True;
}

static void mapped(Addr addr, const UWord *args)
{
	const SizeT bytes = args[1];
	const Bool is_shared = (args[3] & MAP_TYPE) != MAP_PRIVATE;
	struct comm_backing_file file;
	const Bool has_file = !(args[3] & MAP_ANONYMOUS) && is_file(args[4], &file);

	if (is_shared)
		comm_turn_want();
	if (is_shared && has_file)
		comm_backing_map(addr, bytes, &file, args[5], COMM_BACKING_SHARED);
	else if (is_shared)
		comm_backing_map_new(addr, bytes);
	else if (has_file && args[2] & PROT_WRITE)
		comm_backing_copy(addr, bytes, &file, args[5]);
	else if (has_file)
		comm_backing_map(addr, bytes, &file, args[5], COMM_BACKING_PRIVATE);
}

/* Numbers of segments are each IPC namespace's own. */
static void attached(Addr addr, Int id)
{
	const NSegment *mapping = VG_(am_find_nsegment)(addr);
	struct comm_backing_file segment = {.kind = COMM_BACKING_SEGMENT, .number = id};
	struct vg_stat st;

	if (!sr_isError(VG_(stat)("/proc/self/ns/ipc", &st)))
		segment.device = st.ino;
	comm_turn_want();
	if (mapping)
		comm_backing_map(addr, mapping->end + 1 - addr, &segment, 0, COMM_BACKING_SHARED);
}

static SizeT whole_pages(SizeT bytes)
{
	return (bytes + PAGE - 1) & ~(SizeT)(PAGE - 1);
}

void comm_mapping_syscall(UInt syscall, const UWord *args, UWord ret)
{
	switch (syscall) {
	case __NR_mmap:
		mapped(ret, args);
		break;
	case __NR_shmat:
		attached(ret, args[0]);
		break;
	case __NR_mremap:
		/* What was moved was said before. */
		if (args[2] > args[1] && comm_backing_is_shared(ret))
			comm_backing_repeat(ret, whole_pages(args[1]), ret, whole_pages(args[2]));
		break;
	case __NR_mprotect:
		if (args[2] & PROT_WRITE)
			comm_backing_part(args[0], args[1]);
		break;
	case __NR_madvise:
		if (args[2] == MADV_DONTNEED || args[2] == MADV_FREE || args[2] == MADV_REMOVE)
			comm_backing_discard(args[0], args[1], args[2] == MADV_REMOVE);
		break;
	default:
		break;
	}
}
