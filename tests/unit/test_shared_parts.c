// SPDX-License-Identifier: GPL-2.0-or-later
/* Parts of shared memory, by made variables of two processes of a program that lead there. */
#include "shared_parts.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
	FIRST = 7,
	SECOND = 8,
	DATA = 0x10000,
	DATA_BYTES = 0x1000,
	BSS = DATA + DATA_BYTES,
	BSS_BYTES = 0x6000,
	SHARED = 0x700000,
	SHARED_BYTES = 0x100000,
	MANY = 400, /* variables that lead to it: more than are looked at */
	SECOND_NS = 1000000000,
	SHORT_NS = 200000000,
};

/* Where they have their variables is the same; what is in these is not. */
static struct {
	uint64_t word[2][(DATA_BYTES + BSS_BYTES) / 8];
	uint64_t now_ns;
	int n_reads, read_err, variable_err;
	size_t most_bytes; /* that can be read at a time; 0: all */
} world;

static const struct comm_mapping mappings[] = {
	{.start = DATA - 0x1000,
	 .end = DATA,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/made",
	 .file = 1},
	{.start = DATA,
	 .end = BSS,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/made",
	 .file = 1},
	{.start = BSS,
	 .end = BSS + BSS_BYTES,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = SHARED,
	 .end = SHARED + SHARED_BYTES,
	 .offset = 0x1000,
	 .dev = 1,
	 .ino = 3,
	 .readable = true,
	 .writable = true,
	 .shared = true,
	 .kind = COMM_MAP_SHARED,
	 .path = "/dev/zero (deleted)",
	 .file = 2},
};

static ssize_t read_world(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	(void)ctx;
	world.n_reads++;
	if (world.read_err)
		return world.read_err;
	assert_in_range(addr, DATA, BSS + BSS_BYTES - len_bytes);
	if (world.most_bytes && len_bytes > world.most_bytes)
		len_bytes = world.most_bytes;
	memcpy(buf, (const char *)world.word[tgid - FIRST] + (addr - DATA), len_bytes);
	return (ssize_t)len_bytes;
}

static uint64_t now(void *ctx)
{
	(void)ctx;
	return world.now_ns;
}

/* Every word is a variable, but those of "pair" are one and those of the last page have no name. */
static int variable(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    struct comm_static *ret)
{
	static const char *const name[] = {"zero", "one", "two", "three", "four", "pair", "pair"};
	uint64_t at = (addr - DATA) / 8;

	(void)ctx, (void)tgid;
	assert_in_range(addr, m->start, m->end - 1);
	*ret = (struct comm_static){.name = at < 7 ? name[at] : "other", .start = addr};
	ret->end = addr + 8;
	if (at == 5)
		ret->end += 8;
	if (at == 6)
		ret->start -= 8;
	if (addr >= BSS + BSS_BYTES - 0x1000)
		*ret = (struct comm_static){.name = ".bss", .start = BSS, .end = BSS + BSS_BYTES};
	return world.variable_err;
}

static struct comm_shared_parts *parts;

static struct comm_shared_place place_of(uint32_t tgid)
{
	return (struct comm_shared_place){tgid, &mappings[3], mappings, 4};
}

static int setup(void **state)
{
	static const struct comm_shared_reading reading = {read_world, now, variable, NULL};

	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_ns = SECOND_NS;
	return comm_shared_parts_create(&reading, &parts);
}

static int teardown(void **state)
{
	(void)state;
	comm_shared_parts_destroy(parts);
	return 0;
}

static void set(size_t variable_at, uint64_t first, uint64_t second)
{
	world.word[0][variable_at] = first;
	world.word[1][variable_at] = second;
}

static void read_by(uint32_t tgid)
{
	const struct comm_shared_place place = place_of(tgid);

	comm_shared_parts_read(parts, &place);
	world.now_ns += SHORT_NS;
}

static const struct comm_block *part_at(uint64_t addr)
{
	const struct comm_shared_place place = place_of(FIRST);
	struct comm_blocks_found found;

	if (comm_shared_parts_at(parts, &place, addr, &found))
		return NULL;
	for (size_t i = 0; i < found.n; i++)
		if (addr - found.block[i].start < found.block[i].size_bytes)
			return &found.block[i];
	return NULL;
}

static void assert_part(uint64_t addr, const char *name)
{
	const struct comm_block *part = part_at(addr);

	assert_string_equal(part ? part->class : "(none)", name);
}

static void parts_have_the_names_of_variables(void **state)
{
	(void)state;
	set(3, SHARED + 0x40, SHARED + 0x40);
	set(1, SHARED + 0x80000, SHARED + 0x80000);
	set(BSS_BYTES / 8 - 600, SHARED + 0x4010, SHARED + 0x4010); /* in .bss */
	/* Not into it, of more than a word, and of no variable. */
	set(0, SHARED + SHARED_BYTES, SHARED + SHARED_BYTES);
	set(4, SHARED - 1, SHARED - 1);
	set(5, SHARED + 0x100, SHARED + 0x100);
	set(6, SHARED + 0x200, SHARED + 0x200);
	set((DATA_BYTES + BSS_BYTES) / 8 - 1, SHARED + 0x300, SHARED + 0x300);
	read_by(FIRST);
	/* One reading may be of any moment. */
	assert_part(SHARED + 0x40, "(none)");
	read_by(SECOND);
	assert_part(SHARED + 0x3f, "(none)");
	assert_part(SHARED + 0x40, "three");
	assert_part(SHARED + 0x300, "three");
	assert_part(SHARED + 0x400f, "three");
	assert_part(SHARED + 0x4010, "other");
	assert_part(SHARED + 0x7ffff, "other");
	assert_part(SHARED + 0x80000, "one");
	assert_part(SHARED + SHARED_BYTES - 1, "one");
	assert_int_equal(part_at(SHARED + 0x7000)->start, SHARED + 0x4010);
	assert_int_equal(part_at(SHARED + 0x7000)->size_bytes, 0x80000 - 0x4010);
	assert_int_equal(part_at(SHARED + 0xf0000)->size_bytes, SHARED_BYTES - 0x80000);
}

static void what_leads_elsewhere_marks_no_part(void **state)
{
	(void)state;
	set(0, SHARED, SHARED);
	set(1, SHARED + 0x1000, SHARED + 0x2000); /* its own in each process */
	set(2, SHARED + 0x3000, 0);		  /* in one alone */
	set(3, SHARED + 0x4000, SHARED + 0x4000);
	set(4, SHARED + 0x5000, SHARED + 0x5000);
	read_by(FIRST);
	read_by(SECOND);
	assert_part(SHARED + 0x1000, "zero");
	assert_part(SHARED + 0x2000, "zero");
	assert_part(SHARED + 0x3000, "zero");
	assert_part(SHARED + 0x4000, "three");
	assert_part(SHARED + 0x5000, "four");
	/* A cursor goes on, and comes back. */
	set(4, SHARED + 0x6000, SHARED + 0x6000);
	read_by(FIRST);
	assert_part(SHARED + 0x6000, "three");
	set(4, SHARED + 0x5000, SHARED + 0x5000);
	read_by(SECOND);
	read_by(FIRST);
	assert_part(SHARED + 0x5000, "three");
}

static void one_variable_alone_renames_nothing(void **state)
{
	(void)state;
	set(0, SHARED, SHARED);
	read_by(FIRST);
	read_by(SECOND);
	assert_part(SHARED, "(none)");
	/* Two that lead to the same are no more. */
	set(1, SHARED, SHARED);
	read_by(FIRST);
	read_by(SECOND);
	assert_part(SHARED, "(none)");
	/* One that is set later is found later. */
	set(2, SHARED + 0x1000, SHARED + 0x1000);
	read_by(FIRST);
	read_by(SECOND);
	assert_part(SHARED, "zero");
	assert_part(SHARED + 0x1000, "two");
}

static void the_next_reading_is_of_another_process(void **state)
{
	const struct comm_shared_place first = place_of(FIRST), second = place_of(SECOND);

	(void)state;
	assert_true(comm_shared_parts_due(parts, &first));
	read_by(FIRST);
	assert_false(comm_shared_parts_due(parts, &first));
	assert_true(comm_shared_parts_due(parts, &second));
	/* There may be no other. */
	world.now_ns += (uint64_t)2 * SECOND_NS;
	assert_true(comm_shared_parts_due(parts, &first));
	/* They become rarer, and never end. */
	for (int i = 0; i < 20; i++)
		read_by(FIRST);
	world.now_ns += (uint64_t)9 * SECOND_NS;
	assert_false(comm_shared_parts_due(parts, &second));
	world.now_ns += SECOND_NS;
	assert_true(comm_shared_parts_due(parts, &second));
}

static void what_cannot_be_read_says_nothing(void **state)
{
	const struct comm_shared_place first = place_of(FIRST);

	(void)state;
	set(0, SHARED, SHARED);
	set(1, SHARED + 0x1000, SHARED + 0x1000);
	read_by(FIRST);
	read_by(SECOND);
	assert_part(SHARED + 0x1000, "one");
	/* A process that has ended, in the middle or before; a file that is still read. */
	world.read_err = -ESRCH;
	read_by(FIRST);
	world.read_err = 0;
	world.most_bytes = 8;
	read_by(FIRST);
	world.most_bytes = 0;
	world.variable_err = -EAGAIN;
	read_by(FIRST);
	assert_part(SHARED + 0x1000, "one");
	assert_true(comm_shared_parts_due(parts, &first));
	/* A file without symbols. */
	world.variable_err = -ENOENT;
	read_by(FIRST);
	assert_part(SHARED + 0x1000, "(none)");
}

static void hostile_variables(void **state)
{
	struct comm_shared_place place = place_of(FIRST);
	struct comm_blocks_found found;
	struct comm_mapping m = mappings[3];

	(void)state;
	for (size_t i = 10; i < 10 + MANY; i++)
		set(i, SHARED + i, SHARED + i);
	read_by(FIRST);
	read_by(SECOND);
	assert_int_equal(comm_shared_parts_at(parts, &place, SHARED, &found), 0);
	assert_int_equal(found.n, 256);
	for (size_t i = 1; i < found.n; i++)
		assert_int_equal(found.block[i].start,
				 found.block[i - 1].start + found.block[i - 1].size_bytes);
	/* It is mapped again, and smaller. */
	m.end = m.start + 100;
	place.m = &m;
	assert_int_equal(comm_shared_parts_at(parts, &place, SHARED, &found), 0);
	assert_int_equal(found.n, 90);
	assert_int_equal(found.block[89].start + found.block[89].size_bytes, m.end);
	/* No program. */
	place.n_map = 0;
	assert_false(comm_shared_parts_due(parts, &place));
	comm_shared_parts_read(parts, &place);
	assert_int_equal(comm_shared_parts_at(parts, &place, SHARED, &found), -ENOENT);
	/* More memory than is known gives way. */
	place = place_of(FIRST);
	place.m = &m;
	for (m.ino = 100; m.ino < 200; m.ino++) {
		assert_true(comm_shared_parts_due(parts, &place));
		comm_shared_parts_read(parts, &place);
		assert_int_equal(comm_shared_parts_at(parts, &place, SHARED, &found), -ENOENT);
	}
	assert_part(SHARED + 100, "(none)");
}

static void memory_that_may_have_parts(void **state)
{
	struct comm_mapping m = mappings[3];

	(void)state;
	assert_true(comm_shared_parts_may_have(&m));
	m.shared = false;
	assert_false(comm_shared_parts_may_have(&m));
	m.shared = true;
	m.end = m.start + 0x1000;
	assert_false(comm_shared_parts_may_have(&m));
	assert_false(comm_shared_parts_may_have(&mappings[2]));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(parts_have_the_names_of_variables),
		TEST(what_leads_elsewhere_marks_no_part),
		TEST(one_variable_alone_renames_nothing),
		TEST(the_next_reading_is_of_another_process),
		TEST(what_cannot_be_read_says_nothing),
		TEST(hostile_variables),
		TEST(memory_that_may_have_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
