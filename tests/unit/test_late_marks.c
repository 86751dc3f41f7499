// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks that are read a while after the samples: what is said is certain, and what is not is not said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../daemon/source/late_marks.c"

enum { TGID = 100, TID = 101, POINTER = 0x7000, STACK = -0x100, PROCESS = 0x5000, LOOK_NS = 10 };

static const uint64_t ms = 1000 * 1000;
static struct mark_stack stack;
static struct mark_process process;
static uint64_t now_ns;
static bool unreadable, no_pointer;
static int n_reads;

/* A read takes LOOK_NS. */
static ssize_t memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	(void)ctx;
	assert_int_equal(tgid, TGID);
	n_reads++;
	now_ns += LOOK_NS;
	if (unreadable)
		return -EFAULT;
	if (addr == PROCESS && len_bytes == sizeof(process))
		memcpy(buf, &process, len_bytes);
	else if (addr == POINTER + STACK && len_bytes == sizeof(stack))
		memcpy(buf, &stack, len_bytes);
	else
		fail();
	return (ssize_t)len_bytes;
}

static int pointer(void *ctx, uint32_t tgid, uint32_t tid, uint64_t *ret)
{
	(void)ctx;
	assert_true(tgid == TGID && tid == TID);
	*ret = POINTER;
	return no_pointer ? -ENOENT : 0;
}

static uint64_t clock_ns(void *ctx)
{
	(void)ctx;
	return now_ns;
}

static void begin(uint64_t name)
{
	stack.name[stack.depth] = name;
	stack.begun[stack.depth++]++;
}

static struct comm_late_marks *make(bool counts)
{
	const struct comm_late_marks_ops ops = {memory, pointer, clock_ns, NULL};
	const struct comm_marks_place place = {STACK, PROCESS, counts};
	struct comm_late_marks *marks;

	memset(&stack, 0, sizeof(stack));
	memset(&process, 0, sizeof(process));
	now_ns = 1000 * ms;
	n_reads = 0;
	unreadable = no_pointer = false;
	assert_int_equal(comm_late_marks_create(&ops, &marks), 0);
	comm_late_marks_place(marks, TGID, &place);
	return marks;
}

/* A sample so long ago, whose regions are then looked for. */
static struct comm_late_mark sample(struct comm_late_marks *marks, uint64_t ago_ns)
{
	struct comm_late_mark ret;

	assert_true(comm_late_marks_at(marks, TGID, TID, now_ns - ago_ns, &ret));
	return ret;
}

static void expect(const struct comm_late_mark *mark, uint32_t n, uint64_t outer, uint64_t inner)
{
	assert_int_equal(mark->regions.n, n);
	if (n > 0)
		assert_int_equal(mark->regions.name[0], outer);
	if (n > 1)
		assert_int_equal(mark->regions.name[1], inner);
}

static void what_is_there_at_both_looks_is_told(void **state)
{
	struct comm_late_marks *marks = make(true);
	struct comm_late_mark mark;

	(void)state;
	/* It was never in one. */
	mark = sample(marks, ms);
	expect(&mark, 0, 0, 0);
	begin(0x10);
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	begin(0x20);
	now_ns += 100 * ms;
	mark = sample(marks, 50 * ms);
	expect(&mark, 2, 0x10, COMM_MARK_NOT_KNOWN);
	now_ns += 100 * ms;
	mark = sample(marks, 50 * ms);
	expect(&mark, 2, 0x10, 0x20);
	/* Two more samples of the same drain cost no look. */
	n_reads = 0;
	mark = sample(marks, 40 * ms);
	expect(&mark, 2, 0x10, 0x20);
	assert_int_equal(n_reads, 0);
	/* One that is older than the look before. */
	mark = sample(marks, 150 * ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	comm_late_marks_destroy(marks);
}

static void a_region_that_was_left_and_came_again_is_not_told(void **state)
{
	struct comm_late_marks *marks = make(true);
	struct comm_late_mark mark;

	(void)state;
	begin(0x10);
	begin(0x20);
	sample(marks, ms);
	/* The inner one ends and begins again: the outer one was there all the time. */
	stack.depth = 1;
	begin(0x20);
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 2, 0x10, COMM_MARK_NOT_KNOWN);
	/* It ends. */
	stack.depth = 1;
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 2, 0x10, COMM_MARK_NOT_KNOWN);
	/* Nothing is inside, all the time. */
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, 0x10, 0);
	/* Something was inside in between. */
	begin(0x30);
	stack.depth = 1;
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 2, 0x10, COMM_MARK_NOT_KNOWN);
	/* A word that changed without a beginning: whoever wrote that, it is not told. */
	stack.name[0] = 0x40;
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	comm_late_marks_destroy(marks);
}

static void all_of_a_deep_stack_is_told(void **state)
{
	struct comm_late_marks *marks = make(true);
	struct comm_late_mark mark;

	(void)state;
	for (uint64_t i = 0; i < COMM_MARKS_MAX; i++)
		begin(0x10 + i);
	stack.depth = UINT64_MAX;
	sample(marks, ms);
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	assert_int_equal(mark.regions.n, COMM_MARKS_MAX);
	assert_int_equal(mark.regions.name[COMM_MARKS_MAX - 1], 0x10 + COMM_MARKS_MAX - 1);
	comm_late_marks_destroy(marks);
}

static void what_cannot_be_read_is_not_known(void **state)
{
	struct comm_late_marks *marks = make(false);
	struct comm_late_mark mark;

	(void)state;
	/* A program that does not count. */
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	comm_late_marks_destroy(marks);
	marks = make(true);
	no_pointer = true;
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	/* It is asked again a second later, and the looks before hold. */
	no_pointer = false;
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	now_ns += 1000 * ms;
	mark = sample(marks, ms);
	expect(&mark, 0, 0, 0);
	unreadable = true;
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	/* Of a process that was not named nothing is said. */
	assert_false(comm_late_marks_at(marks, TGID + 1, TID, now_ns, &mark));
	comm_late_marks_destroy(marks);
}

static void another_program_has_other_marks(void **state)
{
	struct comm_late_marks *marks = make(true);
	struct comm_event event = {.kind = COMM_EV_EXEC, .tgid = TGID, .tid = TGID};
	struct comm_late_mark mark;

	(void)state;
	/* Told of the new one already: an old event is not of it. */
	event.time_ns = now_ns - ms;
	comm_late_marks_event(marks, &event);
	begin(0x10);
	sample(marks, ms);
	now_ns += 100 * ms;
	mark = sample(marks, ms);
	expect(&mark, 1, 0x10, 0);
	/* Another thread of that number. */
	event.kind = COMM_EV_EXIT;
	event.tid = TID;
	comm_late_marks_event(marks, &event);
	mark = sample(marks, ms);
	expect(&mark, 1, COMM_MARK_NOT_KNOWN, 0);
	event.kind = COMM_EV_EXEC;
	event.time_ns = now_ns;
	comm_late_marks_event(marks, &event);
	assert_false(comm_late_marks_at(marks, TGID, TID, now_ns, &mark));
	comm_late_marks_destroy(marks);
}

static void stops_drop_what_is_between_looks(void **state)
{
	struct comm_late_marks *marks = make(true);

	(void)state;
	assert_false(sample(marks, ms).stopped);
	process.stopped = 1;
	now_ns += 100 * ms;
	assert_true(sample(marks, ms).stopped);
	process.stopped = 0;
	now_ns += 100 * ms;
	assert_true(sample(marks, ms).stopped);
	now_ns += 100 * ms;
	assert_false(sample(marks, ms).stopped);
	comm_late_marks_destroy(marks);
}

/* Looks every 100 ms of frames that begin in the middle between two. */
static void frames_are_dated_between_looks(void **state)
{
	struct comm_late_marks *marks = make(true);
	struct comm_late_mark mark = {0};

	(void)state;
	process.frame = 5;
	assert_int_equal(sample(marks, ms).frame, 5);
	for (int i = 0; i < 5; i++, now_ns += 100 * ms)
		assert_int_equal(sample(marks, ms).frame, 0);
	process.frame = 6;
	mark = sample(marks, 99 * ms);
	assert_int_equal(mark.frame, 6);
	assert_true(mark.frame_ns > now_ns - 51 * ms && mark.frame_ns < now_ns - 49 * ms);
	/* Not before what has been passed on, whenever the look before was. */
	now_ns += 2000 * ms;
	assert_int_equal(sample(marks, ms).frame, 0);
	now_ns += 400 * ms;
	process.frame = 7;
	mark = sample(marks, ms);
	assert_int_equal(mark.frame, 7);
	assert_true(mark.frame_ns >= now_ns - 2 * ms);
	/* Too short ones are told with the next. */
	now_ns += 100 * ms;
	process.frame = 8;
	assert_int_equal(sample(marks, ms).frame, 0);
	now_ns += 100 * ms;
	assert_int_equal(sample(marks, ms).frame, 0);
	now_ns += 100 * ms;
	process.frame = 9;
	assert_int_equal(sample(marks, ms).frame, 9);
	comm_late_marks_destroy(marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_at_both_looks_is_told),
		cmocka_unit_test(a_region_that_was_left_and_came_again_is_not_told),
		cmocka_unit_test(all_of_a_deep_stack_is_told),
		cmocka_unit_test(what_cannot_be_read_is_not_known),
		cmocka_unit_test(another_program_has_other_marks),
		cmocka_unit_test(stops_drop_what_is_between_looks),
		cmocka_unit_test(frames_are_dated_between_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
