// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a debug register that watches data costs programs that never trap: each of some kinds of work is done without one
 * and with one on every CPU, in turns.  Prints a line for each: medians of the time of one piece and of their ratio, with
 * quartiles.
 *	registers [TURNS]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "trigger.h"

enum {
	TURNS = 60,
	TURNS_MAX = 1000,
	CPUS_MAX = 1024,
	SMALL = 256,
	PAGE = 4096,
	LARGE = 65536,
	FAULTS = 256
};

static uint64_t watched;
static uint8_t from[LARGE], to[LARGE];
static int point[CPUS_MAX], n_points, file;

static void compute(void)
{
	volatile double x = 1;

	for (int i = 0; i < 1000; i++)
		x = x * 1.0000001 + 1;
}

static void call(void)
{
	syscall(SYS_getppid);
}

static void fault(void)
{
	uint8_t *pages = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(1);
	for (int i = 0; i < FAULTS; i++)
		pages[i * PAGE] = 1;
	munmap(pages, FAULTS * PAGE);
}

static void copy(size_t bytes)
{
	const void *source = from;
	void *target = to;

	__asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(bytes) : : "memory");
}

static void copy_small(void)
{
	copy(SMALL);
}

static void copy_page(void)
{
	copy(PAGE);
}

static void copy_large(void)
{
	copy(LARGE);
}

/* Too little for libc to use a string instruction. */
static void copy_by_vectors(void)
{
	static void *(*volatile libc)(void *, const void *, size_t) = memcpy;

	libc(to, from, 1024);
}

static void read_page(void)
{
	if (pread(file, to, PAGE, 0) != PAGE)
		exit(1);
}

static void read_large(void)
{
	if (pread(file, to, LARGE, 0) != LARGE)
		exit(1);
}

static const struct {
	const char *name;
	void (*work)(void);
	int times, pieces; /* of a turn; of one time */
} kinds[] = {
	{"1,000 floating-point steps", compute, 100, 1},
	{"a system call", call, 2000, 1},
	{"memcpy() of 1 KiB, by vectors", copy_by_vectors, 2000, 1},
	{"rep movsb of 256 bytes", copy_small, 2000, 1},
	{"rep movsb of 4 KiB", copy_page, 500, 1},
	{"rep movsb of 64 KiB", copy_large, 50, 1},
	{"pread() of 4 KiB from the page cache", read_page, 500, 1},
	{"pread() of 64 KiB from the page cache", read_large, 50, 1},
	{"a page fault", fault, 4, FAULTS},
};

static double piece_ns(size_t kind)
{
	uint64_t start_ns = comm_clock_now_ns();

	for (int i = 0; i < kinds[kind].times; i++)
		kinds[kind].work();
	return (double)(comm_clock_now_ns() - start_ns) / kinds[kind].times / kinds[kind].pieces;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void set(bool on)
{
	for (int i = 0; i < n_points; i++)
		if (ioctl(point[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0)) {
			perror("registers: a debug register cannot be set");
			exit(1);
		}
}

/* A hypervisor may let them be set and ignore them. */
static bool do_trap(void)
{
	uint64_t traps = 0, n;

	set(true);
	*(volatile uint64_t *)&watched = 1;
	set(false);
	for (int i = 0; i < n_points; i++)
		traps += read(point[i], &n, sizeof(n)) == sizeof(n) ? n : 0;
	return traps > 0;
}

static int open_points(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = (uint64_t)&watched,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
		.disabled = 1,
	};

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && n_points < CPUS_MAX; cpu++) {
		int fd = comm_perf_open(&attr, -1, cpu, -1, 0);

		if (fd >= 0)
			point[n_points++] = fd;
		else if (fd != -ENODEV)
			return fd;
	}
	return n_points ? 0 : -ENODEV;
}

static void measure(size_t kind, int turns)
{
	static double own[TURNS_MAX], with[TURNS_MAX], ratio[TURNS_MAX];

	for (int i = 0; i < turns; i++) {
		for (int j = 0; j < 2; j++) {
			bool on = i % 2 ^ j;

			set(on);
			*(on ? &with[i] : &own[i]) = piece_ns(kind);
		}
		ratio[i] = with[i] / own[i];
	}
	set(false);
	qsort(own, turns, sizeof(*own), by_value);
	qsort(with, turns, sizeof(*with), by_value);
	qsort(ratio, turns, sizeof(*ratio), by_value);
	printf("%-38s %9.0f ns, %9.0f ns with a register set: %.2f times as long (%.2f .. %.2f)\n",
	       kinds[kind].name, own[turns / 2], with[turns / 2], ratio[turns / 2],
	       ratio[turns / 4], ratio[3 * turns / 4]);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : TURNS, rc = open_points();
	FILE *f = tmpfile();

	if (turns < 4 || turns > TURNS_MAX) {
		fprintf(stderr, "registers: TURNS is 4 to %d\n", TURNS_MAX);
		return 2;
	}
	if (rc || !f || fwrite(from, 1, LARGE, f) != LARGE || fflush(f)) {
		fprintf(stderr, "registers: no debug registers, or no temporary file: %s\n",
			strerror(rc ? -rc : errno));
		return 1;
	}
	if (!do_trap()) {
		fprintf(stderr, "registers: debug registers do not trap on this machine\n");
		return 1;
	}
	file = fileno(f);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		measure(i, turns);
	return 0;
}
