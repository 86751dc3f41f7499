// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of jemalloc (jemalloc_extents.c, heap_blocks.c): those of Debian's library in this very process,
 * beside glibc's malloc, whose sizes are known.  The library's thread-local variables want more room than
 * libraries have that are loaded late, so the test begins once more with a setting of glibc's.
 *
 *	test_jemalloc [LIBRARY]		another one (tests/e2e/jemalloc.sh)
 */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "hash.h"
#include "jemalloc_library.h"
#include "own_heap.h"

enum { LIVE = 40000, QUESTIONS = 50000, SLAB_MOST = 14336 };

static struct {
	void *(*malloc)(size_t bytes);
	void (*free)(void *p);
	void *(*realloc)(void *p, size_t bytes);
	void *(*aligned_alloc)(size_t alignment, size_t bytes);
	size_t (*usable)(const void *p);
	int (*mallctl)(const char *name, void *old, size_t *old_bytes, void *new, size_t bytes);
} je;

static int told(char *p, struct comm_block *ret)
{
	int err = -ENODATA;

	/* It may be in the second reading from now on that has it. */
	for (int i = 0; i < 5 && err; i++, clock_ns += 4ull * SECOND_NS)
		err = block_of(p, ret);
	return err;
}

static void expect_block(char *p, size_t bytes)
{
	const size_t at[] = {0, bytes / 2, bytes - 1};
	struct comm_block b;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(told(p + at[i], &b), 0);
		assert_int_equal(b.start, (uintptr_t)p);
		assert_int_equal(b.size_bytes, je.usable(p));
		assert_in_range(bytes, b.least_bytes, b.size_bytes);
	}
}

/* One block of each class, and its neighbours, which have asked for as little as they could. */
static void blocks_of_all_classes(void **state)
{
	enum { N = 3, MOST = 64 << 20 };
	/* By blocks of 8 bytes alone no layout is known. */
	char *others[] = {je.malloc(100), je.malloc(1000), je.malloc(20000)}, *p[N];
	size_t bytes = 1, n_classes = 0;

	(void)state;
	while (bytes <= MOST) {
		for (size_t i = 0; i < N; i++)
			p[i] = je.malloc(bytes);
		for (size_t i = 0; i < N; i++)
			expect_block(p[i], bytes);
		bytes = je.usable(p[0]) + 1;
		n_classes++;
		for (size_t i = 0; i < N; i++)
			je.free(p[i]);
	}
	for (size_t i = 0; i < 3; i++)
		je.free(others[i]);
	print_message("%zu classes\n", n_classes);
	assert_in_range(n_classes, 9 + 4 * 19, 12 + 4 * 19);
}

static void an_aligned_block(void **state)
{
	char *p = je.aligned_alloc(1 << 16, 40000), *q = je.aligned_alloc(512, 1000);
	struct comm_block b;

	(void)state;
	assert_int_equal(told(p + 39999, &b), 0);
	assert_int_equal(b.start, (uintptr_t)p);
	expect_block(q, 1000);
	je.free(p);
	je.free(q);
}

/* Of 3 GiB, which reach into several leaves of the tree, and of which no page was ever touched. */
static void a_block_of_gigabytes(void **state)
{
	size_t bytes = UINT64_C(3) << 30;
	char *small = je.malloc(100), *p = je.malloc(bytes);

	(void)state;
	assert_non_null(p);
	expect_block(small, 100);
	expect_block(p, bytes);
	je.free(p);
	je.free(small);
}

static void freed_memory_is_no_block(void **state)
{
	char *p = je.malloc(300), *beside = je.malloc(300), *large = je.malloc(300000);
	struct comm_block b;

	(void)state;
	assert_in_range(labs(beside - p), 320, 4095); /* one slab, which is not empty without p */
	expect_block(p, 300);
	expect_block(large, 300000);
	je.free(p);
	je.free(large);
	/* What a thread keeps for itself is in use for the rest of the allocator. */
	assert_int_equal(je.mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	clock_ns += 10ull * SECOND_NS;
	assert_int_not_equal(told(p, &b), 0);
	assert_int_not_equal(told(large + 150000, &b), 0);
	expect_block(beside, 300);
	je.free(beside);
}

/* What is of glibc's malloc is told as such, and what is nobody's is not told. */
static void memory_of_others(void **state)
{
	static char variable[100];
	char *p, *mapped, *own, local;
	struct comm_block b;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip(); /* malloc is the sanitizer's */
#endif
	p = malloc(1000);
	mapped = malloc(5000000);
	own = je.malloc(1000);
	expect_block(own, 1000);
	assert_int_equal(told(p + 500, &b), 0);
	assert_int_equal(b.start, (uintptr_t)p);
	assert_int_equal(b.size_bytes, malloc_usable_size(p));
	assert_int_equal(told(mapped + 2000000, &b), 0);
	assert_int_equal(b.start, (uintptr_t)mapped);
	assert_int_not_equal(told(variable, &b), 0);
	assert_int_not_equal(told(&local, &b), 0);
	/* The tree is found, too, if what is asked for first is not in it: a few questions later. */
	teardown(NULL);
	setup(NULL);
	assert_int_equal(block_of(mapped + 2000000, &b), 0);
	for (int i = 0; block_of(own, &b); i++, clock_ns += 3 * (uint64_t)SECOND_NS)
		assert_true(i < 4);
	free(p);
	free(mapped);
	je.free(own);
}

/* Where no library has variables that a tree could be in, nobody looks for one. */
static void without_a_library(void **state)
{
	char *p = je.malloc(1000);
	struct own_place own = place_of((uintptr_t)p);
	struct comm_block b;

	(void)state;
	own.n_zeroed = 0;
	for (int i = 0; i < 10; i++, clock_ns += SECOND_NS)
		assert_int_equal(block_at(&own, (uintptr_t)p, &b), -ENOENT);
	je.free(p);
}

static struct {
	char *p;
	size_t bytes;
} live[LIVE];

static size_t size_within(size_t most, uint64_t *seed)
{
	/* As many of each doubling, as programs have it. */
	size_t bytes = 1 + comm_hash_next(seed) % most;

	return 1 + (bytes >> comm_hash_next(seed) % 10);
}

struct score {
	unsigned int right, wrong, refused;
};

static void ask_one(const struct own_place *own, size_t n, uint64_t *seed, struct score *ret)
{
	size_t at = comm_hash_next(seed) % n;
	uint64_t addr = (uintptr_t)live[at].p + comm_hash_next(seed) % live[at].bytes;
	struct comm_block b;

	clock_ns += SECOND_NS / 5000;
	if (block_at(own, addr, &b))
		ret->refused++;
	else if (b.start == (uintptr_t)live[at].p && b.size_bytes == je.usable(live[at].p))
		ret->right++;
	else
		ret->wrong++;
}

static void print_score(const struct score *s, unsigned int most_of)
{
	unsigned int all = s->right + s->wrong + s->refused;

	print_message("%.2f %% right, %.3f %% wrong, %.2f %% refused of %u\n",
		      100. * s->right / all, 100. * s->wrong / all, 100. * s->refused / all, all);
	assert_true(s->wrong * 1000 <= s->right);
	assert_true(s->right > s->refused * most_of);
}

/* The mapping of each block may be another. */
static void ask_many(size_t n, uint64_t *seed, struct score *ret)
{
	struct own_place own;

	for (int i = 0; i < QUESTIONS; i++) {
		if (i % 1000 == 0)
			own = place_of((uintptr_t)live[comm_hash_next(seed) % n].p);
		ask_one(&own, n, seed, ret);
	}
}

/* Where blocks of one size were, others come to lie. */
static void blocks_where_others_were(void **state)
{
	static const size_t most[] = {100, 2000, 60000};
	struct score all = {0};
	uint64_t seed = 7;
	size_t n = 0;

	(void)state;
	for (size_t round = 0; round < 9; round++) {
		while (n > round % 5 * 1000)
			je.free(live[--n].p);
		for (size_t bytes = 0; bytes < 8u << 20 && n < LIVE; bytes += live[n++].bytes) {
			live[n].bytes = size_within(most[round % 3], &seed);
			live[n].p = je.malloc(live[n].bytes);
		}
		clock_ns += 10ull * SECOND_NS;
		ask_many(n, &seed, &all);
	}
	print_score(&all, 3);
	while (n)
		je.free(live[--n].p);
}

/* 5,000 of 8,000 blocks are replaced or change their size in a second. */
static void a_heap_that_changes(void **state)
{
	struct score all = {0};
	struct own_place own;
	uint64_t seed = 7;
	enum { N = 8000 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		live[i].bytes = size_within(20000, &seed);
		live[i].p = je.malloc(live[i].bytes);
	}
	for (int i = 0; i < QUESTIONS; i++) {
		size_t at = comm_hash_next(&seed) % N;

		live[at].bytes = size_within(20000, &seed);
		if (i % 2) {
			je.free(live[at].p);
			live[at].p = je.malloc(live[at].bytes);
		} else {
			live[at].p = je.realloc(live[at].p, live[at].bytes);
		}
		if (i % 1000 == 0)
			own = place_of((uintptr_t)live[0].p);
		ask_one(&own, N, &seed, &all);
	}
	print_message("blocks are replaced: ");
	print_score(&all, 1);
	for (size_t i = 0; i < N; i++)
		je.free(live[i].p);
}

static atomic_bool is_over;

/* Blocks that come and go all the time, in the same slabs. */
static void *churn(void *seed_of)
{
	uint64_t seed = (uintptr_t)seed_of;
	static _Thread_local void *own[4096];

	while (!is_over) {
		size_t at = comm_hash_next(&seed) % 4096;

		je.free(own[at]);
		own[at] = je.malloc(size_within(30000, &seed));
	}
	for (size_t i = 0; i < 4096; i++)
		je.free(own[i]);
	return NULL;
}

/* Readings meet the allocator while it works. */
static void beside_threads_that_allocate(void **state)
{
	struct score all = {0};
	pthread_t thread[2];
	uint64_t seed = 7;
	enum { N = 8000 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < N; i++) {
		live[i].bytes = size_within(20000, &seed);
		live[i].p = je.malloc(live[i].bytes);
	}
	ask_many(N, &seed, &all);
	is_over = true;
	for (size_t i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	print_message("beside threads: ");
	print_score(&all, 1);
	for (size_t i = 0; i < N; i++)
		je.free(live[i].p);
}

static int load(const char *library, char **argv)
{
	void *lib = load_library(library, argv);

	if (!lib)
		return -1;
	*(void **)&je.malloc = dlsym(lib, "malloc");
	*(void **)&je.free = dlsym(lib, "free");
	*(void **)&je.realloc = dlsym(lib, "realloc");
	*(void **)&je.aligned_alloc = dlsym(lib, "aligned_alloc");
	*(void **)&je.usable = dlsym(lib, "malloc_usable_size");
	*(void **)&je.mallctl = dlsym(lib, "mallctl");
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(blocks_of_all_classes, setup, teardown),
		cmocka_unit_test_setup_teardown(an_aligned_block, setup, teardown),
		cmocka_unit_test_setup_teardown(a_block_of_gigabytes, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_memory_is_no_block, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_library, setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_where_others_were, setup, teardown),
		cmocka_unit_test_setup_teardown(a_heap_that_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(beside_threads_that_allocate, setup, teardown),
	};

	if (load(argc > 1 ? argv[1] : "libjemalloc.so.2", argv))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
