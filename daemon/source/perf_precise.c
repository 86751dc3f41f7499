// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_precise.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "cpu_events.h"
#include "cpu_rings.h"
#include "perf_access.h"
#include "perf_clock.h"
#include "source.h"
#include "trigger.h"

enum {
	RING_PAGES = 128,
	RING_PAGES_MIN = 8,
	PRECISE_IP = 2, /* 3 would send all events to one counter, see kmod/source_pebs.c */
	PERIOD = 100003,
	PERIOD_MIN = 1009,
	IBS_STEP = 16,
	RECORD_NS = 500,  /* of a record that shares its interrupt; not measured on a PMU */
	REGS = 18,	  /* bits of regs_mask */
	LOOKS_MISSED = 7, /* in a row, at a CPU that has nothing to tell */
};

/* Registers first to last: AX to FLAGS, R8 to R15.  No segments: with them no large PEBS. */
#define BITS(first, last) (((2ULL << (last)) - 1) & ~((1ULL << (first)) - 1))
static const uint64_t regs_mask =
	BITS(PERF_REG_X86_AX, PERF_REG_X86_FLAGS) | BITS(PERF_REG_X86_R8, PERF_REG_X86_R15);

enum {
	SAMPLE_TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		      PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | PERF_SAMPLE_WEIGHT |
		      PERF_SAMPLE_DATA_SRC,
	SAMPLE_TYPE_PEBS = SAMPLE_TYPE | PERF_SAMPLE_REGS_INTR,
};

/* As the kernel lays it out behind the header; PEBS has the registers too. */
struct record {
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time_ns, addr;
	uint32_t cpu, zero;
	uint64_t weight, data_src;
};

struct record_registers {
	uint64_t abi, reg[REGS];
};

/* One event on one CPU. */
struct on_cpu {
	uint64_t id; /* of its records */
	uint64_t old_period, until_ns;
	uint64_t enabled_ns, running_ns;
	double share; /* of the time since the last look in which it was counted */
};

struct event {
	struct comm_pmu_event pmu;
	struct comm_cpu_events events;
	struct on_cpu *on; /* by CPU */
};

/* When a CPU's counts are next read, which interrupts it. */
struct look {
	uint64_t head; /* of its ring, behind the last look */
	unsigned int wait, left;
};

struct comm_perf_precise {
	enum comm_pmu_want want;
	struct event event[COMM_PMU_EVENTS];
	unsigned int n;
	char name[COMM_PMU_EVENTS * 48];
	uint64_t period;
	bool perf_clock; /* records have perf's clock, and PEBS writes many at once */
	struct comm_perf_clock clock;
	struct comm_cpu_rings rings;
	struct look *look; /* by ring */
	uint64_t interrupts, records, loss[COMM_LOSS_MAX];
	struct comm_sample sample;
	/* Valid only during drain. */
	comm_event_fn *push;
	void *push_ctx;
	int cpu;
};

static void fill_attr(const struct comm_perf_precise *p, const struct comm_pmu_event *pmu,
		      struct perf_event_attr *attr)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = pmu->type,
		.config = pmu->config,
		.config1 = pmu->config1,
		.config2 = pmu->config2,
		.sample_period = p->period,
		.sample_type = pmu->ibs ? SAMPLE_TYPE : SAMPLE_TYPE_PEBS,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.use_clockid = !p->perf_clock,
		.clockid = p->perf_clock ? 0 : CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1U << 30, /* never: we poll */
	};
	if (pmu->ibs) {
		attr->exclude_kernel = pmu->user_filter;
		return;
	}
	attr->precise_ip = PRECISE_IP;
	attr->exclude_kernel = attr->exclude_hv = attr->exclude_guest = 1;
	attr->sample_regs_intr = regs_mask;
}

/* Has the records of a CPU's event go into its ring. */
static int join_ring(struct event *event, const struct comm_cpu_ring *ring, int fd)
{
	struct on_cpu *on = &event->on[ring->cpu];

	*on = (struct on_cpu){.share = 1};
	return ioctl(fd, PERF_EVENT_IOC_ID, &on->id) ||
			       ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd)
		       ? -errno
		       : 0;
}

/* On the CPUs that this PMU serves: hybrid machines have two. */
static int open_event(struct comm_perf_precise *p, struct event *event, char **err)
{
	struct perf_event_attr attr;
	int rc = comm_cpu_events_init(&event->events, p->rings.n_cpus);

	event->on = calloc(p->rings.n_cpus, sizeof(*event->on));
	if (rc || !event->on)
		return -ENOMEM;
	fill_attr(p, &event->pmu, &attr);
	event->events.name = event->pmu.name;
	event->events.opened_period = attr.sample_period;
	for (unsigned int i = 0; i < p->rings.n; i++) {
		const struct comm_cpu_ring *ring = &p->rings.ring[i];
		int fd = comm_perf_open(&attr, -1, ring->cpu, -1, 0);

		if (fd == -ENOENT || fd == -ENODEV) {
			rc = fd;
			continue;
		}
		if (fd < 0)
			return comm_source_fail(err, fd, "the kernel refuses %s on CPU %d: %s",
						event->pmu.name, ring->cpu, strerror(-fd));
		event->events.fd[ring->cpu] = fd;
		event->events.period[ring->cpu] = p->period;
		event->events.n_open++;
		rc = join_ring(event, ring, fd);
		if (rc)
			return comm_source_fail(err, rc, "cannot open %s on CPU %d: %s",
						event->pmu.name, ring->cpu, strerror(-rc));
	}
	if (!event->events.n_open)
		return comm_source_fail(err, rc ? rc : -ENODEV, "the kernel has no %s on any CPU",
					event->pmu.name);
	return 0;
}

static int open_all(struct comm_perf_precise *p, char **err)
{
	struct comm_pmu_event pmu[COMM_PMU_EVENTS];
	struct comm_cpu_rings_config rings = {.sample_type = PERF_SAMPLE_TIME,
					      .pid = -1,
					      .pages = RING_PAGES,
					      .pages_min = RING_PAGES_MIN,
					      .perf_clock = true};
	int n = comm_pmu_events(COMM_PMU_SYSFS, p->want, pmu, err), rc;
	size_t used = 0;

	if (n < 0)
		return n;
	rc = comm_cpu_rings_open(&rings, &p->rings, err);
	if (rc)
		return rc;
	comm_perf_clock_read(&p->clock, p->rings.ring[0].ring.page);
	p->perf_clock = p->clock.perf_ns[1];
	if (!p->perf_clock) {
		comm_cpu_rings_close(&p->rings);
		rings.perf_clock = false;
		rc = comm_cpu_rings_open(&rings, &p->rings, err);
		if (rc)
			return rc;
	}
	p->look = calloc(p->rings.n, sizeof(*p->look));
	if (!p->look)
		return -ENOMEM;
	for (int i = 0; i < n && !rc; i++) {
		p->event[i].pmu = pmu[i];
		if (pmu[i].ibs)
			p->period -= p->period % IBS_STEP;
		p->n++;
		rc = open_event(p, &p->event[i], err);
		used += (size_t)snprintf(p->name + used, sizeof(p->name) - used, "%s%.46s",
					 i ? "," : "", pmu[i].name);
		if (used >= sizeof(p->name))
			used = sizeof(p->name) - 1;
	}
	return rc;
}

int comm_perf_precise_open(enum comm_pmu_want want, uint64_t period, struct comm_perf_precise **ret,
			   char **err)
{
	struct comm_perf_precise *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->want = want;
	p->period = period ? period : PERIOD;
	rc = open_all(p, err);
	if (rc) {
		comm_perf_precise_close(p);
		return rc;
	}
	*ret = p;
	return 0;
}

void comm_perf_precise_close(struct comm_perf_precise *p)
{
	if (!p)
		return;
	for (unsigned int i = 0; i < p->n; i++) {
		comm_cpu_events_deinit(&p->event[i].events);
		free(p->event[i].on);
	}
	comm_cpu_rings_close(&p->rings);
	free(p->look);
	free(p);
}

int comm_perf_precise_probe(enum comm_pmu_want want, char **why)
{
	struct comm_perf_precise *p;
	int rc = comm_perf_precise_open(want, 0, &p, why);

	if (!rc)
		comm_perf_precise_close(p);
	return rc;
}

const char *comm_perf_precise_name(const struct comm_perf_precise *p)
{
	return p->name;
}

uint64_t comm_perf_precise_period(const struct comm_perf_precise *p)
{
	return p->period;
}

unsigned int comm_perf_precise_fds(const struct comm_perf_precise *p)
{
	unsigned int n = p->rings.n;

	for (unsigned int i = 0; i < p->n; i++)
		n += p->event[i].events.n_open;
	return n;
}

unsigned int comm_perf_precise_events(const struct comm_perf_precise *p)
{
	return p->n;
}

int comm_perf_precise_list(const struct comm_perf_precise *p, struct comm_hotplug *list)
{
	struct perf_event_attr attr;
	int rc = 0;

	for (unsigned int i = 0; i < p->n && rc >= 0; i++) {
		fill_attr(p, &p->event[i].pmu, &attr);
		rc = comm_hotplug_add(list, &attr);
	}
	return rc < 0 ? rc : 0;
}

void comm_perf_precise_gone(struct comm_perf_precise *p, unsigned int cpu)
{
	for (unsigned int i = 0; i < p->n; i++)
		comm_cpu_events_gone(&p->event[i].events, cpu);
}

bool comm_perf_precise_back(struct comm_perf_precise *p, unsigned int event, unsigned int cpu,
			    int fd)
{
	const struct comm_cpu_ring *ring = comm_cpu_rings_of(&p->rings, cpu);

	if (event >= p->n || !ring || join_ring(&p->event[event], ring, fd)) {
		close(fd);
		return false;
	}
	return comm_cpu_events_back(&p->event[event].events, cpu, fd);
}

int comm_perf_precise_start(struct comm_perf_precise *p, char **err)
{
	int rc = 0;

	for (unsigned int i = 0; i < p->n && !rc; i++)
		rc = comm_cpu_events_enable(&p->event[i].events, err);
	return rc;
}

void comm_perf_precise_stop(struct comm_perf_precise *p)
{
	for (unsigned int i = 0; i < p->n; i++)
		comm_cpu_events_disable(&p->event[i].events);
}

int comm_perf_precise_set_rate(struct comm_perf_precise *p, const struct comm_sampler_rate *rate)
{
	struct comm_sampler_rate mine = *rate;
	int rc = 0;

	if (mine.period < PERIOD_MIN)
		mine.period = PERIOD_MIN;
	for (unsigned int i = 0; i < p->n; i++) {
		struct event *event = &p->event[i];

		if (event->pmu.ibs)
			mine.period += (IBS_STEP - mine.period % IBS_STEP) % IBS_STEP;
		for (unsigned int cpu = 0; cpu < p->rings.n_cpus; cpu++) {
			uint64_t old = event->events.period[cpu];
			int set = comm_cpu_events_set_rate(&event->events, cpu, &mine);

			if (set > 0) {
				event->on[cpu].old_period = old;
				event->on[cpu].until_ns = comm_clock_now_ns();
			} else if (set < 0) {
				rc = set;
			}
		}
	}
	p->period = mine.period;
	return rc;
}

/*
 * Reading a count makes the kernel drain the PEBS buffer of that CPU; the times say in
 * how much of the time the event had a counter.
 */
static void read_counts_of(struct comm_perf_precise *p, int cpu)
{
	for (unsigned int i = 0; i < p->n; i++) {
		struct on_cpu *on = &p->event[i].on[cpu];
		uint64_t now[3]; /* count, enabled, running */
		int fd = p->event[i].events.fd[cpu];

		if (fd < 0 || read(fd, now, sizeof(now)) != sizeof(now))
			continue;
		if (now[1] > on->enabled_ns && now[2] > on->running_ns)
			on->share = (double)(now[2] - on->running_ns) /
				    (double)(now[1] - on->enabled_ns);
		on->enabled_ns = now[1];
		on->running_ns = now[2];
		p->interrupts++;
	}
}

static uint64_t head_of(const struct comm_cpu_ring *ring)
{
	return __atomic_load_n(&ring->ring.page->data_head, __ATOMIC_RELAXED);
}

/*
 * Each read interrupts its CPU, so one that had nothing to tell is asked ever more rarely: its
 * buffer comes by itself at a context switch, and when it is full.  IBS has no buffer.
 */
static void read_counts(struct comm_perf_precise *p)
{
	for (unsigned int i = 0; i < p->rings.n; i++) {
		const struct comm_cpu_ring *ring = &p->rings.ring[i];
		struct look *look = &p->look[i];
		bool has = head_of(ring) != look->head;

		if (!has && (p->event[0].pmu.ibs || look->left)) {
			look->left -= !!look->left;
			continue;
		}
		read_counts_of(p, ring->cpu);
		has |= head_of(ring) != look->head;
		look->wait = has ? 0 : 2 * look->wait + 1;
		if (look->wait > LOOKS_MISSED)
			look->wait = LOOKS_MISSED;
		look->left = look->wait;
		look->head = head_of(ring);
	}
}

static struct event *event_of(struct comm_perf_precise *p, uint64_t id)
{
	for (unsigned int i = 0; i < p->n; i++)
		if (p->event[i].events.fd[p->cpu] >= 0 && p->event[i].on[p->cpu].id == id)
			return &p->event[i];
	return NULL;
}

/* What a sample of that time stands for. */
static uint64_t period_at(const struct event *event, int cpu, uint64_t time_ns)
{
	const struct on_cpu *on = &event->on[cpu];
	uint64_t period = time_ns < on->until_ns ? on->old_period : event->events.period[cpu];
	double all = on->share > 0 ? (double)period / on->share : (double)period;

	return all < UINT32_MAX ? (uint64_t)all : UINT32_MAX;
}

static void on_sample(struct comm_perf_precise *p, const struct perf_event_header *h)
{
	struct record_registers regs = {0};
	struct comm_perf_access access;
	const struct event *event;
	struct record r;

	if (h->size < sizeof(*h) + sizeof(r)) {
		p->loss[COMM_LOSS_MALFORMED]++;
		return;
	}
	memcpy(&r, h + 1, sizeof(r));
	event = event_of(p, r.id);
	if (!event || (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
		return;
	/* IBS tells of each op what it is, and most ops are neither: that is no loss. */
	if (event->pmu.ibs && !comm_perf_access_ways(r.data_src))
		return;
	p->records++;
	if (!event->pmu.ibs && h->size >= sizeof(*h) + sizeof(r) + sizeof(regs))
		memcpy(&regs, (const unsigned char *)(h + 1) + sizeof(r), sizeof(regs));
	access = (struct comm_perf_access){
		.time_ns = p->perf_clock ? comm_perf_clock_mono(&p->clock, r.time_ns) : r.time_ns,
		.addr = r.addr,
		.ip = r.ip,
		.weight = r.weight,
		.data_src = r.data_src,
		.pid = r.pid,
		.tid = r.tid,
		.cpu = (uint16_t)p->cpu,
		.ways = event->pmu.ways,
		.exact = h->misc & PERF_RECORD_MISC_EXACT_IP,
		.bursts = p->want == COMM_PMU_ACCESSES,
		.regs_abi = regs.abi,
		.regs_mask = regs_mask,
		.regs = regs.reg,
	};
	access.period = period_at(event, p->cpu, access.time_ns);
	comm_perf_access_push(&access, &p->sample, p->loss, p->push, p->push_ctx);
}

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct comm_perf_precise *p = ctx;
	uint64_t lost[2];

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		on_sample(p, h);
		break;
	case PERF_RECORD_LOST:
		if (h->size >= sizeof(*h) + sizeof(lost)) {
			memcpy(lost, h + 1, sizeof(lost));
			p->loss[COMM_LOSS_RING] += lost[1];
		}
		break;
	case PERF_RECORD_LOST_SAMPLES: /* PEBS records of two events at once */
		if (h->size >= sizeof(*h) + sizeof(lost[0])) {
			memcpy(lost, h + 1, sizeof(lost[0]));
			p->loss[COMM_LOSS_RING] += lost[0];
		}
		break;
	case PERF_RECORD_THROTTLE:
		p->loss[COMM_LOSS_THROTTLE]++;
		break;
	default:
		break;
	}
}

void comm_perf_precise_drain(struct comm_perf_precise *p, comm_event_fn *push, void *ctx)
{
	p->push = push;
	p->push_ctx = ctx;
	read_counts(p);
	if (p->perf_clock)
		comm_perf_clock_read(&p->clock, p->rings.ring[0].ring.page);
	for (unsigned int i = 0; i < p->rings.n; i++) {
		p->cpu = p->rings.ring[i].cpu;
		comm_perf_ring_read(&p->rings.ring[i].ring, on_record, p);
	}
}

/* Without large PEBS, and with IBS, each record is an interrupt. */
void comm_perf_precise_stats(const struct comm_perf_precise *p, struct comm_sampler_stats *add_to)
{
	bool large = p->perf_clock && !p->event[0].pmu.ibs;

	add_to->interrupts += p->interrupts + p->records;
	add_to->drained += large ? p->records : 0;
	add_to->handler_ns += p->records * RECORD_NS;
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		add_to->loss[i] += p->loss[i];
	for (unsigned int i = 0; i < p->rings.n; i++)
		add_to->loss[COMM_LOSS_MALFORMED] += p->rings.ring[i].ring.malformed;
}
