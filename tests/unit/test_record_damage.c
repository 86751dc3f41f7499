// SPDX-License-Identifier: GPL-2.0-or-later
/* Recordings of newer versions, whose unknown records are counted, and damaged ones, which are refused. */
#include <sys/stat.h>

#include "made_recording.h"
#include "record_event.h"
#include "replay.h"

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

/* What older versions wrote of watchpoints is passed over: nothing is made of it. */
static void test_watches_are_passed_over(void **state)
{
	uint8_t event[8 + 136] = {0};
	uint64_t unknown;
	int n;

	(void)state;
	write_recording();
	load_image();
	event[0] = RECORD_WATCH;
	event[4] = 136;
	memset(event + 8, 0xee, 136);
	insert(find(RECORD_SAMPLE, 4), event, sizeof(event));
	assert_int_equal(replay_image(&n, &unknown), 0);
	assert_int_equal(n, 10);
	assert_int_equal(unknown, 0);
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
	event[0] = RECORD_FED + 1;
	event[4] = 32;
	memset(event + 8, 0xee, 32);
	answer[0] = RECORD_GIVEN_NAME + 1;
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
	comm_record_end(record, 1, 0);
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
	static const uint32_t kinds[] = {RECORD_RUN,	    RECORD_SAMPLE, RECORD_MAPS,
					 RECORD_TEXT,	    RECORD_CODE,   RECORD_NAME,
					 RECORD_TITLE,	    RECORD_BLOCKS, RECORD_ALLOCATION,
					 RECORD_GIVEN_NAME, RECORD_END};
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
	static const uint32_t kinds[] = {RECORD_RUN,	    RECORD_SAMPLE, RECORD_MAPS,
					 RECORD_TEXT,	    RECORD_CODE,   RECORD_NAME,
					 RECORD_TITLE,	    RECORD_BLOCKS, RECORD_ALLOCATION,
					 RECORD_GIVEN_NAME, RECORD_END};
	uint64_t unknown;
	int n;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		/* The nodes and the function, in 16 bytes each at the end of RUN, may be missing. */
		uint32_t bytes, cut = kinds[i] == RECORD_RUN ? 40 : 8;
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

static void assert_refused(const char *file, int err, const char *words)
{
	struct comm_replay *replay;

	assert_int_equal(comm_replay_open(file, &replay), err);
	if (words)
		assert_non_null(strstr(comm_replay_strerror(err), words));
	else
		assert_null(comm_replay_strerror(err));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_torn_tail_ends_replay, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_watches_are_passed_over, make_path,
						remove_path),
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
		cmocka_unit_test_setup_teardown(test_refuses_foreign_files, make_path, remove_path),
		cmocka_unit_test_setup_teardown(test_damage_is_harmless, make_path, remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
