// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings: events and answers are read back as written, and where they may be written to. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "made_recording.h"
#include "record_event.h"
#include "replay.h"

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
	assert_string_equal(comm_replay_head(replay)->function, "ns::parse*");
	comm_replay_inspect(replay, &inspect);
	for (int i = 1; i <= 10; i++) {
		struct comm_sample expect = sample_of(i);
		const struct comm_mapping *maps;
		struct comm_code code;
		char text[64], name[16], title[COMM_TITLE_BYTES], given[COMM_THREAD_NAME_BYTES];
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
		memset(given, 0, sizeof(given));
		assert_int_equal(inspect.ops->given_name(inspect.ctx, 1, 2, given),
				 i < 3 || i == 7 ? -ENOENT : 0);
		assert_string_equal(given, i < 3 || i == 7 ? ""
					   : i < 5	   ? "given 0"
					   : i < 10	   ? "given 1"
							   : "given 2");
		assert_int_equal(inspect.ops->given_name(inspect.ctx, 1, 3, given), -ENOENT);
		/* Of the whole piece of memory, whichever address is asked for. */
		assert_int_equal(inspect.ops->blocks(inspect.ctx, 1, 0x603fff, &blocks), 0);
		assert_int_equal(blocks.n, MADE_BLOCKS);
		for (size_t j = 0; j < MADE_BLOCKS; j++) {
			struct comm_block b = blocks.block[j];

			assert_string_equal(b.class ? b.class : "(none)",
					    made_blocks[j].class ? made_blocks[j].class : "(none)");
			b.class = made_blocks[j].class;
			assert_memory_equal(&b, &made_blocks[j], sizeof(b));
		}
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

/* Mappings that are being read, and have not changed then. */
static int list_err;
static struct comm_mapping list[64];

static int list_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx, (void)tgid;
	*ret = list;
	*ret_n = sizeof(list) / sizeof(*list);
	return list_err;
}

/* A list is written once, whatever is answered between it and itself, and each answer comes back when it was given. */
static void test_lists_are_written_once(void **state)
{
	static const int answers[] = {
		-EINPROGRESS, 0, 0, -EINPROGRESS, -EINPROGRESS, 0, 0, -EAGAIN, 0,
		-ETIME,	      0, 0, -ESRCH,	  -ESRCH};
	enum { ANSWERS = sizeof(answers) / sizeof(*answers) };
	const struct comm_inspect_ops ops = {.maps = list_maps};
	const struct comm_inspect inner = {.ops = &ops};
	struct comm_event event = {.kind = COMM_EV_EXEC, .tgid = 1, .tid = 1};
	const struct comm_mapping *map;
	struct comm_record *record;
	struct comm_replay *replay;
	struct comm_inspect inspect;
	struct stat st;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		list[i] = (struct comm_mapping){
			.start = 4096 * i, .end = 4096 * (i + 1), .path = "/bin/one", .file = 1};
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_inspect(record, &inner, &inspect);
	for (int i = 0; i < ANSWERS; i++) {
		list_err = answers[i];
		assert_int_equal(inspect.ops->maps(inspect.ctx, 1, &map, &n), list_err);
		event.time_ns = 100 + (uint64_t)i;
		comm_record_event(record, &event);
	}
	comm_record_end(record, 4321, UINT64_MAX);
	comm_record_destroy(record);
	assert_int_equal(stat(path, &st), 0);
	assert_in_range(st.st_size, 64 * 64, 2 * 64 * 64);
	assert_int_equal(comm_replay_open(path, &replay), 0);
	comm_replay_inspect(replay, &inspect);
	for (int i = 0; i < ANSWERS; i++) {
		assert_int_equal(comm_replay_next(replay, &event), 1);
		n = 0;
		assert_int_equal(inspect.ops->maps(inspect.ctx, 1, &map, &n), answers[i]);
		assert_int_equal(n, answers[i] ? 0 : 64);
	}
	assert_int_equal(inspect.ops->maps(inspect.ctx, 2, &map, &n), -ESRCH);
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
		{.kind = COMM_EV_CENSUS, .census = {one, 0.2, 15, 16, true}},
		{.kind = COMM_EV_FED,
		 .fed = {one, two, 17, 18, 19, 20, 21, COMM_FED_SWITCHES, 0.3}},
		{.kind = COMM_EV_SWITCH, .next_tid = 21, .sched = {22, 23}},
		{.kind = COMM_EV_FORK, .fork = {31, 32}},
		{.kind = COMM_EV_EXEC},
		{.kind = COMM_EV_EXIT},
		{.kind = COMM_EV_EXIT, .name = "maker"},
		{.kind = COMM_EV_RENAME},
		{.kind = COMM_EV_RENAME, .name = "fifteen letters"},
		{.kind = COMM_EV_MMAP, .mmap = {41, 42, 43, 1}},
		{.kind = COMM_EV_RATE, .trigger = COMM_TRIGGER_ACCESSES, .period = 1ull << 33},
		{.kind = COMM_EV_COST, .cost = {51, 52, 53, 54, 55, 56, 0.05, 0.004}},
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

/* To open a fifo would wait for a reader, to open a device may do anything. */
static void test_records_to_a_file_alone(void **state)
{
	struct comm_record *record;
	struct stat st;
	FILE *file;

	(void)state;
	unlink(path);
	alarm(120);
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

/* Nothing could be read of it later, or not all, so this is no less an error than a full disk. */
static void test_file_that_is_taken_away(void **state)
{
	struct comm_sample sample = sample_of(1);
	struct comm_event event = {.kind = COMM_EV_SAMPLE, .sample = &sample};
	struct comm_record *record;
	char moved[sizeof(path) + 8];
	int err;

	(void)state;
	snprintf(moved, sizeof(moved), "%s.moved", path);
	/* Cut short, and made longer by the next that is written. */
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_look(record);
	assert_int_equal(comm_record_lost(record, &err), 0);
	assert_int_equal(truncate(path, 10), 0);
	comm_record_look(record);
	assert_int_equal(comm_record_lost(record, &err), 1);
	assert_int_equal(err, ESTALE);
	comm_record_event(record, &event);
	assert_int_equal(comm_record_lost(record, &err), 2);
	comm_record_destroy(record);
	/* The same when nobody has looked between the cut and the end. */
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	comm_record_look(record);
	assert_int_equal(truncate(path, 10), 0);
	for (int i = 0; i < 100; i++)
		comm_record_event(record, &event);
	comm_record_end(record, 1, 0);
	assert_int_equal(comm_record_lost(record, &err), 1);
	assert_int_equal(err, ESTALE);
	comm_record_destroy(record);
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	assert_int_equal(unlink(path), 0);
	comm_record_look(record);
	assert_int_equal(comm_record_lost(record, &err), 1);
	assert_int_equal(err, ENOENT);
	comm_record_destroy(record);
	/* Its name is its owner's affair. */
	assert_int_equal(comm_record_create(path, &head, &record), 0);
	assert_int_equal(rename(path, moved), 0);
	comm_record_end(record, 1, 0);
	assert_int_equal(comm_record_lost(record, &err), 0);
	comm_record_destroy(record);
	assert_int_equal(rename(moved, path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_lists_are_written_once, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_all_kinds, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_layout, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_records_to_a_file_alone, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(test_full_disk_is_counted, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_file_that_is_taken_away, make_path,
						remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
