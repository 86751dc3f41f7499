// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of perf record: those of tests/fuzz/corpus/perfdata, which tests/perfdata.py made,
 * whole, cut short everywhere and with wrong sizes; and the order of records.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "fuzz/memory_file.h"
#include "order.h"
#include "packed.h"
#include "perfdata.h"
#include "processes.h"
#include "sample.h"

enum {
	FILE_MAX = 1 << 16,
	PID = 1000,
	WRITER = 1001,
	READER = 1002,
	LONER = 1003,
	RECORD_HEAD = 8,
	DATA_AT = 40, /* where the header has the offset of the data, and behind it their size */
};

static const uint64_t TEXT = 0x400000, HEAP = 0x7f0000000000, FIRST_NS = 1000100000;

static uint8_t file[FILE_MAX];
static size_t file_bytes;

static void take_file(const char *name)
{
	char path[128];
	FILE *in;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/perfdata/%s", name);
	in = fopen(path, "r");
	assert_non_null(in);
	file_bytes = fread(file, 1, sizeof(file), in);
	assert_in_range(file_bytes, 1000, sizeof(file) - 1);
	fclose(in);
}

static struct {
	unsigned int reads, writes, bursts, maps, life, names;
	uint64_t loss[COMM_LOSS_MAX];
	uint64_t last_ns;
	struct comm_event access; /* the last */
	struct comm_sample sample;
	bool cut;
} got;

static void count(const struct comm_event *event)
{
	assert_true(event->time_ns >= got.last_ns);
	got.last_ns = event->time_ns;
	switch (event->kind) {
	case COMM_EV_ACCESS:
		got.reads += !!(event->access.flags & COMM_ACCESS_READ);
		got.writes += !!(event->access.flags & COMM_ACCESS_WRITE);
		got.access = *event;
		break;
	case COMM_EV_SAMPLE:
		got.bursts++;
		got.sample = *event->sample;
		break;
	case COMM_EV_MMAP:
		got.maps++;
		break;
	case COMM_EV_FORK:
	case COMM_EV_EXIT:
		got.life++;
		break;
	case COMM_EV_RENAME:
		got.names++;
		break;
	case COMM_EV_LOSS:
		got.loss[event->cause] += event->count;
		break;
	default:
		fail();
	}
}

/* Reads what is in file; an error, of the opening or of the reading, has a sentence. */
static int read_all(size_t bytes)
{
	struct comm_perfdata *data;
	struct comm_event event;
	char *why = NULL;
	int rc;

	memset(&got, 0, sizeof(got));
	rc = comm_perfdata_open(memory_path(file, bytes), &data, &why);
	if (!rc) {
		while ((rc = comm_perfdata_next(data, &event, &why)) == 1)
			count(&event);
		got.cut = comm_perfdata_cut(data);
		comm_perfdata_close(data);
	}
	assert_true(!rc == !why);
	free(why);
	return rc;
}

static void test_events(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		take_file(((const char *[]){"tiny", "tiny-pipe", "tiny-packed"})[i]);
		assert_int_equal(read_all(file_bytes), 0);
		assert_true(got.reads == 40 && got.writes == 40 && !got.bursts && !got.cut);
		/* Three threads begin, one ends; of what was there before there is no event. */
		assert_true(got.life == 4 && got.names == 3 && got.maps == 1);
		assert_true(got.loss[COMM_LOSS_RING] == 12 && got.loss[COMM_LOSS_THROTTLE] == 1);
		assert_true(got.loss[COMM_LOSS_NO_ADDRESS] == 1 &&
			    got.loss[COMM_LOSS_IMPRECISE] == 1);
		assert_true(got.loss[COMM_LOSS_UNKNOWN] == 1 && got.loss[COMM_LOSS_MALFORMED] == 2);
		assert_true(!got.loss[COMM_LOSS_LATE]);
		assert_true(got.access.tgid == PID && got.access.tid == LONER);
		assert_true(got.access.access.flags == COMM_ACCESS_READ &&
			    got.access.access.period == 1000 &&
			    got.access.access.latency_cycles == 200 &&
			    got.access.access.ip == TEXT + 0x1100);
	}
}

static void test_registers(void **state)
{
	(void)state;
	take_file("regs");
	assert_int_equal(read_all(file_bytes), 0);
	/* There is no data source: the event tells the direction. */
	assert_true(got.reads == 2 && got.writes == 2 && got.bursts == 4);
	assert_true(got.access.access.flags == (COMM_ACCESS_WRITE | COMM_ACCESS_BURST) &&
		    got.access.access.addr == HEAP + 24);
	/* In the file they stand in the order of perf's bits, flags ninth and R15 last. */
	assert_true(got.sample.reg[COMM_RAX] == 100 && got.sample.reg[COMM_RBX] == 101 &&
		    got.sample.reg[COMM_RSP] == 107 && got.sample.reg[COMM_R8] == 110 &&
		    got.sample.reg[COMM_R15] == 117);
	assert_true(got.sample.ip == TEXT + 0x1100 && got.sample.period == 1000);
	assert_true((got.sample.known & 0xffff) == 0xffff && got.sample.known & COMM_SAMPLE_AFTER);
}

/* The view is that of the event that was handed out last. */
static void test_view(void **state)
{
	struct comm_perfdata *data;
	const struct comm_mapping *map;
	const struct comm_perfdata_info *info;
	struct comm_inspect view;
	struct comm_event event;
	struct comm_code code;
	char *why = NULL, name[16];
	size_t n;

	(void)state;
	take_file("tiny");
	assert_int_equal(comm_perfdata_open(memory_path(file, file_bytes), &data, &why), 0);
	info = comm_perfdata_info(data);
	assert_string_equal(info->host, "otherhost");
	assert_string_equal(info->command, "perf mem record ./prog");
	assert_string_equal(info->events,
			    "cpu/mem-loads,ldlat=30/P every 1000, cpu/mem-stores/P every 1000");
	assert_int_equal(info->duration_ns, 2000000000);
	comm_perfdata_view(data, &view);
	do
		assert_int_equal(comm_perfdata_next(data, &event, &why), 1);
	while (event.kind != COMM_EV_ACCESS);
	assert_int_equal(event.time_ns, FIRST_NS);
	assert_int_equal(view.ops->maps(view.ctx, PID, &map, &n), 0);
	assert_int_equal(n, 3);
	assert_true(map[0].executable && map[0].kind == COMM_MAP_FILE && map[0].start == TEXT);
	assert_true(map[1].writable && map[1].offset == 0x10000 && map[1].file == map[0].file);
	assert_true(map[2].kind == COMM_MAP_ANON && !map[2].path[0] && map[2].start == HEAP);
	assert_int_equal(view.ops->thread_name(view.ctx, PID, READER, name), 0);
	assert_string_equal(name, "reader");
	assert_true(view.ops->maps(view.ctx, WRITER, &map, &n) < 0);
	/* Without the file: its name, the page in it, and the build-id that was recorded. */
	view.ops->maps(view.ctx, PID, &map, &n);
	assert_true(view.ops->code(view.ctx, PID, &map[0], TEXT + 0x1100, &code) < 0);
	assert_string_equal(code.function, "prog+0x1000");
	assert_string_equal(code.module, "prog");
	assert_string_equal(code.build_id, "000102030405060708090a0b0c0d0e0f10111213");
	assert_true(view.ops->text(view.ctx, PID, &map[0], TEXT, name, 4) < 0);
	comm_perfdata_close(data);
}

static uint64_t word_at(size_t at)
{
	uint64_t value;

	memcpy(&value, file + at, sizeof(value));
	return value;
}

/* Cut short anywhere: an error with its sentence, or less of the same. */
static void test_cut(void **state)
{
	static const char *const names[] = {"tiny", "tiny-pipe", "regs", "tiny-packed"};

	(void)state;
	for (int i = 0; i < 4; i++) {
		unsigned int before = 0;

		take_file(names[i]);
		for (size_t bytes = 0; bytes < file_bytes; bytes++) {
			int rc = read_all(bytes);

			assert_true(rc < 0 || got.reads + got.writes >= before);
			before = rc < 0 ? 0 : got.reads + got.writes;
		}
		assert_true(before);
	}
}

/* Each word of the head, the attributes and each record's size in turn has a wrong value. */
static void test_wrong_sizes(void **state)
{
	static const uint64_t wrong[] = {0,	    1, 7, 255, 65535, 1ull << 32, UINT64_MAX - 7,
					 UINT64_MAX};
	size_t end;

	(void)state;
	take_file("tiny");
	end = word_at(DATA_AT);
	for (size_t at = 8; at < end; at += 8) {
		uint64_t right = word_at(at);

		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			memcpy(file + at, &wrong[i], sizeof(right));
			read_all(file_bytes);
		}
		memcpy(file + at, &right, sizeof(right));
	}
	end += word_at(DATA_AT + 8);
	for (size_t at = word_at(DATA_AT); at < end;) {
		uint16_t right, to;

		memcpy(&right, file + at + 6, sizeof(right));
		for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			to = (uint16_t)wrong[i];
			memcpy(file + at + 6, &to, sizeof(to));
			assert_true(read_all(file_bytes) < 0 || to >= RECORD_HEAD);
		}
		memcpy(file + at + 6, &right, sizeof(right));
		at += right;
	}
	assert_int_equal(read_all(file_bytes), 0);
}

/* Lengths within a sample (callchain, raw data, registers, stack) end at its end. */
static void test_lengths_in_samples(void **state)
{
	static const uint64_t types[] = {
		PERF_SAMPLE_READ,	  PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW,
		PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
		PERF_SAMPLE_REGS_INTR,
	};
	struct perf_event_attr attr = {
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
		.branch_sample_type = 1 << 17,
		.sample_regs_user = UINT64_MAX,
		.sample_regs_intr = UINT64_MAX,
	};
	struct comm_perfdata_sample sample;
	uint64_t body[4] = {UINT64_MAX, 1, 2, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		attr.sample_type = types[i] | PERF_SAMPLE_TRANSACTION;
		assert_int_equal(comm_perfdata_sample(&attr, body, sizeof(body), &sample),
				 -EBADMSG);
		/* Times 8 it is 8; raw data have 32 bits of length. */
		body[0] = UINT64_MAX / 8 + 2;
		if (types[i] != PERF_SAMPLE_RAW)
			assert_int_equal(comm_perfdata_sample(&attr, body, sizeof(body), &sample),
					 -EBADMSG);
		body[0] = UINT64_MAX;
	}
	attr.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_DATA_SRC;
	body[0] = 2;
	assert_int_equal(comm_perfdata_sample(&attr, body, sizeof(body), &sample), 0);
	assert_int_equal(sample.data_src, 3);
}

static int64_t map(struct comm_perfdata_processes *processes, uint32_t tgid, uint64_t start,
		   uint64_t bytes, const char *path)
{
	return comm_perfdata_processes_map(processes, tgid,
					   &(struct comm_perfdata_mapping){
						   .start = start,
						   .bytes = bytes,
						   .offset = start,
						   .readable = true,
						   .path = path,
						   .path_bytes = strlen(path),
					   });
}

/* A mapping takes the place of what was there; a child has copies of its own. */
static void test_mappings(void **state)
{
	struct comm_perfdata_processes *processes;
	const struct comm_mapping *m;
	struct comm_names *names;
	struct comm_maps *maps;
	size_t n;

	(void)state;
	assert_int_equal(comm_names_create(1 << 20, &names), 0);
	assert_int_equal(comm_maps_create(names, &maps), 0);
	assert_int_equal(comm_perfdata_processes_create(maps, &processes), 0);
	assert_true(map(processes, PID, 0x10000, 0x8000, "/a") > 0);
	assert_true(map(processes, PID, 0x12000, 0x1000, "//anon") == 0);
	assert_int_equal(comm_perfdata_processes_maps(processes, PID, &m, &n), 0);
	assert_int_equal(n, 3);
	assert_true(m[0].start == 0x10000 && m[0].end == 0x12000 && m[0].offset == 0x10000);
	assert_true(m[1].start == 0x12000 && m[1].end == 0x13000 && !m[1].path[0]);
	assert_true(m[2].start == 0x13000 && m[2].end == 0x18000 && m[2].offset == 0x13000 &&
		    m[2].file == m[0].file);
	comm_perfdata_processes_fork(processes, PID, PID, READER, READER);
	/* Over the end of one, all of the next, and the beginning of the last. */
	map(processes, PID, 0x11000, 0x3000, "/b\n7-8 rw-p");
	comm_perfdata_processes_maps(processes, PID, &m, &n);
	assert_int_equal(n, 3);
	assert_true(m[0].end == 0x11000 && m[1].end == 0x14000 && m[2].start == 0x14000);
	assert_string_equal(m[1].path, "/b?7-8 rw-p");
	assert_ptr_equal(comm_perfdata_processes_at(processes, PID, 0x13fff), &m[1]);
	assert_null(comm_perfdata_processes_at(processes, PID, 0x18000));
	comm_perfdata_processes_maps(processes, READER, &m, &n);
	assert_true(n == 3 && m[1].start == 0x12000);
	/* None at all, and one past the end of all addresses. */
	assert_true(map(processes, PID, 0x20000, 0, "/c") < 0);
	assert_true(map(processes, PID, UINT64_MAX - 1, 8, "/c") < 0);
	comm_perfdata_processes_exec(processes, PID);
	comm_perfdata_processes_maps(processes, PID, &m, &n);
	assert_int_equal(n, 0);
	comm_perfdata_processes_exit(processes, READER, READER);
	assert_true(comm_perfdata_processes_maps(processes, READER, &m, &n) < 0);
	comm_perfdata_processes_destroy(processes);
	comm_maps_destroy(maps);
	comm_names_destroy(names);
}

static void push(struct comm_perfdata_order *order, uint64_t time_ns)
{
	assert_int_equal(comm_perfdata_order_push(order, time_ns, &time_ns, sizeof(time_ns)), 0);
}

static void expect(struct comm_perfdata_order *order, uint64_t time_ns)
{
	uint64_t at_ns, copy;
	size_t bytes;
	const void *record = comm_perfdata_order_next(order, &at_ns, &bytes);

	assert_non_null(record);
	memcpy(&copy, record, sizeof(copy));
	assert_true(at_ns == time_ns && copy == time_ns && bytes == sizeof(copy));
}

static void expect_none(struct comm_perfdata_order *order)
{
	uint64_t at_ns;
	size_t bytes;

	assert_null(comm_perfdata_order_next(order, &at_ns, &bytes));
}

/* What stands before a mark may still be overtaken by what stands before the next. */
static void test_order(void **state)
{
	struct comm_perfdata_order *order;

	(void)state;
	assert_int_equal(comm_perfdata_order_create(1 << 20, &order), 0);
	push(order, 30);
	push(order, 10);
	comm_perfdata_order_round(order);
	expect_none(order);
	push(order, 20);
	push(order, 50);
	comm_perfdata_order_round(order);
	expect(order, 10);
	expect(order, 20);
	expect(order, 30);
	expect_none(order);
	push(order, 40);
	push(order, 5); /* against perf's promise */
	assert_int_equal(comm_perfdata_order_late(order), 1);
	comm_perfdata_order_end(order);
	expect(order, 40);
	expect(order, 50);
	expect_none(order);
	comm_perfdata_order_destroy(order);

	/* More than fits: the older half goes. */
	assert_int_equal(comm_perfdata_order_create(100 * 48, &order), 0);
	for (uint64_t i = 0; i < 200; i++)
		push(order, 1000 - i);
	for (uint64_t i = 0; i < 50; i++)
		expect(order, 801 + i);
	comm_perfdata_order_destroy(order);
}

/* Where the stream of zstd begins. */
static size_t find_stream(void)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	const uint8_t *at = memmem(file, file_bytes, magic, sizeof(magic));

	assert_non_null(at);
	return at - file;
}

/* What cannot be unpacked is damaged, and what came before is read. */
static void test_packed(void **state)
{
	uint64_t end;
	size_t at;

	(void)state;
	take_file("tiny-packed");
	end = word_at(DATA_AT) + word_at(DATA_AT + 8);
	at = find_stream();
	for (size_t i = at; i < end; i++) {
		for (int bit = 0; bit < 8; bit += 3) {
			file[i] ^= 1 << bit;
			read_all(file_bytes);
			file[i] ^= 1 << bit;
		}
	}
	/* A window of 128 MiB, the largest that there may be; of the double; of 2 TiB. */
	file[at + 5] = 17 << 3;
	assert_int_equal(read_all(file_bytes), 0);
	file[at + 5] = 18 << 3;
	assert_int_equal(read_all(file_bytes), -EBADMSG);
	file[at + 5] = 31 << 3;
	assert_int_equal(read_all(file_bytes), -EBADMSG);
	/* A piece is shorter than it says. */
	take_file("tiny-packed");
	at += 97 + RECORD_HEAD;
	assert_int_equal(word_at(at), 97);
	file[at] = 105;
	assert_int_equal(read_all(file_bytes), -EBADMSG);
	assert_true(got.reads + got.writes < 80);
}

/* Records of 8 to 65,535 bytes, a byte of the stream at a time, flushed in the middle of them. */
static void test_packed_records(void **state)
{
	static uint8_t plain[3 * UINT16_MAX], stream[4 * UINT16_MAX], record[UINT16_MAX + 1];
	static const uint16_t sizes[] = {8, UINT16_MAX, 9, 1000, 64, UINT16_MAX};
	ZSTD_CStream *zstd = ZSTD_createCStream();
	ZSTD_outBuffer out = {stream, sizeof(stream), 0};
	struct comm_perfdata_packed *packed;
	size_t bytes = 0, n = 0, at = 0;

	(void)state;
	for (size_t i = 0; i < 6; bytes += sizes[i++]) {
		memset(plain + bytes, (int)i, sizes[i]);
		memcpy(plain + bytes, &(struct perf_event_header){9, 0, sizes[i]}, RECORD_HEAD);
	}
	while (at < bytes) {
		ZSTD_inBuffer in = {plain + at, bytes - at < 777 ? bytes - at : 777, 0};

		assert_true(!ZSTD_isError(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush)));
		at += in.pos;
	}
	ZSTD_freeCStream(zstd);
	assert_int_equal(comm_perfdata_packed_create(&packed), 0);
	assert_int_equal(comm_perfdata_packed_next(packed, record), 0);
	at = 0;
	for (size_t i = 0; i < out.pos; i++) {
		comm_perfdata_packed_push(packed, stream + i, 1);
		while (comm_perfdata_packed_next(packed, record) == 1) {
			assert_memory_equal(record, plain + at, sizes[n]);
			at += sizes[n++];
		}
	}
	assert_int_equal(n, 6);
	comm_perfdata_packed_destroy(packed);
}

static void test_packed_no_records(void **state)
{
	static const struct perf_event_header wrong[] = {{9, 0, 0}, {9, 0, 7}, {0, 0, 8}};
	uint8_t stream[64], record[UINT16_MAX + 1];
	struct comm_perfdata_packed *packed;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		size_t n = ZSTD_compress(stream, sizeof(stream), &wrong[i], sizeof(*wrong), 1);

		assert_int_equal(comm_perfdata_packed_create(&packed), 0);
		comm_perfdata_packed_push(packed, stream, n);
		assert_int_equal(comm_perfdata_packed_next(packed, record), -EBADMSG);
		comm_perfdata_packed_destroy(packed);
	}
	/* No stream of zstd. */
	assert_int_equal(comm_perfdata_packed_create(&packed), 0);
	comm_perfdata_packed_push(packed, "nothing that it knows", 21);
	assert_int_equal(comm_perfdata_packed_next(packed, record), -EBADMSG);
	comm_perfdata_packed_destroy(packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrong_sizes),
		cmocka_unit_test(test_lengths_in_samples),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_records),
		cmocka_unit_test(test_packed_no_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
