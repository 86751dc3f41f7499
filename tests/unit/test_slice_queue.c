// SPDX-License-Identifier: GPL-2.0-or-later
/* Slices that one thread makes and another one stores: they are stored as if one did both, and who makes them waits for no disk. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "clock.h"
#include "made_store.h"
#include "slice_queue.h"

enum { EDGES = 1000, SLICES = 20 };

static struct comm_edge edges[EDGES];

/* What SQLite's writes do, in the thread that stores. */
enum disk { WORKS, HANGS, FAILS };
static enum disk disk;
static bool is_hanging; /* a write is, since the disk was set so */

static ssize_t write_to_disk(int fd, const void *bytes, size_t n, off_t at)
{
	enum disk now;

	while ((now = __atomic_load_n(&disk, __ATOMIC_RELAXED)) == HANGS) {
		__atomic_store_n(&is_hanging, true, __ATOMIC_RELAXED);
		usleep(1000);
	}
	if (now == WORKS)
		return pwrite(fd, bytes, n, at);
	errno = EIO;
	return -1;
}

static void set_disk(enum disk now)
{
	__atomic_store_n(&is_hanging, false, __ATOMIC_RELAXED);
	__atomic_store_n(&disk, now, __ATOMIC_SEQ_CST);
}

static int make_disk(void **state)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	set_disk(WORKS);
	vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)write_to_disk);
	vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)write_to_disk);
	return setup(state);
}

static struct comm_slice_info info_of(int slice)
{
	return (struct comm_slice_info){.start_ns = START + slice * SECOND,
					.end_ns = START + (slice + 1) * SECOND,
					.samples = 10,
					.loss = {[COMM_LOSS_LATE] = 2}};
}

static int put(struct comm_slice_queue *queue, int slice)
{
	const struct comm_slice_info info = info_of(slice);
	struct comm_naming naming = made_naming(names);

	fill(edges, EDGES, slice);
	return comm_slice_queue_put(queue, &info, edges, EDGES, &naming);
}

static struct comm_slice_queue *start(struct comm_store *store)
{
	struct comm_slice_queue *queue;

	assert_int_equal(comm_slice_queue_create(store, &queue), 0);
	assert_int_equal(comm_slice_queue_start(queue), 0);
	return queue;
}

/* As long as it takes. */
static void finish(struct comm_slice_queue *queue, struct comm_slice_queue_stats *ret)
{
	uint64_t until_ns = comm_clock_now_ns() + 600 * SECOND;

	assert_int_equal(comm_slice_queue_end(queue, until_ns, until_ns), 0);
	comm_slice_queue_stats(queue, ret);
	comm_slice_queue_destroy(queue);
}

static void finish_store(struct comm_store *store, int slices)
{
	assert_int_equal(comm_store_end_run(store, START + slices * SECOND, "duration"), 0);
	comm_store_close(store);
}

/* What changes of names while a run goes on, before one of its slices. */
static void change_names(int slice)
{
	struct comm_site *site = &names->site[5];

	if (slice == 0)
		site->pending = 1;
	if (slice == 7) {
		site->function = 3;
		site->line = 77;
	}
	if (slice == 9)
		site->pending = 0;
	if (slice == 4)
		snprintf(names->thread[2].name, sizeof(names->thread[2].name), "renamed");
	/* No edge has this one. */
	if (slice == 15)
		names->thread[39].end_ns = START + 15 * SECOND;
}

/* All rows of a table, in order. */
static char *rows_of(const char *table, const char *columns)
{
	char text[512], *ret;
	sqlite3_stmt *stmt;
	sqlite3 *db;

	snprintf(text, sizeof(text),
		 "SELECT group_concat(line, x'0a') FROM (SELECT %s AS line FROM %s ORDER BY 1)",
		 columns, table);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	ret = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return ret;
}

static const char *const tables[][2] = {
	{"thread", "id || name || end_ns"},
	{"object", "id || name"},
	{"function", "id || name || start"},
	{"site", "id || function || line"},
	{"context", "id || site || own"},
	{"slice", "level || start_ns || samples"},
	{"edge", "slice || src_thread || src_context || dst_context || bytes"},
	{"loss", "slice || cause || n"},
};

enum { TABLES = sizeof(tables) / sizeof(*tables) };

static void run_slices(bool by_queue)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_slice_queue *queue = NULL;
	struct comm_slice_queue_stats stats;

	begin(store);
	if (by_queue)
		queue = start(store);
	for (int i = 0; i < SLICES; i++) {
		const struct comm_slice_info info = info_of(i);
		struct comm_naming naming = made_naming(names);

		change_names(i);
		fill(edges, EDGES, i);
		/* What waits for its name is used once. */
		for (int k = 0; k < EDGES && i; k++)
			edges[k].src_site = edges[k].src_site == 5 ? 6 : edges[k].src_site;
		for (int k = 0; k < EDGES && i; k++)
			edges[k].dst_site = edges[k].dst_site == 5 ? 6 : edges[k].dst_site;
		if (by_queue)
			assert_int_equal(comm_slice_queue_put(queue, &info, edges, EDGES, &naming),
					 0);
		else
			assert_int_equal(
				comm_store_write_slice(store, &info, edges, EDGES, &naming), 0);
	}
	if (by_queue) {
		finish(queue, &stats);
		assert_int_equal(stats.unstored + stats.full, 0);
	}
	finish_store(store, SLICES);
}

static void test_as_if_one_did_both(void **state)
{
	char *expected[TABLES], *stored;

	run_slices(false);
	for (size_t i = 0; i < TABLES; i++)
		expected[i] = rows_of(tables[i][0], tables[i][1]);
	teardown(state);
	setup(state);
	run_slices(true);
	assert_int_equal((int)query("SELECT count(*) FROM thread WHERE name = 'renamed'"), 1);
	assert_int_equal((int)query("SELECT count(*) FROM site JOIN context c ON c.site = site.id "
				    "WHERE line = 77 AND c.own <> 0"),
			 1);
	for (size_t i = 0; i < TABLES; i++) {
		stored = rows_of(tables[i][0], tables[i][1]);
		assert_string_equal(stored, expected[i]);
		free(stored);
		free(expected[i]);
	}
}

/* Who puts slices never waits: there are more than find a place, and all are counted. */
static void test_disk_that_hangs_for_a_while(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_slice_queue_stats stats;
	struct comm_slice_queue *queue;
	int n = 0, refused = 0, rc;

	(void)state;
	begin(store);
	queue = start(store);
	set_disk(HANGS);
	while (refused < 3) {
		rc = put(queue, n++);
		assert_true(rc == 0 || rc == -ENOBUFS);
		refused += rc != 0;
	}
	assert_true(n > 50);
	set_disk(WORKS);
	finish(queue, &stats);
	assert_int_equal((int)stats.full, refused);
	assert_int_equal((int)stats.unstored, 0);
	assert_in_range(stats.most_bytes, COMM_SLICE_QUEUE_BYTES / 2, COMM_SLICE_QUEUE_BYTES);
	finish_store(store, n);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 0"), n - refused);
	assert_true(query("SELECT store_ns FROM run") > 0);
}

/* The losses of slices that could not be stored are stored with the next that can be, and their threads' names. */
static void test_disk_that_fails_for_a_while(void **state)
{
	struct comm_store_config c = config();
	struct comm_store *store = open_store(&c);
	struct comm_slice_queue_stats stats = {0};
	struct comm_slice_queue *queue;

	(void)state;
	begin(store);
	queue = start(store);
	set_disk(FAILS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(put(queue, i), 0);
	while (stats.unstored < 3) {
		usleep(1000);
		comm_slice_queue_stats(queue, &stats);
	}
	set_disk(WORKS);
	assert_int_equal(put(queue, 3), 0);
	finish(queue, &stats);
	finish_store(store, 4);
	assert_int_equal((int)stats.unstored, 3);
	assert_int_equal((int)query("SELECT count(*) FROM slice WHERE level = 0"), 1);
	assert_int_equal((int)query("SELECT sum(n) FROM loss JOIN slice ON slice.id = "
				    "loss.slice WHERE level = 0"),
			 3 + 4 * 2);
	assert_int_equal((int)query("SELECT count(*) FROM thread"), 41);
}

/* A disk that never answers holds nobody up for ever. */
static void test_disk_that_hangs(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct comm_store_config c = config();
		struct comm_store *store = open_store(&c);
		struct comm_slice_queue *queue;

		begin(store);
		queue = start(store);
		set_disk(HANGS);
		put(queue, 0);
		while (!__atomic_load_n(&is_hanging, __ATOMIC_RELAXED))
			usleep(1000);
		_exit(comm_slice_queue_end(queue, 0, comm_clock_now_ns() + SECOND / 10) ==
				      -ETIMEDOUT
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_if_one_did_both, make_disk, teardown),
		cmocka_unit_test_setup_teardown(test_disk_that_hangs_for_a_while, make_disk,
						teardown),
		cmocka_unit_test_setup_teardown(test_disk_that_fails_for_a_while, make_disk,
						teardown),
		cmocka_unit_test_setup_teardown(test_disk_that_hangs, make_disk, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
