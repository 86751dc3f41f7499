// SPDX-License-Identifier: GPL-2.0-or-later
/* A reader that follows a run keeps rows: its reports are those of one that reads all anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hash.h"
#include "kept_rows.h"
#include "made_names.h"
#include "store.h"
#include <comm/comm.h>

#define SECOND 1000000000ULL
#define START (1000 * SECOND)

enum { THREADS = 5, SITES = 7, OBJECTS = 3, EDGES = 60, SLICES = 40, WINDOW = 8 };

static const struct comm_error_model model = {
	.sampled_ends = 2, .factor_sd = 0.3, .confusion_sd = 0.175};

static char path[64];

static int setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/test_kept_rows.XXXXXX");
	if (!mkdtemp(path))
		return -1;
	strcat(path, "/s.db");
	return 0;
}

static int teardown(void **state)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char name[sizeof(path) + 8];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	*strrchr(path, '/') = '\0';
	return rmdir(path);
}

static struct comm_edge made_edge(int slice, int i)
{
	uint64_t x = comm_hash_word(i + 1), y = comm_hash_word(i * 1000 + slice);

	return (struct comm_edge){.src_thread = 1 + x % THREADS,
				  .dst_thread = 1 + (x >> 8) % THREADS,
				  .src_site = 2 + (x >> 16) % SITES,
				  .dst_site = 2 + (x >> 24) % SITES,
				  .object = 1 + (x >> 32) % OBJECTS,
				  .bursts = 1 + y % 9,
				  .level = y % 7,
				  .bytes = 1e6 + y % 100000,
				  .variance = 1e9 + y % 1000,
				  .drawn_variance = y % 5 * 1e9,
				  .first_bytes = 1e5 + y % 7777,
				  .first_variance = 1e8,
				  .watched_bytes = y % 4 * 1e6,
				  .watched_variance = y % 4 * 1e12};
}

static void write_slice(struct comm_store *store, struct made_names *names, int slice)
{
	struct comm_naming naming = made_naming(names);
	struct comm_slice_info info = {.start_ns = START + slice * SECOND,
				       .end_ns = START + (slice + 1) * SECOND,
				       .samples = 100,
				       .bursts = 100,
				       .target_ns = SECOND,
				       .unwritten = {5e5, 2e5},
				       .watched = {.watches = 30}};
	struct comm_edge edges[EDGES];

	for (int i = 0; i < EDGES; i++)
		edges[i] = made_edge(slice, i);
	assert_int_equal(comm_store_write_slice(store, &info, edges, EDGES, &naming), 0);
}

static struct comm_report *ask(struct comm_reader *reader, const struct comm_query *query)
{
	struct comm_report *report;
	char *err = NULL;

	if (comm_reader_report(reader, query, &report, &err))
		fail_msg("%s", err);
	return report;
}

static void check_same(const struct comm_report *a, const struct comm_report *b)
{
	assert_true(a->n_edges);
	assert_int_equal(a->n_edges, b->n_edges);
	assert_true(a->read_bytes == b->read_bytes);
	assert_true(a->seen_bytes == b->seen_bytes);
	for (size_t i = 0; i < a->n_edges; i++) {
		const struct comm_report_edge *x = comm_report_edge_at(a, i);
		const struct comm_report_edge *y = comm_report_edge_at(b, i);

		assert_string_equal(comm_report_node_at(a, x->from)->key,
				    comm_report_node_at(b, y->from)->key);
		assert_string_equal(comm_report_node_at(a, x->to)->key,
				    comm_report_node_at(b, y->to)->key);
		assert_memory_equal(&x->bytes, &y->bytes, sizeof(x->bytes));
		assert_memory_equal(&x->low, &y->low, sizeof(x->low));
		assert_memory_equal(&x->high, &y->high, sizeof(x->high));
		assert_int_equal(x->samples, y->samples);
		assert_int_equal(x->level, y->level);
		assert_int_equal(x->resolved, y->resolved);
	}
}

/* Asks the reader that follows, and one that was just opened. */
static void check_query(struct comm_reader *follower, const struct comm_query *query)
{
	struct comm_report *kept = ask(follower, query), *anew;
	struct comm_reader *fresh;

	assert_int_equal(comm_reader_open(path, &fresh, NULL), 0);
	anew = ask(fresh, query);
	check_same(kept, anew);
	comm_report_free(kept);
	comm_report_free(anew);
	comm_reader_close(fresh);
}

/* As commctl top asks: the newest part and the one before, now and then something else. */
static void check_windows(struct comm_reader *follower, int slice)
{
	struct comm_query query = COMM_QUERY_INIT;

	query.by = slice % 4 == 3 ? "function" : slice % 8 == 5 ? "thread,object" : NULL;
	query.first_read = slice % 16 > 12;
	query.fresh = slice % 16 > 9 && !query.first_read;
	query.from_ns = -(int64_t)(WINDOW * SECOND);
	check_query(follower, &query);
	query.to_ns = query.from_ns;
	query.from_ns *= 2;
	if (slice >= WINDOW)
		check_query(follower, &query);
}

static void test_follow(void **state)
{
	/* Details go, so that their slices are replaced by wider ones while they are kept. */
	struct comm_store_config config = {
		.path = path, .row_cap = 1000, .detail_ns = 12 * SECOND, .rollup_ns = 6 * SECOND};
	struct comm_run_info run = {.source = "test",
				    .event = "e",
				    .command = "c",
				    .error_model = &model,
				    .start_ns = START};
	struct made_names *names = made_names_create();
	struct comm_reader *follower;
	struct comm_store *store;
	int64_t id;
	char *err;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		made_thread(names, 1, 1 + i, "worker");
	made_function(names, "f", "m.so", 0x100);
	made_function(names, "g", "m.so", 0x200);
	for (int i = 0; i < SITES; i++)
		made_site(names, 2 + i % 2, "f.c", i);
	for (int i = 0; i < OBJECTS; i++)
		made_object(names, COMM_OBJECT_STATIC, "x", "m.so", 8 + i);
	assert_int_equal(comm_store_open(&config, &store, &err), 0);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(comm_store_begin_run(store, &run, &id), 0);
		for (int i = 0; i < SLICES; i++) {
			write_slice(store, names, i);
			if (!r && !i)
				assert_int_equal(comm_reader_open(path, &follower, NULL), 0);
			check_windows(follower, i);
		}
		assert_int_equal(comm_store_end_run(store, START + SLICES * SECOND, "test"), 0);
		/* The second run's slices are of the same times. */
	}
	comm_reader_close(follower);
	comm_store_close(store);
	free(names);
}

static size_t kept_rows(struct comm_kept_rows *kept, int64_t slice)
{
	const struct comm_kept_slice *found = comm_kept_rows_find(kept, 1, slice);

	return found ? found->n : 0;
}

/* The first two reports of a reader, which compare two windows, may be its only ones. */
static void test_first_keeps_nothing(void **state)
{
	struct comm_kept_rows kept = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		comm_kept_rows_begin(&kept, false);
		assert_null(comm_kept_rows_new(&kept, 1, 1));
	}
	comm_kept_rows_begin(&kept, false);
	assert_non_null(comm_kept_rows_new(&kept, 1, 1));
	comm_kept_rows_deinit(&kept);
}

static bool fill(struct comm_kept_rows *kept, int64_t slice, size_t n)
{
	struct comm_kept_slice *to = comm_kept_rows_new(kept, 1, slice);
	struct comm_edge edge = made_edge(0, (int)slice);

	assert_non_null(to);
	for (size_t i = 0; i < n; i++)
		if (!comm_kept_rows_add(kept, to, &edge))
			return false;
	return true;
}

static void test_room(void **state)
{
	enum { EIGHTH = COMM_KEPT_ROWS_MAX / 8 };
	struct comm_kept_rows kept = {.report = 2};

	(void)state;
	comm_kept_rows_begin(&kept, false);
	for (int64_t i = 0; i < 8; i++)
		assert_true(fill(&kept, i, EIGHTH));
	assert_int_equal(kept.capacity, COMM_KEPT_ROWS_MAX);
	/* All were used by this report or the two before it: nothing goes for the sake of more. */
	for (int i = 0; i < 3; i++) {
		assert_false(fill(&kept, 100, 1));
		assert_int_equal(kept_rows(&kept, 100), 0);
		for (int64_t j = 0; j < 7; j++)
			assert_int_equal(kept_rows(&kept, j), EIGHTH);
		comm_kept_rows_begin(&kept, false);
	}
	/* But the eighth is not used any more. */
	assert_true(fill(&kept, 100, 1));
	assert_int_equal(kept_rows(&kept, 7), 0);
	assert_int_equal(kept_rows(&kept, 6), EIGHTH);
	/* Another slice in the same place, another run, and other reads. */
	assert_true(fill(&kept, 100 + 4096, 2));
	assert_int_equal(kept_rows(&kept, 100), 0);
	assert_null(comm_kept_rows_find(&kept, 2, 6));
	comm_kept_rows_begin(&kept, true);
	assert_int_equal(kept_rows(&kept, 6), 0);
	assert_int_equal(kept.capacity, 0);
	comm_kept_rows_deinit(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_follow, setup, teardown),
		cmocka_unit_test(test_first_keeps_nothing),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
