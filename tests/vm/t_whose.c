// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose hit is it?  One address in many processes, and in one process after exec(). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "t_watch.h"

/* Far from what the kernel or a library maps there by itself. */
#define DATUM ((uint64_t *)0x200000000000)

enum { PAGE_BYTES = 4096, PHASE_NS = 60000000 };

/* Which memory a process has at DATUM. */
enum memory {
	INHERITED,
	OWN_SHARED, /* of its own, but of the kind that processes share */
};

struct role {
	enum memory memory;
	volatile uint32_t *ready;
};

static uint64_t *map(int flags)
{
	return mmap(DATUM, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_ANONYMOUS | flags,
		    -1, 0);
}

static void begin(const struct role *role)
{
	if (role->memory == OWN_SHARED)
		*map(MAP_SHARED) = 1;
	__atomic_add_fetch(role->ready, 1, __ATOMIC_SEQ_CST);
}

static void reads(void *argument)
{
	begin(argument);
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 1b\n"
		     :
		     : "r"(DATUM)
		     : "rax", "memory");
}

/* Not in every turn, so that the others get to run where CPUs are few. */
static void writes(void *argument)
{
	begin(argument);
	asm volatile("1: addq $1, %%rdx\n"
		     "movq %%rdx, (%0)\n"
		     "movl $200, %%ecx\n"
		     "2: decl %%ecx\n"
		     "jnz 2b\n"
		     "jmp 1b\n"
		     :
		     : "r"(DATUM)
		     : "rcx", "rdx", "memory");
}

static int writes_in_clone(void *argument)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	writes(argument);
	return 0;
}

/* The memory is one, the process is another: a child as vfork() makes them. */
static void reads_beside_clone(void *argument)
{
	static uint8_t stack[1 << 16];

	clone(writes_in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, argument);
	reads(argument);
}

struct tally {
	uint64_t n, wrong;
	pid_t reader, writer;
};

static void take(const struct cp_record *record, void *argument)
{
	const struct cp_evidence *e = (const void *)record;
	struct tally *tally = argument;

	if (record->type != CP_REC_WATCH || e->first.addr != (uint64_t)DATUM)
		return;
	tally->n++;
	if ((pid_t)record->tgid != tally->writer || (pid_t)e->first_tgid != tally->reader ||
	    e->second.addr != (uint64_t)DATUM)
		tally->wrong++;
}

static const struct cp_watch next_writer = {
	.flags = CP_WATCH_LOAD_THEN_WRITE,
	.slots = 2,
	.per_second = 1000,
	.timeout_us = 20000,
};

/*
 * A target that reads, and processes that write at the same address: a second target
 * unless its memory is said to be none, and one that is no target.
 */
static struct cp_stats watched(void (*body)(void *), enum memory memory, bool two,
			       struct tally *tally, struct watch_until *until)
{
	static volatile uint32_t *ready;
	struct role role;
	struct cp_reader *reader;
	struct cp_stats stats;
	pid_t stranger;

	if (!ready)
		ready = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);
	*ready = 0;
	role = (struct role){memory, ready};
	tally->reader = spawn(body, &role);
	tally->writer = two ? spawn(writes, &role) : 0;
	stranger = spawn(writes, &role);
	while (*ready < 2u + two)
		usleep(1000);
	reader = session(tally->reader);
	if (two)
		cp_reader_target(reader, CP_TARGET_TGID, 0, tally->writer);
	until->hits = &tally->n;
	stats = watch_until(reader, &next_writer, 1000000, take, tally, until);
	reap(tally->reader);
	if (two)
		reap(tally->writer);
	reap(stranger);
	return stats;
}

static void test_memory(void)
{
	struct watch_until until = {.enough_armed = 60};
	struct tally tally = {};
	struct cp_stats stats;

	*map(MAP_PRIVATE) = 1;
	stats = watched(reads, INHERITED, true, &tally, &until);
	check(!tally.n && stats.watch_armed >= 20 && !stats.watch_foreign,
	      "watch: private data at one address in three processes",
	      "%lu hits of %llu armed, %llu foreign", tally.n, stats.watch_armed,
	      stats.watch_foreign);

	tally = (struct tally){};
	stats = watched(reads, OWN_SHARED, true, &tally, &until);
	check(!tally.n && stats.watch_armed >= 20,
	      "watch: other pages at one address in three processes",
	      "%lu hits of %llu armed, %llu foreign", tally.n, stats.watch_armed,
	      stats.watch_foreign);

	tally = (struct tally){};
	*map(MAP_SHARED) = 1;
	until.enough_hits = 50;
	stats = watched(reads, INHERITED, true, &tally, &until);
	check(tally.n >= 50 && !tally.wrong, "watch: the next writer of shared memory",
	      "%lu hits of %llu armed, %lu wrong, %llu foreign", tally.n, stats.watch_armed,
	      tally.wrong, stats.watch_foreign);

	tally = (struct tally){};
	*map(MAP_PRIVATE) = 1;
	until.enough_hits = 0;
	stats = watched(reads_beside_clone, INHERITED, false, &tally, &until);
	check(!tally.n && stats.watch_armed >= 20, "watch: none of a process that is no target",
	      "%lu hits of %llu armed, %llu foreign", tally.n, stats.watch_armed,
	      stats.watch_foreign);
}

/* Counts the images that ran; each maps it anew. */
static volatile uint64_t *images(void)
{
	int fd = open("/tmp/images", O_RDWR | O_CREAT, 0600);
	volatile uint64_t *n;

	if (fd < 0 || ftruncate(fd, PAGE_BYTES))
		exit(1);
	n = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return n;
}

/* One image only reads the datum, the next only writes its own at that address. */
void test_image(void)
{
	volatile uint64_t *n = images();
	uint64_t end_ns = now_ns() + PHASE_NS;
	bool writes = *n % 2;
	uint64_t turns;

	map(MAP_PRIVATE);
	while (now_ns() < end_ns) {
		turns = 10000;
		if (writes)
			asm volatile("1: movq %%rax, (%1)\n"
				     "decq %0\n"
				     "jnz 1b\n"
				     : "+r"(turns)
				     : "r"(DATUM)
				     : "memory");
		else
			asm volatile("1: movq (%1), %%rax\n"
				     "decq %0\n"
				     "jnz 1b\n"
				     : "+r"(turns)
				     : "r"(DATUM)
				     : "rax", "memory");
	}
	++*n;
	execl("/proc/self/exe", "cptest", "image", NULL);
	exit(1);
}

static void first_image(void *unused)
{
	test_image();
}

static void test_exec(void)
{
	enum { IMAGES = 60 };
	struct cp_watch watch = next_writer;
	struct watch_until until = {.enough_hits = IMAGES};
	struct tally tally = {};
	struct cp_stats stats;
	volatile uint64_t *n;
	pid_t pid;

	unlink("/tmp/images");
	n = images();
	*n = 0;
	until.hits = (const uint64_t *)n;
	watch.timeout_us = 100000;
	pid = spawn(first_image, NULL);
	stats = watch_until(session(pid), &watch, 1000000, take, &tally, &until);
	reap(pid);
	check(!tally.n && *n >= IMAGES && stats.watch_armed >= 20,
	      "watch: none of the image after exec",
	      "%lu images, %lu hits of %llu armed, %llu foreign", *n, tally.n, stats.watch_armed,
	      stats.watch_foreign);
}

void test_whose(void)
{
	test_memory();
	test_exec();
}
