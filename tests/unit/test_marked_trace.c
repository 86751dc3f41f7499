/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marks as the exact source's trace has them under Valgrind: stores whose values are told. */
#include "made_trace.h"

enum {
	STACK = 0x10000,   /* the thread's marks */
	PROCESS = 0x20000, /* what all threads have together */
	DATA = 0x40000,
	DEPTH_AT = STACK + offsetof(struct comm_marks_stack_layout, depth),
	STOPPED_AT = PROCESS + offsetof(struct comm_marks_process_layout, stopped),
	FRAME_AT = PROCESS + offsetof(struct comm_marks_process_layout, frame),
	READER = 7, /* sites */
	WRITER = 8,
};

static uint64_t name_at(uint32_t i)
{
	return STACK + offsetof(struct comm_marks_stack_layout, name) + 8 * i;
}

/* A region is called by the one around it and its name: 3 within 2 is 23. */
static uint32_t region_of(uint32_t parent, uint64_t name)
{
	return 10 * parent + name;
}

static struct {
	uint32_t i, times;
	struct comm_marks_object is;
} named;

static void name_object(uint32_t i, const struct comm_marks_object *object)
{
	named.i = i;
	named.is = *object;
	named.times++;
}

static struct comm_trace *make_marked(void)
{
	struct comm_trace *trace = make_trace(8);

	trace->marks = (struct comm_tool_marks_place){STACK, PROCESS};
	trace->region_of = region_of;
	trace->name_object = name_object;
	trace->calls_deep = 4;
	named.times = 0;
	for (uint32_t i = 0; i < 2; i++)
		comm_trace_add_thread(trace, i);
	comm_trace_run_thread(trace, 0);
	return trace;
}

/* A store of which the value is told, with an access of eight bytes of DATA before and behind it in one segment. */
static void put_told(struct comm_trace *trace, uint64_t addr, uint64_t value, uint8_t kind,
		     uint32_t site)
{
	static struct comm_tool_segment *segment;
	const uint64_t bases[] = {DATA, value, addr};

	free(segment);
	segment = make_segment(site, 4, 3);
	segment->access[0] = (struct comm_trace_access){.size_bytes = 8, .base = 1, .kind = kind};
	segment->access[1] = (struct comm_trace_access){.base = 2, .kind = COMM_TRACE_TELL};
	segment->access[2] =
		(struct comm_trace_access){.size_bytes = 8, .base = 3, .kind = COMM_TRACE_WRITE};
	segment->access[3] =
		(struct comm_trace_access){.offset = 8, .size_bytes = 8, .base = 1, .kind = kind};
	run_segment(trace, segment, bases);
}

static void run_told(struct comm_trace *trace, uint64_t addr, uint64_t value, uint8_t kind,
		     uint32_t site)
{
	put_told(trace, addr, value, kind, site);
	comm_trace_flush(trace);
}

static void tell(struct comm_trace *trace, uint64_t addr, uint64_t value)
{
	run_told(trace, addr, value, COMM_TRACE_WRITE, WRITER);
}

/* Who wrote that word of DATA last. */
static struct comm_tool_actor writer_of(struct comm_trace *trace, uint32_t word)
{
	uint32_t writer;

	comm_shadow_read(&trace->shadow, DATA + 8 * word, 30, &writer);
	return *(struct comm_tool_actor *)comm_array_at(&trace->table.actors, writer);
}

static void test_regions(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	tell(trace, name_at(0), 2);
	assert_int_equal(writer_of(trace, 1).region, 0);
	/* From the store on, and not before. */
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 0).region, 0);
	assert_int_equal(writer_of(trace, 1).region, 2);
	tell(trace, name_at(1), 3);
	tell(trace, DEPTH_AT, 2);
	assert_int_equal(writer_of(trace, 1).region, 23);
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 1).region, 2);
	/* Another one in its place. */
	tell(trace, name_at(1), 4);
	tell(trace, DEPTH_AT, 2);
	assert_int_equal(writer_of(trace, 1).region, 24);
	/* Of another thread nothing is known, whose marks stand elsewhere. */
	comm_trace_run_thread(trace, 1);
	trace->marks.stack = STACK + 0x1000;
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 1).region, 0);
	trace->marks.stack = STACK;
	comm_trace_run_thread(trace, 0);
	tell(trace, DEPTH_AT, 0);
	assert_int_equal(writer_of(trace, 1).region, 0);
	deinit(trace);
}

/* A site that is met first behind the end of a mark may be one for which the actors have no room; others follow. */
static void test_new_site(void **state)
{
	struct comm_trace *trace = make_marked();
	struct comm_tool_segment *next = make_segment(WRITER, 1, 1);
	const uint64_t base = DATA + 16;

	(void)state;
	tell(trace, name_at(0), 2);
	tell(trace, DEPTH_AT, 1);
	put_told(trace, DEPTH_AT, 0, COMM_TRACE_WRITE, 5000);
	next->access[0] =
		(struct comm_trace_access){.size_bytes = 8, .base = 1, .kind = COMM_TRACE_WRITE};
	run_segment(trace, next, &base);
	comm_trace_flush(trace);
	assert_int_equal(writer_of(trace, 0).region, 2);
	assert_int_equal(writer_of(trace, 1).region, 0);
	assert_int_equal(writer_of(trace, 1).site, 5000);
	assert_int_equal(writer_of(trace, 2).site, WRITER);
	free(next);
	deinit(trace);
}

/* Deeper marks count for the last that has a place, and no depth leads anywhere else. */
static void test_depth(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	for (uint32_t i = 0; i < COMM_MARKS_DEPTH; i++)
		tell(trace, name_at(i), 1);
	tell(trace, DEPTH_AT, 9);
	assert_int_equal(writer_of(trace, 1).region, 11111111);
	tell(trace, DEPTH_AT, UINT64_MAX);
	assert_int_equal(writer_of(trace, 1).region, 11111111);
	tell(trace, DEPTH_AT, COMM_MARKS_DEPTH);
	assert_int_equal(writer_of(trace, 1).region, 11111111);
	/* Behind the marks. */
	tell(trace, name_at(COMM_MARKS_DEPTH), 5);
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 1).region, 1);
	deinit(trace);
}

static uint32_t begin_call(const struct comm_trace_call *call, uint32_t n)
{
	return 5 + 10 * call[n - 1].around;
}

static void run_call(struct comm_trace *trace, uint64_t sp, uint8_t kind)
{
	struct comm_tool_segment *segment = make_segment(1, 1, 1);

	segment->entered = kind == COMM_TRACE_ENTER;
	segment->access[0] = (struct comm_trace_access){.base = 1, .kind = kind};
	run_segment(trace, segment, &sp);
	comm_trace_flush(trace);
	free(segment);
}

/* Marks within a call are within its region, and those around it are around that. */
static void test_calls(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	trace->begin_call = begin_call;
	tell(trace, name_at(0), 2);
	tell(trace, DEPTH_AT, 1);
	run_call(trace, 0x7000, COMM_TRACE_ENTER);
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).region, 25);
	tell(trace, name_at(1), 3);
	tell(trace, DEPTH_AT, 2);
	assert_int_equal(writer_of(trace, 1).region, 253);
	run_call(trace, 0x7008, COMM_TRACE_LEAVE);
	/* It has not ended, though it began in there. */
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).region, 23);
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 1).region, 2);
	deinit(trace);
}

/* A call may end marks that are around it, and begin others in their place. */
static void test_outer_marks(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	trace->begin_call = begin_call;
	tell(trace, name_at(0), 2);
	tell(trace, DEPTH_AT, 1);
	tell(trace, name_at(1), 3);
	tell(trace, DEPTH_AT, 2);
	run_call(trace, 0x7000, COMM_TRACE_ENTER);
	tell(trace, DEPTH_AT, 0);
	tell(trace, name_at(0), 4);
	tell(trace, DEPTH_AT, 1);
	tell(trace, name_at(1), 6);
	tell(trace, DEPTH_AT, 2);
	tell(trace, name_at(2), 7);
	tell(trace, DEPTH_AT, 3);
	assert_int_equal(writer_of(trace, 1).region, 2357);
	tell(trace, DEPTH_AT, 2);
	run_call(trace, 0x7008, COMM_TRACE_LEAVE);
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).region, 46);
	tell(trace, DEPTH_AT, 1);
	assert_int_equal(writer_of(trace, 1).region, 4);
	deinit(trace);
}

/* Where calls are paths, code is in one and in a region as well. */
static void test_paths(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	trace->begin_call = begin_call;
	trace->has_paths = true;
	tell(trace, name_at(0), 2);
	tell(trace, DEPTH_AT, 1);
	run_call(trace, 0x7000, COMM_TRACE_ENTER);
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).region, 2);
	assert_int_equal(writer_of(trace, 1).path, 5);
	tell(trace, DEPTH_AT, 0);
	assert_int_equal(writer_of(trace, 1).region, 0);
	assert_int_equal(writer_of(trace, 1).path, 5);
	run_call(trace, 0x7008, COMM_TRACE_LEAVE);
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).path, 0);
	deinit(trace);
}

static uint64_t read_bytes(const struct comm_trace *trace, uint32_t back)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i < comm_array_count(&trace->table.cells); i++) {
		const struct comm_tool_cell *cell = comm_table_at(&trace->table, i);

		if (comm_table_reader(cell->reader) && comm_table_back(cell->reader) == back)
			bytes += cell->bytes;
	}
	return bytes;
}

/* Reads count from a store on, or no longer, also in the middle of a segment; writes are known all the same. */
static void test_stop(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	run_told(trace, STOPPED_AT, 1, COMM_TRACE_READ, READER);
	assert_int_equal(read_bytes(trace, 0), 8);
	assert_false(trace->counting);
	run_told(trace, STOPPED_AT, 1, COMM_TRACE_READ, READER);
	assert_int_equal(read_bytes(trace, 0), 8);
	tell(trace, DATA + 64, 0);
	assert_int_equal(writer_of(trace, 0).site, WRITER);
	run_told(trace, STOPPED_AT, 0, COMM_TRACE_READ, READER);
	assert_int_equal(read_bytes(trace, 0), 16);
	/* What is worked off in two parts is counted once. */
	assert_int_equal(trace->instructions, 4);
	deinit(trace);
}

/* Written before the first frame, in the same, in the one before, and earlier. */
static void test_frames(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	tell(trace, DATA + 64, 0);
	run_told(trace, FRAME_AT, 1, COMM_TRACE_READ, READER);
	assert_int_equal(read_bytes(trace, 0), 8);
	assert_int_equal(read_bytes(trace, 2), 8);
	/* One word is written before the frame begins, and one after it, in one segment. */
	tell(trace, FRAME_AT, 2);
	run_told(trace, DATA + 64, 0, COMM_TRACE_READ, READER);
	assert_int_equal(read_bytes(trace, 1), 8);
	assert_int_equal(read_bytes(trace, 2), 8 + 8);
	run_told(trace, FRAME_AT, 3, COMM_TRACE_READ, READER);
	/* Before it the words are of this frame and the one before; behind it one of the one before. */
	assert_int_equal(read_bytes(trace, 0), 8);
	assert_int_equal(read_bytes(trace, 1), 8);
	assert_int_equal(read_bytes(trace, 2), 8 + 8 + 8 + 8);
	tell(trace, FRAME_AT, 4);
	tell(trace, DATA + 64, 0);
	tell(trace, FRAME_AT, 5);
	tell(trace, FRAME_AT, 6);
	assert_int_equal(trace->frames, 6);
	assert_int_equal(read_bytes(trace, 3), 0);
	comm_trace_read(trace, 0, READER, DATA + 64, 8);
	assert_int_equal(read_bytes(trace, 3), 8);
	deinit(trace);
}

/* The memory that a mark names, at the store of its size. */
static void test_objects(void **state)
{
	const uint64_t object = PROCESS + offsetof(struct comm_marks_process_layout, object) +
				63 * sizeof(struct comm_marks_object);
	struct comm_trace *trace = make_marked();

	(void)state;
	tell(trace, object + offsetof(struct comm_marks_object, start), 0x1234);
	tell(trace, object + offsetof(struct comm_marks_object, name), 0x77);
	assert_int_equal(named.times, 0);
	tell(trace, object + offsetof(struct comm_marks_object, bytes), 100);
	assert_int_equal(named.times, 1);
	assert_int_equal(named.i, 63);
	assert_int_equal(named.is.start, 0x1234);
	assert_int_equal(named.is.bytes, 100);
	assert_int_equal(named.is.name, 0x77);
	/* Behind the last one. */
	tell(trace,
	     object + sizeof(struct comm_marks_object) + offsetof(struct comm_marks_object, bytes),
	     100);
	assert_int_equal(named.times, 1);
	deinit(trace);
}

/* A child of fork() goes on in the marks that it was in. */
static void test_fork(void **state)
{
	struct comm_trace *trace = make_marked();

	(void)state;
	tell(trace, name_at(0), 2);
	tell(trace, DEPTH_AT, 1);
	comm_trace_forked(trace);
	trace->threads[0].marks = NULL;
	comm_trace_add_thread(trace, 5);
	comm_trace_run_thread(trace, 5);
	tell(trace, DATA, 0);
	assert_int_equal(writer_of(trace, 1).region, 2);
	assert_int_equal(writer_of(trace, 1).thread, 5);
	tell(trace, DEPTH_AT, 0);
	assert_int_equal(writer_of(trace, 1).region, 0);
	deinit(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_regions),	    cmocka_unit_test(test_new_site),
		cmocka_unit_test(test_depth),	    cmocka_unit_test(test_calls),
		cmocka_unit_test(test_outer_marks), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_stop),	    cmocka_unit_test(test_frames),
		cmocka_unit_test(test_objects),	    cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
