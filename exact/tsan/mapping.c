// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libc functions that map memory, move it, and take it away.  What is mapped privately is new, or as a file is; what is
 * shared has the cells that all have who share it (backing.h).  Pages that are given back have no writer any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backing.h"
#include "exact.h"
#include "object.h"
#include "shadow.h"
#include "thread.h"

enum { PAGE_BYTES = 4096 };

/* Behind the call of the function that this stands in. */
#define BEHIND ((uint64_t)__builtin_return_address(0))

static size_t whole_pages(size_t len_bytes)
{
	return (len_bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;
}

/* Devices are left out: each mapping of /dev/zero is memory of its own. */
static bool is_file(int fd, struct comm_backing_file *ret)
{
	struct statx st;

	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_BTIME, &st) ||
	    !S_ISREG(st.stx_mode))
		return false;
	*ret = (struct comm_backing_file){
		.kind = COMM_BACKING_FILE,
		.device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
		.number = st.stx_ino,
	};
	if (st.stx_mask & STATX_BTIME)
		ret->birth = st.stx_btime.tv_sec * 1000000000u + st.stx_btime.tv_nsec;
	return true;
}

static void show_mapping(uint64_t addr, size_t len_bytes, int prot, int flags, int fd,
			 uint64_t offset)
{
	const bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	struct comm_backing_file file;
	const bool has_file = !(flags & MAP_ANONYMOUS) && is_file(fd, &file);

	comm_backing_unmap(addr, len_bytes);
	if (is_shared && has_file)
		comm_backing_map(addr, len_bytes, &file, offset, COMM_BACKING_SHARED);
	else if (is_shared)
		comm_backing_map_new(addr, len_bytes);
	else if (has_file && prot & PROT_WRITE)
		comm_backing_copy(addr, len_bytes, &file, offset);
	else if (has_file)
		comm_backing_map(addr, len_bytes, &file, offset, COMM_BACKING_PRIVATE);
}

void *mmap(void *addr, size_t len_bytes, int prot, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, addr, len_bytes, prot, flags, fd, offset);
	int err = errno;

	if (p == MAP_FAILED)
		return p;
	comm_exact_init();
	show_mapping((uint64_t)p, len_bytes, prot, flags, fd, offset);
	comm_object_mapped((uint64_t)p, len_bytes, BEHIND, flags & MAP_ANONYMOUS ? -1 : fd);
	errno = err;
	return p;
}

void *mmap64(void *addr, size_t len_bytes, int prot, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

static void unmapped(uint64_t addr, size_t len_bytes)
{
	comm_exact_init();
	comm_backing_unmap(addr, len_bytes);
	comm_object_unmapped(addr, len_bytes);
}

int munmap(void *addr, size_t len_bytes)
{
	int ret = syscall(SYS_munmap, addr, len_bytes);

	if (!ret)
		unmapped((uint64_t)addr, len_bytes);
	return ret;
}

/* What stood at `from` stands at `to`. */
static void moved(uint64_t from, size_t from_bytes, uint64_t to, size_t to_bytes)
{
	const bool is_shared = comm_backing_is_shared(from);
	const size_t bytes = from_bytes < to_bytes ? from_bytes : to_bytes;

	unmapped(to, to_bytes);
	if (is_shared)
		comm_backing_repeat(from, from_bytes, to, to_bytes);
	else
		comm_shadow_move(from, to, bytes);
	comm_object_moved(from, to, bytes);
}

static void remapped(uint64_t from, size_t from_bytes, uint64_t to, size_t to_bytes, int flags)
{
	const bool stays = flags & MREMAP_DONTUNMAP;

	if (!from_bytes) {
		/* Shared pages, mapped once more. */
		moved(from, to_bytes, to, to_bytes);
	} else if (from != to) {
		moved(from, from_bytes, to, to_bytes);
		if (!stays)
			unmapped(from, from_bytes);
		else
			comm_backing_discard(from, from_bytes, 0);
	} else if (to_bytes < from_bytes) {
		unmapped(to + to_bytes, from_bytes - to_bytes);
	} else if (to_bytes > from_bytes) {
		unmapped(to + from_bytes, to_bytes - from_bytes);
		if (comm_backing_is_shared(from))
			comm_backing_repeat(from, from_bytes, to, to_bytes);
		for (size_t at = from_bytes; at < to_bytes; at += PAGE_BYTES)
			comm_object_moved(to, to + at, PAGE_BYTES);
	}
}

void *mremap(void *old, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	void *to = NULL, *p;
	va_list ap;

	va_start(ap, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(ap, void *);
	va_end(ap);
	p = (void *)syscall(SYS_mremap, old, old_bytes, new_bytes, flags, to);
	if (p == MAP_FAILED)
		return p;
	comm_exact_init();
	remapped((uint64_t)old, whole_pages(old_bytes), (uint64_t)p, whole_pages(new_bytes), flags);
	return p;
}

int madvise(void *addr, size_t len_bytes, int advice)
{
	int ret = syscall(SYS_madvise, addr, len_bytes, advice);

	if (ret || !len_bytes)
		return ret;
	comm_exact_init();
	switch (advice) {
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
	case MADV_FREE: /* the kernel may, and nobody can rely on what there was */
		comm_backing_discard((uint64_t)addr, len_bytes, 0);
		break;
	case MADV_REMOVE:
		comm_backing_discard((uint64_t)addr, len_bytes, 1);
		break;
	}
	return 0;
}

int mprotect(void *addr, size_t len_bytes, int prot)
{
	int ret = syscall(SYS_mprotect, addr, len_bytes, prot);

	if (!ret && prot & PROT_WRITE) {
		comm_exact_init();
		comm_backing_part((uint64_t)addr, len_bytes);
	}
	return ret;
}

/* Numbers of segments are each IPC namespace's own. */
static uint64_t ipc_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/ipc", &st) ? 0 : st.st_ino;
}

void *shmat(int id, const void *addr, int flags)
{
	struct comm_backing_file segment = {.kind = COMM_BACKING_SEGMENT, .number = id};
	void *p = (void *)syscall(SYS_shmat, id, addr, flags);
	struct shmid_ds about;

	if (p == MAP_FAILED)
		return p;
	comm_exact_init();
	segment.device = ipc_namespace();
	if (!shmctl(id, IPC_STAT, &about)) {
		comm_backing_unmap((uint64_t)p, about.shm_segsz);
		comm_backing_map((uint64_t)p, about.shm_segsz, &segment, 0, COMM_BACKING_SHARED);
		comm_object_segment((uint64_t)p, about.shm_segsz, id);
	}
	return p;
}

int shmdt(const void *addr)
{
	size_t len_bytes = comm_backing_length((uint64_t)addr);
	int ret = syscall(SYS_shmdt, addr);

	if (!ret && len_bytes)
		unmapped((uint64_t)addr, len_bytes);
	return ret;
}
