// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may only read a store does not hold up who writes to it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "made_store.h"
#include "store_file.h"

enum { EDGES = 1000 };

static struct comm_edge edges[EDGES];

/* Another process that does something, and keeps it until its end; returns when it has. */
static pid_t beside(void (*fn)(const void *arg), const void *arg)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(arg);
		if (write(ends[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

struct range {
	const char *suffix;
	off_t first, n;
};

/* As a member of the group may, with a descriptor for reading alone. */
static void lock(const void *arg)
{
	const struct range *range = arg;
	struct flock lock = {.l_type = F_RDLCK,
			     .l_whence = SEEK_SET,
			     .l_start = range->first,
			     .l_len = range->n};
	char name[160];

	snprintf(name, sizeof(name), "%s%s", path, range->suffix);
	if (fcntl(open(name, O_RDONLY), F_SETLK, &lock))
		_exit(1);
}

/* A report that never ends: a transaction whose rows are not all read. */
static void keep_reading(const void *arg)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	(void)arg;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(db, "SELECT id FROM slice", -1, &stmt, NULL) ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		_exit(1);
}

static int stat_log(struct stat *ret)
{
	char name[160];

	snprintf(name, sizeof(name), "%s-wal", path);
	return stat(name, ret);
}

static void put(struct comm_store *store, int slice)
{
	fill(edges, EDGES, slice);
	assert_int_equal(write_at(store, slice, edges, EDGES), 0);
}

static void end_at(struct comm_store *store, int slice)
{
	assert_int_equal(comm_store_end_run(store, START + slice * SECOND, "duration"), 0);
}

static void test_locks_of_the_index(void **state)
{
	/* To write, to checkpoint, to recover; those of readers; all; all of the file. */
	static const struct range ranges[] = {{"-shm", 120, 1}, {"-shm", 121, 1}, {"-shm", 122, 1},
					      {"-shm", 123, 5}, {"-shm", 120, 8}, {"-shm", 0, 0}};
	struct comm_store_config c = config();

	(void)state;
	c.quota_bytes = 1 << 20;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		struct comm_store *store = open_store(&c);
		pid_t reader, pid;

		begin(store);
		put(store, 0);
		reader = beside(lock, &ranges[i]);
		for (int j = 1; j < 60; j++)
			put(store, j);
		assert_int_equal(comm_store_missed(store, &pid), 0);
		end_at(store, 60);
		end(reader);
		comm_store_close(store);
		assert_int_equal((int)query("SELECT count(*) FROM run WHERE how IS NULL"), 0);
	}
	assert_int_equal((int)query("SELECT count(*) FROM pragma_integrity_check"
				    " WHERE integrity_check <> 'ok'"),
			 0);
}

/* The writer's own lock: the run begins, another does not, and readers see it as soon as it can be. */
static void test_lock_of_the_writer(void **state)
{
	static const struct range range = {"", (off_t)1 << 61, 0};
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c), *other;
	char *why = NULL;
	pid_t reader;

	(void)state;
	comm_store_close(store);
	reader = beside(lock, &range);
	store = open_store(&c);
	begin(store);
	put(store, 0);
	assert_int_equal(comm_store_open(&c, &other, &why), -EBUSY);
	assert_non_null(strstr(why, "is writing to it"));
	free(why);
	end(reader);
	put(store, 1);
	assert_int_equal(comm_store_file_writer(open(path, O_RDONLY)), getpid());
	end_at(store, 2);
	comm_store_close(store);
}

/* What SQLite locks in the file itself: no run begins, nor does it say that somebody writes. */
static void test_lock_before_the_start(void **state)
{
	static const struct range range = {"", 0, 0};
	pid_t reader;

	(void)state;
	make_finished(1);
	reader = beside(lock, &range);
	refuse(-EBUSY, "another program has locked it");
	end(reader);
	comm_store_close(open_store(&(struct comm_store_config){.path = path}));
}

/* A reader that is stopped in its transaction: the quota is reached again and again meanwhile. */
static void test_stopped_reader(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	pid_t reader, pid;

	(void)state;
	c.quota_bytes = 1 << 20;
	store = open_store(&c);
	begin(store);
	for (int i = 0; i < 100; i++)
		put(store, i);
	reader = beside(keep_reading, NULL);
	kill(reader, SIGSTOP);
	for (int i = 100; i < 400; i++)
		put(store, i);
	assert_int_equal(comm_store_missed(store, &pid), 0);
	end_at(store, 400);
	end(reader);
	comm_store_close(store);
	assert_int_equal(mode_of("-wal"), 0);
}

/* The log that a reader keeps grows to its limit; what is not stored then has a cause and a culprit. */
static void test_log_has_a_limit(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store;
	int refused = 0, i;
	pid_t reader, pid;
	struct stat st;

	(void)state;
	c.quota_bytes = 4 << 20;
	store = open_store(&c);
	begin(store);
	for (i = 0; i < 100; i++)
		put(store, i);
	reader = beside(keep_reading, NULL);
	for (; refused < 3; i++) {
		int code;

		fill(edges, EDGES, i);
		code = write_at(store, i, edges, EDGES);
		assert_true(code == 0 || code == -EBUSY);
		assert_true(i < 100000);
		refused += code != 0;
	}
	assert_int_equal(comm_store_missed(store, &pid), -EBUSY);
	assert_int_equal(pid, reader);
	assert_int_equal(stat_log(&st), 0);
	assert_true(st.st_size < 80 << 20);
	/* When it has ended all goes on, and the log shrinks. */
	end(reader);
	for (int j = 0; j < 3; j++)
		put(store, i + j);
	assert_int_equal(stat_log(&st), 0);
	assert_true(st.st_size < 8 << 20);
	end_at(store, i + 3);
	comm_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_locks_of_the_index, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_of_the_writer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_before_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped_reader, setup, teardown),
		cmocka_unit_test_setup_teardown(test_log_has_a_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
