// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings: events and answers are read back as written; records of newer kinds are
 * counted, damage is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "record.h"
#include "record_event.h"
#include "replay.h"

static char path[64];

/* A fake inspect view whose mappings change with each question. */
struct fake {
	int asked;
	struct comm_mapping map[2];
	int codes_asked;
};

static int fake_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
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

static ssize_t fake_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	(void)ctx, (void)tgid, (void)m;
	memset(buf, (int)(addr & 0xff), len_bytes);
	return (ssize_t)len_bytes / 2;
}

static int fake_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
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

static int fake_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_static){"v", "one", "abc", addr, addr + 8};
	return 0;
}

static int fake_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid;
	memset(name, 0, 16);
	snprintf(name, 16, "thread %u", tid);
	return 0;
}

static const struct comm_block made_blocks[] = {{0x600010, 24, 0}, {0x600030, 1000, 985}};

static bool are_blocks_gone;

static int fake_blocks(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret)
{
	(void)ctx;
	(void)addr;
	if (are_blocks_gone)
		return -EAGAIN;
	*ret = (struct comm_blocks_found){made_blocks, tgid == 1 ? 2 : 0};
	return tgid == 1 || tgid == 2 ? 0 : -EAGAIN;
}

/* Of one process as long as it has the library: then it runs another program. */
static int n_allocations;

static int fake_allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
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

static int fake_title(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES])
{
	(void)ctx;
	if (tgid != 1)
		return -ESRCH;
	memset(title, 0, COMM_TITLE_BYTES);
	strcpy(title, "prog: worker");
	return 0;
}

static const struct comm_inspect_ops fake_ops = {
	.maps = fake_maps,
	.text = fake_text,
	.code = fake_code,
	.data = fake_data,
	.thread_name = fake_name,
	.title = fake_title,
	.blocks = fake_blocks,
	.allocation = fake_allocation,
};

static const struct comm_record_head head = {
	.start_ns = 5, .event = "cpu-clock", .numa = "0:0-3;1:4"};

static struct comm_sample sample_of(int seed)
{
	struct comm_sample sample = {.n_chunks = 2, .data_bytes = 64, .mode_bits = 64};

	for (int i = 0; i < COMM_NREGS; i++)
		sample.reg[i] = (uint64_t)seed * 1000 + (uint64_t)i;
	sample.chunk[0] = (struct comm_chunk){.addr = 0x7000, .len_bytes = 24};
	sample.chunk[1] = (struct comm_chunk){.addr = 0x9000, .len_bytes = 40, .offset = 24};
	memset(sample.data, seed, 64);
	return sample;
}

static void write_recording(void)
{
	struct fake fake = {0};
	struct comm_inspect inner = {&fake_ops, &fake}, inspect;
	struct comm_record *record;
	const struct comm_mapping *maps;
	struct comm_code code;
	char text[64], name[16], title[COMM_TITLE_BYTES];
	struct comm_blocks_found blocks;
	struct comm_allocation a;
	size_t n;
	int err;

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
		for (uint32_t tgid = 1; tgid <= 3; tgid++)
			inspect.ops->blocks(inspect.ctx, tgid, 0x600040, &blocks);
		/* Until the event is recorded, all of its accesses get the same answer. */
		are_blocks_gone = true;
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 1, 0x600080, &blocks), 0);
		assert_int_equal(blocks.n, 2);
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
	comm_record_end(record, 4321);
	assert_int_equal(comm_record_lost(record, &err), 0);
	comm_record_destroy(record);
}

static int make_path(void **state)
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

static int remove_path(void **state)
{
	(void)state;
	return unlink(path);
}

static void test_round_trip(void **state)
{
	struct comm_replay *replay;
	struct comm_event event;
	struct comm_inspect inspect;
	struct stat st;

	(void)state;
	write_recording();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(comm_replay_open(path, &replay), 0);
	assert_string_equal(comm_replay_head(replay)->event, "cpu-clock");
	assert_string_equal(comm_replay_head(replay)->numa, "0:0-3;1:4");
	comm_replay_inspect(replay, &inspect);
	for (int i = 1; i <= 10; i++) {
		struct comm_sample expect = sample_of(i);
		const struct comm_mapping *maps;
		struct comm_code code;
		char text[64], name[16], title[COMM_TITLE_BYTES];
		struct comm_blocks_found blocks;
		struct comm_allocation a, told;
		size_t n;

		assert_int_equal(comm_replay_next(replay, &event), 1);
		assert_int_equal(event.time_ns, 100 * i);
		assert_memory_equal(event.sample, &expect, comm_sample_bytes(&expect));
		/* The answer is the one that was given at this very event. */
		assert_int_equal(inspect.ops->maps(inspect.ctx, 1, &maps, &n), 0);
		assert_int_equal(n, 2);
		assert_int_equal(maps[1].start, 0x3000 + 0x1000 * (i - 1));
		assert_string_equal(maps[0].path, "/bin/one");
		assert_int_equal(inspect.ops->maps(inspect.ctx, 666, &maps, &n), -ESRCH);
		assert_int_equal(inspect.ops->text(inspect.ctx, 1, NULL, 0x1234, text, 64), 32);
		assert_int_equal(text[31], 0x34);
		assert_int_equal(inspect.ops->code(inspect.ctx, 1, NULL, 0x1234, &code), 0);
		assert_string_equal(code.function, "f");
		assert_null(code.source);
		assert_int_equal(code.start, 0x1230);
		assert_int_equal(code.provisional, i < 5);
		assert_int_equal(code.line, i < 5 ? 0 : 7);
		assert_string_equal(code.type ? code.type : "", i < 5 ? "" : "struct client");
		assert_string_equal(code.field ? code.field : "", i < 5 ? "" : "querybuf");
		assert_int_equal(code.field_offset, i < 5 ? 0 : 72);
		assert_string_equal(code.call_source ? code.call_source : "",
				    i < 4 ? "" : "call.c");
		assert_int_equal(code.call_line, i < 4 ? 0 : 9);
		assert_int_equal(inspect.ops->thread_name(inspect.ctx, 1, 2, name), 0);
		assert_string_equal(name, "thread 2");
		assert_int_equal(inspect.ops->title(inspect.ctx, 1, title), 0);
		assert_string_equal(title, "prog: worker");
		assert_int_equal(inspect.ops->title(inspect.ctx, 666, title), -ESRCH);
		assert_int_equal(inspect.ops->title(inspect.ctx, 667, title), -ESRCH);
		/* Of the whole piece of memory, whichever address is asked for. */
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 1, 0x603fff, &blocks), 0);
		assert_int_equal(blocks.n, 2);
		assert_memory_equal(blocks.block, made_blocks, sizeof(made_blocks));
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 2, 0x600000, &blocks), 0);
		assert_int_equal(blocks.n, 0);
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 3, 0x600000, &blocks), -EAGAIN);
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 1, 0x604000, &blocks), -ENOSYS);
		fake_allocation(NULL, 1, 0x600010, event.time_ns, &told);
		assert_int_equal(inspect.ops->allocation(inspect.ctx, 1, 0x600010, 0, &a), 0);
		assert_memory_equal(&a, &told, sizeof(a));
		assert_int_equal(inspect.ops->allocation(inspect.ctx, 1, 0x600017, 0, &a),
				 i < 5 ? 0 : -ENOSYS);
		assert_int_equal(inspect.ops->allocation(inspect.ctx, 2, 0x600010, 0, &a), -ENOENT);
		assert_int_equal(inspect.ops->allocation(inspect.ctx, 3, 0x600010, 0, &a), -ENOSYS);
		/* A question that was never recorded has no answer, but does no harm. */
		assert_int_equal(inspect.ops->code(inspect.ctx, 1, NULL, 0x9999, &code), -ESRCH);
		assert_non_null(code.function);
	}
	assert_int_equal(comm_replay_next(replay, &event), 0);
	assert_int_equal(comm_replay_end_ns(replay), 4321);
	assert_false(comm_replay_cut(replay));
	comm_replay_close(replay);
}

static void test_torn_tail_ends_replay(void **state)
{
	struct comm_replay *replay;
	struct comm_event event;
	int got, n = 0;

	(void)state;
	write_recording();
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 200), 0);
	assert_int_equal(comm_replay_open(path, &replay), 0);
	while ((got = comm_replay_next(replay, &event)) == 1)
		n++;
	assert_int_equal(got, 0);
	assert_int_equal(n, 9);
	assert_int_equal(comm_replay_end_ns(replay), 900);
	assert_true(comm_replay_cut(replay));
	comm_replay_close(replay);
}

/* The file as bytes, for tests that change some of them. */
static struct {
	uint8_t data[1 << 16];
	size_t n;
} image;

static void load_image(void)
{
	FILE *file = fopen(path, "r");

	image.n = fread(image.data, 1, sizeof(image.data), file);
	fclose(file);
}

static void store_image(void)
{
	FILE *file = fopen(path, "w");

	fwrite(image.data, 1, image.n, file);
	fclose(file);
}

static void poke(size_t at, uint32_t value)
{
	image.data[at] = (uint8_t)value;
	image.data[at + 1] = (uint8_t)(value >> 8);
	image.data[at + 2] = (uint8_t)(value >> 16);
	image.data[at + 3] = (uint8_t)(value >> 24);
}

static uint32_t peek(size_t at)
{
	return image.data[at] | (uint32_t)image.data[at + 1] << 8 |
	       (uint32_t)image.data[at + 2] << 16 | (uint32_t)image.data[at + 3] << 24;
}

/* Where the n-th record of a kind begins, from 0. */
static size_t find(uint32_t kind, int n)
{
	for (size_t at = RECORD_FILE_HEAD_BYTES; at < image.n;
	     at += RECORD_HEAD_BYTES + peek(at + 4))
		if (peek(at) == kind && n-- == 0)
			return at;
	fail();
	return 0;
}

static void insert(size_t at, const void *data, size_t n)
{
	memmove(image.data + at + n, image.data + at, image.n - at);
	memcpy(image.data + at, data, n);
	image.n += n;
}

/* All events of the image; returns what ended them, and how many were lost as unknown. */
static int replay_image(int *ret_events, uint64_t *ret_unknown)
{
	struct comm_replay *replay;
	struct comm_event event;
	int got;

	*ret_events = 0;
	*ret_unknown = 0;
	store_image();
	got = comm_replay_open(path, &replay);
	if (got)
		return got;
	while ((got = comm_replay_next(replay, &event)) == 1)
		if (event.kind == COMM_EV_LOSS && event.cause == COMM_LOSS_UNKNOWN)
			*ret_unknown += event.count;
		else
			(*ret_events)++;
	comm_replay_close(replay);
	return got;
}

/* A newer version's event and answer are passed over, and counted. */
static void test_unknown_kinds_are_counted(void **state)
{
	uint8_t event[8 + 32] = {0}, answer[8] = {0};
	uint64_t unknown;
	int n;

	(void)state;
	write_recording();
	load_image();
	event[0] = RECORD_PROBED + 1;
	event[4] = 32;
	memset(event + 8, 0xee, 32);
	answer[0] = RECORD_ALLOCATION + 1;
	insert(find(RECORD_SAMPLE, 4), event, sizeof(event));
	insert(find(RECORD_MAPS, 6), answer, sizeof(answer));
	assert_int_equal(replay_image(&n, &unknown), 0);
	assert_int_equal(n, 10);
	assert_int_equal(unknown, 2);
}

/* A loss whose cause is unknown to this version is counted, too. */
static void test_unknown_cause_is_counted(void **state)
{
	struct comm_record *record;
	uint64_t unknown;
	int n;

	(void)state;
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	for (uint32_t cause = 0; cause < COMM_LOSS_UNKNOWN; cause++)
		comm_record_event(
			record,
			&(struct comm_event){.kind = COMM_EV_LOSS, .cause = cause, .count = 1000});
	comm_record_end(record, 1);
	comm_record_destroy(record);
	load_image();
	memcpy(image.data + find(RECORD_LOSS, 3) + RECORD_HEAD_BYTES + 36, "moonphase", 10);
	assert_int_equal(replay_image(&n, &unknown), 0);
	assert_int_equal(n, COMM_LOSS_UNKNOWN - 1);
	assert_int_equal(unknown, 1);
}

/* Fields that a newer version appended are not looked at. */
static void test_longer_records_are_read(void **state)
{
	static const uint32_t kinds[] = {
		RECORD_RUN,  RECORD_SAMPLE, RECORD_MAPS,   RECORD_TEXT,	      RECORD_CODE,
		RECORD_NAME, RECORD_TITLE,  RECORD_BLOCKS, RECORD_ALLOCATION, RECORD_END};
	uint8_t more[16];
	uint64_t unknown;
	int n;

	(void)state;
	memset(more, 0xff, sizeof(more));
	write_recording();
	load_image();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t at = find(kinds[i], 0);
		uint32_t bytes = peek(at + 4);

		poke(at + 4, bytes + sizeof(more));
		insert(at + RECORD_HEAD_BYTES + bytes, more, sizeof(more));
	}
	assert_int_equal(replay_image(&n, &unknown), 0);
	assert_int_equal(n, 10);
	assert_int_equal(unknown, 0);
}

static void test_shorter_records_are_damage(void **state)
{
	static const uint32_t kinds[] = {
		RECORD_RUN,  RECORD_SAMPLE, RECORD_MAPS,   RECORD_TEXT,	      RECORD_CODE,
		RECORD_NAME, RECORD_TITLE,  RECORD_BLOCKS, RECORD_ALLOCATION, RECORD_END};
	uint64_t unknown;
	int n;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		/* The nodes in 16 bytes at the end of RUN may be missing. */
		uint32_t bytes, cut = kinds[i] == RECORD_RUN ? 24 : 8;
		size_t at;

		write_recording();
		load_image();
		at = find(kinds[i], 0);
		bytes = peek(at + 4) - cut;
		poke(at + 4, bytes);
		at += RECORD_HEAD_BYTES + bytes;
		image.n -= cut;
		memmove(image.data + at, image.data + at + cut, image.n - at);
		assert_int_equal(replay_image(&n, &unknown), -EBADMSG);
	}
}

static void test_damaged_lengths_and_kinds(void **state)
{
	static const uint32_t lengths[] = {1, 12, RECORD_MAX_BYTES + 8, 0xfffffff8};
	uint64_t unknown;
	int n;

	(void)state;
	write_recording();
	load_image();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t at = find(RECORD_SAMPLE, 3);
		uint32_t bytes = peek(at + 4);

		poke(at + 4, lengths[i]);
		assert_int_equal(replay_image(&n, &unknown), -EBADMSG);
		assert_int_equal(n, 3);
		poke(at + 4, bytes);
	}
	/* A hole of zeros; a second RUN; something behind the END. */
	poke(find(RECORD_SAMPLE, 3), 0);
	assert_int_equal(replay_image(&n, &unknown), -EBADMSG);
	write_recording();
	load_image();
	poke(find(RECORD_SAMPLE, 3), RECORD_RUN);
	assert_int_equal(replay_image(&n, &unknown), -EBADMSG);
	write_recording();
	load_image();
	insert(image.n, "12345678", 8);
	assert_int_equal(replay_image(&n, &unknown), -EBADMSG);
	assert_int_equal(n, 10);
}

/* A killed commd may leave whole records: without END, the recording was cut. */
static void test_missing_end_is_cut(void **state)
{
	struct comm_replay *replay;
	struct comm_event event;
	int n = 0;

	(void)state;
	write_recording();
	load_image();
	image.n = find(RECORD_END, 0);
	store_image();
	assert_int_equal(comm_replay_open(path, &replay), 0);
	while (comm_replay_next(replay, &event) == 1)
		n++;
	assert_int_equal(n, 10);
	assert_true(comm_replay_cut(replay));
	assert_int_equal(comm_replay_end_ns(replay), 1000);
	comm_replay_close(replay);
}

/* Each kind of event comes out as it went in, in every field. */
static void test_all_kinds(void **state)
{
	const struct comm_precise one = {.addr = 1ull << 63,
					 .ip = 2,
					 .size_bytes = 3,
					 .flags = COMM_ACCESS_KERNEL | COMM_ACCESS_READ,
					 .latency_cycles = 65535,
					 .period = 100003,
					 .data_src = 5};
	const struct comm_precise two = {.addr = 6, .ip = 7, .size_bytes = 1ull << 40};
	const struct comm_event events[] = {
		{.kind = COMM_EV_ACCESS, .access = one},
		{.kind = COMM_EV_KCOPY, .access = one},
		{.kind = COMM_EV_TOUCH, .access = one},
		{.kind = COMM_EV_MARK, .marks = {2, {0x401000, 0x402000}}},
		{.kind = COMM_EV_COUNT, .counted = {"page-faults", 7, 100, 25}},
		{.kind = COMM_EV_OBJECT, .object = {1ull << 46, 4096, 0x403000, 63}},
		{.kind = COMM_EV_FRAME, .frame = 1ull << 40},
		{.kind = COMM_EV_PROBED, .probed = {COMM_PROBED_MAX, "transaction"}},
		{.kind = COMM_EV_WATCH, .watch = {one, two, 11, 12, 13, 14, 0.1}},
		{.kind = COMM_EV_SWITCH, .next_tid = 21, .sched = {22, 23}},
		{.kind = COMM_EV_FORK, .fork = {31, 32}},
		{.kind = COMM_EV_EXEC},
		{.kind = COMM_EV_EXIT},
		{.kind = COMM_EV_RENAME},
		{.kind = COMM_EV_MMAP, .mmap = {41, 42, 43, 1}},
		{.kind = COMM_EV_RATE, .trigger = COMM_TRIGGER_ACCESSES, .period = 1ull << 33},
		{.kind = COMM_EV_COST, .cost = {51, 52, 53, 54, 55}},
		{.kind = COMM_EV_LOSS, .cause = COMM_LOSS_WATCH, .count = 61},
	};
	const size_t n = sizeof(events) / sizeof(*events);
	struct comm_record *record;
	struct comm_replay *replay;
	struct comm_event got;

	(void)state;
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	for (size_t i = 0; i < n; i++) {
		struct comm_event event = events[i];

		event.time_ns = (1ull << 50) + i;
		event.tgid = 71;
		event.tid = 72;
		event.cpu = 65535;
		comm_record_event(record, &event);
	}
	comm_record_destroy(record);
	assert_int_equal(comm_replay_open(path, &replay), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(comm_replay_next(replay, &got), 1);
		assert_true(got.time_ns == (1ull << 50) + i);
		assert_int_equal(got.tgid, 71);
		assert_int_equal(got.tid, 72);
		assert_int_equal(got.cpu, 65535);
		got.time_ns = got.tgid = got.tid = got.cpu = 0;
		assert_memory_equal(&got, &events[i], sizeof(got));
	}
	assert_int_equal(comm_replay_next(replay, &got), 0);
	comm_replay_close(replay);
}

/* The bytes that record_format.h promises, written down by hand. */
static void test_layout(void **state)
{
	static const uint8_t switch_bytes[] = {
		8,  7, 6, 5, 4,	 3, 2, 1, /* time_ns */
		4,  3, 2, 1, 8,	 7, 6, 5, /* tgid, tid */
		2,  1, 0, 0, 0,	 0, 0, 0, /* cpu, zero */
		9,  0, 0, 0, 10, 0, 0, 0, /* next tid, previous tgid */
		11, 0, 0, 0, 0,	 0, 0, 0, /* next tgid, zero */
	};
	static const uint8_t loss_tail[] = {
		3, 0, 0, 0, 0,	 0,   0,   0,	/* count */
		5, 0, 0, 0, 'l', 'a', 't', 'e', /* length with its NUL, cause */
		0, 0, 0, 0, 0,	 0,   0,   0,	/* NUL, zeros */
	};
	struct comm_sample sample = sample_of(1);
	struct comm_bytes bytes = {0};

	(void)state;
	assert_int_equal(
		comm_event_write(&bytes, &(struct comm_event){.kind = COMM_EV_SWITCH,
							      .time_ns = 0x0102030405060708,
							      .tgid = 0x01020304,
							      .tid = 0x05060708,
							      .cpu = 0x0102,
							      .next_tid = 9,
							      .sched = {10, 11}}),
		RECORD_SWITCH);
	assert_int_equal(bytes.n, sizeof(switch_bytes));
	assert_memory_equal(bytes.data, switch_bytes, sizeof(switch_bytes));
	comm_bytes_clear(&bytes);
	comm_event_write(
		&bytes,
		&(struct comm_event){.kind = COMM_EV_LOSS, .cause = COMM_LOSS_LATE, .count = 3});
	assert_int_equal(bytes.n, 24 + sizeof(loss_tail));
	assert_memory_equal(bytes.data + 24, loss_tail, sizeof(loss_tail));
	comm_bytes_clear(&bytes);
	sample.ip = 0x1122;
	comm_event_write(&bytes, &(struct comm_event){.kind = COMM_EV_SAMPLE, .sample = &sample});
	assert_int_equal(bytes.n, 200 + 2 * 16 + 64);
	assert_int_equal(bytes.data[24], 0x22);
	assert_int_equal(bytes.data[52], 64);
	assert_int_equal(bytes.data[53], 2);
	assert_int_equal(bytes.data[56], 1000 & 0xff);
	assert_int_equal(bytes.data[201], 0x70);
	assert_int_equal(bytes.data[228], 24);
	comm_bytes_free(&bytes);
}

static void assert_refused(const char *file, int err, const char *words)
{
	struct comm_replay *replay;

	assert_int_equal(comm_replay_open(file, &replay), err);
	if (words)
		assert_non_null(strstr(comm_replay_strerror(err), words));
	else
		assert_null(comm_replay_strerror(err));
}

/* To open a fifo would wait for a reader, to open a device may do anything. */
static void test_records_to_a_file_alone(void **state)
{
	struct comm_record *record;
	struct stat st;
	FILE *file;

	(void)state;
	unlink(path);
	alarm(20);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(comm_record_create(path, &head, &record), -ENOTBLK);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(comm_record_create("/dev/null", &head, &record), -ENOTBLK);
	assert_int_equal(comm_record_create("/tmp", &head, &record), -ENOTBLK);
	assert_int_equal(symlink("/tmp/any", path), 0);
	assert_int_equal(comm_record_create(path, &head, &record), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_destroy(record);
	/* What was there is overwritten. */
	assert_int_equal(truncate(path, 1 << 20), 0);
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_destroy(record);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 4096);
	/* By another: who has the old one open does not read what is in memory. */
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_destroy(record);
	assert_int_equal(fstat(fileno(file), &st), 0);
	assert_int_equal(st.st_nlink, 0);
	fclose(file);
	alarm(0);
}

static void test_refuses_foreign_files(void **state)
{
	FILE *file;

	(void)state;
	assert_refused(path, -ENODATA, "empty");
	file = fopen(path, "w");
	fputs("SQLite format 3 and so on, long enough for a head of a file", file);
	fclose(file);
	assert_refused(path, -EMEDIUMTYPE, "not a recording");
	assert_refused("/dev/null", -ENOTBLK, "no regular file");
	assert_refused("/tmp", -EISDIR, "a directory");
	assert_refused("/nonexistent/x", -ENOENT, NULL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, -ENOTBLK, "no regular file");
	assert_int_equal(unlink(path), 0);
	write_recording();
	load_image();
	poke(8, RECORD_VERSION + 97);
	store_image();
	assert_refused(path, -EPROTO, "newer commd");
	poke(8, 1);
	store_image();
	assert_refused(path, -ESTALE, "older commd");
	poke(8, RECORD_VERSION);
	poke(12, 0x04030201);
	store_image();
	assert_refused(path, -EBADMSG, "damaged");
	poke(12, RECORD_BYTE_ORDER);
	poke(16, 183);
	store_image();
	assert_refused(path, -EXDEV, "another kind of machine");
	poke(16, RECORD_X86_64);
	image.n = RECORD_FILE_HEAD_BYTES + 20;
	store_image();
	assert_refused(path, -EBADMSG, "damaged");
}

/* Every byte flipped once: no crash (the sanitizers watch), no endless loop. */
static void test_damage_is_harmless(void **state)
{
	static unsigned char bytes[65536];
	size_t size;
	FILE *file;

	(void)state;
	write_recording();
	file = fopen(path, "r");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t i = 24; i < size; i += 3) {
		struct comm_replay *replay;
		const struct comm_mapping *maps;
		struct comm_event event;
		struct comm_inspect inspect;
		size_t n;

		bytes[i] ^= 0x81;
		file = fopen(path, "w");
		fwrite(bytes, 1, size, file);
		fclose(file);
		bytes[i] ^= 0x81;
		if (comm_replay_open(path, &replay))
			continue;
		comm_replay_inspect(replay, &inspect);
		while (comm_replay_next(replay, &event) == 1)
			if (!inspect.ops->maps(inspect.ctx, 1, &maps, &n))
				assert_true(n <= 2);
		comm_replay_close(replay);
	}
}

/* A limit on the file's size stands in for a full disk.  COMM_LOSS_RECORD tells of it. */
static void test_full_disk_is_counted(void **state)
{
	const struct rlimit small = {200000, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
	struct comm_sample sample = sample_of(1);
	struct comm_event event = {.kind = COMM_EV_SAMPLE, .sample = &sample};
	struct comm_record *record;
	struct comm_replay *replay;
	int err, n = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	for (int i = 0; i < 10000; i++)
		comm_record_event(record, &event);
	assert_true(comm_record_lost(record, &err) > 5000);
	assert_int_equal(err, EFBIG);
	comm_record_destroy(record);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	/* What was written before is readable. */
	assert_int_equal(comm_replay_open(path, &replay), 0);
	while (comm_replay_next(replay, &event) == 1)
		n++;
	assert_true(n > 200);
	comm_replay_close(replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_torn_tail_ends_replay, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_unknown_kinds_are_counted, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_unknown_cause_is_counted, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_longer_records_are_read, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_shorter_records_are_damage, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_damaged_lengths_and_kinds, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_missing_end_is_cut, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_all_kinds, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_layout, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_records_to_a_file_alone, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_refuses_foreign_files, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_damage_is_harmless, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_full_disk_is_counted, make_path, remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
