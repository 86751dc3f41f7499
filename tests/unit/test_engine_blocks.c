// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: of which block of a heap an access is. */
#include "made_engine.h"

static const struct comm_block made_blocks[] = {
	{HEAP + 0x10, 24, 0, NULL, 0},
	{HEAP + 0x30, 104, 89, NULL, 0},
	{HEAP + 0xa0, 200000, 196593, NULL, 0},
};

static const struct comm_block classed_blocks[] = {
	{HEAP + 0x10, 72, 0, "ns::Order<a::b>", 0},
	{HEAP + 0x60, 200, 185, "ns::Order<a::b>", 16},
};

static const char *block_read(uint64_t time_ns, uint64_t addr)
{
	const struct comm_precise read = {.addr = addr, .ip = TEXT, .flags = COMM_ACCESS_READ};
	const struct comm_event event = {.kind = COMM_EV_ACCESS,
					 .time_ns = time_ns,
					 .tgid = TGID,
					 .tid = FIRST,
					 .access = read};
	const struct comm_identity *identity = comm_engine_identity(engine);
	const struct comm_object *object;

	give(&event);
	object = comm_objects_at(identity->objects, world.access[0].object);
	assert_string_equal(object->name, addr < SHARED ? "[heap]" : object->name);
	return comm_objects_at(identity->objects, comm_access_shown(&world.access[0]))->name;
}

/* Estimators are given the heap, and beside it what edges are to name. */
static void blocks_that_are_read(void **state)
{
	(void)state;
	world.blocks = (struct comm_blocks_found){made_blocks, 3};
	assert_string_equal(block_read(START, HEAP + 0x30), "heap blocks of 89 to 104 B");
	assert_string_equal(block_read(START, HEAP + 0x97), "heap blocks of 89 to 104 B");
	assert_string_equal(block_read(START, HEAP + 0x10), "heap blocks of up to 24 B");
	assert_string_equal(block_read(START, HEAP + 0x1000), "heap block of 192K");
	assert_string_equal(block_read(START, HEAP + 0x98), "[heap]");
	assert_string_equal(block_read(START, HEAP + 0x8), "[heap]");
	assert_lost(COMM_LOSS_BLOCKS, 0);
	/* What is written has no edge of its own to name it. */
	world.blocks_asked = 0;
	give_precise(COMM_EV_ACCESS, HEAP + 0x200, COMM_ACCESS_WRITE);
	assert_int_equal(world.blocks_asked, 0);
	assert_int_equal(world.access[0].block, COMM_ID_OTHER);
}

/* The large block that a write is put in. */
static uint32_t written(uint64_t addr)
{
	give_precise(COMM_EV_ACCESS, addr, COMM_ACCESS_WRITE);
	return world.access[0].large;
}

/* Reads at the beginning of a block of so many bytes; which large one it is. */
static uint32_t block_met(uint64_t time_ns, uint64_t start, uint64_t size_bytes)
{
	const struct comm_block block = {.start = start, .size_bytes = size_bytes};

	world.blocks = (struct comm_blocks_found){&block, 1};
	block_read(time_ns, start);
	world.blocks = (struct comm_blocks_found){0};
	return world.access[0].large;
}

static void large_blocks_are_told_apart(void **state)
{
	const uint64_t step = 256 << 10, later = START + 55000000, last = later + 55000000;

	(void)state;
	assert_int_equal(block_met(START, BUFFERS + step, 131071), 0);
	assert_int_equal(block_met(START, BUFFERS + 2 * step, 131072), 1);
	assert_int_equal(block_met(START, BUFFERS + 4 * step, 131072), 2);
	assert_int_equal(block_met(START, BUFFERS + 3 * step, step), 3);
	/* Writes are told by what reads have met. */
	world.blocks_asked = 0;
	assert_int_equal(written(BUFFERS + 2 * step + 131071), 1);
	assert_int_equal(written(BUFFERS + 2 * step + 131072), 0);
	assert_int_equal(written(BUFFERS + 4 * step - 1), 3);
	assert_int_equal(written(BUFFERS + 4 * step), 2);
	assert_int_equal(written(BUFFERS), 0);
	assert_int_equal(world.blocks_asked, 0);
	/* The next answer is the same, or another block has come there, or in between of two. */
	assert_int_equal(block_met(later, BUFFERS + 4 * step, 131072), 2);
	assert_int_equal(block_met(later, BUFFERS + 2 * step, 131073), 4);
	assert_int_equal(written(BUFFERS + 2 * step), 4);
	assert_int_equal(block_met(last, BUFFERS + 2 * step + 4096, step), 5);
	assert_int_equal(written(BUFFERS + 2 * step), 0);
	assert_int_equal(written(BUFFERS + 3 * step), 5);
	assert_int_equal(written(BUFFERS + 4 * step - 1), 0);
	assert_int_equal(written(BUFFERS + 4 * step), 2);
}

/* Of many the one is forgotten that was not met for longest. */
static void large_blocks_are_bounded(void **state)
{
	const uint64_t step = 256 << 10, later = START + 55000000;
	const uint32_t most = 4096;

	(void)state;
	for (uint32_t i = 0; i < most; i++)
		assert_int_equal(block_met(START + i, BUFFERS + i * step, 131072), i + 1);
	assert_int_equal(block_met(later, BUFFERS, 131072), 1);
	assert_int_equal(block_met(later, BUFFERS + most * step, 131072), most + 1);
	assert_int_equal(written(BUFFERS), 1);
	assert_int_equal(written(BUFFERS + step), 0);
	assert_int_equal(written(BUFFERS + 2 * step), 3);
	assert_int_equal(written(BUFFERS + (most - 1) * step), most);
	assert_int_equal(written(BUFFERS + most * step), most + 1);
}

static void assert_type_read(uint64_t addr, uint64_t ip, const char *type, const char *field)
{
	const struct comm_identity *identity = comm_engine_identity(engine);
	const struct comm_event event = {
		.kind = COMM_EV_ACCESS,
		.time_ns = START,
		.tgid = TGID,
		.tid = FIRST,
		.access = {.addr = addr, .ip = ip, .flags = COMM_ACCESS_READ},
	};
	const struct comm_site *site;

	give(&event);
	site = comm_sites_at(identity->sites, world.access[0].site);
	assert_string_equal(site->type ? site->type : "(none)", type);
	assert_string_equal(site->field ? site->field : "(none)", field);
}

static void classes_of_what_is_read(void **state)
{
	(void)state;
	world.blocks = (struct comm_blocks_found){classed_blocks, 2};
	assert_string_equal(block_read(START, HEAP + 0x10), "ns::Order<a::b> (heap blocks)");
	/* One class is one object, whatever the sizes of its blocks. */
	assert_string_equal(block_read(START, HEAP + 0x78), "ns::Order<a::b> (heap blocks)");
	assert_int_equal(comm_objects_count(comm_engine_identity(engine)->objects), 3);
	/* Code without a type reads the class; in front of the object nothing is of it. */
	assert_type_read(HEAP + 0x20, TEXT, "Order<a::b>", "");
	assert_type_read(HEAP + 0x70, TEXT, "Order<a::b>", "");
	assert_type_read(HEAP + 0x68, TEXT, "(none)", "(none)");
	/* A base begins where the object does; what is a member of it, or beside it, is not the class. */
	assert_type_read(HEAP + 0x18, TYPED, "Order<a::b>", "price");
	assert_type_read(HEAP + 0x78, TYPED, "Order<a::b>", "price");
	assert_type_read(HEAP + 0x20, TYPED, "Base", "price");
	assert_type_read(HEAP + 0x100, TYPED, "Base", "price");
	/* What is no block of a class has its code's type alone. */
	assert_type_read(HEAP + 0x2000, TEXT, "(none)", "(none)");
	assert_type_read(HEAP + 0x2000, TYPED, "Base", "price");
}

/* Of all processes one object, and the datum and its object stay those of the memory. */
static void parts_of_shared_memory(void **state)
{
	static const struct comm_block laid_out[] = {
		{SHARED + 0x40, 0x80, 0, "Ring", 0},
		{SHARED + 0xc0, 200000, 0, "Slots", 0},
	};
	struct comm_event event = {
		.kind = COMM_EV_ACCESS,
		.time_ns = START,
		.tgid = OTHER_TGID,
		.tid = SECOND,
		.access = {.addr = SHARED + 0x40, .ip = TEXT, .flags = COMM_ACCESS_READ}};
	const struct comm_identity *identity = comm_engine_identity(engine);
	const struct comm_object *ring;
	const uint64_t later = START + 55000000;
	struct comm_access mine;

	(void)state;
	world.blocks = (struct comm_blocks_found){laid_out, 2};
	assert_string_equal(block_read(START, SHARED + 0xbf), "*Ring+");
	assert_string_equal(block_read(START, SHARED + 0xc0), "*Slots+");
	assert_int_equal(world.access[0].large, 0);
	assert_string_equal(block_read(START, SHARED + 0x3f), "/dev/shm/made");
	assert_string_equal(block_read(START, SHARED + 0x40), "*Ring+");
	mine = world.access[0];
	assert_string_equal(comm_objects_at(identity->objects, mine.object)->name, "/dev/shm/made");
	ring = comm_objects_at(identity->objects, mine.block);
	assert_int_equal(ring->kind, COMM_OBJECT_SHARED);
	assert_int_equal(ring->tgid, 0);
	assert_int_equal(ring->size_bytes, 0x80);
	give(&event);
	assert_int_equal(world.access[0].datum, mine.datum);
	assert_int_equal(world.access[0].object, mine.object);
	assert_int_equal(world.access[0].block, mine.block);
	/* Its class is no type. */
	assert_type_read(SHARED + 0x48, TEXT, "(none)", "(none)");
	world.blocks_err = -ENOENT;
	assert_string_equal(block_read(later, SHARED + 0x200), "/dev/shm/made");
	/* It has none mostly: nothing is lost. */
	world.blocks_err = -EAGAIN;
	assert_string_equal(block_read(later, SHARED + 0x300), "/dev/shm/made");
	assert_lost(COMM_LOSS_BLOCKS, 0);
}

static void an_answer_on_blocks_is_kept_for_a_while(void **state)
{
	const uint64_t later = START + 55000000;

	(void)state;
	world.blocks = (struct comm_blocks_found){made_blocks, 2};
	for (int i = 0; i < 10; i++)
		block_read(START + (uint64_t)i, HEAP + 0x30);
	assert_int_equal(world.blocks_asked, 1);
	world.blocks.n = 1;
	assert_string_equal(block_read(later, HEAP + 0x30), "[heap]");
	assert_int_equal(world.blocks_asked, 2);
}

/* The lines of a block are one question; what is beside it is another. */
static void a_block_is_asked_for_once(void **state)
{
	(void)state;
	world.blocks = (struct comm_blocks_found){made_blocks, 3};
	world.blocks_asked = 0;
	for (uint64_t at = 0x1000; at < 0x1000 + 4096; at += 64)
		assert_string_equal(block_read(START, HEAP + at), "heap block of 192K");
	assert_int_equal(world.blocks_asked, 1);
	assert_string_equal(block_read(START, HEAP + 0x98), "[heap]");
	assert_int_equal(world.blocks_asked, 2);
}

static void blocks_that_nobody_read(void **state)
{
	(void)state;
	world.blocks_err = -EAGAIN;
	assert_string_equal(block_read(START, HEAP + 0x30), "[heap]");
	assert_string_equal(block_read(START, HEAP + 0x30), "[heap]");
	assert_lost(COMM_LOSS_BLOCKS, 2);
}

static void an_allocator_that_is_not_known(void **state)
{
	(void)state;
	world.blocks_err = -ENOENT;
	assert_string_equal(block_read(START, HEAP + 0x30), "[heap] (allocator not known)");
	assert_string_equal(block_read(START, STACK + 0x30), "stack of worker/7");
	/* A recording that was made before blocks were told. */
	world.blocks_err = -ENOSYS;
	assert_string_equal(block_read(START, HEAP + 0x130), "[heap]");
	assert_lost(COMM_LOSS_BLOCKS, 0);
}

static void names_of_blocks(void **state)
{
	static const struct {
		struct comm_block block;
		const char *name;
	} made[] = {
		{{0, 1000, 985, NULL, 0}, "heap blocks of 985 to 1000 B"},
		{{0, 1024, 1009, NULL, 0}, "heap blocks of 1009 to 1024 B"},
		{{0, 1032, 1017, NULL, 0}, "heap blocks of 1025 to 1280 B"},
		{{0, 1288, 1273, NULL, 0}, "heap blocks of 1281 to 1536 B"},
		{{0, 2048, 2033, NULL, 0}, "heap blocks of 1793 to 2048 B"},
		{{0, 4096, 4081, NULL, 0}, "heap blocks of 3585 to 4096 B"},
		{{0, 4104, 4089, NULL, 0}, "heap blocks of 4K to 5K"},
		{{0, 131064, 131049, NULL, 0}, "heap blocks of 112K to 128K"},
		{{0, 135152, 131057, NULL, 0}, "heap block of 128K"},
		{{0, UINT64_C(5) << 30, UINT64_C(5) << 30, NULL, 0}, "heap block of 5G"},
		{{0, 160 << 10, (128 << 10) + 1, NULL, 0}, "heap blocks of 128K to 160K"},
		{{0, 4 << 20, (3584 << 10) + 1, NULL, 0}, "heap blocks of 3584K to 4096K"},
		{{0, 5 << 20, (4 << 20) + 1, NULL, 0}, "heap blocks of 4M to 5M"},
		{{0, UINT64_MAX, 0, NULL, 0}, "heap block of 0K"},
		{{0, 0, 0, NULL, 0}, "heap blocks of up to 0 B"},
		{{0, 104, 89, "Order", 0}, "Order (heap blocks)"},
	};
	char name[COMM_BLOCK_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		comm_block_name(&made[i].block, name);
		assert_string_equal(name, made[i].name);
	}
}

/* One thread writes a word in that code again and again, and another one reads it; bytes that cross. */
static double fed_by(uint64_t code)
{
	teardown(NULL);
	setup(NULL);
	teardown(NULL);
	begin(&comm_est_hazard, true);
	world.edges = MANY_EDGES;				 /* as many as there are */
	memcpy(world.text, "\x48\x8b\x03\xf4", 4);		 /* mov (%rbx),%rax; hlt */
	memcpy(world.text + code - TEXT, "\x48\x89\x03\xf4", 4); /* mov %rax,(%rbx); hlt */
	give(&(struct comm_event){.kind = COMM_EV_RATE,
				  .time_ns = START,
				  .trigger = COMM_TRIGGER_TIME,
				  .period = 1000});
	for (unsigned int i = 1; i <= 100; i++) {
		struct comm_sample sample = sample_at(i % 2 ? code : TEXT);

		give_sample(START + i * 1000, i % 2 ? FIRST : SECOND, &sample);
	}
	comm_engine_advance(engine, START + SLICE);
	return world.last_edge.src_thread == world.last_edge.dst_thread ? 0 : world.edge_bytes;
}

/* What free() writes in a block is its list of free ones: who is given the block reads other data there. */
static void who_frees_a_block_feeds_nobody(void **state)
{
	(void)state;
	assert_true(fed_by(CLEARS) > 0);
	assert_true(fed_by(ALLOCATES) == 0);
}

/* They are an object of their own, in accesses that a PMU samples, too. */
static void lists_of_allocators(void **state)
{
	const struct comm_identity *identity = comm_engine_identity(engine);
	struct comm_event event = {.kind = COMM_EV_ACCESS, .time_ns = START, .tgid = TGID};

	(void)state;
	event.access = (struct comm_precise){
		.addr = HEAP + 64, .ip = ALLOCATES, .size_bytes = 8, .flags = COMM_ACCESS_WRITE};
	give(&event);
	assert_string_equal(comm_objects_at(identity->objects, world.access[0].object)->name,
			    "[heap] (the allocator's)");
	event.access.addr = SHARED;
	give(&event);
	assert_string_equal(comm_objects_at(identity->objects, world.access[0].object)->name,
			    "/dev/shm/made");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(blocks_that_are_read),	TEST(an_answer_on_blocks_is_kept_for_a_while),
		TEST(blocks_that_nobody_read),	TEST(an_allocator_that_is_not_known),
		TEST(names_of_blocks),		TEST(classes_of_what_is_read),
		TEST(parts_of_shared_memory),	TEST(large_blocks_are_told_apart),
		TEST(large_blocks_are_bounded), TEST(who_frees_a_block_feeds_nobody),
		TEST(lists_of_allocators),	TEST(a_block_is_asked_for_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
