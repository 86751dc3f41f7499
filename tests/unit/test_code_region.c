// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of marked regions as a target holds them, hostile ones too, and the ids they get. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "code_region.h"

enum {
	PAGE = 0x1000,
	TEXT = 0x3ff000,
	RODATA = 0x400000,
	HEAP = 0x600000,
	DATA = 0x680000,
	HIDDEN = 0x700000,
};

static const uint64_t SECOND = 1000000000;

static const struct comm_mapping mappings[] = {
	{.start = TEXT,
	 .end = TEXT + PAGE,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/x",
	 .file = 1},
	{.start = RODATA,
	 .end = RODATA + PAGE,
	 .offset = PAGE,
	 .readable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/x",
	 .file = 1},
	{.start = HEAP,
	 .end = HEAP + PAGE,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_HEAP,
	 .path = "[heap]"},
	{.start = DATA,
	 .end = DATA + PAGE,
	 .offset = 2 * PAGE,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/x",
	 .file = 1},
	{.start = HIDDEN, .end = HIDDEN + PAGE, .kind = COMM_MAP_ANON, .path = ""},
};

static struct target {
	char rodata[PAGE], heap[PAGE];
	struct comm_code code;
	int texts_asked, codes_asked;
	bool gone, busy;
} target;

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
	const char *from = m->start == RODATA ? target.rodata : target.heap;

	(void)ctx, (void)tgid;
	target.texts_asked++;
	if (target.gone)
		return -ESRCH;
	if (target.busy)
		return -EAGAIN;
	if (len_bytes > m->end - addr)
		len_bytes = m->end - addr;
	memcpy(buf, from + (addr - m->start), len_bytes);
	return (ssize_t)len_bytes;
}

static int code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		struct comm_code *ret)
{
	(void)ctx, (void)tgid, (void)m;
	assert_int_equal(ip, TEXT + 16);
	target.codes_asked++;
	*ret = target.code;
	return 0;
}

static const struct comm_inspect_ops ops = {.maps = maps, .text = text, .code = code};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *spaces;
static struct comm_code_regions *regions;

static int setup(void **state)
{
	(void)state;
	memset(&target, 0, sizeof(target));
	return comm_space_table_create(&inspect, &spaces) ||
	       comm_code_regions_create(&inspect, &regions);
}

static int teardown(void **state)
{
	(void)state;
	comm_code_regions_destroy(regions);
	comm_space_table_destroy(spaces);
	return 0;
}

static uint32_t get_at(uint32_t tgid, uint64_t now_ns, uint32_t n, const uint64_t *name)
{
	struct comm_marks marks = {.n = n};

	for (uint32_t i = 0; i < n; i++)
		marks.name[i] = name[i];
	return comm_code_regions_get(regions, comm_space_get(spaces, tgid), &marks, now_ns);
}

static uint32_t get(uint64_t name)
{
	return get_at(7, SECOND, 1, &name);
}

static const char *name_of(uint32_t id)
{
	return comm_code_regions_at(regions, id)->name;
}

static void nesting_makes_regions(void **state)
{
	const uint64_t parse = RODATA, lex = RODATA + 16, copy = RODATA + 32;
	uint32_t a, b;

	(void)state;
	strcpy(target.rodata, "parse");
	strcpy(target.rodata + 16, "lex");
	strcpy(target.rodata + 32, "parse");
	assert_int_equal(get_at(7, SECOND, 0, NULL), COMM_CODE_REGION_NONE);
	a = get(parse);
	b = get_at(7, SECOND, 2, (const uint64_t[]){parse, lex});
	assert_string_equal(name_of(a), "parse");
	assert_string_equal(name_of(b), "lex");
	assert_int_equal(comm_code_regions_at(regions, a)->parent, COMM_CODE_REGION_NONE);
	assert_int_equal(comm_code_regions_at(regions, b)->parent, a);
	/* The name counts, not where it stands; and where it is nested. */
	assert_int_equal(get(copy), a);
	assert_int_equal(get_at(7, SECOND, 2, (const uint64_t[]){copy, lex}), b);
	assert_int_not_equal(get(lex), b);
	assert_int_equal(comm_code_regions_count(regions), 2 + 3);
	assert_int_equal(comm_code_regions_unfiled(regions), 0);
}

static void hostile_names_are_bounded(void **state)
{
	char *binary = target.heap, *endless = target.heap + 64;
	const uint64_t wild[] = {0,
				 1,
				 UINT64_MAX - 1,
				 HIDDEN,
				 HEAP + PAGE,
				 0x7fffffffffff,
				 (uint64_t)1 << 63,
				 0xffffffff81000000};

	(void)state;
	strcpy(binary, "a\x01\xff\n\x1b[2Jb");
	memset(endless, 'x', PAGE - 64);
	assert_string_equal(name_of(get(HEAP)), "a\\x01\\xff\\x0a\\x1b[2Jb");
	assert_int_equal(strlen(name_of(get(HEAP + 64))), 63);
	assert_non_null(strstr(name_of(get(HEAP + 64)), "xxx..."));
	/* Not ended where its mapping ends. */
	assert_string_equal(name_of(get(HEAP + PAGE - 5)), "xxxxx");
	assert_string_equal(name_of(get(RODATA)), "(unnamed)");
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++)
		assert_string_equal(name_of(get(wild[i])), "(unreadable)");
	assert_string_equal(name_of(get_at(7, SECOND, 8, wild)), "(unreadable)");
	assert_string_equal(name_of(get(COMM_MARK_NOT_KNOWN)), "(region not known)");
}

static void names_are_read_again_where_they_may_change(void **state)
{
	const uint64_t constant = RODATA, variable = HEAP, initialised = DATA;

	(void)state;
	strcpy(target.rodata, "constant");
	strcpy(target.heap, "before");
	get(constant);
	get(variable);
	get(initialised);
	target.texts_asked = 0;
	get(constant);
	get(variable);
	assert_int_equal(target.texts_asked, 0);
	strcpy(target.heap, "after");
	assert_string_equal(name_of(get_at(7, 2 * SECOND, 1, &variable)), "after");
	get_at(7, 9 * SECOND, 1, &constant);
	assert_int_equal(target.texts_asked, 1);
	/* Another process has the file, too, also after its end; but a memory of its own. */
	target.gone = true;
	assert_string_equal(name_of(get_at(8, SECOND, 1, &constant)), "constant");
	assert_string_equal(name_of(get_at(7, 20 * SECOND, 1, &variable)), "after");
	assert_string_equal(name_of(get_at(8, SECOND, 1, &variable)), "(unreadable)");
	assert_string_equal(name_of(get_at(8, SECOND, 1, &initialised)), "(unreadable)");
}

static void names_that_cannot_be_read_now_are_asked_for_soon(void **state)
{
	const uint64_t constant = RODATA, variable = HEAP;

	(void)state;
	strcpy(target.rodata, "constant");
	strcpy(target.heap, "before");
	target.busy = true;
	assert_string_equal(name_of(get(constant)), "(unreadable)");
	assert_string_equal(name_of(get_at(7, SECOND + SECOND / 100, 1, &constant)),
			    "(unreadable)");
	assert_int_equal(target.texts_asked, 1);
	target.busy = false;
	assert_string_equal(name_of(get_at(7, SECOND + SECOND / 5, 1, &constant)), "constant");
	/* One that was read stands until it can be read again. */
	get(variable);
	target.busy = true;
	assert_string_equal(name_of(get_at(7, 3 * SECOND, 1, &variable)), "before");
	strcpy(target.heap, "after");
	target.busy = false;
	assert_string_equal(name_of(get_at(7, 3 * SECOND + SECOND / 5, 1, &variable)), "after");
	/* Of who has ended it is not asked for so often. */
	target.gone = true;
	assert_string_equal(name_of(get_at(8, 5 * SECOND, 1, &variable)), "(unreadable)");
	target.texts_asked = 0;
	get_at(8, 5 * SECOND + SECOND / 5, 1, &variable);
	assert_int_equal(target.texts_asked, 0);
}

static const uint64_t code_bit = (uint64_t)1 << 63;

static void code_is_named_by_function_and_line(void **state)
{
	const uint64_t word = code_bit | (TEXT + 16);

	(void)state;
	target.code = (struct comm_code){.function = "step", .provisional = true};
	assert_string_equal(name_of(get(word)), "step");
	/* Its line comes later, and then for ever. */
	target.code = (struct comm_code){.function = "step", .line = 42};
	assert_string_equal(name_of(get(word)), "step");
	assert_string_equal(name_of(get_at(7, 2 * SECOND, 1, &word)), "step:42");
	assert_string_equal(name_of(get_at(8, 90 * SECOND, 1, &word)), "step:42");
	assert_int_equal(target.codes_asked, 2);
	assert_int_equal(target.texts_asked, 0);
}

static void code_names_keep_their_line(void **state)
{
	char function[200];

	(void)state;
	memset(function, 'f', sizeof(function) - 1);
	function[sizeof(function) - 1] = '\0';
	target.code = (struct comm_code){.function = "", .inlined = function, .line = 1234567};
	assert_int_equal(strlen(name_of(get(code_bit | (TEXT + 16)))), 63);
	assert_non_null(strstr(name_of(get(code_bit | (TEXT + 16))), "fff...:1234567"));
	/* What is not code has no name as such, though a text stands there. */
	strcpy(target.rodata, "text");
	assert_string_equal(name_of(get(code_bit | RODATA)), "(unreadable)");
}

static void code_that_a_compiler_named_goes_by_its_file(void **state)
{
	(void)state;
	target.code =
		(struct comm_code){.function = ".omp_outlined..2", .source = "/b/a.c", .line = 8};
	assert_string_equal(name_of(get(code_bit | (TEXT + 16))), "a.c:8");
}

static void regions_between_probes_have_the_users_names(void **state)
{
	(void)state;
	assert_string_equal(name_of(get(3)), "(unreadable)");
	comm_code_regions_probed(regions, 3, "transaction");
	assert_string_equal(name_of(get(3)), "transaction");
	assert_string_equal(name_of(get_at(9, SECOND, 1, &(uint64_t){3})), "transaction");
	assert_string_equal(name_of(get(2)), "(unreadable)");
	comm_code_regions_probed(regions, COMM_PROBED_MAX + 1, "too many");
}

static void a_million_regions_are_other(void **state)
{
	const uint64_t name = HEAP;
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		snprintf(target.heap, sizeof(target.heap), "region %u", i);
		id = get_at(7, (i + 1) * SECOND, 1, &name);
		assert_int_equal(id,
				 i + 2 < COMM_CODE_REGIONS_MAX ? i + 2 : COMM_CODE_REGION_OTHER);
	}
	assert_int_equal(comm_code_regions_count(regions), COMM_CODE_REGIONS_MAX);
	assert_int_equal(comm_code_regions_unfiled(regions), 1000000 + 2 - COMM_CODE_REGIONS_MAX);
	assert_string_equal(name_of(id), "(other)");
	assert_string_equal(name_of(2), "region 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(nesting_makes_regions),
		TEST(hostile_names_are_bounded),
		TEST(names_are_read_again_where_they_may_change),
		TEST(names_that_cannot_be_read_now_are_asked_for_soon),
		TEST(code_is_named_by_function_and_line),
		TEST(code_names_keep_their_line),
		TEST(code_that_a_compiler_named_goes_by_its_file),
		TEST(regions_between_probes_have_the_users_names),
		TEST(a_million_regions_are_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
