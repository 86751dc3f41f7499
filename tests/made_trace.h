/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace of the exact source without Valgrind: the sources themselves, on this process's memory, and
 * segments as generated code would have made them.
 */
#ifndef MADE_TRACE_H
#define MADE_TRACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../exact/array.c"
#include "../exact/dates.c"
#include "../exact/marks.c"
#include "../exact/memory.h"
#include "../exact/shadow.c"
#include "../exact/table.c"
#include "../exact/trace.c"

void *comm_mem_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void *comm_mem_map_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void comm_mem_show(void *to, void *shared, size_t bytes)
{
	if (mremap(shared, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		abort();
}

void comm_mem_hide(void *at, size_t bytes)
{
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		abort();
}

void comm_mem_out(size_t bytes)
{
	(void)bytes;
	abort();
}

void comm_mem_unmap(void *mapped, size_t bytes)
{
	munmap(mapped, bytes);
}

static uint64_t dropped_bytes;

void comm_mem_drop(void *start, size_t bytes)
{
	assert_int_equal((uintptr_t)start % 4096, 0);
	assert_int_equal(bytes % 4096, 0);
	dropped_bytes += bytes;
	if (madvise(start, bytes, MADV_DONTNEED))
		abort();
}

void *comm_mem_realloc(void *old, size_t bytes)
{
	void *p = realloc(old, bytes);

	if (!p)
		abort();
	return p;
}

void comm_mem_free(void *small)
{
	free(small);
}

static inline struct comm_tool_segment *make_segment(uint32_t site, uint32_t n, uint32_t n_bases)
{
	struct comm_tool_segment *segment =
		calloc(1, sizeof(*segment) + n * sizeof(segment->access[0]));

	assert_non_null(segment);
	segment->site = site;
	segment->n_accesses = n;
	segment->n_slots = 1 + n_bases;
	segment->n_instructions = 1;
	return segment;
}

/* Does the accesses of a segment like the generated code. */
static inline void run_part(struct comm_trace *trace, struct comm_tool_segment *segment, uint32_t n,
			    const uint64_t *bases)
{
	if (trace->pos > trace->slot + COMM_TRACE_SLOTS - COMM_TRACE_SLACK)
		comm_trace_flush(trace);
	trace->pos[0] = comm_segment_header(segment, segment->n_slots, n);
	for (uint32_t i = 1; i < segment->n_slots; i++)
		trace->pos[i] = bases[i - 1];
	trace->pos += segment->n_slots;
}

static inline void run_segment(struct comm_trace *trace, struct comm_tool_segment *segment,
			       const uint64_t *bases)
{
	run_part(trace, segment, segment->n_accesses, bases);
}

static inline void deinit(struct comm_trace *trace)
{
	for (uint32_t i = 0; i < trace->n_threads; i++) {
		free(trace->threads[i].actor);
		free(trace->threads[i].call);
		free(trace->threads[i].marks);
	}
	free(trace->threads);
	comm_table_deinit(&trace->table);
	comm_tool_dates_deinit(&trace->dates);
	comm_shadow_deinit(&trace->shadow);
	free(trace);
}

static inline struct comm_trace *make_trace(uint32_t granule)
{
	struct comm_trace *trace = malloc(sizeof(*trace));

	assert_non_null(trace);
	comm_trace_init(trace, granule);
	return trace;
}

#endif
