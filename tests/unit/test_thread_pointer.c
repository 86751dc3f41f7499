// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread's pointer is found from outside, and nothing is found where there is none. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "inspect.h"
#include "thread_pointer.h"

enum { BASE = 0x10000, PAGES = 3, PAGE = 4096 };

static uint64_t own_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* Of the test itself, as the daemon asks it. */
static void ask(void)
{
	struct comm_inspect inspect;
	uint64_t pointer = 0;

	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	assert_int_equal(comm_inspect_live_thread_pointer(&inspect, (uint32_t)getpid(),
							  (uint32_t)syscall(SYS_gettid), &pointer),
			 0);
	assert_int_equal(pointer, own_pointer());
	/* No thread has that number. */
	assert_true(comm_inspect_live_thread_pointer(&inspect, (uint32_t)getpid(), 1u << 30,
						     &pointer) < 0);
	comm_inspect_destroy(&inspect);
}

static void *ask_in_thread(void *unused)
{
	(void)unused;
	ask();
	return NULL;
}

static void threads_of_this_process(void **state)
{
	pthread_t thread;

	(void)state;
	ask();
	assert_int_equal(pthread_create(&thread, NULL, ask_in_thread, NULL), 0);
	pthread_join(thread, NULL);
}

/* Pages from BASE on; those before first cannot be read. */
struct pages {
	uint64_t first;
	uint8_t bytes[PAGES * PAGE];
};

static ssize_t read_pages(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct pages *pages = ctx;

	if (addr < pages->first || addr - BASE + len_bytes > sizeof(pages->bytes))
		return -EIO;
	memcpy(buf, pages->bytes + (addr - BASE), len_bytes);
	return (ssize_t)len_bytes;
}

static void put_block(struct pages *pages, uint64_t at)
{
	const uint64_t block[3] = {at, 0, at};

	memcpy(pages->bytes + (at - BASE), block, sizeof(block));
}

static void only_a_block_is_found(void **state)
{
	static struct pages pages = {.first = BASE};
	const struct comm_marks_memory memory = {read_pages, &pages};
	uint64_t pointer = 0, word;

	(void)state;
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 3 * PAGE - 8, &pointer), -ENOENT);
	/* In the page before, as far as there is one. */
	put_block(&pages, BASE + 2 * PAGE - 64);
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 2 * PAGE + 672, &pointer), 0);
	assert_int_equal(pointer, BASE + 2 * PAGE - 64);
	/* The nearest. */
	put_block(&pages, BASE + 2 * PAGE + 64);
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 2 * PAGE + 800, &pointer), 0);
	assert_int_equal(pointer, BASE + 2 * PAGE + 64);
	/* Not one that ends behind the list, nor one that has its address once. */
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 2 * PAGE + 80, &pointer), 0);
	assert_int_equal(pointer, BASE + 2 * PAGE - 64);
	word = 0;
	memcpy(pages.bytes + PAGE * 2 + 64 + 16, &word, sizeof(word));
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 2 * PAGE + 800, &pointer), 0);
	assert_int_equal(pointer, BASE + 2 * PAGE - 64);
	pages.first = BASE + 2 * PAGE;
	assert_int_equal(comm_thread_pointer_find(&memory, BASE + 2 * PAGE + 800, &pointer), -EIO);
	/* Threads without a list, and lists that cannot be. */
	assert_int_equal(comm_thread_pointer_find(&memory, 0, &pointer), -ENOENT);
	assert_int_equal(comm_thread_pointer_find(&memory, 1, &pointer), -ENOENT);
	assert_int_equal(comm_thread_pointer_find(&memory, UINT64_MAX, &pointer), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_this_process),
		cmocka_unit_test(only_a_block_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
