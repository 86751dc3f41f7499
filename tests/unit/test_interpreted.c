// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of a burst's accesses an interpreter does for which bytecode (interpreted.c): bursts and names are made. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "interpreted.h"

enum {
	TGID = 7,
	PAGE = 4096,
	LOOP = 0x401000, /* a page of the interpreter's loop, */
	PART = 0x402000, /* and one of what it calls */
	LIBRARY = 0x500000,
	HEAP = 0x600000,
	F = HEAP + 0x100, /* bytecode of two functions */
	G = HEAP + 0x800,
	CODE_BYTES = 0x100,
	DATA = HEAP + 0xc00,
	R = COMM_ACCESS_READ,
	W = COMM_ACCESS_WRITE,
};

static const struct comm_mapping mappings[] = {
	{.start = 0x400000,
	 .end = 0x403000,
	 .kind = COMM_MAP_FILE,
	 .path = "/usr/bin/python3.11",
	 .file = 1},
	{.start = LIBRARY,
	 .end = LIBRARY + PAGE,
	 .kind = COMM_MAP_FILE,
	 .path = "/lib/libc.so.6",
	 .file = 2},
	{.start = HEAP, .end = HEAP + PAGE, .kind = COMM_MAP_ANON, .path = ""},
};

static int made_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx;
	(void)tgid;
	*ret = mappings;
	*ret_n = sizeof(mappings) / sizeof(*mappings);
	return 0;
}

static ssize_t made_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	(void)ctx;
	(void)tgid;
	(void)m;
	(void)addr;
	(void)buf;
	(void)len_bytes;
	return -EFAULT;
}

static int made_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	(void)ctx;
	(void)tgid;
	(void)m;
	*ret = (struct comm_code){.module = "app.py", .build_id = ""};
	if (ip - LOOP < PAGE)
		ret->function = "_PyEval_EvalFrameDefault";
	else if (ip - PART < PAGE || ip - LIBRARY < PAGE)
		ret->function = "helper";
	else if (ip - F < CODE_BYTES)
		ret->function = "f";
	else if (ip - G < CODE_BYTES)
		ret->function = "g";
	else
		ret->function = "[python]";
	return *ret->function == '[' ? -ENOENT : 0;
}

static const struct comm_inspect_ops ops = {
	.maps = made_maps, .text = made_text, .code = made_code};

static struct {
	struct comm_inspect inspect;
	struct comm_identity identity;
	struct comm_space_table *table;
	struct comm_instructions instructions;
	struct comm_sample sample;
	struct comm_burst burst;
} world;

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	world.inspect.ops = &ops;
	world.instructions.identity = &world.identity;
	assert_int_equal(comm_identity_init(&world.identity, &world.inspect), 0);
	assert_int_equal(comm_space_table_create(&world.inspect, &world.table), 0);
	return comm_decoder_create(&world.inspect, &world.instructions.decoder);
}

static int teardown(void **state)
{
	(void)state;
	comm_decoder_destroy(world.instructions.decoder);
	comm_space_table_destroy(world.table);
	comm_identity_deinit(&world.identity);
	return 0;
}

struct made {
	uint64_t ip, addr, bytes;
	uint16_t flags;
	uint64_t bytecode; /* that it is to be done for */
};

static void check(const struct made *made, uint32_t n)
{
	world.burst.n_accesses = n;
	for (uint32_t i = 0; i < n; i++)
		world.burst.access[i] = (struct comm_burst_access){.ip = made[i].ip,
								   .addr = made[i].addr,
								   .size_bytes = made[i].bytes,
								   .flags = made[i].flags,
								   .bytecode = 1};
	comm_interpreted_tell(&world.instructions, comm_space_get(world.table, TGID), &world.sample,
			      1000000000, &world.burst);
	for (uint32_t i = 0; i < n; i++)
		if (world.burst.access[i].bytecode != made[i].bytecode)
			fail_msg("access %u is done for %#lx, and not for %#lx", i,
				 world.burst.access[i].bytecode, made[i].bytecode);
}

#define CHECK(...)                                         \
	do {                                               \
		const struct made made[] = {__VA_ARGS__};  \
		check(made, sizeof(made) / sizeof(*made)); \
	} while (0)

static void accesses_behind_a_read_of_bytecode_are_its(void **state)
{
	(void)state;
	CHECK({LOOP, F + 4, 2, R, F + 4}, {LOOP + 8, DATA, 8, R, F + 4}, {PART, DATA, 8, W, F + 4},
	      {LOOP + 16, F + 6, 2, R, F + 6}, {PART, DATA, 8, R, F + 6});
	/* A call; what the library does is the library's. */
	CHECK({LOOP, F + 4, 2, R, F + 4}, {LOOP + 8, G, 1, R, G}, {LIBRARY, DATA, 8, R, 0},
	      {PART, DATA, 8, R, G});
}

static void what_is_no_bytecode_says_nothing(void **state)
{
	(void)state;
	CHECK({LOOP, DATA, 2, R, 0}, {LOOP, F, 8, R, 0}, {LOOP, F, 2, W, 0}, {LOOP, F + 1, 1, R, 0},
	      {PART, F, 2, R, 0}, {LIBRARY, F, 2, R, 0}, {LOOP, LOOP, 2, R, 0},
	      {PART, DATA, 8, R, 0});
}

static void the_first_accesses_have_a_register_to_witness(void **state)
{
	(void)state;
	CHECK({PART, DATA, 8, R, 0}, {LIBRARY, DATA, 8, R, 0}, {LOOP, F + 8, 2, R, F + 8});
	world.sample.reg[COMM_R15] = F + 6;
	CHECK({PART, DATA, 8, R, F + 8}, {LIBRARY, DATA, 8, R, 0}, {LOOP, F + 8, 2, R, F + 8},
	      {LOOP, G, 2, R, G});
	/* It is in the function that calls. */
	CHECK({PART, DATA, 8, R, 0}, {LOOP, G, 2, R, G});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(accesses_behind_a_read_of_bytecode_are_its, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_bytecode_says_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(the_first_accesses_have_a_register_to_witness,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
