/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording in a file of its own for each test, of made-up events and of a fake view's answers.  To
 * be included once by a test program.
 */
#ifndef TESTS_MADE_RECORDING_H
#define TESTS_MADE_RECORDING_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"

static char path[64];

/* A fake inspect view whose mappings change with each question. */
struct fake {
	int asked;
	struct comm_mapping map[2];
	int codes_asked;
};

static inline int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret,
			    size_t *ret_n)
{
	struct fake *fake = ctx;

	if (tgid == 666)
		return -ESRCH;
	fake->map[0] = (struct comm_mapping){
		.start = 0x1000, .end = 0x2000, .readable = true, .path = "/bin/one", .file = 1};
	fake->map[1] = (struct comm_mapping){.start = 0x3000 + 0x1000 * (uint64_t)fake->asked,
					     .end = 0x900000,
					     .writable = true,
					     .kind = COMM_MAP_ANON,
					     .path = ""};
	fake->asked++;
	*ret = fake->map;
	*ret_n = 2;
	return 0;
}

static inline ssize_t fake_text(void *ctx, uint32_t tgid, const struct comm_mapping *m,
				uint64_t addr, void *buf, size_t len_bytes)
{
	(void)ctx, (void)tgid, (void)m;
	memset(buf, (int)(addr & 0xff), len_bytes);
	return (ssize_t)len_bytes / 2;
}

static inline int fake_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
			    struct comm_code *ret)
{
	struct fake *fake = ctx;

	(void)tgid, (void)m;
	*ret = (struct comm_code){.function = "f", .module = "one", .build_id = "abc"};
	/* The line becomes known at the fifth question. */
	ret->provisional = ++fake->codes_asked < 5;
	ret->line = ret->provisional ? 0 : 7;
	if (!ret->provisional) {
		ret->type = "struct client";
		ret->field = "querybuf";
		ret->field_offset = 72;
	}
	/* What is inlined is known to be called somewhere, before and after its type is. */
	if (fake->codes_asked > 3) {
		ret->call_source = "call.c";
		ret->call_line = 9;
	}
	ret->start = ip & ~15ull;
	ret->end = ret->start + 16;
	return ip & 1 ? -ENOENT : 0;
}

static inline int fake_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			    struct comm_static *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_static){"v", "one", "abc", addr, addr + 8};
	return 0;
}

static inline int fake_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid;
	memset(name, 0, 16);
	snprintf(name, 16, "thread %u", tid);
	return 0;
}

static const struct comm_block made_blocks[] = {
	{.start = 0x600010, .size_bytes = 24, .class = "Order", .object = 0},
	{.start = 0x600030, .size_bytes = 1000, .least_bytes = 985},
	{.start = 0x600500, .size_bytes = 104, .class = "Order", .object = 16},
	{.start = 0x600600, .size_bytes = 104, .class = "Trade", .object = 0},
};
enum { MADE_BLOCKS = sizeof(made_blocks) / sizeof(*made_blocks) };

static bool are_blocks_gone;

static inline int fake_blocks(void *ctx, uint32_t tgid, uint64_t addr,
			      struct comm_blocks_found *ret)
{
	(void)ctx;
	(void)addr;
	if (are_blocks_gone)
		return -EAGAIN;
	*ret = (struct comm_blocks_found){made_blocks, tgid == 1 ? MADE_BLOCKS : 0};
	return tgid == 1 || tgid == 2 ? 0 : -EAGAIN;
}

/* Of one process as long as it has the library: then it runs another program. */
static int n_allocations;

static inline int fake_allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
				  struct comm_allocation *ret)
{
	(void)ctx;
	if (tgid != 1 || (addr != 0x600010 && time_ns >= 500))
		return tgid == 2 ? -ENOENT : -ENOSYS;
	n_allocations++;
	*ret = (struct comm_allocation){
		.start = 0x600000,
		.size_bytes = 24,
		.since_ns = time_ns,
		.until_ns = UINT64_MAX,
		.code = 0x1234,
		.sp = 1,
		.rbp = 2,
		.n_words = COMM_ALLOCATION_WORDS,
		.word = {3, [COMM_ALLOCATION_WORDS - 1] = 4},
	};
	return 0;
}

static inline int fake_title(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES])
{
	(void)ctx;
	if (tgid != 1)
		return -ESRCH;
	memset(title, 0, COMM_TITLE_BYTES);
	strcpy(title, "prog: worker");
	return 0;
}

/* Of one thread, from its third question on and not always. */
static int n_given;

static inline int fake_given_name(void *ctx, uint32_t tgid, uint32_t tid,
				  char name[COMM_THREAD_NAME_BYTES])
{
	(void)ctx;
	if (tgid != 1 || tid != 2)
		return -ENOENT;
	if (++n_given < 3)
		return -EAGAIN;
	if (n_given == 7)
		return -ENOENT;
	memset(name, 0, COMM_THREAD_NAME_BYTES);
	snprintf(name, COMM_THREAD_NAME_BYTES, "given %d", n_given / 5);
	return 0;
}

static const struct comm_inspect_ops fake_ops = {
	.maps = fake_maps,
	.text = fake_text,
	.code = fake_code,
	.data = fake_data,
	.thread_name = fake_name,
	.title = fake_title,
	.given_name = fake_given_name,
	.blocks = fake_blocks,
	.allocation = fake_allocation,
};

static const struct comm_record_head head = {
	.start_ns = 5, .event = "cpu-clock", .numa = "0:0-3;1:4", .function = "ns::parse*"};

static inline struct comm_sample sample_of(int seed)
{
	struct comm_sample sample = {.n_chunks = 2, .data_bytes = 64, .mode_bits = 64};

	for (int i = 0; i < COMM_NREGS; i++)
		sample.reg[i] = (uint64_t)seed * 1000 + (uint64_t)i;
	sample.chunk[0] = (struct comm_chunk){.addr = 0x7000, .len_bytes = 24};
	sample.chunk[1] = (struct comm_chunk){.addr = 0x9000, .len_bytes = 40, .offset = 24};
	memset(sample.data, seed, 64);
	return sample;
}

static inline void write_recording(void)
{
	struct fake fake = {0};
	struct comm_inspect inner = {&fake_ops, &fake}, inspect;
	struct comm_record *record;
	const struct comm_mapping *maps;
	struct comm_code code;
	char text[64], name[16], title[COMM_TITLE_BYTES], given[COMM_THREAD_NAME_BYTES];
	struct comm_blocks_found blocks;
	struct comm_allocation a;
	size_t n;
	int err;

	n_given = 0;
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_inspect(record, &inner, &inspect);
	for (int i = 1; i <= 10; i++) {
		struct comm_sample sample = sample_of(i);
		struct comm_event event = {.time_ns = 100u * (unsigned int)i,
					   .kind = COMM_EV_SAMPLE,
					   .tgid = 1,
					   .tid = 2,
					   .sample = &sample};

		assert_int_equal(inspect.ops->maps(inspect.ctx, 1, &maps, &n), 0);
		assert_int_equal(inspect.ops->maps(inspect.ctx, 666, &maps, &n), -ESRCH);
		assert_int_equal(inspect.ops->text(inspect.ctx, 1, maps, 0x1234, text, 64), 32);
		inspect.ops->code(inspect.ctx, 1, maps, 0x1234, &code);
		inspect.ops->thread_name(inspect.ctx, 1, 2, name);
		inspect.ops->title(inspect.ctx, 1, title);
		inspect.ops->title(inspect.ctx, 666, title);
		inspect.ops->given_name(inspect.ctx, 1, 2, given);
		inspect.ops->given_name(inspect.ctx, 1, 3, given);
		for (uint32_t tgid = 1; tgid <= 3; tgid++)
			inspect.ops->blocks(inspect.ctx, tgid, 0x600040, &blocks);
		/* Until the event is recorded, all of its accesses get the same answer. */
		are_blocks_gone = true;
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 1, 0x600080, &blocks), 0);
		assert_int_equal(blocks.n, MADE_BLOCKS);
		are_blocks_gone = false;
		n_allocations = 0;
		for (int ask = 0; ask < 2; ask++) {
			for (uint32_t tgid = 1; tgid <= 3; tgid++)
				inspect.ops->allocation(inspect.ctx, tgid, 0x600010, event.time_ns,
							&a);
			inspect.ops->allocation(inspect.ctx, 1, 0x600017, event.time_ns, &a);
		}
		assert_int_equal(n_allocations, i < 5 ? 2 : 1);
		comm_record_event(record, &event);
	}
	comm_record_end(record, 4321, 0);
	assert_int_equal(comm_record_lost(record, &err), 0);
	comm_record_destroy(record);
}

static inline int make_path(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/test_record.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static inline int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

#endif
