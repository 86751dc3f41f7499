// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source through commprof.ko: samples on every CPU by the module, life-cycle events
 * and switches by BPF (bpf_life.c), because the module has neither.
 * Without BPF, /proc is looked through for children.
 *
 *	kmod		registers and memory at a timer or counter interrupt
 *	kmod:precise	PEBS or IBS: one exact access per sample
 *	kmod:transfers	PEBS: of the loads only those of lines that another core wrote
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <unistd.h>

#include "bpf_life.h"
#include "clock.h"
#include "kmod_targets.h"
#include "kmod_windows.h"
#include "loss_teller.h"
#include "perf_precise.h"
#include "pmu_event.h"
#include "source.h"
#include "trigger.h"
#include "user/reader.h"

enum {
	RING_BYTES = 1 << 20, /* per CPU and context; less on large machines */
	RING_BYTES_MIN = 64 << 10,
	ALL_RINGS_BYTES = 64 << 20,
	CHUNK_BYTES = 64,
	DEPTH = 2, /* memory that registers point to, and memory that this memory points to */
	/*
	 * The module's own bound on this session, for the time when the daemon does not
	 * get to run: normally the governor holds the budget.  The module's cap on all
	 * sessions, a parameter of the module, may be lower.
	 */
	CAP_PPM = 250000,
	ENTRY_NS_MAX = 100000, /* the most that the module takes */
	MIN_PERIOD = 1000,
	PRECISE_PERIOD = 100000,
	IBS_STEP = 16,
	WATCH_TIMEOUT_US = 100000, /* what nobody writes until then is not fresh */
	WINDOW_US = 20000,
	WINDOW_REGISTERS = 2, /* of each CPU, that one takes */
	SCAN_NS = 200 * 1000 * 1000,
};

_Static_assert((int)CP_REGS == (int)COMM_NREGS, "commprof.h and event.h");
_Static_assert((int)CP_MAX_CHUNKS <= (int)COMM_SAMPLE_CHUNKS, "commprof.h and event.h");
_Static_assert((int)CP_MAX_DATA_BYTES <= (int)COMM_SAMPLE_DATA_BYTES, "commprof.h and event.h");
_Static_assert((int)CP_MARK_DEPTH == (int)COMM_MARKS_MAX, "commprof.h and event.h");
_Static_assert((int)CP_MAX_STACK_BYTES == (int)COMM_SAMPLER_STACK_MAX, "commprof.h and sampler.h");
_Static_assert((int)CP_ACCESS_KERNEL == (int)COMM_ACCESS_KERNEL, "commprof.h and event.h");
_Static_assert(CP_NO_FLAGS == (uint32_t)COMM_SAMPLE_NO_FLAGS, "commprof.h and event.h");

enum { FLAGS_SHARED = 2 * CP_ACCESS_KERNEL - 1 }; /* the same bits in both headers */

struct source {
	struct comm_sampler_config config;
	struct comm_trigger_event event;
	struct comm_pmu_event pmu[COMM_PMU_EVENTS];
	char event_name[128];
	struct cp_reader *reader;
	uint32_t id[CP_MAX_SOURCES];
	unsigned int n_sources, n_cpus;
	uint64_t step;	  /* periods are multiples of step */
	uint64_t *period; /* by CPU */
	uint64_t *seen_ns;
	uint64_t nominal, scan_ns;
	struct comm_kmod_targets targets;
	struct comm_kmod_windows windows;
	bool precise, started;
	bool lines; /* the module copies memory that registers point to */
	uint64_t kcopies, malformed;
	uint64_t marks;		    /* records that tell of the next one */
	uint64_t behind;	    /* records that are the second half of a sample */
	struct comm_bpf_life *life; /* NULL: none */
	struct comm_bpf_life_info life_info;
	struct cp_stats last;
	struct comm_loss_teller losses;
	char notes[256];
	/* Valid only during drain. */
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
	struct comm_sample sample;
};

static int say_why(int rc, char **err)
{
	switch (rc) {
	case -ENOENT:
		return comm_source_fail(err, rc,
					"no " CP_DEVICE
					": load the module with 'modprobe commprof', or "
					"build it first (see kmod/README.md)");
	case -EACCES:
	case -EPERM:
		return comm_source_fail(err, rc,
					"may not open " CP_DEVICE ": run as root; the module wants "
					"CAP_PERFMON, and a kernel that is not locked down");
	case -ENOBUFS:
		return comm_source_fail(err, rc,
					"the module's rings are larger than this user may lock: "
					"raise RLIMIT_MEMLOCK (ulimit -l), or give commd "
					"CAP_IPC_LOCK");
	case -EPROTO:
		return comm_source_fail(err, rc,
					"the loaded commprof module speaks another version than "
					"this commd (%d): load the one that was built with it",
					CP_ABI_VERSION);
	default:
		return comm_source_fail(err, rc, "cannot use " CP_DEVICE ": %s", strerror(-rc));
	}
}

static int probe(char **why)
{
	struct cp_reader *reader;
	int rc;

	if (!comm_target_pids_are_global())
		return comm_source_fail(why, -EINVAL,
					"runs in a PID namespace of its own and would look for the "
					"wrong processes: start the container with --pid=host");
	rc = cp_reader_create(CP_DEVICE, CP_MIN_RING_BYTES, 0, &reader);
	if (rc)
		return say_why(rc, why);
	cp_reader_destroy(reader);
	return 0;
}

/* The module asks the kernel for the same events that perf does. */
static int probe_precise(char **why)
{
	int rc = probe(why);

	return rc ? rc : comm_perf_precise_probe(COMM_PMU_ACCESSES, why);
}

static uint32_t ring_bytes(unsigned int n_cpus)
{
	uint32_t bytes = RING_BYTES;

	while (bytes > RING_BYTES_MIN && (uint64_t)bytes * n_cpus * CP_CONTEXTS > ALL_RINGS_BYTES)
		bytes /= 2;
	return bytes;
}

static int add_source(struct source *s, struct cp_source *what, const char *name, char **err)
{
	int rc = cp_reader_source(s->reader, what);

	if (rc)
		return comm_source_fail(err, rc, "the kernel refuses %s: %s", name, strerror(-rc));
	s->id[s->n_sources++] = what->id;
	return 0;
}

static int add_soft(struct source *s, char **err)
{
	struct cp_source what = {
		.kind = CP_SOURCE_SOFT,
		.flags = CP_SOURCE_BURST | CP_SOURCE_COPIES,
		.stack_bytes = s->config.stack_bytes,
		.chunk_bytes = s->config.max_lines ? CHUNK_BYTES : 0,
		.depth = s->config.max_lines ? DEPTH : 0,
		.min_period = MIN_PERIOD,
	};
	int rc = comm_trigger_pick(s->config.trigger, &s->event, err);

	if (rc)
		return rc;
	s->lines = what.chunk_bytes;
	what.type = s->event.type;
	what.config = s->event.config;
	what.period = s->nominal = s->config.period ? s->config.period : s->event.period;
	snprintf(s->event_name, sizeof(s->event_name), "%s", s->event.name);
	return add_source(s, &what, s->event.name, err);
}

static int add_precise(struct source *s, enum comm_pmu_want want, char **err)
{
	int n = comm_pmu_events(COMM_PMU_SYSFS, want, s->pmu, err), rc = n < 0 ? n : 0;
	size_t used = 0;

	s->event.trigger = COMM_TRIGGER_ACCESSES;
	s->nominal = s->config.period ? s->config.period : PRECISE_PERIOD;
	for (int i = 0; i < n && !rc; i++) {
		const struct comm_pmu_event *pmu = &s->pmu[i];
		struct cp_source what = {
			.kind = pmu->ibs ? CP_SOURCE_IBS : CP_SOURCE_PEBS,
			.flags = CP_SOURCE_JITTER | (pmu->user_filter ? CP_SOURCE_SWFILT : 0) |
				 /* Of bursts all reads would count, not transfers alone. */
				 (pmu->ibs || want == COMM_PMU_TRANSFERS ? 0 : CP_SOURCE_BURST) |
				 (pmu->ways == COMM_ACCESS_READ ? CP_SOURCE_LOADS : 0) |
				 (pmu->ways == COMM_ACCESS_WRITE ? CP_SOURCE_STORES : 0),
			.type = pmu->type,
			.config = pmu->config,
			.config1 = pmu->config1,
			.config2 = pmu->config2,
		};

		s->step = pmu->ibs ? IBS_STEP : 1;
		what.period = s->nominal -= s->nominal % s->step;
		what.min_period = MIN_PERIOD - MIN_PERIOD % s->step;
		rc = add_source(s, &what, pmu->name, err);
		used += (size_t)snprintf(s->event_name + used, sizeof(s->event_name) - used, "%s%s",
					 i ? "," : "", pmu->name);
		if (used >= sizeof(s->event_name))
			used = sizeof(s->event_name) - 1;
	}
	return rc;
}

static int set_watch(struct source *s, char **err)
{
	struct cp_watch watch = {
		.flags = CP_WATCH_WINDOW,
		.slots = s->config.debug_registers / WINDOW_REGISTERS,
		.per_second = s->config.watch_per_s,
		.timeout_us = WATCH_TIMEOUT_US,
		.window_us = WINDOW_US,
	};
	int rc;

	if (!s->config.watch_per_s)
		return 0;
	if (!watch.slots)
		return comm_source_fail(err, -EINVAL,
					"a window of the module takes two debug registers: "
					"--debug-registers 2");
	rc = comm_kmod_windows_init(&s->windows);
	if (!rc)
		rc = cp_reader_watch(s->reader, &watch);
	return rc ? comm_source_fail(err, rc, "cannot set up windows: %s", strerror(-rc)) : 0;
}

/* What an interrupt costs beside the handler is what commd has calibrated. */
static int set_budget(struct source *s)
{
	struct cp_budget budget = {
		.cap_ppm = CAP_PPM,
		.entry_ns = s->config.interrupt_ns < ENTRY_NS_MAX ? s->config.interrupt_ns
								  : ENTRY_NS_MAX,
	};

	return cp_reader_budget(s->reader, &budget);
}

static void source_close(void *source)
{
	struct source *s = source;

	if (!s)
		return;
	cp_reader_destroy(s->reader);
	comm_bpf_life_close(s->life);
	free(s->period);
	free(s->seen_ns);
	comm_kmod_targets_deinit(&s->targets);
	comm_kmod_windows_deinit(&s->windows);
	free(s);
}

/* Life-cycle events and switches, by BPF; the run goes on without them where BPF does not work. */
static void open_life(struct source *s)
{
	const struct comm_bpf_life_config config = {
		.target = s->config.target,
		.switches = s->config.switches,
		.counters = s->config.counters,
	};
	char *why = NULL;

	if (!comm_bpf_life_probe(&why) && !comm_bpf_life_open(&config, &s->life, &why)) {
		comm_bpf_life_info(s->life, &s->life_info);
		snprintf(s->notes, sizeof(s->notes), "%s%s%s",
			 s->precise ? "no kernel copies are seen" : "",
			 s->precise && *s->life_info.notes ? "; " : "", s->life_info.notes);
	} else {
		s->life = NULL;
		snprintf(s->notes, sizeof(s->notes),
			 "%sno switches and no new mappings are seen, and children late, for "
			 "without BPF only /proc tells of them: %.80s",
			 s->precise ? "no kernel copies, " : "", why ? why : "no reason known");
	}
	free(why);
}

static int source_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	struct source *s;
	enum comm_pmu_want want;
	int rc = comm_sampler_check(config, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->step = 1;
	want = config->arg && !strcmp(config->arg, "transfers") ? COMM_PMU_TRANSFERS
								: COMM_PMU_ACCESSES;
	s->precise = want == COMM_PMU_TRANSFERS || (config->arg && !strcmp(config->arg, "precise"));
	if (config->arg && *config->arg && !s->precise) {
		rc = comm_source_fail(err, -EINVAL,
				      "it is 'kmod', 'kmod:precise' or 'kmod:transfers', not "
				      "'kmod:%s'",
				      config->arg);
		goto fail;
	}
	rc = cp_reader_create(CP_DEVICE, ring_bytes((unsigned int)sysconf(_SC_NPROCESSORS_CONF)), 0,
			      &s->reader);
	if (rc) {
		say_why(rc, err);
		goto fail;
	}
	s->n_cpus = cp_reader_rings(s->reader) / CP_CONTEXTS;
	s->period = calloc(s->n_cpus, sizeof(*s->period));
	s->seen_ns = calloc(s->n_cpus, sizeof(*s->seen_ns));
	rc = comm_kmod_targets_init(&s->targets, s->reader, config->target);
	if (!s->period || !s->seen_ns)
		rc = -ENOMEM;
	if (rc)
		goto fail;
	rc = s->precise ? add_precise(s, want, err) : add_soft(s, err);
	if (!rc)
		rc = set_budget(s);
	if (!rc)
		rc = set_watch(s, err);
	if (rc)
		goto fail;
	for (unsigned int i = 0; i < s->n_cpus; i++)
		s->period[i] = s->nominal;
	open_life(s);
	if (!s->life && config->counters && config->counters->n) {
		rc = comm_source_fail(err, -EOPNOTSUPP, "events are counted by BPF: %s", s->notes);
		goto fail;
	}
	rc = comm_kmod_targets_set(&s->targets);
	if (rc) {
		comm_source_fail(err, rc, "the module does not take the target: %s", strerror(-rc));
		goto fail;
	}
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
		.event = s->event_name,
		.trigger = s->event.trigger,
		.per_cpu = true,
		.sees_kernel_copies = !s->precise,
		.sees_switches = s->life && s->life_info.sees_switches,
		.sees_maps = s->life && s->life_info.sees_maps,
		.n_cpus = s->n_cpus,
		.n_fds = 1,
		.notes = s->notes,
	};
}

static int source_start(void *source, char **err)
{
	struct source *s = source;
	int rc = s->life ? comm_bpf_life_start(s->life, err) : 0;

	if (rc)
		return rc;
	if (!s->life)
		comm_target_scan(s->config.target);
	rc = comm_kmod_targets_update(&s->targets);
	if (!rc)
		rc = cp_reader_start(s->reader);
	if (rc)
		return comm_source_fail(err, rc, "the module does not start: %s", strerror(-rc));
	s->started = true;
	return 0;
}

static int source_fd(const void *source)
{
	const struct source *s = source;

	return cp_reader_fd(s->reader);
}

static void emit(struct source *s, const struct cp_record *head, struct comm_event *event)
{
	event->time_ns = head->time_ns;
	event->cpu = head->cpu;
	event->tgid = head->tgid;
	event->tid = head->tid;
	s->push(s->push_ctx, event);
	s->pushed++;
}

static void on_sample(struct source *s, const struct cp_sample *raw)
{
	struct comm_event event = {.kind = COMM_EV_SAMPLE};
	const struct cp_chunk *chunk = NULL;
	struct comm_sample *out = &s->sample;

	s->behind += s->precise;
	memcpy(out->reg, raw->reg, sizeof(out->reg));
	out->ip = raw->ip;
	out->flags = raw->flags;
	out->period = raw->head.period;
	out->known = raw->known;
	out->mode_bits = raw->head.mode_bits;
	out->n_chunks = 0;
	out->data_bytes = 0;
	while (out->n_chunks < COMM_SAMPLE_CHUNKS && (chunk = cp_sample_chunk(raw, chunk))) {
		if (chunk->len_bytes > COMM_SAMPLE_DATA_BYTES - (uint32_t)out->data_bytes)
			break;
		out->chunk[out->n_chunks++] =
			(struct comm_chunk){chunk->addr, chunk->len_bytes, out->data_bytes};
		memcpy(out->data + out->data_bytes, chunk + 1, chunk->len_bytes);
		out->data_bytes = (uint16_t)(out->data_bytes + chunk->len_bytes);
	}
	s->malformed += out->n_chunks != raw->n_chunks;
	event.sample = out;
	emit(s, &raw->head, &event);
}

static void on_access(struct source *s, const struct cp_access *raw, enum comm_event_kind kind)
{
	struct comm_event event = {.kind = kind};

	event.access = (struct comm_precise){
		.addr = raw->addr,
		.ip = raw->ip,
		.size_bytes = raw->size_bytes,
		.flags = (uint16_t)((raw->flags & FLAGS_SHARED) |
				    (raw->flags & CP_ACCESS_BURST ? COMM_ACCESS_BURST : 0)),
		.latency_cycles = raw->latency_cycles,
		.period = raw->head.period < UINT32_MAX ? (uint32_t)raw->head.period : UINT32_MAX,
		.data_src = raw->data_src,
	};
	emit(s, &raw->head, &event);
}

static void on_copy(struct source *s, const struct cp_access *raw)
{
	on_access(s, raw, COMM_EV_KCOPY);
	s->kcopies++;
}

static void on_mark(struct source *s, const struct cp_mark *raw)
{
	struct comm_event event = {.kind = COMM_EV_FRAME, .frame = raw->frame};

	s->marks++;
	if (raw->frame)
		emit(s, &raw->head, &event);
	event = (struct comm_event){.kind = COMM_EV_MARK};
	event.marks.n = raw->depth < CP_MARK_DEPTH ? (uint32_t)raw->depth : CP_MARK_DEPTH;
	memcpy(event.marks.name, raw->name, sizeof(event.marks.name));
	if (raw->depth)
		emit(s, &raw->head, &event);
}

static void on_record(struct source *s, const struct cp_record *record)
{
	if (record->size_bytes < sizeof(*record)) {
		s->malformed++;
		return;
	}
	if (!comm_kmod_targets_has(&s->targets, record->tgid))
		return;
	if (record->cpu < s->n_cpus)
		s->seen_ns[record->cpu] = record->time_ns;
	if (record->type == CP_REC_SAMPLE && record->size_bytes >= sizeof(struct cp_sample))
		on_sample(s, (const struct cp_sample *)record);
	else if (record->type == CP_REC_ACCESS && record->size_bytes >= sizeof(struct cp_access))
		on_access(s, (const struct cp_access *)record, COMM_EV_ACCESS);
	else if (record->type == CP_REC_COPY && record->size_bytes >= sizeof(struct cp_access))
		on_copy(s, (const struct cp_access *)record);
	else if (record->type == CP_REC_MARK && record->size_bytes >= sizeof(struct cp_mark))
		on_mark(s, (const struct cp_mark *)record);
	else if (!comm_kmod_windows_record(&s->windows, record))
		s->malformed++;
}

static void source_stats(void *source, struct comm_sampler_stats *ret)
{
	struct source *s = source;
	struct cp_stats stats;
	const __u64 *lost = s->last.lost;
	uint64_t other;

	memset(ret, 0, sizeof(*ret));
	if (s->life)
		comm_bpf_life_stats(s->life, ret);
	if (!cp_reader_stats(s->reader, &stats))
		s->last = stats;
	ret->interrupts = s->last.interrupts;
	ret->hits = s->last.samples;
	ret->kcopies = s->kcopies;
	other = s->kcopies + s->behind + s->marks + s->windows.n_records;
	ret->samples = s->last.records > other ? s->last.records - other : 0;
	ret->handler_ns = s->last.handler_ns;
	ret->loss[COMM_LOSS_RING] +=
		lost[CP_LOST_RING_FULL] + lost[CP_LOST_BAD_TAIL] + lost[CP_LOST_NESTED];
	ret->loss[COMM_LOSS_THROTTLE] += lost[CP_LOST_BUDGET] + lost[CP_LOST_THROTTLED];
	ret->loss[COMM_LOSS_IMPRECISE] += lost[CP_LOST_IMPRECISE];
	ret->loss[COMM_LOSS_STOPPED] += lost[CP_LOST_STOPPED];
	ret->loss[COMM_LOSS_TARGETS] += s->targets.left_out;
	ret->loss[COMM_LOSS_MALFORMED] += cp_reader_malformed(s->reader) + s->malformed;
	/*
	 * Precise samples only: samples of registers are decoded in commd, which
	 * counts its own failures.
	 */
	if (s->precise) {
		ret->loss[COMM_LOSS_NO_ADDRESS] += lost[CP_LOST_NO_ADDRESS];
		ret->loss[COMM_LOSS_MODE32] += lost[CP_LOST_MODE32];
	}
	/* CP_LOST_WATCH_RATE and _BUSY are left out: of the reads a part gets a window, which stands for all. */
	ret->loss[COMM_LOSS_WATCH] += lost[CP_LOST_WATCH_STORM] + s->windows.lost;
	ret->period = s->nominal;
}

/* Reads that were sampled for each that got a window; which these are is a matter of when a slot is free. */
static double offered(const struct cp_stats *stats)
{
	uint64_t refused = stats->lost[CP_LOST_WATCH_BUSY] + stats->lost[CP_LOST_WATCH_RATE];

	return stats->watch_armed ? 1 + (double)refused / (double)stats->watch_armed : 1;
}

static int source_drain(void *source, comm_event_fn *push, void *ctx)
{
	struct source *s = source;
	struct comm_sampler_stats stats;
	const struct cp_record *record;
	uint64_t now_ns = comm_clock_now_ns();
	int life = 0;

	s->push = push;
	s->push_ctx = ctx;
	s->pushed = 0;
	if (s->life) {
		life = comm_bpf_life_drain(s->life, push, ctx);
	} else if (now_ns - s->scan_ns >= SCAN_NS) {
		comm_target_scan(s->config.target);
		s->scan_ns = now_ns;
	}
	/* The events included forks: tell the module of new members. */
	comm_kmod_targets_update(&s->targets);
	for (uint32_t i = 0; i < cp_reader_rings(s->reader); i++)
		while ((record = cp_reader_next(s->reader, i)))
			on_record(s, record);
	s->pushed += comm_kmod_windows_settle(&s->windows, offered(&s->last), now_ns, push, ctx);
	source_stats(s, &stats);
	s->pushed += comm_loss_tell(&s->losses, stats.loss, comm_clock_now_ns(), push, ctx);
	return life < 0 ? life : s->pushed + life;
}

static int source_set_rate(void *source, const struct comm_sampler_rate *rate)
{
	struct source *s = source;
	int rc = s->life ? comm_bpf_life_set_switches(s->life, rate->switches) : 0;

	if (s->life)
		comm_bpf_life_set_hooks(s->life, rate->hooks_off);
	for (unsigned int i = 0; i < s->n_cpus; i++) {
		uint8_t shift = rate->park ? rate->park[i] : 0;
		uint64_t period = (rate->period > MIN_PERIOD ? rate->period : MIN_PERIOD) << shift;
		int err = 0;

		period += (s->step - period % s->step) % s->step;
		if (!comm_trigger_worth_setting(s->period[i], period, shift))
			continue;
		for (unsigned int k = 0; k < s->n_sources && !err; k++)
			err = cp_reader_rate(s->reader, s->id[k], i, period);
		if (!err)
			s->period[i] = period;
		else if (err != -EINVAL) /* a CPU that is not possible */
			rc = err;
	}
	s->nominal = rate->period;
	if (!s->precise && s->config.max_lines && rate->lines != s->lines) {
		int err = cp_reader_pointees(s->reader, s->id[0], rate->lines);

		if (!err)
			s->lines = rate->lines;
		else
			rc = err;
	}
	return rc;
}

static void source_seen(const void *source, uint64_t *ret_ns)
{
	const struct source *s = source;

	memcpy(ret_ns, s->seen_ns, s->n_cpus * sizeof(*ret_ns));
	if (!s->life || s->life_info.n_cpus > s->n_cpus)
		return;
	comm_bpf_life_seen(s->life, ret_ns);
	for (unsigned int i = 0; i < s->n_cpus; i++)
		if (s->seen_ns[i] > ret_ns[i])
			ret_ns[i] = s->seen_ns[i];
}

static int source_count(void *source, uint64_t time_ns, comm_event_fn *push, void *ctx)
{
	struct source *s = source;

	return s->life ? comm_bpf_life_count(s->life, time_ns, push, ctx) : 0;
}

static void source_marks(void *source, uint32_t tgid, const struct comm_marks_place *place)
{
	struct source *s = source;

	/* It may have ended; of more than CP_MAX_MARKED the regions are not seen. */
	(void)cp_reader_marks(s->reader, (int)tgid, place->stack, place->process);
}

static void source_stop(void *source)
{
	struct source *s = source;

	if (s->started)
		cp_reader_stop(s->reader);
	s->started = false;
	if (s->life)
		comm_bpf_life_stop(s->life);
}

static const struct comm_sampler sampler = {
	.watches = true,
	.open = source_open,
	.info = source_info,
	.start = source_start,
	.fd = source_fd,
	.drain = source_drain,
	.set_rate = source_set_rate,
	.stats = source_stats,
	.seen = source_seen,
	.marks = source_marks,
	.count = source_count,
	.stop = source_stop,
	.close = source_close,
};

const struct comm_source comm_source_kmod = {
	.name = "kmod",
	.help = "samples by the commprof module on every CPU, windows; kmod:precise for PEBS "
		"or IBS, kmod:transfers for loads of what another core wrote (PEBS)",
	.arg = "precise|transfers",
	.precise_arg = "precise",
	.probe_precise = probe_precise,
	.probe = probe,
	.sampler = &sampler,
};
