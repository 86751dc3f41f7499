// SPDX-License-Identifier: GPL-2.0-or-later
/* commprof/mem/ through perf's descriptors: what it refuses, and what its samples stand for. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cptest.h"

enum { PERIOD = 4000000, PAGES = 8, ENOUGH = 20 };

static void spin(void *unused)
{
	static uint64_t datum;

	(void)unused;
	asm volatile("1: movq (%0), %%rax\njmp 1b\n" : : "r"(&datum) : "rax", "memory");
}

/* The event as perf record asks for it, disabled. */
static struct perf_event_attr plain(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = (uint32_t)pmu_type("commprof"),
		.config = 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_PERIOD,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_kernel = 1,
	};
}

static int event_open(struct perf_event_attr attr, pid_t pid)
{
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* A program that perf's events take. */
static int bpf_program(void)
{
	const struct bpf_insn insn[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)insn,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
	};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

struct ring {
	struct perf_event_mmap_page *page;
	uint64_t n, last, of[2]; /* samples, the last one's period, and how many have each */
};

static void drain(struct ring *ring)
{
	const uint8_t *data = (const uint8_t *)ring->page + 4096;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	while (tail < head) {
		const struct perf_event_header *header =
			(const void *)(data + tail % (PAGES * 4096));

		/* Headers of 8 bytes and samples of 16: none wraps. */
		if (header->type == PERF_RECORD_SAMPLE) {
			ring->last = *(const uint64_t *)(header + 1);
			ring->of[0] += ring->last == PERIOD;
			ring->of[1] += ring->last == PERIOD / 2;
			ring->n++;
		}
		tail += header->size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static void drain_until(struct ring *ring, uint64_t enough)
{
	uint64_t end = now_ns() + LIMIT_S * 1000000000ull;

	while (ring->n < enough && now_ns() < end) {
		usleep(10000);
		drain(ring);
	}
}

/* Each sample after the change of a period has the new one, the first one too. */
static void test_period(pid_t pid)
{
	uint64_t half = PERIOD / 2, before[2] = {};
	struct ring ring = {};
	int fd = event_open(plain(), pid), err = fd < 0 ? -fd : 0;

	ring.page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!err && ring.page == MAP_FAILED)
		err = errno;
	if (!err) {
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		drain_until(&ring, ENOUGH);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(&ring);
		memcpy(before, ring.of, sizeof(before));
		err = ioctl(fd, PERF_EVENT_IOC_PERIOD, &half) ? errno : 0;
		ring.n = 0;
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		drain_until(&ring, ENOUGH);
	}
	check(!err && before[0] >= ENOUGH && !before[1] && ring.n >= ENOUGH &&
		      ring.of[0] == before[0] && ring.of[1] == ring.n,
	      "softpmu: a sample stands for its own interval",
	      "%s, %lu of the first period, then %lu of it and %lu of the second in %lu",
	      strerror(err), before[0], ring.of[0] - before[0], ring.of[1], ring.n);
	close(fd);
}

/* So many samples and then none is what it cannot do; it has none then. */
static void test_refresh(pid_t pid)
{
	uint64_t times[3] = {}, end = now_ns() + LIMIT_S * 1000000000ull;
	struct perf_event_attr other = plain();
	struct ring ring = {}, control = {};
	int fd = event_open(plain(), pid), beside = event_open(other, pid), err = 0;

	ring.page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	control.page =
		mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, beside, 0);
	if (ioctl(fd, PERF_EVENT_IOC_REFRESH, 3))
		err = errno;
	ioctl(beside, PERF_EVENT_IOC_ENABLE, 0);
	while (control.n < ENOUGH && now_ns() < end)
		drain_until(&control, ENOUGH);
	drain(&ring);
	if (read(fd, times, sizeof(times)) != sizeof(times))
		err = errno;
	check(!err && control.n >= ENOUGH && !ring.n && times[1] && !times[2],
	      "softpmu: no samples where they are limited",
	      "%s, %lu samples, %lu of another event, enabled %lu ns, running %lu", strerror(err),
	      ring.n, control.n, times[1], times[2]);
	close(fd);
	close(beside);
}

void test_softpmu(void)
{
	pid_t pid = spawn(spin, NULL);
	struct perf_event_attr attr = plain();
	int fd = event_open(attr, pid), program = bpf_program(), signals, err;

	err = fd < 0 ? -fd : program < 0 ? -program : 0;
	if (!err)
		err = ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) ? errno : 0;
	check(fd >= 0 && program >= 0 && err == EINVAL, "softpmu: no BPF program", "%s",
	      strerror(err));
	attr.sigtrap = attr.remove_on_exec = 1;
	signals = event_open(attr, pid);
	check(signals == -EOPNOTSUPP, "softpmu: no signal at each sample", "%s",
	      strerror(-signals));
	test_refresh(pid);
	test_period(pid);
	close(fd);
	close(program);
	reap(pid);
}
