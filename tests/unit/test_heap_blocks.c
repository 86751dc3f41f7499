// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks of glibc's malloc (glibc_chunks.c, heap_blocks.c): those of this very process, whose sizes are known,
 * and of memory that lies.
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "hash.h"
#include "own_heap.h"

enum { LIVE = 40000 };

static void expect_block(void *p, size_t bytes)
{
	struct comm_block b;

	assert_int_equal(block_of((char *)p + bytes / 2, &b), 0);
	assert_int_equal(b.start, (uintptr_t)p);
	assert_int_equal(b.size_bytes, malloc_usable_size(p));
	assert_in_range(bytes, b.least_bytes, b.size_bytes);
}

static void blocks_of_the_main_heap(void **state)
{
	static const size_t bytes[] = {1, 24, 25, 100, 1000, 4096, 16000, 16384, 100000};
	enum { N = sizeof(bytes) / sizeof(*bytes) };
	void *p[N];

	(void)state;
	for (size_t i = 0; i < N; i++)
		p[i] = malloc(bytes[i]);
	for (size_t i = 0; i < N; i++)
		expect_block(p[i], bytes[i]);
	for (size_t i = 0; i < N; i++)
		free(p[i]);
}

static void a_mapping_of_its_own(void **state)
{
	void *p = malloc(5000000), *q = malloc(300000);

	(void)state;
	expect_block(p, 5000000);
	expect_block(q, 300000);
	free(p);
	free(q);
}

struct in_arena {
	void *first, *small, *large;
};

static void *fill_an_arena(void *ret)
{
	struct in_arena *in = ret;

	in->first = malloc(444);
	/* Past its first heap of 64 MiB. */
	for (int i = 0; i < 700; i++)
		if (!malloc(100000))
			return NULL;
	in->small = malloc(333);
	in->large = malloc(77777);
	return ret;
}

static void blocks_of_an_arena(void **state)
{
	struct in_arena in = {0};
	pthread_t thread;

	(void)state;
	pthread_create(&thread, NULL, fill_an_arena, &in);
	pthread_join(thread, NULL);
	assert_int_not_equal((uintptr_t)in.first >> 26, (uintptr_t)in.small >> 26);
	expect_block(in.first, 444);
	expect_block(in.small, 333);
	expect_block(in.large, 77777);
}

static void freed_memory_is_no_block(void **state)
{
	char *p = malloc(5000), *behind = malloc(100);
	struct comm_block b;
	uintptr_t was = (uintptr_t)p + 100;

	(void)state;
	expect_block(p, 5000);
	free(p);
	clock_ns += 10ull * SECOND_NS;
	assert_int_equal(block_of((const void *)was, &b), -ENODATA);
	free(behind);
}

/* What one reading says is told to nobody, and not what two say that contradict each other. */
static void two_readings_agree(void **state)
{
	char *p = malloc(3000), *end = malloc(3000);
	struct own_place m = place_of((uintptr_t)p);
	struct comm_block b;

	(void)state;
	for (int i = 0; i < 1000 && block_at(&m, (uintptr_t)p, &b); i++)
		clock_ns += SECOND_NS / 1000; /* the whole heap has been gone through */
	free(p);
	p = malloc(2000);
	clock_ns += 10ull * SECOND_NS;
	assert_int_not_equal(block_at(&m, (uintptr_t)p, &b), 0);
	clock_ns += 10ull * SECOND_NS;
	assert_int_equal(block_at(&m, (uintptr_t)p, &b), 0);
	assert_int_equal(b.size_bytes, malloc_usable_size(p));
	free(p);
	free(end);
}

static struct {
	char *p;
	size_t bytes, written;
} live[LIVE];

static void take_block(size_t at, size_t most, uint64_t *seed)
{
	live[at].bytes = 1 + comm_hash_next(seed) % most;
	live[at].p = malloc(live[at].bytes);
	/* As a program may have come no further yet: but it reads what it wrote. */
	live[at].written = 1 + comm_hash_next(seed) % live[at].bytes;
	memset(live[at].p, (int)at, live[at].written);
}

/* Asks for an address in one of n blocks; counts what is told right, wrong, and not at all. */
static void score(const struct own_place *m, size_t n, uint64_t *seed, unsigned int ret[3])
{
	size_t at = comm_hash_next(seed) % n;
	uint64_t addr = (uintptr_t)live[at].p + comm_hash_next(seed) % live[at].written;
	struct comm_block b;
	int err;

	if (addr < m->m.start || addr >= m->m.end)
		return;
	clock_ns += SECOND_NS / 5000;
	err = block_at(m, addr, &b);
	ret[err ? 2 : b.start != (uintptr_t)live[at].p]++;
}

/* Arrays come to lie where small blocks were, whose headers are still there, and the other way round. */
static void large_blocks_where_small_ones_were(void **state)
{
	static const size_t most[] = {100, 2000, 60000};
	unsigned int all[3] = {0};
	struct own_place m;
	uint64_t seed = 7;
	size_t n = 0;

	(void)state;
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	for (size_t round = 0; round < 15; round++) {
		while (n > round % 5 * 1000)
			free(live[--n].p);
		for (size_t bytes = 0; bytes < 8u << 20 && n < LIVE; bytes += live[n++].bytes)
			take_block(n, most[round % 3], &seed);
		m = place_of((uintptr_t)live[0].p);
		clock_ns += 10ull * SECOND_NS;
		for (int i = 0; i < 10000; i++)
			score(&m, n, &seed, all);
	}
	print_message("%u right, %u wrong, %u not told\n", all[0], all[1], all[2]);
	assert_true(all[1] * 500 < all[0]);
	/* 22,000 to 38,000 are not told, by where the heap happens to lie. */
	assert_true(all[0] > all[2] * 2);
	while (n)
		free(live[--n].p);
}

/* One block in some thousand is given back and another taken, all the time. */
static void a_heap_that_changes(void **state)
{
	unsigned int all[3] = {0};
	struct own_place m;
	uint64_t seed = 7;
	enum { N = 8000 };

	(void)state;
	for (size_t i = 0; i < N; i++)
		take_block(i, 500, &seed);
	for (int i = 0; i < 100000; i++) {
		size_t at = comm_hash_next(&seed) % N;

		free(live[at].p);
		take_block(at, 500, &seed);
		if (i % 1000 == 0)
			m = place_of((uintptr_t)live[0].p);
		score(&m, N, &seed, all);
	}
	print_message("%u right, %u wrong, %u not told\n", all[0], all[1], all[2]);
	assert_true(all[1] * 20 < all[0]);
	for (size_t i = 0; i < N; i++)
		free(live[i].p);
}

enum { LAID_BEGIN = 1 << 30, LAID_PIECES = 16, LAID_BYTES = LAID_PIECES * COMM_PIECE_BYTES };

static uint64_t laid[LAID_BYTES / 8];

/* The heap whose memory is laid. */
static ssize_t read_laid(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	size_t left = addr - LAID_BEGIN < LAID_BYTES ? LAID_BEGIN + LAID_BYTES - addr : 0;

	(void)ctx, (void)tgid;
	len_bytes = len_bytes < left ? len_bytes : left;
	memcpy(buf, (char *)laid + (addr - LAID_BEGIN), len_bytes);
	return (ssize_t)len_bytes;
}

/* The header of a chunk in use, behind one in use. */
static void lay(uint64_t at, uint64_t bytes)
{
	laid[at / 8] = 0;
	laid[at / 8 + 1] = bytes | 1;
}

/* Where the block begins that is told of an address in the heap, from its start; 0: none is. */
static uint64_t laid_block(struct comm_heap_blocks *of, uint64_t addr)
{
	const struct comm_mapping m = {
		.start = LAID_BEGIN,
		.end = LAID_BEGIN + LAID_BYTES,
		.readable = true,
		.writable = true,
		.kind = COMM_MAP_HEAP,
		.path = "[heap]",
	};
	const struct comm_heap_place place = {.addr = LAID_BEGIN + addr, .m = &m};
	struct comm_blocks_found found;

	for (int i = 0; i < 100; i++, clock_ns += SECOND_NS / 5) {
		if (comm_heap_blocks_at(of, 1, &place, &found))
			continue;
		for (size_t j = 0; j < found.n; j++)
			if (place.addr - found.block[j].start < found.block[j].size_bytes)
				return found.block[j].start - LAID_BEGIN;
	}
	return 0;
}

/*
 * An array that nobody has filled yet lies where there were small blocks and a large one, whose headers are
 * still there but in a part that was written.  The large one contradicts nothing where it begins; that piece does.
 */
static void headers_in_an_array(void **state)
{
	enum {
		SMALL = 64,
		ARRAY = 2 * COMM_PIECE_BYTES,
		WRITTEN = 6 * COMM_PIECE_BYTES,
		LARGE = 8 * COMM_PIECE_BYTES - SMALL,
		BEHIND = 11 * COMM_PIECE_BYTES,
		TOP = 14 * COMM_PIECE_BYTES,
		ASKED = 9 * COMM_PIECE_BYTES,
	};
	static const struct comm_heap_reading reading = {read_laid, now, spent, NULL, NULL, NULL};
	struct comm_heap_blocks *of;
	uint64_t told;

	(void)state;
	assert_int_equal(comm_heap_blocks_create(&reading, &of), 0);
	for (uint64_t at = 0; at < LARGE; at += SMALL)
		lay(at, SMALL);
	lay(LARGE, TOP - LARGE);
	lay(TOP, LAID_BYTES - TOP);
	assert_int_equal(laid_block(of, ASKED), LARGE + 16);
	lay(ARRAY, BEHIND - ARRAY);
	lay(BEHIND, TOP - BEHIND);
	memset((char *)laid + WRITTEN, 'x', COMM_PIECE_BYTES);
	clock_ns += 10ull * SECOND_NS;
	told = laid_block(of, ASKED);
	assert_true(!told || told == ARRAY + 16);
	comm_heap_blocks_destroy(of);
}

enum { HUGE_BEGIN = 1 << 30 };
static const uint64_t HUGE_BYTES = UINT64_C(8) << 30;

/* A heap that is one chunk of 8 GiB, of which the target has touched both ends alone. */
static ssize_t read_huge(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	const uint64_t head[2] = {0, HUGE_BYTES | 1};

	(void)ctx, (void)tgid;
	memset(buf, 0, len_bytes);
	if ((addr == HUGE_BEGIN || addr == HUGE_BEGIN + HUGE_BYTES) && len_bytes >= sizeof(head))
		memcpy(buf, head, sizeof(head));
	return (ssize_t)len_bytes;
}

/* Processes whose heaps say to be huge do not fill the daemon's memory. */
static void huge_heaps_are_bounded(void **state)
{
	static const struct comm_heap_reading reading = {read_huge, now, spent, NULL, NULL, NULL};
	const struct comm_mapping m = {
		.start = HUGE_BEGIN,
		.end = HUGE_BEGIN + HUGE_BYTES + (1 << 20),
		.readable = true,
		.writable = true,
		.kind = COMM_MAP_HEAP,
		.path = "[heap]",
	};
	const struct comm_heap_place place = {.addr = HUGE_BEGIN + HUGE_BYTES / 2, .m = &m};
	struct comm_heap_blocks *huge;
	struct comm_blocks_found found;
	struct mallinfo2 before, after;
	unsigned int n_told = 0;

	(void)state;
	assert_int_equal(comm_heap_blocks_create(&reading, &huge), 0);
	before = mallinfo2();
	for (uint32_t i = 0; i < 4 * 100; i++, clock_ns += SECOND_NS)
		n_told += !comm_heap_blocks_at(huge, 1 + i / 4, &place, &found);
	after = mallinfo2();
	print_message("%u told\n", n_told);
	assert_true(after.hblkhd + after.uordblks < before.hblkhd + before.uordblks + (32 << 20));
	comm_heap_blocks_destroy(huge);
}

/* What a compiler makes of "struct A { virtual ~A(); }" and B, as data of this program. */
struct made_table {
	uint64_t top;
	const void *info;
	const void *code;
};

struct made_info {
	const void *table;
	const char *name;
};

static const struct made_info meta_info;
static const struct made_table meta_table = {0, &meta_info, NULL};
static const struct made_info meta_info = {&meta_table.code, "N10__cxxabiv117__class_type_infoE"};
static const struct made_info infos[] = {{&meta_table.code, "1A"}, {&meta_table.code, "1B"}};
static const struct made_table tables[] = {{0, &infos[0], NULL}, {0, &infos[1], NULL}};

static const char *class_of(const void *p)
{
	struct comm_block b;

	assert_int_equal(block_of(p, &b), 0);
	return b.class ? b.class : "";
}

/* The class of a block is told when two readings agree, and not while it is another's. */
static void classes_take_two_readings(void **state)
{
	const void **p = calloc(1, 2000), **q = calloc(1, 2000);

	(void)state;
	p[0] = &tables[0].code;
	assert_string_equal(class_of(p), "A");
	assert_string_equal(class_of(q), "");
	p[0] = &tables[1].code;
	clock_ns += 10ull * SECOND_NS;
	assert_string_equal(class_of(p), "");
	clock_ns += 10ull * SECOND_NS;
	assert_string_equal(class_of(p), "B");
	p[0] = NULL;
	clock_ns += 10ull * SECOND_NS;
	assert_string_equal(class_of(p), "");
	free(p);
	free(q);
}

int main(void)
{
	const struct CMUnitTest anywhere[] = {
		cmocka_unit_test(headers_in_an_array),
		cmocka_unit_test(huge_heaps_are_bounded),
	};
	const struct CMUnitTest of_glibc[] = {
		cmocka_unit_test_setup_teardown(blocks_of_the_main_heap, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mapping_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_of_an_arena, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_memory_is_no_block, setup, teardown),
		cmocka_unit_test_setup_teardown(two_readings_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(classes_take_two_readings, setup, teardown),
		cmocka_unit_test_setup_teardown(large_blocks_where_small_ones_were, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_heap_that_changes, setup, teardown),
	};
	int failed = 0;

	/* First, as what others leave of the main heap is not as it is known. */
#ifndef __SANITIZE_ADDRESS__
	failed = cmocka_run_group_tests(of_glibc, NULL, NULL);
#else
	(void)of_glibc;
	printf("skip blocks of glibc: malloc is the sanitizer's\n");
#endif
	return failed + cmocka_run_group_tests(anywhere, NULL, NULL);
}
