// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine: what becomes of each kind of event. */
#include <stdio.h>

#include "made_engine.h"

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
			    "/dev/shm/made");
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

/* Only what is a file's, private and not writable, is constant. */
/* The canary and what lies before it were written by the thread that created the reader. */
static void created_threads(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	give(&(struct comm_event){.kind = COMM_EV_FORK,
				  .time_ns = START,
				  .tgid = TGID,
				  .tid = FIRST,
				  .fork = {.child_tgid = TGID, .child_tid = SECOND}});
	/* mov rax,fs:[0x28]; mov rdx,fs:[0x38] */
	memcpy(world.text,
	       "\x64\x48\x8b\x04\x25\x28\x00\x00\x00\x64\x48\x8b\x14\x25\x38\x00\x00\x00", 18);
	sample.known |= 1u << COMM_FS_BASE;
	sample.reg[COMM_FS_BASE] = HEAP;
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.burst.n, 2);
	assert_int_equal(comm_threads_at(threads, world.burst.creator)->tid, FIRST);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ | COMM_ACCESS_BY_CREATOR);
	assert_int_equal(world.access[1].flags, COMM_ACCESS_READ);
	/* The first thread's are its own. */
	give_sample(START + 2, FIRST, &sample);
	assert_int_equal(world.burst.creator, COMM_ID_OTHER);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ);
	/* A new process has a copy. */
	give(&(struct comm_event){.kind = COMM_EV_FORK,
				  .time_ns = START + 3,
				  .tgid = OTHER_TGID,
				  .tid = OTHER_TGID,
				  .fork = {.child_tgid = TGID, .child_tid = FIRST}});
	give_sample(START + 4, FIRST, &sample);
	assert_int_equal(world.burst.creator, COMM_ID_OTHER);
}

static void constants(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03\x48\x8b\x11", 6); /* mov rax,[rbx]; mov rdx,[rcx] */
	sample.reg[COMM_RBX] = TEXT + PAGE + 64;
	give_sample(START, FIRST, &sample);
	assert_int_equal(world.burst.n, 2);
	assert_int_equal(world.access[0].flags,
			 COMM_ACCESS_READ | COMM_ACCESS_CONSTANT | COMM_ACCESS_OF_FILE);
	assert_int_equal(world.access[1].flags, COMM_ACCESS_READ);
	sample.reg[COMM_RBX] = HEAP;
	give_sample(START + 1, FIRST, &sample);
	assert_int_equal(world.access[0].flags, COMM_ACCESS_READ);
}

/* Who touches memory beside a variable touches another one; a large array has neighbours of its own. */
static void variables(void **state)
{
	static const uint64_t bytes[] = {PAGE, 4 << 20};
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	memcpy(world.text, "\x48\x8b\x03", 3); /* mov rax,[rbx] */
	sample.reg[COMM_RBX] = BSS + 64;
	for (size_t i = 0; i < 2; i++) {
		if (i) {
			teardown(state);
			setup(state);
			memcpy(world.text, "\x48\x8b\x03", 3);
		}
		world.variable_bytes = bytes[i];
		give_sample(START, FIRST, &sample);
		assert_int_equal(world.access[0].flags,
				 COMM_ACCESS_READ | (i ? 0 : COMM_ACCESS_OF_FILE));
	}
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

/* Of a sample of time that the kernel held off until a system call returned: no burst. */
static void samples_behind_a_system_call(void **state)
{
	struct comm_event rate = {.kind = COMM_EV_RATE,
				  .time_ns = START,
				  .trigger = COMM_TRIGGER_TIME,
				  .period = 1000};
	struct comm_sample sample = sample_at(TEXT);
	struct comm_engine_stats stats;

	(void)state;
	memcpy(world.text, "\x48\x8b\x03", 3); /* mov rax,[rbx] */
	give(&rate);
	sample.flags = 0x246;
	sample.reg[COMM_RCX] = TEXT;
	sample.reg[COMM_R11] = 0x10246; /* RF, too */
	give_sample(START, FIRST, &sample);
	assert_int_equal(world.n_burst_done, 0);
	/* Where a jump by way of rcx leads, r11 is no flags. */
	sample.reg[COMM_R11] = HEAP;
	give_sample(START + 1, FIRST, &sample);
	assert_int_equal(world.n_burst_done, 1);
	sample.reg[COMM_R11] = 0x246;
	sample.reg[COMM_RCX] = TEXT + 3;
	give_sample(START + 2, FIRST, &sample);
	assert_int_equal(world.n_burst_done, 2);
	sample.reg[COMM_RCX] = TEXT;
	sample.known &= ~(1u << COMM_R11);
	give_sample(START + 3, FIRST, &sample);
	assert_int_equal(world.n_burst_done, 3);
	/* A counter of user instructions counts none of the kernel's. */
	sample.known |= 1u << COMM_R11;
	rate.trigger = COMM_TRIGGER_INSTRUCTIONS;
	give(&rate);
	give_sample(START + 4, FIRST, &sample);
	assert_int_equal(world.n_burst_done, 4);
	comm_engine_stats(engine, &stats);
	assert_int_equal(stats.samples, 5);
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

static void give_access(uint64_t time_ns, uint32_t tid, struct comm_precise access)
{
	give(&(struct comm_event){.kind = COMM_EV_ACCESS,
				  .time_ns = time_ns,
				  .cpu = 1,
				  .tgid = TGID,
				  .tid = tid,
				  .access = access});
}

/* Of code that cannot be read, as of a file of another machine, the size is that of most. */
static void precise_access_of_unknown_code(void **state)
{
	struct comm_precise access = {
		.addr = HEAP + 16, .ip = UNMAPPED, .flags = COMM_ACCESS_WRITE, .period = 1};

	(void)state;
	give_access(START + 1, SECOND, access);
	assert_int_equal(world.access[0].size_bytes, 8);
	/* No further than to the end of the word that it begins in. */
	access.addr += 4;
	give_access(START + 2, SECOND, access);
	assert_int_equal(world.access[0].size_bytes, 4);
	/* What the kernel copies comes with its size, or none is known. */
	access.flags |= COMM_ACCESS_KERNEL;
	give_access(START + 3, SECOND, access);
	assert_int_equal(world.access[0].size_bytes, 0);
}

/* What a precise access and the registers behind it say is one burst, with the access first. */
static void precise_access_and_its_burst(void **state)
{
	const struct comm_precise access = {.addr = HEAP + 8,
					    .ip = TEXT,
					    .flags = COMM_ACCESS_READ | COMM_ACCESS_BURST,
					    .period = 500};
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	/* mov rax,[rbx+8]; mov rdx,[rax]; mov [rcx],rdx */
	memcpy(world.text, "\x48\x8b\x43\x08\x48\x8b\x10\x48\x89\x11", 10);
	sample.known |= COMM_SAMPLE_AFTER;
	sample.known &= ~(1u << COMM_RAX);
	sample.period = 500;
	give(&(struct comm_event){.kind = COMM_EV_RATE,
				  .time_ns = START,
				  .trigger = COMM_TRIGGER_ACCESSES,
				  .period = 1000});
	give_access(START + 1, SECOND, access);
	assert_int_equal(world.n_bursts, 0);
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.n_bursts, 1);
	assert_true(world.burst.n == 2 && world.burst.period == 500 && !world.burst.exact &&
		    world.burst.n_insns == 3);
	/* Its size stands in the code. */
	assert_true(world.access[0].flags == COMM_ACCESS_READ && world.access[0].insn == 0 &&
		    world.access[0].size_bytes == 8 && world.access[0].ip_key == TEXT);
	/* The load between them is known to be there. */
	assert_true(world.access[1].flags == COMM_ACCESS_WRITE && world.access[1].insn == 2 &&
		    world.access[1].ip_key == TEXT + 7);

	/* The burst of another thread, or of another time, is another's. */
	give_access(START + 2, SECOND, access);
	give_sample(START + 2, FIRST, &sample);
	assert_int_equal(world.n_bursts, 3);
	give_access(START + 3, SECOND, access);
	give_sample(START + 4, SECOND, &sample);
	assert_int_equal(world.n_bursts, 5);
	assert_true(world.burst.n == 1 && world.access[0].insn == 2);
	/* One that is lost leaves the access, which is in its own slice. */
	give_access(START + 5, SECOND, access);
	assert_int_equal(first_slice()->accesses, 2 + 2 + 2 + 1);
	assert_int_equal(world.slice[0].samples, 1 + 2 + 2 + 1);
	assert_true(world.burst.n == 1 && world.burst.n_insns == 1 && !world.burst.exact);
}

/* The process's stack is its first thread's. */
static void a_threads_stack_is_its_own(void **state)
{
	struct comm_event read = {.kind = COMM_EV_ACCESS,
				  .time_ns = START,
				  .tgid = TGID,
				  .tid = FIRST,
				  .access = {.addr = STACK + 64,
					     .ip = TEXT + 5,
					     .size_bytes = 4,
					     .flags = COMM_ACCESS_READ}};

	(void)state;
	give(&read);
	assert_true(world.access[0].flags & COMM_ACCESS_OWN_STACK);
	read.tid = SECOND;
	give(&read);
	assert_false(world.access[0].flags & COMM_ACCESS_OWN_STACK);
	read.access.addr = HEAP;
	read.tid = FIRST;
	give(&read);
	assert_false(world.access[0].flags & COMM_ACCESS_OWN_STACK);
}

static uint32_t region_of(uint32_t site)
{
	return comm_sites_at(comm_engine_identity(engine)->sites, site)->region;
}

static void give_mark(uint64_t time_ns, uint32_t tid, uint32_t n)
{
	give(&(struct comm_event){.kind = COMM_EV_MARK,
				  .time_ns = time_ns,
				  .tgid = TGID,
				  .tid = tid,
				  .marks = {n, {TEXT + PAGE / 2, TEXT + PAGE / 2 + 8}}});
}

static void regions_are_part_of_sites(void **state)
{
	const struct comm_code_regions *regions = comm_engine_identity(engine)->regions;
	const struct comm_sites *sites = comm_engine_identity(engine)->sites;
	struct comm_sample sample = sample_at(TEXT);
	uint32_t plain, inside;

	(void)state;
	strcpy((char *)world.text + PAGE / 2, "outer");
	strcpy((char *)world.text + PAGE / 2 + 8, "inner");
	memcpy(world.text, "\x48\x8b\x03\xf4", 4); /* mov (%rbx), %rax; hlt */
	give_sample(START, SECOND, &sample);
	plain = world.access[0].site;
	assert_int_equal(region_of(plain), COMM_CODE_REGION_NONE);
	give_mark(START + 1, SECOND, 2);
	give_sample(START + 1, SECOND, &sample);
	assert_int_equal(world.burst.n, 1);
	inside = world.access[0].site;
	assert_int_not_equal(inside, plain);
	assert_int_equal(comm_sites_at(sites, inside)->function,
			 comm_sites_at(sites, plain)->function);
	assert_string_equal(comm_code_regions_at(regions, region_of(inside))->name, "inner");
	/* Another thread's, and of another time: no mark of this sample. */
	give_mark(START + 2, FIRST, 2);
	give_sample(START + 2, SECOND, &sample);
	assert_int_equal(world.access[0].site, plain);
	give_sample(START + 3, FIRST, &sample);
	assert_int_equal(world.access[0].site, plain);
	give_mark(START + 4, SECOND, 1);
	give_sample(START + 4, SECOND, &sample);
	assert_string_equal(comm_code_regions_at(regions, region_of(world.access[0].site))->name,
			    "outer");
	/* What the kernel writes for a thread in a region. */
	give_mark(START + 5, SECOND, 1);
	give(&(struct comm_event){.kind = COMM_EV_KCOPY,
				  .time_ns = START + 5,
				  .tgid = TGID,
				  .tid = SECOND,
				  .access = {.addr = HEAP,
					     .size_bytes = 8,
					     .flags = COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL}});
	assert_string_equal(comm_code_regions_at(regions, region_of(world.access[0].site))->name,
			    "outer");
	assert_int_equal(comm_sites_at(sites, world.access[0].site)->function,
			 COMM_FUNCTION_KERNEL);
	assert_lost(COMM_LOSS_MAX, 0);
}

static void give_count(uint64_t time_ns, uint32_t tid, const char *counter, uint64_t value,
		       uint64_t enabled_ns, uint64_t running_ns)
{
	struct comm_event event = {
		.kind = COMM_EV_COUNT, .time_ns = time_ns, .tgid = TGID, .tid = tid};

	snprintf(event.counted.counter, COMM_COUNTER_BYTES, "%s", counter);
	event.counted.value = value;
	event.counted.enabled_ns = enabled_ns;
	event.counted.running_ns = running_ns;
	give(&event);
}

static void counts_are_summed_by_slice(void **state)
{
	(void)state;
	give_count(START + 1, FIRST, COMM_COUNTER_CPU, 100, 0, 0);
	/* Counted in a quarter of the time, and again all the time. */
	give_count(START + 2, FIRST, "instructions", 10, 400, 100);
	give_count(START + 3, FIRST, "instructions", 2, 50, 50);
	give_count(START + 3, SECOND, COMM_COUNTER_CPU, 7, 0, 0);
	/* The counter got no place at all: nothing is known of its value. */
	give_count(START + 4, SECOND, "instructions", 0, 30, 0);
	comm_engine_finish(engine, START + 5);
	assert_int_equal(world.n_counts, 4);
	assert_string_equal(world.counter[world.count[0].counter], COMM_COUNTER_CPU);
	assert_true(world.count[0].value == 100 && !world.count[0].region);
	assert_string_equal(world.counter[world.count[1].counter], "instructions");
	assert_true(world.count[1].value == 42);
	assert_int_equal(world.count[1].enabled_ns, 450);
	assert_int_equal(world.count[1].running_ns, 150);
	assert_true(world.count[2].value == 7);
	assert_int_not_equal(world.count[2].thread, world.count[0].thread);
	assert_true(world.count[3].value == 0);
	assert_int_equal(world.count[3].running_ns, 0);
	assert_lost(COMM_LOSS_MAX, 0);
}

/* More counters than there is room for: a recording may be hostile. */
static void counters_are_bounded(void **state)
{
	char name[16];

	(void)state;
	for (int i = 0; i < COMM_COUNTERS_MAX + 3; i++) {
		snprintf(name, sizeof(name), "event-%d", i);
		give_count(START, FIRST, name, 1, 0, 0);
	}
	assert_lost(COMM_LOSS_COUNTS, 3);
	comm_engine_finish(engine, START + 5);
	assert_int_equal(world.n_counts, COMM_COUNTERS_MAX);
}

/* Once some thread is in a region, samples tell of each thread where it spends its time. */
static void samples_tell_time_in_regions(void **state)
{
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	strcpy((char *)world.text + PAGE / 2, "outer");
	memcpy(world.text, "\x48\x8b\x03\xf4", 4); /* mov (%rbx), %rax; hlt */
	sample.period = 1000;
	give_sample(START, SECOND, &sample);
	give_mark(START + 1, SECOND, 1);
	give_sample(START + 1, SECOND, &sample);
	sample.period = 3000;
	give_mark(START + 2, SECOND, 1);
	give_sample(START + 2, SECOND, &sample);
	give_sample(START + 3, SECOND, &sample);
	comm_engine_finish(engine, START + 5);
	assert_int_equal(world.n_counts, 2);
	assert_string_equal(world.counter[world.count[0].counter], COMM_COUNTER_SAMPLED);
	assert_true(world.count[0].region > COMM_CODE_REGION_OTHER);
	assert_true(world.count[0].value == 4000);
	assert_true(!world.count[1].region && world.count[1].value == 3000);
}

/* With callers, by what samples stand for.  The kernel's time is none of the code's. */
static void samples_tell_how_long_code_is(void **state)
{
	const struct comm_identity *identity;
	struct comm_sample sample = sample_at(TEXT);

	(void)state;
	comm_engine_destroy(engine);
	world.callers = 1;
	begin(&noting, true);
	identity = comm_engine_identity(engine);
	sample.period = 1000;
	give_sample(START, SECOND, &sample);
	sample.period = 3000;
	give_sample(START + 1, SECOND, &sample);
	sample.ip = sample.reg[COMM_RCX] = TEXT + 5;
	give_sample(START + 2, SECOND, &sample);
	sample.ip = CLEARS;
	give_sample(START + 3, SECOND, &sample);
	first_slice();
	assert_string_equal(world.counter[world.length_counter], COMM_COUNTER_CPU);
	assert_int_equal(world.n_lengths, 2);
	assert_int_equal(comm_sites_at(identity->sites, world.length[0].site)->line, 1);
	assert_true(world.length[0].bytes == 4000);
	assert_true(world.length[1].bytes == 3000 && !world.length[1].object);
	/* A slice has its own alone. */
	comm_engine_advance(engine, START + 2 * SLICE);
	assert_int_equal(world.n_lengths, 0);
	comm_engine_destroy(engine);
	world.callers = 0;
	begin(&noting, true);
	give_sample(START, SECOND, &sample);
	comm_engine_finish(engine, START + 5);
	assert_int_equal(world.n_lengths, 0);
}

static void give_frame(uint64_t time_ns, uint64_t number)
{
	give(&(struct comm_event){.kind = COMM_EV_FRAME,
				  .time_ns = time_ns,
				  .tgid = TGID,
				  .tid = SECOND,
				  .frame = number});
}

static void frames_are_counted_and_reach_the_estimator(void **state)
{
	const struct comm_threads *threads = comm_engine_identity(engine)->threads;
	struct comm_sample sample = sample_at(TEXT);
	uint64_t now_ns = START;

	(void)state;
	memcpy(world.text, "\x48\x8b\x03\xf4", 4); /* mov (%rbx), %rax; hlt */
	for (uint64_t number = 1; number <= 3; number++) {
		give_frame(now_ns, number);
		for (int i = 0; i < COMM_FRAMES_MET; i++, now_ns += 10)
			give_sample(now_ns, SECOND, &sample);
	}
	assert_true(world.burst.frame.began_ns == 10 * COMM_FRAMES_MET - 5);
	assert_true(world.burst.frame.before_ns == 20 * COMM_FRAMES_MET - 5);
	give(&(struct comm_event){
		.kind = COMM_EV_EXEC, .time_ns = now_ns, .tgid = TGID, .tid = TGID});
	give_sample(now_ns, SECOND, &sample);
	assert_true(world.burst.frame.began_ns == 0);
	comm_engine_finish(engine, now_ns + 5);
	assert_int_equal(world.n_counts, 1);
	assert_string_equal(world.counter[world.count[0].counter], COMM_COUNTER_FRAMES);
	assert_true(world.count[0].value == 2);
	assert_int_equal(comm_threads_at(threads, world.count[0].thread)->tid, TGID);
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

static void give_fork(uint32_t tid)
{
	give(&(struct comm_event){.kind = COMM_EV_FORK,
				  .time_ns = START,
				  .tgid = TGID,
				  .tid = FIRST,
				  .fork = {.child_tgid = TGID, .child_tid = tid}});
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
	assert_int_equal(world.ended, second);
	assert_int_equal(thread_of(FIRST), first);
	/* What comes late is still its own, not a ghost's. */
	assert_int_equal(thread_of(SECOND), second);
	give_fork(SECOND);
	assert_int_not_equal(thread_of(SECOND), second);
	assert_int_equal(world.maps_asked, 1);
	give_precise(COMM_EV_ACCESS, HEAP, COMM_ACCESS_READ);
	assert_int_equal(world.access[0].datum, datum);
	/* With the first thread the process is over: a new one of its pid is another. */
	give_kind(COMM_EV_EXIT, FIRST);
	give_fork(FIRST);
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(samples_become_bursts),
		TEST(known_share),
		TEST(constants),
		TEST(variables),
		TEST(created_threads),
		TEST(samples_behind_a_system_call),
		TEST(samples_that_say_nothing),
		TEST(bytes_that_are_no_instruction),
		TEST(code_of_32_bits),
		TEST(code_that_changed),
		TEST(addresses_in_no_mapping),
		TEST(precise_accesses),
		TEST(precise_access_of_unknown_code),
		TEST(precise_access_and_its_burst),
		TEST(a_threads_stack_is_its_own),
		TEST(regions_are_part_of_sites),
		TEST(counts_are_summed_by_slice),
		TEST(counters_are_bounded),
		TEST(samples_tell_time_in_regions),
		TEST(samples_tell_how_long_code_is),
		TEST(frames_are_counted_and_reach_the_estimator),
		TEST(switches_reach_the_estimator),
		TEST(exits_end_threads_and_spaces),
		TEST(names_and_mappings_change),
		TEST(forks_are_seen_before_their_samples),
		TEST(rates_hold_from_then_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
