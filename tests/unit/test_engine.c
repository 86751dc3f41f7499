// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine between a made-up process, a fake estimator that notes its input and
 * fails when told to, and a fake store that does the same.
 */
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
	UNREADABLE = 0x401000,
	HEAP = 0x600000,
	SHARED = 0x700000,
	STACK = 0x800000,
	PAGE = 0x1000,
	UNMAPPED = 0x10,
	NOTED = 64,
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
};

/* What the engine asked of and passed to the fakes, and which of their calls shall fail. */
static struct world {
	uint8_t text[PAGE];
	const char *name;
	int maps_asked, names_asked;

	struct comm_est_config config;
	int create_err, burst_err, sched_err, evidence_err, slice_err;
	uint64_t thinned, folded;
	size_t n_bursts, n_scheds, n_evidence, n_lost;
	struct comm_access_burst burst; /* the last burst */
	struct comm_access access[COMM_BURST_ACCESSES];
	struct {
		uint64_t time_ns;
		uint32_t thread;
		bool on;
	} sched[NOTED];
	struct comm_evidence evidence;
	uint64_t lost_ns;
	bool destroyed;
	size_t edges; /* edges that the estimator emits in each slice */

	int store_err;
	size_t n_slices; /* slices that the store was given */
	struct comm_slice_info slice[NOTED];
	size_t n_edges;
	double edge_bytes;
	struct comm_edge last_edge;
	uint32_t n_threads;
	size_t n_placements;
	struct comm_placement placement; /* the first placement of the last slice */
	size_t n_done, n_burst_done;
} world;

static int maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	(void)ctx, (void)tgid;
	world.maps_asked++;
	*ret = mappings;
	*ret_n = sizeof(mappings) / sizeof(*mappings);
	return 0;
}

static ssize_t text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
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

static int code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		struct comm_code *ret)
{
	(void)ctx, (void)tgid, (void)m;
	*ret = (struct comm_code){.function = "made",
				  .module = "made",
				  .build_id = "",
				  .source = "made.c",
				  .line = (uint32_t)(ip - TEXT) + 1};
	return 0;
}

static int data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		struct comm_static *ret)
{
	(void)ctx, (void)tgid, (void)m, (void)addr, (void)ret;
	return -ENOENT;
}

static int thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid, (void)tid;
	world.names_asked++;
	strcpy(name, world.name);
	return 0;
}

static const struct comm_inspect_ops inspect_ops = {
	.maps = maps, .text = text, .code = code, .data = data, .thread_name = thread_name};
static const struct comm_inspect inspect = {.ops = &inspect_ops};

static int est_create(const struct comm_est_config *config, void **ret)
{
	world.config = *config;
	*ret = &world;
	return world.create_err;
}

static void est_destroy(void *est)
{
	assert_ptr_equal(est, &world);
	world.destroyed = true;
}

static int est_burst(void *est, const struct comm_access_burst *burst)
{
	assert_ptr_equal(est, &world);
	world.n_bursts++;
	world.burst = *burst;
	memcpy(world.access, burst->access, burst->n * sizeof(*burst->access));
	return world.burst_err;
}

static int est_sched(void *est, uint64_t time_ns, uint32_t thread, bool on_cpu)
{
	assert_ptr_equal(est, &world);
	assert_true(world.n_scheds < NOTED);
	world.sched[world.n_scheds].time_ns = time_ns;
	world.sched[world.n_scheds].thread = thread;
	world.sched[world.n_scheds++].on = on_cpu;
	return world.sched_err;
}

static void est_sched_lost(void *est, uint64_t time_ns)
{
	assert_ptr_equal(est, &world);
	world.n_lost++;
	world.lost_ns = time_ns;
}

static int est_evidence(void *est, const struct comm_evidence *evidence)
{
	assert_ptr_equal(est, &world);
	world.n_evidence++;
	world.evidence = *evidence;
	return world.evidence_err;
}

static int est_slice(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit, void *ctx,
		     struct comm_unwritten *ret_unwritten)
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

static uint64_t est_thinned(const void *est)
{
	return ((const struct world *)est)->thinned;
}

static uint64_t est_folded(const void *est)
{
	return ((const struct world *)est)->folded;
}

static const struct comm_est_ops noting = {.name = "noting",
					   .help = "",
					   .create = est_create,
					   .destroy = est_destroy,
					   .burst = est_burst,
					   .sched = est_sched,
					   .sched_lost = est_sched_lost,
					   .evidence = est_evidence,
					   .slice = est_slice,
					   .thinned = est_thinned,
					   .folded = est_folded};
/* An estimator without any optional function. */
static const struct comm_est_ops least = {.name = "least",
					  .help = "",
					  .create = est_create,
					  .destroy = est_destroy,
					  .burst = est_burst,
					  .slice = est_slice};

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
	return 0;
}

static void slice_done(void *ctx, const struct comm_slice_info *info, const struct comm_edge *edges,
		       size_t n_edges)
{
	(void)edges;
	assert_ptr_equal(ctx, &world);
	assert_true(info->end_ns > info->start_ns);
	assert_true(n_edges == world.edges || world.edges == MANY_EDGES);
	world.n_done++;
}

static void burst_done(void *ctx, const struct comm_event *event, const struct comm_burst *burst)
{
	assert_ptr_equal(ctx, &world.n_burst_done);
	assert_int_equal(event->kind, COMM_EV_SAMPLE);
	assert_true(burst->end < COMM_BURST_END_MAX);
	world.n_burst_done++;
}

static struct comm_engine *engine;

static void begin(const struct comm_est_ops *ops, bool stored)
{
	const struct comm_engine_config config = {
		.inspect = &inspect,
		.store = stored ? (struct comm_store *)&world : NULL,
		.estimator = ops,
		.est = {.granularity_bytes = 16, .memory_bytes = 1},
		.slice_ns = SLICE,
		.start_ns = START,
		.slice_done = slice_done,
		.ctx = &world,
		.burst_done = burst_done,
		.burst_ctx = &world.n_burst_done,
	};

	assert_int_equal(comm_engine_create(&config, &engine), 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&world, 0, sizeof(world));
	memset(world.text, 0xf4, sizeof(world.text)); /* hlt ends every burst */
	world.name = "worker";
	begin(&noting, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	comm_engine_destroy(engine);
	engine = NULL;
	return 0;
}

static void give(const struct comm_event *event)
{
	comm_engine_event(engine, event);
}

/* A thread stands at ip, with rbx at HEAP and rcx at SHARED. */
static struct comm_sample sample_at(uint64_t ip)
{
	struct comm_sample sample = {.ip = ip, .mode_bits = 64, .known = (1u << COMM_NGPR) - 1};

	sample.reg[COMM_RBX] = HEAP;
	sample.reg[COMM_RCX] = SHARED;
	sample.reg[COMM_RSP] = STACK + PAGE / 2;
	return sample;
}

static void give_sample(uint64_t time_ns, uint32_t tid, const struct comm_sample *sample)
{
	give(&(struct comm_event){.kind = COMM_EV_SAMPLE,
				  .time_ns = time_ns,
				  .cpu = 3,
				  .tgid = TGID,
				  .tid = tid,
				  .sample = sample});
}

static void give_precise(enum comm_event_kind kind, uint64_t addr, uint16_t flags)
{
	give(&(struct comm_event){
		.kind = kind,
		.time_ns = START,
		.cpu = 1,
		.tgid = TGID,
		.tid = SECOND,
		.access = {.addr = addr, .ip = TEXT + 5, .size_bytes = 4, .flags = flags}});
}

static uint64_t lost(enum comm_loss cause)
{
	struct comm_engine_stats stats;

	comm_engine_stats(engine, &stats);
	return stats.loss[cause];
}

/* Only events of this cause were lost. */
static void assert_lost(enum comm_loss cause, uint64_t count)
{
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		if (lost(i) != ((enum comm_loss)i == cause ? count : 0))
			fail_msg("%s: %lu", comm_loss_name(i), (unsigned long)lost(i));
}

/* Ends the first slice, and returns the info that the store got of it. */
static const struct comm_slice_info *first_slice(void)
{
	comm_engine_advance(engine, START + SLICE);
	assert_int_equal(world.n_slices, 1);
	return &world.slice[0];
}

static void samples_become_bursts(void **state)
{
	const struct comm_identity *identity = comm_engine_identity(engine);
	struct comm_sample sample = sample_at(TEXT);
	struct comm_engine_stats stats;
	const struct comm_site *site;

	(void)state;
	/* push rax; mov rax,[rbx]; mov [rcx+8],rdx: the write of the push is left out. */
	memcpy(world.text, "\x50\x48\x8b\x03\x48\x89\x51\x08", 8);
	give_sample(START + 10, SECOND, &sample);
	assert_int_equal(world.n_bursts, 1);
	assert_int_equal(world.n_burst_done, 1);
	assert_int_equal(world.burst.time_ns, START + 10);
	assert_int_equal(world.burst.cpu, 3);
	assert_int_equal(world.burst.n_insns, 3);
	assert_true(world.burst.cycles > 0);
	assert_false(world.burst.exact);
	assert_int_equal(world.burst.period, 1);
	assert_int_equal(comm_threads_at(identity->threads, world.burst.thread)->tid, SECOND);
	assert_int_equal(world.burst.n, 2);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ);
	assert_int_equal(world.access[1].flags, COMM_ACCESS_WRITE);
	assert_int_equal(world.access[0].size_bytes, 8);
	assert_int_equal(world.access[1].insn, 2);
	assert_int_equal(world.access[1].ip_key, TEXT + 4);
	assert_true(world.access[0].known == 1);
	assert_string_equal(comm_objects_at(identity->objects, world.access[0].object)->name,
			    "[heap]");
	assert_string_equal(comm_objects_at(identity->objects, world.access[1].object)->name,
			    "made");
	site = comm_sites_at(identity->sites, world.access[1].site);
	assert_int_equal(site->line, 5);
	/* A sample's own period takes precedence over the last RATE's. */
	sample.period = 99;
	give_sample(START + 20, SECOND, &sample);
	assert_int_equal(world.burst.period, 99);
	assert_lost(COMM_LOSS_MAX, 0);
	comm_engine_stats(engine, &stats);
	assert_true(stats.events == 2 && stats.samples == 2 && stats.bursts == 2 &&
		    stats.accesses == 4 && stats.insns == 6);
	assert_true(stats.ends[COMM_BURST_UNSUPPORTED] == 2);
	assert_true(first_slice()->samples == 2 && world.slice[0].bursts == 2 &&
		    world.slice[0].accesses == 4);
	assert_int_equal(world.n_threads, comm_threads_count(identity->threads));
	assert_int_equal(world.n_placements, 1);
	assert_true(world.placement.thread == world.burst.thread && world.placement.cpu == 3 &&
		    world.placement.samples == 2);
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_placements, 0);
}

/* The address of one access is not known, so known accesses of the same ip count for it. */
static void known_share(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03", 3); /* mov rax,[rbx] */
	sample.known &= ~(1u << COMM_RBX);
	give_sample(START, FIRST, &sample);
	assert_int_equal(world.burst.n, 0);
	sample.known |= 1u << COMM_RBX;
	give_sample(START + 1, FIRST, &sample);
	assert_int_equal(world.burst.n, 1);
	assert_true(world.access[0].known == 0.5f);
}

static void samples_that_say_nothing(void **state)
{
	struct comm_sample sample = sample_at(UNREADABLE);

	(void)state;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_NO_TEXT, 1);
	assert_int_equal(first_slice()->loss[COMM_LOSS_NO_TEXT], 1);
}

static void bytes_that_are_no_instruction(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	world.text[0] = 0x06;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_UNDECODED, 1);
}

static void code_of_32_bits(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	sample.mode_bits = 32;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_MODE32, 1);
}

static void code_that_changed(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03", 3);
	sample.n_chunks = 1;
	sample.chunk[0] = (struct comm_chunk){.addr = TEXT, .len_bytes = 3};
	sample.data_bytes = 3;
	memcpy(sample.data, "\x48\x89\x0b", 3);
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_JIT, 1);
	assert_int_equal(world.burst.n, 0);
}

static void addresses_in_no_mapping(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03\x48\x8b\x01", 6); /* mov rax,[rbx]; mov rax,[rcx] */
	sample.reg[COMM_RBX] = UNMAPPED;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_UNMAPPED, 1);
	assert_int_equal(world.burst.n, 1);
	give_precise(COMM_EV_ACCESS, UNMAPPED, COMM_ACCESS_READ);
	assert_lost(COMM_LOSS_UNMAPPED, 2);
	assert_int_equal(world.n_bursts, 1);
}

static void precise_accesses(void **state)
{
	const struct comm_identity *identity = comm_engine_identity(engine);

	(void)state;
	give_precise(COMM_EV_ACCESS, HEAP + 8, COMM_ACCESS_READ);
	assert_true(world.burst.exact);
	assert_true(world.burst.n == 1 && world.burst.n_insns == 1 && world.burst.cycles == 0);
	assert_int_equal(world.burst.cpu, 1);
	assert_true(world.access[0].size_bytes == 4 && world.access[0].known == 1 &&
		    world.access[0].flags == COMM_ACCESS_READ &&
		    world.access[0].ip_key == TEXT + 5);
	assert_int_equal(comm_sites_at(identity->sites, world.access[0].site)->line, 6);
	assert_int_equal(comm_threads_at(identity->threads, world.burst.thread)->tid, SECOND);
	assert_int_equal(first_slice()->samples, 1);
}

static void kernel_copies_are_the_kernels(void **state)
{
	(void)state;
	give_precise(COMM_EV_KCOPY, HEAP, COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL);
	assert_int_equal(world.access[0].site, COMM_SITE_KERNEL);
	assert_false(world.burst.exact);
	assert_true(world.burst.cycles > 0 && world.access[0].cycle > 0 &&
		    world.access[0].cycle < world.burst.cycles);
}

static void give_watch(uint32_t second_tgid, uint64_t first, uint64_t second, uint16_t flags)
{
	struct comm_event event = {
		.kind = COMM_EV_WATCH, .time_ns = START + 30, .tgid = second_tgid, .tid = SECOND};

	event.watch.first = (struct comm_precise){
		.addr = first, .ip = TEXT, .size_bytes = 8, .flags = COMM_ACCESS_READ};
	event.watch.second = (struct comm_precise){
		.addr = second, .ip = TEXT + 1, .size_bytes = 8, .flags = flags};
	event.watch.first_ns = START + 10;
	event.watch.armed_ns = START + 20;
	event.watch.first_tgid = TGID;
	event.watch.first_tid = FIRST;
	give(&event);
}

static void watchpoints_give_evidence(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;

	(void)state;
	give_watch(TGID, HEAP, HEAP + 4, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_evidence, 1);
	assert_true(world.evidence.first_ns == START + 10 &&
		    world.evidence.armed_ns == START + 20 &&
		    world.evidence.second_ns == START + 30);
	assert_int_equal(comm_threads_at(threads, world.evidence.first_thread)->tid, FIRST);
	assert_int_equal(comm_threads_at(threads, world.evidence.second_thread)->tid, SECOND);
	assert_int_equal(world.evidence.first.flags, COMM_ACCESS_READ);
	assert_int_equal(world.evidence.second.datum - world.evidence.first.datum, 4);
	/* No write came. */
	give_watch(TGID, HEAP, HEAP, 0);
	assert_int_equal(world.n_evidence, 2);
	assert_int_equal(world.evidence.second.flags, 0);
	/* One datum in two processes. */
	give_watch(OTHER_TGID, SHARED, SHARED, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_evidence, 3);
	/* The same address of another process, and another datum, are no evidence. */
	give_watch(OTHER_TGID, HEAP, HEAP, COMM_ACCESS_WRITE);
	give_watch(TGID, HEAP, HEAP + 8, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_evidence, 3);
	assert_lost(COMM_LOSS_MAX, 0);
	give_watch(TGID, HEAP, UNMAPPED, COMM_ACCESS_WRITE);
	assert_int_equal(world.n_evidence, 3);
	assert_lost(COMM_LOSS_UNMAPPED, 1);
	assert_int_equal(world.n_bursts, 0);
}

static void give_switch(uint32_t prev_tgid, uint32_t tid, uint32_t next_tgid, uint32_t next_tid)
{
	struct comm_event event = {
		.kind = COMM_EV_SWITCH, .time_ns = START + 40, .tid = tid, .next_tid = next_tid};

	event.sched.prev_tgid = prev_tgid;
	event.sched.next_tgid = next_tgid;
	give(&event);
}

static void switches_reach_the_estimator(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;

	(void)state;
	give_switch(TGID, FIRST, TGID, SECOND);
	assert_int_equal(world.n_scheds, 2);
	assert_int_equal(comm_threads_at(threads, world.sched[0].thread)->tid, FIRST);
	assert_int_equal(comm_threads_at(threads, world.sched[1].thread)->tid, SECOND);
	assert_true(!world.sched[0].on && world.sched[1].on);
	assert_true(world.sched[0].time_ns == START + 40 && world.sched[1].time_ns == START + 40);
	/* Threads of no target are not passed on. */
	give_switch(0, STRANGER, TGID, FIRST);
	assert_true(world.n_scheds == 3 && world.sched[2].on);
	give_switch(TGID, FIRST, 0, STRANGER);
	assert_true(world.n_scheds == 4 && !world.sched[3].on);
	assert_int_equal(comm_threads_count(threads), 3);
}

static uint32_t thread_of(uint32_t tid)
{
	struct comm_sample sample = sample_at(TEXT);

	give_sample(START, tid, &sample);
	return world.burst.thread;
}

static void give_kind(enum comm_event_kind kind, uint32_t tid)
{
	give(&(struct comm_event){.kind = kind, .time_ns = START, .tgid = TGID, .tid = tid});
}

static void exits_end_threads_and_spaces(void **state)
{
	uint32_t first = thread_of(FIRST), second = thread_of(SECOND);
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;
	uint64_t datum;

	(void)state;
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	datum = world.access[0].datum;
	assert_int_equal(world.maps_asked, 1);
	give_kind(COMM_EV_EXIT, SECOND);
	assert_int_equal(comm_threads_at(threads, second)->end_ns, START);
	assert_int_equal(thread_of(FIRST), first);
	assert_int_not_equal(thread_of(SECOND), second);
	assert_int_equal(world.maps_asked, 1);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_int_equal(world.access[0].datum, datum);
	/* With the first thread the process is over: a new one of its pid is another. */
	give_kind(COMM_EV_EXIT, FIRST);
	assert_int_not_equal(thread_of(FIRST), first);
	assert_int_equal(world.maps_asked, 2);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_int_not_equal(world.access[0].datum, datum);
}

static void names_and_mappings_change(void **state)
{
	uint32_t first = thread_of(FIRST);
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;

	(void)state;
	world.name = "renamed";
	give_kind(COMM_EV_RENAME, FIRST);
	assert_string_equal(comm_threads_at(threads, first)->name, "renamed");
	world.name = "program";
	give_kind(COMM_EV_EXEC, FIRST);
	assert_string_equal(comm_threads_at(threads, first)->name, "program");
	assert_int_equal(world.maps_asked, 1);
	/* The mappings are read again, but not at once. */
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = START + 5000ull * SLICE,
				  .tgid = TGID,
				  .tid = FIRST,
				  .access = {.addr = HEAP, .ip = TEXT, .size_bytes = 1}});
	assert_int_equal(world.maps_asked, 2);
	give(&(struct comm_event){
		.kind = COMM_EV_MMAP, .time_ns = START + 5000ull * SLICE, .tgid = TGID});
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = START + 10000ull * SLICE,
				  .tgid = TGID,
				  .tid = FIRST,
				  .access = {.addr = HEAP, .ip = TEXT, .size_bytes = 1}});
	assert_int_equal(world.maps_asked, 3);
}

static void forks_are_seen_before_their_samples(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;
	struct comm_event event = {.kind = COMM_EV_FORK, .time_ns = START + 7, .tgid = TGID};

	(void)state;
	event.fork.child_tgid = OTHER_TGID;
	event.fork.child_tid = OTHER_TGID + 1;
	give(&event);
	assert_int_equal(comm_threads_count(threads), 2);
	assert_true(comm_threads_at(threads, 1)->tgid == OTHER_TGID &&
		    comm_threads_at(threads, 1)->tid == OTHER_TGID + 1 &&
		    comm_threads_at(threads, 1)->start_ns == START + 7);
}

static void rates_hold_from_then_on(void **state)
{
	struct comm_event rate = {
		.kind = COMM_EV_RATE, .time_ns = START, .trigger = COMM_TRIGGER_INSTRUCTIONS};

	(void)state;
	rate.period = 12345;
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_true(world.burst.period == 1 && world.burst.trigger == COMM_TRIGGER_TIME);
	give(&rate);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_true(world.burst.period == 12345 &&
		    world.burst.trigger == COMM_TRIGGER_INSTRUCTIONS);
	thread_of(FIRST);
	assert_true(world.burst.period == 12345 &&
		    world.burst.trigger == COMM_TRIGGER_INSTRUCTIONS);
}

static void costs_land_in_their_slice(void **state)
{
	struct comm_event cost = {.kind = COMM_EV_COST, .time_ns = START};

	(void)state;
	cost.cost.handler_ns = 1;
	cost.cost.daemon_ns = 2;
	cost.cost.setup_ns = 3;
	cost.cost.target_ns = 4;
	give(&cost);
	give(&cost);
	cost.time_ns = START + SLICE;
	give(&cost);
	comm_engine_finish(engine, START + SLICE + 1);
	assert_int_equal(world.n_slices, 2);
	for (int i = 0; i < 2; i++)
		assert_true(world.slice[i].handler_ns == 2u - i &&
			    world.slice[i].daemon_ns == 2 * (2u - i) &&
			    world.slice[i].setup_ns == 3 * (2u - i) &&
			    world.slice[i].target_ns == 4 * (2u - i));
}

/* Losses of a source, the merge or the recorder are stored with their slice. */
static void losses_land_in_their_slice(void **state)
{
	struct comm_event loss = {.kind = COMM_EV_LOSS};

	(void)state;
	for (uint32_t cause = 0; cause <= COMM_LOSS_MAX; cause++) {
		loss.time_ns = START + cause;
		loss.cause = cause;
		loss.count = cause + 1;
		give(&loss);
		/*
		 * The estimator must be told of these two causes: which threads run
		 * is unknown from then on.
		 */
		if (cause == COMM_LOSS_SCHED || cause == COMM_LOSS_BUDGET)
			assert_int_equal(world.lost_ns, START + cause);
	}
	assert_int_equal(world.n_lost, 2);
	loss.cause = UINT32_MAX;
	give(&loss);
	for (uint32_t cause = 0; cause < COMM_LOSS_MAX; cause++)
		assert_int_equal(first_slice()->loss[cause], cause + 1);
}

static void slices_are_cut_in_time(void **state)
{
	(void)state;
	comm_engine_advance(engine, START + SLICE - 1);
	assert_int_equal(world.n_slices, 0);
	/* An event exactly at the end of a slice belongs to the next one. */
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = START + SLICE,
				  .tgid = TGID,
				  .tid = FIRST,
				  .access = {.addr = HEAP, .ip = TEXT, .size_bytes = 1}});
	assert_int_equal(world.n_slices, 1);
	assert_true(world.slice[0].start_ns == START && world.slice[0].end_ns == START + SLICE);
	assert_int_equal(world.slice[0].samples, 0);
	assert_true(world.slice[0].unwritten.bytes == 5 &&
		    world.slice[0].unwritten.first_bytes == 4);
	/* Time that goes back cuts nothing. */
	comm_engine_advance(engine, 0);
	assert_int_equal(world.n_slices, 1);
	/* A silence of three slices is three slices. */
	comm_engine_advance(engine, START + 4 * SLICE + 5);
	assert_int_equal(world.n_slices, 4);
	assert_int_equal(world.slice[1].samples, 1);
	for (int i = 1; i < 4; i++)
		assert_true(world.slice[i].start_ns == START + (uint64_t)i * SLICE &&
			    world.slice[i].end_ns == START + (uint64_t)(i + 1) * SLICE);
	comm_engine_finish(engine, START + 4 * SLICE + 100);
	assert_int_equal(world.n_slices, 5);
	assert_true(world.slice[4].start_ns == START + 4 * SLICE &&
		    world.slice[4].end_ns == START + 4 * SLICE + 100);
	comm_engine_finish(engine, START + 4 * SLICE + 100);
	assert_int_equal(world.n_slices, 5);
	assert_int_equal(world.n_done, 5);
}

static void a_long_silence_is_one_slice(void **state)
{
	(void)state;
	comm_engine_advance(engine, START + 5000ull * SLICE + 7);
	assert_int_equal(world.n_slices, 1);
	assert_true(world.slice[0].start_ns == START &&
		    world.slice[0].end_ns == START + 5000ull * SLICE);
	comm_engine_advance(engine, START + 5001ull * SLICE);
	assert_int_equal(world.n_slices, 2);
	assert_int_equal(world.slice[1].end_ns, START + 5001ull * SLICE);
}

static void an_estimator_without_room(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03\x48\x8b\x01", 6);
	world.burst_err = -ENOSPC;
	give_sample(START, FIRST, &sample);
	assert_lost(COMM_LOSS_WINDOW, 2);
	world.evidence_err = -ENOSPC;
	give_watch(TGID, HEAP, HEAP, COMM_ACCESS_WRITE);
	assert_lost(COMM_LOSS_WINDOW, 3);
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 3);
}

static void an_estimator_that_cannot_follow_threads(void **state)
{
	(void)state;
	world.sched_err = -ENOMEM;
	give_switch(TGID, FIRST, TGID, SECOND);
	assert_lost(COMM_LOSS_SCHED, 2);
	assert_int_equal(world.n_lost, 0);
}

static void an_estimator_that_fails_to_estimate(void **state)
{
	(void)state;
	world.slice_err = -ENOMEM;
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 2);
	/* A failed estimate is counted even for a slice without bursts. */
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_WINDOW], 1);
	assert_lost(COMM_LOSS_WINDOW, 3);
}

/* Growth of the estimator's totals is stored once. */
static void what_the_estimator_thinned(void **state)
{
	(void)state;
	world.thinned = 10;
	world.folded = 3;
	assert_int_equal(first_slice()->loss[COMM_LOSS_WINDOW], 10);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_CELLS], 3);
	world.thinned = 12;
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_WINDOW], 2);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_CELLS], 0);
}

static void edges_without_room_are_folded(void **state)
{
	(void)state;
	world.edges = 5000;
	assert_int_equal(first_slice()->loss[COMM_LOSS_CELLS], 0);
	assert_true(world.n_edges == 5000 && world.edge_bytes == 10000);
	world.edges = MANY_EDGES;
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_true(world.slice[1].loss[COMM_LOSS_CELLS] >= 100);
	assert_int_equal(world.n_edges + world.slice[1].loss[COMM_LOSS_CELLS], MANY_EDGES + 1);
	assert_true(world.edge_bytes == 2.0 * MANY_EDGES);
	assert_true(world.last_edge.src_thread == COMM_ID_OTHER &&
		    world.last_edge.dst_thread == COMM_ID_OTHER && world.last_edge.src_site == 0);
	assert_true(world.last_edge.bursts == world.slice[1].loss[COMM_LOSS_CELLS] &&
		    world.last_edge.first_bytes == world.last_edge.bursts &&
		    world.last_edge.variance == 3.0 * world.last_edge.bursts &&
		    world.last_edge.level == 4);
	/* The folded edges are not in the slice after it, too. */
	world.edges = 2;
	comm_engine_advance(engine, START + 3 * SLICE);
	assert_true(world.n_edges == 2 && world.edge_bytes == 4);
}

static void a_store_that_fails(void **state)
{
	(void)state;
	world.store_err = -ENOSPC;
	give_precise(COMM_EV_ACCESS, UNMAPPED, COMM_ACCESS_READ);
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_slices, 0);
	assert_int_equal(lost(COMM_LOSS_STORE), 2);
	world.store_err = 0;
	comm_engine_advance(engine, START + 4 * SLICE);
	assert_int_equal(world.n_slices, 2);
	/*
	 * The losses of the two slices that could not be stored come with the next
	 * one that is, once.
	 */
	assert_int_equal(world.slice[0].start_ns, START + 2 * SLICE);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_STORE], 2);
	assert_int_equal(world.slice[0].loss[COMM_LOSS_UNMAPPED], 1);
	assert_int_equal(world.slice[0].samples, 0);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_STORE], 0);
	assert_int_equal(world.slice[1].loss[COMM_LOSS_UNMAPPED], 0);
	assert_int_equal(world.n_done, 4);
}

static void threads_without_an_id(void **state)
{
	struct comm_event event = {.kind = COMM_EV_FORK, .time_ns = START};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		for (uint32_t tid = 1; tid < COMM_THREADS_MAX + 10; tid++) {
			event.fork.child_tgid = event.fork.child_tid = tid;
			give(&event);
		}
	}
	/* One id less, as one is "(other)"; a thread that asks twice is counted once. */
	assert_int_equal(first_slice()->loss[COMM_LOSS_THREADS], 10);
	assert_lost(COMM_LOSS_THREADS, 10);
}

static void code_without_an_id(void **state)
{
	(void)state;
	mappings[0].end = TEXT + COMM_SITES_MAX + 100;
	for (uint32_t i = 0; i < COMM_SITES_MAX + 50; i++)
		give(&(struct comm_event){
			.kind = COMM_EV_ACCESS,
			.time_ns = START,
			.tgid = TGID,
			.tid = FIRST,
			.access = {.addr = STACK, .ip = TEXT + i, .size_bytes = 1}});
	mappings[0].end = TEXT + 2 * PAGE;
	/* Three are "(other)", "[kernel]" and "[unknown]". */
	assert_int_equal(first_slice()->loss[COMM_LOSS_IDS], 53);
	assert_lost(COMM_LOSS_IDS, 53);
}

/* Optional functions of an estimator may be missing, and so may the store. */
static void the_least_of_all(void **state)
{
	struct comm_event loss = {.kind = COMM_EV_LOSS, .time_ns = START};
	struct comm_engine_stats stats;

	(void)state;
	comm_engine_destroy(engine);
	begin(&least, false);
	world.thinned = world.folded = 9;
	loss.cause = COMM_LOSS_SCHED;
	loss.count = 1;
	give(&loss);
	give_switch(TGID, FIRST, TGID, SECOND);
	give_watch(TGID, HEAP, HEAP, COMM_ACCESS_WRITE);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	comm_engine_finish(engine, START + SLICE);
	assert_true(world.n_scheds == 0 && world.n_evidence == 0 && world.n_lost == 0);
	assert_int_equal(world.n_bursts, 1);
	assert_lost(COMM_LOSS_SCHED, 1);
	comm_engine_stats(engine, &stats);
	assert_int_equal(stats.slices, 1);
	assert_int_equal(world.n_slices, 0);
	assert_int_equal(world.n_done, 1);
}

static void making_an_engine(void **state)
{
	struct comm_engine_config config = {
		.inspect = &inspect, .estimator = &noting, .slice_ns = SLICE, .start_ns = START};
	struct comm_engine *none = NULL;

	(void)state;
	assert_true(world.config.granularity_bytes == 16 && world.config.memory_bytes == 1);
	world.create_err = -ENOMEM;
	assert_int_equal(comm_engine_create(&config, &none), -ENOMEM);
	assert_null(none);
	/* An estimator with tables needs a bound of its memory. */
	config.estimator = &comm_est_hazard;
	assert_int_equal(comm_engine_create(&config, &none), -EINVAL);
	assert_null(none);
	comm_engine_destroy(NULL);
	world.destroyed = false;
	comm_engine_destroy(engine);
	engine = NULL;
	assert_true(world.destroyed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(samples_become_bursts),
		TEST(known_share),
		TEST(samples_that_say_nothing),
		TEST(bytes_that_are_no_instruction),
		TEST(code_of_32_bits),
		TEST(code_that_changed),
		TEST(addresses_in_no_mapping),
		TEST(precise_accesses),
		TEST(kernel_copies_are_the_kernels),
		TEST(watchpoints_give_evidence),
		TEST(switches_reach_the_estimator),
		TEST(exits_end_threads_and_spaces),
		TEST(names_and_mappings_change),
		TEST(forks_are_seen_before_their_samples),
		TEST(rates_hold_from_then_on),
		TEST(costs_land_in_their_slice),
		TEST(losses_land_in_their_slice),
		TEST(slices_are_cut_in_time),
		TEST(a_long_silence_is_one_slice),
		TEST(an_estimator_without_room),
		TEST(an_estimator_that_cannot_follow_threads),
		TEST(an_estimator_that_fails_to_estimate),
		TEST(what_the_estimator_thinned),
		TEST(edges_without_room_are_folded),
		TEST(a_store_that_fails),
		TEST(threads_without_an_id),
		TEST(code_without_an_id),
		TEST(the_least_of_all),
		TEST(making_an_engine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
