// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live source without BPF.  Two ways, both into one ring per CPU:
 *
 *  - every CPU, if the kernel permits it: one event per CPU, other people's
 *    samples are dropped here;
 *  - else every thread on every CPU with inheritance, the only form in which
 *    an unprivileged user may have threads that are not born yet in a ring.
 *    A period that is changed does not reach the inherited copies, so here a
 *    new rate means to open everything anew.
 *
 * No memory but the stack, no kernel copies; switches with the first way only.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"
#include "perf_ring.h"
#include "perf_sample.h"
#include "source.h"
#include "trigger.h"

enum {
	RING_PAGES = 256,
	RING_PAGES_MIN = 8,
	SPARE_FDS = 64,	  /* for the rest of the daemon */
	SAMPLE_NS = 1300, /* a record with registers, beyond the interrupt */
	SWITCH_NS = 1500, /* a pair of switch records */
	/*
	 * Opening everything anew for another rate costs too: no more than so
	 * small a part of the time, or five times that to slow down.
	 */
	REOPEN_SHARE = 1000,
	REOPEN_NS_MIN = 2000000000,
};

struct thread_event {
	int fd;
	int slot; /* of its CPU */
};

struct cpu {
	int number;
	int anchor_fd; /* owns the ring */
	int sample_fd; /* -1 with events per thread */
	int switch_fd; /* -1: none */
	uint64_t period, old_period, changed_ns;
	struct comm_perf_ring ring;
};

struct source {
	struct comm_sampler_config config;
	struct comm_trigger_event event;
	bool per_cpu, started, switches_on, in_gap;
	struct cpu *cpu;
	unsigned int n_cpus, possible;
	struct thread_event *thread; /* per thread and CPU */
	size_t n_threads, room_threads;
	uint64_t period, opened_ns, reopen_ns;
	double fired; /* interrupts up to counted_ns */
	uint64_t counted_ns, counted_cpu_ns;
	struct comm_sampler_stats stats;
	uint64_t told_loss[COMM_LOSS_MAX];
	uint64_t gaps; /* times that switches began to be left out */
	uint64_t *seen_ns;
	char notes[256];
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
	struct cpu *draining;
	struct comm_sample sample;
};

struct sample_id {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, zero;
};

static bool may_watch_cpus(void)
{
	return comm_has_capability(CAP_PERFMON, CAP_SYS_ADMIN) || comm_perf_paranoid() <= 0;
}

static int probe(char **why)
{
	struct comm_trigger_event event;
	struct perf_event_attr attr;
	int paranoid = comm_perf_paranoid(), fd;

	if (paranoid == INT_MAX)
		return comm_source_fail(why, -ENOSYS,
					"this kernel has no perf events (CONFIG_PERF_EVENTS)");
	if (comm_trigger_pick(COMM_WANT_TIME, &event, why))
		return -ENODEV;
	comm_trigger_attr(&event, 0, false, &attr);
	fd = comm_perf_open(&attr, 0, -1, -1, 0);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (paranoid > 2)
		return comm_source_fail(
			why, fd,
			"kernel.perf_event_paranoid is %d: run as root, or allow it "
			"with 'sysctl kernel.perf_event_paranoid=2'",
			paranoid);
	return comm_source_fail(why, fd, "the kernel refuses perf events: %s%s", strerror(-fd),
				fd == -EACCES || fd == -EPERM ? " (a seccomp filter?)" : "");
}

static void fill_attr(const struct source *s, struct perf_event_attr *attr)
{
	comm_trigger_attr(&s->event, s->period, false, attr);
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			    PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = comm_perf_sample_regs;
	attr->sample_stack_user = s->config.stack_bytes;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->task = attr->comm = attr->comm_exec = 1;
	attr->mmap = attr->mmap_data = 1;
	attr->watermark = 1;
	attr->wakeup_watermark = 1U << 30; /* never: we poll */
	attr->inherit = !s->per_cpu;
}

/* Carries the ring and, per CPU, the switches; never samples. */
static int open_dummy(struct source *s, int cpu, bool switches)
{
	struct perf_event_attr attr;

	fill_attr(s, &attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.task = attr.comm = attr.comm_exec = attr.mmap = attr.mmap_data = 0;
	attr.inherit = 0;
	attr.context_switch = switches;
	attr.sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
	attr.sample_regs_user = attr.sample_stack_user = 0;
	return comm_perf_open(&attr, switches ? -1 : 0, cpu, -1, 0);
}

static int open_cpu(struct source *s, struct cpu *c, char **err)
{
	size_t pages = RING_PAGES;
	int rc;

	c->sample_fd = c->switch_fd = -1;
	c->anchor_fd = open_dummy(s, c->number, false);
	if (c->anchor_fd < 0)
		return comm_source_fail(err, c->anchor_fd, "cannot open a ring on CPU %d: %s",
					c->number, strerror(-c->anchor_fd));
	do {
		rc = comm_perf_ring_map(c->anchor_fd, pages, &c->ring);
		pages /= 2;
	} while (rc == -EPERM && pages >= RING_PAGES_MIN);
	if (rc)
		return comm_source_fail(err, rc,
					"cannot map a ring: %s (see kernel.perf_event_mlock_kb and "
					"'ulimit -l')",
					strerror(-rc));
	return 0;
}

static int redirect(int fd, const struct cpu *c)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->anchor_fd) ? -errno : 0;
}

static int open_sampler(struct source *s, struct cpu *c, char **err)
{
	struct perf_event_attr attr;
	int rc;

	fill_attr(s, &attr);
	c->sample_fd = comm_perf_open(&attr, -1, c->number, -1, 0);
	rc = c->sample_fd < 0 ? c->sample_fd : redirect(c->sample_fd, c);
	if (!rc && s->config.switches) {
		c->switch_fd = open_dummy(s, c->number, true);
		rc = c->switch_fd < 0 ? c->switch_fd : redirect(c->switch_fd, c);
	}
	c->period = c->old_period = attr.sample_period;
	if (rc)
		comm_source_fail(err, rc, "cannot open %s on CPU %d: %s", s->event.name, c->number,
				 strerror(-rc));
	return rc;
}

static int add_thread_event(struct source *s, int fd, int slot)
{
	if (s->n_threads == s->room_threads) {
		size_t room = s->room_threads ? 2 * s->room_threads : 64;
		struct thread_event *t = realloc(s->thread, room * sizeof(*t));

		if (!t)
			return -ENOMEM;
		s->thread = t;
		s->room_threads = room;
	}
	s->thread[s->n_threads++] = (struct thread_event){fd, slot};
	return 0;
}

static int open_thread(struct source *s, pid_t tid, bool enable)
{
	struct perf_event_attr attr;
	unsigned int i;
	int fd, rc;

	fill_attr(s, &attr);
	for (i = 0; i < s->n_cpus; i++) {
		fd = comm_perf_open(&attr, tid, s->cpu[i].number, -1, 0);
		if (fd == -ESRCH) /* it has just ended */
			return 0;
		if (fd < 0)
			return fd;
		rc = redirect(fd, &s->cpu[i]);
		if (!rc)
			rc = add_thread_event(s, fd, (int)i);
		if (rc) {
			close(fd);
			return rc;
		}
		if (enable)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	return 0;
}

static size_t count_threads(const struct source *s)
{
	const uint32_t *pid;
	size_t n = comm_target_pids(s->config.target, &pid), threads = 0, i;
	struct dirent *e;
	char path[64];
	DIR *dir;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%u/task", pid[i]);
		dir = opendir(path);
		while (dir && (e = readdir(dir)))
			threads += e->d_name[0] != '.';
		if (dir)
			closedir(dir);
	}
	return threads;
}

/* As many descriptors as the hard limit allows; what do we get? */
static size_t raise_fd_limit(size_t want)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_cur < want && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur;
}

static int open_process(struct source *s, uint32_t pid, bool enable)
{
	struct dirent *e;
	char path[64];
	int rc = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	dir = opendir(path);
	while (!rc && dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			rc = open_thread(s, (pid_t)strtol(e->d_name, NULL, 10), enable);
	if (dir)
		closedir(dir);
	return rc;
}

static int open_threads(struct source *s, bool enable, char **err)
{
	/* While reopening, old and new are open at once. */
	size_t threads = count_threads(s), want = (2 * threads + 2) * s->n_cpus + SPARE_FDS;
	size_t limit = raise_fd_limit(want), n, i;
	const uint32_t *pid;
	int rc = 0;

	if (limit < (threads + 1) * s->n_cpus + SPARE_FDS)
		return comm_source_fail(
			err, -EMFILE,
			"%zu threads on %u CPUs need %zu descriptors and the limit is %zu: raise "
			"'ulimit -n', or give CAP_BPF and CAP_PERFMON, with which %u are enough",
			threads, s->n_cpus, (threads + 1) * s->n_cpus + SPARE_FDS, limit,
			s->n_cpus);
	n = comm_target_pids(s->config.target, &pid);
	for (i = 0; i < n && !rc; i++)
		rc = open_process(s, pid[i], enable);
	if (rc == -EACCES || rc == -EPERM)
		return comm_source_fail(err, rc,
					"may not watch process %u: it is another user's, or not "
					"dumpable; run as its user or as root",
					pid[i - 1]);
	if (rc)
		return comm_source_fail(err, rc, "cannot open %s for a thread: %s", s->event.name,
					strerror(-rc));
	s->opened_ns = comm_clock_now_ns();
	return 0;
}

static void close_threads(struct source *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		close(s->thread[i].fd);
	if (n == 0)
		return;
	memmove(s->thread, s->thread + n, (s->n_threads - n) * sizeof(*s->thread));
	s->n_threads -= n;
}

static void source_close(void *source)
{
	struct source *s = source;
	unsigned int i;

	if (!s)
		return;
	close_threads(s, s->n_threads);
	for (i = 0; i < s->n_cpus; i++) {
		struct cpu *c = &s->cpu[i];

		if (c->sample_fd >= 0)
			close(c->sample_fd);
		if (c->switch_fd >= 0)
			close(c->switch_fd);
		comm_perf_ring_unmap(&c->ring);
		if (c->anchor_fd >= 0)
			close(c->anchor_fd);
	}
	free(s->cpu);
	free(s->thread);
	free(s->seen_ns);
	free(s);
}

static int find_cpus(struct source *s)
{
	int *number, n, i;

	s->possible = (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
	number = calloc(s->possible, sizeof(*number));
	s->cpu = calloc(s->possible, sizeof(*s->cpu));
	s->seen_ns = calloc(s->possible, sizeof(*s->seen_ns));
	n = !number || !s->cpu || !s->seen_ns ? -ENOMEM
					      : comm_online_cpus(number, (int)s->possible);
	for (i = 0; i < n; i++) {
		s->cpu[i].number = number[i];
		s->cpu[i].anchor_fd = s->cpu[i].sample_fd = s->cpu[i].switch_fd = -1;
		if (number[i] >= (int)s->possible)
			n = -ERANGE;
	}
	free(number);
	if (n < 0)
		return n;
	s->n_cpus = (unsigned int)n;
	return 0;
}

static int source_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	struct source *s;
	unsigned int i;
	int rc = comm_sampler_check(config, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->per_cpu = may_watch_cpus();
	if (!s->per_cpu && comm_target_kind(config->target) != COMM_TARGET_PIDS) {
		rc = comm_source_fail(err, -EPERM,
				      "to watch a cgroup or every process needs CAP_PERFMON, or "
				      "kernel.perf_event_paranoid 0 or less (it is %d)",
				      comm_perf_paranoid());
		goto fail;
	}
	if (comm_target_kind(config->target) == COMM_TARGET_CGROUP) {
		rc = comm_source_fail(err, -ENOTSUP,
				      "the perf source cannot watch a cgroup: it needs BPF "
				      "(CAP_BPF and CAP_PERFMON)");
		goto fail;
	}
	if (config->switches && !s->per_cpu)
		snprintf(s->notes, sizeof(s->notes), "%s",
			 "without BPF no memory but the stack and no kernel copies are seen, "
			 "and without CAP_PERFMON no switches");
	else
		snprintf(s->notes, sizeof(s->notes),
			 "without BPF no memory but the stack and no kernel copies are seen");
	s->config.switches &= s->per_cpu;
	s->switches_on = s->config.switches;
	rc = comm_trigger_pick(config->trigger, &s->event, err);
	if (rc)
		goto fail;
	s->period = config->period ? config->period : s->event.period;
	rc = find_cpus(s);
	if (rc) {
		comm_source_fail(err, rc, "cannot tell which CPUs there are: %s", strerror(-rc));
		goto fail;
	}
	for (i = 0; i < s->n_cpus && !rc; i++) {
		rc = open_cpu(s, &s->cpu[i], err);
		if (!rc && s->per_cpu)
			rc = open_sampler(s, &s->cpu[i], err);
	}
	if (!rc && !s->per_cpu)
		rc = open_threads(s, false, err);
	if (rc)
		goto fail;
	*ret = s;
	return 0;
fail:
	source_close(s);
	return rc;
}

static void source_info(const void *source, struct comm_sampler_info *ret)
{
	const struct source *s = source;

	*ret = (struct comm_sampler_info){
		.event = s->event.name,
		.trigger = s->event.trigger,
		.per_cpu = s->per_cpu,
		.sees_switches = s->config.switches,
		.sees_maps = true,
		.n_cpus = s->possible,
		.n_fds = s->n_cpus * (s->per_cpu ? 2 + s->config.switches : 1) +
			 (unsigned int)s->n_threads,
		.notes = s->notes,
	};
}

static int source_start(void *source, char **err)
{
	struct source *s = source;
	unsigned int i;
	size_t t;

	s->counted_ns = comm_clock_now_ns();
	s->counted_cpu_ns = comm_target_cpu_ns(s->config.target);
	for (i = 0; i < s->n_cpus; i++) {
		struct cpu *c = &s->cpu[i];

		if ((c->sample_fd >= 0 && ioctl(c->sample_fd, PERF_EVENT_IOC_ENABLE, 0)) ||
		    (s->switches_on && ioctl(c->switch_fd, PERF_EVENT_IOC_ENABLE, 0)))
			return comm_source_fail(err, -errno, "cannot enable %s: %s", s->event.name,
						strerror(errno));
	}
	for (t = 0; t < s->n_threads; t++)
		ioctl(s->thread[t].fd, PERF_EVENT_IOC_ENABLE, 0);
	s->started = true;
	return 0;
}

static int source_fd(const void *source)
{
	(void)source;
	return -1;
}

static bool wanted(const struct source *s, uint32_t tgid)
{
	return tgid && tgid != (uint32_t)getpid() && comm_target_has(s->config.target, tgid);
}

static void emit(struct source *s, const struct comm_event *event)
{
	s->push(s->push_ctx, event);
	s->pushed++;
}

static void on_sample(struct source *s, const struct perf_event_header *h)
{
	struct comm_sample *out = &s->sample;
	struct comm_event event = {.kind = COMM_EV_SAMPLE};
	const struct cpu *c = s->draining;
	struct comm_perf_sample head;

	if (!comm_perf_sample_head(h, &head) || !wanted(s, head.pid))
		return;
	comm_perf_sample_state(h, out);
	/* The kernel reports the period at opening, not one set later. */
	out->period = head.period;
	if (s->per_cpu)
		out->period = head.time_ns < c->changed_ns ? c->old_period : c->period;
	event.time_ns = head.time_ns;
	event.cpu = (uint16_t)head.cpu;
	event.tgid = head.pid;
	event.tid = head.tid;
	event.sample = out;
	s->stats.samples++;
	s->stats.hits++;
	if (head.cpu < s->possible)
		s->seen_ns[head.cpu] = head.time_ns;
	emit(s, &event);
}

static void on_switch(struct source *s, const struct perf_event_header *h,
		      const struct sample_id *id)
{
	struct comm_event event = {.kind = COMM_EV_SWITCH};
	uint32_t other[2];
	bool from, to;

	/* Each switch gives two records; the one of who leaves says it all. */
	if (!(h->misc & PERF_RECORD_MISC_SWITCH_OUT) || h->size < sizeof(*h) + sizeof(other))
		return;
	memcpy(other, h + 1, sizeof(other));
	/* Records come of everybody's switches, and each was paid for. */
	s->stats.switches++;
	s->stats.switches_out++;
	from = wanted(s, id->pid);
	to = wanted(s, other[0]);
	if (!from && !to)
		return;
	event.tgid = from ? id->pid : 0;
	event.tid = id->tid;
	event.next_tid = other[1];
	event.sched.prev_tgid = event.tgid;
	event.sched.next_tgid = to ? other[0] : 0;
	event.time_ns = id->time_ns;
	event.cpu = (uint16_t)id->cpu;
	if (id->cpu < s->possible)
		s->seen_ns[id->cpu] = id->time_ns;
	emit(s, &event);
}

static void on_life(struct source *s, const struct perf_event_header *h, const struct sample_id *id)
{
	struct comm_event event = {.time_ns = id->time_ns, .cpu = (uint16_t)id->cpu};
	uint64_t map[3];
	uint32_t w[4];

	if (h->size < sizeof(*h) + sizeof(w) + sizeof(*id))
		return;
	memcpy(w, h + 1, sizeof(w));
	event.tgid = w[0];
	event.tid = w[1];
	switch (h->type) {
	case PERF_RECORD_FORK: /* pid, ppid, tid, ptid */
		event.kind = COMM_EV_FORK;
		event.tgid = w[1];
		event.tid = w[3];
		event.fork.child_tgid = w[0];
		event.fork.child_tid = w[2];
		break;
	case PERF_RECORD_EXIT:
		event.kind = COMM_EV_EXIT;
		event.tid = w[2];
		break;
	case PERF_RECORD_COMM:
		event.kind = h->misc & PERF_RECORD_MISC_COMM_EXEC ? COMM_EV_EXEC : COMM_EV_RENAME;
		break;
	default:
		if (h->size < sizeof(*h) + 8 + sizeof(map) + sizeof(*id))
			return;
		memcpy(map, (const unsigned char *)(h + 1) + 8, sizeof(map));
		event.kind = COMM_EV_MMAP;
		event.mmap.start = map[0];
		event.mmap.end = map[0] + map[1];
		event.mmap.offset = map[2];
		event.mmap.executable = !(h->misc & PERF_RECORD_MISC_MMAP_DATA);
		break;
	}
	if (!wanted(s, event.tgid))
		return;
	comm_target_event(s->config.target, &event);
	emit(s, &event);
}

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct source *s = ctx;
	struct sample_id id = {0};
	uint64_t lost[2];

	if (h->type == PERF_RECORD_SAMPLE) {
		on_sample(s, h);
		return;
	}
	if (h->size >= sizeof(*h) + sizeof(id))
		memcpy(&id, (const unsigned char *)h + h->size - sizeof(id), sizeof(id));
	switch (h->type) {
	case PERF_RECORD_LOST:
		if (h->size >= sizeof(*h) + sizeof(lost)) {
			memcpy(lost, h + 1, sizeof(lost));
			s->stats.loss[COMM_LOSS_RING] += lost[1];
		}
		break;
	case PERF_RECORD_THROTTLE:
		s->stats.loss[COMM_LOSS_THROTTLE]++;
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		on_switch(s, h, &id);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
		on_life(s, h, &id);
		break;
	default:
		break;
	}
}

/*
 * The kernel tells nobody how often a timer fired, so it is computed: on every
 * CPU all the time, or for threads while they run.
 */
static void count_interrupts(struct source *s)
{
	uint64_t now = comm_clock_now_ns(), cpu_ns;
	unsigned int i;

	if (!s->started)
		return;
	if (s->event.trigger != COMM_TRIGGER_TIME) {
		s->stats.interrupts = s->stats.samples;
		return;
	}
	if (s->per_cpu) {
		for (i = 0; i < s->n_cpus; i++)
			s->fired += (double)(now - s->counted_ns) / (double)s->cpu[i].period;
	} else {
		cpu_ns = comm_target_cpu_ns(s->config.target);
		s->fired += (double)(cpu_ns - s->counted_cpu_ns) / (double)s->period;
		s->counted_cpu_ns = cpu_ns;
	}
	s->counted_ns = now;
	s->stats.interrupts = (uint64_t)s->fired;
}

static void fill_stats(const struct source *s, struct comm_sampler_stats *ret)
{
	*ret = s->stats;
	ret->period = s->period;
	ret->handler_ns = s->stats.samples * SAMPLE_NS;
	ret->switch_ns = s->stats.switches_out * SWITCH_NS;
	ret->loss[COMM_LOSS_BUDGET] += s->gaps;
}

static void source_stats(void *source, struct comm_sampler_stats *ret)
{
	count_interrupts(source);
	fill_stats(source, ret);
}

static int source_drain(void *source, comm_event_fn *push, void *ctx)
{
	struct source *s = source;
	struct comm_event event = {.kind = COMM_EV_LOSS};
	struct comm_sampler_stats stats;
	unsigned int i;

	s->push = push;
	s->push_ctx = ctx;
	s->pushed = 0;
	for (i = 0; i < s->n_cpus; i++) {
		s->draining = &s->cpu[i];
		comm_perf_ring_read(&s->cpu[i].ring, on_record, s);
	}
	if (s->config.switches && s->started && !s->switches_on && !s->in_gap)
		s->gaps++;
	s->in_gap = !s->switches_on;
	fill_stats(s, &stats);
	event.time_ns = comm_clock_now_ns();
	for (i = 0; i < COMM_LOSS_MAX; i++) {
		if (stats.loss[i] == s->told_loss[i])
			continue;
		event.cause = i;
		event.count = stats.loss[i] - s->told_loss[i];
		s->told_loss[i] = stats.loss[i];
		emit(s, &event);
	}
	return s->pushed;
}

static int set_cpu_periods(struct source *s, const struct comm_sampler_rate *rate)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < s->n_cpus; i++) {
		struct cpu *c = &s->cpu[i];
		uint64_t period = rate->period << (rate->park ? rate->park[c->number] : 0);

		if (!comm_trigger_worth_setting(c->period, period,
						rate->park && rate->park[c->number]))
			continue;
		if (ioctl(c->sample_fd, PERF_EVENT_IOC_PERIOD, &period)) {
			rc = -errno;
			continue;
		}
		c->old_period = c->period;
		c->period = period;
		c->changed_ns = comm_clock_now_ns();
	}
	return rc;
}

static int set_thread_periods(struct source *s, uint64_t period)
{
	uint64_t now = comm_clock_now_ns(), wait = s->reopen_ns * REOPEN_SHARE, old = s->period;
	size_t n_old = s->n_threads;
	char *err = NULL;
	int rc;

	if (period >= 2 * old)
		wait /= 5;
	else if (wait < REOPEN_NS_MIN)
		wait = REOPEN_NS_MIN;
	/* Not for a little jitter. */
	if ((period < old + old / 4 && period > old - old / 4) ||
	    (s->started && now - s->opened_ns < wait))
		return 0;
	count_interrupts(s);
	s->period = period;
	rc = open_threads(s, s->started, &err);
	free(err);
	if (rc) {
		/* What is open goes on at the old rate. */
		while (s->n_threads > n_old)
			close(s->thread[--s->n_threads].fd);
		s->period = old;
		return rc;
	}
	close_threads(s, n_old);
	s->reopen_ns = comm_clock_now_ns() - now;
	return 0;
}

static int source_set_rate(void *source, const struct comm_sampler_rate *rate)
{
	struct source *s = source;
	bool on = rate->switches;
	unsigned int i;

	if (!s->per_cpu)
		return set_thread_periods(s, rate->period);
	count_interrupts(s);
	s->period = rate->period;
	if (s->config.switches && on != s->switches_on) {
		for (i = 0; i < s->n_cpus; i++)
			ioctl(s->cpu[i].switch_fd,
			      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		s->switches_on = on;
	}
	return set_cpu_periods(s, rate);
}

static void source_seen(const void *source, uint64_t *ret_ns)
{
	const struct source *s = source;

	memcpy(ret_ns, s->seen_ns, s->possible * sizeof(*ret_ns));
}

static void source_stop(void *source)
{
	struct source *s = source;
	unsigned int i;
	size_t t;

	count_interrupts(s);
	for (i = 0; i < s->n_cpus; i++) {
		if (s->cpu[i].sample_fd >= 0)
			ioctl(s->cpu[i].sample_fd, PERF_EVENT_IOC_DISABLE, 0);
		if (s->cpu[i].switch_fd >= 0)
			ioctl(s->cpu[i].switch_fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	for (t = 0; t < s->n_threads; t++)
		ioctl(s->thread[t].fd, PERF_EVENT_IOC_DISABLE, 0);
	s->started = false;
}

static const struct comm_sampler sampler = {
	.open = source_open,
	.info = source_info,
	.start = source_start,
	.fd = source_fd,
	.drain = source_drain,
	.set_rate = source_set_rate,
	.stats = source_stats,
	.seen = source_seen,
	.stop = source_stop,
	.close = source_close,
};

const struct comm_source comm_source_perf = {
	.name = "perf",
	.help = "software samples through perf events: no BPF, own processes without privileges",
	.probe = probe,
	.sampler = &sampler,
};
