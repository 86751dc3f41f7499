// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source of the kernel module without the module: the device is a memory file
 * into whose rings the test writes records, and its ioctls are noted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../../daemon/companion/window_pairs.c"
#include "../../daemon/loss_teller.c"
#include "../../daemon/source/kmod.c"
#include "../../daemon/source/kmod_targets.c"
#include "../../daemon/source/kmod_windows.c"
#include "../../daemon/source/sampler.c"

#include "made_kmod.h"

static struct {
	struct comm_event event[16];
	struct comm_sample sample;
	int n;
} got;

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	assert_true(got.n < 16);
	if (event->kind == COMM_EV_SAMPLE) {
		assert_true(comm_sample_valid(event->sample));
		got.sample = *event->sample;
	}
	got.event[got.n++] = *event;
}

static struct source *fresh(const char *arg, uint32_t watch_per_s)
{
	const struct comm_sampler_config config = {
		.target = (struct comm_target *)&pids,
		.stack_bytes = 512,
		.max_lines = 12,
		.arg = arg,
		.watch_per_s = watch_per_s,
		.debug_registers = 3,
		.interrupt_ns = 1700,
	};
	void *source = NULL;
	char *err = NULL;

	if (source_open(&config, &source, &err))
		fail_msg("%s", err);
	return source;
}

/* Appends a record to the ring; the size in its head is the caller's. */
static void put(uint32_t ring, const void *record, size_t bytes)
{
	struct cp_ring_control *control;
	uint64_t head;

	control = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, last_fd,
		       (off_t)CP_OFF_CONTROL(ring));
	assert_true(control != MAP_FAILED);
	head = control->head;
	assert_int_equal(pwrite(last_fd, record, bytes,
				(off_t)(CP_OFF_DATA(ring) + (head & (fake_bytes - 1)))),
			 bytes);
	control->head = head + bytes;
	munmap(control, 4096);
}

/* What the last drain told of lost data by this cause. */
static uint64_t told_loss(enum comm_loss cause)
{
	uint64_t n = 0;

	for (int i = 0; i < got.n; i++)
		if (got.event[i].kind == COMM_EV_LOSS && got.event[i].cause == cause)
			n += got.event[i].count;
	return n;
}

static int drain(struct source *s)
{
	memset(&got, 0, sizeof(got));
	return source_drain(s, take, NULL);
}

static int begin(void **state)
{
	(void)state;
	fake_open_errno = 0;
	fake_abi = CP_ABI_VERSION;
	n_told = n_rates = n_pointees = pointees_errno = target_errno = 0;
	cgroup_id = 0;
	follows = false;
	capacity = 0;
	n_pids = 1;
	pids[0] = 77;
	memset(&fake_stats, 0, sizeof(fake_stats));
	memset(&watched, 0, sizeof(watched));
	return 0;
}

static void test_probe(void **state)
{
	char *why = NULL;

	(void)state;
	assert_int_equal(probe(&why), 0);
	close(last_fd);
	fake_open_errno = ENOENT;
	assert_int_equal(probe(&why), -ENOENT);
	assert_non_null(strstr(why, "modprobe commprof"));
	free(why);
	fake_open_errno = EACCES;
	assert_int_equal(probe(&why), -EACCES);
	assert_non_null(strstr(why, "CAP_PERFMON"));
	free(why);
	fake_open_errno = 0;
	fake_abi = CP_ABI_VERSION + 1;
	assert_int_equal(probe(&why), -EPROTO);
	assert_non_null(strstr(why, "version"));
	free(why);
	close(last_fd);
}

struct sample_record {
	struct cp_sample sample;
	struct {
		struct cp_chunk head;
		uint8_t data[64];
	} chunk[2];
};

static struct sample_record sample_record(void)
{
	struct sample_record r = {
		.sample = {.head = {.size_bytes = sizeof(r),
				    .type = CP_REC_SAMPLE,
				    .time_ns = 1000,
				    .tgid = 77,
				    .tid = 78,
				    .cpu = 1,
				    .mode_bits = 64,
				    .period = 4242},
			   .ip = 0x401000,
			   .known = 0x3ffff,
			   .n_chunks = 2,
			   .data_bytes = 128},
		.chunk = {{{0x7000, 64, 0}, {1}}, {{0x8000, 64, 0}, {2}}},
	};

	for (int i = 0; i < CP_REGS; i++)
		r.sample.reg[i] = 100 + (uint64_t)i;
	return r;
}

static void test_sample(void **state)
{
	struct source *s = fresh("", 0);
	struct sample_record r = sample_record();
	uint64_t seen[CPUS];

	(void)state;
	assert_true(asked.flags == (CP_SOURCE_BURST | CP_SOURCE_COPIES) &&
		    asked.stack_bytes == 512);
	assert_int_equal(told[0].id, 77);
	assert_int_equal(told[0].flags, 0);
	put(2, &r, sizeof(r));
	assert_int_equal(drain(s), 1);
	assert_true(got.event[0].kind == COMM_EV_SAMPLE && got.event[0].tid == 78 &&
		    got.event[0].cpu == 1 && got.event[0].time_ns == 1000);
	assert_true(got.sample.period == 4242 && got.sample.ip == 0x401000 &&
		    got.sample.reg[COMM_R15] == 115 && got.sample.reg[COMM_GS_BASE] == 117);
	assert_true(got.sample.n_chunks == 2 && got.sample.chunk[1].addr == 0x8000 &&
		    got.sample.data[got.sample.chunk[1].offset] == 2);
	source_seen(s, seen);
	assert_true(!seen[0] && seen[1] == 1000);
	source_close(s);
	close(last_fd);
}

/* Records with wrong sizes and counts: none may be read beyond its end, each is counted. */
static void test_damaged(void **state)
{
	struct source *s = fresh("", 0);
	struct sample_record r = sample_record();
	struct cp_access access = {.head = {.size_bytes = 64, .type = CP_REC_ACCESS, .tgid = 77}};

	(void)state;
	put(0, &r, sizeof(r));
	assert_int_equal(drain(s), 1);
	r.chunk[1].head.len_bytes = 4096;
	put(0, &r, sizeof(r));
	assert_int_equal(drain(s), 2);
	assert_int_equal(got.sample.n_chunks, 1);
	assert_int_equal(told_loss(COMM_LOSS_MALFORMED), 1);
	r = sample_record();
	r.sample.head.size_bytes = 64; /* shorter than a sample */
	put(0, &r, 64);
	put(0, &access, 64);
	access.head.type = 99;
	access.head.size_bytes = sizeof(access);
	put(0, &access, sizeof(access));
	access.head.size_bytes = 8;
	put(0, &access, 8);
	access.head.size_bytes = 4; /* no record at all, and it hides the next */
	put(0, &access, 8);
	access.head.size_bytes = 8;
	put(0, &access, 8);
	assert_int_equal(drain(s), 1);
	assert_int_equal(told_loss(COMM_LOSS_MALFORMED), 5);
	r = sample_record();
	put(0, &r, sizeof(r));
	assert_int_equal(drain(s), 1);
	assert_int_equal(got.event[0].kind, COMM_EV_SAMPLE);
	source_close(s);
	close(last_fd);
}

static struct cp_evidence evidence(uint16_t type, uint64_t time_ns, uint32_t tid, uint16_t flags)
{
	return (struct cp_evidence){
		.head = {.size_bytes = sizeof(struct cp_evidence),
			 .type = type,
			 .time_ns = time_ns,
			 .tgid = 77,
			 .tid = tid},
		.second = {.ip = 0x24,
			   .addr = 0x5000,
			   .size_bytes = 8,
			   .flags = flags | CP_ACCESS_IP_AFTER},
	};
}

/* In the window of 900 the write of 890 is the last before it. */
static struct cp_evidence pair_record(uint64_t time_ns, uint32_t tid, uint16_t flags,
				      uint32_t writer)
{
	struct cp_evidence e = evidence(CP_REC_PAIR, time_ns, tid, flags);

	e.armed_ns = 900;
	e.first_ns = 890;
	e.first_tgid = writer ? 77 : 0;
	e.first_tid = writer;
	e.first.ip = 0x44;
	e.first.flags = CP_ACCESS_WRITE | CP_ACCESS_IP_AFTER;
	return e;
}

static struct cp_window window_record(uint32_t reads, uint32_t writes, enum cp_window_end end)
{
	return (struct cp_window){
		.head = {.size_bytes = sizeof(struct cp_window),
			 .type = CP_REC_WINDOW,
			 .time_ns = 2000,
			 .tgid = 77,
			 .tid = 79,
			 .period = 1000},
		.addr = 0x5000,
		.size_bytes = 8,
		.first_ns = 800,
		.armed_ns = 810,
		.written_ns = end == CP_WINDOW_END_UNWRITTEN ? 0 : 890,
		.opened_ns = end == CP_WINDOW_END_UNWRITTEN ? 0 : 900,
		.closed_ns = 2000,
		.reads = reads,
		.writes = writes,
		.end = end,
	};
}

static void put_first(uint32_t writer)
{
	struct cp_evidence e = evidence(CP_REC_WATCH, 890, writer, CP_ACCESS_WRITE);

	e.first = (typeof(e.first)){
		.ip = 0x10, .addr = 0x5000, .size_bytes = 8, .flags = CP_ACCESS_READ};
	e.first_ns = 800;
	e.armed_ns = 810;
	e.first_tgid = 77;
	e.first_tid = 79;
	put(1, &e, sizeof(e));
}

/* Records of one window lie in several rings, its end perhaps in the first. */
static void test_windows(void **state)
{
	struct source *s = fresh("", 300);
	struct cp_evidence write = pair_record(930, 80, CP_ACCESS_WRITE, 81);
	struct cp_evidence read = pair_record(920, 79, CP_ACCESS_READ, 81);
	struct cp_evidence again = pair_record(940, 79, CP_ACCESS_READ, 80);
	struct cp_evidence blind = pair_record(950, 79, CP_ACCESS_READ, 0);
	struct cp_window end = window_record(3, 1, CP_WINDOW_END_TIME);
	struct comm_sampler_stats stats;

	(void)state;
	assert_true(watched.per_second == 300 && watched.flags == CP_WATCH_WINDOW &&
		    watched.slots == 1 && watched.window_us && watched.timeout_us);
	assert_true(budgeted.cap_ppm == CAP_PPM && budgeted.entry_ns == 1700);
	again.first_ns = 930;
	again.first.ip = 0x24;
	/* Of four reads that were sampled one got a window. */
	fake_stats.records = 6;
	fake_stats.watch_armed = 10;
	fake_stats.lost[CP_LOST_WATCH_BUSY] = 20;
	fake_stats.lost[CP_LOST_WATCH_RATE] = 10;
	assert_int_equal(drain(s), 0);
	put(0, &end, sizeof(end));
	put_first(81);
	put(1, &again, sizeof(again));
	put(2, &write, sizeof(write));
	put(2, &read, sizeof(read));
	put(2, &blind, sizeof(blind));
	assert_int_equal(drain(s), 2);
	for (int i = 0; i < 2; i++) {
		const struct comm_event *e = &got.event[i];

		assert_true(e->kind == COMM_EV_FED && e->fed.how == COMM_FED_REGISTERS);
		assert_true(e->fed.window == got.event[0].fed.window);
		assert_true(e->fed.read_tid == 79 && e->fed.read.ip == 0x23 &&
			    e->fed.read.addr == 0x5000 && e->fed.read.flags == COMM_ACCESS_READ);
		assert_true(e->fed.write.flags == COMM_ACCESS_WRITE);
		assert_true(e->fed.stands_for == 4 * 8 * 1000 / 2.0);
	}
	assert_true(got.event[0].tid == 81 && got.event[0].fed.write.ip == 0x43 &&
		    got.event[0].fed.read_ns == 920 && got.event[0].fed.write_ns == 890);
	assert_true(got.event[1].tid == 80 && got.event[1].fed.write.ip == 0x23 &&
		    got.event[1].fed.read_ns == 940 && got.event[1].fed.write_ns == 930);
	source_stats(s, &stats);
	assert_int_equal(stats.samples, 0);
	source_close(s);
	close(last_fd);
}

/* Nobody read, nobody wrote, nobody knows. */
static void test_windows_without_pairs(void **state)
{
	struct source *s = fresh("", 300);
	struct cp_window end = window_record(0, 0, CP_WINDOW_END_TIME);
	struct cp_window unwritten = window_record(0, 0, CP_WINDOW_END_UNWRITTEN);
	struct cp_window capped = window_record(0, 0, CP_WINDOW_END_BUDGET);

	(void)state;
	/* Who wrote first after the drawn read need not be who wrote last before it. */
	put_first(81);
	put(0, &end, sizeof(end));
	assert_int_equal(drain(s), 1);
	assert_true(got.event[0].kind == COMM_EV_FED && !got.event[0].fed.write.flags &&
		    got.event[0].fed.read.ip == 0x10 && got.event[0].fed.read_tid == 79 &&
		    !got.event[0].fed.read_ns && got.event[0].fed.stands_for == 8000);
	/* What nobody writes is not fresh; of what was not looked at nothing is known. */
	put(0, &unwritten, sizeof(unwritten));
	put(0, &capped, sizeof(capped));
	assert_int_equal(drain(s), 0);
	/* A record of it was lost. */
	end.first_ns = 801;
	end.reads = 1;
	put(0, &end, sizeof(end));
	assert_int_equal(drain(s), 1);
	assert_int_equal(told_loss(COMM_LOSS_WATCH), 1);
	end.head.size_bytes = 64;
	put(0, &end, 64);
	assert_int_equal(drain(s), 1);
	assert_int_equal(told_loss(COMM_LOSS_MALFORMED), 1);
	source_close(s);
	close(last_fd);
}

static void test_too_few_registers(void **state)
{
	const struct comm_sampler_config config = {
		.target = (struct comm_target *)&pids,
		.stack_bytes = 512,
		.arg = "",
		.watch_per_s = 1,
		.debug_registers = 1,
	};
	void *source = NULL;
	char *err = NULL;

	(void)state;
	assert_int_equal(source_open(&config, &source, &err), -EINVAL);
	assert_non_null(strstr(err, "two debug registers"));
	free(err);
	close(last_fd);
}

static void test_precise(void **state)
{
	struct source *s = fresh("precise", 0);
	struct comm_sampler_info info;
	struct cp_access a = {
		.head = {.size_bytes = sizeof(a), .type = CP_REC_ACCESS, .tgid = 77, .tid = 77},
		.ip = 0x10,
		.addr = 0x5000,
		.size_bytes = 4,
		.flags = CP_ACCESS_WRITE | CP_ACCESS_EITHER,
		.latency_cycles = 12,
		.data_src = 5,
	};

	(void)state;
	assert_true(asked.kind == CP_SOURCE_IBS && asked.type == 11 &&
		    asked.period == PRECISE_PERIOD - PRECISE_PERIOD % 16 &&
		    asked.flags == CP_SOURCE_JITTER);
	source_info(s, &info);
	assert_true(info.trigger == COMM_TRIGGER_ACCESSES && !strcmp(info.event, "ibs_op//"));
	put(1, &a, sizeof(a));
	fake_stats.lost[CP_LOST_NO_ADDRESS] = 3;
	fake_stats.lost[CP_LOST_THROTTLED] = 4;
	fake_stats.lost[CP_LOST_IMPRECISE] = 5;
	assert_int_equal(drain(s), 4);
	assert_true(got.event[0].kind == COMM_EV_ACCESS && got.event[0].access.addr == 0x5000 &&
		    got.event[0].access.flags == COMM_ACCESS_WRITE &&
		    got.event[0].access.latency_cycles == 12);
	assert_true(got.event[1].kind == COMM_EV_LOSS && got.event[1].cause == COMM_LOSS_THROTTLE &&
		    got.event[1].count == 4);
	assert_true(got.event[2].cause == COMM_LOSS_NO_ADDRESS && got.event[2].count == 3);
	assert_true(got.event[3].cause == COMM_LOSS_IMPRECISE && got.event[3].count == 5);
	assert_int_equal(source_set_rate(s, &(struct comm_sampler_rate){.period = 100003}), 0);
	assert_int_equal(rates[0].period, 100016);
	source_close(s);
	close(last_fd);
	/* Where the kernel can leave its own code out, it is asked to. */
	filters = true;
	source_close(fresh("precise", 0));
	filters = false;
	assert_int_equal(asked.flags, CP_SOURCE_JITTER | CP_SOURCE_SWFILT);
	close(last_fd);
}

/* An access, and the registers behind it, which are the same sample. */
static void test_precise_burst(void **state)
{
	struct source *s = fresh("precise", 0);
	struct comm_sampler_stats stats;
	struct cp_access a = {
		.head = {.size_bytes = sizeof(a),
			 .type = CP_REC_ACCESS,
			 .tgid = 77,
			 .tid = 77,
			 .period = 200006},
		.flags = CP_ACCESS_READ | CP_ACCESS_BURST,
	};
	struct cp_sample behind = {
		.head = {.size_bytes = sizeof(behind),
			 .type = CP_REC_SAMPLE,
			 .mode_bits = 64,
			 .tgid = 77,
			 .tid = 77,
			 .period = 200006},
		.known = 0xffff | CP_NO_FLAGS,
	};

	(void)state;
	put(1, &a, sizeof(a));
	put(1, &behind, sizeof(behind));
	fake_stats.records = 2;
	assert_int_equal(drain(s), 2);
	assert_true(got.event[0].access.flags == (COMM_ACCESS_READ | COMM_ACCESS_BURST) &&
		    got.event[0].access.period == 200006);
	assert_true(got.event[1].kind == COMM_EV_SAMPLE && got.sample.period == 200006 &&
		    got.sample.known == (0xffff | (uint32_t)COMM_SAMPLE_NO_FLAGS));
	source_stats(s, &stats);
	assert_int_equal(stats.samples, 1);
	source_close(s);
	close(last_fd);
}

static void test_transfers(void **state)
{
	struct source *s;

	(void)state;
	source_close(fresh("precise", 0));
	assert_int_equal(wanted_events, COMM_PMU_ACCESSES);
	close(last_fd);
	is_intel = true;
	source_close(fresh("precise", 0));
	assert_int_equal(asked.flags, CP_SOURCE_STORES | CP_SOURCE_JITTER | CP_SOURCE_BURST);
	assert_int_equal(asked.period, PRECISE_PERIOD);
	close(last_fd);
	s = fresh("transfers", 0);
	is_intel = false;
	assert_true(wanted_events == COMM_PMU_TRANSFERS && asked.kind == CP_SOURCE_PEBS);
	assert_int_equal(asked.flags, CP_SOURCE_STORES | CP_SOURCE_JITTER);
	assert_string_equal(s->event_name, "cpu/loads/,cpu/stores/");
	source_close(s);
	close(last_fd);
}

static void test_losses(void **state)
{
	struct source *s = fresh("", 0);

	(void)state;
	fake_stats.lost[CP_LOST_RING_FULL] = 5;
	fake_stats.lost[CP_LOST_NESTED] = 2;
	fake_stats.lost[CP_LOST_WATCH_RATE] = 1000; /* the limit that was asked for: no loss */
	assert_int_equal(drain(s), 1);
	assert_true(got.event[0].cause == COMM_LOSS_RING && got.event[0].count == 7);
	assert_int_equal(drain(s), 0);
	fake_stats.lost[CP_LOST_RING_FULL] = 6;
	fake_stats.lost[CP_LOST_BUDGET] = 4;
	assert_int_equal(drain(s), 2);
	assert_int_equal(got.event[0].count, 1);
	assert_true(got.event[1].cause == COMM_LOSS_THROTTLE && got.event[1].count == 4);
	fake_stats.lost[CP_LOST_WATCH_BUSY] =
		2; /* likewise: who has a window stands for the others */
	fake_stats.lost[CP_LOST_WATCH_STORM] = 1;
	assert_int_equal(drain(s), 1);
	assert_true(got.event[0].cause == COMM_LOSS_WATCH && got.event[0].count == 1);
	source_close(s);
	close(last_fd);
}

static void test_rate(void **state)
{
	const uint8_t park[CPUS] = {0, 3};
	const struct comm_sampler_rate rate = {.period = 500000, .lines = true, .park = park};
	struct comm_sampler_stats stats;
	struct source *s = fresh("", 0);

	(void)state;
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_int_equal(n_rates, 2);
	assert_true(rates[0].cpu == 0 && rates[0].period == 500000);
	assert_true(rates[1].cpu == 1 && rates[1].period == 4000000);
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_int_equal(n_rates, 2);
	source_stats(s, &stats);
	assert_int_equal(stats.period, 500000);
	source_close(s);
	close(last_fd);
}

/* Memory that registers point to is asked for or left out, as the governor says. */
static void test_lines(void **state)
{
	struct comm_sampler_rate rate = {.period = 500000, .lines = true};
	struct source *s = fresh("", 0);

	(void)state;
	assert_true(asked.chunk_bytes && asked.depth);
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_int_equal(n_pointees, 0);
	rate.lines = false;
	pointees_errno = EINVAL; /* asked again then */
	assert_int_equal(source_set_rate(s, &rate), -EINVAL);
	pointees_errno = 0;
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_true(n_pointees == 2 && !told_pointees.on && told_pointees.id == 0);
	rate.lines = true;
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_true(n_pointees == 3 && told_pointees.on);
	source_close(s);
	close(last_fd);

	/* A source that has no such memory is not asked. */
	s = fresh("precise", 0);
	rate.lines = false;
	assert_int_equal(source_set_rate(s, &rate), 0);
	assert_int_equal(n_pointees, 3);
	source_close(s);
	close(last_fd);
}

/* A write by the kernel for a thread is not an access of its code. */
static void test_copies(void **state)
{
	struct cp_access copy = {
		.head = {.size_bytes = sizeof(copy), .type = CP_REC_COPY, .tgid = 77, .tid = 78},
		.ip = 0x401002,
		.addr = 0x5000,
		.size_bytes = 4096,
		.flags = CP_ACCESS_WRITE | CP_ACCESS_KERNEL | CP_ACCESS_IP_AFTER,
	};
	struct comm_sampler_stats stats;
	struct comm_sampler_info info;
	struct source *s = fresh("", 0);

	(void)state;
	source_info(s, &info);
	assert_true(info.sees_kernel_copies);
	put(0, &copy, sizeof(copy));
	copy.head.size_bytes = 64;
	put(0, &copy, 64); /* shorter than one */
	assert_int_equal(drain(s), 2);
	assert_int_equal(told_loss(COMM_LOSS_MALFORMED), 1);
	assert_true(got.event[0].kind == COMM_EV_KCOPY && got.event[0].tid == 78 &&
		    got.event[0].access.addr == 0x5000 && got.event[0].access.ip == 0x401002 &&
		    got.event[0].access.size_bytes == 4096 &&
		    got.event[0].access.flags == (COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL));
	fake_stats.records = 3;
	source_stats(s, &stats);
	assert_true(stats.kcopies == 1 && stats.samples == 2);
	source_close(s);
	close(last_fd);
	s = fresh("precise", 0);
	source_info(s, &info);
	assert_false(info.sees_kernel_copies);
	source_close(s);
	close(last_fd);
}

/*
 * More targets than the module takes: the others are not sampled and are counted, once
 * each, until there is room.  Nobody else is ever asked for.
 */
static void test_marks(void **state)
{
	struct source *s = fresh("", 0);
	const struct comm_marks_place place = {-128, 0x5000, true};
	struct sample_record r = sample_record();
	struct cp_mark mark = {.head = r.sample.head, .frame = 7, .depth = 9};
	struct comm_sampler_stats stats;

	(void)state;
	source_marks(s, 77, &place);
	assert_true(marked.tgid == 77 && marked.stack == -128 && marked.process == 0x5000 &&
		    marked.size == sizeof(marked) && !marked.flags);
	mark.head.type = CP_REC_MARK;
	mark.head.size_bytes = sizeof(mark);
	mark.name[0] = 0x10;
	mark.name[7] = 0x80;
	put(0, &mark, sizeof(mark));
	put(0, &r, sizeof(r));
	/* In no region, and in the same frame as before. */
	mark.frame = mark.depth = 0;
	put(0, &mark, sizeof(mark));
	fake_stats.records = 3;
	fake_stats.lost[CP_LOST_STOPPED] = 5;
	assert_int_equal(drain(s), 4);
	assert_true(got.event[0].kind == COMM_EV_FRAME && got.event[0].frame == 7);
	assert_true(got.event[1].kind == COMM_EV_MARK && got.event[1].tid == 78 &&
		    got.event[1].time_ns == 1000 && got.event[1].marks.n == COMM_MARKS_MAX &&
		    got.event[1].marks.name[0] == 0x10 && got.event[1].marks.name[7] == 0x80);
	assert_int_equal(got.event[2].kind, COMM_EV_SAMPLE);
	assert_int_equal(told_loss(COMM_LOSS_STOPPED), 5);
	source_stats(s, &stats);
	assert_int_equal(stats.samples, 1);
	/* Shorter than one. */
	mark.head.size_bytes = 64;
	put(0, &mark, 64);
	assert_int_equal(drain(s), 1);
	assert_int_equal(told_loss(COMM_LOSS_MALFORMED), 1);
	source_close(s);
	close(last_fd);
}

static void test_many(void **state)
{
	struct source *s;

	(void)state;
	follows = true;
	s = fresh("", 0);
	assert_int_equal(told[0].flags, CP_TARGET_CHILDREN);
	for (n_pids = 0; n_pids < PIDS_MAX; n_pids++)
		pids[n_pids] = 77 + n_pids;
	assert_int_equal(drain(s), 1);
	assert_int_equal(n_told, CP_MAX_TARGETS);
	assert_int_equal(told_loss(COMM_LOSS_TARGETS), PIDS_MAX - CP_MAX_TARGETS);
	assert_int_equal(drain(s), 0);
	/* Three end: as many of those that were left out take their places. */
	n_pids = PIDS_MAX - 3;
	memmove(pids, pids + 3, n_pids * sizeof(pids[0]));
	capacity = 3;
	assert_int_equal(drain(s), 0);
	assert_int_equal(n_told, CP_MAX_TARGETS + 3);
	assert_int_equal(told[n_told - 1].id, 77 + CP_MAX_TARGETS + 2);
	/* The first one's number comes back, but not before another makes room. */
	pids[n_pids++] = 77;
	assert_int_equal(drain(s), 1);
	assert_int_equal(told_loss(COMM_LOSS_TARGETS), 1);
	for (int i = 0; i < n_told; i++)
		assert_int_equal(told[i].kind, CP_TARGET_TGID);
	source_close(s);
	close(last_fd);
}

/* Of a cgroup that is made again the module is told the new directory, once. */
static void test_cgroup(void **state)
{
	struct source *s;

	(void)state;
	cgroup_id = 5;
	s = fresh("", 0);
	drain(s);
	assert_int_equal(n_told, 1);
	assert_true(told[0].kind == CP_TARGET_CGROUP && told[0].id == 1005);
	cgroup_id = 6;
	/* It may be gone already when it is told: the next one is. */
	target_errno = ENOENT;
	drain(s);
	assert_int_equal(n_told, 1);
	target_errno = 0;
	drain(s);
	drain(s);
	assert_int_equal(n_told, 2);
	assert_true(told[1].kind == CP_TARGET_CGROUP && told[1].id == 1006);
	cgroup_id = 7;
	target_errno = ENOSPC;
	drain(s);
	assert_int_equal(told_loss(COMM_LOSS_TARGETS), 1);
	target_errno = 0;
	source_close(s);
	close(last_fd);
}

/* Within the limit a process that has ended and comes back is told again. */
static void test_reused(void **state)
{
	struct source *s = fresh("", 0);

	(void)state;
	assert_int_equal(n_told, 1);
	n_pids = 2;
	pids[1] = 78;
	drain(s);
	drain(s);
	assert_int_equal(n_told, 2);
	n_pids = 1;
	drain(s);
	n_pids = 2;
	drain(s);
	assert_true(n_told == 3 && told[2].id == 78);
	source_close(s);
	close(last_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_probe, begin),
		cmocka_unit_test_setup(test_sample, begin),
		cmocka_unit_test_setup(test_damaged, begin),
		cmocka_unit_test_setup(test_windows, begin),
		cmocka_unit_test_setup(test_windows_without_pairs, begin),
		cmocka_unit_test_setup(test_too_few_registers, begin),
		cmocka_unit_test_setup(test_precise, begin),
		cmocka_unit_test_setup(test_precise_burst, begin),
		cmocka_unit_test_setup(test_transfers, begin),
		cmocka_unit_test_setup(test_losses, begin),
		cmocka_unit_test_setup(test_rate, begin),
		cmocka_unit_test_setup(test_lines, begin),
		cmocka_unit_test_setup(test_copies, begin),
		cmocka_unit_test_setup(test_marks, begin),
		cmocka_unit_test_setup(test_many, begin),
		cmocka_unit_test_setup(test_cgroup, begin),
		cmocka_unit_test_setup(test_reused, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
