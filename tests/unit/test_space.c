// SPDX-License-Identifier: GPL-2.0-or-later
#include "maps.h"
#include "space.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t MS = 1000 * 1000;

static struct comm_mapping fake[60000];
static size_t n_fake;
static int asked, answer;

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx;
	(void)tgid;
	asked++;
	*ret = fake;
	*ret_n = n_fake;
	return answer;
}

static const struct comm_inspect_ops ops = {.maps = fake_maps};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *table;

static void fake_fill(size_t n)
{
	memset(fake, 0, sizeof(fake));
	n_fake = n;
	for (size_t i = 0; i < n; i++) {
		fake[i].start = 0x10000 * (i + 1);
		fake[i].end = fake[i].start + 0x8000;
		fake[i].path = "";
	}
	asked = answer = 0;
}

static int setup(void **state)
{
	(void)state;
	fake_fill(4);
	return comm_space_table_create(&inspect, &table);
}

static int teardown(void **state)
{
	(void)state;
	comm_space_table_destroy(table);
	return 0;
}

static void finds_edges(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);
	uint64_t t = 1000 * MS;

	(void)state;
	assert_int_equal(comm_space_tgid(s), 7);
	assert_null(comm_space_find(s, 0xffff, t));
	assert_ptr_equal(comm_space_get(table, 7), s);
	assert_int_equal(comm_space_find(s, 0x10000, t)->start, 0x10000);
	assert_int_equal(comm_space_find(s, 0x17fff, t)->start, 0x10000);
	assert_null(comm_space_find(s, 0x18000, t));
	assert_int_equal(comm_space_find(s, 0x40000, t)->start, 0x40000);
	assert_null(comm_space_find(s, UINT64_MAX, t));
	assert_int_equal(asked, 1);
}

static void rereads_after_50_ms_only(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);
	uint32_t generation;

	(void)state;
	assert_null(comm_space_find(s, 0x50000, 1000 * MS));
	generation = comm_space_generation(s);
	fake[4] = (struct comm_mapping){.start = 0x50000, .end = 0x51000, .path = ""};
	n_fake = 5;
	assert_null(comm_space_find(s, 0x50000, 1049 * MS));
	assert_int_equal(asked, 1);
	assert_int_equal(comm_space_generation(s), generation);
	assert_non_null(comm_space_find(s, 0x50000, 1051 * MS));
	assert_int_equal(asked, 2);
	assert_true(comm_space_generation(s) > generation);
	/* A clock that goes back is no reason to read the mappings. */
	assert_null(comm_space_find(s, 0x60000, 900 * MS));
	assert_int_equal(asked, 2);
}

/* A file's mappings cost nothing to ask for, and an event tells of each change. */
static void a_view_is_asked_at_once(void **state)
{
	static const struct comm_inspect_ops at_once = {.maps = fake_maps, .maps_at_once = true};
	static const struct comm_inspect of_file = {.ops = &at_once};
	struct comm_space_table *other;
	struct comm_space *s;

	(void)state;
	assert_int_equal(comm_space_table_create(&of_file, &other), 0);
	s = comm_space_get(other, 7);
	assert_null(comm_space_find(s, 0x50000, 1000 * MS));
	fake[4] = (struct comm_mapping){.start = 0x50000, .end = 0x51000, .path = ""};
	n_fake = 5;
	/* No event has told of it: to ask would tell nothing new. */
	assert_null(comm_space_find(s, 0x50000, 2000 * MS));
	assert_int_equal(asked, 1);
	comm_space_changed(other, 7);
	assert_non_null(comm_space_find(s, 0x50000, 2000 * MS));
	assert_int_equal(asked, 2);
	comm_space_table_destroy(other);
}

static void wild_addresses_wait_longer(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);

	(void)state;
	for (uint64_t ms = 1000; ms < 11000; ms += 10)
		assert_null(comm_space_find(s, 0x999000000, ms * MS));
	/* Without the back-off there would be 200 reads. */
	assert_in_range(asked, 5, 15);
	comm_space_changed(table, 7);
	comm_space_find(s, 0x10000, 11100 * MS);
	assert_in_range(asked, 6, 16);
}

/* While mappings are being read those from before count, nothing is kept of them, and each question asks whether they have come. */
static void those_from_before_count_while_others_are_read(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);
	uint32_t before;

	(void)state;
	answer = -EINPROGRESS;
	for (int i = 0; i < 3; i++)
		assert_null(comm_space_find(s, 0x10000, 1000 * MS));
	assert_true(asked >= 3);
	answer = 0;
	assert_non_null(comm_space_find(s, 0x10000, 1000 * MS));
	comm_space_changed(table, 7);
	answer = -EINPROGRESS;
	fake[0].end = 0x18000 + 0x1000;
	for (int i = 0; i < 3; i++) {
		before = comm_space_generation(s);
		assert_int_equal(comm_space_find(s, 0x10000, (1100 + i) * MS)->end, 0x18000);
		assert_true(comm_space_generation(s) > before);
		assert_null(comm_space_find(s, 0x18000, (1100 + i) * MS));
	}
	asked = answer = 0;
	assert_int_equal(comm_space_find(s, 0x10000, 1110 * MS)->end, 0x19000);
	assert_int_equal(asked, 1);
	before = comm_space_generation(s);
	comm_space_find(s, 0x10000, 2000 * MS);
	assert_int_equal(asked, 1);
	assert_int_equal(comm_space_generation(s), before);
}

/* What was read before a change may lack it: it is read again. */
static void a_change_while_mappings_are_read(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);

	(void)state;
	answer = -EINPROGRESS;
	comm_space_find(s, 0x10000, 1000 * MS);
	comm_space_changed(table, 7);
	answer = asked = 0;
	assert_non_null(comm_space_find(s, 0x10000, 1001 * MS));
	assert_int_equal(asked, 1);
	comm_space_find(s, 0x10000, 1002 * MS);
	assert_int_equal(asked, 1);
	comm_space_find(s, 0x10000, 1100 * MS);
	assert_int_equal(asked, 2);
	comm_space_find(s, 0x10000, 1200 * MS);
	assert_int_equal(asked, 2);
}

static void nothing_is_kept_while_a_change_is_pending(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);
	uint32_t before;

	(void)state;
	assert_non_null(comm_space_find(s, 0x10000, 1000 * MS));
	before = comm_space_generation(s);
	assert_non_null(comm_space_find(s, 0x10000, 1001 * MS));
	assert_int_equal(comm_space_generation(s), before);
	comm_space_changed(table, 7);
	assert_int_not_equal(comm_space_generation(s), before);
	before = comm_space_generation(s);
	assert_non_null(comm_space_find(s, 0x10000, 1002 * MS));
	assert_int_equal(asked, 1);
	assert_int_not_equal(comm_space_generation(s), before);
	assert_non_null(comm_space_find(s, 0x10000, 1100 * MS));
	assert_int_equal(asked, 2);
	before = comm_space_generation(s);
	assert_non_null(comm_space_find(s, 0x10000, 1101 * MS));
	assert_int_equal(comm_space_generation(s), before);
}

/* Constant is what is a file's or the kernel's, private, and not writable: one is not so each. */
static void constant_memory(void **state)
{
	struct comm_space *space = comm_space_get(table, 7);

	(void)state;
	fake[0].kind = fake[1].kind = fake[2].kind = COMM_MAP_FILE;
	fake[1].writable = true;
	fake[2].shared = true;
	fake[3].kind = COMM_MAP_ANON;
	/* None are read for it. */
	assert_false(comm_space_is_constant(space, fake[0].start));
	assert_non_null(comm_space_find(space, fake[0].start, MS));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(comm_space_is_constant(space, fake[i].start), i == 0);
	assert_false(comm_space_is_constant(space, fake[0].end));
	fake[0].file = fake[1].file = fake[2].file = 1;
	comm_space_changed(table, 7);
	assert_non_null(comm_space_find(space, fake[0].start, 2000 * MS));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(comm_space_is_file(space, fake[i].start), i < 2);
	/* It may be one. */
	assert_true(comm_space_is_file(space, fake[0].end));
	assert_int_equal(asked, 2);
}

static void a_process_that_is_gone_keeps_its_mappings(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);

	(void)state;
	assert_non_null(comm_space_find(s, 0x10000, 1000 * MS));
	answer = -3;
	comm_space_changed(table, 7);
	assert_non_null(comm_space_find(s, 0x10000, 2000 * MS));
	assert_int_equal(asked, 2);
}

static void a_tgid_that_comes_back_is_another_space(void **state)
{
	struct comm_space *s = comm_space_get(table, 7);
	uint32_t generation;

	(void)state;
	comm_space_find(s, 0x10000, 1000 * MS);
	generation = comm_space_generation(s);
	comm_space_drop(table, 7);
	comm_space_drop(table, 8);
	s = comm_space_get(table, 7);
	assert_int_not_equal(comm_space_generation(s), generation);
	comm_space_find(s, 0x10000, 1000 * MS);
	assert_int_equal(asked, 2);
}

static void many_mappings(void **state)
{
	struct comm_space *s;

	(void)state;
	fake_fill(60000);
	s = comm_space_get(table, 9);
	for (size_t i = 0; i < 60000; i += 7)
		assert_int_equal(comm_space_find(s, fake[i].start + 5, 1000 * MS)->start,
				 fake[i].start);
	assert_int_equal(asked, 1);
}

static void mappings_of_many_processes_are_not_all_kept(void **state)
{
	enum { PROCESSES = 20, KEPT_MIB = 12 };
	size_t before;

	(void)state;
	fake_fill(20000);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (uint32_t i = 1; i <= PROCESSES; i++)
		assert_non_null(comm_space_find(comm_space_get(table, i), 0x10000, 1000 * MS));
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd < before + ((size_t)KEPT_MIB << 20));
	assert_int_equal(asked, PROCESSES);
	/* The last one's are there still, the first one's are asked for again. */
	assert_non_null(comm_space_find(comm_space_get(table, PROCESSES), 0x20000, 1000 * MS));
	assert_int_equal(asked, PROCESSES);
	assert_non_null(comm_space_find(comm_space_get(table, 1), 0x20000, 1000 * MS));
	assert_int_equal(asked, PROCESSES + 1);
}

static void processes_that_are_not_asked_for_are_too_many(void **state)
{
	enum { KEPT = 16384 };
	uint32_t tgid = 0;

	(void)state;
	for (uint32_t i = 1; i <= KEPT; i++)
		comm_space_get(table, i);
	assert_false(comm_space_crowded(table, &tgid));
	comm_space_get(table, 1);
	comm_space_get(table, KEPT + 1);
	assert_true(comm_space_crowded(table, &tgid));
	assert_int_equal(tgid, 2);
	comm_space_drop(table, 2);
	assert_false(comm_space_crowded(table, &tgid));
	comm_space_get(table, 2);
	assert_true(comm_space_crowded(table, &tgid));
	assert_int_equal(tgid, 3);
	/* The newest, and one in between. */
	comm_space_drop(table, 2);
	comm_space_drop(table, 7);
	comm_space_get(table, 3);
	comm_space_get(table, KEPT + 2);
	comm_space_get(table, KEPT + 3);
	assert_true(comm_space_crowded(table, &tgid));
	assert_int_equal(tgid, 4);
}

static void parses_maps(void **state)
{
	static const char text[] =
		"1000-2000 r--p 00000000 fd:01 77                      /bin/x y\n"
		"2000-3000 r-xp 00001000 fd:01 77                      /bin/x y (deleted)\n"
		"3000-4000 rw-p 00000000 00:00 0 \n"
		"garbage\n"
		"3800-4800 rw-p 00000000 00:00 0 \n" /* overlaps */
		"5000-6000 rw-p 00000000 00:00 0                       [heap]\n"
		"6000-7000 rw-s 00000000 00:01 5                       /dev/zero (deleted)\n"
		"7000-8000 rwxp 00000000 00:00 0 \n"
		"8000-9000 rw-s 00000000 00:01 6                       /memfd:a\033[2J\n"
		"9000-a000 rwxs 00000000 00:01 6                       /memfd:doublemapper\n"
		"a000-b000 rw-p 00000000 00:00 0                       [stack]\n"
		"b000-c000 r-xp 00000000 00:00 0                       [vdso]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
	static const enum comm_mapping_kind kind[] = {
		COMM_MAP_FILE,	 COMM_MAP_FILE, COMM_MAP_ANON,	 COMM_MAP_HEAP,
		COMM_MAP_SHARED, COMM_MAP_JIT,	COMM_MAP_SHARED, COMM_MAP_JIT,
		COMM_MAP_STACK,	 COMM_MAP_VDSO, COMM_MAP_VDSO,
	};
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_mapping *m;
	size_t n;

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_maps_parse(maps, text, sizeof(text) - 1, &m, &n), 0);
	assert_int_equal(n, 11);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(m[i].kind, kind[i]);
	assert_int_equal(m[1].offset, 0x1000);
	assert_int_equal(m[1].ino, 77);
	assert_string_equal(m[1].path, "/bin/x y");
	assert_int_equal(m[0].file, 1);
	assert_int_equal(m[1].file, 1);
	assert_int_equal(m[2].file, 0);
	assert_string_equal(m[2].path, "");
	assert_true(m[4].shared && m[4].writable && !m[4].executable);
	assert_string_equal(m[6].path, "/memfd:a\\x1b[2J");
	free(m);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

/* Segment 6 of two namespaces, and a memfd whose inode has that number. */
static void segments_are_their_namespaces(void **state)
{
	static const char text[] =
		"6000-7000 rw-s 00000000 00:01 6                       /SYSV00000000 (deleted)\n"
		"8000-9000 rw-s 00000000 00:01 6                       /memfd:a\n"
		"a000-b000 rw-s 00000000 00:01 0                       /SYSV0000002a (deleted)";
	struct comm_mapping *one, *two;
	struct comm_names *names;
	struct comm_maps *maps;
	size_t n;

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_maps_parse(maps, text, sizeof(text) - 1, &one, &n), 0);
	assert_int_equal(comm_maps_parse(maps, text, sizeof(text) - 1, &two, &n), 0);
	assert_int_equal(n, 3);
	assert_true(comm_maps_has_sysv(one, n));
	assert_false(comm_maps_has_sysv(one + 1, 1));
	assert_true(one[0].dev != one[1].dev);
	assert_true(one[0].dev == two[0].dev && one[0].file == two[0].file);
	comm_maps_set_ipc(maps, one, n, 4026531839);
	comm_maps_set_ipc(maps, two, n, 4026532001);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(one[i].dev == two[i].dev, i == 1);
	assert_int_not_equal(one[0].file, two[0].file);
	assert_true(one[2].dev && one[2].file);
	free(one);
	free(two);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

/* Programs that run from memfds, beside one that holds generated code. */
static void programs_in_memfds(void **state)
{
	static const char text[] =
		"1000-2000 r--p 00000000 00:01 7                       /memfd:a\n"
		"2000-3000 r-xp 00001000 00:01 7                       /memfd:a\n"
		"3000-4000 rw-p 00002000 00:01 7                       /memfd:a\n"
		"4000-5000 rw-p 00000000 00:01 8                       /memfd:a\n"
		"5000-6000 r-xs 00000000 00:01 9                       /memfd:code\n"
		"6000-7000 r-xp 00000000 00:16 3                       /dev/shm/app/lib.so";
	static const enum comm_mapping_kind kind[] = {COMM_MAP_FILE, COMM_MAP_FILE,
						      COMM_MAP_FILE, COMM_MAP_SHARED,
						      COMM_MAP_JIT,  COMM_MAP_FILE};
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_mapping *m;
	size_t n;

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_maps_parse(maps, text, sizeof(text) - 1, &m, &n), 0);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(m[i].kind, kind[i]);
	free(m);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

static void bounds_the_mappings(void **state)
{
	enum { LINES = COMM_MAPS_MAX + 1000, HUGE_PROCESS = 100000 };
	size_t capacity = (size_t)LINES * 40, used = 0, n;
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_mapping *m;
	char *text = malloc(capacity);

	(void)state;
	assert_non_null(text);
	for (uint64_t i = 1; i <= LINES; i++)
		used += (size_t)snprintf(text + used, capacity - used, "%llx-%llx rw-p 0 0:0 0\n",
					 (unsigned long long)(i << 16),
					 (unsigned long long)((i << 16) + 4096));
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_maps_parse(maps, text, used, &m, &n), 0);
	assert_int_equal(n, COMM_MAPS_MAX);
	assert_true(n >= HUGE_PROCESS);
	free(m);
	free(text);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(rereads_after_50_ms_only, setup, teardown),
		cmocka_unit_test_setup_teardown(a_view_is_asked_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(wild_addresses_wait_longer, setup, teardown),
		cmocka_unit_test_setup_teardown(those_from_before_count_while_others_are_read,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_change_while_mappings_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_kept_while_a_change_is_pending, setup,
						teardown),
		cmocka_unit_test_setup_teardown(constant_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_that_is_gone_keeps_its_mappings, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_tgid_that_comes_back_is_another_space, setup,
						teardown),
		cmocka_unit_test_setup_teardown(many_mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(mappings_of_many_processes_are_not_all_kept, setup,
						teardown),
		cmocka_unit_test_setup_teardown(processes_that_are_not_asked_for_are_too_many,
						setup, teardown),
		cmocka_unit_test(parses_maps),
		cmocka_unit_test(segments_are_their_namespaces),
		cmocka_unit_test(programs_in_memfds),
		cmocka_unit_test(bounds_the_mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
