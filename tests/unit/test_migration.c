// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "made_store.h"
#include "schema.h"

static void test_refuses_newer_and_damaged(void **state)
{
	char garbage[4096];
	struct stat st;
	int fd;

	(void)state;
	make_finished(20);
	sql("PRAGMA user_version = 2");
	refuse(-EPROTO, "newer version");
	sql("PRAGMA user_version = 1");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
	refuse(-EUCLEAN, "damaged");
	unlink(path);

	make_finished(20);
	memset(garbage, 0xa5, sizeof(garbage));
	fd = open(path, O_WRONLY);
	for (off_t at = 4096; at < st.st_size; at += sizeof(garbage))
		assert_int_equal(pwrite(fd, garbage, sizeof(garbage), at), sizeof(garbage));
	close(fd);
	refuse(-EUCLEAN, "damaged");
	unlink(path);

	/* Ours by its mark and version, but without the tables. */
	sql("PRAGMA application_id = 0x636f6d6d; PRAGMA user_version = 1; CREATE TABLE x (y)");
	refuse(-EUCLEAN, "damaged");
}

static void test_migrates_an_older_one(void **state)
{
	(void)state;
	/* Version 0: marked as ours, its tables not made yet. */
	sql("PRAGMA application_id = 0x636f6d6d; CREATE TABLE keep (x); INSERT INTO keep VALUES "
	    "(7)");
	assert_int_equal((int)query("PRAGMA user_version"), 0);
	make_finished(3);
	assert_int_equal((int)query("PRAGMA user_version"), COMM_SCHEMA_VERSION);
	assert_int_equal((int)query("SELECT x FROM keep"), 7);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 0"), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_refuses_newer_and_damaged),
		TEST(test_migrates_an_older_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
