// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks (comm/mark.h), used well and badly, and how commd finds them in a process. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <comm/mark.h>

#include <cmocka.h>

#include "clock.h"
#include "event.h"
#include "hash.h"
#include "inspect.h"
#include "marked.h"
#include "marks.h"

_Static_assert((int)COMM_MARK_DEPTH == (int)COMM_MARKS_MAX, "mark.h and event.h");
_Static_assert((int)COMM_MARK_OBJECTS == (int)COMM_NAMED_MAX &&
		       (int)COMM_MARK_OBJECTS == (int)COMM_MARKED_OBJECTS_MAX,
	       "mark.h, event.h and marks.h");
_Static_assert(offsetof(struct comm_mark_process, stopped) == 0 &&
		       offsetof(struct comm_mark_process, frame) == 8,
	       "read by BPF programs at once");
_Static_assert(offsetof(struct comm_mark_stack, begun) == 72,
	       "what stands before it is read by BPF programs as a whole");

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

static void beginnings_are_counted(void **state)
{
	volatile uint32_t *begun = comm_mark_thread.begun;
	uint32_t before[COMM_MARK_DEPTH];

	(void)state;
	for (int i = 0; i < COMM_MARK_DEPTH; i++)
		before[i] = begun[i];
	for (int i = 0; i < 2; i++) {
		COMM_REGION("outer");
		for (int j = 0; j < 3; j++) {
			COMM_REGION("inner");
		}
	}
	assert_int_equal(begun[0], before[0] + 2);
	assert_int_equal(begun[1], before[1] + 6);
	for (int i = 2; i < COMM_MARK_DEPTH; i++)
		assert_int_equal(begun[i], before[i]);
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

static void *stop_in_thread(void *unused)
{
	COMM_STOP();
	return unused;
}

static void a_process_is_stopped(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(comm_mark_process.stopped, 0);
	assert_int_equal(pthread_create(&thread, NULL, stop_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	COMM_STOP();
	assert_int_equal(comm_mark_process.stopped, 1);
	COMM_START();
	COMM_START();
	assert_int_equal(comm_mark_process.stopped, 0);
}

static void *frame_in_thread(void *unused)
{
	COMM_FRAME();
	return unused;
}

static void frames_are_counted(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(comm_mark_process.frame, 0);
	COMM_FRAME();
	assert_int_equal(pthread_create(&thread, NULL, frame_in_thread, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(comm_mark_process.frame, 2);
}

static const struct comm_mark_object *named(const void *start)
{
	for (int i = 0; i < COMM_MARK_OBJECTS; i++)
		if (comm_mark_process.object[i].start == start)
			return &comm_mark_process.object[i];
	return NULL;
}

static void memory_is_named(void **state)
{
	static char memory[2 * COMM_MARK_OBJECTS];
	uint32_t changes = comm_mark_process.changes;

	(void)state;
	COMM_OBJECT(memory, 8, "first");
	assert_int_equal(named(memory)->bytes, 8);
	COMM_OBJECT(memory, 16, "second");
	assert_int_equal(named(memory)->bytes, 16);
	assert_string_equal(named(memory)->name, "second");
	COMM_OBJECT(memory, 0, NULL);
	COMM_OBJECT(memory, 0, NULL);
	COMM_OBJECT(NULL, 8, "nothing");
	assert_null(named(memory));
	assert_true(comm_mark_process.changes > changes);
	/* More than there is room for, and then room again. */
	for (int i = 0; i < 2 * COMM_MARK_OBJECTS; i++)
		COMM_OBJECT(memory + i, 1, "many");
	assert_non_null(named(memory + COMM_MARK_OBJECTS - 1));
	assert_null(named(memory + COMM_MARK_OBJECTS));
	COMM_OBJECT(memory + 3, 0, "any");
	COMM_OBJECT(memory + COMM_MARK_OBJECTS, 1, "late");
	assert_non_null(named(memory + COMM_MARK_OBJECTS));
	for (int i = 0; i < 2 * COMM_MARK_OBJECTS; i++)
		COMM_OBJECT(memory + i, 0, NULL);
	for (int i = 0; i < COMM_MARK_OBJECTS; i++)
		assert_null(comm_mark_process.object[i].start);
}

static struct {
	uint32_t n, slot;
	uint64_t start, bytes, name;
} told_object;

static void tell_object(void *ctx, uint32_t tgid, uint32_t slot, uint64_t start,
			uint64_t size_bytes, uint64_t name)
{
	(void)ctx;
	assert_int_equal(tgid, getpid());
	told_object.n++;
	told_object.slot = slot;
	told_object.start = start;
	told_object.bytes = size_bytes;
	told_object.name = name;
}

static void ignore(void *ctx, uint32_t tgid, const struct comm_marks_place *place)
{
	(void)ctx;
	(void)tgid;
	(void)place;
}

/* Told once, again when the mappings were read anew, and when it goes. */
static void named_memory_is_told(void **state)
{
	static const char name[] = "of its own";
	const struct comm_mapping *map;
	struct comm_inspect inspect;
	static char memory[64];
	size_t n;

	(void)state;
	assert_int_equal(comm_inspect_live_create(&inspect), 0);
	comm_inspect_live_tell_objects(&inspect, tell_object, NULL);
	comm_inspect_live_tell_marks(&inspect, ignore, NULL);
	assert_int_equal(inspect.ops->maps(inspect.ctx, (uint32_t)getpid(), &map, &n), 0);
	COMM_OBJECT(memory, sizeof(memory), name);
	comm_inspect_live_await_marks(&inspect);
	assert_int_equal(told_object.n, 1);
	assert_int_equal(told_object.start, (uintptr_t)memory);
	assert_int_equal(told_object.bytes, sizeof(memory));
	assert_int_equal(told_object.name, (uintptr_t)name);
	usleep(250000);
	comm_inspect_live_await_marks(&inspect);
	assert_int_equal(told_object.n, 1);
	assert_int_equal(inspect.ops->maps(inspect.ctx, (uint32_t)getpid(), &map, &n), 0);
	usleep(250000);
	comm_inspect_live_await_marks(&inspect);
	assert_int_equal(told_object.n, 2);
	COMM_OBJECT(memory, 0, NULL);
	usleep(250000);
	comm_inspect_live_await_marks(&inspect);
	assert_true(told_object.n == 3 && !told_object.bytes);
	comm_inspect_destroy(&inspect);
}

static uint32_t told_tgid;
static struct comm_marks_place told_place;
static int n_told;

static void tell(void *ctx, uint32_t tgid, const struct comm_marks_place *place)
{
	(void)ctx;
	told_tgid = tgid;
	told_place = *place;
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
	assert_true(n_told == 1 && told_tgid == self && told_place.stack == stack);
	assert_ptr_equal(told_place.process, &comm_mark_process);
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
	assert_true(n_told == 1 && told_tgid == (uint32_t)child && told_place.stack == own_stack());
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
	const struct comm_mark_module record = {COMM_MARK_VERSION, COMM_MARK_DEPTH, -128,
						(const struct comm_mark_process *)0x1234};
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

/* Aligned to more than a page, zeroed variables are a segment without a place in the file. */
static void variables_may_be_aligned(void **state)
{
	static struct module module;
	const struct comm_marks_memory memory = {read_module, &module};
	uint8_t *segment = module.bytes + 64;
	uint64_t record;

	(void)state;
	make_module(&module);
	module.bytes[56] = 3;
	segment[32 + 1] = 0x10;		 /* p_filesz of the first */
	segment[2 * 56] = 1;		 /* PT_LOAD */
	segment[2 * 56 + 16 + 1] = 0x80; /* p_vaddr */
	segment[2 * 56 + 40 + 1] = 0x80; /* p_memsz */
	assert_int_equal(comm_marks_find(&memory, BASE, &record), 0);
	assert_int_equal(record, BASE + RECORD_AT);
}

static void lies_are_bounded(void **state)
{
	static struct module module;
	const struct comm_marks_memory memory = {read_module, &module};
	static struct comm_marked_objects objects;
	uint64_t record, seed = 1;
	struct comm_marks_place place = {0};
	int found = 0;

	(void)state;
	make_module(&module);
	assert_int_equal(comm_marks_find(&memory, BASE, &record), 0);
	assert_int_equal(record, BASE + RECORD_AT);
	assert_int_equal(comm_marks_read(&memory, record, &place), 0);
	assert_true(place.stack == -128 && place.process == 0x1234 && place.counts);
	/* The version before regions were counted. */
	module.bytes[RECORD_AT] = 2;
	assert_int_equal(comm_marks_read(&memory, record, &place), 0);
	assert_true(place.stack == -128 && place.process == 0x1234 && !place.counts);
	/* The first version, at the end of what can be read. */
	module.bytes[RECORD_AT] = 1;
	module.n = RECORD_AT + 16;
	assert_int_equal(comm_marks_read(&memory, record, &place), 0);
	assert_true(place.stack == -128 && !place.process && !place.counts);
	module.n = MODULE_BYTES;
	module.bytes[RECORD_AT] = 0;
	assert_int_equal(comm_marks_read(&memory, record, &place), -EAGAIN);
	module.bytes[RECORD_AT] = 4;
	assert_int_equal(comm_marks_read(&memory, record, &place), -EPROTO);
	make_module(&module);
	memset(module.bytes + RECORD_AT + 8, 0x7f, 8);
	assert_int_equal(comm_marks_read(&memory, record, &place), -EPROTO);
	assert_int_equal(comm_marks_read(&memory, UINT64_MAX - 3, &place), -EFAULT);
	module.bytes[0] = 0;
	assert_int_equal(comm_marks_find(&memory, BASE, &record), -ENOENT);
	/* Cut off anywhere. */
	for (size_t n = 0; n < NOTES_AT + 52; n++) {
		make_module(&module);
		module.n = n;
		assert_true(comm_marks_find(&memory, BASE, &record) < 0);
	}
	/* Named memory: what is none, past the end of user memory, or not there. */
	make_module(&module);
	for (size_t i = 0; i < sizeof(struct comm_mark_process); i++)
		module.bytes[RECORD_AT + i] = (uint8_t)comm_hash_next(&seed);
	/* Half of them begin where memory can be. */
	for (size_t i = 0; i < COMM_MARK_OBJECTS; i += 2)
		memcpy(module.bytes + RECORD_AT + offsetof(struct comm_mark_process, object[i]),
		       &(uint64_t){BASE}, 8);
	objects.changes = 0;
	assert_int_equal(comm_marks_objects(&memory, BASE + RECORD_AT, &objects), 1);
	assert_int_equal(comm_marks_objects(&memory, BASE + RECORD_AT, &objects), 0);
	for (size_t i = 0; i < COMM_MARKED_OBJECTS_MAX; i++)
		assert_true(objects.object[i].size_bytes <= UINT64_C(1) << 47);
	module.n = RECORD_AT + sizeof(struct comm_mark_process) - 1;
	objects.changes = 0;
	assert_int_equal(comm_marks_objects(&memory, BASE + RECORD_AT, &objects), -EFAULT);
	assert_int_equal(comm_marks_objects(&memory, 0, &objects), -EFAULT);
	/* A byte or two of anything: no crash, and no way out of what can be read. */
	for (int i = 0; i < 1000000; i++) {
		uint64_t any = comm_hash_next(&seed);

		make_module(&module);
		module.bytes[any % 600] = (uint8_t)(any >> 16);
		if (any >> 63)
			module.bytes[(any >> 24) % 600] = (uint8_t)(any >> 40);
		if (!comm_marks_find(&memory, BASE, &record))
			found += !comm_marks_read(&memory, record, &place);
	}
	assert_in_range(found, 100000, 999999);
}

/* What all processes of the tests below have in memory: COMM_OBJECT() is called all the time. */
enum { PROCESS_AT = RECORD_AT + 64, PROCESSES = 16 };
static struct module renaming;
static uint64_t n_reads;

static ssize_t read_renaming(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	(void)ctx;
	(void)tgid;
	n_reads++;
	if (addr == BASE + PROCESS_AT)
		renaming.bytes[PROCESS_AT + offsetof(struct comm_mark_process, changes)]++;
	return read_module(&renaming, addr, buf, len_bytes);
}

static void count_told(void *ctx, uint32_t tgid, uint32_t slot, uint64_t start, uint64_t size_bytes,
		       uint64_t name)
{
	(void)tgid;
	(void)slot;
	(void)start;
	(void)size_bytes;
	(void)name;
	++*(uint64_t *)ctx;
}

static void renaming_is_told_less_often(void **state)
{
	const struct comm_mapping map = {.kind = COMM_MAP_FILE,
					 .start = BASE,
					 .end = BASE + MODULE_BYTES,
					 .file = 1,
					 .readable = true};
	const uint64_t process = BASE + PROCESS_AT, object[] = {BASE, 8, BASE};
	uint64_t told = 0, start_ns = comm_clock_now_ns(), passed_ns;
	struct comm_marked *marked;

	(void)state;
	make_module(&renaming);
	memcpy(renaming.bytes + RECORD_AT + offsetof(struct comm_mark_module, process), &process,
	       8);
	for (size_t i = 0; i < COMM_MARK_OBJECTS; i++)
		memcpy(renaming.bytes + PROCESS_AT + offsetof(struct comm_mark_process, object[i]),
		       object, sizeof(object));
	assert_int_equal(comm_marked_create(read_renaming, NULL, &marked), 0);
	comm_marked_tell(marked, ignore, NULL);
	comm_marked_tell_objects(marked, count_told, &told);
	for (uint32_t tgid = 1; tgid <= PROCESSES; tgid++)
		comm_marked_look(marked, tgid, &map, 1);
	for (int i = 0; i < 50; i++) {
		comm_marked_await(marked);
		usleep(20000);
	}
	passed_ns = comm_clock_now_ns() - start_ns;
	assert_true(told >= PROCESSES * COMM_MARK_OBJECTS);
	assert_true(told <= PROCESSES * COMM_MARK_OBJECTS + passed_ns / 2000000);
	comm_marked_destroy(marked);
}

/* Each mapping is of a file, but nothing can be read there. */
static void reading_has_an_end(void **state)
{
	enum { MAPPINGS = 65530 };
	struct comm_mapping *map = calloc(MAPPINGS, sizeof(*map));
	struct comm_marked *marked;

	(void)state;
	for (uint32_t i = 0; i < MAPPINGS; i++)
		map[i] = (struct comm_mapping){.kind = COMM_MAP_FILE,
					       .start = UINT64_C(0x7f0000000000) + i * 4096ull,
					       .file = 1,
					       .readable = true};
	assert_int_equal(comm_marked_create(read_renaming, NULL, &marked), 0);
	comm_marked_tell(marked, ignore, NULL);
	n_reads = 0;
	comm_marked_look(marked, 1, map, MAPPINGS);
	assert_in_range(n_reads, 1000, 5000);
	comm_marked_destroy(marked);
	free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_nest),
		cmocka_unit_test(beginnings_are_counted),
		cmocka_unit_test(deeper_ones_count_for_the_last),
		cmocka_unit_test(wrong_ends_heal),
		cmocka_unit_test(a_process_is_stopped),
		cmocka_unit_test(frames_are_counted),
		cmocka_unit_test(memory_is_named),
		cmocka_unit_test(named_memory_is_told),
		cmocka_unit_test(a_process_is_found),
		cmocka_unit_test(initialising_is_waited_for),
		cmocka_unit_test(variables_may_be_aligned),
		cmocka_unit_test(lies_are_bounded),
		cmocka_unit_test(renaming_is_told_less_often),
		cmocka_unit_test(reading_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
