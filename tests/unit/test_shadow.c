/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The exact source's shadow, tables and trace, against a slow reference model: one
 * record per granule, one row per edge.
 */
#include <string.h>

#include "made_trace.h"

/* The model: MODEL_BYTES of memory in two places, straddling chunks. */
enum {
	MODEL_BYTES = 1 << 14,
	MODEL_THREADS = 70,
	MODEL_SITES = 5,
	MODEL_ACTORS = MODEL_THREADS * MODEL_SITES + 1,
};

static const uint64_t place[2] = {(uint64_t)3 * COMM_SHADOW_CHUNK_BYTES - MODEL_BYTES / 4,
				  0x7ffffff00000 - MODEL_BYTES / 4};

struct model {
	uint32_t granule;
	uint32_t writer[MODEL_BYTES]; /* 1 + thread * MODEL_SITES + site, by granule */
	uint8_t seen[MODEL_BYTES][MODEL_THREADS];
	/* By writer and reader; reader 0: all that is written. */
	uint64_t bytes[MODEL_ACTORS][MODEL_ACTORS], first[MODEL_ACTORS][MODEL_ACTORS];
};

static uint32_t random_state;

static uint32_t rnd(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)random_state * below) >> 32);
}

static uint64_t address_of(uint32_t offset)
{
	return place[offset >= MODEL_BYTES / 2] + offset % (MODEL_BYTES / 2);
}

static void model_read(struct model *m, uint32_t offset, uint32_t len, uint32_t thread,
		       uint32_t site)
{
	uint32_t reader = 1 + thread * MODEL_SITES + site;

	for (uint32_t i = offset; i < offset + len; i++)
		m->bytes[m->writer[i / m->granule]][reader]++;
	for (uint32_t i = offset; i < offset + len;) {
		uint32_t g = i / m->granule, end = (g + 1) * m->granule;
		uint32_t part = (end < offset + len ? end : offset + len) - i;

		if (!m->seen[g][thread])
			m->first[m->writer[g]][reader] += part;
		m->seen[g][thread] = 1;
		i += part;
	}
}

static void model_write(struct model *m, uint32_t offset, uint32_t len, uint32_t thread,
			uint32_t site, bool counting)
{
	m->bytes[1 + thread * MODEL_SITES + site][0] += counting ? len : 0;
	for (uint32_t g = offset / m->granule; g <= (offset + len - 1) / m->granule; g++) {
		m->writer[g] = 1 + thread * MODEL_SITES + site;
		memset(m->seen[g], 0, sizeof(m->seen[g]));
	}
}

static uint32_t model_actor(const struct comm_trace *trace, uint32_t actor)
{
	const struct comm_tool_actor *a = comm_array_at(&trace->table.actors, actor);

	return actor ? 1 + a->thread * MODEL_SITES + a->site : 0;
}

static void compare(const struct comm_trace *trace, struct model *m)
{
	uint64_t edges = 0, total = 0;

	for (uint32_t i = 1; i < comm_array_count(&trace->table.cells); i++) {
		const struct comm_tool_cell *cell = comm_table_at(&trace->table, i);
		uint32_t writer = model_actor(trace, cell->writer);
		uint32_t reader = model_actor(trace, cell->reader);

		assert_int_equal(cell->bytes, m->bytes[writer][reader]);
		assert_int_equal(cell->first_bytes, m->first[writer][reader]);
		m->bytes[writer][reader] = m->first[writer][reader] = 0;
		edges++;
		total += cell->bytes;
	}
	assert_true(edges > 100);
	assert_true(total > 10000);
	for (uint32_t w = 0; w < MODEL_ACTORS; w++) {
		for (uint32_t r = 0; r < MODEL_ACTORS; r++)
			assert_int_equal(m->bytes[w][r], 0);
	}
}

static void random_segment(struct comm_trace *trace, struct model *m, uint32_t thread,
			   struct comm_tool_segment **pool, uint32_t *n_pool)
{
	enum { N = 6 };
	static const uint16_t sizes[] = {1, 2, 4, 8, 16, 32, 40};
	uint32_t site = rnd(MODEL_SITES);
	struct comm_tool_segment *segment = make_segment(site, N, N);
	uint32_t n = 1 + rnd(N);
	uint64_t bases[N];

	for (uint32_t i = 0; i < N; i++) {
		uint32_t size = sizes[rnd(7)];
		uint32_t offset = rnd(MODEL_BYTES / 2 - 40) + rnd(2) * (MODEL_BYTES / 2);
		struct comm_trace_access *a = &segment->access[i];
		bool happens = true;

		a->size_bytes = size;
		a->kind = 1 + rnd(3);
		a->base = i + 1;
		a->offset = (int64_t)rnd(64) - 32;
		bases[i] = address_of(offset) - a->offset;
		if (!rnd(5)) {
			a->kind = (1 + rnd(2)) | COMM_TRACE_MAYBE;
			happens = rnd(2);
			if (!happens)
				bases[i] = 0;
		}
		/* No accesses happen past the exit through which the segment is left. */
		if (i >= n)
			happens = false;
		if (happens && trace->counting && (a->kind & COMM_TRACE_READ))
			model_read(m, offset, size, thread, site);
		if (happens && (a->kind & COMM_TRACE_WRITE))
			model_write(m, offset, size, thread, site, trace->counting);
	}
	run_part(trace, segment, n, bases);
	pool[(*n_pool)++] = segment;
}

static void against_model(uint32_t granule)
{
	enum { STEPS = 6000 };
	struct comm_trace *trace = make_trace(granule);
	struct model *m = calloc(1, sizeof(*m));
	struct comm_tool_segment **pool = calloc(STEPS, sizeof(*pool));
	uint32_t n_pool = 0;

	assert_non_null(m);
	assert_non_null(pool);
	m->granule = granule;
	random_state = granule;
	for (uint32_t i = 0; i < MODEL_THREADS; i++)
		comm_trace_add_thread(trace, i);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t thread = rnd(MODEL_THREADS);
		uint32_t offset = rnd(MODEL_BYTES / 2 - 256), len = 1 + rnd(256);

		comm_trace_run_thread(trace, thread);
		/*
		 * Counting is off for a tenth of the time: last writers must be
		 * followed all the same.
		 */
		comm_trace_flush(trace);
		trace->counting = i % 100 >= 10;
		random_segment(trace, m, thread, pool, &n_pool);
		if (i % 50 == 7) {
			comm_trace_write(trace, thread, 1, address_of(offset), len);
			model_write(m, offset, len, thread, 1, trace->counting);
		}
		if (i % 50 == 33) {
			comm_trace_read(trace, thread, 1, address_of(offset), len);
			if (trace->counting)
				model_read(m, offset, len, thread, 1);
		}
	}
	comm_trace_flush(trace);
	compare(trace, m);
	while (n_pool)
		free(pool[--n_pool]);
	free(pool);
	free(m);
	deinit(trace);
}

static void test_byte(void **state)
{
	(void)state;
	against_model(1);
}

static void test_eight(void **state)
{
	(void)state;
	against_model(8);
}

static void test_line(void **state)
{
	(void)state;
	against_model(64);
}

static void test_page(void **state)
{
	(void)state;
	against_model(4096);
}

/* A thousand threads read one word: each once, in any order, after each write. */
static void test_many_readers(void **state)
{
	struct comm_shadow shadow;
	uint32_t writer;

	(void)state;
	comm_shadow_init(&shadow, 8);
	for (uint32_t round = 1; round < 4; round++) {
		comm_shadow_write(&shadow, 0x1000, 8, round);
		for (uint32_t i = 0; i < 1000; i++)
			assert_true(comm_shadow_read(&shadow, 0x1000, i * 7 % 1000, &writer));
		for (uint32_t i = 0; i < 1000; i++)
			assert_false(comm_shadow_read(&shadow, 0x1000, i, &writer));
		assert_int_equal(writer, round);
	}
	comm_shadow_deinit(&shadow);
}

/* Two places that show one page of the backing: what is done at one is known at the other, but for its neighbours. */
static void two_places(uint32_t granule)
{
	const uint64_t at_both[] = {0x7000, 3 * (uint64_t)COMM_SHADOW_CHUNK_BYTES - 4096};
	struct comm_shadow shadow;
	uint32_t writer;

	comm_shadow_init(&shadow, granule);
	for (uint32_t i = 0; i < 2; i++) {
		comm_shadow_show(&shadow, at_both[i], 2, COMM_SHADOW_PIECE_PAGES - 1);
		for (uint32_t page = 0; page < 2; page++)
			*comm_shadow_shown(&shadow, at_both[i] + page * 4096) = 1 + page;
		comm_shadow_write(&shadow, at_both[i] + 8192, 64, 9);
	}
	for (uint32_t round = 1; round < 3; round++) {
		comm_shadow_write(&shadow, at_both[round % 2] + 4032, 128, round);
		for (uint32_t i = 0; i < 100; i++) {
			uint64_t at = i % 5 ? 4032 : 4096;

			assert_true(comm_shadow_read(&shadow, at_both[i % 2] + at, i, &writer));
			assert_int_equal(writer, round);
			assert_false(comm_shadow_read(&shadow, at_both[!(i % 2)] + at, i, &writer));
		}
	}
	/* One goes, and the other has what there was; a copy has it, too, until it is written. */
	comm_shadow_forget(&shadow, at_both[0], 8192);
	assert_true(comm_shadow_read(&shadow, at_both[0] + 4032, 1, &writer));
	assert_int_equal(writer, 0);
	*comm_shadow_shown(&shadow, at_both[0]) = 0;
	comm_shadow_copy(&shadow, at_both[0], 1, COMM_SHADOW_PIECE_PAGES - 1);
	comm_shadow_write(&shadow, at_both[1] + 4032, 64, 5);
	comm_shadow_read(&shadow, at_both[0] + 4032, 1, &writer);
	assert_int_equal(writer, 2);
	comm_shadow_read(&shadow, at_both[1] + 4096, 1, &writer);
	assert_int_equal(writer, 2);
	comm_shadow_read(&shadow, at_both[1] + 4032, 1, &writer);
	assert_int_equal(writer, 5);
	comm_shadow_deinit(&shadow);
}

static void test_two_places(void **state)
{
	(void)state;
	two_places(1);
	two_places(8);
	two_places(64);
}

static uint32_t count_found(uint64_t addr)
{
	return addr < 0x100000 ? 7 : 8;
}

static void test_objects(void **state)
{
	struct comm_trace *trace = make_trace(8);
	struct comm_tool_segment *segment = make_segment(2, 1, 1);
	const uint64_t addr[] = {0x1000, 0x1008, 0x2000, 0x3008, 0x500000};
	const uint32_t object[] = {3, 4, 5, 7, 8};

	(void)state;
	trace->by_object = true;
	trace->find_object = count_found;
	comm_trace_add_thread(trace, 0);
	comm_shadow_set_page(&trace->shadow, 0x2000, 5);
	comm_shadow_set_page(&trace->shadow, 0x1000, 5);
	comm_shadow_set_object(&trace->shadow, 0x1000, 8, 3);
	comm_shadow_set_object(&trace->shadow, 0x1008, 1, 4);
	comm_trace_run_thread(trace, 0);
	segment->access[0] =
		(struct comm_trace_access){.size_bytes = 8, .base = 1, .kind = COMM_TRACE_READ};
	for (uint32_t i = 0; i < 5; i++) {
		for (uint32_t times = 0; times <= i; times++)
			run_segment(trace, segment, &addr[i]);
	}
	comm_trace_flush(trace);
	for (uint32_t i = 0; i < 5; i++) {
		const struct comm_tool_cell *cell = comm_table_cell(&trace->table, 0, 1, object[i]);

		assert_int_equal(cell->bytes, 8 * (i + 1));
		assert_int_equal(cell->first_bytes, 8);
	}
	free(segment);
	deinit(trace);
}

static uint32_t object_at(struct comm_shadow *shadow, uint64_t addr)
{
	return comm_shadow_object(shadow, comm_shadow_chunk(shadow, addr), addr);
}

/* Big objects are entered by the page, small ones may come to lie in them. */
static void test_big_objects(void **state)
{
	const uint64_t start = COMM_SHADOW_CHUNK_BYTES - 100000 - 8;
	const uint64_t end = start + COMM_SHADOW_CHUNK_BYTES + 200016;
	struct comm_shadow shadow;

	(void)state;
	comm_shadow_init(&shadow, 8);
	for (uint64_t addr = start - 8000; addr < end + 8000; addr += 800)
		comm_shadow_set_object(&shadow, addr, 8, 5);
	comm_shadow_set_object(&shadow, start, end - start, 7);
	for (uint64_t addr = start; addr < end; addr += 8)
		assert_int_equal(object_at(&shadow, addr), 7);
	assert_int_equal(object_at(&shadow, start - 8), 0);
	assert_int_equal(object_at(&shadow, end), 0);
	assert_int_equal(object_at(&shadow, start - 8000), 5);
	comm_shadow_set_object(&shadow, start + 50000, 24, 9);
	assert_int_equal(object_at(&shadow, start + 50016), 9);
	assert_int_equal(object_at(&shadow, start + 50024), 7);
	comm_shadow_deinit(&shadow);
}

/* Also where it was entered by the page: what came to lie there since stays, and what was unmapped is unknown. */
static void test_replaced_object(void **state)
{
	const uint64_t start = (uint64_t)COMM_SHADOW_CHUNK_BYTES - 70008, end = start + 150000;
	struct comm_shadow shadow;

	(void)state;
	for (uint64_t bytes = 8000; bytes <= end - start; bytes += end - start - 8000) {
		const uint64_t last = start + bytes - 8;

		comm_shadow_init(&shadow, 8);
		comm_shadow_set_object(&shadow, start - 8, bytes + 16, 5);
		comm_shadow_set_object(&shadow, start, bytes, 7);
		comm_shadow_set_object(&shadow, start + 16, 24, 9);
		comm_shadow_clear(&shadow, (start + 4096) & ~4095ull, 4096);
		comm_shadow_set_object(&shadow, last, 8, 9);
		comm_shadow_replace_object(&shadow, start, bytes, 7, 5);
		for (uint64_t addr = start; addr < (start | 4095); addr += 8)
			assert_int_equal(object_at(&shadow, addr),
					 addr >= start + 16 && addr < start + 40 ? 9 : 5);
		assert_int_equal(object_at(&shadow, start + 4096), 0);
		assert_int_equal(object_at(&shadow, last - 8), 5);
		assert_int_equal(object_at(&shadow, last), 9);
		assert_int_equal(object_at(&shadow, last + 8), 5);
		comm_shadow_deinit(&shadow);
	}
	/* Memory that nobody has met is none of it. */
	comm_shadow_init(&shadow, 8);
	comm_shadow_replace_object(&shadow, start, end - start, 7, 5);
	assert_int_equal(shadow.n_chunks, 0);
	assert_int_equal(object_at(&shadow, start), 0);
	comm_shadow_deinit(&shadow);
}

static void test_clear_and_move(void **state)
{
	const uint64_t big = (uint64_t)COMM_SHADOW_CHUNK_BYTES * 3;
	struct comm_shadow shadow;
	uint32_t writer;

	(void)state;
	comm_shadow_init(&shadow, 8);
	comm_shadow_write(&shadow, big - 4096, 8192, 9);
	comm_shadow_set_object(&shadow, big, 4096, 6);
	comm_shadow_move(&shadow, big - 4096, 0x10000, 8192);
	comm_shadow_read(&shadow, 0x10000, 1, &writer);
	assert_int_equal(writer, 9);
	comm_shadow_read(&shadow, 0x11ff8, 1, &writer);
	assert_int_equal(writer, 9);
	assert_int_equal(comm_shadow_object(&shadow, comm_shadow_chunk(&shadow, 0x11ff8), 0x11ff8),
			 6);
	assert_int_equal(comm_shadow_object(&shadow, comm_shadow_chunk(&shadow, 0x10ff8), 0x10ff8),
			 0);
	/* Clearing a range keeps the granules beside it, on both ends and across chunks. */
	comm_shadow_clear(&shadow, big - 2048, 4096);
	comm_shadow_read(&shadow, big - 2056, 1, &writer);
	assert_int_equal(writer, 9);
	comm_shadow_read(&shadow, big - 2048, 1, &writer);
	assert_int_equal(writer, 0);
	comm_shadow_read(&shadow, big + 2040, 1, &writer);
	assert_int_equal(writer, 0);
	comm_shadow_read(&shadow, big + 2048, 1, &writer);
	assert_int_equal(writer, 9);
	/* A big range gives memory back rather than touching it. */
	dropped_bytes = 0;
	comm_shadow_write(&shadow, big, COMM_SHADOW_CHUNK_BYTES, 5);
	comm_shadow_clear(&shadow, 0, (uint64_t)1 << 40);
	assert_true(dropped_bytes >= COMM_SHADOW_CHUNK_BYTES);
	comm_shadow_read(&shadow, big + COMM_SHADOW_CHUNK_BYTES - 8, 1, &writer);
	assert_int_equal(writer, 0);
	comm_shadow_deinit(&shadow);
}

static const struct comm_tool_cell *cell_between(const struct comm_trace *trace, uint32_t from,
						 uint32_t to)
{
	for (uint32_t i = 1; i < comm_array_count(&trace->table.cells); i++) {
		const struct comm_tool_cell *cell = comm_table_at(&trace->table, i);
		const struct comm_tool_actor *writer =
			comm_array_at(&trace->table.actors, cell->writer);
		const struct comm_tool_actor *reader =
			comm_array_at(&trace->table.actors, cell->reader);

		if (cell->writer && cell->reader && writer->thread == from && reader->thread == to)
			return cell;
	}
	return NULL;
}

/* By how long ago it was written, in instructions of any thread and in waits. */
static void test_ages(void **state)
{
	struct comm_trace *trace = make_trace(8);
	struct comm_tool_segment *run = make_segment(1, 1, 1);
	const uint64_t addr = 0x4000, other = 0x9000, far = 0x20000, old = 0x30000;
	const struct comm_tool_cell *cell;

	(void)state;
	run->access[0] =
		(struct comm_trace_access){.size_bytes = 8, .kind = COMM_TRACE_READ, .base = 1};
	run->n_instructions = 9999999;
	comm_trace_waited(trace, 20000000000);
	for (uint32_t i = 0; i < 2; i++)
		comm_trace_add_thread(trace, i);
	comm_trace_run_thread(trace, 0);
	comm_trace_write(trace, 0, 1, addr, 8);
	comm_trace_write(trace, 0, 1, far, 8);
	comm_trace_run_thread(trace, 1);
	run_segment(trace, run, &other);
	comm_trace_read(trace, 1, 1, addr, 4);
	cell = cell_between(trace, 0, 1);
	assert_non_null(cell);
	assert_int_equal(cell->age_bytes[0], 4);
	run_segment(trace, run, &other);
	comm_trace_read(trace, 1, 1, addr, 8);
	assert_int_equal(cell->age_bytes[1], 8);
	/* It is as old where it was moved to. */
	comm_shadow_move(&trace->shadow, addr & ~4095ull, 0x10000, 4096);
	comm_trace_waited(trace, 1000000000);
	comm_trace_read(trace, 1, 1, 0x10000, 2);
	assert_int_equal(cell->age_bytes[2], 2);
	comm_trace_waited(trace, 9000000000);
	comm_trace_read(trace, 1, 1, 0x10000, 8);
	/* What nobody has written has no age. */
	comm_trace_read(trace, 1, 1, old, 8);
	assert_int_equal(cell->bytes, 4 + 8 + 2 + 8);
	assert_int_equal(cell->age_bytes[0] + cell->age_bytes[1] + cell->age_bytes[2], 4 + 8 + 2);
	/* The last write counts. */
	comm_trace_write(trace, 0, 1, far, 8);
	comm_trace_read(trace, 1, 1, far, 8);
	assert_int_equal(cell->age_bytes[0], 4 + 8);
	free(run);
	deinit(trace);
}

static uint32_t writer_of(struct comm_trace *trace, uint64_t addr)
{
	uint32_t writer;

	comm_shadow_read(&trace->shadow, addr, 0, &writer);
	return writer;
}

static uint32_t calls_begun, begun_within;

/* Each call a region; what is around is the region before, or none. */
static uint32_t begin_call(const struct comm_trace_call *call, uint32_t n)
{
	assert_int_equal(call[n - 1].function, 0);
	begun_within = call[n - 1].around;
	return ++calls_begun;
}

/* What a call does is told apart, from its entry until the stack is above it. */
static void test_calls(void **state)
{
	enum { SP = 0x7000 };
	/* The stack's top: a call begins, another one in it, which returns; on another stack one returns; and longjmp() leaves
	 * the first. */
	static const struct {
		uint64_t enters, leaves;
		uint32_t region; /* that the write is of */
		uint32_t around; /* that the last call began in */
	} step[] = {
		{0, 0, 0, 0},	     {SP, 0, 1, 0},	{SP - 64, 0, 2, 1},
		{0, SP - 56, 1, 1},  {0, SP - 8, 1, 1}, {0, SP + (32 << 20), 1, 1},
		{0, SP + 512, 0, 1}, {SP, 0, 3, 0},	{SP, 0, 4, 0},
		{0, SP + 8, 0, 0},
	};
	struct comm_trace *trace = make_trace(8);
	struct comm_tool_segment *enter = make_segment(1, 1, 1), *leave = make_segment(1, 1, 1);
	struct comm_tool_segment *write = make_segment(1, 1, 1);
	const uint64_t addr = 0x4000;

	(void)state;
	calls_begun = begun_within = 0;
	trace->begin_call = begin_call;
	trace->calls_deep = 2;
	comm_trace_add_thread(trace, 0);
	comm_trace_run_thread(trace, 0);
	enter->entered = 1;
	enter->access[0] = (struct comm_trace_access){.base = 1, .kind = COMM_TRACE_ENTER};
	leave->access[0] = (struct comm_trace_access){.base = 1, .kind = COMM_TRACE_LEAVE};
	write->access[0] =
		(struct comm_trace_access){.size_bytes = 8, .base = 1, .kind = COMM_TRACE_WRITE};
	for (size_t i = 0; i < sizeof(step) / sizeof(*step); i++) {
		const struct comm_tool_actor *actor;

		if (step[i].enters)
			run_segment(trace, enter, &step[i].enters);
		if (step[i].leaves)
			run_segment(trace, leave, &step[i].leaves);
		run_segment(trace, write, &addr);
		comm_trace_flush(trace);
		actor = comm_array_at(&trace->table.actors, writer_of(trace, addr));
		assert_int_equal(actor->region, step[i].region);
		assert_int_equal(begun_within, step[i].around);
	}
	assert_int_equal(trace->accesses, sizeof(step) / sizeof(*step));
	assert_int_equal(trace->threads[0].n_calls, 0);
	/* As many actors as regions: what is left and entered again is as it was. */
	assert_int_equal(comm_array_count(&trace->table.actors), 1 + 5);
	free(enter);
	free(leave);
	free(write);
	deinit(trace);
}

static const struct comm_tool_actor *actor_at(struct comm_trace *trace, uint32_t site)
{
	return comm_array_at(&trace->table.actors, comm_trace_actor(trace, 0, site));
}

/* Thousands of paths with sites far from each other cost no more than what is there; those beyond the bound are in no region. */
static void test_many_regions(void **state)
{
	enum { REGIONS = 2000, SITES = 20 };
	struct comm_trace *trace = make_trace(8);

	(void)state;
	comm_trace_add_thread(trace, 0);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < REGIONS * SITES; i++) {
			uint32_t site = i % SITES * 100000 + i / SITES;

			trace->threads[0].region = 1 + i / SITES;
			assert_int_equal(actor_at(trace, site)->region, 1 + i / SITES);
			assert_int_equal(actor_at(trace, site)->site, site);
		}
		assert_int_equal(comm_array_count(&trace->table.actors), 1 + REGIONS * SITES);
	}
	assert_true(trace->table.n_slots <= 8 * REGIONS * SITES);
	assert_int_equal(trace->threads[0].n_actors, 0);
	comm_array_add(&trace->table.actors, COMM_TABLE_ACTORS_WITHIN - 1 - REGIONS * SITES);
	assert_int_equal(actor_at(trace, 7)->region, 0);
	assert_int_equal(actor_at(trace, 7)->site, 7);
	trace->threads[0].region = 1;
	assert_int_equal(actor_at(trace, 100000)->region, 1);
	comm_table_forked(&trace->table);
	assert_int_equal(trace->table.n_within, 0);
	deinit(trace);
}

/* A fault in the third of four accesses, before and after an exit behind the first. */
static void test_fault(void **state)
{
	static const uint64_t ip[] = {100, 104, 108, 112};

	(void)state;
	for (uint32_t round = 0; round < 4; round++) {
		struct comm_trace *trace = make_trace(8);
		struct comm_tool_segment *segment = make_segment(1, 4, 1);
		struct comm_tool_segment *before = make_segment(2, 1, 1);
		uint64_t addr = 0x4000, other = 0x8000;

		comm_trace_add_thread(trace, 0);
		comm_trace_run_thread(trace, 0);
		segment->ip = ip;
		before->ip = ip + 3;
		for (uint32_t i = 0; i < 4; i++)
			segment->access[i] = (struct comm_trace_access){.offset = 8 * i,
									.size_bytes = 8,
									.base = 1,
									.kind = COMM_TRACE_WRITE};
		before->access[0] = segment->access[0];
		if (round & 1)
			run_segment(trace, before, &other);
		run_part(trace, segment, round & 2 ? 1 : 0, &addr);
		if (!(round & 2))
			trace->pos -= segment->n_slots;
		comm_trace_flush_fault(trace, 108);
		assert_int_equal(writer_of(trace, 0x8000) != 0, round & 1);
		assert_int_not_equal(writer_of(trace, 0x4000), 0);
		assert_int_not_equal(writer_of(trace, 0x4008), 0);
		assert_int_equal(writer_of(trace, 0x4010), 0);
		/* A fault without a running segment changes nothing. */
		comm_trace_flush_fault(trace, 112);
		assert_int_equal(writer_of(trace, 0x4010), 0);
		free(segment);
		free(before);
		deinit(trace);
	}
}

static void test_many_cells(void **state)
{
	struct comm_table table;

	(void)state;
	comm_table_init(&table);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 50000; i++)
			comm_table_cell(&table, i, i * 3 + 1, i % 17)->bytes += i;
	}
	assert_int_equal(comm_array_count(&table.cells), 50001);
	for (uint32_t i = 0; i < 50000; i++)
		assert_int_equal(comm_table_find(&table, i, i * 3 + 1, i % 17)->bytes, 2 * i);
	comm_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte),	       cmocka_unit_test(test_eight),
		cmocka_unit_test(test_line),	       cmocka_unit_test(test_page),
		cmocka_unit_test(test_many_readers),   cmocka_unit_test(test_objects),
		cmocka_unit_test(test_clear_and_move), cmocka_unit_test(test_replaced_object),
		cmocka_unit_test(test_big_objects),    cmocka_unit_test(test_ages),
		cmocka_unit_test(test_calls),	       cmocka_unit_test(test_many_regions),
		cmocka_unit_test(test_fault),	       cmocka_unit_test(test_many_cells),
		cmocka_unit_test(test_two_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
