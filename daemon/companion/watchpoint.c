// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchpoint.h"
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "burst_read.h"
#include "cpu_rings.h"
#include "hash.h"
#include "loss_teller.h"
#include "sampler.h"
#include "source.h"
#include "trigger.h"
#include "worth.h"

enum {
	SLOTS = COMM_DEBUG_REGISTERS,
	RING_PAGES = 2,
	/*
	 * A watch waits for a first write for a turn or SOON_MS, one in so many of them for LATER_NS, and
	 * one in so many of these for LATE_NS.
	 */
	PATIENCES = 3,
	PATIENT_OF = 3,
	SOON_MS = 30,
	LATER_NS = 100 * 1000 * 1000,
	LATE_NS = 1000 * 1000 * 1000,
	/* After the first write, for the next ones. */
	FOLLOW_NS = 20 * 1000 * 1000,
	WRITES = 3,	 /* that one watch waits for */
	INSN_BYTES = 15, /* at most */
	BURST_TURNS = 2, /* depth of the token bucket of watches, in turns */
	/* Turns without room count for so many with it, at most: a run may begin with many of them. */
	UNWATCHED_MOST = 16,
	MEMORY_TURNS = 64, /* of which sums are kept, the older the less */
	/* Traps of other processes that one watch bears: of eight that do the same seven eighths are. */
	FOREIGN_MAX = 16,
	IDLE_TURNS = 8, /* after so many without a read it waits for the next one */
	TURN_MS_MIN = 10,
	TURN_MS_MAX = 100,
	SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
		      PERF_SAMPLE_CPU,
};

/*
 * Cost of the inter-processor interrupt by which a CPU sets, revives or removes a
 * breakpoint, as a share of what a sampling interrupt costs; measured: 31 us for
 * three of them, 12 us an interrupt, in a nested virtual machine.
 */
static const double TOLD_SHARE = 0.85;

/* A candidate in the draw. */
struct entry {
	struct comm_burst_read read;
	double size; /* what it is drawn by: the bytes it stands for, less where these tell little */
	double bytes_per_size;
};

struct hit {
	uint64_t time_ns, ip;
	uint32_t tgid, tid;
	uint16_t cpu;
};

/* What a watch waits for. */
enum phase {
	FIRST_WRITE,
	READ_AGAIN, /* by the same code: else the datum may have become another one */
	LATE_WRITE,
	OVER,
};

struct slot {
	bool armed, read_again;
	bool is_shared; /* the datum may be other processes', too */
	enum phase phase;
	unsigned int patience; /* index of patience_ns */
	struct comm_burst_read first;
	double bytes_per_size;
	uint64_t addr, armed_ns, phase_ns;
	uint32_t bytes;
	unsigned int foreign;
	double stands_for;	/* as of the event */
	struct hit hit[WRITES]; /* the first ones, in order of time */
	unsigned int n_hits;
};

/* A breakpoint of one CPU. */
struct point {
	int fd;
	unsigned int left; /* traps until its limit stops it, as of the last count */
	uint64_t traps;	   /* counted by the kernel, ever */
};

struct cpu {
	struct point point[SLOTS];
};

struct comm_watchpoints {
	struct comm_watchpoint_config config;
	struct comm_cpu_rings rings;
	struct cpu *cpu; /* as many as rings */
	unsigned int n_slots, draining;
	struct slot slot[SLOTS];
	struct entry drawn[SLOTS]; /* for each slot since the last turn */
	double offered;		   /* sum of the sizes of all candidates since the last turn */
	/* Of late, the same of all turns and of those with room for a watch; that room, in slots. */
	double all_offered, open_offered, room;
	unsigned int idle_turns; /* in a row, without a candidate */
	double tokens;
	uint64_t turn_ns, random;
	uint64_t counted_ns;		 /* set_ns is counted up to then */
	uint64_t patience_ns[PATIENCES]; /* for a first write */
	uint32_t turn_ms;
	struct comm_worth worth;
	uint64_t lost[COMM_LOSS_MAX]; /* watches without an answer, by cause */
	struct comm_loss_teller losses;
	struct comm_watchpoint_stats stats;
};

struct record {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns, addr;
	uint32_t cpu, zero;
};

/*
 * A period of 1, and a limit (PERF_EVENT_IOC_REFRESH): some traps a CPU and watch.  The kernel's accesses
 * count: they trap also where they are excluded, but then without a limit (docs/watched.md).
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
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->exclude_hv = 1;
	attr->disabled = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1U << 30; /* never: we poll */
}

static int open_breakpoint(int pid, int cpu, const volatile uint64_t *word)
{
	struct perf_event_attr attr;

	fill_attr(&attr, HW_BREAKPOINT_W, (uint64_t)word, HW_BREAKPOINT_LEN_8);
	return comm_perf_open(&attr, pid, cpu, -1, 0);
}

/*
 * Does a write trap?  A hypervisor may let its guest set debug registers and ignore them (PVM on an EPYC
 * 9005 does): watches would say of all data that nobody writes them.
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

static int explain(int rc, char **why)
{
	if (rc == -EACCES || rc == -EPERM)
		return comm_source_fail(why, rc,
					"watchpoints on every CPU need CAP_PERFMON, or "
					"kernel.perf_event_paranoid 0 or less (it is %d)",
					comm_perf_paranoid());
	if (rc == -ENOSPC || rc == -EBUSY)
		return comm_source_fail(why, rc, "all debug registers are in use: by a debugger?");
	if (rc == -EMFILE || rc == -ENOMEM)
		return comm_source_fail(why, rc, "cannot open watchpoints on every CPU: %s%s",
					strerror(-rc), rc == -EMFILE ? " (raise 'ulimit -n')" : "");
	if (rc == -ENOTSUP)
		return comm_source_fail(
			why, rc,
			"debug registers can be set on this machine, but do not trap, "
			"as where a hypervisor ignores them");
	return comm_source_fail(why, rc, "this machine has no watchpoints: %s", strerror(-rc));
}

/* Never written: idle breakpoints are aimed at it. */
static uint64_t own_word;

int comm_watchpoint_probe(char **why)
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
	unsigned int i;

	for (i = 0; i < *slots; i++) {
		/* Aimed at a word that no thread writes, and disabled. */
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
	unsigned int i;

	for (i = from; i < SLOTS; i++) {
		if (c->point[i].fd >= 0)
			close(c->point[i].fd);
		c->point[i].fd = -1;
	}
}

int comm_watchpoint_create(const struct comm_watchpoint_config *config,
			   struct comm_watchpoints **ret, char **err)
{
	const struct comm_cpu_rings_config rings = {.sample_type = SAMPLE_TYPE,
						    .pid = -1,
						    .pages = RING_PAGES,
						    .pages_min = RING_PAGES};
	struct comm_watchpoints *w = calloc(1, sizeof(*w));
	unsigned int slots = config->slots < SLOTS ? config->slots : SLOTS, i;
	char *why = NULL;
	int rc = -ENOMEM;

	if (!w)
		goto fail;
	w->config = *config;
	rc = try_trap();
	if (rc)
		goto fail;
	rc = comm_cpu_rings_open(&rings, &w->rings, &why);
	free(why);
	if (rc)
		goto fail;
	w->cpu = calloc(w->rings.n, sizeof(*w->cpu));
	rc = w->cpu ? 0 : -ENOMEM;
	for (i = 0; i < w->rings.n && w->cpu; i++)
		for (unsigned int j = 0; j < SLOTS; j++)
			w->cpu[i].point[j].fd = -1;
	for (i = 0; i < w->rings.n && !rc; i++)
		rc = open_cpu(&w->cpu[i], &w->rings.ring[i], &slots);
	if (rc)
		goto fail;
	/*
	 * All CPUs keep the same number: writes on a CPU without the breakpoint would
	 * be missed, a bias.
	 */
	for (i = 0; i < w->rings.n; i++)
		close_slots(&w->cpu[i], slots);
	w->n_slots = slots;
	w->turn_ms = 1000 * slots / (config->per_s ? config->per_s : 1);
	w->turn_ms = w->turn_ms < TURN_MS_MIN	? TURN_MS_MIN
		     : w->turn_ms > TURN_MS_MAX ? TURN_MS_MAX
						: w->turn_ms;
	w->patience_ns[0] = (w->turn_ms < SOON_MS ? w->turn_ms : SOON_MS) * 1000000ULL;
	w->patience_ns[1] = LATER_NS;
	w->patience_ns[2] = LATE_NS;
	*ret = w;
	return 0;
fail:
	explain(rc, err);
	comm_watchpoint_destroy(w);
	return rc;
}

void comm_watchpoint_destroy(struct comm_watchpoints *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; w->cpu && i < w->rings.n; i++)
		close_slots(&w->cpu[i], 0);
	comm_cpu_rings_close(&w->rings);
	free(w->cpu);
	free(w);
}

void comm_watchpoint_offer(struct comm_watchpoints *w, const struct comm_event *event,
			   const struct comm_burst *burst)
{
	struct entry e;
	double share;

	for (uint32_t i = 0; i < burst->n_accesses; i++)
		if (burst->access[i].flags & COMM_ACCESS_WRITE)
			comm_worth_written(&w->worth, event->tgid, event->tid,
					   burst->access[i].addr);
	if (!comm_burst_read_pick(&e.read, &w->random, w->config.trigger, event, burst) ||
	    e.read.waits)
		return;
	/* Such as a loop whose burst ends after a turn, for its condition is not known. */
	if (comm_worth_polled(&w->worth, e.read.tgid, e.read.ip, e.read.addr) && !e.read.writes_ip)
		return;
	share = comm_worth_share(&w->worth, e.read.tgid, e.read.tid, e.read.addr);
	e.size = share * e.read.stands_for;
	e.bytes_per_size = 1 / share;
	w->offered += e.size;
	/* Each slot draws for itself, in proportion to size (Chao, Biometrika 69, 1982). */
	for (unsigned int i = 0; i < w->n_slots; i++)
		if (comm_hash_uniform(&w->random) * w->offered < e.size)
			w->drawn[i] = e;
}

/* Each ioctl that acts on another CPU interrupts it. */
static void charge_telling(struct comm_watchpoints *w)
{
	double share = (double)(w->rings.n - 1) / w->rings.n;

	w->stats.trap_ns += (uint64_t)(TOLD_SHARE * share * w->config.trap_ns);
}

/* Counts the traps since the last time, all of them: a hot datum's may be more than the ring holds. */
static int count_traps(struct comm_watchpoints *w, struct point *point)
{
	uint64_t traps, more;

	if (read(point->fd, &traps, sizeof(traps)) != sizeof(traps))
		return -errno;
	more = traps - point->traps;
	point->traps = traps;
	point->left -= more < point->left ? (unsigned int)more : point->left;
	w->stats.traps += more;
	w->stats.trap_ns += (uint64_t)((double)more * w->config.trap_ns);
	return 0;
}

/*
 * Lets a breakpoint trap WRITES times from now on.  What is left of an earlier limit adds up with a new one.
 *
 * A breakpoint that its limit has stopped stays deaf on newer kernels (6.18: enabling it again does not
 * clear hw.state), until its period is set: it traps, and nothing counts that.  Whether it was stopped is
 * not known for sure: it may have been after it was counted.
 */
static int listen_on(struct comm_watchpoints *w, struct point *point)
{
	uint64_t one = 1;
	int rc = count_traps(w, point);

	if (rc)
		return rc;
	if (point->left == WRITES)
		rc = ioctl(point->fd, PERF_EVENT_IOC_ENABLE, 0);
	else
		rc = ioctl(point->fd, PERF_EVENT_IOC_REFRESH, WRITES - point->left);
	if (rc)
		return -errno;
	point->left = WRITES;
	charge_telling(w);
	charge_telling(w);
	return ioctl(point->fd, PERF_EVENT_IOC_PERIOD, &one) ? -errno : 0;
}

static void silence(struct comm_watchpoints *w, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < w->rings.n; i++) {
		struct point *point = &w->cpu[i].point[slot];

		ioctl(point->fd, PERF_EVENT_IOC_DISABLE, 0);
		if (count_traps(w, point) || point->left)
			charge_telling(w);
	}
	w->slot[slot].armed = false;
}

/* Aims all CPUs' breakpoints at the slot's datum. */
static bool aim(struct comm_watchpoints *w, unsigned int slot, enum phase phase)
{
	struct slot *s = &w->slot[slot];
	struct perf_event_attr attr;
	enum phase was;
	bool heard = true;

	fill_attr(&attr, phase == READ_AGAIN ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W, s->addr,
		  s->bytes);
	was = s->phase;
	s->phase = phase;
	/*
	 * A trap taken on one CPU before the last CPU is armed counts, too: no
	 * further one comes from that CPU.
	 */
	s->phase_ns = comm_clock_now_ns();
	for (unsigned int i = 0; i < w->rings.n; i++)
		heard &=
			!ioctl(w->cpu[i].point[slot].fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) &&
			!listen_on(w, &w->cpu[i].point[slot]);
	/* Until then one of the CPUs may have trapped a read. */
	if (was == READ_AGAIN)
		s->phase_ns = comm_clock_now_ns();
	s->armed = true;
	if (!heard) {
		silence(w, slot);
		w->lost[COMM_LOSS_WATCH]++;
	}
	return heard;
}

static bool arm(struct comm_watchpoints *w, unsigned int slot, const struct entry *e)
{
	struct slot *s = &w->slot[slot];
	uint32_t bytes = e->read.size_bytes;

	if (w->config.datum_bytes >= 8 || bytes & (bytes - 1) || e->read.addr & (bytes - 1))
		bytes = 8;
	*s = (struct slot){
		.first = e->read,
		.bytes_per_size = e->bytes_per_size,
		.addr = e->read.addr & ~(uint64_t)(bytes - 1),
		.bytes = bytes,
		.is_shared = !w->config.is_shared ||
			     w->config.is_shared(w->config.shared_ctx, e->read.tgid, e->read.addr),
	};
	while (s->patience < PATIENCES - 1 && comm_hash_uniform(&w->random) * PATIENT_OF < 1)
		s->patience++;
	if (!aim(w, slot, FIRST_WRITE))
		return false;
	s->armed_ns = s->phase_ns;
	w->stats.armed++;
	return true;
}

/*
 * CPUs are drained one after the other: puts the hit in its place, and forgets the last one if there
 * are too many.
 */
static void add_hit(struct slot *s, struct hit hit)
{
	unsigned int at = s->n_hits < WRITES ? s->n_hits++ : WRITES;

	for (; at && s->hit[at - 1].time_ns > hit.time_ns; at--)
		if (at < WRITES)
			s->hit[at] = s->hit[at - 1];
	if (at < WRITES)
		s->hit[at] = hit;
}

static bool is_kernel(uint64_t ip)
{
	return ip >> 63;
}

/* The trap's ip is behind the instruction. */
static bool is_behind(uint64_t ip, uint64_t insn)
{
	return insn && ip - insn - 1 < INSN_BYTES;
}

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct comm_watchpoints *w = ctx;
	struct record r;
	unsigned int i;

	w->lost[COMM_LOSS_WATCH] += h->type == PERF_RECORD_LOST;
	if (h->type != PERF_RECORD_SAMPLE)
		return;
	if (h->size < sizeof(*h) + sizeof(r)) {
		w->lost[COMM_LOSS_MALFORMED]++;
		return;
	}
	memcpy(&r, h + 1, sizeof(r));
	for (i = 0; i < w->n_slots; i++) {
		struct slot *s = &w->slot[i];

		if (!s->armed || s->addr != r.addr || r.time_ns < s->phase_ns)
			continue;
		if (r.pid != s->first.tgid &&
		    !(s->is_shared && comm_target_has(w->config.target, r.pid))) {
			w->stats.foreign++;
			if (s->foreign++ < FOREIGN_MAX)
				listen_on(w, &w->cpu[w->draining].point[i]);
		} else if (s->phase == READ_AGAIN) {
			s->read_again |= is_behind(r.ip, s->first.ip);
		} else {
			add_hit(s, (struct hit){r.time_ns, r.ip, r.pid, r.tid, (uint16_t)r.cpu});
		}
		return;
	}
}

/*
 * The write that was the last one before a read, of those that came after it; and, in *ret_reader, who
 * read then.  Code that goes on to write the datum reads, before each of these writes, what the one
 * before it wrote: of x++ by two threads in turn each reads the other's.  Other code reads at any
 * time: at a random one between the first write and the end of the watch.
 */
static const struct hit *answer(struct comm_watchpoints *w, const struct slot *s, uint64_t end_ns,
				const struct hit **ret_reader)
{
	unsigned int i, at = 0, found = 0;
	uint64_t time_ns;

	*ret_reader = NULL;
	for (i = 1; i < s->n_hits; i++) {
		const struct hit *hit = &s->hit[i];

		if (!is_behind(hit->ip, s->first.writes_ip) ||
		    comm_hash_uniform(&w->random) * ++found >= 1)
			continue;
		*ret_reader = hit;
		at = i - 1;
	}
	if (*ret_reader)
		return &s->hit[at];
	if (s->n_hits == WRITES)
		end_ns = s->hit[--i].time_ns;
	else if (end_ns < s->hit[i - 1].time_ns)
		end_ns = s->hit[i - 1].time_ns;
	time_ns = s->hit[0].time_ns +
		  (uint64_t)(comm_hash_uniform(&w->random) * (double)(end_ns - s->hit[0].time_ns));
	for (at = i; at > 1 && s->hit[at - 1].time_ns > time_ns; at--)
		;
	return &s->hit[at - 1];
}

/*
 * What is not written soon is known of the patient watches alone, which stand for the others, too:
 * else what is written again soon would count for more.
 */
static double stands_for(const struct comm_watchpoints *w, const struct slot *s)
{
	uint64_t after_ns = s->n_hits ? s->hit[0].time_ns - s->armed_ns : UINT64_MAX;
	double ret = s->stands_for;

	for (unsigned int i = 0; i < PATIENCES - 1 && after_ns > w->patience_ns[i]; i++)
		ret *= i < s->patience ? PATIENT_OF : 0;
	return ret;
}

static void tell(struct comm_watchpoints *w, const struct slot *s, uint64_t now_ns,
		 comm_event_fn *push, void *ctx)
{
	struct comm_event event = {.kind = COMM_EV_WATCH,
				   .time_ns = now_ns,
				   .tgid = s->first.tgid,
				   .tid = s->first.tid};
	const struct hit *hit, *reader;

	event.watch.first = (struct comm_precise){.addr = s->first.addr,
						  .ip = s->first.ip,
						  .size_bytes = s->first.size_bytes,
						  .flags = COMM_ACCESS_READ};
	event.watch.first_ns = s->first.time_ns;
	event.watch.armed_ns = s->armed_ns;
	event.watch.first_tgid = s->first.tgid;
	event.watch.first_tid = s->first.tid;
	event.watch.stands_for = stands_for(w, s);
	event.watch.second = (struct comm_precise){.addr = s->addr, .size_bytes = s->bytes};
	if (s->n_hits) {
		hit = answer(w, s, now_ns, &reader);
		if (reader) {
			event.watch.first_tgid = reader->tgid;
			event.watch.first_tid = reader->tid;
		}
		/* Not the answer's own time, which the merge may have passed by now. */
		event.time_ns = s->n_hits == WRITES ? s->hit[WRITES - 1].time_ns : now_ns;
		event.cpu = hit->cpu;
		event.tgid = hit->tgid;
		event.tid = hit->tid;
		event.watch.second.flags = COMM_ACCESS_WRITE;
		/*
		 * The trap's ip is behind the writing instruction: one byte back is
		 * inside of it.  Where the kernel's code lies is nobody's business.
		 */
		if (is_kernel(hit->ip))
			event.watch.second.flags |= COMM_ACCESS_KERNEL;
		else
			event.watch.second.ip = hit->ip - 1;
	} else {
		event.watch.second.ip = s->first.ip;
	}
	push(ctx, &event);
}

/* What to wait for from now on; the hits may have come since now_ns. */
static enum phase next_phase(const struct comm_watchpoints *w, const struct slot *s,
			     uint64_t now_ns)
{
	uint64_t waited_ns = now_ns - s->armed_ns;

	if (s->n_hits == WRITES)
		return OVER;
	if (s->n_hits)
		return s->hit[0].time_ns + FOLLOW_NS <= now_ns ? OVER : s->phase;
	if (s->phase == READ_AGAIN && s->read_again)
		return LATE_WRITE;
	if (s->phase == READ_AGAIN)
		return now_ns - s->phase_ns >= LATER_NS ? OVER : READ_AGAIN;
	if (s->phase == FIRST_WRITE && s->patience == PATIENCES - 1)
		return waited_ns >= LATER_NS ? READ_AGAIN : FIRST_WRITE;
	return waited_ns >= w->patience_ns[s->patience] ? OVER : s->phase;
}

static bool is_any_set(const struct comm_watchpoints *w)
{
	bool ret = false;

	for (unsigned int i = 0; i < w->n_slots; i++)
		ret |= w->slot[i].armed;
	return ret;
}

static void look(struct comm_watchpoints *w, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	unsigned int i;

	for (i = 0; i < w->rings.n; i++) {
		struct comm_perf_ring *ring = &w->rings.ring[i].ring;
		uint64_t malformed = ring->malformed;

		w->draining = i;
		comm_perf_ring_read(ring, on_record, w);
		w->lost[COMM_LOSS_MALFORMED] += ring->malformed - malformed;
	}
	for (i = 0; i < w->n_slots; i++) {
		struct slot *s = &w->slot[i];
		enum phase next;

		if (!s->armed)
			continue;
		if (s->foreign > FOREIGN_MAX) {
			/* Traps of other processes have used up this watch: it has no answer. */
			silence(w, i);
			w->lost[COMM_LOSS_WATCH]++;
			continue;
		}
		next = next_phase(w, s, now_ns);
		if (next != s->phase && next != OVER)
			aim(w, i, next);
		if (next != OVER)
			continue;
		silence(w, i);
		tell(w, s, now_ns, push, ctx);
		comm_worth_watched(&w->worth, s->first.tgid, s->addr,
				   s->n_hits ? s->hit[0].tid : 0);
		if (s->n_hits)
			w->stats.hits++;
		else
			w->stats.expired++;
	}
}

void comm_watchpoint_collect(struct comm_watchpoints *w, uint64_t now_ns, comm_event_fn *push,
			     void *ctx)
{
	uint64_t before_ns = comm_clock_thread_ns();

	if (is_any_set(w))
		w->stats.set_ns += now_ns - w->counted_ns;
	w->counted_ns = now_ns;
	look(w, now_ns, push, ctx);
	comm_loss_tell(&w->losses, w->lost, now_ns, push, ctx);
	w->stats.own_ns += comm_clock_thread_ns() - before_ns;
}

/* Two watches of one datum would take each other's traps. */
static bool is_watched(const struct comm_watchpoints *w, uint64_t addr)
{
	unsigned int i;

	for (i = 0; i < w->n_slots; i++)
		if (w->slot[i].armed && (w->slot[i].addr ^ addr) < 8)
			return true;
	return false;
}

static void forget(double *sum)
{
	*sum -= *sum / MEMORY_TURNS;
}

/*
 * Begins watches in proportion to what was offered, as far as slots are free, so that each stands for
 * about as much as any other.
 */
static void begin(struct comm_watchpoints *w, bool may)
{
	unsigned int begun[SLOTS], n = 0, room = 0;
	double each, wanted, sum;

	for (unsigned int i = 0; i < w->n_slots && may; i++)
		room += !w->slot[i].armed;
	room = room < w->tokens ? room : (unsigned int)w->tokens;
	forget(&w->all_offered);
	forget(&w->open_offered);
	forget(&w->room);
	w->all_offered += w->offered;
	w->room += room;
	if (!room || w->offered <= 0)
		return;
	w->open_offered += w->offered;
	each = w->open_offered / w->room;
	wanted = floor(w->offered / each + comm_hash_uniform(&w->random));
	for (unsigned int i = 0; i < w->n_slots && n < room && n < wanted; i++) {
		const struct entry *e = &w->drawn[i];

		if (!w->slot[i].armed && !is_watched(w, e->read.addr & ~7ULL) && arm(w, i, e))
			begun[n++] = i;
	}
	w->tokens -= n;
	if (!n && wanted >= 1)
		w->open_offered -= w->offered;
	sum = w->offered > each * room ? w->offered : wanted * each;
	/* Of what is read in turns without room as much is like what is watched. */
	sum *= fmin(w->all_offered / w->open_offered, UNWATCHED_MOST);
	for (unsigned int i = 0; i < n; i++) {
		struct slot *s = &w->slot[begun[i]];

		s->stands_for = s->bytes_per_size * sum / n;
	}
}

void comm_watchpoint_arm(struct comm_watchpoints *w, uint64_t now_ns, bool may_begin)
{
	uint64_t before_ns = comm_clock_thread_ns();
	double room = (double)(BURST_TURNS * w->n_slots);

	begin(w, may_begin);
	w->idle_turns = w->offered > 0 ? 0 : w->idle_turns + 1;
	w->offered = 0;
	if (w->turn_ns)
		w->tokens += (double)(now_ns - w->turn_ns) * 1e-9 * w->config.per_s;
	if (w->tokens > room)
		w->tokens = room;
	w->turn_ns = now_ns;
	w->stats.own_ns += comm_clock_thread_ns() - before_ns;
}

int comm_watchpoint_turn_ms(const struct comm_watchpoints *w)
{
	if (is_any_set(w))
		return w->turn_ms < SOON_MS ? (int)w->turn_ms : SOON_MS;
	return w->idle_turns < IDLE_TURNS ? (int)w->turn_ms : INT_MAX;
}

void comm_watchpoint_stats(const struct comm_watchpoints *w, struct comm_watchpoint_stats *ret)
{
	*ret = w->stats;
}
