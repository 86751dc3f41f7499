/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <asm/mman.h>
#include <asm/unistd.h>
#include <linux/mman.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_mallocfree.h"

#include "kernel.h"

enum {
	PAGE = 4096,
};

void *comm_mem_map(size_t bytes)
{
	void *p = VG_(am_shadow_alloc)((bytes + PAGE - 1) & ~(size_t)(PAGE - 1));

	if (!p)
		VG_(out_of_memory_NORETURN)("comm_mem_map", bytes);
	return p;
}

void comm_mem_unmap(void *mapped, size_t bytes)
{
	VG_(am_munmap_valgrind)((Addr)mapped, (bytes + PAGE - 1) & ~(size_t)(PAGE - 1));
}

static void renew(void *at, size_t bytes, int flags)
{
	long ret = comm_kernel(__NR_mmap, (long)at, bytes, PROT_READ | PROT_WRITE,
			       flags | MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (ret != (long)at)
		comm_mem_out(bytes);
}

void *comm_mem_map_shared(size_t bytes)
{
	void *p = comm_mem_map(bytes);

	renew(p, bytes, MAP_SHARED);
	return p;
}

void comm_mem_show(void *to, void *shared, size_t bytes)
{
	if (comm_kernel(__NR_mremap, (long)shared, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			(long)to) != (long)to)
		comm_mem_out(bytes);
}

void comm_mem_hide(void *at, size_t bytes)
{
	renew(at, bytes, MAP_PRIVATE);
}

void comm_mem_out(size_t bytes)
{
	VG_(out_of_memory_NORETURN)("comm_mem", bytes);
}

void comm_mem_drop(void *start, size_t bytes)
{
	if (comm_kernel(__NR_madvise, (long)start, bytes, MADV_DONTNEED, 0, 0))
		__builtin_memset(start, 0, bytes);
}

void *comm_mem_realloc(void *old, size_t bytes)
{
	return VG_(realloc)("comm.mem", old, bytes);
}

void comm_mem_free(void *small)
{
	VG_(free)(small);
}
