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

struct tally {
	uint64_t n, wrong, kernel, cpus[64], min_latency, sources[4], no_source, flags_wrong;
	bool ibs, store, has_source;
};

/* mem_op, mem_lvl, mem_snoop as in perf_event.h's bit layout. */
#define SRC(op, lvl, snoop) ((uint64_t)(op) | (uint64_t)(lvl) << 5 | (uint64_t)(snoop) << 19)
static const uint64_t sources[4] = {
	SRC(0x02, 0x02 | 0x08, 0x02),
	SRC(0x02, 0x02 | 0x40, 0x10),
	SRC(0x02, 0x02 | 0x80, 0x08),
	SRC(0x04, 0x02 | 0x08, 0x01),
};

extern const char spin_begin[], spin_end[];

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_access *access = (const void *)record;
	uint64_t n = (access->addr - ADDR_BASE) / 64, want;

	tally->n++;
	tally->cpus[record->cpu]++;
	tally->kernel += access->ip >> 63;
	want = tally->ibs ? sources[n % 4] : sources[tally->store ? 3 : n % 3];
	if (!tally->has_source)
		want = 0;
	if (record->type != CP_REC_ACCESS || record->context != CP_CONTEXT_NMI ||
	    access->addr % 64 || n > 1000000 || n % 7 == 6 || (tally->ibs && n % 5 == 0) ||
	    access->latency_cycles != 100 + n % 50 || access->data_src != want)
		tally->wrong++;
	/* The spinner's loop has one load and one store, of 8 and of 4 bytes. */
	if (access->size_bytes && access->ip >= (uint64_t)spin_begin &&
	    access->ip < (uint64_t)spin_end) {
		if (!(access->flags == CP_ACCESS_READ && access->size_bytes == 8) &&
		    !(access->flags == CP_ACCESS_WRITE && access->size_bytes == 4))
			tally->flags_wrong++;
	}
	if (access->latency_cycles < tally->min_latency)
		tally->min_latency = access->latency_cycles;
	tally->no_source += !access->data_src;
}

/* Once: its labels are global. */
static __attribute__((noinline, noclone)) void spin(void *unused)
{
	static uint64_t datum[2];

	asm volatile(".globl spin_begin, spin_end\n"
		     "spin_begin:\n"
		     "1: movq (%0), %%rax\n"
		     "jmp 2f\n"
		     "2: movl %%eax, 8(%0)\n"
		     "spin_end: jmp 1b\n"
		     :
		     : "r"(datum)
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
	source->period = 1600;
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

static void one(const char *name, const char *pmu, struct cp_source source, struct tally tally,
		uint32_t precise, bool has_source, uint64_t min_latency, bool one_cpu)
{
	struct cp_stats stats;
	int err = open_run(pmu, &source, &tally, &stats);

	check(!err && tally.n >= 60 && !tally.wrong && !tally.flags_wrong &&
		      (!tally.kernel || source.flags & CP_SOURCE_KERNEL) &&
		      source.precise == precise && source.has_data_src == has_source &&
		      (tally.no_source == 0) == has_source && tally.min_latency >= min_latency &&
		      (!one_cpu || !tally.cpus[0]) && stats.lost[CP_LOST_NO_ADDRESS] > 0,
	      name,
	      "%s, %lu records, %lu wrong, %lu flags wrong, %lu kernel, precise %u, source %u, "
	      "latency >= %lu, no address %llu, cpu0 %lu",
	      strerror(-err), tally.n, tally.wrong, tally.flags_wrong, tally.kernel, source.precise,
	      source.has_data_src, tally.min_latency, stats.lost[CP_LOST_NO_ADDRESS],
	      tally.cpus[0]);
}

void test_precise(void)
{
	const struct tally none = {}, store = {.store = true}, ibs = {.ibs = true};
	struct tally tally = {};
	struct cp_stats stats;
	struct cp_source source;
	int err;

	if (pmu_type("ibs_op") < 0) {
		check(false, "precise", "no stand-in PMU");
		return;
	}
	one("pebs: loads", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd, .config1 = 3}, none, 2,
	    true, 100, false);
	one("pebs: ldlat", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd, .config1 = 130}, none, 2,
	    true, 130, false);
	one("pebs: stores", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x82d0}, store, 2, true, 100,
	    false);
	one("pebs: without the auxiliary event no data source", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x3cd}, none, 2, false, 100,
	    false);
	one("pebs: a hybrid PMU serves its CPUs only", "standin_atom",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd}, none, 2, true, 100, true);
	one("pebs: kernel on request", "standin_pebs",
	    (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x1cd, .flags = CP_SOURCE_KERNEL},
	    none, 2, true, 100, false);
	one("ibs: without swfilt", "ibs_op", (struct cp_source){.kind = CP_SOURCE_IBS}, ibs, 0,
	    true, 100, false);
	one("ibs: with swfilt", "ibs_op",
	    (struct cp_source){.kind = CP_SOURCE_IBS, .config2 = 1, .flags = CP_SOURCE_SWFILT}, ibs,
	    0, true, 100, false);

	source = (struct cp_source){.kind = CP_SOURCE_PEBS, .config = 0x7777};
	err = open_run("standin_pebs", &source, &tally, &stats);
	check(err == -EINVAL, "pebs: an event that the PMU refuses", "%s", strerror(-err));
	source = (struct cp_source){.kind = CP_SOURCE_IBS, .flags = CP_SOURCE_SWFILT};
	err = open_run("ibs_op", &source, &tally, &stats);
	check(err == -EINVAL, "ibs: swfilt where there is none", "%s", strerror(-err));
}

struct spinner {
	pthread_t thread;
	int cpu;
	volatile pid_t tid;
};

static void *spin_on(void *argument)
{
	struct spinner *spinner = argument;

	pin(spinner->cpu);
	spinner->tid = syscall(SYS_gettid);
	spin(NULL);
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
