// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes of heap blocks (block_class.c, cxx_class.c, python_class.c) in made memory: as compilers and the interpreter lay
 * them out, and as they never would.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "block_class.h"

enum {
	TGID = 7,
	FILE_AT = 0x10000, /* a mapped file's data */
	FILE_BYTES = 0x8000,
	HEAP_AT = 0x600000,
	HEAP_BYTES = COMM_PIECE_BYTES,
	BLOCK = HEAP_AT + 0x40,
	BLOCK_BYTES = 104,
	/* Where the file has what. */
	META_TABLE = FILE_AT + 0x100, /* __class_type_info's */
	META_INFO = FILE_AT + 0x200,
	META_NAME = FILE_AT + 0x300,
	TABLE = FILE_AT + 0x400,
	INFO = FILE_AT + 0x500,
	NAME = FILE_AT + 0x1000,
	PY_TYPE = FILE_AT + 0x2000, /* the interpreter's "type" */
	PY_META = FILE_AT + 0x2400, /* a type of types */
	PY_CLASS = FILE_AT + 0x2800,
	PY_NAME = FILE_AT + 0x3000,
	PY_FLAGS = 168,
	PY_HEAP = HEAP_AT + 0x1000,
};

static struct {
	uint8_t file[FILE_BYTES], heap[HEAP_BYTES];
	int err; /* of all that is read of the file */
	int n_reads;
	bool has_python;
	int variable_err;
	struct comm_static variable;
	uint64_t now_ns;
} world;

static const struct comm_mapping mappings[] = {
	{.start = FILE_AT,
	 .end = FILE_AT + FILE_BYTES,
	 .readable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/usr/lib/libpython3.11.so.1.0",
	 .file = 1},
	{.start = HEAP_AT,
	 .end = HEAP_AT + HEAP_BYTES,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_HEAP,
	 .path = "[heap]"},
};

static uint8_t *at(uint64_t addr, size_t *ret_left)
{
	if (addr >= FILE_AT && addr < FILE_AT + FILE_BYTES) {
		*ret_left = FILE_AT + FILE_BYTES - addr;
		return world.file + (addr - FILE_AT);
	}
	if (addr >= HEAP_AT && addr < HEAP_AT + HEAP_BYTES) {
		*ret_left = HEAP_AT + HEAP_BYTES - addr;
		return world.heap + (addr - HEAP_AT);
	}
	return NULL;
}

static ssize_t read_world(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	size_t left;
	const uint8_t *from = at(addr, &left);

	(void)ctx;
	world.n_reads++;
	if (!from)
		return -EIO;
	if (world.err && addr < HEAP_AT)
		return world.err;
	if (len_bytes > left)
		len_bytes = left;
	memcpy(buf, from, len_bytes);
	return (ssize_t)len_bytes;
}

static int variable(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    struct comm_static *ret)
{
	(void)ctx;
	assert_int_equal(tgid, TGID);
	assert_ptr_equal(m, &mappings[0]);
	assert_in_range(addr, m->start, m->end - 1);
	*ret = world.variable;
	return world.variable_err;
}

static void put(uint64_t addr, uint64_t word)
{
	size_t left;

	memcpy(at(addr, &left), &word, sizeof(word));
}

static void put_text(uint64_t addr, const char *text)
{
	size_t left;

	strcpy((char *)at(addr, &left), text);
}

static struct comm_names *names;
static struct comm_block_classes *classes;
static struct comm_block_list list;
static uint32_t object_at; /* where it is in the first block */

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.now_ns = 1000000000;
	world.variable_err = -ENOENT;
	put(META_TABLE + 8, META_INFO);
	put(META_INFO, META_TABLE + 16); /* as the runtime's own: cyclic */
	put(META_INFO + 8, META_NAME);
	put_text(META_NAME, "N10__cxxabiv120__si_class_type_infoE");
	put(TABLE + 8, INFO);
	put(INFO, META_TABLE + 16);
	put(INFO + 8, NAME);
	put_text(NAME, "N4shop5OrderIlEE");
	put(BLOCK, TABLE + 16);
	list = (struct comm_block_list){
		.block = {{.start = BLOCK, .size_bytes = BLOCK_BYTES}},
		.n = 1,
	};
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_block_classes_create(&classes), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	comm_block_classes_destroy(classes);
	comm_names_destroy(names);
	return 0;
}

/* The class of the first block, "" if it has none. */
static const char *class_now(uint32_t tgid)
{
	static struct comm_block_class class[COMM_PIECE_BLOCKS];
	const struct comm_marks_memory memory = {read_world, NULL};
	const struct comm_heap_reading reading = {.variable = variable, .names = names};
	const struct comm_heap_place place = {
		.m = &mappings[1],
		.map = mappings,
		.n_map = sizeof(mappings) / sizeof(*mappings),
		.has_python = world.has_python,
	};
	const struct comm_class_question question = {&memory, &reading, &place, tgid};
	int found = comm_block_classes_read(classes, &question, world.now_ns, &list, class);

	assert_true(found >= 0);
	assert_int_equal(found > 0, class[0].id != 0);
	object_at = class[0].object;
	return class[0].id ? comm_block_classes_name(classes, class[0].id) : "";
}

/* Of memory that is another now. */
static const char *class_anew(void)
{
	world.now_ns += 20000000000;
	return class_now(TGID);
}

/* A word that is another one now. */
struct broken {
	uint64_t at, word;
};

/* What has a class has none while one of the words is broken. */
static void are_no_classes(const struct broken *broken, size_t n, const char *class)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t was;
		size_t left;

		memcpy(&was, at(broken[i].at, &left), sizeof(was));
		put(broken[i].at, broken[i].word);
		if (*class_anew())
			fail_msg("%zu is a class: %s", i, class_now(TGID));
		put(broken[i].at, was);
		assert_string_equal(class_anew(), class);
	}
}

static void classes_have_names(void **state)
{
	static const char *const name[][2] = {
		{"3Foo", "Foo"},
		{"*3Foo", "Foo"},
		{"N12_GLOBAL__N_13FooE", "(anonymous namespace)::Foo"},
		{"St9exception", "std::exception"},
		{"St23_Sp_counted_ptr_inplaceI3FooSaIvELN9__gnu_cxx12_Lock_policyE2EE",
		 "std::_Sp_counted_ptr_inplace<Foo, std::allocator<void>, "
		 "(__gnu_cxx::_Lock_policy)2>"},
	};

	(void)state;
	assert_string_equal(class_now(TGID), "shop::Order<long>");
	put_text(META_NAME, "N10__cxxabiv117__class_type_infoE");
	assert_string_equal(class_anew(), "shop::Order<long>");
	put_text(META_NAME, "N10__cxxabiv121__vmi_class_type_infoE");
	assert_string_equal(class_anew(), "shop::Order<long>");
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		put_text(NAME, name[i][0]);
		assert_string_equal(class_anew(), name[i][1]);
	}
}

static void what_is_no_class(void **state)
{
	static const char *const bad[] = {"", "*", "Foo", "3Foo bar", "3Fo\n", "3Fo\xff", "99Foo"};
	static const struct broken broken[] = {
		{BLOCK, TABLE + 17},
		{BLOCK, 0},
		{BLOCK, 16},
		{BLOCK, 8},
		{BLOCK, BLOCK},
		{BLOCK, UINT64_MAX - 7},
		{BLOCK, FILE_AT},
		{BLOCK, FILE_AT + FILE_BYTES},
		{BLOCK, FILE_AT + FILE_BYTES + 16}, /* the end of a table at the file's end */
		{TABLE, (uint64_t)-16},		    /* the table of a second base */
		{TABLE + 8, BLOCK},		    /* whatever is in the heap */
		{TABLE + 8, FILE_AT + FILE_BYTES - 8},
		{TABLE + 8, TABLE},
		{TABLE + 8, UINT64_MAX},
		{INFO, 0},
		{INFO, 8},
		{INFO, UINT64_MAX},
		{INFO, INFO},
		{INFO, TABLE + 16},
		{INFO + 8, 0},
		{INFO + 8, BLOCK},
		{META_INFO + 8, BLOCK},
		{META_INFO + 8, NAME},
		{META_TABLE + 8, BLOCK},
		{META_TABLE + 8, 0},
	};

	(void)state;
	are_no_classes(broken, sizeof(broken) / sizeof(*broken), "shop::Order<long>");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put_text(NAME, bad[i]);
		assert_string_equal(class_anew(), "");
	}
	/* Without an end, and up to the end of the file. */
	memset(world.file + (NAME - FILE_AT), 'a', FILE_AT + FILE_BYTES - NAME);
	put_text(NAME, "1a");
	assert_string_equal(class_anew(), "a");
	world.file[NAME + 2 - FILE_AT] = 'a';
	assert_string_equal(class_anew(), "");
	put(INFO + 8, FILE_AT + FILE_BYTES - 3);
	assert_string_equal(class_anew(), "");
}

/* A header in front of the object is one by the size of the block in it. */
static void an_object_behind_a_header(void **state)
{
	static const struct {
		uint64_t word[3];
		const char *class;
	} header[] = {
		{{0, (BLOCK_BYTES - 24) | 2, UINT32_MAX}, "shop::Order<long>"},
		{{BLOCK_BYTES - 24 - 15, 0, 0}, "shop::Order<long>"},
		{{0, 0, BLOCK_BYTES}, "shop::Order<long>"},
		{{0, 0, 0}, ""},
		{{BLOCK_BYTES - 24 - 24, BLOCK_BYTES + 8, UINT64_MAX}, ""},
		{{TABLE + 17, HEAP_AT, 1}, ""},
	};

	(void)state;
	list.block[0].least_bytes = BLOCK_BYTES - 15;
	put(BLOCK + 24, TABLE + 16);
	for (size_t i = 0; i < sizeof(header) / sizeof(*header); i++) {
		for (uint64_t j = 0; j < 3; j++)
			put(BLOCK + 8 * j, header[i].word[j]);
		assert_string_equal(class_anew(), header[i].class);
	}
	assert_int_equal(object_at, 0);
	put(BLOCK, BLOCK_BYTES);
	class_anew();
	assert_int_equal(object_at, 24);
}

static void a_block_that_is_too_small(void **state)
{
	(void)state;
	list.block[0].size_bytes = 7;
	assert_string_equal(class_now(TGID), "");
	list.block[0].size_bytes = 8;
	assert_string_equal(class_now(TGID), "shop::Order<long>");
}

static void a_class_without_type_info(void **state)
{
	(void)state;
	put(TABLE + 8, 0);
	world.variable_err = 0;
	world.variable = (struct comm_static){.name = "vtable for shop::Cart", .start = TABLE};
	assert_string_equal(class_now(TGID), "shop::Cart");
	/* Another variable, another part of a larger one, and none. */
	world.variable.name = "VTT for shop::Cart";
	assert_string_equal(class_anew(), "");
	world.variable = (struct comm_static){.name = "vtable for shop::Cart", .start = TABLE - 32};
	assert_string_equal(class_anew(), "");
	world.variable_err = -ENOENT;
	world.variable.start = TABLE;
	assert_string_equal(class_anew(), "");
	/* Symbols that are still being read are asked for again. */
	world.variable_err = -EAGAIN;
	assert_string_equal(class_anew(), "");
	world.variable_err = 0;
	assert_string_equal(class_now(TGID), "shop::Cart");
}

static void what_a_word_leads_to_is_kept_for_a_while(void **state)
{
	int n_reads;

	(void)state;
	/* What could not be read now is no answer. */
	world.err = -EAGAIN;
	assert_string_equal(class_now(TGID), "");
	world.err = 0;
	assert_string_equal(class_now(TGID), "shop::Order<long>");
	n_reads = world.n_reads;
	put_text(NAME, "3Foo");
	assert_string_equal(class_now(TGID), "shop::Order<long>");
	assert_int_equal(world.n_reads, n_reads + 1);
	/* Other processes have other memory there, of which no answer is kept in its place. */
	for (uint32_t tgid = TGID + 1; tgid < 40000; tgid++)
		assert_string_equal(class_now(tgid), "Foo");
	put_text(NAME, "N4shop5OrderIlEE");
	assert_string_equal(class_now(TGID), "shop::Order<long>");
	put_text(NAME, "3Foo");
	assert_string_equal(class_now(TGID), "shop::Order<long>");
	assert_string_equal(class_anew(), "Foo");
}

static void put_type(uint64_t type, uint64_t its_type, uint64_t flags, uint64_t name)
{
	put(type, 3);
	put(type + 8, its_type);
	put(type + 24, name);
	put(type + PY_FLAGS, flags);
}

static int setup_python(void **state)
{
	const uint64_t is_metatype = UINT64_C(1) << 31;

	setup(state);
	world.has_python = true;
	put_type(PY_TYPE, PY_TYPE, is_metatype | 1, PY_NAME);
	put_type(PY_META, PY_TYPE, is_metatype, PY_NAME + 64);
	put_type(PY_CLASS, PY_TYPE, 1, PY_NAME + 128);
	put_text(PY_NAME, "type");
	put_text(PY_NAME + 64, "Meta");
	put_text(PY_NAME + 128, "shop.Order");
	put(BLOCK, 2);
	put(BLOCK + 8, PY_CLASS);
	return 0;
}

/* Words of the block from its start on, and the class that follows. */
static const char *class_of_words(const uint64_t word[6])
{
	for (uint64_t i = 0; i < 6; i++)
		put(BLOCK + 8 * i, word[i]);
	return class_anew();
}

static void classes_of_python(void **state)
{
	const uint64_t next = PY_HEAP, last = PY_HEAP + 0x100;

	(void)state;
	assert_string_equal(class_now(TGID), "shop.Order");
	/* One that is collected, and one that has a dictionary of its own, too. */
	assert_string_equal(class_of_words((uint64_t[6]){next, last, 1, PY_CLASS}), "shop.Order");
	assert_string_equal(
		class_of_words((uint64_t[6]){0, last, next, last, UINT32_MAX, PY_CLASS}),
		"shop.Order");
	put(PY_CLASS + 8, PY_META);
	assert_string_equal(class_anew(), "shop.Order");
	/* Types are objects. */
	assert_string_equal(class_of_words((uint64_t[6]){1, PY_META}), "Meta");
	assert_string_equal(class_of_words((uint64_t[6]){1, PY_TYPE}), "type");
	put_text(PY_NAME + 128, "Gr\xfc\xdf"
				"e");
	assert_string_equal(class_of_words((uint64_t[6]){1, PY_CLASS}), "Gr\\xfc\\xdfe");
	world.has_python = false;
	assert_string_equal(class_anew(), "");
}

static void what_is_no_class_of_python(void **state)
{
	static const struct broken broken[] = {
		{BLOCK, 0},
		{BLOCK, PY_HEAP},
		{BLOCK, UINT64_C(1) << 32},
		{BLOCK + 8, 0},
		{BLOCK + 8, PY_CLASS + 1},
		{BLOCK + 8, FILE_AT + FILE_BYTES - 8},
		{BLOCK + 8, UINT64_MAX - 7},
		{BLOCK + 8, BLOCK},
		{PY_CLASS, 0},
		{PY_CLASS, UINT64_C(1) << 32},

		{PY_CLASS + 8, PY_CLASS}, /* an object is no type: its type's instances are none */
		{PY_CLASS + 8, PY_TYPE + 4},
		{PY_CLASS + 8, 0},
		{PY_CLASS + 8, PY_HEAP},
		{PY_CLASS + 24, 0},
		{PY_CLASS + 24, PY_NAME + 256}, /* "" */
		{PY_CLASS + 24, UINT64_MAX},
		{PY_TYPE + PY_FLAGS, 1},
		{PY_TYPE + 8, PY_CLASS},
		{PY_TYPE + 24, PY_NAME + 64},
		{PY_TYPE + 24, UINT64_MAX},
	};

	(void)state;
	are_no_classes(broken, sizeof(broken) / sizeof(*broken), "shop.Order");
	/* Two types that are each other's, and a "type" of the program's own. */
	put(PY_CLASS + 8, PY_META);
	put_type(PY_HEAP, PY_META, UINT64_C(1) << 31, PY_NAME);
	put(PY_META + 8, PY_HEAP);
	assert_string_equal(class_anew(), "");
	put(PY_HEAP + 8, PY_HEAP);
	assert_string_equal(class_anew(), "");
	put(PY_META + 8, PY_TYPE);
	assert_string_equal(class_anew(), "shop.Order");
	/* A name without an end. */
	memset(world.file + (PY_NAME + 128 - FILE_AT), 'a', FILE_AT + FILE_BYTES - PY_NAME - 128);
	assert_string_equal(class_anew(), "");
}

/* However many words of a piece may lead somewhere, few are followed at once. */
static void hostile_pieces_are_bounded(void **state)
{
	(void)state;
	list.n = 0;
	for (uint64_t i = 0; i < HEAP_BYTES / 8; i++) {
		put(HEAP_AT + i * 8, TABLE + 16 + i * 8);
		put(TABLE + 8 + i * 8, INFO);
		list.block[list.n++] =
			(struct comm_block){.start = HEAP_AT + i * 8, .size_bytes = 8};
	}
	class_now(TGID);
	assert_in_range(world.n_reads, 9, 8 * 32);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(classes_have_names),
		TEST(what_is_no_class),
		TEST(an_object_behind_a_header),
		TEST(a_block_that_is_too_small),
		TEST(a_class_without_type_info),
		TEST(what_a_word_leads_to_is_kept_for_a_while),
		TEST(hostile_pieces_are_bounded),
		cmocka_unit_test_setup_teardown(classes_of_python, setup_python, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_class_of_python, setup_python, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
