/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memory.h"

#include <asm/mman.h>
#include <asm/unistd.h>

#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_mallocfree.h"

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

void comm_mem_drop(void *start, size_t bytes)
{
	long ret;

	/* Valgrind has no call for this, and no libc to make it through. */
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(__NR_madvise), "D"(start), "S"(bytes), "d"(MADV_DONTNEED)
			 : "rcx", "r11", "memory");
	if (ret)
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
