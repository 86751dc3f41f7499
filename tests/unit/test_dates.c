/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the exact source's trace under Valgrind says that what is read was written. */
#include "made_trace.h"

enum { DATA = 0x40000, SITE = 7 };

static uint64_t now_ns(const struct comm_trace *trace)
{
	return *trace->clock_ns;
}

/* Of all pairs, the bytes of that slice. */
static uint64_t written_in(const struct comm_trace *trace, uint32_t slice)
{
	const struct comm_table *table = &trace->dates.table;
	uint64_t bytes = 0;

	for (uint32_t i = 1; i < comm_array_count(&table->cells); i++)
		if (comm_table_at(table, i)->reader == slice)
			bytes += comm_table_at(table, i)->bytes;
	return bytes;
}

static void begin_slice(struct comm_trace *trace, uint32_t i)
{
	comm_trace_waited(trace, 1000);
	comm_tool_dates_begin(&trace->dates, i, now_ns(trace));
}

static struct comm_trace *make(void)
{
	struct comm_trace *trace = make_trace(8);

	for (uint32_t i = 0; i < 2; i++)
		comm_trace_add_thread(trace, i);
	comm_trace_waited(trace, 5);
	comm_tool_dates_begin(&trace->dates, 0, now_ns(trace));
	return trace;
}

static void test_slices(void **state)
{
	struct comm_trace *trace = make();

	(void)state;
	comm_trace_write(trace, 0, SITE, DATA, 64);
	comm_trace_read(trace, 1, SITE, DATA, 64);
	/* What is of the slice itself is the rest of an edge. */
	assert_int_equal(written_in(trace, 0), 0);
	begin_slice(trace, 1);
	comm_trace_write(trace, 0, SITE, DATA, 16);
	begin_slice(trace, 2);
	comm_trace_write(trace, 0, SITE, DATA + 16, 8);
	/* Nobody wrote the last of it. */
	comm_trace_read(trace, 1, SITE, DATA, 72);
	assert_int_equal(written_in(trace, 0), 40);
	assert_int_equal(written_in(trace, 1), 16);
	assert_int_equal(written_in(trace, 2), 0);
	comm_trace_read(trace, 1, SITE, DATA + 8, 8);
	assert_int_equal(written_in(trace, 1), 24);
	deinit(trace);
}

/* A slice that ends within a buffer of accesses begins there for what follows. */
static uint32_t n_ended;
static struct comm_trace *ending;

static void end_slice(void)
{
	comm_tool_dates_begin(&ending->dates, ++n_ended, now_ns(ending));
	ending->phase_end = UINT64_MAX;
}

static void test_ends_within(void **state)
{
	struct comm_tool_segment *write = make_segment(SITE, 1, 1);
	struct comm_tool_segment *read = make_segment(SITE + 1, 1, 1);
	const uint64_t first[] = {DATA}, second[] = {DATA + 8};

	(void)state;
	ending = make();
	n_ended = 0;
	ending->end_phase = end_slice;
	write->access[0] = (struct comm_trace_access){0, 8, 1, COMM_TRACE_WRITE, 0, 0, NULL};
	read->access[0] = (struct comm_trace_access){0, 8, 1, COMM_TRACE_READ, 0, 0, NULL};
	comm_trace_run_thread(ending, 0);
	/* The first is of the first slice, and the second is of the next. */
	ending->phase_end = 1;
	run_segment(ending, write, first);
	run_segment(ending, write, second);
	run_segment(ending, read, first);
	run_segment(ending, read, second);
	comm_trace_flush(ending);
	assert_int_equal(n_ended, 1);
	assert_int_equal(written_in(ending, 0), 8);
	assert_int_equal(written_in(ending, COMM_EXACT_NO_PHASE), 0);
	free(write);
	free(read);
	deinit(ending);
}

/* Slices begin anew where another result does: what was written before is of none of them. */
static void test_not_known(void **state)
{
	struct comm_trace *trace = make();

	(void)state;
	comm_trace_write(trace, 0, SITE, DATA, 64);
	begin_slice(trace, 1);
	comm_trace_read(trace, 1, SITE, DATA, 8);
	assert_int_equal(written_in(trace, 0), 8);
	begin_slice(trace, 0);
	comm_tool_dates_forget(&trace->table);
	comm_trace_read(trace, 1, SITE, DATA, 64);
	assert_int_equal(written_in(trace, COMM_EXACT_NO_PHASE), 64);
	assert_int_equal(written_in(trace, 0), 8);
	/* Nor is anything where there are too many slices. */
	begin_slice(trace, COMM_TOOL_DATES_SLICES);
	comm_trace_write(trace, 0, SITE, DATA, 64);
	comm_trace_read(trace, 1, SITE, DATA, 64);
	assert_int_equal(written_in(trace, COMM_EXACT_NO_PHASE), 128);
	deinit(trace);
}

/* Memory is bounded: of pairs that come later it is not known. */
static void test_many(void **state)
{
	struct comm_trace *trace = make();
	const uint32_t more = COMM_TOOL_DATES_CELLS / 2;
	struct comm_tool_cell cell = {0};

	(void)state;
	begin_slice(trace, 1);
	for (uint32_t i = 0; i < COMM_TOOL_DATES_CELLS + more; i++)
		comm_tool_dates_count(&trace->dates, &cell, i, 5, 1);
	assert_int_equal(written_in(trace, 0) + written_in(trace, COMM_EXACT_NO_PHASE),
			 COMM_TOOL_DATES_CELLS + more);
	assert_in_range(written_in(trace, 0), COMM_TOOL_DATES_CELLS - 1, COMM_TOOL_DATES_CELLS);
	deinit(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_ends_within),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
