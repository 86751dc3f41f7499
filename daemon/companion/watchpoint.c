// SPDX-License-Identifier: GPL-2.0-or-later
#include "watchpoint.h"
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cpu_rings.h"
#include "loss_teller.h"
#include "sampler.h"
#include "source.h"
#include "trigger.h"
#include "window.h"
#include "worth.h"

enum {
	SLOTS = COMM_DEBUG_REGISTERS,
	RING_PAGES = 2,
	/* For a first write: so long, and one watch in so many ten times as long. */
	PATIENCE_NS = 100 * 1000 * 1000,
	LONG_NS = 1000 * 1000 * 1000,
	LONG_OF = 3,
	/* After the first write, for the next ones. */
	FOLLOW_NS = 20 * 1000 * 1000,
	WRITES = 3,	 /* that one watch waits for */
	INSN_BYTES = 15, /* at most */
	WAIT_READS = 16, /* at most, of one turn */
	BURST_TURNS = 2, /* depth of the token bucket of watches, in turns */
	FOREIGN_MAX = 4, /* traps of other processes that one watch bears */
	STACK_BELOW_BYTES = 128,
	STACK_ABOVE_BYTES = 8192,
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

/* A read of a burst, as it is about to happen: it may get a watch. */
struct candidate {
	uint64_t time_ns, addr, ip;
	uint64_t writes_ip; /* of who goes on to write the same datum; 0: nobody is known to */
	uint32_t tgid, tid;
	uint32_t size_bytes;
	double size; /* what it is drawn by: the bytes it stands for, less where these tell little */
	double bytes_per_size;
};

struct hit {
	uint64_t time_ns, ip;
	uint32_t tgid, tid;
	uint16_t cpu;
};

struct slot {
	bool armed;
	struct candidate first;
	uint64_t addr, armed_ns, patience_ns;
	uint32_t bytes;
	unsigned int foreign;
	double stands_for;	/* as of the event */
	struct hit hit[WRITES]; /* the first ones, in order of time */
	unsigned int n_hits;
};

struct cpu {
	int fd[SLOTS];
	bool deaf[SLOTS];	   /* the breakpoint's limit has stopped it, or may have */
	bool fired[SLOTS];	   /* in this watch: the limit has stopped the breakpoint */
	unsigned int traps[SLOTS]; /* since it was set */
};

struct comm_watchpoints {
	struct comm_watchpoint_config config;
	struct comm_cpu_rings rings;
	struct cpu *cpu; /* as many as rings */
	unsigned int n_slots, draining;
	struct slot slot[SLOTS];
	struct candidate candidate[SLOTS]; /* drawn for each slot since the last turn */
	double offered;	  /* sum of the sizes of all candidates since the last turn ... */
	double unwatched; /* ... and of those before, since a watch was begun */
	double tokens;
	uint64_t turn_ns, random;
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

/* A period of 1, and a limit (PERF_EVENT_IOC_REFRESH): some traps a CPU and watch. */
static void fill_attr(struct perf_event_attr *attr, uint64_t addr, uint32_t bytes)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_BREAKPOINT;
	attr->bp_type = HW_BREAKPOINT_W;
	attr->bp_addr = addr;
	attr->bp_len = bytes;
	attr->sample_period = 1;
	attr->sample_type = SAMPLE_TYPE;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->exclude_kernel = attr->exclude_hv = 1;
	attr->disabled = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1U << 30; /* never: we poll */
}

static int open_breakpoint(int cpu, uint64_t addr)
{
	struct perf_event_attr attr;

	fill_attr(&attr, addr, HW_BREAKPOINT_LEN_8);
	return comm_perf_open(&attr, -1, cpu, -1, 0);
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
		fd[n] = open_breakpoint(cpu, (uint64_t)&own_word);
		if (fd[n] < 0) {
			rc = fd[n];
			break;
		}
	}
	for (int i = 0; i < n; i++)
		close(fd[i]);
	if (!n)
		return explain(rc, why);
	comm_source_fail(why, 0,
			 "a run takes one debug register of each CPU (--debug-registers), %d of %d "
			 "are free%s",
			 n, SLOTS, n < SLOTS ? ": a debugger or another commd has the others" : "");
	return 0;
}

static int open_cpu(struct cpu *c, const struct comm_cpu_ring *ring, unsigned int *slots)
{
	unsigned int i;

	for (i = 0; i < *slots; i++) {
		/* Aimed at a word that no thread writes, and disabled. */
		c->fd[i] = open_breakpoint(ring->cpu, (uint64_t)&own_word);
		if (c->fd[i] < 0 && i) {
			*slots = i; /* all CPUs use as many as this one has */
			return 0;
		}
		if (c->fd[i] < 0)
			return c->fd[i];
		if (ioctl(c->fd[i], PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
			return -errno;
	}
	return 0;
}

static void close_slots(struct cpu *c, unsigned int from)
{
	unsigned int i;

	for (i = from; i < SLOTS; i++) {
		if (c->fd[i] >= 0)
			close(c->fd[i]);
		c->fd[i] = -1;
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
	w->random = 88172645463325252ULL;
	rc = comm_cpu_rings_open(&rings, &w->rings, &why);
	free(why);
	if (rc)
		goto fail;
	w->cpu = calloc(w->rings.n, sizeof(*w->cpu));
	rc = w->cpu ? 0 : -ENOMEM;
	for (i = 0; i < w->rings.n && w->cpu; i++)
		memset(w->cpu[i].fd, -1, sizeof(w->cpu[i].fd));
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

static uint64_t next_random(struct comm_watchpoints *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random >> 11;
}

/*
 * Does the burst wait for another thread's write: writes nothing and reads the same few data over and
 * over (as window.h has it)?  It reads for as long as what it waits for is not there, not at any
 * time: who is the last writer at a random instant says nothing of it.
 */
static bool waits(const struct comm_burst *burst)
{
	const struct comm_burst_access *first[WAIT_READS];
	uint32_t n = 0, reads = 0, j;

	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		if (a->flags & COMM_ACCESS_IMPLICIT)
			continue;
		if (a->flags & COMM_ACCESS_WRITE)
			return false;
		reads++;
		for (j = 0; j < n && (first[j]->ip != a->ip || first[j]->addr != a->addr); j++)
			;
		if (j < n)
			continue;
		if (n == WAIT_READS)
			return false;
		first[n++] = a;
	}
	return n && reads >= COMM_WINDOW_SPIN_TURNS * n;
}

/* x++ in one instruction or in several. */
static uint64_t writes_after(const struct comm_burst *burst, uint32_t read)
{
	uint64_t addr = burst->access[read].addr;

	for (uint32_t i = read; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		if (a->flags & COMM_ACCESS_WRITE && addr - a->addr < a->size_bytes)
			return a->ip;
	}
	return 0;
}

/* In units of the period. */
static double length_of(enum comm_trigger trigger, const struct comm_burst *burst)
{
	double length = trigger == COMM_TRIGGER_TIME	       ? (double)burst->cycles
			: trigger == COMM_TRIGGER_INSTRUCTIONS ? burst->n_insns
							       : burst->n_accesses;

	return length > 1 ? length : 1;
}

/*
 * Picks one of the burst's reads, with a probability proportional to its bytes;
 * false: none fits.
 */
static bool pick(struct comm_watchpoints *w, const struct comm_event *event,
		 const struct comm_burst *burst, struct candidate *ret)
{
	uint64_t sp = event->sample->reg[COMM_RSP], total = 0;
	uint32_t at = burst->n_accesses;

	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		const struct comm_burst_access *a = &burst->access[i];
		uint64_t size = a->size_bytes < 64 ? a->size_bytes : 64;

		if (a->flags & COMM_ACCESS_WRITE)
			comm_worth_written(&w->worth, event->tgid, event->tid, a->addr);
		/* Other threads rarely write a thread's stack: not worth a watch. */
		if (!(a->flags & COMM_ACCESS_READ) || a->flags & COMM_ACCESS_IMPLICIT || !size ||
		    a->addr - (sp - STACK_BELOW_BYTES) < STACK_BELOW_BYTES + STACK_ABOVE_BYTES)
			continue;
		total += size;
		if (next_random(w) % total >= size)
			continue;
		*ret = (struct candidate){
			.time_ns = event->time_ns,
			.addr = a->addr,
			.ip = a->ip,
			.tgid = event->tgid,
			.tid = event->tid,
			.size_bytes = a->size_bytes > 8 ? 8 : (uint32_t)a->size_bytes,
		};
		at = i;
	}
	if (at == burst->n_accesses)
		return false;
	ret->writes_ip = writes_after(burst, at);
	/* What runs like this burst for a period reads as many bytes a cycle as it does. */
	ret->size = (double)total * (double)(event->sample->period ? event->sample->period : 1) /
		    length_of(w->config.trigger, burst);
	return true;
}

/* Below 1. */
static double next_uniform(struct comm_watchpoints *w)
{
	return (double)next_random(w) * 0x1p-53;
}

void comm_watchpoint_offer(struct comm_watchpoints *w, const struct comm_event *event,
			   const struct comm_burst *burst)
{
	struct candidate c;
	double share;

	if (waits(burst) || !pick(w, event, burst, &c))
		return;
	/* Such as a loop whose burst ends after a turn, for its condition is not known. */
	if (comm_worth_polled(&w->worth, c.tgid, c.ip, c.addr) && !c.writes_ip)
		return;
	share = comm_worth_share(&w->worth, c.tgid, c.tid, c.addr);
	c.size *= share;
	c.bytes_per_size = 1 / share;
	w->offered += c.size;
	/* Each slot draws for itself, in proportion to size (Chao, Biometrika 69, 1982). */
	for (unsigned int i = 0; i < w->n_slots; i++)
		if (next_uniform(w) * w->offered < c.size)
			w->candidate[i] = c;
}

/* Each ioctl that acts on another CPU interrupts it. */
static void charge_telling(struct comm_watchpoints *w)
{
	double share = (double)(w->rings.n - 1) / w->rings.n;

	w->stats.trap_ns += (uint64_t)(TOLD_SHARE * share * w->config.trap_ns);
}

/*
 * A breakpoint that its limit has stopped stays deaf on newer kernels (6.18:
 * enabling it again does not clear hw.state), until its period is set.
 */
static int listen_on(struct comm_watchpoints *w, struct cpu *c, unsigned int slot)
{
	uint64_t one = 1;

	if (ioctl(c->fd[slot], PERF_EVENT_IOC_REFRESH, WRITES))
		return -errno;
	charge_telling(w);
	c->fired[slot] = false;
	c->traps[slot] = 0;
	if (!c->deaf[slot])
		return 0;
	charge_telling(w);
	c->deaf[slot] = false;
	return ioctl(c->fd[slot], PERF_EVENT_IOC_PERIOD, &one) ? -errno : 0;
}

static void silence(struct comm_watchpoints *w, unsigned int slot)
{
	unsigned int i;

	for (i = 0; i < w->rings.n; i++) {
		struct cpu *c = &w->cpu[i];

		ioctl(c->fd[slot], PERF_EVENT_IOC_DISABLE, 0);
		if (!c->fired[slot])
			charge_telling(w);
	}
	w->slot[slot].armed = false;
}

static bool arm(struct comm_watchpoints *w, unsigned int slot, const struct candidate *c)
{
	struct slot *s = &w->slot[slot];
	struct perf_event_attr attr;
	unsigned int i;
	bool heard = true;

	s->first = *c;
	s->bytes = c->size_bytes;
	if (w->config.datum_bytes >= 8 || s->bytes & (s->bytes - 1) || c->addr & (s->bytes - 1))
		s->bytes = 8;
	s->addr = c->addr & ~(uint64_t)(s->bytes - 1);
	s->foreign = 0;
	s->n_hits = 0;
	s->patience_ns = next_uniform(w) * LONG_OF < 1 ? LONG_NS : PATIENCE_NS;
	fill_attr(&attr, s->addr, s->bytes);
	/*
	 * A trap taken on one CPU before the last CPU is armed counts, too: no
	 * further one comes from that CPU.
	 */
	s->armed_ns = comm_clock_now_ns();
	for (i = 0; i < w->rings.n; i++)
		heard &= !ioctl(w->cpu[i].fd[slot], PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) &&
			 !listen_on(w, &w->cpu[i], slot);
	s->armed = true;
	if (!heard) {
		silence(w, slot);
		w->lost[COMM_LOSS_WATCH]++;
	} else {
		w->stats.armed++;
	}
	return heard;
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

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct comm_watchpoints *w = ctx;
	struct cpu *c = &w->cpu[w->draining];
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
	w->stats.trap_ns += (uint64_t)w->config.trap_ns;
	for (i = 0; i < w->n_slots; i++) {
		struct slot *s = &w->slot[i];

		if (!s->armed || s->addr != r.addr || r.time_ns < s->armed_ns)
			continue;
		if (++c->traps[i] >= WRITES)
			c->fired[i] = c->deaf[i] = true;
		/* Targets may share this memory; the engine checks whether they do. */
		if (r.pid != s->first.tgid && !comm_target_has(w->config.target, r.pid)) {
			w->stats.foreign++;
			if (s->foreign++ < FOREIGN_MAX && c->fired[i])
				listen_on(w, c, i);
		} else {
			add_hit(s, (struct hit){r.time_ns, r.ip, r.pid, r.tid, (uint16_t)r.cpu});
		}
		return;
	}
}

/* The trap's ip is behind the instruction. */
static bool is_behind(uint64_t ip, uint64_t insn)
{
	return insn && ip - insn - 1 < INSN_BYTES;
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

		if (!is_behind(hit->ip, s->first.writes_ip) || next_uniform(w) * ++found >= 1)
			continue;
		*ret_reader = hit;
		at = i - 1;
	}
	if (*ret_reader)
		return &s->hit[at];
	if (s->n_hits == WRITES)
		end_ns = s->hit[--i].time_ns;
	time_ns = s->hit[0].time_ns +
		  (uint64_t)(next_uniform(w) * (double)(end_ns - s->hit[0].time_ns));
	for (at = i; at > 1 && s->hit[at - 1].time_ns > time_ns; at--)
		;
	return &s->hit[at - 1];
}

/*
 * What is not written within PATIENCE_NS is known of those alone that are watched for longer, which stand
 * for the others, too: else what is written again soon would count for more.
 */
static double stands_for(const struct slot *s)
{
	bool is_late = !s->n_hits || s->hit[0].time_ns - s->armed_ns > PATIENCE_NS;

	return !is_late ? s->stands_for : s->patience_ns == LONG_NS ? LONG_OF * s->stands_for : 0;
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
	event.watch.stands_for = stands_for(s);
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
		/*
		 * The trap's ip is behind the writing instruction: one byte back is
		 * inside of it.
		 */
		event.watch.second.ip = hit->ip - 1;
		event.watch.second.flags = COMM_ACCESS_WRITE;
	} else {
		event.watch.second.ip = s->first.ip;
	}
	push(ctx, &event);
}

/* Is there nothing more to wait for? */
static bool is_over(const struct slot *s, uint64_t now_ns)
{
	if (s->n_hits == WRITES)
		return true;
	return s->n_hits ? now_ns - s->hit[0].time_ns >= FOLLOW_NS
			 : now_ns - s->armed_ns >= s->patience_ns;
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

		if (!s->armed)
			continue;
		if (s->foreign > FOREIGN_MAX) {
			/* Traps of other processes have used up this watch: it has no answer. */
			silence(w, i);
			w->lost[COMM_LOSS_WATCH]++;
			w->unwatched += s->stands_for / s->first.bytes_per_size;
			continue;
		}
		if (!is_over(s, now_ns))
			continue;
		silence(w, i);
		tell(w, s, now_ns, push, ctx);
		comm_worth_watched(&w->worth, s->first.tgid, s->addr,
				   s->n_hits ? s->hit[0].tid : 0);
		if (s->n_hits) {
			w->stats.hits++;
			continue;
		}
		w->stats.expired++;
		/*
		 * A breakpoint may have stopped without a record in the ring:
		 * revive all for the next watch.
		 */
		for (unsigned int j = 0; j < w->rings.n; j++)
			w->cpu[j].deaf[i] = true;
	}
}

void comm_watchpoint_collect(struct comm_watchpoints *w, uint64_t now_ns, comm_event_fn *push,
			     void *ctx)
{
	uint64_t before_ns = comm_clock_thread_ns();

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

void comm_watchpoint_arm(struct comm_watchpoints *w, uint64_t now_ns)
{
	uint64_t before_ns = comm_clock_thread_ns();
	double room = (double)(BURST_TURNS * w->n_slots);
	unsigned int begun[SLOTS], n = 0;

	w->unwatched += w->offered;
	for (unsigned int i = 0; i < w->n_slots && w->tokens >= 1 && w->offered > 0; i++) {
		const struct candidate *c = &w->candidate[i];

		if (w->slot[i].armed || is_watched(w, c->addr & ~7ULL) || !arm(w, i, c))
			continue;
		begun[n++] = i;
		w->tokens--;
	}
	for (unsigned int i = 0; i < n; i++)
		w->slot[begun[i]].stands_for =
			w->unwatched / n * w->slot[begun[i]].first.bytes_per_size;
	if (n)
		w->unwatched = 0;
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
	uint32_t ms = 1000 * w->n_slots / (w->config.per_s ? w->config.per_s : 1);
	bool armed = false;

	for (unsigned int i = 0; i < w->n_slots; i++)
		armed |= w->slot[i].armed;
	if (!armed)
		return INT_MAX;
	return ms < TURN_MS_MIN ? TURN_MS_MIN : ms > TURN_MS_MAX ? TURN_MS_MAX : (int)ms;
}

void comm_watchpoint_stats(const struct comm_watchpoints *w, struct comm_watchpoint_stats *ret)
{
	*ret = w->stats;
}
