// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of Python's threads (python_threads.c) in made memory, as an interpreter has it and as none would.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "made_python.h"
#include "python_threads.h"

enum { TGID = 7, READS_MOST = 3072, SECOND_MS = 1000 };

static struct made_python made;
static struct comm_python_threads *threads;
static uint64_t clock_ns, read_ns, unreadable;
static unsigned int n_reads, reads_good; /* so many, before read_err */
static int read_err;
static char name[COMM_THREAD_NAME_BYTES];

static ssize_t read_made(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	(void)ctx;
	assert_int_equal(tgid, TGID);
	n_reads++;
	clock_ns += read_ns;
	if (read_err && n_reads > reads_good)
		return read_err;
	if (addr < MADE_AT || addr - MADE_AT >= MADE_BYTES || addr / 0x100 == unreadable / 0x100)
		return -EIO;
	if (bytes > MADE_BYTES - (addr - MADE_AT))
		bytes = MADE_BYTES - (addr - MADE_AT);
	memcpy(buf, made.memory + (addr - MADE_AT), bytes);
	return (ssize_t)bytes;
}

static int words_made(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n, uint64_t *ret)
{
	unsigned int before = n_reads;

	assert_in_range(n, 1, 256);
	for (size_t i = 0; i < n; i++) {
		n_reads = before;
		if (read_made(ctx, tgid, addr[i], &ret[i], 8) != 8)
			ret[i] = 0;
	}
	return n_reads > reads_good ? read_err : 0;
}

static uint64_t now_made(void *ctx)
{
	(void)ctx;
	return clock_ns;
}

static int setup(void **state)
{
	const struct comm_python_reading reading = {read_made, words_made, now_made, NULL};

	(void)state;
	clock_ns = 1;
	read_ns = unreadable = 0;
	read_err = 0;
	n_reads = reads_good = 0;
	return comm_python_threads_create(&reading, &threads);
}

static int teardown(void **state)
{
	(void)state;
	comm_python_threads_destroy(threads);
	return 0;
}

static void fresh(void)
{
	teardown(NULL);
	assert_int_equal(setup(NULL), 0);
}

static int ask(uint32_t tid)
{
	const struct comm_python_process process = {TGID, MADE_AT, made.minor};

	memset(name, 0xcc, sizeof(name));
	return comm_python_threads_name(threads, &process, tid, name);
}

/* As ask(), of another walk. */
static int ask_again(uint32_t tid)
{
	clock_ns += (uint64_t)SECOND_MS * 1000 * 1000 * 1000;
	return ask(tid);
}

static void start(unsigned int minor)
{
	made_start(&made, minor);
	made_thread(&made, "MainThread", MADE_WITHOUT_DICT);
	made_thread(&made, "parser", MADE_WITHOUT_DICT);
	made_thread(&made, "lexer", MADE_SHARED_KEYS);
	made_thread(&made, "Thread-4 (work)", MADE_OWN_KEYS);
	made_thread(&made, "last", MADE_WITHOUT_DICT);
}

static void names_of_all_versions(void **state)
{
	static const char *const right[] = {"MainThread", "parser", "lexer", "Thread-4 (work)",
					    "last"};

	(void)state;
	for (unsigned int minor = 11; minor <= 13; minor++) {
		start(minor);
		for (uint32_t i = 0; i < 5; i++) {
			assert_int_equal(i ? ask(100 + i) : ask_again(100), 0);
			assert_string_equal(name, right[i]);
		}
		assert_int_equal(ask(105), -ENOENT);
	}
	made.minor = 14;
	assert_int_equal(ask_again(101), -ENOENT);
	made.minor = 10;
	assert_int_equal(ask_again(101), -ENOENT);
}

/* All of them in one walk, and those that come later in another one, which is not begun at once. */
static void one_walk_for_all(void **state)
{
	unsigned int n;

	(void)state;
	start(12);
	assert_int_equal(ask(101), 0);
	n = n_reads;
	assert_in_range(n, 10, 100);
	assert_int_equal(ask(104), 0);
	made_thread(&made, "late", MADE_WITHOUT_DICT);
	assert_int_equal(ask(105), -ENOENT);
	assert_int_equal(n_reads, n);
	clock_ns += 100 * 1000 * 1000;
	assert_int_equal(ask(105), 0);
	assert_string_equal(name, "late");
	assert_true(n_reads > n);
	n = n_reads;
	/* A walk that takes long is begun the later again. */
	read_ns = 1000 * 1000;
	assert_int_equal(ask_again(105), 0);
	assert_true(n_reads > n);
	n = n_reads;
	clock_ns += 100 * 1000 * 1000;
	assert_int_equal(ask(105), 0);
	assert_int_equal(n_reads, n);
	assert_int_equal(ask_again(105), 0);
	assert_true(n_reads > n);
}

static void another_program_is_walked_at_once(void **state)
{
	struct comm_python_process process = {TGID, MADE_AT, 12};

	(void)state;
	start(12);
	assert_int_equal(ask(101), 0);
	process.runtime += 0x100;
	assert_int_equal(comm_python_threads_name(threads, &process, 101, name), -ENOENT);
	assert_int_equal(ask(101), 0);
}

static void what_cannot_be_read_now_is_not_known(void **state)
{
	(void)state;
	start(12);
	read_err = -ETIME;
	assert_int_equal(ask(101), -EAGAIN);
	/* It hangs once. */
	assert_int_equal(n_reads, 1);
	read_err = 0;
	assert_int_equal(ask_again(101), 0);
	read_err = -ETIME;
	assert_int_equal(ask_again(101), 0);
	assert_string_equal(name, "parser");
}

/* Whenever a walk is broken off, those that it does not come to keep their names, and those it does have new ones. */
static void a_walk_that_is_broken_off(void **state)
{
	unsigned int whole;

	(void)state;
	start(12);
	assert_int_equal(ask(101), 0);
	whole = n_reads;
	for (unsigned int n = 0; n < whole; n++) {
		fresh();
		start(12);
		assert_int_equal(ask(101), 0);
		made_text_at(&made, made_thread_at(1) + MADE_NAME, "scanner");
		n_reads = 0;
		reads_good = n;
		read_err = n % 2 ? -ETIME : -EAGAIN;
		assert_int_equal(ask_again(104), 0);
		assert_string_equal(name, "last");
		assert_int_equal(n_reads, n + 1);
		assert_int_equal(ask(101), 0);
		if (n == whole - 1)
			assert_string_equal(name, "scanner");
		else if (n < whole / 2)
			assert_string_equal(name, "parser");
		/* A thread has one name: those that were found again are not known twice. */
		read_err = 0;
		assert_int_equal(ask_again(101), 0);
		assert_string_equal(name, "scanner");
	}
	/* Who has ended is forgotten by the walk that comes to its end. */
	start(12);
	fresh();
	assert_int_equal(ask(104), 0);
	start(12);
	made_put(&made, MADE_ACTIVE_KEYS + 24, 1);
	assert_int_equal(ask_again(104), -ENOENT);
}

static void names_are_clean(void **state)
{
	static const struct {
		const char *text, *right;
	} of[] = {
		{"a\nb\x1b[1m", "a\\x0ab\\x1b[1m"},
		{"0123456789012345678901234567890123456789012345678901234567890123456789",
		 "012345678901234567890123456789012345678901234567890123456789012"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		start(13);
		made_text_at(&made, made_thread_at(1) + MADE_NAME, of[i].text);
		assert_int_equal(ask_again(101), 0);
		assert_string_equal(name, of[i].right);
	}
	/* Of two bytes a character. */
	start(13);
	made_put(&made, made_thread_at(1) + MADE_NAME + 16, 2);
	made_put(&made, made_thread_at(1) + MADE_NAME + 32, 1 << 5 | 2 << 2);
	made_put(&made, made_thread_at(1) + MADE_NAME + 56, 0x65874e2d);
	assert_int_equal(ask_again(101), 0);
	assert_string_equal(name, "\xe4\xb8\xad\xe6\x96\x87");
	/* Of four, and more than what is read of it first. */
	made_put(&made, made_thread_at(1) + MADE_NAME + 16, 60);
	made_put(&made, made_thread_at(1) + MADE_NAME + 32, 1 << 5 | 4 << 2);
	for (uint64_t i = 0; i < 30; i++)
		made_put(&made, made_thread_at(1) + MADE_NAME + 56 + 8 * i,
			 0x3100000030 + 0x200000002 * (i % 5));
	assert_int_equal(ask_again(101), 0);
	assert_string_equal(name, "012345678901234567890123456789012345678901234567890123456789");
}

/* Each costs the names of some threads, or all, and no more reads than there may be. */
static void what_lies_has_no_names(void **state)
{
	enum { FIRST = MADE_THREADS, OBJECT = FIRST + MADE_THREAD_BYTES + MADE_OBJECT };
	static const struct {
		unsigned int minor;
		uint64_t at, word;
	} broken[] = {
		{12, MADE_AT + 40, 0},
		{12, MADE_AT + 40, 3},
		{12, MADE_AT + 40, UINT64_MAX},
		{12, MADE_INTERPRETER + 944, 0},
		{12, MADE_INTERPRETER + 944, MADE_AT + MADE_BYTES},
		{12, MADE_MODULES + 32, UINT64_MAX},
		{12, MADE_MODULES + 40, MADE_MODULES}, /* values beside keys that are not shared */
		{12, MADE_MODULES_KEYS + 8, UINT64_MAX},
		{12, MADE_MODULES_KEYS + 8, 3 | 63 << 8 | 1 << 16},
		{12, MADE_MODULES_KEYS + 8, 3 | 3 << 8 | 3 << 16},
		{12, MADE_MODULES_KEYS + 24, 9}, /* more entries than places */
		{12, MADE_MODULES_KEYS + 24, UINT64_MAX},
		{12, MADE_MODULES_KEYS + 24, 0},
		{12, MADE_TEXTS + MADE_TEXT_BYTES + 16, UINT64_MAX},
		{12, MADE_TEXTS + MADE_TEXT_BYTES + 32, 0},
		{12, MADE_THREADING + 16, 0},
		{12, MADE_THREADING_DICT + 32, MADE_AT + MADE_BYTES - 8},
		{12, MADE_ACTIVE + 32, 0},
		{12, MADE_ACTIVE_KEYS + 8, UINT64_MAX},
		{12, MADE_ACTIVE_KEYS + 40 + 24 + 16, 1},
		{12, MADE_ACTIVE_KEYS + 40 + 24 + 16, MADE_AT + MADE_BYTES - 8},
		{12, MADE_TYPE + 168, 0},
		{12, MADE_TYPE + 880, 0},
		{12, MADE_CACHED + 8, 3 | 3 << 8 | 1 << 16},
		{12, MADE_CACHED + 24, 1}, /* fewer names than values */
		{12, OBJECT + 8, 0},
		{12, OBJECT - 24, 0},
		{12, OBJECT - 24, UINT64_MAX},
		{12, OBJECT - 24, OBJECT},
		{12, OBJECT - MADE_OBJECT + MADE_TID + 16, 1 << 3 | 2}, /* below 0 */
		{12, OBJECT - MADE_OBJECT + MADE_TID + 16, 9 << 3},
		{12, OBJECT - MADE_OBJECT + MADE_NAME + 16, 0},
		{12, OBJECT - MADE_OBJECT + MADE_NAME + 32, 3 << 2 | 1 << 5},
		{13, MADE_AT, 0},
		{13, MADE_AT + 16, 1}, /* threads that run at once */
		{13, MADE_AT + 40, UINT64_MAX - 8},
		{13, MADE_AT + 64, 1 << 20},
		{13, MADE_AT + 88, UINT64_MAX},
		{13, MADE_TYPE + 168, 1 << 4},
		{11, OBJECT - 32, 0},
		{11, OBJECT - 32, 5},
		{11, OBJECT - 24, MADE_TYPE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		fresh();
		start(broken[i].minor);
		made_put(&made, broken[i].at, broken[i].word);
		if (ask(101) != -ENOENT)
			fail_msg("broken word %zu is believed", i);
		assert_in_range(n_reads, 1, READS_MOST);
	}
}

static void what_goes_round_ends(void **state)
{
	(void)state;
	/* Interpreters in a circle, and threads that are one. */
	start(12);
	made_put(&made, MADE_INTERPRETER, MADE_INTERPRETER);
	assert_int_equal(ask(101), 0);
	assert_in_range(n_reads, 1, 16 * 100);
	/* As many entries as there may be, all the same, and not the one that is looked for. */
	start(12);
	made_put(&made, MADE_MODULES_KEYS + 8, 16 | 3 << 8 | 1 << 16);
	made_put(&made, MADE_MODULES_KEYS + 24, 1 << 16);
	made_entry(&made, MADE_MODULES_KEYS, 1, MADE_TEXTS, MADE_TYPE);
	n_reads = 0;
	assert_int_equal(ask_again(102), -ENOENT);
	assert_in_range(n_reads, 1, READS_MOST);
	/* Dictionaries that are their own keys and values. */
	start(12);
	made_put(&made, MADE_ACTIVE + 32, MADE_ACTIVE);
	n_reads = 0;
	assert_int_equal(ask_again(900), -ENOENT);
	assert_in_range(n_reads, 1, READS_MOST);
}

/* A walk reads so much and no more: the whole memory is entries whose text is nearly the one looked for. */
static void reads_are_counted(void **state)
{
	(void)state;
	start(12);
	made_put(&made, MADE_MODULES_KEYS + 8, 16 | 3 << 8 | 1 << 16);
	made_put(&made, MADE_MODULES_KEYS + 24, 1 << 16);
	made_text_at(&made, MADE_TEXTS + 0x2000, "threadinG");
	for (uint64_t i = 0; i < (MADE_THREADING - MADE_MODULES_KEYS - 40) / 16; i++)
		made_entry(&made, MADE_MODULES_KEYS, i, MADE_TEXTS + 0x2000, MADE_TYPE);
	for (uint64_t at = MADE_THREADING; at < MADE_AT + MADE_BYTES; at += 8)
		if (at < MADE_TEXTS + 0x2000 || at >= MADE_TEXTS + 0x2100)
			made_put(&made, at, MADE_TEXTS + 0x2000);
	assert_int_equal(ask(101), -ENOENT);
	assert_int_equal(n_reads, READS_MOST);
}

static void pages_that_cannot_be_read(void **state)
{
	(void)state;
	for (uint64_t at = MADE_AT; at < MADE_AT + MADE_BYTES; at += 0x100) {
		fresh();
		start(13);
		unreadable = at;
		if (ask(101) == 0)
			assert_string_equal(name, "parser");
		if (ask(104) == 0)
			assert_string_equal(name, "last");
	}
	fresh();
	start(13);
	unreadable = made_thread_at(1) + MADE_NAME;
	assert_int_equal(ask(101), -ENOENT);
	assert_int_equal(ask(104), 0);
}

/* What memory has changes under the reader: any word may be any other. */
static void any_word(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t at;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		start(11 + (unsigned int)(seed >> 40) % 3);
		for (unsigned int k = 0; k < 1 + (seed >> 33) % 3; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			at = (seed >> 20) % (MADE_BYTES / 8) * 8;
			made_put(&made, MADE_AT + at,
				 seed >> 63 ? MADE_AT + (seed >> 30) % MADE_BYTES : seed);
		}
		n_reads = 0;
		ask_again(101);
		assert_in_range(n_reads, 1, READS_MOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_of_all_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(one_walk_for_all, setup, teardown),
		cmocka_unit_test_setup_teardown(another_program_is_walked_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_read_now_is_not_known, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_walk_that_is_broken_off, setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_clean, setup, teardown),
		cmocka_unit_test_setup_teardown(what_lies_has_no_names, setup, teardown),
		cmocka_unit_test_setup_teardown(what_goes_round_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(pages_that_cannot_be_read, setup, teardown),
		cmocka_unit_test_setup_teardown(any_word, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
