// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libcomm-exact itself: a thread writes, is joined, another reads; the files
 * must name exactly the bytes that went from one to the other.  Exits 0 pass,
 * 1 fail.  This file is instrumented.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact.h"

/* POINTER: the word `block` itself, which goes the same way. */
enum {
	PAGE_BYTES = 4096,
	MAPPED_BYTES = 1 << 20,
	POINTER = 8,
	ANYBODY = 0,
	WRITERS = 1200,
	READERS = 16,
	WORDS = 1 << 15,
};

typedef unsigned __int128 u128;

struct packed {
	char before;
	uint64_t odd;
} __attribute__((packed));

/* A granule each, so that each is read for the first time by itself. */
#define GRANULE __attribute__((aligned(8)))

static struct {
	uint8_t u8 GRANULE;
	uint16_t u16 GRANULE;
	uint32_t u32 GRANULE;
	uint64_t u64 GRANULE;
	u128 u128;
	struct packed packed GRANULE;
	char text[64] GRANULE;
} shared;

static uint64_t *block;
static volatile uint64_t sink;
static char other[64];
static int failed;

struct step {
	void (*run)(void);
	int tid;
};

static void *run_step(void *arg)
{
	struct step *step = arg;

	step->tid = syscall(SYS_gettid);
	step->run();
	return NULL;
}

static int in_thread(void (*run)(void))
{
	struct step step = {run, 0};
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_step, &step) || pthread_join(thread, NULL))
		abort();
	return step.tid;
}

/* Sums of functions.csv; NULL stands for any function, ANYBODY for any thread. */
static void sum(int src, int dst, const char *src_function, const char *dst_function,
		uint64_t *bytes, uint64_t *first)
{
	char line[512], from[128], to[128];
	unsigned long long b, f1;
	FILE *f;
	int s, d;

	*bytes = *first = 0;
	if (comm_exact_dump())
		abort();
	f = fopen("comm-exact.functions.csv", "r");
	if (!f)
		abort();
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%d,%d,%127[^,],%127[^,],%llu,%llu", &s, &d, from, to, &b, &f1) !=
			    6 ||
		    (src != ANYBODY && s != src) || d != dst ||
		    (src_function && strcmp(from, src_function)) ||
		    (dst_function && strcmp(to, dst_function)))
			continue;
		*bytes += b;
		*first += f1;
	}
	fclose(f);
}

static void expect_functions(const char *what, void (*writer)(void), void (*between)(void),
			     void (*reader)(void), const char *src_function,
			     const char *dst_function, uint64_t want, uint64_t want_first)
{
	uint64_t bytes, first;
	int a = in_thread(writer), b;

	if (between)
		between();
	b = in_thread(reader);
	sum(a, b, src_function, dst_function, &bytes, &first);
	if (bytes == want && first == want_first)
		return;
	printf("FAIL: %s: %llu bytes, %llu first; expected %llu and %llu\n", what,
	       (unsigned long long)bytes, (unsigned long long)first, (unsigned long long)want,
	       (unsigned long long)want_first);
	failed = 1;
}

static void expect(const char *what, void (*writer)(void), void (*between)(void),
		   void (*reader)(void), uint64_t want, uint64_t want_first)
{
	expect_functions(what, writer, between, reader, NULL, NULL, want, want_first);
}

static void write_widths(void)
{
	shared.u8 = 1;
	shared.u16 = 2;
	shared.u32 = 3;
	shared.u64 = 4;
	shared.u128 = 5;
	shared.packed.odd = 6;
}

static void __attribute__((noinline)) read_widths(void)
{
	sink = shared.u8;
	sink = shared.u16;
	sink = shared.u32;
	sink = shared.u64;
	sink = shared.u128;
	sink = shared.packed.odd;
}

static void read_thrice(void)
{
	int i;

	for (i = 0; i < 3; i++)
		sink = *(volatile uint64_t *)&shared.u64;
}

static void nothing(void)
{
}

static void overwrite(void)
{
	shared.u64 = 9;
}

static void write_text(void)
{
	memcpy(shared.text, "0123456789abcdefghijklm", 24);
}

static void set_text(void)
{
	memset(shared.text, 7, 24);
}

static void move_text(void)
{
	memmove(shared.text, other, 24);
}

static void read_text(void)
{
	memcpy(other, shared.text, 24);
}

static void through_pipe(void)
{
	static char sent[24];
	int fd[2];

	memset(sent, 7, 24);
	if (pipe(fd) || write(fd[1], sent, 24) != 24 || read(fd[0], shared.text, 24) != 24)
		abort();
	close(fd[0]);
	close(fd[1]);
}

static void into_pipe(void)
{
	int fd[2];

	if (pipe(fd) || write(fd[1], shared.text, 24) != 24)
		abort();
	close(fd[0]);
	close(fd[1]);
}

#define CHECK(condition)                                                     \
	do {                                                                 \
		if (!(condition)) {                                          \
			printf("FAIL: line %d: %s\n", __LINE__, #condition); \
			failed = 1;                                          \
		}                                                            \
	} while (0)

#define ATOMICS(type, p)                                                             \
	do {                                                                         \
		type old = 40;                                                       \
		__atomic_store_n(p, 3, __ATOMIC_RELEASE);                            \
		CHECK(__atomic_load_n(p, __ATOMIC_ACQUIRE) == 3);                    \
		CHECK(__atomic_exchange_n(p, 12, __ATOMIC_ACQ_REL) == 3);            \
		CHECK(__atomic_fetch_add(p, 4, __ATOMIC_RELAXED) == 12);             \
		CHECK(__atomic_fetch_sub(p, 1, __ATOMIC_RELAXED) == 16);             \
		CHECK(__atomic_fetch_and(p, 13, __ATOMIC_RELAXED) == 15);            \
		CHECK(__atomic_fetch_or(p, 2, __ATOMIC_RELAXED) == 13);              \
		CHECK(__atomic_fetch_xor(p, 5, __ATOMIC_RELAXED) == 15);             \
		CHECK(__atomic_fetch_nand(p, 8, __ATOMIC_RELAXED) == 10);            \
		CHECK(__atomic_load_n(p, __ATOMIC_RELAXED) == (type) ~(type)8);      \
		__atomic_store_n(p, 42, __ATOMIC_SEQ_CST);                           \
		CHECK(!__atomic_compare_exchange_n(p, &old, 50, 0, __ATOMIC_SEQ_CST, \
						   __ATOMIC_RELAXED));               \
		CHECK(old == 42);                                                    \
		CHECK(__atomic_compare_exchange_n(p, &old, 50, 0, __ATOMIC_SEQ_CST,  \
						  __ATOMIC_RELAXED));                \
	} while (0)

/* With the types that the compiler has for them. */
u128 __tsan_atomic128_load(const volatile void *p, int order);
void __tsan_atomic128_store(volatile void *p, u128 v, int order);
u128 __tsan_atomic128_fetch_add(volatile void *p, u128 v, int order);

static void write_atomics(void)
{
	ATOMICS(uint8_t, &shared.u8);
	ATOMICS(uint16_t, &shared.u16);
	ATOMICS(uint32_t, &shared.u32);
	ATOMICS(uint64_t, &shared.u64);
	/* gcc calls libatomic for this width; other code may call us. */
	__tsan_atomic128_store(&shared.u128, (u128)1 << 100, 0);
	CHECK(__tsan_atomic128_fetch_add(&shared.u128, 1, 0) == (u128)1 << 100);
}

static void fail_exchange(void)
{
	uint64_t old = 1;

	CHECK(!__atomic_compare_exchange_n(&shared.u64, &old, 2, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED));
}

static void read_atomics(void)
{
	sink = __atomic_load_n(&shared.u8, __ATOMIC_RELAXED);
	sink = __atomic_load_n(&shared.u16, __ATOMIC_RELAXED);
	sink = __atomic_load_n(&shared.u32, __ATOMIC_RELAXED);
	sink = __atomic_load_n(&shared.u64, __ATOMIC_RELAXED);
	CHECK(__tsan_atomic128_load(&shared.u128, 0) == ((u128)1 << 100) + 1);
}

static void write_block(void)
{
	block[0] = 1;
	block[1] = 2;
}

static void read_block(void)
{
	sink = block[0];
	sink = block[1];
}

static void make_page(void)
{
	block = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	write_block();
}

static void map_over(void)
{
	if (mmap(block, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != block)
		abort();
}

/* The new mapping is made as a library would that does not call our mmap(). */
static void unmap_and_map(void)
{
	if (munmap(block, PAGE_BYTES) ||
	    (void *)syscall(SYS_mmap, block, PAGE_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != block)
		abort();
}

static void make_zeroed(void)
{
	block = calloc(2, sizeof(*block));
}

static void make_small(void)
{
	block = malloc(2 * sizeof(*block));
	write_block();
}

static void make_large(void)
{
	block = malloc(MAPPED_BYTES);
	write_block();
}

/* Grown until it moves. */
static void grow_block(void)
{
	size_t bytes = MAPPED_BYTES;
	uint64_t *old = block;

	while (block == old && bytes < (size_t)1 << 32)
		block = realloc(block, bytes *= 2);
	if (!block || block == old)
		abort();
}

static uint64_t of_each[WRITERS];
static int turn;

static void write_one(void)
{
	of_each[turn] = 1;
}

static void __attribute__((noinline)) read_each(void)
{
	for (int i = 0; i < 3 * WRITERS; i++)
		sink = of_each[i % WRITERS];
}

/* More writers than a thread's first table has room for: it grows while the thread reads. */
static void expect_all_of_many(void)
{
	uint64_t bytes, first;

	for (turn = 0; turn < WRITERS; turn++)
		in_thread(write_one);
	sum(ANYBODY, in_thread(read_each), "write_one", "read_each", &bytes, &first);
	CHECK(bytes == 3 * sizeof(of_each));
}

static uint64_t word[WORDS];
static pthread_barrier_t all;

/* About half of the words, others for each reader. */
static int is_read(int reader, int i)
{
	return (unsigned int)(i + 1) * 2654435761u >> (31 - reader) & 1;
}

static void write_words(void)
{
	for (int i = 0; i < WORDS; i++)
		word[i] = 1;
}

static void *read_some(void *reader)
{
	int tid = syscall(SYS_gettid);

	pthread_barrier_wait(&all);
	for (int i = 0; i < 2 * WORDS; i++)
		if (is_read((intptr_t)reader, i % WORDS))
			sink = word[i % WORDS];
	return (void *)(intptr_t)tid;
}

/* More sets of readers than there are numbers for, made by all of them at once. */
static void expect_sets_of_readers(void)
{
	int writer = in_thread(write_words);
	pthread_t thread[READERS];
	void *tid;

	pthread_barrier_init(&all, NULL, READERS);
	for (intptr_t i = 0; i < READERS; i++)
		if (pthread_create(&thread[i], NULL, read_some, (void *)i))
			abort();
	for (int i = 0; i < READERS; i++) {
		uint64_t bytes, first, want = 0;

		pthread_join(thread[i], &tid);
		for (int j = 0; j < WORDS; j++)
			want += is_read(i, j) * sizeof(*word);
		sum(writer, (intptr_t)tid, "write_words", "read_some", &bytes, &first);
		CHECK(want && bytes == 2 * want && first == want);
	}
}

/* Who wrote, who reads, and who reads next have slots that are equal modulo 64. */
static void expect_first_of_all(void)
{
	int writer = in_thread(overwrite);

	for (int reader = 0; reader < 2; reader++) {
		uint64_t bytes, first;

		for (int i = 1; i < 64; i++)
			in_thread(nothing);
		sum(writer, in_thread(read_thrice), NULL, "read_thrice", &bytes, &first);
		CHECK(bytes == 24 && first == 8);
	}
}

int main(void)
{
	unsetenv("COMM_EXACT_OUT");
	expect("plain accesses", write_widths, NULL, read_widths, 1 + 2 + 4 + 8 + 16 + 8,
	       1 + 2 + 4 + 8 + 16 + 8);
	expect_functions("names of functions", write_widths, NULL, read_widths, "write_widths",
			 "read_widths", 39, 39);
	expect("reading three times", overwrite, NULL, read_thrice, 24, 8);
	expect("overwritten by another", overwrite, overwrite, read_thrice, 0, 0);
	expect("nobody wrote", nothing, NULL, read_thrice, 0, 0);
	expect("memcpy", write_text, NULL, read_text, 24, 24);
	expect("memset", set_text, NULL, read_text, 24, 24);
	expect("memmove", move_text, NULL, read_text, 24, 24);
	expect_functions("read()", through_pipe, NULL, read_text, "through_pipe", "read_text", 24,
			 24);
	expect_functions("write()", set_text, NULL, into_pipe, "set_text", "[pipe]", 24, 24);
	expect("atomics", write_atomics, NULL, read_atomics, 1 + 2 + 4 + 8 + 16,
	       1 + 2 + 4 + 8 + 16);
	expect("a failed exchange writes nothing", overwrite, fail_exchange, read_thrice, 24, 8);
	expect("a page mapped over", make_page, map_over, read_block, POINTER, POINTER);
	expect("a page unmapped", make_page, unmap_and_map, read_block, POINTER, POINTER);
	expect("the same page", make_page, NULL, read_block, POINTER + 16, POINTER + 16);
	expect("calloc", make_zeroed, NULL, read_block, POINTER + 16, POINTER + 16);
	expect("realloc that copies: the caller writes", make_small, grow_block, read_block, 0, 0);
	expect("realloc that remaps: the writer stays", make_large, grow_block, read_block, 16, 16);
	expect("reset", write_widths, comm_exact_reset, read_widths, 39, 39);
	expect("reset afterwards", write_widths, NULL, read_widths, 39, 39);
	expect_all_of_many();
	expect_sets_of_readers();
	expect_first_of_all();
	comm_exact_reset();
	{
		uint64_t bytes, first;

		sum(getpid(), getpid(), "write_widths", NULL, &bytes, &first);
		CHECK(!bytes);
		sum(getpid(), getpid(), NULL, NULL, &bytes, &first);
		CHECK(bytes < 4096);
	}
	return failed;
}
