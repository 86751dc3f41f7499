// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings: what goes in comes out, answers included; damage is refused. */
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

static char path[64];

/* A view whose mappings change with each question. */
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

static const struct comm_inspect_ops fake_ops = {
	.maps = fake_maps,
	.text = fake_text,
	.code = fake_code,
	.data = fake_data,
	.thread_name = fake_name,
};

static const struct comm_record_head head = {.start_ns = 5, .event = "cpu-clock"};

static struct comm_sample sample_of(int seed)
{
	struct comm_sample sample = {.n_chunks = 1, .data_bytes = 64, .mode_bits = 64};

	for (int i = 0; i < COMM_NREGS; i++)
		sample.reg[i] = (uint64_t)seed * 1000 + (uint64_t)i;
	sample.chunk[0] = (struct comm_chunk){.addr = 0x7000, .len_bytes = 64};
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
	char text[64], name[16];
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
	comm_replay_inspect(replay, &inspect);
	for (int i = 1; i <= 10; i++) {
		struct comm_sample expect = sample_of(i);
		const struct comm_mapping *maps;
		struct comm_code code;
		char text[64], name[16];
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
		assert_int_equal(inspect.ops->thread_name(inspect.ctx, 1, 2, name), 0);
		assert_string_equal(name, "thread 2");
		/* What was never asked is not known, but harmless. */
		assert_int_equal(inspect.ops->code(inspect.ctx, 1, NULL, 0x9999, &code), -ESRCH);
		assert_non_null(code.function);
	}
	assert_int_equal(comm_replay_next(replay, &event), 0);
	assert_int_equal(comm_replay_end_ns(replay), 4321);
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
	comm_replay_close(replay);
}

static void test_refuses_foreign_files(void **state)
{
	struct comm_replay *replay;
	FILE *file;

	(void)state;
	file = fopen(path, "w");
	fputs("SQLite format 3 and so on, long enough for a head of a file", file);
	fclose(file);
	assert_int_equal(comm_replay_open(path, &replay), -EMEDIUMTYPE);
	assert_int_equal(comm_replay_open("/dev/null", &replay), -EMEDIUMTYPE);
	assert_int_equal(comm_replay_open("/nonexistent/x", &replay), -ENOENT);
	write_recording();
	file = fopen(path, "r+");
	fseek(file, 8, SEEK_SET);
	fputc(99, file);
	fclose(file);
	assert_int_equal(comm_replay_open(path, &replay), -EPROTO);
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

/* A limit on the file's size stands in for a full disk. */
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
		cmocka_unit_test_setup_teardown(test_refuses_foreign_files, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_damage_is_harmless, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_full_disk_is_counted, make_path, remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
