// SPDX-License-Identifier: GPL-2.0-or-later
/* Which CPUs are told of a watch, and that any number of them may be told at once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "t_watch.h"

enum { CPUS = 4, PAGE_BYTES = 4096, FAR_BYTES = 1 << 16 };

struct shared {
	uint64_t datum __attribute__((aligned(4096)));
	volatile uint32_t ready __attribute__((aligned(4096)));
	int cpu[CPUS]; /* where the threads run; the first one writes; -1: there is none */
};

static void write_loop(uint64_t *datum)
{
	asm volatile("1: addq $1, %%rdx\n"
		     "movq %%rdx, (%0)\n"
		     "movl $200, %%ecx\n"
		     "2: decl %%ecx\n"
		     "jnz 2b\n"
		     "jmp 1b\n"
		     :
		     : "r"(datum)
		     : "rcx", "rdx", "memory");
}

static void read_loop(uint64_t *datum)
{
	asm volatile("1: movq (%0), %%rax\n"
		     "jmp 1b\n"
		     :
		     : "r"(datum)
		     : "rax", "memory");
}

struct member {
	struct shared *shared;
	int nth;
};

static void *thread(void *argument)
{
	const struct member *member = argument;
	struct shared *shared = member->shared;

	pin(shared->cpu[member->nth]);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	if (member->nth)
		read_loop(&shared->datum);
	else
		write_loop(&shared->datum);
	return NULL;
}

static void team(void *argument)
{
	static struct member member[CPUS];
	struct shared *shared = argument;
	pthread_t id;

	for (int i = 0; i < CPUS; i++) {
		member[i] = (struct member){shared, i};
		if (i && shared->cpu[i] >= 0)
			pthread_create(&id, NULL, thread, &member[i]);
	}
	thread(&member[0]);
}

/* No target, at the datum's address, with a page of its own. */
static void twin(void *argument)
{
	struct shared *shared = argument;

	pin(2);
	mmap(&shared->datum, PAGE_BYTES, PROT_READ | PROT_WRITE,
	     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared->datum = 1;
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	write_loop(&shared->datum);
}

static void spinner(void *unused)
{
	pin(3);
	for (;;)
		asm volatile("pause");
}

/* Function call interrupts that a CPU has had: what a message to it is. */
static uint64_t calls(int cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[512], *at;
	uint64_t n = 0;

	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, "CAL:");
		if (!at)
			continue;
		at += 4;
		for (int i = 0; i <= cpu; i++)
			n = strtoull(at, &at, 10);
	}
	if (file)
		fclose(file);
	return n;
}

static void count(const struct cp_record *record, void *argument)
{
	*(uint64_t *)argument += record->type == CP_REC_WATCH;
}

static const struct cp_watch next_writer = {
	.flags = CP_WATCH_LOAD_THEN_WRITE,
	.slots = 2,
	.per_second = 1000,
	.timeout_us = 20000,
};

static struct shared *shared_make(const int *cpu)
{
	/* A thread's stack may come to lie just below, and data near one is its own. */
	uint8_t *capacity = mmap(NULL, FAR_BYTES + sizeof(struct shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct shared *shared = (struct shared *)(capacity + FAR_BYTES);

	memcpy(shared->cpu, cpu, sizeof(shared->cpu));
	return shared;
}

/* Two CPUs run the target, two others do not. */
static void test_bystanders(void)
{
	struct shared *shared = shared_make((int[CPUS]){0, 1, -1, -1});
	uint64_t hits = 0, before[CPUS], all = 0, elsewhere;
	struct watch_until until = {&hits, 100, 300, 0};
	pid_t pid = spawn(team, shared), other[2];
	struct cp_stats stats;

	other[0] = spawn(twin, shared);
	other[1] = spawn(spinner, NULL);
	while (shared->ready < 3)
		usleep(1000);
	for (int i = 0; i < CPUS; i++)
		before[i] = calls(i);
	stats = watch_until(session(pid), &next_writer, 1000000, count, &hits, &until);
	for (int i = 0; i < CPUS; i++) {
		before[i] = calls(i) - before[i];
		all += before[i];
	}
	elsewhere = before[2] + before[3];
	reap(pid);
	reap(other[0]);
	reap(other[1]);
	/* Starting and stopping every second sends some to all CPUs. */
	check(stats.watch_armed >= 300 && hits >= 100 && elsewhere < stats.watch_armed / 2,
	      "watch: no messages to CPUs without a target",
	      "%llu armed, %lu hits, %llu expired, %llu foreign, %lu messages, %lu of them to "
	      "those CPUs, %llu ns to the last CPU on average, %llu at best, %.1f s",
	      stats.watch_armed, hits, stats.watch_expired, stats.watch_foreign, all, elsewhere,
	      stats.arm_ns / (stats.watch_armed ?: 1), stats.arm_min_ns, until.ns / 1e9);
}

/* Slots taken, hit and taken again on all CPUs at once, as fast as it goes. */
static void test_crowd(void)
{
	struct shared *shared = shared_make((int[CPUS]){0, 1, 2, 3});
	uint64_t hits = 0;
	struct watch_until until = {&hits, 500, 1000, 0};
	struct cp_watch watch = next_writer;
	struct cp_stats stats;
	pid_t pid = spawn(team, shared);

	while (shared->ready < CPUS)
		usleep(1000);
	watch.slots = 4;
	watch.per_second = 100000;
	stats = watch_until(session(pid), &watch, 50000, count, &hits, &until);
	reap(pid);
	check(stats.watch_armed >= 1000 && hits >= 500 && !stats.watch_missed,
	      "watch: many at once on four CPUs",
	      "%llu armed, %lu hits, %llu foreign, %llu missed, %.1f s", stats.watch_armed, hits,
	      stats.watch_foreign, stats.watch_missed, until.ns / 1e9);
}

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

#define ROOT "/sys/fs/cgroup/"
#define ALONE ROOT "alone/"

/* CPU 3 as a partition of its own, which the kernel leaves alone where it can. */
static bool isolate(void)
{
	char state[64] = "";
	int fd;

	put(ROOT "cgroup.subtree_control", "+cpuset");
	mkdir(ALONE, 0755);
	if (!put(ALONE "cpuset.cpus", "3") || !put(ALONE "cpuset.cpus.exclusive", "3") ||
	    !put(ALONE "cpuset.cpus.partition", "isolated"))
		return false;
	fd = open(ALONE "cpuset.cpus.partition", O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, state, sizeof(state) - 1) < 0)
		state[0] = 0;
	close(fd);
	return !strncmp(state, "isolated\n", 9);
}

static void alone(void *argument)
{
	struct shared *shared = argument;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	put(ALONE "cgroup.procs", pid);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	write_loop(&shared->datum);
}

static void reader_alone(void *argument)
{
	struct shared *shared = argument;

	pin(1);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_SEQ_CST);
	read_loop(&shared->datum);
}

/* The target runs there: no watch that is blind on that CPU, and no message to it. */
static void test_isolated(void)
{
	struct shared *shared = shared_make((int[CPUS]){-1, -1, -1, -1});
	uint64_t hits = 0, end_ns = now_ns() + LIMIT_S * 1000000000ull, told;
	struct cp_stats stats = {};
	struct cp_reader *reader;
	struct cp_watch watch = next_writer;
	struct cp_source source = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_ACCESSES | CP_SOURCE_JITTER,
		.type = 1,
		.period = 1000000,
		.max_accesses = 1,
	};
	pid_t pid[2];

	if (!isolate()) {
		skip("watch: an isolated CPU is left alone", "this kernel cannot isolate one");
		rmdir(ALONE);
		return;
	}
	shared->datum = 1;
	pid[0] = spawn(reader_alone, shared);
	pid[1] = spawn(alone, shared);
	while (shared->ready < 2)
		usleep(1000);
	reader = session(pid[0]);
	cp_reader_target(reader, CP_TARGET_TGID, 0, pid[1]);
	cp_reader_source(reader, &source);
	cp_reader_watch(reader, &watch);
	told = calls(3);
	do {
		run(reader, 1000, count, &hits);
		cp_reader_stats(reader, &stats);
	} while (stats.watch_missed < 100 && stats.watch_armed < 100 && now_ns() < end_ns);
	told = calls(3) - told;
	cp_reader_destroy(reader);
	reap(pid[0]);
	reap(pid[1]);
	put(ALONE "cpuset.cpus.partition", "member");
	rmdir(ALONE);
	/* While something else ran there a watch could be armed, and then it sees all. */
	check(stats.watch_missed >= 100 && told < 50 && stats.watch_armed < 50,
	      "watch: an isolated CPU is left alone",
	      "%llu not armed, %llu armed, %lu hits, %lu messages", stats.watch_missed,
	      stats.watch_armed, hits, told);
}

void test_message(void)
{
	if (get_nprocs() < CPUS) {
		skip("watch: no messages to CPUs without a target", "fewer than four CPUs");
		return;
	}
	test_bystanders();
	test_crowd();
	test_isolated();
}
