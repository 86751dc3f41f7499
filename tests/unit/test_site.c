// SPDX-License-Identifier: GPL-2.0-or-later
/* Ids of sites, the functions and lines that they are of, and of calls. */
#include "call.h"
#include "site.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000;

static struct comm_mapping fake[] = {
	{.start = 0x400000,
	 .end = 0x500000,
	 .offset = 0x1000,
	 .dev = 1,
	 .ino = 2,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/x",
	 .file = 1},
	{.start = 0x700000,
	 .end = 0x800000,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_JIT,
	 .path = ""},
};
static int codes_asked, code_answer;
static bool lines_unknown, types_known, names_unknown;
static const char *jit_name;

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx;
	(void)tgid;
	*ret = fake;
	*ret_n = 2;
	return 0;
}

/* A function per page, a line per 16 bytes, and something inlined twice at 0x40. */
static int fake_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	static char name[32];
	uint64_t offset = ip - m->start + m->offset;

	(void)ctx;
	(void)tgid;
	codes_asked++;
	if (m->kind == COMM_MAP_JIT) {
		*ret = (struct comm_code){
			.function = jit_name, .module = "[jit]", .build_id = "", .start = ip};
		return 0;
	}
	snprintf(name, sizeof(name), "f%x", (unsigned int)(offset >> 12));
	*ret = (struct comm_code){
		.function = name,
		.module = "x",
		.build_id = "ab",
		.source = "x.c",
		.line = (uint32_t)(offset >> 4),
		.inlined = (offset & 0xff0) == 0x40 ? "small" : NULL,
		.start = offset & ~(uint64_t)0xfff,
	};
	if (ret->inlined) {
		ret->call_source = "y.c";
		ret->call_line = offset & 4 ? 71 : 70;
	}
	/* Each line reads two fields of a structure, one behind the other. */
	if (types_known) {
		ret->type = "struct s";
		ret->field = offset & 8 ? "b" : "a";
		ret->field_offset = offset & 8;
	}
	if (lines_unknown) {
		ret->source = ret->inlined = ret->call_source = NULL;
		ret->call_line = 0;
		ret->line = 0;
		ret->provisional = true;
	}
	if (names_unknown)
		*ret = (struct comm_code){.function = "[unknown]",
					  .module = "x",
					  .build_id = "",
					  .provisional = true};
	return code_answer;
}

static const struct comm_inspect_ops ops = {.maps = fake_maps, .code = fake_code};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *table;
static struct comm_sites *sites;

static int setup(void **state)
{
	(void)state;
	codes_asked = code_answer = 0;
	lines_unknown = names_unknown = types_known = false;
	jit_name = "interpreted";
	return comm_space_table_create(&inspect, &table) || comm_sites_create(&inspect, &sites);
}

static int teardown(void **state)
{
	(void)state;
	comm_sites_destroy(sites);
	comm_space_table_destroy(table);
	return 0;
}

static void sites_by_call(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a = comm_sites_get(sites, space, 0x405040, SECOND);
	uint32_t b = comm_sites_get(sites, space, 0x405044, SECOND);

	(void)state;
	assert_int_equal(a, comm_sites_get(sites, space, 0x405041, SECOND));
	assert_int_not_equal(a, b);
	assert_int_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, b)->function);
	assert_int_equal(comm_sites_at(sites, a)->line, comm_sites_at(sites, b)->line);
	assert_string_equal(comm_sites_at(sites, a)->call_source, "y.c");
	assert_int_equal(comm_sites_at(sites, a)->call_line, 70);
	assert_int_equal(comm_sites_at(sites, b)->call_line, 71);
}

static void sites_by_line(void **state)
{
	struct comm_space *space = comm_space_get(table, 10), *other = comm_space_get(table, 11);
	uint32_t a, b, c, d;

	(void)state;
	a = comm_sites_get(sites, space, 0x401000, SECOND);
	b = comm_sites_get(sites, space, 0x401008, SECOND); /* the same line */
	c = comm_sites_get(sites, space, 0x401040, SECOND); /* inlined */
	d = comm_sites_get(sites, space, 0x402000, SECOND); /* another function */
	assert_true(a > COMM_SITE_KERNEL);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_int_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, c)->function);
	assert_int_not_equal(comm_sites_at(sites, a)->function, comm_sites_at(sites, d)->function);
	assert_null(comm_sites_at(sites, a)->inlined);
	assert_string_equal(comm_sites_at(sites, c)->inlined, "small");
	assert_string_equal(comm_sites_at(sites, a)->source, "x.c");
	assert_int_equal(comm_sites_at(sites, a)->offset, 0x2000);
	assert_string_equal(comm_sites_function_at(sites, comm_sites_at(sites, a)->function)->name,
			    "f2");
	/* Once per place in a file, whichever process runs it. */
	assert_int_equal(codes_asked, 4);
	for (int i = 0; i < 100; i++)
		assert_int_equal(comm_sites_get(sites, space, 0x401000, 2 * SECOND), a);
	assert_int_equal(comm_sites_get(sites, other, 0x401000, SECOND), a);
	comm_space_changed(table, 10);
	assert_int_equal(comm_sites_get(sites, space, 0x401000, 3 * SECOND), a);
	assert_int_equal(codes_asked, 4);
}

static void no_place(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a = comm_sites_get(sites, space, 0x10, SECOND);
	const struct comm_site *touch;

	(void)state;
	assert_int_equal(comm_sites_get(sites, space, 0xffffffff81000000, SECOND),
			 COMM_SITE_KERNEL);
	assert_int_equal(comm_sites_at(sites, COMM_SITE_KERNEL)->function, COMM_FUNCTION_KERNEL);
	assert_string_equal(comm_sites_function_at(sites, COMM_FUNCTION_KERNEL)->name, "[kernel]");
	touch = comm_sites_at(sites, COMM_SITE_FIRST_WRITE);
	assert_string_equal(comm_sites_function_at(sites, touch->function)->name, "[first write]");
	assert_int_equal(touch->region, COMM_CODE_REGION_OTHER);
	assert_string_equal(comm_sites_function_at(sites, comm_sites_at(sites, a)->function)->name,
			    "[unknown]");
	assert_int_equal(comm_sites_get(sites, space, 0x7fff00000000, SECOND), a);
	assert_int_equal(codes_asked, 0);
}

static void generated_code_is_asked_again(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b, c;

	(void)state;
	a = comm_sites_get(sites, space, 0x700010, 10 * SECOND);
	assert_int_equal(comm_sites_get(sites, space, 0x700010, 10 * SECOND + 5), a);
	assert_int_equal(codes_asked, 1);
	jit_name = "compiled";
	b = comm_sites_get(sites, space, 0x700010, 12 * SECOND);
	assert_int_not_equal(a, b);
	/* The same method elsewhere is the same function. */
	c = comm_sites_get(sites, space, 0x700910, 12 * SECOND);
	assert_int_equal(comm_sites_at(sites, b)->function, comm_sites_at(sites, c)->function);
	/* Code at the same address of another process is other code. */
	jit_name = "foreign";
	assert_int_not_equal(
		comm_sites_get(sites, comm_space_get(table, 11), 0x700910, 12 * SECOND), c);
}

static void a_file_that_could_not_be_read_is_tried_again(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);

	(void)state;
	code_answer = -ENOENT;
	comm_sites_get(sites, space, 0x401000, SECOND);
	comm_sites_get(sites, space, 0x401000, 10 * SECOND);
	assert_int_equal(codes_asked, 1);
	code_answer = 0;
	comm_sites_get(sites, space, 0x401000, 12 * SECOND);
	comm_sites_get(sites, space, 0x401000, 99 * SECOND);
	assert_int_equal(codes_asked, 2);
}

static void a_line_that_comes_later(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t before, after;

	(void)state;
	lines_unknown = true;
	before = comm_sites_get(sites, space, 0x401000, SECOND);
	assert_int_equal(comm_sites_at(sites, before)->line, 0);
	assert_null(comm_sites_at(sites, before)->source);
	/* Kept for 0.1 s of event time, however often it is seen. */
	for (uint64_t t = 0; t < 100; t++)
		assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + t * 999999),
				 before);
	assert_int_equal(codes_asked, 1);
	assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 10), before);
	assert_int_equal(codes_asked, 2);
	lines_unknown = false;
	assert_int_equal(comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 10 + 5), before);
	after = comm_sites_get(sites, space, 0x401000, SECOND + SECOND / 5);
	assert_int_equal(codes_asked, 3);
	assert_int_not_equal(before, after);
	assert_int_equal(comm_sites_at(sites, after)->line, 0x200);
	assert_string_equal(comm_sites_at(sites, after)->source, "x.c");
	/* The early site says the same by now. */
	assert_int_equal(comm_sites_at(sites, before)->line, 0x200);
	assert_string_equal(comm_sites_at(sites, before)->source, "x.c");
	assert_int_equal(comm_sites_at(sites, before)->function,
			 comm_sites_at(sites, after)->function);
	/* From now on the line is known. */
	assert_int_equal(comm_sites_get(sites, space, 0x401000, 99 * SECOND), after);
	assert_int_equal(codes_asked, 3);
}

static const char *function_name(uint32_t site)
{
	return comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name;
}

/* Two functions of one page of the file, while nobody knows that. */
static void names_that_come_later(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b, inside, function;

	(void)state;
	names_unknown = true;
	a = comm_sites_get(sites, space, 0x400ff8, SECOND);
	b = comm_sites_get(sites, space, 0x401000, SECOND);
	inside = comm_sites_within(sites, a, 2);
	function = comm_sites_at(sites, a)->function;
	assert_int_not_equal(function, comm_sites_at(sites, b)->function);
	assert_string_equal(function_name(a), "[unknown]");
	assert_true(comm_sites_function_at(sites, function)->pending);
	/* Of a file that is still being read nobody asks for each place. */
	codes_asked = 0;
	comm_sites_settle(sites);
	assert_int_equal(codes_asked, 1);
	assert_string_equal(function_name(b), "[unknown]");
	names_unknown = false;
	lines_unknown = true;
	comm_sites_settle(sites);
	assert_string_equal(function_name(a), "f1");
	assert_string_equal(function_name(b), "f2");
	assert_string_equal(function_name(inside), "f1");
	assert_int_equal(comm_sites_at(sites, inside)->region, 2);
	assert_int_equal(comm_sites_at(sites, inside)->line, 0);
	/* Calls have the function's number from before. */
	assert_string_equal(comm_sites_function_at(sites, function)->name, "f1");
	assert_false(comm_sites_function_at(sites, function)->pending);
	lines_unknown = false;
	types_known = true;
	comm_sites_settle(sites);
	assert_int_equal(comm_sites_at(sites, inside)->line, 0x1ff);
	assert_string_equal(comm_sites_at(sites, inside)->field, "b");
	assert_int_equal(comm_sites_at(sites, inside)->pending, 0);
	codes_asked = 0;
	comm_sites_settle(sites);
	assert_int_equal(codes_asked, 0);
}

/* What an object says of itself is not overwritten by what its code knows. */
static void a_class_stays_when_names_come(void **state)
{
	uint32_t site;

	(void)state;
	names_unknown = true;
	site = comm_sites_get(sites, comm_space_get(table, 10), 0x401000, SECOND);
	site = comm_sites_of_class(sites, site, "ns::thing", 0);
	names_unknown = false;
	types_known = true;
	comm_sites_settle(sites);
	assert_string_equal(comm_sites_at(sites, site)->type, "thing");
	assert_string_equal(function_name(site), "f2");
}

static void more_names_to_come_than_are_kept(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t first, last = 0;

	(void)state;
	names_unknown = true;
	fake[0].end = 0x40000000;
	first = comm_sites_get(sites, space, 0x400000, SECOND);
	for (uint64_t ip = 0x400000; ip < 0x400000 + (1 << 17); ip++)
		last = comm_sites_get(sites, space, ip, SECOND);
	names_unknown = false;
	comm_sites_settle(sites);
	assert_string_equal(function_name(first), "f1");
	assert_string_equal(function_name(last), "[unknown]");
	assert_int_equal(comm_sites_unfiled(sites), 0);
}

static void waiting_for_lines_is_bounded(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t site = 0;
	int first;

	(void)state;
	lines_unknown = true;
	for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
		comm_sites_get(sites, space, ip, SECOND);
	first = codes_asked;
	assert_int_equal(first, 10000);
	for (int round = 1; round <= 10; round++)
		for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
			site = comm_sites_get(sites, space, ip,
					      SECOND + (uint64_t)round * SECOND / 10);
	assert_true(codes_asked > first);
	assert_true(codes_asked - first <= 10 * 256);
	/* An address whose line was not asked for again still has its site. */
	assert_int_equal(comm_sites_at(sites, site)->line, 0);
	assert_string_equal(
		comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name, "f3");
	/* A new address is asked for at once. */
	first = codes_asked;
	comm_sites_get(sites, space, 0x410000, 2 * SECOND);
	assert_int_equal(codes_asked, first + 1);
	/* In the end all lines are known. */
	lines_unknown = false;
	for (int round = 1; round <= 50; round++)
		for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip++)
			comm_sites_get(sites, space, ip, (uint64_t)round * 3 * SECOND);
	for (uint64_t ip = 0x400000; ip < 0x400000 + 10000; ip += 7) {
		site = comm_sites_get(sites, space, ip, 999 * SECOND);
		assert_int_equal(comm_sites_at(sites, site)->line, (ip - 0x400000 + 0x1000) >> 4);
	}
}

static void many_places(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t first = comm_sites_get(sites, space, 0x400000, SECOND);

	(void)state;
	fake[0].end = 0x40000000;
	comm_space_changed(table, 10);
	for (uint64_t ip = 0x400000; ip < 0x400000 + (1 << 20); ip++)
		comm_sites_get(sites, space, ip, 2 * SECOND);
	assert_int_equal(comm_sites_get(sites, space, 0x400000, 2 * SECOND), first);
	/* In each page one line is inlined twice. */
	assert_int_equal(comm_sites_count(sites), 6 + (1 << 16) + 256);
	assert_int_equal(comm_sites_functions(sites), 6 + 256);
	/* Past the limit everything is (other). */
	for (uint64_t ip = 0x400000; ip < 0x400000 + (5 << 20); ip += 16)
		comm_sites_get(sites, space, ip, 2 * SECOND);
	assert_int_equal(comm_sites_count(sites), COMM_SITES_MAX);
	assert_int_equal(comm_sites_get(sites, space, 0x400000 + (5 << 20), 2 * SECOND),
			 COMM_ID_OTHER);
	fake[0].end = 0x500000;
}

/* What is read tells sites of one line apart, also inside a region. */
static void types_make_sites(void **state)
{
	struct comm_space *space = comm_space_get(table, 10);
	uint32_t a, b;

	(void)state;
	types_known = true;
	a = comm_sites_get(sites, space, 0x400304, SECOND);
	b = comm_sites_get(sites, space, 0x400308, SECOND);
	assert_int_not_equal(a, b);
	assert_int_equal(comm_sites_get(sites, space, 0x400306, SECOND), a);
	assert_int_equal(comm_sites_at(sites, a)->line, comm_sites_at(sites, b)->line);
	assert_string_equal(comm_sites_at(sites, a)->type, "struct s");
	assert_string_equal(comm_sites_at(sites, b)->field, "b");
	assert_int_equal(comm_sites_at(sites, b)->field_offset, 8);
	b = comm_sites_within(sites, b, 2);
	assert_string_equal(comm_sites_at(sites, b)->field, "b");
	assert_int_equal(comm_sites_at(sites, b)->region, 2);
	types_known = false;
	assert_null(comm_sites_at(sites, comm_sites_get(sites, space, 0x400404, SECOND))->type);
}

static void regions_leave_room_for_plain_sites(void **state)
{
	uint32_t site = comm_sites_get(sites, comm_space_get(table, 1), 0x400100, SECOND);
	uint32_t inside = comm_sites_within(sites, site, 2), n;

	(void)state;
	assert_int_equal(comm_sites_within(sites, site, COMM_CODE_REGION_NONE), site);
	assert_int_equal(comm_sites_within(sites, site, 2), inside);
	assert_int_equal(comm_sites_at(sites, inside)->region, 2);
	assert_int_equal(comm_sites_at(sites, inside)->line, comm_sites_at(sites, site)->line);
	assert_int_equal(comm_sites_within(sites, COMM_ID_OTHER, 2), COMM_ID_OTHER);
	for (n = 0; comm_sites_within(sites, site, 3 + n) != COMM_ID_OTHER; n++)
		assert_true(n < COMM_SITES_MAX);
	assert_int_equal(n, COMM_SITES_MAX / 2 - 1);
	assert_int_equal(comm_sites_unfiled(sites), 1);
	assert_int_not_equal(comm_sites_get(sites, comm_space_get(table, 1), 0x400200, SECOND),
			     COMM_ID_OTHER);
}

static void callers_leave_room_for_plain_sites(void **state)
{
	uint32_t site = comm_sites_get(sites, comm_space_get(table, 1), 0x400100, SECOND);
	uint32_t called = comm_sites_called(sites, site, 2), n;

	(void)state;
	assert_int_equal(comm_sites_called(sites, site, COMM_ID_OTHER), site);
	assert_int_equal(comm_sites_called(sites, site, 2), called);
	assert_int_not_equal(called, site);
	assert_int_equal(comm_sites_at(sites, called)->caller, 2);
	assert_int_equal(comm_sites_at(sites, called)->line, comm_sites_at(sites, site)->line);
	assert_int_equal(comm_sites_called(sites, COMM_ID_OTHER, 2), COMM_ID_OTHER);
	/* Past the limit a site does without, which is counted. */
	for (n = 0; comm_sites_called(sites, site, 3 + n) != site; n++)
		assert_true(n < COMM_SITES_MAX);
	assert_int_equal(n, COMM_SITES_MAX / 4 - 1);
	assert_int_equal(comm_sites_unfiled(sites), 1);
}

/* Past half of the ids a path loses its outer part, past all of them the callers, too. */
static void calls_are_bounded(void **state)
{
	struct comm_calls *calls;
	uint32_t first, inner, n;

	(void)state;
	assert_int_equal(comm_calls_create(&calls), 0);
	first = comm_calls_get(calls, 7, COMM_CALL_OUTERMOST);
	inner = comm_calls_get(calls, 8, first);
	assert_int_equal(comm_calls_get(calls, 7, COMM_CALL_OUTERMOST), first);
	assert_int_not_equal(comm_calls_get(calls, 7, COMM_CALL_UNKNOWN), first);
	assert_int_equal(comm_calls_at(calls, inner)->parent, first);
	assert_int_equal(comm_calls_at(calls, inner)->function, 8);
	for (n = 0; !comm_calls_unfiled(calls); n++)
		comm_calls_get(calls, 100 + n, first);
	assert_int_equal(comm_calls_count(calls), COMM_CALLS_MAX / 2 + 1);
	n = comm_calls_get(calls, 5000000, first);
	assert_int_equal(comm_calls_at(calls, n)->function, 5000000);
	assert_int_equal(comm_calls_at(calls, n)->parent, COMM_CALL_UNKNOWN);
	assert_int_equal(comm_calls_unfiled(calls), 2);
	for (n = 0; comm_calls_get(calls, 6000000 + n, COMM_CALL_UNKNOWN); n++)
		assert_true(n < COMM_CALLS_MAX);
	assert_int_equal(comm_calls_count(calls), COMM_CALLS_MAX);
	assert_int_equal(comm_calls_unfiled(calls), 3);
	assert_int_equal(comm_calls_get(calls, 8, first), inner);
	comm_calls_destroy(calls);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(sites_by_line),
		TEST(sites_by_call),
		TEST(callers_leave_room_for_plain_sites),
		cmocka_unit_test(calls_are_bounded),
		TEST(no_place),
		TEST(generated_code_is_asked_again),
		TEST(a_file_that_could_not_be_read_is_tried_again),
		TEST(a_line_that_comes_later),
		TEST(names_that_come_later),
		TEST(a_class_stays_when_names_come),
		TEST(more_names_to_come_than_are_kept),
		TEST(waiting_for_lines_is_bounded),
		TEST(many_places),
		TEST(types_make_sites),
		TEST(regions_leave_room_for_plain_sites),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
