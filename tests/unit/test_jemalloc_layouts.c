// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jemalloc's layouts (jemalloc_extents.c) in memory that is made of them, as the headers of its versions say:
 * blocks are told of those that are known, and of others none.  Extents are of memory that is not there, as
 * blocks themselves are not read.
 */
#include <string.h>
#include <sys/mman.h>

#include "own_heap.h"

enum { PAGE = 4096, ENTRIES = 1 << 18, N = 60, EDATA_WORDS = 16 };

static const uint64_t heap = UINT64_C(5) << 40;

struct layout {
	const char *name;
	bool is_known;
	unsigned int alignment, state, class, n_free, entry_state,
		quantum; /* as the words' bits are */
};

static const struct layout layouts[] = {
	{"5.3", true, 128, 17, 20, 28, 2, 16},
	{"redis's 5.3", true, 128, 17, 20, 28, 2, 8},
	{"5.1, 5.2", true, 64, 16, 18, 26, 0, 16},
	{"redis's 5.2", true, 64, 16, 18, 26, 0, 8},
	{"5.0", false, 64, 15, 17, 25, 0, 16},
	{"a later one", false, 128, 18, 21, 29, 2, 16},
	{"5.3 of another quantum", false, 128, 17, 20, 28, 2, 32},
	{"5.2 of another quantum", false, 64, 16, 18, 26, 0, 32},
};

static struct {
	uint64_t root[ENTRIES], leaf[ENTRIES], edata[8 + N * EDATA_WORDS];
} * made;

/* A block of each extent; 0 bytes: there is none. */
static struct {
	uint64_t start, bytes;
} block[N];

static uint64_t next_size(uint64_t bytes, uint64_t quantum)
{
	if (bytes < quantum)
		return bytes * 2;
	if (bytes < quantum * 8)
		return bytes + quantum;
	return bytes + (UINT64_C(1) << (63 - __builtin_clzll(bytes)) >> 2);
}

/* The size class of so many bytes, and how large it is. */
static uint64_t class_of(uint64_t *bytes, uint64_t quantum)
{
	uint64_t class = 0, size = 8;

	for (; size < *bytes; class ++)
		size = next_size(size, quantum);
	*bytes = size;
	return class;
}

static uint64_t slab_bytes(uint64_t block_bytes)
{
	uint64_t bytes = PAGE;

	while (bytes % block_bytes)
		bytes += PAGE;
	return bytes;
}

static void enter(uint64_t page, const uint64_t *edata, uint64_t flags)
{
	made->leaf[page / PAGE % ENTRIES] = (uintptr_t)edata | flags;
}

/* Extents side by side: slabs with a hole each, large blocks, and what is free. */
static void make(const struct layout *l, bool is_large_alone)
{
	/* Where alignment allows it, some are in two pages. */
	uint64_t *edata = &made->edata[l->alignment == 64 ? 8 : 0], at = heap;

	memset(made, 0, sizeof(*made));
	made->root[heap / PAGE / ENTRIES] = (uintptr_t)made->leaf;
	for (size_t i = 0; i < N; i++, edata += EDATA_WORDS) {
		uint64_t bytes = i % 15 < 2 ? 8u << i % 15 : UINT64_C(40) << (i % 15 - 2);
		uint64_t class, is_slab, extent, n_free, is_free = i % 3 == 2, flags;

		if (is_large_alone)
			bytes = UINT64_C(20480) << i % 5;
		class = class_of(&bytes, l->quantum);
		is_slab = bytes < 16384;
		extent = is_slab ? slab_bytes(bytes) : bytes;
		n_free = is_slab && extent > bytes;
		is_slab &= !is_free;
		edata[0] = is_slab << 12 | is_free << l->state | class << l->class |
			   n_free << l->n_free;
		edata[1] = at;
		edata[2] = extent;
		edata[8] = n_free << 1;
		flags = class << 48 | is_slab;
		/* Without a state, what the extent was before may still stand there. */
		flags |= is_free << l->entry_state;
		enter(at, edata, flags);
		enter(at + extent - PAGE, edata, flags);
		for (uint64_t page = at; is_slab && page < at + extent; page += PAGE)
			enter(page, edata, flags);
		block[i].start = at;
		block[i].bytes = is_free ? 0 : bytes;
		at += extent;
	}
}

static int ask(uint64_t addr, struct comm_block *ret)
{
	const struct own_place own = {
		.pid = getpid(),
		.m = {.start = heap,
		      .end = heap + (UINT64_C(1) << 30),
		      .kind = COMM_MAP_ANON,
		      .readable = true,
		      .writable = true,
		      .path = ""},
		.zeroed = {{(uintptr_t)made->root, (uintptr_t)(made->root + ENTRIES)}},
		.n_zeroed = 1,
	};
	int err = -ENODATA;

	for (int i = 0; i < 5 && err; i++, clock_ns += 4ull * SECOND_NS)
		err = block_at(&own, addr, ret);
	return err;
}

static void expect_at(const struct layout *l, size_t i, uint64_t addr)
{
	struct comm_block b;
	int err = ask(addr, &b);

	if (!l->is_known || !block[i].bytes) {
		assert_int_not_equal(err, 0);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(b.start, block[i].start);
	assert_int_equal(b.size_bytes, block[i].bytes);
}

static void expect(const struct layout *l)
{
	for (size_t i = 0; i < N; i++) {
		expect_at(l, i, block[i].start);
		expect_at(l, i, block[i].start + (block[i].bytes ? block[i].bytes - 1 : 8));
	}
}

static void blocks_of_known_layouts_alone(void **state)
{
	for (size_t i = 0; i < 2 * sizeof(layouts) / sizeof(*layouts); i++) {
		print_message("%s%s\n", layouts[i / 2].name, i % 2 ? ", large blocks" : "");
		make(&layouts[i / 2], i % 2);
		expect(&layouts[i / 2]);
		teardown(state);
		setup(state);
	}
}

static bool has_an_answer(uint64_t addr)
{
	struct comm_block b;

	return !ask(addr, &b);
}

static void until_it_is_known(const struct layout *l)
{
	make(l, false);
	for (int i = 0; i < 10 && !has_an_answer(heap); i++)
		;
	expect(l);
}

/* What is the same in several layouts does not tell which one it is: the smallest blocks, and what is free. */
static void a_heap_that_begins(void **state)
{
	const struct layout *l = &layouts[3];

	make(l, false);
	for (size_t i = 0; i < ENTRIES; i++)
		if (made->leaf[i] >> 48 > 1)
			made->leaf[i] = 0;
	assert_false(has_an_answer(heap));
	until_it_is_known(l);
	teardown(state);
	setup(state);
	make(l, false);
	for (size_t i = 0; i < N; i++)
		for (uint64_t at = block[i].start; block[i].bytes && at < block[i + 1].start;
		     at += PAGE)
			made->leaf[at / PAGE % ENTRIES] = 0;
	assert_false(has_an_answer(block[2].start));
	until_it_is_known(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(blocks_of_known_layouts_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_heap_that_begins, setup, teardown),
	};

	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (made == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
