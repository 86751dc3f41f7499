// SPDX-License-Identifier: GPL-2.0-or-later
#include "breakpoints.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "cpu_rings.h"
#include "hotplug.h"
#include "sampler.h"
#include "source.h"
#include "trigger.h"

enum {
	STRING_BYTES = 2048, /* filled to measure how much slower that goes, */
	STRING_TIMES = 9,    /* so often with a register set and without */
	SLOTS = COMM_DEBUG_REGISTERS,
	RING_PAGES = 4, /* all traps of all slots, and some of other processes */
	RING_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
		    PERF_SAMPLE_CPU,
	SAMPLE_TYPE = RING_TYPE | PERF_SAMPLE_REGS_INTR, /* which the rings' own events refuse */
	N_REGS = COMM_NGPR + 1,				 /* and the flags */
};

#define REGS                                                                 \
	(((1ULL << PERF_REG_X86_SP << 1) - 1) | 1ULL << PERF_REG_X86_FLAGS | \
	 0xffULL << PERF_REG_X86_R8)

/* The registers of a record, in perf's order; all ones: the flags. */
static const uint8_t reg_of[N_REGS] = {
	COMM_RAX, COMM_RBX, COMM_RCX, COMM_RDX, COMM_RSI, COMM_RDI, COMM_RBP, COMM_RSP, 0xff,
	COMM_R8,  COMM_R9,  COMM_R10, COMM_R11, COMM_R12, COMM_R13, COMM_R14, COMM_R15,
};

/*
 * Cost of the inter-processor interrupt by which a CPU sets, revives or removes a
 * breakpoint, as a share of what a sampling interrupt costs; measured: 31 us for
 * three of them, 12 us an interrupt, in a nested virtual machine.
 */
static const double TOLD_SHARE = 0.85;

/* A breakpoint of one CPU. */
struct point {
	int fd;
	unsigned int left; /* traps until its limit stops it, as of the last count */
	uint64_t traps;	   /* counted by the kernel, ever */
};

struct cpu {
	struct point point[SLOTS];
};

struct comm_breakpoints {
	struct comm_cpu_rings rings;
	struct cpu *cpu; /* as many as rings */
	struct comm_hotplug *hotplug;
	unsigned int n_slots, draining;
	double trap_ns, string_loss;
	uint64_t traps, cost_ns, lost;
	comm_breakpoint_trap_fn *fn; /* of the drain that runs */
	void *ctx;
};

struct record {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, addr;
	uint32_t cpu, zero;
	uint64_t abi;
	uint64_t reg[N_REGS];
};

/*
 * A period of 1, and a limit (PERF_EVENT_IOC_REFRESH).  The kernel's accesses count: they trap also
 * where they are excluded, but then without a limit.
 */
static void fill_attr(struct perf_event_attr *attr, uint32_t type, uint64_t addr, uint32_t bytes)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = type;
	attr->bp_addr = addr;
	attr->bp_len = bytes;
	attr->sample_period = 1;
	attr->sample_type = SAMPLE_TYPE;
	attr->sample_regs_intr = REGS;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->exclude_hv = 1;
	attr->disabled = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1U << 30; /* never: we poll */
}

static void fill_idle(struct perf_event_attr *attr, const volatile uint64_t *word)
{
	fill_attr(attr, HW_BREAKPOINT_RW, (uint64_t)word, HW_BREAKPOINT_LEN_8);
}

static int open_breakpoint(int pid, int cpu, const volatile uint64_t *word)
{
	struct perf_event_attr attr;

	fill_idle(&attr, word);
	return comm_perf_open(&attr, pid, cpu, -1, 0);
}

/*
 * Does an access trap?  A hypervisor may let its guest set debug registers and ignore them (PVM on an EPYC
 * 9005 does): windows would say of all data that nobody writes them.
 */
static int try_trap(void)
{
	volatile uint64_t word = 0;
	uint64_t traps = 0;
	int fd = open_breakpoint(0, -1, &word), rc = 0;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		rc = -errno;
	word = 1;
	if (!rc && read(fd, &traps, sizeof(traps)) != sizeof(traps))
		rc = -EIO;
	close(fd);
	return rc ? rc : traps ? 0 : -ENOTSUP;
}

static uint64_t fill_ns(void)
{
	static uint8_t filled[STRING_BYTES];
	uint64_t start_ns = comm_clock_now_ns();
	void *to = filled;
	size_t n = sizeof(filled);

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(0) : "memory");
	return comm_clock_now_ns() - start_ns;
}

static double loss_of(uint64_t own_ns, uint64_t set_ns)
{
	return set_ns > own_ns ? 1 - (double)own_ns / (double)set_ns : 0;
}

/* By the shortest times, as anything may come between.  Below 0: it cannot be measured. */
static double measure_string_loss(void)
{
	volatile uint64_t word = 0;
	uint64_t own_ns = UINT64_MAX, set_ns = UINT64_MAX, ns;
	int fd = open_breakpoint(0, -1, &word), rc = fd < 0;

	for (unsigned int i = 0; i < 2 * STRING_TIMES && !rc; i++) {
		uint64_t *least = i % 2 ? &set_ns : &own_ns;

		rc = ioctl(fd, i % 2 ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		ns = fill_ns();
		*least = ns < *least ? ns : *least;
	}
	if (fd >= 0)
		close(fd);
	return rc ? -1 : loss_of(own_ns, set_ns);
}

static int explain(int rc, char **why)
{
	if (rc == -EACCES || rc == -EPERM)
		return comm_source_fail(why, rc,
					"debug registers of every CPU need CAP_PERFMON, or "
					"kernel.perf_event_paranoid 0 or less (it is %d)",
					comm_perf_paranoid());
	if (rc == -ENOSPC || rc == -EBUSY)
		return comm_source_fail(why, rc, "all debug registers are in use: by a debugger?");
	if (rc == -EMFILE || rc == -ENOMEM)
		return comm_source_fail(why, rc, "cannot open breakpoints on every CPU: %s%s",
					strerror(-rc), rc == -EMFILE ? " (raise 'ulimit -n')" : "");
	if (rc == -ENOTSUP)
		return comm_source_fail(
			why, rc,
			"debug registers can be set on this machine, but do not trap, "
			"as where a hypervisor ignores them");
	return comm_source_fail(why, rc, "this machine has no debug registers: %s", strerror(-rc));
}

/* Idle breakpoints are aimed at it. */
static uint64_t own_word;

int comm_breakpoints_probe(char **why)
{
	int cpu, fd[SLOTS], n, rc = 0;

	if (comm_online_cpus(&cpu, 1) < 1)
		return comm_source_fail(why, -ENODEV, "cannot tell which CPUs there are");
	/* A debugger's, of whatever thread, count on every CPU. */
	for (n = 0; n < SLOTS; n++) {
		fd[n] = open_breakpoint(-1, cpu, &own_word);
		if (fd[n] < 0) {
			rc = fd[n];
			break;
		}
	}
	for (int i = 0; i < n; i++)
		close(fd[i]);
	if (n)
		rc = try_trap();
	if (!n || rc == -ENOTSUP)
		return explain(rc, why);
	comm_source_fail(why, 0,
			 "a run takes three debug registers of each CPU, or as many as "
			 "--debug-registers says; %d of %d are free%s",
			 n, SLOTS, n < SLOTS ? ": a debugger or another commd has the others" : "");
	return 0;
}

static int open_cpu(struct cpu *c, const struct comm_cpu_ring *ring, unsigned int *slots)
{
	for (unsigned int i = 0; i < *slots; i++) {
		int fd = c->point[i].fd = open_breakpoint(-1, ring->cpu, &own_word);

		if (fd < 0 && i) {
			*slots = i; /* all CPUs use as many as this one has */
			return 0;
		}
		if (fd < 0)
			return fd;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
			return -errno;
	}
	return 0;
}

static void close_slots(struct cpu *c, unsigned int from)
{
	for (unsigned int i = from; i < SLOTS; i++) {
		if (c->point[i].fd >= 0)
			close(c->point[i].fd);
		c->point[i].fd = -1;
	}
}

/* All CPUs keep the same number: accesses on a CPU without the breakpoint would be missed, a bias. */
static int open_all(struct comm_breakpoints *b, unsigned int slots)
{
	int rc = 0;

	b->cpu = calloc(b->rings.n, sizeof(*b->cpu));
	if (!b->cpu)
		return -ENOMEM;
	for (unsigned int i = 0; i < b->rings.n; i++)
		for (unsigned int j = 0; j < SLOTS; j++)
			b->cpu[i].point[j].fd = -1;
	for (unsigned int i = 0; i < b->rings.n && !rc; i++)
		rc = open_cpu(&b->cpu[i], &b->rings.ring[i], &slots);
	for (unsigned int i = 0; i < b->rings.n; i++)
		close_slots(&b->cpu[i], slots);
	b->n_slots = slots;
	return rc;
}

static int follow_cpus(struct comm_breakpoints *b)
{
	struct perf_event_attr attr;
	int rc = comm_hotplug_create(NULL, &b->hotplug);

	fill_idle(&attr, &own_word);
	for (unsigned int i = 0; i < b->n_slots && rc >= 0; i++)
		rc = comm_hotplug_add(b->hotplug, &attr);
	return rc < 0 ? rc : comm_hotplug_start(b->hotplug);
}

static void cpu_gone(void *ctx, unsigned int cpu)
{
	struct comm_breakpoints *b = ctx;

	for (unsigned int i = 0; i < b->rings.n; i++)
		if (b->rings.ring[i].cpu == (int)cpu)
			close_slots(&b->cpu[i], 0);
	b->lost++;
}

static bool cpu_back(void *ctx, unsigned int slot, unsigned int cpu, int fd)
{
	struct comm_breakpoints *b = ctx;

	for (unsigned int i = 0; i < b->rings.n; i++)
		if (b->rings.ring[i].cpu == (int)cpu &&
		    !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, b->rings.ring[i].fd)) {
			b->cpu[i].point[slot] = (struct point){.fd = fd};
			b->lost++;
			return true;
		}
	close(fd);
	return false;
}

int comm_breakpoints_create(uint32_t slots, double trap_ns, struct comm_breakpoints **ret,
			    char **err)
{
	const struct comm_cpu_rings_config rings = {
		.sample_type = RING_TYPE, .pid = -1, .pages = RING_PAGES, .pages_min = RING_PAGES};
	struct comm_breakpoints *b = calloc(1, sizeof(*b));
	char *why = NULL;
	int rc = -ENOMEM;

	if (!b)
		goto fail;
	b->trap_ns = trap_ns;
	rc = try_trap();
	b->string_loss = rc ? 0 : measure_string_loss();
	if (!rc)
		rc = comm_cpu_rings_open(&rings, &b->rings, &why);
	free(why);
	if (!rc)
		rc = open_all(b, slots < SLOTS ? slots : SLOTS);
	if (!rc)
		rc = follow_cpus(b);
	if (rc)
		goto fail;
	*ret = b;
	return 0;
fail:
	explain(rc, err);
	comm_breakpoints_destroy(b);
	return rc;
}

void comm_breakpoints_destroy(struct comm_breakpoints *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; b->cpu && i < b->rings.n; i++)
		close_slots(&b->cpu[i], 0);
	comm_hotplug_destroy(b->hotplug);
	comm_cpu_rings_close(&b->rings);
	free(b->cpu);
	free(b);
}

unsigned int comm_breakpoints_slots(const struct comm_breakpoints *b)
{
	return b->n_slots;
}

unsigned int comm_breakpoints_cpus(const struct comm_breakpoints *b)
{
	return b->rings.n;
}

/* Each ioctl that acts on another CPU interrupts it. */
static void charge_telling(struct comm_breakpoints *b)
{
	double share = (double)(b->rings.n - 1) / b->rings.n;

	b->cost_ns += (uint64_t)(TOLD_SHARE * share * b->trap_ns);
}

/* Counts the traps since the last time, all of them: a hot datum's may be more than the ring holds. */
static int count_traps(struct comm_breakpoints *b, struct point *point)
{
	uint64_t traps, more;

	if (read(point->fd, &traps, sizeof(traps)) != sizeof(traps))
		return -errno;
	more = traps - point->traps;
	point->traps = traps;
	point->left -= more < point->left ? (unsigned int)more : point->left;
	b->traps += more;
	b->cost_ns += (uint64_t)((double)more * b->trap_ns);
	return 0;
}

/*
 * Lets a breakpoint trap COMM_BREAKPOINT_TRAPS times from now on.  What is left of an earlier limit adds up
 * with a new one.
 *
 * A breakpoint that its limit has stopped stays deaf on newer kernels (6.18: enabling it again does not
 * clear hw.state), until its period is set: it traps, and nothing counts that.  Whether it was stopped is
 * not known for sure: it may have been after it was counted.
 */
static int listen_on(struct comm_breakpoints *b, struct point *point)
{
	uint64_t one = 1;
	int rc = count_traps(b, point);

	if (rc)
		return rc;
	if (point->left == COMM_BREAKPOINT_TRAPS)
		rc = ioctl(point->fd, PERF_EVENT_IOC_ENABLE, 0);
	else
		rc = ioctl(point->fd, PERF_EVENT_IOC_REFRESH, COMM_BREAKPOINT_TRAPS - point->left);
	if (rc)
		return -errno;
	point->left = COMM_BREAKPOINT_TRAPS;
	charge_telling(b);
	charge_telling(b);
	return ioctl(point->fd, PERF_EVENT_IOC_PERIOD, &one) ? -errno : 0;
}

bool comm_breakpoints_aim(struct comm_breakpoints *b, unsigned int slot, uint64_t addr,
			  uint32_t bytes, bool reads)
{
	struct perf_event_attr attr;
	bool heard = !comm_hotplug_lost(b->hotplug);

	fill_attr(&attr, reads ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W, addr, bytes);
	for (unsigned int i = 0; i < b->rings.n && heard; i++) {
		struct point *point = &b->cpu[i].point[slot];

		heard &= point->fd < 0 ||
			 (!ioctl(point->fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) &&
			  !listen_on(b, point));
	}
	if (!heard)
		comm_breakpoints_silence(b, slot);
	return heard;
}

void comm_breakpoints_silence(struct comm_breakpoints *b, unsigned int slot)
{
	for (unsigned int i = 0; i < b->rings.n; i++) {
		struct point *point = &b->cpu[i].point[slot];

		if (point->fd < 0)
			continue;
		ioctl(point->fd, PERF_EVENT_IOC_DISABLE, 0);
		if (count_traps(b, point) || point->left)
			charge_telling(b);
	}
}

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct comm_breakpoints *b = ctx;
	struct comm_breakpoint_trap trap;
	struct record r = {0};
	size_t bytes = h->size - sizeof(*h);

	b->lost += h->type == PERF_RECORD_LOST;
	if (h->type != PERF_RECORD_SAMPLE)
		return;
	if (bytes < offsetof(struct record, reg)) {
		b->lost++;
		return;
	}
	/* Without an abi no registers follow. */
	memcpy(&r, h + 1, bytes < sizeof(r) ? bytes : sizeof(r));
	trap = (struct comm_breakpoint_trap){
		.time_ns = r.time_ns,
		.tgid = r.pid,
		.tid = r.tid,
		.cpu = (uint16_t)r.cpu,
		.mode_bits = r.abi == PERF_SAMPLE_REGS_ABI_64 ? 64 : 32,
		.nth_cpu = b->draining,
		.at = {.ip = r.ip, .addr = r.addr},
	};
	for (unsigned int i = 0; i < N_REGS; i++)
		*(reg_of[i] < COMM_NGPR ? &trap.at.reg[reg_of[i]] : &trap.at.flags) = r.reg[i];
	b->fn(b->ctx, &trap);
}

uint64_t comm_breakpoints_drain(struct comm_breakpoints *b, comm_breakpoint_trap_fn *fn, void *ctx)
{
	static const struct comm_hotplug_ops ops = {.gone = cpu_gone, .back = cpu_back};

	b->fn = fn;
	b->ctx = ctx;
	b->lost = 0;
	comm_hotplug_look(b->hotplug, comm_clock_now_ns(), &ops, b);
	for (unsigned int i = 0; i < b->rings.n; i++) {
		struct comm_perf_ring *ring = &b->rings.ring[i].ring;
		uint64_t malformed = ring->malformed;

		b->draining = i;
		comm_perf_ring_read(ring, on_record, b);
		b->lost += ring->malformed - malformed;
	}
	return b->lost;
}

double comm_breakpoints_string_loss(const struct comm_breakpoints *b)
{
	return b->string_loss;
}

uint64_t comm_breakpoints_unopened(const struct comm_breakpoints *b)
{
	return comm_hotplug_lost(b->hotplug);
}

uint64_t comm_breakpoints_traps(const struct comm_breakpoints *b)
{
	return b->traps;
}

uint64_t comm_breakpoints_cost_ns(const struct comm_breakpoints *b)
{
	return b->cost_ns;
}
