// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks (comm/mark.h), used well and badly, and how commd finds them in a process. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <comm/mark.h>

#include <cmocka.h>

#include "event.h"
#include "hash.h"
#include "inspect.h"
#include "marks.h"

_Static_assert((int)COMM_MARK_DEPTH == (int)COMM_MARKS_MAX, "mark.h and event.h");
_Static_assert(COMM_MARK_BYTES == 72, "read by BPF programs as a whole");

static uint64_t depth(void)
{
	return ((volatile struct comm_mark_stack *)&comm_mark_thread)->depth;
}

static void expect(uint64_t n, const char *innermost)
{
	assert_int_equal(depth(), n);
	if (n)
		assert_string_equal(comm_mark_thread.name[n - 1], innermost);
}

static void regions_nest(void **state)
{
	struct comm_mark outer = comm_mark_begin("outer");

	(void)state;
	expect(1, "outer");
	{
		COMM_REGION("inner");
		expect(2, "inner");
		assert_string_equal(comm_mark_thread.name[0], "outer");
		{
			COMM_REGION("innermost");
			COMM_REGION("of the same block");
			expect(4, "of the same block");
		}
		expect(2, "inner");
	}
	expect(1, "outer");
	comm_mark_end(outer);
	expect(0, NULL);
}

static void deeper_ones_count_for_the_last(void **state)
{
	struct comm_mark mark[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		mark[i] = comm_mark_begin(i < COMM_MARK_DEPTH ? "told apart" : "not told apart");
	assert_int_equal(depth(), 100);
	for (int i = 0; i < COMM_MARK_DEPTH; i++)
		assert_string_equal(comm_mark_thread.name[i], "told apart");
	for (int i = 100; i--;)
		comm_mark_end(mark[i]);
	expect(0, NULL);
}

static jmp_buf out;

static __attribute__((noinline)) void leave_without_end(void)
{
	comm_mark_begin("never ended");
	longjmp(out, 1);
}

static void *end_in_thread(void *mark)
{
	struct comm_mark own = comm_mark_begin("own");

	comm_mark_end(*(struct comm_mark *)mark);
	assert_true(depth() <= 1);
	comm_mark_end(own);
	expect(0, NULL);
	return NULL;
}

static void wrong_ends_heal(void **state)
{
	struct comm_mark outer = comm_mark_begin("outer"), inner;
	pthread_t thread;

	(void)state;
	if (!setjmp(out))
		leave_without_end();
	expect(2, "never ended");
	comm_mark_end(outer);
	expect(0, NULL);
	/* Twice. */
	outer = comm_mark_begin("outer");
	inner = comm_mark_begin("inner");
	comm_mark_end(inner);
	comm_mark_end(inner);
	expect(1, "outer");
	/* By another thread: ours go on. */
	assert_int_equal(pthread_create(&thread, NULL, end_in_thread, &outer), 0);
	pthread_join(thread, NULL);
	expect(1, "outer");
	comm_mark_end(outer);
	comm_mark_end(outer);
	expect(0, NULL);
	inner = comm_mark_begin(NULL);
	assert_null(comm_mark_thread.name[0]);
	comm_mark_end(inner);
}

static uint32_t told_tgid;
static int64_t told_stack;
static int n_told;

static void tell(void *ctx, uint32_t tgid, int64_t stack)
{
	(void)ctx;
	told_tgid = tgid;
	told_stack = stack;
	n_told++;
}

static int64_t own_stack(void)
{
	char *thread_pointer;

	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	return (char *)&comm_mark_thread - thread_pointer;
}

static void *stack_of_thread(void *ret)
{
	*(int64_t *)ret = own_stack();
	return NULL;
}

static void a_process_is_found(void **state)
{
	const uint32_t self = (uint32_t)getpid();
	const struct comm_mapping *map;
	struct comm_inspect inspect;
	pthread_t thread;
	int64_t stack = 0;
	size_t n;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stack_of_thread, &stack), 0);
	pthread_join(thread, NULL);
	assert_int_equal(stack, own_stack());
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	n_told = 0;
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	comm_inspect_live_tell_marks(&inspect, tell, NULL);
	assert_true(n_told == 1 && told_tgid == self && told_stack == stack);
	/* A child that runs on in our memory. */
	assert_int_equal(inspect.ops->maps(inspect.ctx, self, &map, &n), 0);
	assert_int_equal(n_told, 2);
	comm_inspect_destroy(&inspect);
}

/* A child that has not come to its constructors yet, and then does. */
static void initialising_is_waited_for(void **state)
{
	const struct comm_mapping *map;
	struct comm_inspect inspect;
	int ready[2], go[2];
	char byte;
	pid_t child;
	size_t n;

	(void)state;
	assert_int_equal(pipe(ready) | pipe(go), 0);
	child = fork();
	if (!child) {
		/* Or it would wait for itself when the test has failed. */
		close(go[1]);
		comm_mark_module.version = 0;
		if (write(ready[1], "", 1) == 1 && read(go[0], &byte, 1) == 1)
			comm_mark_register();
		_exit(write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1);
	}
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	comm_inspect_live_tell_marks(&inspect, tell, NULL);
	n_told = 0;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(inspect.ops->maps(inspect.ctx, (uint32_t)child, &map, &n), 0);
	comm_inspect_live_await_marks(&inspect);
	assert_int_equal(n_told, 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	comm_inspect_live_await_marks(&inspect);
	assert_true(n_told == 1 && told_tgid == (uint32_t)child && told_stack == own_stack());
	/* Not told again and again. */
	comm_inspect_live_await_marks(&inspect);
	assert_int_equal(n_told, 1);
	assert_int_equal(write(go[1], "", 1), 1);
	waitpid(child, NULL, 0);
	comm_inspect_destroy(&inspect);
}

/* A module in memory at BASE, as hostile as a test makes it. */
enum { BASE = 0x10000, MODULE_BYTES = 8192, NOTES_AT = 512, RECORD_AT = 4096 };

struct module {
	uint8_t bytes[MODULE_BYTES];
	size_t n; /* so many can be read */
};

static ssize_t read_module(void *ctx, uint64_t addr, void *buf, size_t len_bytes)
{
	const struct module *module = ctx;

	if (addr < BASE || addr - BASE >= module->n)
		return -EFAULT;
	if (len_bytes > module->n - (addr - BASE))
		len_bytes = module->n - (addr - BASE);
	memcpy(buf, module->bytes + (addr - BASE), len_bytes);
	return (ssize_t)len_bytes;
}

static void make_module(struct module *module)
{
	static const uint32_t other[] = {4, 4, 1, 0x554e47, 0};
	static const uint32_t note[] = {9, 8, COMM_MARK_NOTE};
	const uint64_t phoff = 64, notes = NOTES_AT, notes_bytes = 56;
	const struct comm_mark_module record = {COMM_MARK_VERSION, COMM_MARK_DEPTH, -128};
	int64_t distance = RECORD_AT - (NOTES_AT + 44);
	uint8_t *b = module->bytes;

	memset(module, 0, sizeof(*module));
	module->n = MODULE_BYTES;
	memcpy(b,
	       "\x7f"
	       "ELF\x02\x01\x01",
	       7);
	memcpy(b + 32, &phoff, 8);
	b[54] = 56; /* e_phentsize */
	b[56] = 2;
	b[64] = 1;	/* PT_LOAD */
	b[64 + 56] = 4; /* PT_NOTE */
	memcpy(b + 64 + 56 + 16, &notes, 8);
	memcpy(b + 64 + 56 + 32, &notes_bytes, 8);
	b[64 + 56 + 48] = 4;
	memcpy(b + NOTES_AT, other, sizeof(other));
	memcpy(b + NOTES_AT + 20, note, sizeof(note));
	memcpy(b + NOTES_AT + 32, "commprof", 9);
	memcpy(b + NOTES_AT + 44, &distance, 8);
	memcpy(b + RECORD_AT, &record, sizeof(record));
}

static void lies_are_bounded(void **state)
{
	static struct module module;
	const struct comm_marks_memory memory = {read_module, &module};
	uint64_t record, seed = 1;
	int64_t stack = 0;
	int found = 0;

	(void)state;
	make_module(&module);
	assert_int_equal(comm_marks_find(&memory, BASE, &record), 0);
	assert_int_equal(record, BASE + RECORD_AT);
	assert_int_equal(comm_marks_stack(&memory, record, &stack), 0);
	assert_int_equal(stack, -128);
	module.bytes[RECORD_AT] = 0;
	assert_int_equal(comm_marks_stack(&memory, record, &stack), -EAGAIN);
	module.bytes[RECORD_AT] = 2;
	assert_int_equal(comm_marks_stack(&memory, record, &stack), -EPROTO);
	make_module(&module);
	memset(module.bytes + RECORD_AT + 8, 0x7f, 8);
	assert_int_equal(comm_marks_stack(&memory, record, &stack), -EPROTO);
	assert_int_equal(comm_marks_stack(&memory, UINT64_MAX - 3, &stack), -EFAULT);
	module.bytes[0] = 0;
	assert_int_equal(comm_marks_find(&memory, BASE, &record), -ENOENT);
	/* Cut off anywhere. */
	for (size_t n = 0; n < NOTES_AT + 52; n++) {
		make_module(&module);
		module.n = n;
		assert_true(comm_marks_find(&memory, BASE, &record) < 0);
	}
	/* A byte or two of anything: no crash, and no way out of what can be read. */
	for (int i = 0; i < 1000000; i++) {
		uint64_t any = comm_hash_next(&seed);

		make_module(&module);
		module.bytes[any % 600] = (uint8_t)(any >> 16);
		if (any >> 63)
			module.bytes[(any >> 24) % 600] = (uint8_t)(any >> 40);
		if (!comm_marks_find(&memory, BASE, &record))
			found += !comm_marks_stack(&memory, record, &stack);
	}
	assert_in_range(found, 100000, 999999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_nest),
		cmocka_unit_test(deeper_ones_count_for_the_last),
		cmocka_unit_test(wrong_ends_heal),
		cmocka_unit_test(a_process_is_found),
		cmocka_unit_test(initialising_is_waited_for),
		cmocka_unit_test(lies_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
