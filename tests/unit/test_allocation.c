// SPDX-License-Identifier: GPL-2.0-or-later
/* What blocks are called by where they were allocated (allocation.c), of a made-up process that may lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocation.h"

enum {
	TGID = 7,
	TEXT = 0x400000,
	FUNCTION_BYTES = 0x100,
	HEAP = 0x600000,
	SP = 0x7000000,
	JEMALLOC = 0x8000000,
	NOW = 1000000000,
};

static struct comm_mapping mappings[] = {
	{.start = TEXT,
	 .end = TEXT + 0x1000,
	 .dev = 1,
	 .ino = 2,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/made",
	 .file = 1},
	{.start = HEAP,
	 .end = HEAP + 0x1000,
	 .readable = true,
	 .kind = COMM_MAP_HEAP,
	 .path = "[heap]"},
	{.start = JEMALLOC,
	 .end = JEMALLOC + 0x1000,
	 .dev = 1,
	 .ino = 3,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/usr/lib/libjemalloc.so.2",
	 .file = 2},
};

/* Functions, each FUNCTION_BYTES long; their frames are of 4 words. */
enum function {
	BUILD,
	MAIN,
	XMALLOC,
	NEW,
	BARE,
	NO_FRAME,
	WITH_RBP,
	INLINED,
	UNKNOWN_CALL,
	CELLS,
	COLD,
	STUB,
	FUNCTIONS
};

static struct comm_code functions[FUNCTIONS] = {
	[BUILD] = {.function = "build_table", .source = "/src/table.c", .line = 42},
	[MAIN] = {.function = "main", .source = "main.c", .line = 7},
	[XMALLOC] = {.function = "xmalloc", .source = "xmalloc.c", .line = 3},
	[NEW] = {.function = "operator new(unsigned long)"},
	[BARE] = {.function = "start"},
	[NO_FRAME] = {.function = "zcalloc"},
	[WITH_RBP] = {.function = "xstrdup(char const*)"},
	[INLINED] = {.function = "grow",
		     .inlined = "xmalloc",
		     .source = "xmalloc.h",
		     .line = 3,
		     .call_source = "/src/grow.c",
		     .call_line = 12},
	[UNKNOWN_CALL] = {.function = "grow",
			  .inlined = "xmalloc",
			  .source = "xmalloc.h",
			  .line = 3},
	[CELLS] = {.function = "make_cells", .source = "cells.c", .line = 5},
	[COLD] = {.function = "xmalloc.cold"},
	[STUB] = {.function = "made+0xb00"},
};

static const struct comm_frame_rule frames[FUNCTIONS] = {
	[BUILD] = {COMM_FRAME_OF_RSP, 0, 32},	[MAIN] = {COMM_FRAME_OF_RSP, 0, 32},
	[XMALLOC] = {COMM_FRAME_OF_RSP, 0, 32}, [NEW] = {COMM_FRAME_OF_RSP, 0, 32},
	[BARE] = {COMM_FRAME_OF_RSP, 0, 32},	[WITH_RBP] = {COMM_FRAME_OF_RBP, -16, 16},
	[COLD] = {COMM_FRAME_OF_RSP, 0, 32},
};

static uint8_t code_bytes[0x1000];
static unsigned int n_texts;
static uint64_t unread_from; /* text that cannot be read, from there on, and */
static int text_err;

static struct comm_allocation told;
static int told_err;
static unsigned int n_codes;

static uint64_t in(enum function function)
{
	return TEXT + function * FUNCTION_BYTES + 0x10;
}

static int maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx, (void)tgid;
	*ret = mappings;
	*ret_n = sizeof(mappings) / sizeof(*mappings);
	return 0;
}

static ssize_t text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    void *buf, size_t len_bytes)
{
	uint64_t at = addr - TEXT;

	(void)ctx, (void)tgid, (void)m;
	n_texts++;
	if (text_err && addr >= unread_from)
		return text_err;
	assert_true(at < sizeof(code_bytes));
	if (len_bytes > sizeof(code_bytes) - at)
		len_bytes = sizeof(code_bytes) - at;
	memcpy(buf, code_bytes + at, len_bytes);
	return (ssize_t)len_bytes;
}

static int code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		struct comm_code *ret)
{
	uint64_t at = (ip - TEXT) / FUNCTION_BYTES;

	(void)ctx, (void)tgid, (void)m;
	n_codes++;
	assert_true(at < FUNCTIONS);
	*ret = functions[at];
	ret->frame = frames[at];
	ret->module = "made";
	ret->build_id = "abcd";
	ret->start = TEXT + at * FUNCTION_BYTES;
	ret->end = ret->start + FUNCTION_BYTES;
	return 0;
}

static int allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
		      struct comm_allocation *ret)
{
	(void)ctx, (void)tgid, (void)addr, (void)time_ns;
	*ret = told;
	return told_err;
}

static const struct comm_inspect_ops ops = {
	.maps = maps, .text = text, .code = code, .allocation = allocation};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *spaces;
static struct comm_space *space;
static struct comm_sites *sites;
static struct comm_objects *objects;
static struct comm_allocations *allocations;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(comm_space_table_create(&inspect, &spaces), 0);
	space = comm_space_get(spaces, TGID);
	assert_int_equal(comm_sites_create(&inspect, &sites), 0);
	assert_int_equal(comm_objects_create(&inspect, &objects), 0);
	assert_int_equal(comm_allocations_create(&inspect, sites, objects, &allocations), 0);
	functions[BUILD].provisional = false;
	memset(code_bytes, 0x90, sizeof(code_bytes));
	told_err = text_err = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	comm_allocations_destroy(allocations);
	comm_objects_destroy(objects);
	comm_sites_destroy(sites);
	comm_space_table_destroy(spaces);
	return 0;
}

/* A block that is allocated in this function; its callers are called at the words given. */
static void tell(enum function function)
{
	static uint64_t since_ns;

	told = (struct comm_allocation){
		.start = HEAP,
		.size_bytes = 0x100,
		.since_ns = ++since_ns,
		.until_ns = NOW + 5,
		.code = in(function),
		.sp = SP,
		.n_words = COMM_ALLOCATION_WORDS,
	};
}

static const char *name_at(uint64_t now_ns)
{
	struct comm_allocated allocated;
	int err = comm_allocations_at(allocations, space, HEAP + 8, HEAP + 8, now_ns, &allocated);

	if (err)
		return err == -EAGAIN ? "later" : err == -ENOENT ? "none" : "error";
	assert_int_equal(allocated.start, HEAP);
	assert_int_equal(allocated.end, HEAP + 0x100);
	assert_int_equal(allocated.until_ns, NOW + 5);
	assert_int_equal(comm_objects_at(objects, allocated.object)->kind, COMM_OBJECT_BLOCK);
	assert_int_equal(comm_objects_at(objects, allocated.object)->start, HEAP);
	return comm_objects_at(objects, allocated.object)->name;
}

static void names(void **state)
{
	(void)state;
	tell(BUILD);
	assert_string_equal(name_at(NOW), "table.c:42 (build_table)");
	tell(BARE);
	assert_string_equal(name_at(NOW), "start (made)");
	/* Where what allocates for it is inlined. */
	tell(INLINED);
	assert_string_equal(name_at(NOW), "grow.c:12 (grow)");
	tell(UNKNOWN_CALL);
	assert_string_equal(name_at(NOW), "xmalloc.h:3 (grow)");
	/* The same address as before, by another. */
	tell(MAIN);
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	n_codes = 0;
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	assert_int_equal(n_codes, 0);
}

static void functions_that_allocate_for_others(void **state)
{
	(void)state;
	tell(XMALLOC);
	told.word[3] = in(BUILD);
	assert_string_equal(name_at(NOW), "table.c:42 (build_table)");
	tell(NEW);
	told.word[3] = in(XMALLOC);
	told.word[7] = in(MAIN);
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	/* One that keeps a frame pointer, of another that does. */
	tell(WITH_RBP);
	told.rbp = SP + 32;
	told.word[5] = in(WITH_RBP);
	told.word[4] = SP + 64;
	told.word[9] = in(BUILD);
	assert_string_equal(name_at(NOW), "table.c:42 (build_table)");
}

/* Calls without a stack: those of jemalloc's own are passed over, and without any of these it is no such trace. */
static void calls_of_jemallocs_profile(void **state)
{
	(void)state;
	for (uint32_t n = 2; n <= 4; n += 2) {
		tell(XMALLOC);
		told.sp = 0;
		told.code = JEMALLOC + 0x10;
		told.n_words = n;
		told.word[0] = JEMALLOC + 0x20;
		told.word[1] = in(XMALLOC);
		told.word[2] = in(BUILD);
		told.word[3] = in(MAIN);
		assert_string_equal(name_at(NOW), n < 4 ? "none" : "table.c:42 (build_table)");
	}
	tell(BUILD);
	told.sp = 0;
	told.n_words = 1;
	told.word[0] = in(MAIN);
	assert_string_equal(name_at(NOW), "none");
	tell(BUILD);
	told.sp = 0;
	told.code = JEMALLOC + 0x10;
	for (int i = 0; i < COMM_ALLOCATION_WORDS; i++)
		told.word[i] = JEMALLOC + 0x20;
	assert_string_equal(name_at(NOW), "none");
}

/* The call in a function whose return addresses are in() it. */
static void call(enum function from, uint64_t to)
{
	uint8_t *at = code_bytes + (in(from)-TEXT);
	int32_t rel = (int32_t)(to - in(from));

	at[-5] = 0xe8;
	memcpy(at - 4, &rel, sizeof(rel));
}

static uint64_t start_of(enum function function)
{
	return TEXT + function * FUNCTION_BYTES;
}

/* What was called is not on the stack: it ended in a jump to what allocates. */
static void functions_that_jump(void **state)
{
	(void)state;
	call(MAIN, start_of(CELLS));
	tell(MAIN);
	assert_string_equal(name_at(NOW), "cells.c:5 (make_cells)");
	/* Where that is, is kept. */
	n_texts = 0;
	tell(MAIN);
	assert_string_equal(name_at(NOW), "cells.c:5 (make_cells)");
	assert_int_equal(n_texts, 0);
	/* To one that allocates for others, which has a frame. */
	tell(XMALLOC);
	told.word[3] = in(MAIN);
	assert_string_equal(name_at(NOW), "cells.c:5 (make_cells)");
	functions[CELLS].provisional = true;
	tell(MAIN);
	assert_string_equal(name_at(NOW), "later");
	functions[CELLS].provisional = false;
}

/* The call, or where it leads. */
static void code_that_cannot_be_read_now(void **state)
{
	(void)state;
	call(BARE, start_of(CELLS));
	for (int first = 0; first < 2; first++) {
		teardown(state);
		setup(state);
		call(BARE, start_of(CELLS));
		unread_from = first ? in(BARE) : TEXT;
		text_err = -EAGAIN;
		tell(BARE);
		assert_string_equal(name_at(NOW), "later");
		text_err = 0;
		assert_string_equal(name_at(NOW + 1000), "later");
		assert_string_equal(name_at(NOW + 200 * 1000 * 1000), "cells.c:5 (make_cells)");
		/* What answers too late, or never again, is done without, but not for the next block. */
		for (int last = 0; last < 2; last++) {
			teardown(state);
			setup(state);
			call(BARE, start_of(CELLS));
			text_err = last ? -ESRCH : -ETIME;
			tell(BARE);
			assert_string_equal(name_at(NOW), "start (made)");
			text_err = 0;
			tell(BARE);
			assert_string_equal(name_at(NOW), "cells.c:5 (make_cells)");
		}
	}
}

/* Nobody jumped: what was called is what allocates, or a stub that leads there, or a part of it. */
static void functions_that_call(void **state)
{
	static const uint8_t stubs[][7] = {
		{0xff, 0x25, 1, 2, 3, 4, 0x68},
		{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 1},
		{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25},
	};

	for (size_t i = 0; i < sizeof(stubs) / sizeof(*stubs); i++) {
		teardown(state);
		setup(state);
		call(BUILD, start_of(STUB));
		memcpy(code_bytes + (start_of(STUB) - TEXT), stubs[i], sizeof(stubs[i]));
		tell(BUILD);
		assert_string_equal(name_at(NOW), "table.c:42 (build_table)");
	}
	call(MAIN, start_of(XMALLOC));
	tell(MAIN);
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	tell(XMALLOC);
	told.word[3] = in(MAIN);
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	tell(COLD);
	told.word[3] = in(MAIN);
	assert_string_equal(name_at(NOW), "main.c:7 (main)");
	/* Into another file: no call, but the end of one by a register. */
	call(BARE, TEXT + 0x1000);
	tell(BARE);
	assert_string_equal(name_at(NOW), "start (made)");
	call(INLINED, TEXT - 1);
	tell(INLINED);
	assert_string_equal(name_at(NOW), "grow.c:12 (grow)");
	/* At the beginning of a mapping there is none. */
	tell(BUILD);
	told.code = TEXT + 4;
	assert_string_equal(name_at(NOW), "table.c:42 (build_table)");
}

static void callers_that_are_not_known(void **state)
{
	(void)state;
	tell(NO_FRAME);
	told.word[3] = in(BUILD);
	assert_string_equal(name_at(NOW), "none");
	tell(XMALLOC);
	told.word[3] = in(BUILD);
	told.n_words = 3;
	assert_string_equal(name_at(NOW), "none");
	tell(XMALLOC);
	told.word[3] = HEAP;
	assert_string_equal(name_at(NOW), "none");
	tell(XMALLOC);
	told.code = 0;
	assert_string_equal(name_at(NOW), "none");
	tell(XMALLOC);
	told.sp = UINT64_MAX - 8;
	assert_string_equal(name_at(NOW), "none");
	/* A frame that is its own caller's. */
	tell(WITH_RBP);
	told.rbp = SP;
	told.word[0] = SP;
	told.word[1] = in(WITH_RBP);
	assert_string_equal(name_at(NOW), "none");
	/* All of them allocate. */
	tell(XMALLOC);
	for (int i = 0; i < COMM_ALLOCATION_WORDS; i++)
		told.word[i] = in(XMALLOC);
	assert_string_equal(name_at(NOW), "none");
}

static void a_line_that_comes_later(void **state)
{
	uint32_t n = comm_objects_count(objects);

	(void)state;
	functions[BUILD].provisional = true;
	tell(BUILD);
	assert_string_equal(name_at(NOW), "later");
	functions[BUILD].provisional = false;
	assert_string_equal(name_at(NOW + 1000), "later");
	assert_string_equal(name_at(NOW + 200 * 1000 * 1000), "table.c:42 (build_table)");
	assert_int_equal(comm_objects_count(objects), n + 1);
}

static void what_is_not_told(void **state)
{
	(void)state;
	tell(BUILD);
	told_err = -EAGAIN;
	assert_string_equal(name_at(NOW), "later");
	told_err = -ENOSYS;
	assert_string_equal(name_at(NOW), "none");
	told_err = 0;
	told.start = HEAP + 0x10;
	assert_string_equal(name_at(NOW), "none");
	told.start = HEAP - 0x1000;
	assert_string_equal(name_at(NOW), "none");
}

static void allocators_by_name(void **state)
{
	static const char *const allocators[] = {"malloc",
						 "calloc",
						 "__libc_realloc",
						 "xmalloc",
						 "g_malloc0",
						 "zmalloc",
						 "ngx_palloc",
						 "PyMem_Malloc",
						 "strdup",
						 "__strdup",
						 "vasprintf",
						 "getline",
						 "aligned_alloc",
						 "operator new[](unsigned long)",
						 "posix_memalign",
						 "reallocarray",
						 "zmalloc(unsigned long)",
						 "xmalloc.part.0",
						 "zmalloc_usable"};
	static const char *const others[] = {"main",
					     "build_table",
					     "allocate_rows",
					     "alloc_table",
					     "std::vector<alloc>::grow(malloc)",
					     "",
					     "newline"};

	(void)state;
	for (size_t i = 0; i < sizeof(allocators) / sizeof(*allocators); i++)
		assert_true(comm_allocations_is_allocator(allocators[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(comm_allocations_is_allocator(others[i]));
}

/* Allocators write lists into blocks that are free; what calloc() and realloc() write the program reads. */
static void names_that_keep_heaps(void **state)
{
	static const char *const keepers[] = {"malloc",
					      "free",
					      "_int_free",
					      "_int_malloc",
					      "unlink_chunk.constprop.0",
					      "_int_free_merge_chunk",
					      "tcache_init.part.0",
					      "je_tcache_bin_flush_small",
					      "tcmalloc::ThreadCache::Deallocate(void*)"};
	static const char *const others[] = {"calloc",
					     "__libc_calloc",
					     "realloc",
					     "je_calloc",
					     "_int_realloc",
					     "free_batch",
					     "xmalloc",
					     "freeze",
					     "operator new(unsigned long)",
					     "main",
					     ""};

	(void)state;
	for (size_t i = 0; i < sizeof(keepers) / sizeof(*keepers); i++)
		assert_true(comm_allocations_keeps_heap(keepers[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(comm_allocations_keeps_heap(others[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names),
		TEST(functions_that_allocate_for_others),
		TEST(calls_of_jemallocs_profile),
		TEST(functions_that_jump),
		TEST(code_that_cannot_be_read_now),
		TEST(functions_that_call),
		TEST(callers_that_are_not_known),
		TEST(a_line_that_comes_later),
		TEST(what_is_not_told),
		TEST(allocators_by_name),
		TEST(names_that_keep_heaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
