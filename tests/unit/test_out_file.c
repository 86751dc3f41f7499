// SPDX-License-Identifier: GPL-2.0-or-later
/* A file whose disk does not answer: who writes waits for nothing, and is told what became of it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static int disk_error;

/* The disk answers while nobody has its lock. */
static ssize_t disk_write(int fd, const void *data, size_t n);
#define write disk_write
#include "../../libcomm/stream/out_file.c"
#undef write

static ssize_t disk_write(int fd, const void *data, size_t n)
{
	int error;

	pthread_mutex_lock(&disk);
	error = disk_error;
	pthread_mutex_unlock(&disk);
	if (!error)
		return write(fd, data, n);
	errno = error;
	return -1;
}

static const uint64_t SECOND_NS = 1000000000, LONG_NS = 300000000000;
static char path[64];
static struct comm_out_file *file;

static int setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/comm-test-out-XXXXXX");
	close(mkstemp(path));
	return comm_out_file_create(path, 0600, &file) || comm_out_file_start(file);
}

static int teardown(void **state)
{
	(void)state;
	comm_out_file_destroy(file);
	return unlink(path);
}

static int end(void)
{
	return comm_out_file_end(file, comm_clock_now_ns() + LONG_NS);
}

/* The file has so many bytes, which count up as put() has them. */
static void assert_counts_up(size_t bytes)
{
	FILE *in = fopen(path, "r");
	uint32_t got;
	size_t n = 0;

	assert_non_null(in);
	for (; fread(&got, sizeof(got), 1, in) == 1; n++)
		assert_int_equal(got, n);
	assert_int_equal(n * sizeof(got), bytes);
	fclose(in);
}

/* Puts so many bytes, in pieces that no block is a multiple of; the first error there is. */
static int put(uint32_t *next, size_t bytes)
{
	uint32_t piece[3];
	int err = 0;

	for (size_t done = 0; !err && done < bytes; done += sizeof(piece)) {
		for (int i = 0; i < 3; i++)
			piece[i] = (*next)++;
		err = comm_out_file_write(file, piece, sizeof(piece));
	}
	return err;
}

static void test_all_is_written(void **state)
{
	uint32_t next = 0;

	(void)state;
	assert_int_equal(put(&next, 9 << 20), 0);
	assert_int_equal(end(), 0);
	assert_counts_up(next * sizeof(next));
}

/* However often it is flushed meanwhile: what is flushed has no place of its own. */
static void test_a_disk_that_comes_back(void **state)
{
	uint32_t next = 0;

	(void)state;
	pthread_mutex_lock(&disk);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(put(&next, 1200), 0);
		assert_int_equal(comm_out_file_flush(file), 0);
	}
	pthread_mutex_unlock(&disk);
	assert_int_equal(end(), 0);
	assert_counts_up(next * sizeof(next));
}

static void test_a_disk_that_does_not_keep_up(void **state)
{
	uint32_t next = 0;
	struct stat st;

	(void)state;
	pthread_mutex_lock(&disk);
	assert_int_equal(put(&next, 2 * COMM_OUT_FILE_BYTES), -ENOBUFS);
	assert_in_range(next * sizeof(next), COMM_OUT_FILE_BYTES,
			COMM_OUT_FILE_BYTES + BLOCK_BYTES);
	/* For good: something is missing. */
	assert_int_equal(put(&next, 12), -ENOBUFS);
	pthread_mutex_unlock(&disk);
	assert_int_equal(end(), -ENOBUFS);
	assert_int_equal(put(&next, 12), -ENOBUFS);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, COMM_OUT_FILE_BYTES);
	assert_counts_up(COMM_OUT_FILE_BYTES);
}

/* An error is told by what comes later. */
static void test_a_disk_that_fails(void **state)
{
	uint32_t next = 0;
	int err;

	(void)state;
	disk_error = EIO;
	assert_int_equal(put(&next, 12), 0);
	do
		err = comm_out_file_flush(file);
	while (!err);
	disk_error = 0;
	assert_int_equal(err, -EIO);
	assert_int_equal(put(&next, 12), -EIO);
	assert_int_equal(end(), -EIO);
	assert_counts_up(0);
}

static void test_a_file_that_is_deleted(void **state)
{
	uint32_t next = 0;
	int err;

	(void)state;
	assert_int_equal(put(&next, 12), 0);
	assert_int_equal(unlink(path), 0);
	do
		err = comm_out_file_flush(file);
	while (!err);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(end(), -ENOENT);
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* Neither the end nor destroying it waits for ever.  The thread stays, so this is the last test. */
static void test_a_disk_that_stays_away(void **state)
{
	uint32_t next = 0;

	(void)state;
	pthread_mutex_lock(&disk);
	assert_int_equal(put(&next, 12), 0);
	assert_int_equal(comm_out_file_end(file, comm_clock_now_ns() + SECOND_NS / 20), -ETIMEDOUT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_all_is_written),
		TEST(test_a_disk_that_comes_back),
		TEST(test_a_disk_that_does_not_keep_up),
		TEST(test_a_disk_that_fails),
		TEST(test_a_file_that_is_deleted),
		TEST(test_a_disk_that_stays_away),
	};

	/* For what hangs. */
	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
