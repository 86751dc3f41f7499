// SPDX-License-Identifier: GPL-2.0-or-later
#include "shadow.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	LOCK_YIELDS = 1000,
	LOCK_SLEEPS = 10000,
	LOCK_SLEEP_US = 1000,
	ARGUMENT_BYTES = 1 << 17,
	ARGUMENTS = 4096
};

struct comm_cell *comm_shadow;
unsigned int comm_shadow_shift = 3;
uint64_t comm_shadow_mask = 7;

/*
 * Not mmap(): that name is interposed (libc.c) and would come back here.
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
	for (at = 0; at < n && argc < ARGUMENTS; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	if (at < n || personality(personality(0xffffffff) | ADDR_NO_RANDOMIZE) < 0)
		return;
	execve("/proc/self/exe", argv, environ);
}

void comm_shadow_init(void)
{
	const char *text = getenv("COMM_EXACT_GRANULARITY");
	unsigned long granularity = text && *text ? strtoul(text, NULL, 0) : 8;
	size_t bytes;
	void *p;

	if (comm_shadow)
		return;
	if (!granularity || granularity > 64 || granularity & (granularity - 1))
		die("COMM_EXACT_GRANULARITY wants a power of two from 1 to 64");
	comm_shadow_shift = __builtin_ctzl(granularity);
	comm_shadow_mask = granularity - 1;
	bytes = sizeof(struct comm_cell) << (COMM_SHADOW_LOW_BITS + 1 - comm_shadow_shift);
	if (!in_window(&comm_shadow) || !in_window(&bytes) || !in_window(stderr)) {
		/* More random bits than the windows hold. */
		start_again();
		die("the address space is laid out in a way that the shadow cannot cover");
	}
	p = map(0, bytes, MAP_PRIVATE);
	if (p == MAP_FAILED)
		die("no room for the shadow (is vm.overcommit_memory 2, or a limit on address "
		    "space set?)");
	madvise(p, bytes, MADV_DONTDUMP);
	/* Scattered cells shall not cost 2 MiB each. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	comm_shadow = p;
}

/* Cells stand in whole pages when a page of memory has at least a page of them. */
static int whole_pages(void)
{
	return sizeof(struct comm_cell) >= (size_t)1 << comm_shadow_shift;
}

static void remap(uint64_t addr, size_t len_bytes, int flags)
{
	struct comm_cell *from = comm_cell(addr);
	size_t cells = ((len_bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES) >> comm_shadow_shift;

	if (map((uint64_t)from, cells * sizeof(*from), flags | MAP_FIXED) == MAP_FAILED)
		die("cannot renew a part of the shadow");
}

void comm_shadow_clear(uint64_t addr, size_t len_bytes)
{
	struct comm_cell *cell = comm_cell(addr);
	size_t i;

	if (!comm_shadow)
		return;
	if (whole_pages()) {
		remap(addr, len_bytes, MAP_PRIVATE);
		return;
	}
	for (i = 0; i < len_bytes >> comm_shadow_shift; i++)
		if (cell[i].writer)
			cell[i] = (struct comm_cell){0};
}

void comm_shadow_share(uint64_t addr, size_t len_bytes)
{
	if (comm_shadow && whole_pages())
		remap(addr, len_bytes, MAP_SHARED);
}

void comm_shadow_move(uint64_t from, uint64_t to, size_t len_bytes)
{
	struct comm_cell *src = comm_cell(from), *dst = comm_cell(to);
	size_t i;

	if (!comm_shadow)
		return;
	for (i = 0; i < len_bytes >> comm_shadow_shift; i++)
		dst[i] = (struct comm_cell){
			.writer = src[i].writer, .frame = src[i].frame, .seen = src[i].seen};
}

/*
 * The owner may be off its CPU: give way.  It may be the code that a signal
 * handler on this very thread interrupted: go on, it cannot finish before us.
 * A process that was killed in between never gives the lock back, hence a limit.
 */
int comm_cell_wait(struct comm_cell *cell, uint16_t owner)
{
	unsigned int i;

	for (i = 0; i < LOCK_YIELDS + LOCK_SLEEPS; i++) {
		uint16_t old = 0;

		if (__atomic_compare_exchange_n(&cell->lock, &old, owner, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return 1;
		if (old == owner)
			return 0;
		if (i < LOCK_YIELDS)
			sched_yield();
		else
			usleep(LOCK_SLEEP_US);
	}
	return 0;
}
