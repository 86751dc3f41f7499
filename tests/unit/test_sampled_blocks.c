// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where memory was allocated: the library's table (alloc/), whose functions this program calls as a program that was
 * started with it would, read as commd does (sampled_blocks.c); and tables that lie.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../alloc/table.h"
#include "clock.h"
#include "maps.h"
#include "read_self.h"
#include "sampled.h"
#include "sampled_blocks.h"

#define ALONE static __attribute__((noinline, noclone))

enum { LARGE = 600 << 10, SECOND_NS = 1000 * 1000 * 1000 };

static struct {
	void *(*malloc)(size_t size);
	void *(*realloc)(void *block, size_t size);
	void (*free)(void *block);
} lib;

static struct comm_sampled_blocks *blocks;
static uint64_t ahead_ns; /* of the clock */
static unsigned int n_reads;
static int read_err;

static ssize_t read_counted(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	n_reads++;
	return read_err ? read_err : read_self(ctx, tgid, addr, buf, len_bytes);
}

static uint64_t now(void *ctx)
{
	(void)ctx;
	return comm_clock_now_ns() + ahead_ns;
}

static void look_at(uint32_t tgid)
{
	static char text[1 << 20];
	struct comm_names *names;
	struct comm_mapping *map;
	struct comm_maps *maps;
	size_t n_text, n;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/maps", tgid);
	file = fopen(path, "re");
	assert_non_null(file);
	n_text = fread(text, 1, sizeof(text), file);
	fclose(file);
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_maps_parse(maps, text, n_text, &map, &n), 0);
	comm_sampled_blocks_look(blocks, tgid, map, n);
	free(map);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

static int setup(void **state)
{
	const struct comm_sampled_reading reading = {read_counted, now, NULL};

	(void)state;
	assert_int_equal(comm_sampled_blocks_create(&reading, &blocks), 0);
	look_at((uint32_t)getpid());
	read_err = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	comm_sampled_blocks_destroy(blocks);
	return 0;
}

static int at_time(const void *addr, uint64_t time_ns, struct comm_allocation *ret)
{
	/* Whoever asks twice within 20 ms gets no second reading. */
	ahead_ns += SECOND_NS / 10;
	return comm_sampled_blocks_at(blocks, (uint32_t)getpid(), (uintptr_t)addr, time_ns, true,
				      ret);
}

static int at(const void *addr, struct comm_allocation *ret)
{
	return at_time(addr, comm_clock_now_ns() + ahead_ns, ret);
}

ALONE char *here(size_t bytes)
{
	char *block = lib.malloc(bytes);

	assert_non_null(block);
	memset(block, 1, bytes);
	return block;
}

ALONE char *there(size_t bytes)
{
	char *block = lib.malloc(bytes);

	assert_non_null(block);
	memset(block, 2, bytes);
	return block;
}

static bool is_in(const void *function, uint64_t code)
{
	return code - (uintptr_t)function < 100;
}

static void test_a_large_block_has_its_caller(void **state)
{
	struct comm_allocation a;
	char *block = here(LARGE);

	(void)state;
	assert_int_equal(at(block, &a), 0);
	assert_int_equal(a.start, (uintptr_t)block);
	assert_int_equal(a.size_bytes, LARGE);
	assert_true(is_in(here, a.code));
	assert_int_equal(a.n_words, COMM_ALLOCATION_WORDS);
	assert_int_equal(at(block + LARGE - 1, &a), 0);
	assert_int_equal(at(block + LARGE, &a), -ENOENT);
	assert_int_equal(at(block - 1, &a), -ENOENT);
	lib.free(block);
	assert_int_equal(at(block, &a), -ENOENT);
}

/* One address in turns: at each moment it is that of who had it then. */
static void test_an_address_in_turns(void **state)
{
	enum { TURNS = 600, KNOWN = 200 };
	struct comm_allocation a;
	uint64_t time_ns[TURNS];
	char *first = NULL;

	(void)state;
	for (int i = 0; i < TURNS; i++) {
		char *block = i % 2 ? there(LARGE) : here(LARGE);

		if (!first)
			first = block;
		assert_ptr_equal(block, first);
		time_ns[i] = comm_clock_now_ns();
		lib.free(block);
		if (i % 50 == 0)
			assert_int_equal(at(block, &a), -ENOENT);
	}
	assert_int_equal(at(first, &a), -ENOENT);
	for (int i = TURNS - KNOWN; i < TURNS; i++) {
		assert_int_equal(at_time(first, time_ns[i], &a), 0);
		assert_true(is_in(i % 2 ? (void *)there : (void *)here, a.code));
		assert_true(a.since_ns <= time_ns[i] && time_ns[i] <= a.until_ns);
	}
}

static void test_a_grown_block_stays_known(void **state)
{
	struct comm_allocation a;
	char *block = here(LARGE);

	(void)state;
	block = lib.realloc(block, 100);
	assert_int_equal(at(block, &a), 0);
	assert_int_equal(a.size_bytes, 100);
	assert_true(is_in(test_a_grown_block_stays_known, a.code) ||
		    a.code - (uintptr_t)test_a_grown_block_stays_known < 1000);
	lib.free(block);
	assert_int_equal(at(block, &a), -ENOENT);
}

/* What a program that allocates all the time pays is told by how often it is read. */
static void test_little_is_read(void **state)
{
	struct comm_allocation a;
	char *block = here(LARGE);
	uint64_t now_ns;

	(void)state;
	assert_int_equal(at(block, &a), 0);
	n_reads = 0;
	assert_int_equal(at(block, &a), 0);
	assert_int_equal(n_reads, 1); /* nothing has changed */
	now_ns = now(NULL);
	assert_int_equal(comm_sampled_blocks_at(blocks, (uint32_t)getpid(), (uintptr_t)block,
						a.until_ns, false, &a),
			 0);
	assert_int_equal(comm_sampled_blocks_at(blocks, (uint32_t)getpid(), (uintptr_t)block,
						now_ns + SECOND_NS, false, &a),
			 -EAGAIN);
	assert_int_equal(comm_sampled_blocks_at(blocks, (uint32_t)getpid(), (uintptr_t)block,
						now_ns, true, &a),
			 -EAGAIN);
	assert_int_equal(n_reads, 1);
	assert_int_equal(comm_sampled_blocks_at(blocks, 1, (uintptr_t)block, now_ns, true, &a),
			 -ENOSYS);
	lib.free(block);
}

static void *allocate_and_free(void *arg)
{
	char **kept = arg;
	unsigned int random = (unsigned int)(uintptr_t)arg;

	for (int i = 0; i < 3000; i++) {
		char **block = &kept[(random = random * 1103515245 + 12345) >> 16 & 15];

		lib.free(*block);
		*block = lib.malloc(LARGE + ((uintptr_t)block >> 3 & 15));
	}
	return NULL;
}

static void test_threads(void **state)
{
	static char *kept[4][16];
	struct comm_allocation a;
	pthread_t thread[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, allocate_and_free, kept[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 64; i++) {
		char *block = kept[i / 16][i % 16];

		if (!block)
			continue;
		assert_int_equal(at(block + 1000, &a), 0);
		assert_int_equal(a.start, (uintptr_t)block);
		assert_int_equal(a.size_bytes,
				 LARGE + ((uintptr_t)&kept[i / 16][i % 16] >> 3 & 15));
		assert_true(a.code - (uintptr_t)allocate_and_free < 500);
		lib.free(block);
		assert_int_equal(at(block + 1000, &a), -ENOENT);
	}
}

/* A child has what its parent had, and from then on its own. */
static void test_fork(void **state)
{
	char *before = here(LARGE), *after, byte;
	struct comm_allocation a;
	int up[2], down[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	pid = fork();
	if (!pid) {
		lib.free(before);
		after = there(2 * LARGE);
		if (write(up[1], &after, sizeof(after)) < 0 || read(down[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(up[0], &after, sizeof(after)), sizeof(after));
	look_at((uint32_t)pid);
	assert_int_equal(comm_sampled_blocks_at(blocks, (uint32_t)pid, (uintptr_t)after, now(NULL),
						true, &a),
			 0);
	assert_true(is_in(there, a.code));
	assert_int_equal(at(before, &a), 0);
	assert_true(is_in(here, a.code));
	assert_int_equal(write(down[1], "", 1), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
	lib.free(before);
}

static ucontext_t context, back;
static char *from_context;

static void in_context(void)
{
	from_context = here(LARGE);
}

/* Nothing is above the stack of a coroutine. */
static void test_the_end_of_a_stack(void **state)
{
	enum { STACK = 64 << 10 };
	char *stack = mmap(NULL, STACK + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct comm_allocation a;

	(void)state;
	assert_int_equal(mprotect(stack, STACK, PROT_READ | PROT_WRITE), 0);
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = STACK;
	context.uc_link = &back;
	makecontext(&context, in_context, 0);
	errno = 0;
	assert_int_equal(swapcontext(&back, &context), 0);
	assert_int_equal(errno, 0);
	assert_int_equal(at(from_context, &a), 0);
	assert_in_range(a.n_words, 1, COMM_ALLOCATION_WORDS - 1);
	assert_int_equal(a.sp + a.n_words * 8, (uintptr_t)stack + STACK);
	lib.free(from_context);
	munmap(stack, STACK + 4096);
}

/* Smaller ones by their bytes: the mean of exponential distances that are 512 KiB at most is 1 - 1/e of that. */
static void test_small_blocks_are_drawn(void **state)
{
	enum { N = 20000, BYTES = 5 << 10 };
	static char *block[N];
	struct comm_allocation a;
	uint64_t now_ns;
	int known = 0;

	(void)state;
	for (int i = 0; i < N; i++)
		block[i] = lib.malloc(BYTES);
	assert_true(at(block[0], &a) <= 0);
	now_ns = comm_clock_now_ns();
	for (int i = 0; i < N; i++)
		known += !at_time(block[i], now_ns, &a);
	assert_in_range(known, 240, 380);
	for (int i = 0; i < N; i++)
		lib.free(block[i]);
}

/* An array of pointers to rows, as programs have them: a bucket has room for four. */
static void test_blocks_at_regular_distances(void **state)
{
	enum { N = 1000, ROOM = 4 };

	(void)state;
	for (uint64_t distance = 16; distance < 20000; distance += 16) {
		uint8_t n[1 << ALLOC_BUCKET_BITS] = {0};
		unsigned int left_out = 0;

		for (uint64_t i = 0; i < N; i++)
			left_out += n[alloc_table_bucket(0x55d4d703e700 + i * distance)]++ >= ROOM;
		assert_in_range(left_out, 0, N / 50);
	}
}

/* With no place left, what is larger takes one; but for blocks whose bucket is full. */
static void test_a_full_table(void **state)
{
	enum { N = COMM_ALLOC_BLOCKS + 100, MORE = 16 };
	char **block = calloc(N, sizeof(*block)), *smaller[MORE], *larger[MORE];
	int known = 0, known_smaller = 0, known_larger = 0;
	struct comm_allocation a;

	(void)state;
	for (int i = 0; i < N; i++)
		block[i] = lib.malloc(LARGE);
	for (int i = 0; i < MORE; i++) {
		smaller[i] = lib.malloc(LARGE - 4096);
		larger[i] = lib.malloc(LARGE + 4096);
	}
	for (int i = 0; i < MORE; i++) {
		known_smaller += !at(smaller[i], &a);
		known_larger += !at(larger[i], &a);
		lib.free(smaller[i]);
		lib.free(larger[i]);
	}
	assert_in_range(known_larger, MORE / 2, MORE);
	assert_in_range(known_smaller, 0, known_larger - 1);
	for (int i = 0; i < N; i++) {
		known += !at(block[i], &a);
		lib.free(block[i]);
		assert_int_equal(at(block[i], &a), -ENOENT);
	}
	assert_in_range(known, COMM_ALLOC_BLOCKS * 8 / 10, COMM_ALLOC_BLOCKS);
	free(block);
}

/* What a program keeps from its begin on is there after any number of others. */
static void test_what_is_kept(void **state)
{
	enum { KEPT = 1000 };
	static char *kept[KEPT];
	struct comm_allocation a;
	int known = 0;

	(void)state;
	for (int i = 0; i < KEPT; i++)
		kept[i] = lib.malloc(LARGE);
	for (int i = 0; i < 3 * COMM_ALLOC_BLOCKS; i++)
		lib.free(lib.malloc(LARGE));
	for (int i = 0; i < KEPT; i++) {
		known += !at(kept[i], &a);
		lib.free(kept[i]);
	}
	assert_in_range(known, KEPT - 20, KEPT);
}

/* A library that somebody else wrote, in this process's memory. */
static struct {
	Elf64_Ehdr head;
	Elf64_Phdr segment[2];
	struct {
		Elf64_Nhdr head;
		char owner[12];
		uint64_t distance;
	} note;
	struct comm_alloc_table table;
} lie;

static struct comm_alloc_block *const lied = lie.table.block;

static void begin_lie(void)
{
	const struct comm_mapping m = {
		.start = (uintptr_t)&lie,
		.end = (uintptr_t)(&lie + 1),
		.kind = COMM_MAP_FILE,
		.readable = true,
		.path = "/tmp/libcomm-alloc.so",
	};

	memset(&lie, 0, sizeof(lie));
	memcpy(lie.head.e_ident, ELFMAG, SELFMAG);
	lie.head.e_ident[EI_CLASS] = ELFCLASS64;
	lie.head.e_phentsize = sizeof(*lie.segment);
	lie.head.e_phoff = offsetof(typeof(lie), segment);
	lie.head.e_phnum = 2;
	lie.segment[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(lie)};
	lie.segment[1] = (Elf64_Phdr){.p_type = PT_NOTE,
				      .p_vaddr = offsetof(typeof(lie), note),
				      .p_filesz = sizeof(lie.note),
				      .p_align = 4};
	lie.note.head = (Elf64_Nhdr){9, 8, COMM_ALLOC_NOTE};
	memcpy(lie.note.owner, "commprof", 9);
	lie.note.distance = offsetof(typeof(lie), table) - offsetof(typeof(lie), note.distance);
	lie.table.version = COMM_ALLOC_VERSION;
	lie.table.n_blocks = COMM_ALLOC_BLOCKS;
	comm_sampled_blocks_look(blocks, (uint32_t)getpid(), &m, 1);
}

/* The same as the library would say it. */
static void say(uint32_t place, uint64_t start, uint64_t size_bytes, uint64_t since_ns,
		uint64_t until_ns)
{
	lied[place] = (struct comm_alloc_block){start, size_bytes, since_ns, until_ns};
	lie.table.origin[place] = (struct comm_alloc_origin){
		.start = start, .size_bytes = size_bytes, .since_ns = since_ns, .code = 1234};
	lie.table.changes++;
}

static int said(uint64_t addr, struct comm_allocation *ret)
{
	ahead_ns += SECOND_NS / 10;
	return comm_sampled_blocks_at(blocks, (uint32_t)getpid(), addr, now(NULL), true, ret);
}

static void test_lies(void **state)
{
	static const struct comm_alloc_block lies[] = {
		{0, 4096, 1, COMM_ALLOC_LIVE},
		{1 << 20, 0, 1, COMM_ALLOC_LIVE},
		{1 << 20, UINT64_MAX, 1, COMM_ALLOC_LIVE},
		{UINT64_C(1) << 47, 4096, 1, COMM_ALLOC_LIVE},
		{(UINT64_C(1) << 47) - 1, 2, 1, COMM_ALLOC_LIVE},
		{1 << 20, 4096, 1, COMM_ALLOC_BUSY},
		{1 << 20, 4096, UINT64_MAX - 1, COMM_ALLOC_LIVE},
		{1 << 20, 4096, 100, 99},
	};
	struct comm_allocation a;

	(void)state;
	begin_lie();
	for (uint32_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		say(i, lies[i].start, lies[i].size_bytes, lies[i].since_ns, lies[i].until_ns);
	assert_int_equal(said(1 << 20, &a), -ENOENT);
	assert_int_equal(said(0, &a), -ENOENT);
	assert_int_equal(said(UINT64_MAX, &a), -ENOENT);
	say(9, 1 << 20, 4096, 1, COMM_ALLOC_LIVE);
	assert_int_equal(said((1 << 20) + 4095, &a), 0);
	assert_int_equal(a.code, 1234);
	say(9, 1 << 20, 4096, 2, COMM_ALLOC_LIVE);
	lie.table.origin[9].n_words = COMM_ALLOC_WORDS + 1;
	assert_int_equal(said(1 << 20, &a), -EAGAIN);
	lie.table.origin[9].n_words = UINT64_MAX;
	assert_int_equal(said(1 << 20, &a), -EAGAIN);
	/* It is another's by now. */
	lie.table.origin[9].n_words = 0;
	lie.table.origin[9].since_ns = 3;
	assert_int_equal(said(1 << 20, &a), -EAGAIN);
	lie.table.origin[9].since_ns = 2;
	assert_int_equal(said(1 << 20, &a), 0);
	/* A thousand blocks that are one within another. */
	for (uint32_t i = 0; i < 1000; i++)
		say(100 + i, (2 << 20) + i, 4096, 1, i == 500 ? COMM_ALLOC_LIVE : 2);
	assert_int_equal(said((2 << 20) + 700, &a), 0);
	assert_int_equal(a.start, (2 << 20) + 500);
}

static void test_what_is_no_table(void **state)
{
	struct comm_allocation a;

	(void)state;
	begin_lie();
	say(0, 1 << 20, 4096, 1, COMM_ALLOC_LIVE);
	lie.table.version = 0;
	assert_int_equal(said(1 << 20, &a), -ENOENT);
	lie.table.version = COMM_ALLOC_VERSION;
	assert_int_equal(said(1 << 20, &a), 0);
	/* Its memory goes: it is left alone after three times. */
	read_err = -EIO;
	for (int i = 0; i < 3; i++)
		assert_int_equal(said(1 << 20, &a), -EAGAIN);
	assert_int_equal(said(1 << 20, &a), -ENOSYS);
	read_err = 0;
	assert_int_equal(said(1 << 20, &a), -ENOSYS);
	/* Another program, with the library at another place. */
	look_at((uint32_t)getpid());
	assert_int_equal(said(1 << 20, &a), -ENOENT);
	comm_sampled_blocks_look(blocks, (uint32_t)getpid(), NULL, 0);
	assert_int_equal(said(1 << 20, &a), -ENOSYS);
	begin_lie();
	lie.table.n_blocks = COMM_ALLOC_BLOCKS + 1;
	assert_int_equal(said(1 << 20, &a), -ENOENT);
	assert_int_equal(said(1 << 20, &a), -ENOSYS);
}

/* Any bytes at all: no block is told that its table does not hold at that time. */
static void test_any_table(void **state)
{
	struct comm_allocation a;
	unsigned int found = 0;

	(void)state;
	begin_lie();
	srandom(1);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 500; i++) {
			uint32_t place = (uint32_t)random() % COMM_ALLOC_BLOCKS;

			say(place, (uint64_t)random() % 5000, (uint64_t)random() % 3000,
			    (uint64_t)random() % 4,
			    random() % 3 ? UINT64_MAX : (uint64_t)random() % 4);
		}
		for (int i = 0; i < 20; i++) {
			uint64_t addr = (uint64_t)random() % 9000;

			if (said(addr, &a))
				continue;
			found++;
			assert_true(addr >= a.start && addr - a.start < a.size_bytes);
			assert_true(a.until_ns > a.since_ns && a.n_words <= COMM_ALLOCATION_WORDS);
		}
	}
	assert_true(found > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_large_block_has_its_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_address_in_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_grown_block_stays_known, setup, teardown),
		cmocka_unit_test_setup_teardown(test_little_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_end_of_a_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_small_blocks_are_drawn, setup, teardown),
		cmocka_unit_test(test_blocks_at_regular_distances),
		cmocka_unit_test_setup_teardown(test_a_full_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any_table, setup, teardown),
	};
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	void *library;

	if (n <= 0)
		return 1;
	path[n] = '\0';
	*strstr(path, "/tests/unit/") = '\0';
	strncat(path, "/alloc/libcomm-alloc.so", sizeof(path) - strlen(path) - 1);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	lib.malloc = dlsym(library, "malloc");
	lib.realloc = dlsym(library, "realloc");
	lib.free = dlsym(library, "free");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
