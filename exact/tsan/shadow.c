// SPDX-License-Identifier: GPL-2.0-or-later
#include "shadow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backing.h"
#include "lock.h"
#include "readers.h"
#include "text.h"

_Static_assert(COMM_CELL_MANY >> COMM_CELL_SEEN_SHIFT == 1 << COMM_READERS_BITS, "no set's number");

enum {
	PAGE_BYTES = 4096,
	ARGUMENT_BYTES = 1 << 17,
	ARGUMENTS = 4096,
};

/* Between the program and its mappings, in the bits that choose a cell: so much may be mapped. */
#define ROOM_BYTES ((uint64_t)1 << 39)

unsigned int comm_shadow_shift = 3;
uint64_t comm_shadow_mask = 7;

static int is_there;
/* Some of the larger sets stand on memory that children share. */
static int has_shared;
/* By page of the program's memory. */
static uint32_t *shown;

/*
 * Not mmap(): that name is interposed (mapping.c) and would come back here.
 */
static void *map(uint64_t addr, size_t bytes, int flags)
{
	return (void *)syscall(SYS_mmap, addr, bytes, PROT_READ | PROT_WRITE,
			       flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/*
 * Not exit(): it would run the program's destructors, instrumented, without a shadow,
 * and our own, which writes the tables of a run that has not begun: into files whose
 * prefix, not yet read from COMM_EXACT_OUT, is empty (".PID.threads.csv").
 */
static void __attribute__((noreturn)) die(const char *what)
{
	fprintf(stderr, "comm-exact: %s\n", what);
	for (;;)
		syscall(SYS_exit_group, 1);
}

/*
 * Whether an address of this kind lies where the 42 bits tell it from all
 * others: in a window of 2 TiB around the place that the kernel starts from.
 */
static int in_window(const void *p)
{
	unsigned int top = (uint64_t)p >> 40;

	return top == 0 || top == 0x55 || top == 0x56 || top == 0x7e || top == 0x7f;
}

/*
 * Starts the program again, without address randomisation.  Returns when that
 * is not possible.  We may run before anything has been told its arguments,
 * so they are read back from the kernel.
 */
static void start_again(void)
{
	static char text[ARGUMENT_BYTES];
	static char *argv[ARGUMENTS + 1];
	size_t n = 0, at, argc = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	long got = 1;

	if (fd < 0 || personality(0xffffffff) & ADDR_NO_RANDOMIZE)
		return;
	while (got > 0 && n < sizeof(text)) {
		got = syscall(SYS_read, fd, text + n, sizeof(text) - n);
		if (got > 0)
			n += got;
	}
	close(fd);
	if (!n || n == sizeof(text) || text[n - 1])
		return;
	for (at = 0; at < n && argc < ARGUMENTS; at += comm_text_bytes(text + at, n - at) + 1)
		argv[argc++] = text + at;
	if (at < n || personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE) < 0)
		return;
	execve("/proc/self/exe", argv, environ);
}

/* Where the program is, and what the loader maps for it, are far enough from each other. */
static int has_capacity(void)
{
	return comm_shadow_bits((uint64_t)stderr - (uint64_t)&is_there) >= ROOM_BYTES;
}

static void place(uint64_t addr, size_t bytes, int flags)
{
	void *p = map(addr, bytes, flags | MAP_FIXED_NOREPLACE);

	if (p != (void *)addr)
		die("no room for the shadow (is vm.overcommit_memory 2, or a limit on address "
		    "space set?)");
	syscall(SYS_madvise, p, bytes, MADV_DONTDUMP);
	/* Scattered cells shall not cost 2 MiB each. */
	syscall(SYS_madvise, p, bytes, MADV_NOHUGEPAGE);
}

/* How many bytes of an array stand for a page of the program's memory. */
static size_t page_cells(void)
{
	return PAGE_BYTES * sizeof(uint64_t) >> comm_shadow_shift;
}

static uint64_t page_of(uint64_t array, uint64_t addr)
{
	return array + comm_shadow_bits(addr) / PAGE_BYTES * page_cells();
}

/* The array that starts at `of` anew, for whole pages. */
static void remap(uint64_t of, uint64_t addr, size_t len_bytes, int flags)
{
	const size_t pages = (len_bytes + PAGE_BYTES - 1) / PAGE_BYTES;

	if (map(page_of(of, addr), pages * page_cells(), flags | MAP_FIXED) == MAP_FAILED)
		die("cannot renew a part of the shadow");
}

void comm_shadow_clear(uint64_t addr, size_t len_bytes)
{
	if (!is_there)
		return;
	remap(COMM_SHADOW_CELLS, addr, len_bytes, MAP_PRIVATE);
	if (has_shared)
		remap(COMM_SHADOW_READERS, addr, len_bytes, MAP_PRIVATE);
}

void comm_shadow_share(uint64_t addr, size_t len_bytes)
{
	if (!is_there)
		return;
	has_shared = 1;
	remap(COMM_SHADOW_CELLS, addr, len_bytes, MAP_SHARED);
	remap(COMM_SHADOW_READERS, addr, len_bytes, MAP_SHARED);
}

static void show_array(uint64_t of, uint64_t addr, size_t pages, uint64_t backing)
{
	if (syscall(SYS_mremap, backing, 0, pages * page_cells(), MREMAP_MAYMOVE | MREMAP_FIXED,
		    page_of(of, addr)) < 0)
		die("cannot show a part of the shadow once more");
}

static void show_backing(uint64_t addr, size_t pages, uint32_t backing)
{
	has_shared = 1;
	show_array(COMM_SHADOW_CELLS, addr, pages, COMM_SHADOW_BACKING + backing * page_cells());
	show_array(COMM_SHADOW_READERS, addr, pages,
		   COMM_SHADOW_BACKING_READERS + backing * page_cells());
}

static void copy_backing(uint64_t addr, size_t pages, uint32_t backing)
{
	const uint64_t *from = (const uint64_t *)(COMM_SHADOW_BACKING + backing * page_cells());
	const uint64_t *members =
		(const uint64_t *)(COMM_SHADOW_BACKING_READERS + backing * page_cells());
	uint64_t *to = (uint64_t *)page_of(COMM_SHADOW_CELLS, addr);
	size_t n = pages * page_cells() / sizeof(uint64_t), i;

	for (i = 0; i < n; i++) {
		if (from[i] & COMM_CELL_MANY)
			*comm_cell_readers(to + i) = members[i];
		if (from[i])
			to[i] = from[i];
	}
}

static void empty_backing(uint32_t backing)
{
	syscall(SYS_madvise, (void *)(COMM_SHADOW_BACKING + backing * page_cells()), page_cells(),
		MADV_REMOVE);
}

static uint32_t *shown_at(uint64_t addr)
{
	return shown + comm_shadow_bits(addr) / PAGE_BYTES;
}

static void *map_shared(size_t bytes)
{
	void *p = map(0, bytes, MAP_SHARED);

	return p == MAP_FAILED ? NULL : p;
}

static const struct comm_backing_shadow backing_shadow = {
	.backing_pages = COMM_SHADOW_BACKING_PAGES,
	.show = show_backing,
	.copy = copy_backing,
	.clear = comm_shadow_clear,
	.empty = empty_backing,
	.share = comm_shadow_share,
	.shown = shown_at,
	.map_shared = map_shared,
	.give_way = comm_give_way,
};

static int init_backing(void)
{
	const size_t pages = ((size_t)1 << COMM_SHADOW_BITS) / PAGE_BYTES;

	place(COMM_SHADOW_BACKING, COMM_SHADOW_BACKING_PAGES * page_cells(), MAP_SHARED);
	place(COMM_SHADOW_BACKING_READERS, COMM_SHADOW_BACKING_PAGES * page_cells(), MAP_SHARED);
	shown = map(0, pages * sizeof(*shown), MAP_PRIVATE);
	if (shown == MAP_FAILED)
		return -ENOMEM;
	syscall(SYS_madvise, shown, pages * sizeof(*shown), MADV_DONTDUMP);
	return comm_backing_init(&backing_shadow);
}

void comm_shadow_init(void)
{
	const char *text = getenv("COMM_EXACT_GRANULARITY");
	unsigned long granularity = text && *text ? strtoul(text, NULL, 0) : 8;
	size_t bytes;

	if (is_there)
		return;
	if (!granularity || granularity > 64 || granularity & (granularity - 1))
		die("COMM_EXACT_GRANULARITY wants a power of two from 1 to 64");
	comm_shadow_shift = granularity < 8 ? __builtin_ctzl(granularity) : 3;
	comm_shadow_mask = granularity - 1;
	bytes = sizeof(uint64_t) << (COMM_SHADOW_BITS - comm_shadow_shift);
	if (!in_window(&is_there) || !in_window(&bytes) || !in_window(stderr) || !has_capacity()) {
		/* More random bits than the windows hold. */
		start_again();
		die("the address space is laid out in a way that the shadow cannot cover");
	}
	place(COMM_SHADOW_CELLS, bytes, MAP_PRIVATE);
	place(COMM_SHADOW_READERS, bytes, MAP_PRIVATE);
	if (comm_locks_init() || comm_readers_init() || init_backing())
		die("no room for locks and sets");
	is_there = 1;
}

void comm_shadow_move(uint64_t from, uint64_t to, size_t len_bytes)
{
	uint64_t end = from + (len_bytes & ~comm_shadow_mask);

	if (!is_there)
		return;
	for (; from < end; from += comm_shadow_mask + 1, to += comm_shadow_mask + 1) {
		uint64_t *src = comm_cell(from), *dst = comm_cell(to);

		if (*src == *dst)
			continue;
		if (*src & COMM_CELL_MANY)
			*comm_cell_readers(dst) = *comm_cell_readers(src);
		*dst = *src;
	}
}

/* *was: becomes what there is, if that is not what it was. */
static int replace(uint64_t *cell, uint64_t *was, uint64_t now)
{
	return __atomic_compare_exchange_n(cell, was, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static uint64_t with_set(uint64_t cell, uint64_t set)
{
	return (cell & ~COMM_CELL_SEEN) | set << COMM_CELL_SEEN_SHIFT;
}

/* These and the thread get a word of their own, in which stands one of an earlier write. */
static int make_many(uint64_t *cell, uint64_t *was, uint64_t members, uint32_t slot)
{
	uint64_t busy = with_set(*was, slot) | COMM_CELL_BUSY;

	if (!replace(cell, was, busy))
		return 0;
	__atomic_store_n(comm_cell_readers(cell), members | comm_readers_bit(slot),
			 __ATOMIC_RELAXED);
	/* Who writes meanwhile has the last word. */
	replace(cell, &busy, with_set(*was, 0) | COMM_CELL_MANY);
	return 1;
}

static int is_first_of_many(uint64_t *readers, uint64_t bit)
{
	return !(__atomic_load_n(readers, __ATOMIC_ACQUIRE) & bit) &&
	       !(__atomic_fetch_or(readers, bit, __ATOMIC_ACQ_REL) & bit);
}

int comm_cell_first_read(uint64_t *cell, uint64_t *was, uint64_t *ret_now, uint32_t slot)
{
	unsigned int waited = 0;

	for (;;) {
		uint64_t members;
		uint32_t with = 0;

		*ret_now = *was;
		if (*was & COMM_CELL_MANY)
			return is_first_of_many(comm_cell_readers(cell), comm_readers_bit(slot));
		if (*was & COMM_CELL_BUSY) {
			/* A signal handler interrupted the thread, which counts it. */
			if (comm_cell_set(*was & ~COMM_CELL_BUSY) == slot)
				return 0;
			if (comm_give_way(waited++)) {
				*was = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
				continue;
			}
			members = 0;
		} else {
			if (comm_readers_have(comm_cell_set(*was), slot))
				return 0;
			members = comm_readers_of(comm_cell_set(*was));
			with = comm_readers_with(comm_cell_set(*was), slot);
		}
		*ret_now = with ? with_set(*was, with) : with_set(*was, 0) | COMM_CELL_MANY;
		if (with ? replace(cell, was, *ret_now) : make_many(cell, was, members, slot))
			return 1;
	}
}
