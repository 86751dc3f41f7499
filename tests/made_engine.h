/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine between a made-up process, a fake estimator that notes its input and
 * fails when told to, and a fake store that does the same.
 */
#ifndef TESTS_MADE_ENGINE_H
#define TESTS_MADE_ENGINE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine.h"

enum {
	TGID = 7,
	FIRST = 7, /* threads of TGID */
	SECOND = 8,
	OTHER_TGID = 20, /* a process with the same mappings */
	STRANGER = 4000, /* a thread of no target */
	TEXT = 0x400000,
	TYPED = TEXT + 8,      /* an instruction that reads Base::price, 8 bytes into it */
	ALLOCATES = TEXT + 16, /* one of an allocator */
	CLEARS = TEXT + 24,    /* one of memset() */
	UNREADABLE = 0x401000,
	DATA = 0x580000,
	BSS = 0x581000, /* behind the file's data */
	HEAP = 0x600000,
	SHARED = 0x700000,
	STACK = 0x800000,
	PAGE = 0x1000,
	BUFFERS = 0x1000000,
	BUFFERS_BYTES = 0x60000000,
	UNMAPPED = 0x10,
	NOTED = 128,
	CYCLES_PER_NS = 2,
	START = 1000000, /* ns, of the first slice */
	SLICE = 1000000,
	MANY_EDGES = (1 << 18) + 100, /* more than the engine has room for */
};

static struct comm_mapping mappings[] = {
	{.start = TEXT,
	 .end = TEXT + 2 * PAGE,
	 .dev = 1,
	 .ino = 2,
	 .readable = true,
	 .executable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/made",
	 .file = 1},
	{.start = DATA,
	 .end = BSS,
	 .dev = 1,
	 .ino = 2,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_FILE,
	 .path = "/bin/made",
	 .file = 1},
	{.start = BSS,
	 .end = BSS + PAGE,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
	{.start = HEAP,
	 .end = HEAP + 4 * PAGE,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_HEAP,
	 .path = "[heap]"},
	{.start = SHARED,
	 .end = SHARED + PAGE,
	 .dev = 1,
	 .ino = 3,
	 .readable = true,
	 .writable = true,
	 .shared = true,
	 .kind = COMM_MAP_SHARED,
	 .path = "/dev/shm/made",
	 .file = 2},
	{.start = STACK,
	 .end = STACK + PAGE,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_STACK,
	 .path = "[stack]"},
	{.start = BUFFERS,
	 .end = BUFFERS + BUFFERS_BYTES,
	 .readable = true,
	 .writable = true,
	 .kind = COMM_MAP_ANON,
	 .path = ""},
};

/* What the engine asked of and passed to the fakes, and which of their calls shall fail. */
static struct world {
	uint8_t text[PAGE];
	const char *name;
	int maps_asked, names_asked, blocks_asked;
	struct comm_blocks_found blocks;
	int blocks_err;
	uint64_t variable_bytes; /* of the variable at BSS; 0: there is none */

	/* What the engine is told when it begins. */
	const char *function;
	uint32_t callers;

	struct comm_est_config config;
	int create_err, burst_err, sched_err, slice_err;
	uint64_t thinned, folded;
	size_t n_bursts, n_scheds, n_touches, n_lost;
	struct comm_access_burst burst; /* the last burst */
	struct comm_access access[COMM_BURST_ACCESSES];
	struct {
		uint64_t time_ns;
		uint32_t thread;
		bool on;
	} sched[NOTED];
	struct comm_touch touch; /* the last one */
	uint64_t lost_ns;
	uint32_t ended; /* the thread that did last */
	bool destroyed;
	size_t edges;	/* edges that the estimator emits in each slice */
	size_t watched; /* edges that windows make in each slice */

	int store_err;
	size_t n_slices; /* slices that the store was given */
	struct comm_slice_info slice[NOTED];
	size_t n_edges;
	double edge_bytes;
	struct comm_edge last_edge;
	uint32_t n_threads;
	size_t n_placements;
	struct comm_placement placement; /* the first placement of the last slice */
	size_t n_origins;
	struct comm_origin origin[4]; /* the first origins of the last slice */
	size_t n_census;
	struct comm_census_words census[4];
	size_t n_counts;
	struct comm_count count[4]; /* likewise */
	size_t n_lengths;
	uint32_t length_counter;
	struct comm_unwritten_end length[4]; /* likewise */
	const char *const *counter;
	size_t n_done, n_burst_done;
} world;

static inline int maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx, (void)tgid;
	world.maps_asked++;
	*ret = mappings;
	*ret_n = sizeof(mappings) / sizeof(*mappings);
	return 0;
}

static inline ssize_t text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			   void *buf, size_t len_bytes)
{
	(void)ctx, (void)tgid, (void)m;
	if (addr >= UNREADABLE)
		return -EIO;
	if (len_bytes > UNREADABLE - addr)
		len_bytes = UNREADABLE - addr;
	memcpy(buf, world.text + (addr - TEXT), len_bytes);
	return (ssize_t)len_bytes;
}

static inline int code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		       struct comm_code *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_code){.function = "made",
				  .module = "made",
				  .build_id = "",
				  .source = "made.c",
				  .line = (uint32_t)(ip - TEXT) + 1};
	if (ip == ALLOCATES)
		ret->function = "_int_malloc";
	if (ip == CLEARS)
		ret->function = "__memset_avx2_unaligned";
	if (ip == TYPED) {
		ret->type = "Base";
		ret->field = "price";
		ret->field_offset = 8;
	}
	return 0;
}

static inline int blocks(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret)
{
	(void)ctx, (void)tgid, (void)addr;
	world.blocks_asked++;
	*ret = world.blocks;
	return world.blocks_err;
}

static inline int data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		       struct comm_static *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_static){
		.name = "variable", .module = "made", .build_id = "", .start = BSS};
	ret->end = ret->start + world.variable_bytes;
	return addr - BSS < world.variable_bytes ? 0 : -ENOENT;
}

static inline int thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid, (void)tid;
	world.names_asked++;
	strcpy(name, world.name);
	return 0;
}

static const struct comm_inspect_ops inspect_ops = {.maps = maps,
						    .text = text,
						    .code = code,
						    .data = data,
						    .thread_name = thread_name,
						    .blocks = blocks};
static const struct comm_inspect inspect = {.ops = &inspect_ops};

static inline int est_create(const struct comm_est_config *config, void **ret)
{
	world.config = *config;
	*ret = &world;
	return world.create_err;
}

static inline void est_destroy(void *est)
{
	assert_ptr_equal(est, &world);
	world.destroyed = true;
}

static inline int est_burst(void *est, const struct comm_access_burst *burst)
{
	assert_ptr_equal(est, &world);
	world.n_bursts++;
	world.burst = *burst;
	memcpy(world.access, burst->access, burst->n * sizeof(*burst->access));
	return world.burst_err;
}

static inline void est_ended(void *est, uint32_t thread)
{
	(void)est;
	world.ended = thread;
}

static inline int est_sched(void *est, uint64_t time_ns, uint32_t thread, bool on_cpu)
{
	assert_ptr_equal(est, &world);
	assert_true(world.n_scheds < NOTED);
	world.sched[world.n_scheds].time_ns = time_ns;
	world.sched[world.n_scheds].thread = thread;
	world.sched[world.n_scheds++].on = on_cpu;
	return world.sched_err;
}

static inline void est_sched_lost(void *est, uint64_t time_ns)
{
	assert_ptr_equal(est, &world);
	world.n_lost++;
	world.lost_ns = time_ns;
}

static inline void est_touch(void *est, const struct comm_touch *touch)
{
	assert_ptr_equal(est, &world);
	world.n_touches++;
	world.touch = *touch;
}

static inline int est_slice(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit,
			    void *ctx, struct comm_unwritten *ret_unwritten)
{
	assert_ptr_equal(est, &world);
	assert_true(start_ns < end_ns);
	for (size_t i = 0; i < world.edges; i++)
		emit(ctx, &(struct comm_edge){.src_thread = 1,
					      .dst_thread = 2,
					      .src_site = (uint32_t)i + 1,
					      .bytes = 2,
					      .variance = 3,
					      .first_bytes = 1,
					      .bursts = 1,
					      .level = i % 5});
	*ret_unwritten = (struct comm_unwritten){.bytes = 5, .first_bytes = 4};
	return world.slice_err;
}

static inline uint64_t est_thinned(const void *est)
{
	return ((const struct world *)est)->thinned;
}

static inline uint64_t est_folded(const void *est)
{
	return ((const struct world *)est)->folded;
}

static const struct comm_est_ops noting = {.name = "noting",
					   .create = est_create,
					   .destroy = est_destroy,
					   .burst = est_burst,
					   .ended = est_ended,
					   .sched = est_sched,
					   .sched_lost = est_sched_lost,
					   .touch = est_touch,
					   .slice = est_slice,
					   .thinned = est_thinned,
					   .folded = est_folded};
/* An estimator without any optional function. */
static const struct comm_est_ops least = {.name = "least",
					  .create = est_create,
					  .destroy = est_destroy,
					  .burst = est_burst,
					  .slice = est_slice};

/* Nobody puts slices into a queue here; of slice_queue.c, which needs store.c, nothing is linked. */
int comm_slice_queue_put(struct comm_slice_queue *queue, const struct comm_slice_info *info,
			 const struct comm_edge *edges, size_t n_edges,
			 const struct comm_naming *naming)
{
	(void)queue, (void)info, (void)edges, (void)n_edges, (void)naming;
	return -ENOBUFS;
}

uint64_t comm_slice_queue_stored_ns(const struct comm_slice_queue *queue)
{
	(void)queue;
	return 0;
}

/* Replaces the function of store.c, which is not linked. */
int comm_store_write_slice(struct comm_store *store, const struct comm_slice_info *info,
			   const struct comm_edge *edges, size_t n_edges,
			   const struct comm_naming *naming)
{
	assert_ptr_equal(store, &world);
	if (world.store_err)
		return world.store_err;
	assert_true(world.n_slices < NOTED);
	world.slice[world.n_slices++] = *info;
	world.n_edges = n_edges;
	world.edge_bytes = 0;
	for (size_t i = 0; i < n_edges; i++)
		world.edge_bytes += edges[i].bytes;
	if (n_edges)
		world.last_edge = edges[n_edges - 1];
	world.n_threads = naming->n_threads;
	world.n_placements = info->n_placements;
	if (info->n_placements)
		world.placement = info->placement[0];
	world.n_origins = info->n_origins;
	for (size_t i = 0; i < info->n_origins && i < 4; i++)
		world.origin[i] = info->origin[i];
	world.n_census = info->n_census;
	for (size_t i = 0; i < info->n_census && i < 4; i++)
		world.census[i] = info->census[i];
	world.n_counts = info->n_counts;
	for (size_t i = 0; i < info->n_counts && i < 4; i++)
		world.count[i] = info->count[i];
	world.n_lengths = info->lengths.n_ends;
	world.length_counter = info->lengths.counter;
	for (size_t i = 0; i < info->lengths.n_ends && i < 4; i++)
		world.length[i] = info->lengths.end[i];
	world.counter = info->counter;
	return 0;
}

static inline void slice_done(void *ctx, const struct comm_slice_info *info,
			      const struct comm_edge *edges, size_t n_edges)
{
	(void)edges;
	assert_ptr_equal(ctx, &world);
	assert_true(info->end_ns > info->start_ns);
	assert_true(n_edges == world.edges + world.watched || world.edges == MANY_EDGES);
	world.n_done++;
}

static inline void burst_done(void *ctx, const struct comm_event *event,
			      const struct comm_burst *burst)
{
	assert_ptr_equal(ctx, &world.n_burst_done);
	assert_int_equal(event->kind, COMM_EV_SAMPLE);
	assert_true(burst->end < COMM_BURST_END_MAX);
	world.n_burst_done++;
}

static struct comm_engine *engine;

static inline void begin(const struct comm_est_ops *ops, bool stored)
{
	const struct comm_engine_config config = {
		.inspect = &inspect,
		.store = stored ? (struct comm_store *)&world : NULL,
		.estimator = ops,
		.est = {.granularity_bytes = 16, .memory_bytes = 1, .cycles_per_ns = CYCLES_PER_NS},
		.function = world.function,
		.callers = world.callers,
		.slice_ns = SLICE,
		.start_ns = START,
		.slice_done = slice_done,
		.ctx = &world,
		.burst_done = burst_done,
		.burst_ctx = &world.n_burst_done,
	};

	assert_int_equal(comm_engine_create(&config, &engine), 0);
}

static inline int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(world.text, 0xf4, sizeof(world.text)); /* hlt ends every burst */
	world.name = "worker";
	begin(&noting, true);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	comm_engine_destroy(engine);
	engine = NULL;
	return 0;
}

static inline void give(const struct comm_event *event)
{
	comm_engine_event(engine, event);
}

/* A thread stands at ip, with rbx at HEAP and rcx at SHARED. */
static inline struct comm_sample sample_at(uint64_t ip)
{
	struct comm_sample sample = {.ip = ip, .mode_bits = 64, .known = (1u << COMM_NGPR) - 1};

	sample.reg[COMM_RBX] = HEAP;
	sample.reg[COMM_RCX] = SHARED;
	sample.reg[COMM_RSP] = STACK + PAGE / 2;
	return sample;
}

static inline void give_sample(uint64_t time_ns, uint32_t tid, const struct comm_sample *sample)
{
	give(&(struct comm_event){.kind = COMM_EV_SAMPLE,
				  .time_ns = time_ns,
				  .cpu = 3,
				  .tgid = TGID,
				  .tid = tid,
				  .sample = sample});
}

static inline void give_precise(enum comm_event_kind kind, uint64_t addr, uint16_t flags)
{
	give(&(struct comm_event){
		.kind = kind,
		.time_ns = START,
		.cpu = 1,
		.tgid = TGID,
		.tid = SECOND,
		.access = {.addr = addr, .ip = TEXT + 5, .size_bytes = 4, .flags = flags}});
}

static inline uint64_t lost(enum comm_loss cause)
{
	struct comm_engine_stats stats;

	comm_engine_stats(engine, &stats);
	return stats.loss[cause];
}

/* Only events of this cause were lost. */
static inline void assert_lost(enum comm_loss cause, uint64_t count)
{
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		if (lost(i) != ((enum comm_loss)i == cause ? count : 0))
			fail_msg("%s: %lu", comm_loss_name(i), (unsigned long)lost(i));
}

/* Ends the first slice, and returns the info that the store got of it. */
static inline const struct comm_slice_info *first_slice(void)
{
	comm_engine_advance(engine, START + SLICE);
	assert_int_equal(world.n_slices, 1);
	return &world.slice[0];
}

static inline void give_switch(uint32_t prev_tgid, uint32_t tid, uint32_t next_tgid,
			       uint32_t next_tid)
{
	struct comm_event event = {
		.kind = COMM_EV_SWITCH, .time_ns = START + 40, .tid = tid, .next_tid = next_tid};

	event.sched.prev_tgid = prev_tgid;
	event.sched.next_tgid = next_tgid;
	give(&event);
}

/* A window: SECOND wrote, FIRST read.  It stands for so much. */
static inline struct comm_event fed_of(uint64_t read, uint64_t write, uint32_t window,
				       double stands_for)
{
	struct comm_event event = {
		.kind = COMM_EV_FED, .time_ns = START + 30, .tgid = TGID, .tid = SECOND};

	event.fed.read = (struct comm_precise){
		.addr = read, .ip = TEXT, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	event.fed.write = (struct comm_precise){
		.addr = write, .ip = TEXT + 1, .size_bytes = 8, .flags = COMM_ACCESS_WRITE};
	event.fed.read_ns = START + 20;
	event.fed.write_ns = START + 10;
	event.fed.read_tgid = TGID;
	event.fed.read_tid = FIRST;
	event.fed.window = window;
	event.fed.stands_for = stands_for;
	return event;
}

#endif
