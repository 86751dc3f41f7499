// SPDX-License-Identifier: GPL-2.0-or-later
#include "event.h"
#include "object.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000;
#define ARENA 0x7f0040000000ull
#define GO 0xc000000000ull

/* Process 20 has all of it shifted by 0x1000000, as another load address. */
static const uint64_t SHIFT = 0x1000000;

static const struct comm_mapping layout[] = {
	{.start = 0x400000,
	 .end = 0x410000,
	 .readable = 1,
	 .executable = 1,
	 .dev = 1,
	 .ino = 2,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/server",
	 .file = 1},
	{.start = 0x410000,
	 .end = 0x412000,
	 .offset = 0x10000,
	 .readable = 1,
	 .writable = 1,
	 .dev = 1,
	 .ino = 2,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/server",
	 .file = 1},
	/* .bss, and behind it an unrelated anonymous mapping. */
	{.start = 0x412000,
	 .end = 0x420000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = 0x500000,
	 .end = 0x540000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_HEAP,
	 .path = "[heap]"},
	{.start = 0x600000,
	 .end = 0x680000,
	 .offset = 0x3000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 77,
	 .kind = COMM_MAP_SHARED,
	 .path = "/dev/shm/PostgreSQL.1",
	 .file = 2},
	/* Two thread stacks with their guards. */
	{.start = 0x700000, .end = 0x701000, .kind = COMM_MAP_ANON, .path = ""},
	{.start = 0x701000,
	 .end = 0x780000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = 0x780000, .end = 0x781000, .kind = COMM_MAP_ANON, .path = ""},
	{.start = 0x781000,
	 .end = 0x800000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	/* Adjacent to the upper end of a stack, but no part of it. */
	{.start = 0x800000, .end = 0x810000, .readable = 1, .kind = COMM_MAP_ANON, .path = ""},
	/* One region, split by protection. */
	{.start = 0x900000,
	 .end = 0x980000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = 0x980000, .end = 0xa00000, .readable = 1, .kind = COMM_MAP_ANON, .path = ""},
	/* Mappings with one name, and mappings without a name. */
	{.start = 0xa00000,
	 .end = 0xa08000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = "[anon:pool]"},
	{.start = 0xa10000,
	 .end = 0xa20000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = "[anon:a buffer with quite a long name of its own]"},
	{.start = 0xa20000,
	 .end = 0xa30000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = "[anon:pool]"},
	{.start = 0xa30000,
	 .end = 0xa38000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = 0xa40000,
	 .end = 0xa80000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = "[anon:pool]"},
	{.start = 0xa90000,
	 .end = 0xaa0000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = 0xb00000,
	 .end = 0xb10000,
	 .readable = 1,
	 .dev = 1,
	 .ino = 5,
	 .kind = COMM_MAP_FILE,
	 .path = "/usr/share/table.dat",
	 .file = 3},
	/* What has no lasting file. */
	{.start = 0x1000000,
	 .end = 0x1900000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 200,
	 .kind = COMM_MAP_SHARED,
	 .path = "/dev/zero",
	 .file = 200},
	{.start = 0x2000000,
	 .end = 0x2900000,
	 .readable = 1,
	 .writable = 1,
	 .dev = 1,
	 .ino = 201,
	 .kind = COMM_MAP_SHARED,
	 .path = "/dev/zero",
	 .file = 201},
	{.start = 0x3000000,
	 .end = 0x3001000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 202,
	 .kind = COMM_MAP_SHARED,
	 .path = "/SYSV0012d687",
	 .file = 202},
	{.start = 0x4000000,
	 .end = 0x4001000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = (uint64_t)1 << 63 | 77,
	 .ino = 0,
	 .kind = COMM_MAP_SHARED,
	 .path = "/SYSV00000000",
	 .file = 203},
	{.start = 0x5000000,
	 .end = 0x5001000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 204,
	 .kind = COMM_MAP_SHARED,
	 .path = "/memfd:wayland-shm",
	 .file = 204},
	{.start = 0x6000000,
	 .end = 0x6020000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 205,
	 .kind = COMM_MAP_SHARED,
	 .path = "/memfd:",
	 .file = 205},
	{.start = 0x7000000,
	 .end = 0x7200000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 206,
	 .kind = COMM_MAP_SHARED,
	 .path = "/anon_hugepage",
	 .file = 206},
	{.start = 0x8000000,
	 .end = 0x8001000,
	 .readable = 1,
	 .writable = 1,
	 .shared = 1,
	 .dev = 1,
	 .ino = 207,
	 .kind = COMM_MAP_SHARED,
	 .path = "[anon_shmem:dotnet heap]",
	 .file = 207},
	{.start = GO,
	 .end = GO + 0x4000000,
	 .kind = COMM_MAP_ANON,
	 .readable = 1,
	 .writable = 1,
	 .path = ""},
	{.start = GO + 0x4000000,
	 .end = GO + 0x4400000,
	 .kind = COMM_MAP_ANON,
	 .readable = 1,
	 .writable = 1,
	 .path = ""},
	{.start = ARENA,
	 .end = ARENA + 0x21000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = ARENA + 0x21000, .end = ARENA + 0x4000000, .kind = COMM_MAP_ANON, .path = ""},
	{.start = 0x7fff00000000,
	 .end = 0x7fff00020000,
	 .readable = 1,
	 .writable = 1,
	 .kind = COMM_MAP_STACK,
	 .path = "[stack]"},
};
enum { N = sizeof(layout) / sizeof(layout[0]) };
static struct comm_mapping shifted[N];
static int data_asked;
static int many; /* not 0: each byte of .data is a variable, with this in its name */

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx;
	if (tgid == 99)
		return -ESRCH;
	memcpy(shifted, layout, sizeof(layout));
	for (size_t i = 0; i < N && tgid == 20; i++) {
		shifted[i].start += SHIFT;
		shifted[i].end += SHIFT;
	}
	*ret = shifted;
	*ret_n = N;
	return 0;
}

/* counter at 0x410100, 8 bytes; table from .data into the .bss; .bss to 0x413000. */
static int fake_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	uint64_t shift = tgid == 20 ? SHIFT : 0;
	static char name[32];

	(void)ctx;
	data_asked++;
	addr -= shift;
	*ret = (struct comm_static){.name = "", .module = "server", .build_id = "cafe"};
	if (addr >= 0x410100 && addr < 0x410108) {
		ret->name = "counter";
		ret->start = 0x410100 + shift;
		ret->end = 0x410108 + shift;
	} else if (addr >= 0x411f00 && addr < 0x412100) {
		ret->name = "table";
		ret->start = 0x411f00 + shift;
		ret->end = 0x412100 + shift;
	} else if (many && addr >= 0x410000 && addr < 0x412000) {
		snprintf(name, sizeof(name), "many%d", many);
		ret->name = name;
		ret->start = addr + shift;
		ret->end = addr + 1 + shift;
	} else if (addr >= 0x410000 && addr < 0x413000) {
		ret->name = addr < 0x412000 ? ".data" : ".bss";
		ret->start = (addr < 0x412000 ? 0x410000 : 0x412000) + shift;
		ret->end = (addr < 0x412000 ? 0x412000 : 0x413000) + shift;
	} else {
		return -ENOENT;
	}
	return m->kind == COMM_MAP_FILE || m->start - shift == 0x412000 ? 0 : -ENOENT;
}

static int fake_thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx;
	(void)tgid;
	if (tid == 102)
		return -ESRCH;
	memcpy(name, "a-longer-worker", 16);
	return 0;
}

static const struct comm_inspect_ops ops = {
	.maps = fake_maps,
	.data = fake_data,
	.thread_name = fake_thread_name,
};
static const struct comm_inspect inspect = {.ops = &ops};
static struct comm_space_table *table;
static struct comm_objects *objects;
static uint64_t datum;

static int setup(void **state)
{
	(void)state;
	data_asked = many = 0;
	if (comm_space_table_create(&inspect, &table) < 0)
		return -1;
	return comm_objects_create(&inspect, &objects);
}

static int teardown(void **state)
{
	(void)state;
	comm_objects_destroy(objects);
	comm_space_table_destroy(table);
	return 0;
}

static uint32_t id_of(uint32_t tgid, uint64_t addr, uint64_t sp, uint32_t tid)
{
	uint32_t id;

	assert_true(comm_objects_resolve(objects, comm_space_get(table, tgid), addr, sp, tid,
					 SECOND, &datum, &id));
	return id;
}

static const struct comm_object *object(uint32_t tgid, uint64_t addr, uint64_t sp, uint32_t tid)
{
	return comm_objects_at(objects, id_of(tgid, addr, sp, tid));
}

static void private_memory_is_per_process(void **state)
{
	uint64_t a, b;

	(void)state;
	id_of(10, 0x500010, 0, 1);
	a = datum;
	assert_int_equal(a & 0xffffffffffff, 0x500010);
	id_of(10, 0x500011, 0, 1);
	assert_int_equal(datum, a + 1);
	id_of(30, 0x500010, 0, 1);
	b = datum;
	assert_int_not_equal(a, b);
	id_of(10, 0x500010, 0, 1);
	assert_int_equal(datum, a);
}

static void shared_memory_is_one(void **state)
{
	uint32_t a, b;
	uint64_t first;

	(void)state;
	a = id_of(10, 0x600010, 0, 1);
	first = datum;
	assert_int_equal(first & 0xffffffffffff, 0x3010);
	b = id_of(20, 0x600010 + SHIFT, 0, 1);
	assert_int_equal(a, b);
	assert_int_equal(datum, first);
	assert_int_equal(comm_objects_at(objects, a)->kind, COMM_OBJECT_SHARED);
	assert_string_equal(comm_objects_at(objects, a)->name, "/dev/shm/PostgreSQL.1");
}

static void expect_marked(uint64_t addr, const char *name)
{
	const struct comm_object *o = object(10, addr, 0, 1);

	assert_int_equal(o->kind == COMM_OBJECT_MARKED, !!name);
	if (name)
		assert_string_equal(o->name, name);
}

/* Bytes that a process names: all others keep their object, and each byte its datum. */
static void marked_memory(void **state)
{
	uint64_t before, shared;
	uint32_t id;

	(void)state;
	id = id_of(10, 0x500010, 0, 1); /* the whole heap is cached now */
	before = datum;
	comm_objects_mark(objects, 10, 5, 0x500010, 16, "ring");
	expect_marked(0x500010, "ring");
	assert_int_equal(datum, before);
	expect_marked(0x50001f, "ring");
	assert_int_equal(object(10, 0x500018, 0, 1)->tgid, 10);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(id_of(10, 0x50000f, 0, 1), id);
		assert_int_equal(id_of(10, 0x500020, 0, 1), id);
		expect_marked(0x500010, "ring");
	}
	/* Another process's memory there is none of it. */
	assert_int_not_equal(object(30, 0x500010, 0, 1)->kind, COMM_OBJECT_MARKED);
	/* A second piece of the name is the same object; where they overlap, the first counts. */
	comm_objects_mark(objects, 10, 6, 0x500018, 64, "other");
	comm_objects_mark(objects, 10, 7, 0x500800, 8, "ring");
	assert_int_equal(id_of(10, 0x500804, 0, 1), id_of(10, 0x500010, 0, 1));
	expect_marked(0x50001f, "ring");
	expect_marked(0x500020, "other");
	expect_marked(0x500058, NULL);
	/* Named anew, and no more. */
	comm_objects_mark(objects, 10, 5, 0x500010, 4, "short");
	expect_marked(0x500013, "short");
	expect_marked(0x500014, NULL);
	comm_objects_mark(objects, 10, 5, 0, 0, "");
	assert_int_equal(id_of(10, 0x500010, 0, 1), id);
	/* A variable's part, and shared memory, in which it is one for all who name it so. */
	comm_objects_mark(objects, 10, 8, 0x410104, 4, "half");
	expect_marked(0x410104, "half");
	assert_string_equal(object(10, 0x410100, 0, 1)->name, "counter");
	comm_objects_mark(objects, 10, 9, 0x600010, 8, "queue");
	comm_objects_mark(objects, 20, 0, 0x600010 + SHIFT, 8, "queue");
	shared = id_of(10, 0x600010, 0, 1);
	assert_int_equal(id_of(20, 0x600010 + SHIFT, 0, 1), shared);
	assert_int_equal(comm_objects_at(objects, shared)->tgid, 0);
	/* What cannot be. */
	comm_objects_mark(objects, 10, COMM_NAMED_MAX, 0x500010, 8, "no slot");
	comm_objects_mark(objects, 10, 10, UINT64_MAX - 3, 8, "no memory");
	expect_marked(0x500010, NULL);
	comm_objects_drop(objects, 10);
	expect_marked(0x500804, NULL);
}

static void variables(void **state)
{
	const struct comm_object *o = object(10, 0x410104, 0, 1);
	uint64_t first = datum;
	uint32_t id;

	(void)state;
	assert_int_equal(o->kind, COMM_OBJECT_STATIC);
	assert_string_equal(o->name, "counter");
	assert_string_equal(o->module, "server");
	assert_string_equal(o->build_id, "cafe");
	assert_int_equal(o->start, datum - 4);
	assert_int_equal(o->size_bytes, 8);
	/* The same variable of another process: another datum, and another object. */
	id = id_of(10, 0x410100, 0, 1);
	assert_int_equal(comm_objects_at(objects, id)->tgid, 10);
	o = object(20, 0x410104 + SHIFT, 0, 1);
	assert_int_not_equal(datum, first);
	assert_int_not_equal(id_of(20, 0x410104 + SHIFT, 0, 1), id);
	assert_string_equal(o->name, "counter");
	assert_int_equal(o->tgid, 20);
	/* The variable's neighbours in its cache line are other objects. */
	o = object(10, 0x410108, 0, 1);
	assert_int_equal(o->kind, COMM_OBJECT_DATA);
	assert_string_equal(o->name, "server .data");
	assert_string_equal(object(10, 0x4100ff, 0, 1)->name, "server .data");
	assert_string_equal(object(10, 0x410107, 0, 1)->name, "counter");
	/* A variable that goes on in the .bss is one. */
	id = id_of(10, 0x411f00, 0, 1);
	assert_int_equal(id_of(10, 0x4120ff, 0, 1), id);
	assert_string_equal(comm_objects_at(objects, id)->name, "table");
	assert_int_equal(id_of(20, 0x4120ff + SHIFT, 0, 1), id_of(20, 0x411f00 + SHIFT, 0, 1));
	assert_int_not_equal(id_of(20, 0x4120ff + SHIFT, 0, 1), id);
}

static void bss_and_what_follows(void **state)
{
	const struct comm_object *o = object(10, 0x412800, 0, 1);

	(void)state;
	assert_int_equal(o->kind, COMM_OBJECT_DATA);
	assert_string_equal(o->name, "server .bss");
	o = object(10, 0x41f000, 0, 1);
	assert_int_equal(o->kind, COMM_OBJECT_ANON);
	assert_string_equal(object(10, 0x412ff8, 0, 1)->name, "server .bss");
	assert_int_equal(object(10, 0x413000, 0, 1)->kind, COMM_OBJECT_ANON);
}

static void mappings(void **state)
{
	(void)state;
	assert_int_equal(object(10, 0x500000, 0, 1)->kind, COMM_OBJECT_HEAP);
	assert_string_equal(object(10, 0x500000, 0, 1)->name, "[heap]");
	assert_int_equal(object(10, 0x500000, 0, 1)->size_bytes, 0x40000);
	assert_int_equal(object(10, 0x7fff00000010, 0, 1)->kind, COMM_OBJECT_STACK);
	assert_int_equal(object(10, 0x7fff00000010, 0, 1)->thread_tid, 10);
	assert_int_equal(object(10, ARENA + 8, 0, 1)->kind, COMM_OBJECT_HEAP);
	assert_string_equal(object(10, ARENA + 8, 0, 1)->name, "[malloc arena]");
	/* Of 64 MiB as well, but Go's: all of it is one object. */
	assert_int_equal(object(10, GO + 8, 0, 1)->kind, COMM_OBJECT_HEAP);
	assert_string_equal(object(10, GO + 8, 0, 1)->name, "[Go heap]");
	assert_int_equal(id_of(10, GO + 0x4000008, 0, 1), id_of(10, GO + 8, 0, 1));
	assert_string_equal(object(10, 0xb00000, 0, 1)->name, "table.dat");
	assert_int_equal(object(10, 0xb00000, 0, 1)->kind, COMM_OBJECT_SHARED);
	/* Split by protection, but one region. */
	assert_string_equal(object(10, 0x900000, 0, 1)->name, "anon 1024K");
	assert_int_equal(id_of(10, 0x900000, 0, 1), id_of(10, 0x980000, 0, 1));
	assert_int_equal(object(10, 0x900000, 0, 1)->size_bytes, 0x100000);
	assert_int_equal(object(10, 0x980000, 0, 1)->start, id_of(10, 0x900000, 0, 1) ? datum : 0);
	/* A heap of another process is another object. */
	assert_int_not_equal(id_of(10, 0x500000, 0, 1), id_of(20, 0x500000 + SHIFT, 0, 1));
}

static void memory_without_a_file(void **state)
{
	static const char *const names[] = {
		"shared memory 9M",    "private memory 9M", "SysV key 0x0012d687",
		"SysV id 0",	       "memfd wayland-shm", "shared memory 128K",
		"shared memory 2048K", "anon:dotnet heap",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct comm_object *o = object(10, 0x1000000 * (i + 1), 0, 1);

		assert_int_equal(o->kind, COMM_OBJECT_SHARED);
		assert_string_equal(o->name, names[i]);
		assert_int_equal(o->tgid, i == 1 ? 10 : 0);
	}
}

/* The first segment of an IPC namespace has id 0; other processes share it as they do any other. */
static void the_first_segment(void **state)
{
	uint32_t id = id_of(10, 0x4000040, 0, 1);
	uint64_t there = datum;

	(void)state;
	assert_int_equal(id_of(20, 0x4000040 + SHIFT, 0, 1), id);
	assert_int_equal(datum, there);
	assert_int_not_equal(id_of(10, 0x3000040, 0, 1), id);
}

static void named_memory(void **state)
{
	uint32_t pool = id_of(10, 0xa20000, 0, 1), small;

	(void)state;
	assert_string_equal(comm_objects_at(objects, pool)->name, "anon:pool");
	assert_int_equal(comm_objects_at(objects, pool)->kind, COMM_OBJECT_ANON);
	assert_int_equal(id_of(10, 0xa7ffff, 0, 1), pool);
	assert_int_not_equal(id_of(20, 0xa20000 + SHIFT, 0, 1), pool);
	assert_true(strlen(object(10, 0xa10000, 0, 1)->name) <= 40);
	assert_int_equal(strncmp(object(10, 0xa10000, 0, 1)->name, "anon:a buffer", 13), 0);
	/* An adjacent mapping is no part of it. */
	small = id_of(10, 0xa30000, 0, 1);
	assert_string_equal(comm_objects_at(objects, small)->name, "small mappings");
	/* One name, so that a report sums them; but no evidence goes across. */
	assert_string_equal(object(10, 0xa90000, 0, 1)->name, "small mappings");
	assert_int_not_equal(id_of(10, 0xa90000, 0, 1), small);
	assert_int_not_equal(id_of(20, 0xa90000 + SHIFT, 0, 1), small);
	/* The lower half of what is large enough in all, asked for first or last. */
	assert_int_not_equal(id_of(10, 0x900000, 0, 1), small);
	assert_int_equal(id_of(10, 0x900000, 0, 1), id_of(10, 0x980000, 0, 1));
}

static void thread_stacks(void **state)
{
	const struct comm_object *o;
	uint32_t a, b;

	(void)state;
	assert_int_equal(object(10, 0x77f000, 0, 1)->kind, COMM_OBJECT_ANON);
	a = id_of(10, 0x77f000, 0x77e000, 101);
	o = comm_objects_at(objects, a);
	assert_int_equal(o->kind, COMM_OBJECT_STACK);
	assert_int_equal(o->thread_tid, 101);
	assert_string_equal(o->name, "stack of a-longer-worker/101");
	b = id_of(10, 0x790000, 0x790010, 102);
	assert_int_equal(comm_objects_at(objects, b)->thread_tid, 102);
	assert_string_equal(comm_objects_at(objects, b)->name, "stack of 102");
	assert_string_equal(object(10, 0x7fff00000010, 0, 1)->name, "stack of a-longer-worker/10");
	/* A stack belongs to its thread, whichever thread accesses it. */
	assert_int_equal(id_of(10, 0x77f008, 0x790010, 102), a);
	assert_int_equal(id_of(10, 0x77f008, 0, 0), a);
	assert_string_equal(object(10, 0x800000, 0, 0)->name, "small mappings");
	/* 101 ended, 103 got its stack. */
	o = object(10, 0x77f000, 0x77e000, 103);
	assert_int_equal(o->thread_tid, 103);
	assert_int_equal(object(10, 0x77f000, 0, 0)->thread_tid, 103);
	/* A signal stack or a fiber of 102 does not make the heap its stack. */
	assert_int_equal(object(10, 0x900000, 0x900100, 102)->kind, COMM_OBJECT_ANON);
	assert_int_equal(object(10, 0x500000, 0x500100, 102)->kind, COMM_OBJECT_HEAP);
	assert_int_equal(object(10, 0x790000, 0x790010, 102)->thread_tid, 102);
	/* A goroutine's stack, though its thread was met on no other yet. */
	assert_string_equal(object(10, GO + 8, GO + 64, 104)->name, "[Go heap]");
	assert_string_equal(object(10, GO + 0x4000008, GO + 0x4000040, 105)->name, "[Go heap]");
}

static void threads_that_take_turns_own_no_stack(void **state)
{
	(void)state;
	id_of(10, 0x77f000, 0x77e000, 101);
	id_of(10, 0x77f000, 0x77e000, 102);
	assert_int_equal(object(10, 0x77f000, 0x77e000, 101)->kind, COMM_OBJECT_ANON);
	assert_int_equal(object(10, 0x77f000, 0x77e000, 102)->kind, COMM_OBJECT_ANON);
}

static void no_mapping(void **state)
{
	uint32_t id;
	uint64_t d;

	(void)state;
	assert_false(comm_objects_resolve(objects, comm_space_get(table, 10), 0x10, 0, 1, SECOND,
					  &d, &id));
	assert_false(comm_objects_resolve(objects, comm_space_get(table, 99), 0x500000, 0x10, 1,
					  SECOND, &d, &id));
	assert_string_equal(comm_objects_at(objects, 0)->name, "(other)");
	assert_string_equal(comm_objects_at(objects, 12345)->name, "(other)");
	assert_int_equal(comm_objects_count(objects), 1);
}

static void processes_come_and_go(void **state)
{
	uint64_t d;
	uint32_t id;

	(void)state;
	id_of(10, 0x500000, 0, 1);
	/* More than there are ids of spaces at one time. */
	for (uint32_t tgid = 1000; tgid < 1000 + 150000; tgid++) {
		assert_true(comm_objects_resolve(objects, comm_space_get(table, tgid), 0x410100, 0,
						 1, SECOND, &d, &id));
		assert_int_not_equal(d >> 48, 0);
		assert_int_not_equal(d >> 48, datum >> 48);
		comm_objects_drop(objects, tgid);
		comm_space_drop(table, tgid);
	}
	comm_objects_drop(objects, 7);
	/*
	 * They all ran one program, whose variable is an object of each, or after so many of
	 * all that follow: there are ids left for other things.
	 */
	assert_int_equal(comm_objects_unfiled(objects), 0);
	assert_int_equal(comm_objects_count(objects), (1 << 16) + 1);
	assert_int_equal(comm_objects_at(objects, 1 << 16)->tgid, 0);
}

static void the_cache_answers(void **state)
{
	int before;

	(void)state;
	id_of(10, 0x410100, 0, 1); /* reads the mappings, so no cached answer is left */
	id_of(10, 0x410100, 0, 1);
	before = data_asked;
	for (int i = 0; i < 1000; i++)
		id_of(10, 0x410100 + (uint64_t)i % 8, 0x7fff00000100, 10);
	assert_int_equal(data_asked, before);
	comm_space_changed(table, 10);
	id_of(10, 0x410100, 0, 1);
	assert_int_equal(data_asked, before + 1);
}

/* Objects beyond the bound of ids are "(other)", and counted (COMM_LOSS_IDS). */
static void objects_are_bounded(void **state)
{
	uint32_t n = 0;

	(void)state;
	/* A process each time, or the cache would answer. */
	for (many = 1; !comm_objects_unfiled(objects) && many < 100; many++)
		for (uint64_t addr = 0x411000; addr < 0x411f00; addr++, n++)
			id_of(100u + (uint32_t)many, addr, 0, 1);
	assert_int_equal(comm_objects_count(objects), 1 << 18);
	/* The first is "(other)" itself. */
	assert_int_equal(n - comm_objects_unfiled(objects), (1 << 18) - 1);
	many++;
	assert_int_equal(id_of(9, 0x411000, 0, 1), COMM_ID_OTHER);
	assert_int_equal(n - comm_objects_unfiled(objects), (1 << 18) - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(private_memory_is_per_process, setup, teardown),
		cmocka_unit_test_setup_teardown(shared_memory_is_one, setup, teardown),
		cmocka_unit_test_setup_teardown(marked_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(variables, setup, teardown),
		cmocka_unit_test_setup_teardown(bss_and_what_follows, setup, teardown),
		cmocka_unit_test_setup_teardown(mappings, setup, teardown),
		cmocka_unit_test_setup_teardown(memory_without_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(named_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(thread_stacks, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_that_take_turns_own_no_stack, setup,
						teardown),
		cmocka_unit_test_setup_teardown(no_mapping, setup, teardown),
		cmocka_unit_test_setup_teardown(processes_come_and_go, setup, teardown),
		cmocka_unit_test_setup_teardown(the_cache_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(objects_are_bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
