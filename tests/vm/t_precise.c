// SPDX-License-Identifier: GPL-2.0-or-later
/* PEBS and IBS, as the stand-in PMU plays them; see standin/standin.c. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cptest.h"

#define ADDR_BASE 0x100000000000ull
#define DRAINED_R15 0x600d0000ull

enum { PERIOD = 1600 };

struct tally {
	uint64_t n, wrong, kernel, cpus[64], min_latency, sources[4], no_source, flags_wrong;
	uint64_t batches, mode32, mode32_wrong, bursts, bursts_wrong, last_period[2], halves;
	struct cp_access before[64]; /* by CPU: a reader may come between an access and its burst */
	bool ibs, store, has_source, atom;
};

/* mem_op, mem_lvl, mem_snoop as in perf_event.h's bit layout. */
#define SRC(op, lvl, snoop) ((uint64_t)(op) | (uint64_t)(lvl) << 5 | (uint64_t)(snoop) << 19)
static const uint64_t sources[4] = {
	SRC(0x02, 0x02 | 0x08, 0x02),
	SRC(0x02, 0x02 | 0x40, 0x10),
	SRC(0x02, 0x02 | 0x80, 0x08),
	SRC(0x04, 0x02 | 0x08, 0x01),
};

extern const char spin_load[], spin_load_end[], spin_store[], spin_store_end[];
extern const char spin_both[], spin_both_end[];

static uint64_t datum[3];
static pid_t pid32;

/* The spinner's loop has a load of 8 bytes, a store of 4 and an instruction that does both. */
static bool spin_flags_wrong(struct tally *tally, const struct cp_access *access)
{
	uint16_t both = CP_ACCESS_READ | CP_ACCESS_WRITE, ways = access->flags & both;

	if (!access->size_bytes)
		return false;
	if (access->ip == (uint64_t)spin_load)
		return ways != CP_ACCESS_READ || access->size_bytes != 8;
	if (access->ip == (uint64_t)spin_store)
		return ways != CP_ACCESS_WRITE || access->size_bytes != 4;
	if (access->ip != (uint64_t)spin_both)
		return false;
	tally->halves++;
	return ways != (tally->ibs     ? both
			: tally->store ? CP_ACCESS_WRITE
				       : CP_ACCESS_READ) ||
	       access->size_bytes != 8;
}

/* The kernel's, or nobody's. */
static bool is_no_programs(uint64_t ip)
{
	return ip >> 47;
}

static void take_access(struct tally *tally, const struct cp_access *access)
{
	const struct cp_record *record = &access->head;
	uint64_t n = (access->addr - ADDR_BASE) / 64, want;

	tally->n++;
	tally->cpus[record->cpu]++;
	tally->kernel += is_no_programs(access->ip);
	want = tally->ibs ? sources[n % 4] : sources[tally->store ? 3 : n % 3];
	if (tally->atom)
		want = (want & ~0x1full) | 0x01;
	if (!tally->has_source)
		want = 0;
	if (record->context != CP_CONTEXT_NMI || access->addr % 64 || n > 1000000 || n % 7 == 6 ||
	    n % 11 == 10 || (tally->ibs && n % 5 == 0) || access->latency_cycles != 100 + n % 50 ||
	    access->data_src != want)
		tally->wrong++;
	tally->batches |= 1 << n % 8;
	tally->flags_wrong += spin_flags_wrong(tally, access);
	if (!is_no_programs(access->ip)) {
		bool is_32 = record->tgid == (uint32_t)pid32;

		tally->mode32 += is_32;
		tally->mode32_wrong +=
			record->mode_bits != (is_32 ? 32 : 64) || (is_32 && access->size_bytes);
	}
	if (access->latency_cycles < tally->min_latency)
		tally->min_latency = access->latency_cycles;
	tally->no_source += !access->data_src;
	tally->last_period[record->source % 2] = record->period;
	tally->before[record->cpu] = *access;
}

/* Behind its access, with the registers of the record, at the next instruction. */
static void take_burst(struct tally *tally, const struct cp_sample *sample)
{
	const struct cp_access *before = &tally->before[sample->head.cpu];
	uint64_t next = before->ip == (uint64_t)spin_load    ? (uint64_t)spin_load_end
			: before->ip == (uint64_t)spin_store ? (uint64_t)spin_store_end
			: before->ip == (uint64_t)spin_both  ? (uint64_t)spin_both_end
							     : 0;

	tally->bursts += !!next;
	if (!(before->flags & CP_ACCESS_BURST) || sample->head.time_ns != before->head.time_ns ||
	    sample->head.tid != before->head.tid || sample->head.period != before->head.period ||
	    (next && sample->ip != next) || sample->known != (0xffff | CP_NO_FLAGS) ||
	    sample->n_chunks || sample->reg[15] != DRAINED_R15 + (before->addr - ADDR_BASE) / 64 ||
	    (next && sample->reg[7] != (uint64_t)datum))
		tally->bursts_wrong++;
}

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;

	if (record->type == CP_REC_ACCESS)
		take_access(tally, (const void *)record);
	else if (record->type == CP_REC_SAMPLE)
		take_burst(tally, (const void *)record);
	else
		tally->wrong++;
}

/* Once: its labels are global.  TCG interrupts only where a jump leads. */
static __attribute__((noinline, noclone)) void spin(void *unused)
{
	asm volatile(".globl spin_load, spin_load_end, spin_store, spin_store_end\n"
		     ".globl spin_both, spin_both_end\n"
		     "spin_load: movq (%%rdi), %%rax\n"
		     "spin_load_end: jmp spin_store\n"
		     "spin_store: movl %%eax, 8(%%rdi)\n"
		     "spin_store_end: jmp spin_both\n"
		     "spin_both: incq 16(%%rdi)\n"
		     "spin_both_end: jmp spin_load\n"
		     :
		     : "D"(datum)
		     : "rax", "memory");
}

static void spin_on_cpu(void *cpu)
{
	pin((intptr_t)cpu);
	spin(NULL);
}

static int open_run(const char *pmu, struct cp_source *source, struct tally *tally,
		    struct cp_stats *stats)
{
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_reader *reader;
	pid_t pid[2];
	int err;

	memset(tally->cpus, 0, sizeof(tally->cpus));
	tally->min_latency = ~0ull;
	source->type = pmu_type(pmu);
	source->period = PERIOD;
	reader = session(0);
	cp_reader_budget(reader, &budget);
	err = cp_reader_source(reader, source);
	tally->has_source = source->has_data_src;
	if (!err) {
		for (int i = 0; i < 2; i++)
			pid[i] = spawn(spin_on_cpu, (void *)(intptr_t)i);
		run_until(reader, 500, take, tally, &tally->n, 100);
		cp_reader_stats(reader, stats);
		for (int i = 0; i < 2; i++)
			reap(pid[i]);
	}
	cp_reader_destroy(reader);
	return err;
}

/* What must hold of a whole run; anything else is exact, record by record. */
struct expected {
	uint32_t precise;
	bool has_source, one_cpu, bursts;
	uint64_t min_latency;
};

static void one(const char *name, const char *pmu, struct cp_source source, struct tally tally,
		struct expected expected)
{
	struct cp_stats stats;
	int err = open_run(pmu, &source, &tally, &stats);

	check(!err && tally.n >= 60 && !tally.wrong && !tally.flags_wrong &&
		      (!tally.kernel || source.flags & CP_SOURCE_KERNEL) &&
		      source.precise == expected.precise &&
		      source.has_data_src == expected.has_source &&
		      (tally.no_source == 0) == expected.has_source &&
		      tally.min_latency >= expected.min_latency &&
		      (!expected.one_cpu || !tally.cpus[0]) && tally.batches == 0xff &&
		      !tally.mode32_wrong && !tally.bursts_wrong &&
		      (tally.bursts > 0) == expected.bursts && stats.lost[CP_LOST_NO_ADDRESS] > 0 &&
		      stats.lost[CP_LOST_IMPRECISE] > 0 && stats.lost[CP_LOST_THROTTLED] > 0,
	      name,
	      "%s, %lu records, %lu wrong, %lu flags wrong, %lu halves, %lu kernel, precise %u, "
	      "source %u, latency >= %lu, lost %llu %llu %llu, cpu0 %lu, batches %lx, 32-bit %lu, "
	      "%lu wrong, bursts %lu, %lu wrong",
	      strerror(-err), tally.n, tally.wrong, tally.flags_wrong, tally.halves, tally.kernel,
	      source.precise, source.has_data_src, tally.min_latency,
	      stats.lost[CP_LOST_NO_ADDRESS], stats.lost[CP_LOST_IMPRECISE],
	      stats.lost[CP_LOST_THROTTLED], tally.cpus[0], tally.batches, tally.mode32,
	      tally.mode32_wrong, tally.bursts, tally.bursts_wrong);
}

/* Two events of one counter: each sample stands for twice as many, since half are not counted. */
static void test_shared_counter(void)
{
	struct cp_source source = {.kind = CP_SOURCE_PEBS,
				   .flags = CP_SOURCE_STORES,
				   .type = pmu_type("standin_pebs"),
				   .config = 0x2cd,
				   .period = PERIOD};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct tally tally = {.store = true, .has_source = true};
	struct cp_reader *reader = session(0);
	uint64_t end_ns = now_ns() + LIMIT_S * 1000000000ull;
	pid_t pid = spawn(spin, NULL);
	int err[2];

	cp_reader_budget(reader, &budget);
	for (int i = 0; i < 2; i++)
		err[i] = cp_reader_source(reader, &source);
	/* They take turns by time, however many samples come. */
	while (!err[0] && !err[1] && tally.n < 200 && now_ns() < end_ns)
		run(reader, 1000, take, &tally);
	check(!err[0] && !err[1] && tally.n >= 200 && tally.last_period[0] > 1.5 * PERIOD &&
		      tally.last_period[0] < 2.7 * PERIOD && tally.last_period[1] > 1.5 * PERIOD &&
		      tally.last_period[1] < 2.7 * PERIOD,
	      "pebs: events that take turns stand for both turns",
	      "%s, %s, %lu records, periods %lu and %lu of %u", strerror(-err[0]),
	      strerror(-err[1]), tally.n, tally.last_period[0], tally.last_period[1], PERIOD);
	reap(pid);
	cp_reader_destroy(reader);
}

struct intervals {
	uint64_t n, right, lengths;
	uint64_t last;
};

/* The stand-in says in the sample itself how long the interval was that it ends. */
static void take_interval(const struct cp_record *record, void *argument)
{
	struct intervals *intervals = argument;
	const struct cp_access *access = (const void *)record;
	const struct cp_sample *sample = (const void *)record;
	uint64_t ended = record->type == CP_REC_ACCESS ? access->latency_cycles : sample->reg[15];

	intervals->n++;
	intervals->right += record->period == ended;
	intervals->lengths += record->period != intervals->last;
	intervals->last = record->period;
}

/* Each sample stands for the interval that it ends, of which no two are the same. */
static void test_interval(const char *name, const char *pmu, struct cp_source source)
{
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct intervals intervals = {};
	struct cp_reader *reader = session(0);
	pid_t pid = spawn(spin, NULL);
	int err;

	source.type = pmu_type(pmu);
	source.flags |= CP_SOURCE_JITTER;
	source.period = 16 * PERIOD;
	source.min_period = PERIOD;
	cp_reader_budget(reader, &budget);
	err = cp_reader_source(reader, &source);
	if (!err)
		run_until(reader, 500, take_interval, &intervals, &intervals.n, 200);
	check(!err && intervals.n >= 200 && intervals.right == intervals.n &&
		      intervals.lengths > intervals.n / 2,
	      name, "%s, %lu of %lu right, %lu times another length", strerror(-err),
	      intervals.right, intervals.n, intervals.lengths);
	reap(pid);
	cp_reader_destroy(reader);
}

void test_precise(void)
{
	const struct tally none = {}, store = {.store = true}, ibs = {.ibs = true};
	const struct tally atom = {.atom = true};
	const struct expected pebs = {.precise = 2, .has_source = true, .min_latency = 100};
	struct expected expected;
	struct tally tally = {};
	struct cp_stats stats;
	struct cp_source source;
	int err;

	if (pmu_type("ibs_op") < 0) {
		check(false, "precise", "no stand-in PMU");
		return;
	}
	if (mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return;
	pid32 = spawn(spin32, NULL);
	source = (struct cp_source){
		.kind = CP_SOURCE_PEBS, .config = 0x1cd, .config1 = 3, .flags = CP_SOURCE_LOADS};
	one("pebs: loads", "standin_pebs", source, none, pebs);
	source.flags |= CP_SOURCE_BURST;
	expected = pebs;
	expected.bursts = true;
	one("pebs: registers after the access", "standin_pebs", source, none, expected);
	source.flags = CP_SOURCE_LOADS;
	source.config1 = 130;
	expected = pebs;
	expected.min_latency = 130;
	one("pebs: ldlat", "standin_pebs", source, none, expected);
	one("pebs: stores", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x82d0, .flags = CP_SOURCE_STORES},
	    store, pebs);
	expected = pebs;
	expected.has_source = false;
	one("pebs: without the auxiliary event no data source", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x3cd, .flags = CP_SOURCE_LOADS},
	    none, expected);
	expected = pebs;
	expected.one_cpu = true;
	one("pebs: a hybrid PMU serves its CPUs only", "standin_atom",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd, .flags = CP_SOURCE_LOADS},
	    atom, expected);
	one("pebs: kernel on request", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS,
			       .config = 0x1cd,
			       .flags = CP_SOURCE_KERNEL | CP_SOURCE_LOADS},
	    none, pebs);
	expected = pebs;
	expected.precise = 0;
	one("ibs: without swfilt", "ibs_op", (struct cp_source){.kind = CP_SOURCE_IBS}, ibs,
	    expected);
	one("ibs: with swfilt", "ibs_op",
	    (struct cp_source){.kind = CP_SOURCE_IBS, .config2 = 1, .flags = CP_SOURCE_SWFILT}, ibs,
	    expected);
	/* Told by nobody, only an instruction that does one thing says which. */
	source = (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd};
	tally.atom = true;
	err = open_run("standin_atom", &source, &tally, &stats);
	check(!err && tally.n >= 60 && !tally.wrong && !tally.flags_wrong && !tally.halves &&
		      !tally.mode32,
	      "pebs: no direction is made up",
	      "%s, %lu records, %lu wrong, %lu flags wrong, %lu of both, %lu of 32 bits",
	      strerror(-err), tally.n, tally.wrong, tally.flags_wrong, tally.halves, tally.mode32);
	test_shared_counter();
	reap(pid32);
	pid32 = 0;
	test_interval("pebs: a sample stands for the interval that it ends", "standin_pebs",
		      (struct cp_source){
			      .kind = CP_SOURCE_PEBS, .config = 0x4cd, .flags = CP_SOURCE_LOADS});
	test_interval("ibs: a sample stands for the interval that it ends", "ibs_op",
		      (struct cp_source){.kind = CP_SOURCE_IBS,
					 .config1 = 1,
					 .config2 = 1,
					 .flags = CP_SOURCE_SWFILT});
	test_interval(
		"counter: a sample stands for the interval that it ends", "standin",
		(struct cp_source){.kind = CP_SOURCE_SOFT, .config = 1, .flags = CP_SOURCE_BURST});

	source = (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x7777};
	err = open_run("standin_pebs", &source, &tally, &stats);
	check(err == -EINVAL, "pebs: an event that the PMU refuses", "%s", strerror(-err));
	source = (struct cp_source){.kind = CP_SOURCE_IBS, .flags = CP_SOURCE_SWFILT};
	err = open_run("ibs_op", &source, &tally, &stats);
	check(err == -EINVAL, "ibs: swfilt where there is none", "%s", strerror(-err));
}

/*
 * Loads and stores data of its own, one instruction each.  The jump on the carry, which
 * PEBS does not tell, ends bursts: what they see, the stand-in's addresses know nothing of.
 */
static __attribute__((noinline)) void spin_privately(uint64_t data[2])
{
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 2f\n"
		     "2: movl %%eax, 8(%0)\n"
		     "jc 1b\n"
		     "jmp 1b\n"
		     :
		     : "r"(data)
		     : "rax", "memory");
}

struct spinner {
	pthread_t thread;
	int cpu;
	volatile pid_t tid;
};

static void *spin_on(void *argument)
{
	static _Alignas(4096) uint64_t pages[2][512];
	struct spinner *spinner = argument;
	uint64_t *data = pages[spinner->cpu];

	pin(spinner->cpu);
	spinner->tid = syscall(SYS_gettid);
	spin_privately(data);
	return NULL;
}

/* Two threads that have mapped what the stand-in says they touch. */
void test_share(void)
{
	struct spinner spinner[2] = {{.cpu = 0}, {.cpu = 1}};
	size_t bytes = 64 * 64;

	if (mmap((void *)ADDR_BASE, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return;
	memset((void *)ADDR_BASE, 1, bytes);
	for (int i = 0; i < 2; i++)
		pthread_create(&spinner[i].thread, NULL, spin_on, &spinner[i]);
	while (!spinner[0].tid || !spinner[1].tid)
		usleep(1000);
	printf("tids %d %d\n", spinner[0].tid, spinner[1].tid);
	fflush(stdout);
	for (int i = 0; i < 2; i++)
		pthread_join(spinner[i].thread, NULL);
}
