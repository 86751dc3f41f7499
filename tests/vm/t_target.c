// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is sampled: processes, cgroups, everyone; 32-bit code; the budget's cap. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cptest.h"

static void spin(void *unused)
{
	static uint64_t datum;

	asm volatile("1: movq (%0), %%rax\njmp 1b\n" : : "r"(&datum) : "rax", "memory");
}

static void spin_on(void *cpu)
{
	pin((intptr_t)cpu);
	spin(NULL);
}

struct tally {
	uint64_t n, of[4], least, other, mode32, pf_kernel, samples, accesses, bad, gap_cpus[64];
	pid_t pid[4];
	uint64_t sum_period;
};

static void take(const struct cp_record *record, void *argument)
{
	struct tally *tally = argument;
	const struct cp_sample *sample = (const void *)record;
	int i;

	tally->n++;
	tally->sum_period += record->period;
	tally->mode32 += record->mode_bits == 32;
	tally->samples += record->type == CP_REC_SAMPLE;
	tally->accesses += record->type == CP_REC_ACCESS;
	if (record->type == CP_REC_SAMPLE && record->mode_bits == 32)
		tally->bad += sample->reg[3] != 0x42 || sample->ip >> 32;
	for (i = 0; i < 4; i++)
		if (tally->pid[i] && record->tgid == (uint32_t)tally->pid[i])
			break;
	if (i < 4)
		tally->of[i]++;
	else
		tally->other++;
	/* Of the first three, whose records are waited for. */
	tally->least = ~0ull;
	for (i = 0; i < 3; i++)
		if (tally->of[i] < tally->least)
			tally->least = tally->of[i];
}

static struct cp_source accesses = {
	.kind = CP_SOURCE_SOFT,
	.flags = CP_SOURCE_ACCESSES,
	.type = 1,
	.period = 1000000,
	.max_accesses = 1,
};

static void cgroup_add(const char *name, pid_t pid)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/cgroup.procs", name);
	file = fopen(path, "w");
	if (file) {
		fprintf(file, "%d\n", pid);
		fclose(file);
	}
}

/* A process, its child and that one's child, all busy; each says who it is. */
static void family(void *argument)
{
	volatile pid_t *pid = argument;

	for (int i = 1; i < 3 && !fork(); i++) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pid[i] = getpid();
	}
	spin(NULL);
}

static void children(void)
{
	volatile pid_t *pid =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally tally = {};
	struct cp_reader *reader;
	int err;

	cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);
	tally.pid[0] = spawn(family, (void *)pid);
	tally.pid[3] = spawn(spin, NULL);
	while (!pid[1] || !pid[2])
		usleep(1000);
	tally.pid[1] = pid[1];
	tally.pid[2] = pid[2];
	err = cp_reader_target(reader, CP_TARGET_TGID, CP_TARGET_CHILDREN, tally.pid[0]);
	cp_reader_source(reader, &accesses);
	run_until(reader, 1000, take, &tally, &tally.least, 50);
	check(!err && tally.least >= 50 && !tally.other && !tally.of[3], "target: with descendants",
	      "%lu of the process, %lu and %lu of its two, %lu of a stranger, %lu of others",
	      tally.of[0], tally.of[1], tally.of[2], tally.of[3], tally.other);
	cp_reader_destroy(reader);
	reap(tally.pid[0]);
	reap(tally.pid[3]);
	munmap((void *)pid, 4096);
}

/* Of two families one is asked for with its children, of the other only the parent. */
static void only_parent(void)
{
	volatile pid_t *pid =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tally tally = {};
	struct cp_reader *reader;
	int err;

	cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);
	tally.pid[0] = spawn(family, (void *)pid);
	tally.pid[2] = spawn(family, (void *)(pid + 3));
	while (!pid[1] || !pid[2] || !pid[4] || !pid[5])
		usleep(1000);
	tally.pid[1] = pid[1];
	tally.pid[3] = pid[4];
	err = cp_reader_target(reader, CP_TARGET_TGID, CP_TARGET_CHILDREN, tally.pid[0])
		      ?: cp_reader_target(reader, CP_TARGET_TGID, 0, tally.pid[2]);
	cp_reader_source(reader, &accesses);
	run_until(reader, 1000, take, &tally, &tally.least, 50);
	check(!err && tally.least >= 50 && !tally.of[3],
	      "target: descendants of those asked for alone",
	      "%lu and %lu of a process and its child, %lu and %lu of one without", tally.of[0],
	      tally.of[1], tally.of[2], tally.of[3]);
	cp_reader_destroy(reader);
	reap(tally.pid[0]);
	reap(tally.pid[2]);
	munmap((void *)pid, 4096);
}

/* What an unprivileged process may with a session: its own, or one that it was handed. */
static int unprivileged(struct cp_reader *reader, int *marks)
{
	int *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), ret;
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		if (!reader)
			cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);
		got[0] = setuid(65534) ? -errno
				       : cp_reader_target(reader, CP_TARGET_TGID, 0, parent);
		got[1] = cp_reader_marks(reader, parent, 0, 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	ret = got[0];
	*marks = got[1];
	munmap(got, 4096);
	return ret;
}

static void passed_on(void)
{
	int own, own_marks, passed, passed_marks;
	struct cp_reader *reader;

	cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);
	own = unprivileged(NULL, &own_marks);
	passed = unprivileged(reader, &passed_marks);
	check(!own && !own_marks && passed == -EPERM && passed_marks == -EPERM,
	      "target: not by whom the descriptor was passed to", "own: %s, %s; passed on: %s, %s",
	      strerror(-own), strerror(-own_marks), strerror(-passed), strerror(-passed_marks));
	cp_reader_destroy(reader);
}

/* Makes the kernel's threads work: pages are written back, RCU has to wait. */
static void busy_kernel(void *unused)
{
	char path[] = "/tmp/busy";

	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		ftruncate(fd, 1 << 20);
		close(fd);
		unlink(path);
		sched_yield();
	}
}

/* Its flags say so; that it has no program, a process that has ended shares with it. */
static bool is_of_kernel(uint32_t tgid)
{
	enum { PF_KTHREAD = 0x00200000 };
	char path[64], text[512] = "";
	unsigned int flags = 0;
	const char *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stat", tgid);
	file = fopen(path, "r");
	if (!file)
		return !tgid;
	fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	name_end = strrchr(text, ')');
	return name_end && sscanf(name_end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & PF_KTHREAD;
}

static void take_kernel(const struct cp_record *record, void *argument)
{
	/* Asked once each: a slow machine makes records faster than it could ask. */
	static uint32_t asked[64];
	static bool answer[64];
	uint32_t at = record->tgid % 64;
	struct tally *tally = argument;

	if (asked[at] != record->tgid || !tally->n) {
		asked[at] = record->tgid;
		answer[at] = is_of_kernel(record->tgid);
	}
	tally->pf_kernel += !record->tgid || answer[at];
	tally->n++;
}

/* Even where kernel mode is asked for, kernel threads are nobody's target. */
static void kernel_threads(void)
{
	struct tally tally = {};
	struct cp_source source = {
		.kind = CP_SOURCE_PEBS,
		.flags = CP_SOURCE_KERNEL,
		.type = pmu_type("standin_pebs"),
		.config = 0x1cd,
		.period = 1600,
	};
	struct cp_reader *reader = session(0);
	pid_t pid = spawn(busy_kernel, NULL);
	struct cp_stats stats;

	cp_reader_source(reader, &source);
	run_until(reader, 500, take_kernel, &tally, &tally.n, 20);
	cp_reader_stats(reader, &stats);
	check(tally.n >= 20 && !tally.pf_kernel, "target: no kernel thread",
	      "%lu of %lu records, %llu of %llu interrupts a target's", tally.pf_kernel, tally.n,
	      stats.samples, stats.interrupts);
	cp_reader_destroy(reader);
	reap(pid);
}

void test_target(void)
{
	struct tally tally = {};
	struct cp_reader *reader;
	int fd, err;

	for (int i = 0; i < 3; i++)
		tally.pid[i] = spawn(spin, NULL);
	reader = session(tally.pid[0]);
	err = cp_reader_source(reader, &accesses);
	run_until(reader, 500, take, &tally, &tally.of[0], 50);
	check(!err && tally.of[0] >= 50 && !tally.of[1] && !tally.of[2] && !tally.other,
	      "target: a process", "%lu %lu %lu, %lu other", tally.of[0], tally.of[1], tally.of[2],
	      tally.other);

	err = cp_reader_target(reader, CP_TARGET_TGID, 0, tally.pid[1])
		      ?: cp_reader_target(reader, CP_TARGET_TGID, CP_TARGET_REMOVE, tally.pid[0]);
	memset(tally.of, 0, sizeof(tally.of));
	run_until(reader, 500, take, &tally, &tally.of[1], 50);
	check(!err && !tally.of[0] && tally.of[1] >= 50 && !tally.of[2],
	      "target: change, suspend and resume", "%lu %lu %lu", tally.of[0], tally.of[1],
	      tally.of[2]);
	cp_reader_destroy(reader);

	cgroup_add("one", tally.pid[2]);
	cgroup_add("two", tally.pid[1]);
	cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);
	fd = open("/sys/fs/cgroup/one", O_RDONLY | O_DIRECTORY);
	err = cp_reader_target(reader, CP_TARGET_CGROUP, 0, fd);
	memset(tally.of, 0, sizeof(tally.of));
	tally.other = 0;
	cp_reader_source(reader, &accesses);
	run_until(reader, 500, take, &tally, &tally.of[2], 50);
	check(!err && !tally.of[0] && !tally.of[1] && tally.of[2] >= 50 && !tally.other,
	      "target: a cgroup", "%s: %lu %lu %lu, %lu other", strerror(-err), tally.of[0],
	      tally.of[1], tally.of[2], tally.other);
	err = cp_reader_target(reader, CP_TARGET_CGROUP, CP_TARGET_REMOVE, fd)
		      ?: cp_reader_target(reader, CP_TARGET_ALL, 0, 0);
	close(fd);
	memset(tally.of, 0, sizeof(tally.of));
	tally.least = 0;
	run_until(reader, 500, take, &tally, &tally.least, 20);
	check(!err && tally.least, "target: everyone", "%lu %lu %lu", tally.of[0], tally.of[1],
	      tally.of[2]);
	kernel_threads();

	/* Dead processes make room by themselves. */
	for (int i = 0; i < 3; i++)
		reap(tally.pid[i]);
	err = 0;
	for (int i = 0; i < CP_MAX_TARGETS + 50 && !err; i++) {
		pid_t pid = spawn(spin, NULL);

		err = cp_reader_target(reader, CP_TARGET_TGID, 0, pid);
		reap(pid);
	}
	check(!err, "target: the dead make room", "%s", strerror(-err));
	cp_reader_destroy(reader);
	children();
	only_parent();
	passed_on();
}

/* 32-bit code in a 64-bit process, by a far jump: needs no 32-bit libraries. */
void spin32(void *unused)
{
	static const uint8_t text[] = {
		0xbb, 0x42, 0,	  0,	0,	    /* mov ebx, 0x42 */
		0xff, 0x05, 0x00, 0x00, 0x00, 0x10, /* inc dword [0x10000000] */
		0xeb, 0xf8,			    /* jmp to the inc */
	};
	static const struct {
		uint32_t offset;
		uint16_t selector;
	} entry = {0x20000000, 0x23};
	void *code = mmap((void *)0x20000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (code == MAP_FAILED)
		return;
	memcpy(code, text, sizeof(text));
	/* Not a far return: qemu 7.2 reads the stack for that with the kernel's rights. */
	asm volatile("movl $0x20000800, %%esp\n"
		     "ljmpl *(%0)\n"
		     :
		     : "r"(&entry)
		     : "memory");
}

void test_mode32(void)
{
	volatile uint32_t *counter = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	struct tally tally = {};
	struct cp_source both = accesses;
	struct cp_reader *reader;
	struct cp_stats stats;

	both.flags = CP_SOURCE_ACCESSES | CP_SOURCE_BURST;
	both.stack_bytes = 256;
	both.chunk_bytes = 64;
	both.depth = 2;
	tally.pid[0] = spawn(spin32, NULL);
	/* What it does in 64-bit mode is decoded. */
	for (int i = 0; !*counter && i < LIMIT_S * 1000; i++)
		usleep(1000);
	reader = session(tally.pid[0]);
	cp_reader_source(reader, &both);
	run_until(reader, 500, take, &tally, &tally.samples, 50);
	cp_reader_stats(reader, &stats);
	check(tally.samples >= 50 && tally.mode32 == tally.n && !tally.accesses && !tally.bad &&
		      stats.lost[CP_LOST_MODE32] == stats.samples,
	      "mode32: captured, not decoded", "%lu samples, %lu marked, %lu bad, %llu counted",
	      tally.samples, tally.mode32, tally.bad, stats.lost[CP_LOST_MODE32]);
	cp_reader_destroy(reader);
	reap(tally.pid[0]);
	munmap((void *)counter, 4096);
}

static void take_none(const struct cp_record *record, void *unused)
{
}

/* Until something was refused, where that is wanted; how long that was, of all CPUs. */
static struct cp_stats spend(struct cp_budget budget, uint64_t period, uint64_t min_period,
			     unsigned int ms, bool read, bool refused, double *ret_ns)
{
	struct cp_source burst = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = period,
		.min_period = min_period,
		.stack_bytes = 512,
		.chunk_bytes = 128,
		.depth = 2,
	};
	struct cp_stats stats = {};
	struct cp_reader *reader;
	uint64_t start_ns, end_ns;
	pid_t pid[64];
	int cpus = get_nprocs();

	for (int i = 0; i < cpus; i++)
		pid[i] = spawn(spin, NULL);
	reader = session(0);
	cp_reader_budget(reader, &budget);
	cp_reader_source(reader, &burst);
	start_ns = now_ns();
	do {
		if (read) {
			run(reader, ms, take_none, NULL);
		} else {
			/* A daemon that hangs: nobody reads, nobody governs. */
			cp_reader_start(reader);
			usleep(ms * 1000);
			cp_reader_stop(reader);
		}
		end_ns = now_ns();
		cp_reader_stats(reader, &stats);
	} while (refused && !stats.lost[CP_LOST_BUDGET] &&
		 end_ns < start_ns + LIMIT_S * 1000000000ull);
	*ret_ns = (double)cpus * (end_ns - start_ns);
	cp_reader_destroy(reader);
	for (int i = 0; i < cpus; i++)
		reap(pid[i]);
	return stats;
}

/*
 * A window ends with the handler that reaches the cap: one handler more than the
 * cap, however long the host stopped the VM in it.
 */
static double allowed(const struct cp_stats *stats, double cap, double ns)
{
	return cap * ns + stats->max_ns * ns / 1e8 + 1e6;
}

enum { SESSIONS = 8 };

static void set_module_cap(unsigned int ppm)
{
	FILE *file = fopen("/sys/module/commprof/parameters/cap_ppm", "w");

	if (!file || fprintf(file, "%u\n", ppm) < 0 || fclose(file)) {
		check(false, "budget: the module's cap can be set", "%s", strerror(errno));
		exit(1);
	}
}

/*
 * Many sessions, each of which may take half of a CPU: together they get no more than
 * the module may.  The cap is left to one handler per CPU and window, and to the
 * interrupts that are refused.
 */
static void together(void)
{
	enum { CAP_PPM = 20000 };
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_source burst = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 200000,
		.stack_bytes = 512,
		.chunk_bytes = 128,
		.depth = 2,
	};
	struct cp_reader *reader[SESSIONS];
	struct cp_stats stats, sum = {};
	uint64_t start_ns, end_ns;
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), err = 0;
	double ns, refused_ns;
	pid_t pid[64];

	for (int i = 0; i < cpus && i < 64; i++)
		pid[i] = spawn(spin, NULL);
	set_module_cap(CAP_PPM);
	for (int i = 0; i < SESSIONS; i++) {
		reader[i] = session(0);
		err = err ?: cp_reader_budget(reader[i], &budget);
		err = err ?: cp_reader_source(reader[i], &burst);
	}
	start_ns = now_ns();
	for (int i = 0; i < SESSIONS; i++)
		err = err ?: cp_reader_start(reader[i]);
	do {
		usleep(1000000);
		cp_reader_stats(reader[0], &stats);
		end_ns = now_ns();
	} while (!err && stats.interrupts < 1000 && end_ns < start_ns + LIMIT_S * 1000000000ull);
	for (int i = 0; i < SESSIONS; i++)
		cp_reader_stop(reader[i]);
	end_ns = now_ns();
	for (int i = 0; i < SESSIONS; i++) {
		cp_reader_stats(reader[i], &stats);
		sum.interrupts += stats.interrupts;
		sum.samples += stats.samples;
		sum.charged_ns += stats.charged_ns;
		sum.handler_ns += stats.handler_ns;
		sum.lost[CP_LOST_BUDGET] += stats.lost[CP_LOST_BUDGET];
		if (sum.max_ns < stats.max_ns)
			sum.max_ns = stats.max_ns;
		cp_reader_destroy(reader[i]);
	}
	set_module_cap(CP_MAX_CAP_PPM);
	ns = (double)cpus * (end_ns - start_ns);
	/* What is charged beside the handler is the same for each interrupt. */
	refused_ns = 2.0 * sum.lost[CP_LOST_BUDGET] * (sum.charged_ns - sum.handler_ns) /
		     (sum.interrupts ? sum.interrupts : 1);
	check(!err && sum.lost[CP_LOST_BUDGET] > 0 && sum.samples > 0 &&
		      sum.charged_ns < allowed(&sum, CAP_PPM / 1e6, ns) + refused_ns,
	      "budget: one cap over all sessions",
	      "%.2f %% of 2 %%, refused interrupts %.2f %%, %llu of %llu refused, longest %llu ns",
	      100 * sum.charged_ns / ns, 100 * refused_ns / ns, sum.lost[CP_LOST_BUDGET],
	      sum.interrupts, sum.max_ns);
	for (int i = 0; i < cpus && i < 64; i++)
		reap(pid[i]);
}

void test_budget(void)
{
	struct cp_stats stats;
	double ns;

	/* So little that a host which hardly lets the timer come reaches it, too. */
	stats = spend((struct cp_budget){.cap_ppm = 2000}, 50000, 0, 1000, true, true, &ns);
	check(stats.charged_ns < allowed(&stats, 0.002, ns) && stats.lost[CP_LOST_BUDGET] > 0,
	      "budget: the cap holds",
	      "%.2f %% of 0.2 %%, %llu refused, %llu interrupts, longest %llu ns",
	      100 * stats.charged_ns / ns, stats.lost[CP_LOST_BUDGET], stats.interrupts,
	      stats.max_ns);
	stats = spend((struct cp_budget){.cap_ppm = 2000}, 50000, 0, 1000, false, true, &ns);
	check(stats.charged_ns < allowed(&stats, 0.002, ns) && stats.lost[CP_LOST_BUDGET] > 0,
	      "budget: the cap holds without a daemon", "%.2f %% of 0.2 %%, longest %llu ns",
	      100 * stats.charged_ns / ns, stats.max_ns);
	stats = spend((struct cp_budget){.target_ppm = 10000, .cap_ppm = 100000, .entry_ns = 2000},
		      100000, 50000, 2000, true, false, &ns);
	/* Less is spent where the shortest period, or what the host lets come, is less. */
	check((stats.charged_ns > 0.003 * ns || stats.period_scale <= 1 << 15) &&
		      stats.charged_ns < allowed(&stats, 0.03, ns) && stats.period_scale != 1 << 16,
	      "budget: the period follows the target", "%.2f %% of 1 %%, scale %.2f, %llu samples",
	      100 * stats.charged_ns / ns, stats.period_scale / 65536.0, stats.samples);
	together();
}

struct rates {
	uint64_t n[2][2], least, wrong; /* by CPU, before and after */
	uint64_t period[2];
	int after;
};

static void take_rates(const struct cp_record *record, void *argument)
{
	struct rates *rates = argument;

	if (record->cpu > 1)
		return;
	if (record->period == rates->period[1] && rates->after && record->cpu == 1)
		rates->n[1][1]++;
	else if (record->period == rates->period[0] && !(rates->after && record->cpu == 1))
		rates->n[record->cpu][rates->after]++;
	else
		rates->wrong++;
	rates->least = rates->n[0][rates->after] < rates->n[1][rates->after]
			       ? rates->n[0][rates->after]
			       : rates->n[1][rates->after];
}

/* At one period and one record a sample, what they stand for is known to the last unit. */
static void add_up(void)
{
	enum { PERIOD = 3000000, ENOUGH = 100 };
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT, .flags = CP_SOURCE_BURST, .type = 1, .period = PERIOD};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	pid_t pid = spawn(spin, NULL);
	struct cp_reader *reader = session(pid);
	struct tally tally = {};
	struct cp_stats stats;
	int err = cp_reader_budget(reader, &budget) ?: cp_reader_source(reader, &source);

	run_until(reader, 500, take, &tally, &tally.samples, ENOUGH);
	cp_reader_stats(reader, &stats);
	check(!err && tally.samples >= ENOUGH && tally.sum_period == stats.samples * PERIOD,
	      "rate: records add up to what was sampled", "%s, %lu in %lu records, %llu samples",
	      strerror(-err), tally.sum_period, tally.n, stats.samples);
	cp_reader_destroy(reader);
	reap(pid);
}

/* Another period on one CPU while it runs; it outlives a stop. */
void test_rate(void)
{
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST,
		.type = 1,
		.period = 10000000,
		.min_period = 1000000,
	};
	struct rates rates = {.period = {10000000, 2000000}};
	struct cp_budget budget = {.cap_ppm = CP_MAX_CAP_PPM};
	struct cp_reader *reader = session(0);
	const struct cp_record *record;
	int err[6], err_cpu;
	uint64_t end_ns;
	pid_t pid[2];

	add_up();
	for (int i = 0; i < 2; i++)
		pid[i] = spawn(spin_on, (void *)(intptr_t)i);
	cp_reader_budget(reader, &budget);
	err[0] = cp_reader_rate(reader, 0, CP_RATE_EVERY_CPU, 10000000);
	cp_reader_source(reader, &source);
	err[1] = cp_reader_rate(reader, source.id + 1, CP_RATE_EVERY_CPU, 10000000);
	err[2] = cp_reader_rate(reader, source.id, cp_reader_rings(reader), 10000000);
	err[3] = cp_reader_rate(reader, source.id, 0, 999999);
	err[4] = cp_reader_rate(reader, source.id, 0, ~0ull);
	err[5] = cp_reader_rate(reader, source.id, CP_RATE_EVERY_CPU, 10000000);
	check(err[0] == -ENOENT && err[1] == -ENOENT && err[2] == -EINVAL && err[3] == -EINVAL &&
		      err[4] == -EINVAL && !err[5],
	      "rate: every error", "%d %d %d %d %d %d", err[0], err[1], err[2], err[3], err[4],
	      err[5]);
	run_until(reader, 1000, take_rates, &rates, &rates.least, 21);
	cp_reader_start(reader);
	err_cpu = cp_reader_rate(reader, source.id, 1, 2000000);
	/* Until the new period is seen, and no record with the old one can come. */
	end_ns = now_ns() + LIMIT_S * 1000000000ull;
	for (bool seen = false; !seen && now_ns() < end_ns;) {
		usleep(20000);
		for (uint32_t i = 0; i < cp_reader_rings(reader); i++)
			while ((record = cp_reader_next(reader, i)))
				seen |= record->cpu == 1 && record->period == rates.period[1];
	}
	cp_reader_stop(reader);
	for (uint32_t i = 0; i < cp_reader_rings(reader); i++)
		while (cp_reader_next(reader, i))
			;
	rates.after = 1;
	/* A CPU that the host stops for longer than the period loses the difference. */
	end_ns = now_ns() + LIMIT_S * 1000000000ull;
	do {
		rates.n[0][1] = rates.n[1][1] = rates.least = 0;
		run_until(reader, 1000, take_rates, &rates, &rates.least, 21);
	} while (2 * rates.n[1][1] <= 3 * rates.n[0][1] && now_ns() < end_ns);
	check(!err_cpu && rates.n[0][0] > 20 && rates.n[1][0] > 20 && rates.n[0][1] > 20 &&
		      2 * rates.n[1][1] > 3 * rates.n[0][1] && !rates.wrong,
	      "rate: another period on one CPU",
	      "%s, %lu and %lu samples, then %lu and %lu, %lu "
	      "of another period",
	      strerror(-err_cpu), rates.n[0][0], rates.n[1][0], rates.n[0][1], rates.n[1][1],
	      rates.wrong);
	cp_reader_destroy(reader);
	for (int i = 0; i < 2; i++)
		reap(pid[i]);
}
