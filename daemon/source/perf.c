// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source without BPF.  perf:precise takes PEBS or IBS samples (perf_precise.c) of
 * every CPU, perf:transfers of the loads those of what another core wrote.  Else there
 * are two ways, both into one ring per CPU:
 *
 *  - every CPU, if the kernel permits it: one event per CPU, other people's
 *    samples are dropped here;
 *  - else every thread on every CPU (perf_threads.c).
 *
 * No memory but the stack, no kernel copies; switches with the first way only.  Marks of
 * programs are read later (late_marks.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clock.h"
#include "cpu_rings.h"
#include "late_marks.h"
#include "loss_teller.h"
#include "perf_cpus.h"
#include "perf_life.h"
#include "perf_precise.h"
#include "perf_sample.h"
#include "perf_threads.h"
#include "source.h"
#include "trigger.h"

enum {
	RING_PAGES = 256,
	RING_PAGES_MIN = 8,
	SAMPLE_NS = 1300, /* cost of a record with registers, beyond the interrupt's */
	SWITCH_NS = 1500, /* cost of a pair of switch records */
	SAMPLE_ID = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
		    PERF_SAMPLE_PERIOD,
};

/* A CPU's period before it was last changed. */
struct old_period {
	uint64_t period, until_ns;
};

struct source {
	struct comm_sampler_config config;
	struct comm_trigger_event event;
	bool started, switches_on, in_gap;
	struct comm_cpu_rings rings;
	struct old_period *old;		   /* by CPU */
	struct comm_perf_cpus cpus;	   /* used when threads is NULL */
	struct comm_perf_threads *threads; /* NULL: every CPU is sampled */
	struct comm_perf_precise *precise; /* not NULL: instead of samples */
	enum comm_pmu_want want;
	bool wants_precise;
	bool tells_lost; /* each event counts what it lost */
	bool sees_lost;	 /* and lost more than was counted */
	bool per_cpu;
	uint64_t period;
	double fired; /* estimated interrupts up to counted_ns */
	uint64_t counted_ns, counted_cpu_ns;
	struct comm_sampler_stats stats;
	struct comm_loss_teller losses;
	uint64_t gaps; /* how often switches were turned off */
	uint64_t *seen_ns;
	struct comm_late_marks *marks; /* NULL: nobody has any */
	char notes[256];
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
	int draining; /* CPU whose ring is being drained */
	struct comm_sample sample;
};

/* Tries it: in a user namespace the capability is in the set, and the kernel refuses. */
static bool may_watch_cpus(uint64_t read_format)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.read_format = read_format,
	};
	int cpu, fd;

	if (comm_online_cpus(&cpu, 1) < 1)
		return false;
	fd = comm_perf_open(&attr, -1, cpu, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
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

static int refuse_precise(char **why)
{
	return comm_source_fail(why, -EPERM,
				"precise samples of every CPU need CAP_PERFMON, or "
				"kernel.perf_event_paranoid 0 or less (it is %d)",
				comm_perf_paranoid());
}

static int probe_precise(char **why)
{
	return may_watch_cpus(0) ? comm_perf_precise_probe(COMM_PMU_ACCESSES, why)
				 : refuse_precise(why);
}

static void fill_attr(const struct source *s, struct perf_event_attr *attr)
{
	comm_trigger_attr(&s->event, s->period, false, attr);
	attr->sample_type = SAMPLE_ID | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
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
	attr->read_format = s->tells_lost ? PERF_FORMAT_LOST : 0;
}

/* "" and "precise" and "transfers" are the words behind the colon. */
static int take_arg(struct source *s, char **err)
{
	const char *arg = s->config.arg ? s->config.arg : "";

	s->wants_precise = *arg;
	if (!strcmp(arg, "transfers"))
		s->want = COMM_PMU_TRANSFERS;
	else if (*arg && strcmp(arg, "precise"))
		return comm_source_fail(err, -EINVAL,
					"it is 'perf', 'perf:precise' or 'perf:transfers', not "
					"'perf:%s'",
					arg);
	return 0;
}

static int open_precise(struct source *s, char **err)
{
	int rc = comm_perf_precise_open(s->want, s->config.period, &s->precise, err);

	if (rc)
		return rc;
	s->event.name = comm_perf_precise_name(s->precise);
	s->event.trigger = COMM_TRIGGER_ACCESSES;
	s->period = comm_perf_precise_period(s->precise);
	return 0;
}

/* Life cycle and switches come with events that never fire. */
static void fill_silent_attr(const struct source *s, struct perf_event_attr *attr)
{
	fill_attr(s, attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_type = SAMPLE_ID;
	attr->sample_regs_user = attr->sample_stack_user = 0;
}

static void leave_life(struct perf_event_attr *attr)
{
	attr->task = attr->comm = attr->comm_exec = attr->mmap = attr->mmap_data = 0;
}

static int open_cpus(struct source *s, char **err)
{
	struct perf_event_attr samples, life, switches;
	struct comm_perf_cpus_config config = {.rings = &s->rings, .life = &life};
	int rc = s->wants_precise ? open_precise(s, err) : 0;

	if (rc)
		return rc;
	fill_attr(s, &samples);
	leave_life(&samples);
	fill_silent_attr(s, &life);
	fill_silent_attr(s, &switches);
	leave_life(&switches);
	switches.context_switch = 1;
	config.precise = s->precise;
	config.name = s->event.name;
	config.samples = s->precise ? NULL : &samples;
	config.switches = s->config.switches ? &switches : NULL;
	return comm_perf_cpus_open(&s->cpus, &config, err);
}

static int open_threads(struct source *s, char **err)
{
	const struct comm_perf_threads_config config = {
		.target = s->config.target,
		.name = s->event.name,
		.rings = &s->rings,
	};
	struct perf_event_attr attr;
	int rc = comm_perf_threads_create(&config, &s->threads);

	if (rc)
		return rc;
	fill_attr(s, &attr);
	return comm_perf_threads_open(s->threads, &attr, err);
}

static void source_close(void *source)
{
	struct source *s = source;

	if (!s)
		return;
	comm_perf_threads_destroy(s->threads);
	comm_perf_cpus_close(&s->cpus);
	comm_perf_precise_close(s->precise);
	comm_cpu_rings_close(&s->rings);
	comm_late_marks_destroy(s->marks);
	free(s->old);
	free(s->seen_ns);
	free(s);
}

/* Every CPU or every thread, and does that suit the target? */
static int choose_way(struct source *s, char **err)
{
	enum comm_target_kind kind = comm_target_kind(s->config.target);

	s->per_cpu = may_watch_cpus(0);
	s->tells_lost = s->per_cpu && may_watch_cpus(PERF_FORMAT_LOST);
	if (!s->per_cpu && s->wants_precise)
		return refuse_precise(err);
	if (!s->per_cpu && kind != COMM_TARGET_PIDS)
		return comm_source_fail(err, -EPERM,
					"to watch a cgroup or every process needs CAP_PERFMON, or "
					"kernel.perf_event_paranoid 0 or less (it is %d)",
					comm_perf_paranoid());
	if (kind == COMM_TARGET_CGROUP)
		return comm_source_fail(err, -ENOTSUP,
					"the perf source cannot watch a cgroup: it needs BPF "
					"(CAP_BPF and CAP_PERFMON)");
	snprintf(s->notes, sizeof(s->notes), "%s%s",
		 s->wants_precise
			 ? "no memory and no kernel copies are seen"
			 : "without BPF no memory but the stack and no kernel copies are seen",
		 s->config.switches && !s->per_cpu ? ", and without CAP_PERFMON no switches" : "");
	s->config.switches &= s->per_cpu;
	s->switches_on = s->config.switches;
	return 0;
}

static int source_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	const struct comm_cpu_rings_config rings = {
		.sample_type = SAMPLE_ID, .pages = RING_PAGES, .pages_min = RING_PAGES_MIN};
	struct source *s;
	int rc = comm_sampler_check(config, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	rc = take_arg(s, err);
	if (!rc)
		rc = choose_way(s, err);
	if (!rc && s->wants_precise)
		s->event = (struct comm_trigger_event){.name = "dummy", .period = 1};
	else if (!rc)
		rc = comm_trigger_pick(config->trigger, &s->event, err);
	if (rc)
		goto fail;
	s->period = config->period ? config->period : s->event.period;
	rc = comm_cpu_rings_open(&rings, &s->rings, err);
	if (rc)
		goto fail;
	s->old = calloc(s->rings.n_cpus, sizeof(*s->old));
	s->seen_ns = calloc(s->rings.n_cpus, sizeof(*s->seen_ns));
	if (!s->old || !s->seen_ns)
		rc = -ENOMEM;
	if (!rc)
		rc = s->per_cpu ? open_cpus(s, err) : open_threads(s, err);
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
		.n_cpus = s->rings.n_cpus,
		.n_fds = s->rings.n + comm_perf_cpus_fds(&s->cpus),
		.notes = s->notes,
	};
	if (s->threads)
		ret->n_fds += (unsigned int)comm_perf_threads_count(s->threads);
	if (s->precise)
		ret->n_fds += comm_perf_precise_fds(s->precise);
}

static int source_start(void *source, char **err)
{
	struct source *s = source;
	int rc = 0;

	s->counted_ns = comm_clock_now_ns();
	s->counted_cpu_ns = comm_target_cpu_ns(s->config.target);
	if (s->threads)
		comm_perf_threads_enable(s->threads);
	else
		rc = comm_perf_cpus_enable(&s->cpus, err);
	if (!rc && s->switches_on)
		rc = comm_cpu_events_enable(&s->cpus.switches, err);
	if (!rc && s->precise)
		rc = comm_perf_precise_start(s->precise, err);
	/* From here on no fork is missed; children forked before are found now. */
	if (!rc)
		comm_target_scan(s->config.target);
	s->started = !rc;
	return rc;
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

static void see(struct source *s, const struct comm_event *event)
{
	if (event->cpu < s->rings.n_cpus)
		s->seen_ns[event->cpu] = event->time_ns;
	emit(s, event);
}

/* Tells first in which frame and regions a sample was; false: it is not to be told at all. */
static bool marks_pass(struct source *s, const struct comm_event *sample)
{
	struct comm_event event = {.time_ns = sample->time_ns,
				   .cpu = sample->cpu,
				   .tgid = sample->tgid,
				   .tid = sample->tid};
	struct comm_late_mark mark;

	if (!s->marks || !comm_late_marks_at(s->marks, event.tgid, event.tid, event.time_ns, &mark))
		return true;
	if (mark.frame) {
		event.kind = COMM_EV_FRAME;
		event.time_ns = mark.frame_ns;
		event.frame = mark.frame;
		emit(s, &event);
	}
	/* The burst behind a precise access is none of its own. */
	if (mark.stopped && !(sample->kind == COMM_EV_SAMPLE && s->precise))
		s->stats.loss[COMM_LOSS_STOPPED]++;
	if (mark.regions.n) {
		event.kind = COMM_EV_MARK;
		event.time_ns = sample->time_ns;
		event.marks = mark.regions;
		emit(s, &event);
	}
	return !mark.stopped;
}

static void on_precise(void *ctx, const struct comm_event *event)
{
	struct source *s = ctx;

	if (!wanted(s, event->tgid) || !marks_pass(s, event))
		return;
	if (event->kind == COMM_EV_ACCESS) {
		s->stats.samples++;
		s->stats.hits++;
	}
	see(s, event);
}

static void on_sample(struct source *s, const struct perf_event_header *h)
{
	struct comm_sample *out = &s->sample;
	struct comm_event event = {.kind = COMM_EV_SAMPLE};
	const struct old_period *old = &s->old[s->draining];
	struct comm_perf_sample head;

	if (!comm_perf_sample_head(h, &head)) {
		s->stats.loss[COMM_LOSS_MALFORMED] += !comm_perf_sample_whole(h);
		return;
	}
	if (!wanted(s, head.pid))
		return;
	comm_perf_sample_state(h, out);
	/* A record has the period that its event was opened with, not one set later. */
	out->period = head.period;
	if (s->per_cpu)
		out->period = head.time_ns < old->until_ns ? old->period
							   : s->cpus.samples.period[s->draining];
	event.time_ns = head.time_ns;
	event.cpu = (uint16_t)head.cpu;
	event.tgid = head.pid;
	event.tid = head.tid;
	event.sample = out;
	if (!marks_pass(s, &event))
		return;
	s->stats.samples++;
	s->stats.hits++;
	see(s, &event);
}

static void on_switch(struct source *s, const struct perf_event_header *h)
{
	struct comm_event event;

	if (!comm_perf_life_switch(h, &event)) {
		s->stats.loss[COMM_LOSS_MALFORMED] += !comm_perf_life_whole(h);
		return;
	}
	/* Counts every process's switches: each one's records cost time. */
	s->stats.switches++;
	s->stats.switches_out++;
	if (!wanted(s, event.sched.prev_tgid))
		event.tgid = event.sched.prev_tgid = 0;
	if (!wanted(s, event.sched.next_tgid))
		event.sched.next_tgid = 0;
	if (event.sched.prev_tgid || event.sched.next_tgid)
		see(s, &event);
}

static void on_life(struct source *s, const struct perf_event_header *h)
{
	struct comm_event event;

	if (!comm_perf_life_event(h, &event)) {
		s->stats.loss[COMM_LOSS_MALFORMED] += !comm_perf_life_whole(h);
		return;
	}
	/* Of strangers too: the kernel may give one the number of a member that has ended. */
	comm_target_event(s->config.target, &event);
	if (s->marks)
		comm_late_marks_event(s->marks, &event);
	if (wanted(s, event.tgid))
		emit(s, &event);
}

/*
 * A ring tells how many records it lost, not of which kind; events do since Linux 6.0.  Asking them interrupts
 * their CPUs, so that is done when a ring has lost some.
 */
static void on_lost(struct source *s, const struct perf_event_header *h)
{
	uint64_t lost[2];

	if (h->size < sizeof(*h) + sizeof(lost)) {
		s->stats.loss[COMM_LOSS_MALFORMED]++;
		return;
	}
	memcpy(lost, h + 1, sizeof(lost));
	if (s->tells_lost)
		s->sees_lost = true;
	else if (s->per_cpu)
		s->stats.loss[COMM_LOSS_SHARED_RING] += lost[1];
	else
		s->stats.loss[COMM_LOSS_RING] += lost[1];
}

static void count_lost(struct source *s)
{
	if (!s->tells_lost || !s->sees_lost)
		return;
	s->sees_lost = false;
	s->stats.loss[COMM_LOSS_RING] = comm_cpu_events_lost(&s->cpus.samples);
	s->stats.loss[COMM_LOSS_LIFE] = comm_cpu_events_lost(&s->cpus.life);
	s->stats.loss[COMM_LOSS_SCHED] = comm_cpu_events_lost(&s->cpus.switches);
}

static void on_record(void *ctx, const struct perf_event_header *h)
{
	struct source *s = ctx;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		on_sample(s, h);
		break;
	case PERF_RECORD_LOST:
		on_lost(s, h);
		break;
	case PERF_RECORD_THROTTLE:
		s->stats.loss[COMM_LOSS_THROTTLE]++;
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		on_switch(s, h);
		break;
	default:
		on_life(s, h);
		break;
	}
}

/*
 * The kernel has no count of how often a timer event fired, so it is computed: on
 * every CPU all the time, or for threads while they run.
 */
static void count_interrupts(struct source *s)
{
	uint64_t now = comm_clock_now_ns(), cpu_ns;

	if (!s->started)
		return;
	if (s->precise)
		return;
	if (s->event.trigger != COMM_TRIGGER_TIME) {
		s->stats.interrupts = s->stats.samples;
		return;
	}
	if (s->per_cpu) {
		for (unsigned int i = 0; i < s->cpus.samples.n_cpus; i++)
			if (s->cpus.samples.fd[i] >= 0)
				s->fired += (double)(now - s->counted_ns) /
					    (double)s->cpus.samples.period[i];
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
	if (s->threads)
		ret->loss[COMM_LOSS_TARGETS] += comm_perf_threads_refused(s->threads);
	for (unsigned int i = 0; i < s->rings.n; i++)
		ret->loss[COMM_LOSS_MALFORMED] += s->rings.ring[i].ring.malformed;
	ret->loss[COMM_LOSS_CPUS] = comm_hotplug_lost(s->cpus.hotplug);
	if (s->precise) {
		ret->handler_ns = 0;
		comm_perf_precise_stats(s->precise, ret);
	}
}

static void source_stats(void *source, struct comm_sampler_stats *ret)
{
	count_interrupts(source);
	count_lost(source);
	fill_stats(source, ret);
}

static int source_drain(void *source, comm_event_fn *push, void *ctx)
{
	struct source *s = source;
	struct comm_sampler_stats stats;

	if (!s->threads) {
		/* As long as it is known which CPUs there were. */
		count_interrupts(s);
		comm_perf_cpus_look(&s->cpus, comm_clock_now_ns());
	}
	s->push = push;
	s->push_ctx = ctx;
	s->pushed = 0;
	for (unsigned int i = 0; i < s->rings.n; i++) {
		s->draining = s->rings.ring[i].cpu;
		comm_perf_ring_read(&s->rings.ring[i].ring, on_record, s);
	}
	if (s->precise)
		comm_perf_precise_drain(s->precise, on_precise, s);
	if (s->config.switches && s->started && !s->switches_on && !s->in_gap)
		s->gaps++;
	s->in_gap = !s->switches_on;
	count_lost(s);
	fill_stats(s, &stats);
	return s->pushed + comm_loss_tell(&s->losses, stats.loss, comm_clock_now_ns(), push, ctx);
}

static int set_cpu_periods(struct source *s, const struct comm_sampler_rate *rate)
{
	int rc = 0;

	for (unsigned int i = 0; i < s->rings.n_cpus; i++) {
		uint64_t old = s->cpus.samples.period[i];
		int set = comm_cpu_events_set_rate(&s->cpus.samples, i, rate);

		if (set > 0)
			s->old[i] = (struct old_period){old, comm_clock_now_ns()};
		else if (set < 0)
			rc = set;
	}
	return rc;
}

static int set_thread_periods(struct source *s, uint64_t period)
{
	uint64_t old = s->period;
	struct perf_event_attr attr;
	char *err = NULL;
	int rc;

	if (!comm_perf_threads_worth_opening(s->threads, old, period))
		return 0;
	count_interrupts(s);
	s->period = period;
	fill_attr(s, &attr);
	rc = comm_perf_threads_open(s->threads, &attr, &err);
	free(err);
	if (rc)
		s->period = old;
	return rc;
}

static int source_set_rate(void *source, const struct comm_sampler_rate *rate)
{
	struct source *s = source;
	char *err = NULL;
	int rc = 0, set;

	if (s->threads)
		return set_thread_periods(s, rate->period);
	count_interrupts(s);
	s->period = rate->period;
	if (s->config.switches && rate->switches != s->switches_on) {
		if (!rate->switches)
			comm_cpu_events_disable(&s->cpus.switches);
		else if (s->started)
			rc = comm_cpu_events_enable(&s->cpus.switches, &err);
		free(err);
		s->switches_on = rate->switches;
	}
	if (s->precise) {
		set = comm_perf_precise_set_rate(s->precise, rate);
		s->period = comm_perf_precise_period(s->precise);
	} else {
		set = set_cpu_periods(s, rate);
	}
	return rc ? rc : set;
}

static void source_seen(const void *source, uint64_t *ret_ns)
{
	const struct source *s = source;

	memcpy(ret_ns, s->seen_ns, s->rings.n_cpus * sizeof(*ret_ns));
}

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	return comm_inspect_live_memory(ctx, tgid, addr, buf, len_bytes);
}

static int thread_pointer(void *ctx, uint32_t tgid, uint32_t tid, uint64_t *ret)
{
	return comm_inspect_live_thread_pointer(ctx, tgid, tid, ret);
}

static uint64_t now_ns(void *ctx)
{
	(void)ctx;
	return comm_clock_now_ns();
}

static void source_marks(void *source, uint32_t tgid, const struct comm_marks_place *place)
{
	struct source *s = source;
	const struct comm_late_marks_ops ops = {.memory = read_memory,
						.thread_pointer = thread_pointer,
						.now_ns = now_ns,
						.ctx = s->config.inspect};

	/* Without memory its regions are not seen. */
	if (!s->config.inspect || (!s->marks && comm_late_marks_create(&ops, &s->marks)))
		return;
	comm_late_marks_place(s->marks, tgid, place);
}

static void source_stop(void *source)
{
	struct source *s = source;

	count_interrupts(s);
	if (s->precise)
		comm_perf_precise_stop(s->precise);
	comm_perf_cpus_disable(&s->cpus);
	s->sees_lost = true;
	if (s->threads)
		comm_perf_threads_disable(s->threads);
	s->started = false;
}

static const struct comm_sampler sampler = {
	.late_marks = true,
	.open = source_open,
	.info = source_info,
	.start = source_start,
	.fd = source_fd,
	.drain = source_drain,
	.set_rate = source_set_rate,
	.stats = source_stats,
	.seen = source_seen,
	.marks = source_marks,
	.stop = source_stop,
	.close = source_close,
};

const struct comm_source comm_source_perf = {
	.name = "perf",
	.help = "software samples through perf events: no BPF, own processes without privileges; "
		"perf:precise for PEBS or IBS, perf:transfers for loads of what another core "
		"wrote (PEBS)",
	.arg = "precise|transfers",
	.precise_arg = "precise",
	.probe_precise = probe_precise,
	.probe = probe,
	.sampler = &sampler,
};
