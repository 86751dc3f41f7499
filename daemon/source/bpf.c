// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source where BPF is permitted: one event per CPU and the scheduler's ticks;
 * bpf/capture.bpf.c filters by target and copies the data.  Life-cycle events and
 * switches come from bpf_life.c.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "sample_event.h"

#include "capture.skel.h"

#include "bpf_kernel.h"
#include "bpf_life.h"
#include "bpf_probes.h"
#include "chosen_code.h"
#include "clock.h"
#include "cpu_events.h"
#include "hotplug.h"
#include "loss_teller.h"
#include "source.h"
#include "trigger.h"
#include "wanted_lines.h"

enum {
	TRY_TIMES = 1000,
	TRY_MOST_S = 10,
	LOOKS = 1 << 16, /* of each time: 50 us and more */
	/*
	 * Where functions are chosen: what others write is needed, too, so a few of their samples are, and each counts
	 * so many times.
	 */
	OTHERS_EVERY = 4,
};

_Static_assert((int)COMM_RAW_STACK_MAX == (int)COMM_SAMPLER_STACK_MAX,
	       "sample_event.h and sampler.h");
_Static_assert((int)COMM_RAW_LINES_MAX == (int)COMM_SAMPLER_LINES_MAX,
	       "sample_event.h and sampler.h");
_Static_assert((int)COMM_RAW_MARKS_MAX == (int)COMM_MARKS_MAX, "sample_event.h and event.h");
_Static_assert((int)COMM_RAW_NREGS == (int)COMM_NREGS, "sample_event.h and event.h");
_Static_assert(COMM_RAW_LINES_MAX + 1 <= COMM_SAMPLE_CHUNKS, "a chunk for each line");
_Static_assert(COMM_RAW_STACK_MAX + COMM_RAW_LINES_MAX * COMM_RAW_LINE_BYTES <=
		       COMM_SAMPLE_DATA_BYTES,
	       "room for all that a sample may bring");

struct source {
	struct comm_sampler_config config;
	struct comm_trigger_event event;
	struct comm_bpf_life *life;
	struct comm_bpf_probes *probes; /* NULL: none */
	struct comm_bpf_life_info life_info;
	struct capture_bpf *bpf;	   /* owned by life */
	volatile struct comm_raw_cpu *cpu; /* owned by life; life_info.n_cpus of them */
	struct comm_cpu_events events;
	struct comm_hotplug *hotplug;
	uint64_t uncounted; /* counters of CPUs that went: they are not opened again */
	struct comm_wanted_lines *wanted;
	struct comm_chosen_code chosen;
	uint64_t nominal;
	uint64_t tick_ns; /* 0: this kernel's ticks cannot be hooked */
	int64_t regs_behind_tick;
	uint64_t malformed;
	struct comm_loss_teller losses;
	/* Valid only during drain. */
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
	struct comm_sample sample;
};

static int probe(char **why)
{
	struct perf_event_attr attr;
	struct comm_trigger_event event;
	int cpu, fd, rc = comm_bpf_life_probe(why);

	if (rc)
		return rc;
	if (comm_online_cpus(&cpu, 1) < 1 || comm_trigger_pick(COMM_WANT_TIME, &event, why))
		return -ENODEV;
	comm_trigger_attr(&event, 0, true, &attr);
	fd = comm_perf_open(&attr, -1, cpu, -1, 0);
	if (fd < 0)
		return comm_source_fail(
			why, fd, "the kernel refuses a sampling event on CPU %d: %s%s", cpu,
			strerror(-fd),
			fd == -EACCES || fd == -EPERM ? " (kernel lockdown, or a seccomp filter?)"
						      : "");
	close(fd);
	return 0;
}

/* Are there CPUs that do without ticks while they run one thread only? */
static bool ticks_may_stop(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/nohz_full", "re");
	int first = f ? getc(f) : EOF;

	if (f)
		fclose(f);
	return first >= '0' && first <= '9';
}

/*
 * Offset from the tick's timer to the pointer to the interrupted registers
 * (__irq_regs): both are per-CPU variables, and BTF tells where those lie.
 */
static bool find_ticks(int64_t *ret)
{
	const struct btf *btf = comm_bpf_kernel_types();
	int64_t tick = -1, regs = -1;
	int id = btf ? btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC) : -1;

	if (id > 0) {
		const struct btf_type *section = btf__type_by_id(btf, (uint32_t)id);
		const struct btf_var_secinfo *var = btf_var_secinfos(section);
		unsigned int i;

		for (i = 0; i < btf_vlen(section); i++) {
			const struct btf_type *type = btf__type_by_id(btf, var[i].type);
			const char *name = btf__name_by_offset(btf, type->name_off);

			if (name && !strcmp(name, "tick_cpu_sched"))
				tick = var[i].offset;
			if (name && !strcmp(name, "__irq_regs"))
				regs = var[i].offset;
		}
	}
	*ret = regs - tick;
	return tick >= 0 && regs >= 0;
}

/* Mean period of an event and the ticks together, from the period of each; 0: never. */
static uint64_t joint_period(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a | b;
	return (uint64_t)((double)a * (double)b / ((double)a + (double)b));
}

/* What a hit stands for: of the event, where a CPU has one, and of ticks. */
static void tell_period(struct source *s, unsigned int cpu)
{
	uint64_t period = s->events.fd[cpu] < 0 ? 0 : s->events.period[cpu];

	s->cpu[cpu].period = joint_period(period, s->tick_ns * s->bpf->data->ctl.tick_every);
}

static void cpu_gone(void *ctx, unsigned int cpu)
{
	struct source *s = ctx;

	comm_cpu_events_gone(&s->events, cpu);
	s->uncounted += s->config.counters ? s->config.counters->n : 0;
	tell_period(s, cpu);
}

static bool cpu_back(void *ctx, unsigned int event, unsigned int cpu, int fd)
{
	struct source *s = ctx;

	(void)event;
	if (!comm_cpu_events_back(&s->events, cpu, fd))
		return false;
	tell_period(s, cpu);
	return true;
}

static int open_hotplug(struct source *s, const struct perf_event_attr *attr, char **err)
{
	int rc = comm_hotplug_create(NULL, &s->hotplug);

	if (!rc)
		rc = comm_hotplug_add(s->hotplug, attr);
	if (rc >= 0) {
		comm_hotplug_attach(s->hotplug, bpf_program__fd(s->bpf->progs.sample));
		rc = comm_hotplug_start(s->hotplug);
	}
	return rc < 0 ? comm_source_fail(err, rc, "cannot follow CPUs: %s", strerror(-rc)) : 0;
}

static int open_events(struct source *s, char **err)
{
	struct perf_event_attr attr;
	int rc;

	comm_trigger_attr(&s->event, s->config.period, true, &attr);
	rc = comm_cpu_events_init(&s->events, s->life_info.n_cpus);
	if (!rc)
		rc = comm_cpu_events_open(&s->events, s->event.name, &attr, err);
	for (unsigned int i = 0; i < s->life_info.n_cpus && !rc; i++) {
		s->cpu[i].period = s->events.period[i];
		if (s->events.fd[i] >= 0 && ioctl(s->events.fd[i], PERF_EVENT_IOC_SET_BPF,
						  bpf_program__fd(s->bpf->progs.sample)))
			rc = comm_source_fail(err, -errno, "cannot attach the sampling program: %s",
					      strerror(errno));
	}
	return rc ? rc : open_hotplug(s, &attr, err);
}

/* Returns false if the record is not whole. */
static bool to_sample(struct source *s, const struct comm_raw_sample *raw, size_t size)
{
	const struct comm_raw_line *line;
	struct comm_sample *out = &s->sample;
	struct comm_event event = {0};
	size_t stack = s->config.stack_bytes, i;

	if (size < sizeof(*raw) + stack || raw->n_lines > COMM_RAW_LINES_MAX ||
	    raw->stack_bytes > stack || size < sizeof(*raw) + stack + raw->n_lines * sizeof(*line))
		return false;
	comm_wanted_lines_met(s->wanted, raw->head.tgid, raw->program);
	memcpy(out->reg, raw->reg, sizeof(out->reg));
	out->ip = raw->head.ip;
	out->flags = raw->flags;
	out->period = raw->head.period;
	out->known = (1U << COMM_NREGS) - 1;
	out->mode_bits = raw->mode_bits;
	out->n_chunks = 0;
	out->data_bytes = 0;
	if (raw->stack_addr && raw->stack_bytes) {
		out->chunk[0] = (struct comm_chunk){raw->stack_addr, raw->stack_bytes, 0};
		memcpy(out->data, raw->data, raw->stack_bytes);
		out->data_bytes = raw->stack_bytes;
		out->n_chunks = 1;
	}
	line = (const struct comm_raw_line *)(raw->data + stack);
	for (i = 0; i < raw->n_lines; i++) {
		out->chunk[out->n_chunks++] =
			(struct comm_chunk){line[i].addr, COMM_RAW_LINE_BYTES, out->data_bytes};
		memcpy(out->data + out->data_bytes, line[i].data, COMM_RAW_LINE_BYTES);
		out->data_bytes += COMM_RAW_LINE_BYTES;
	}
	event.kind = COMM_EV_SAMPLE;
	event.time_ns = raw->head.time_ns;
	event.cpu = (uint16_t)raw->head.cpu;
	event.tgid = raw->head.tgid;
	event.tid = raw->head.tid;
	event.sample = out;
	s->push(s->push_ctx, &event);
	s->pushed++;
	return true;
}

static uint32_t at_most_32_bits(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* How many accesses of that size are passed_bytes, at least one. */
static uint32_t pieces(uint64_t passed_bytes, uint64_t len_bytes)
{
	uint64_t n = len_bytes ? passed_bytes / len_bytes : 0;

	return n ? at_most_32_bits(n) : 1;
}

/* What the kernel writes or reads for a thread, or the thread was the first to write. */
static void to_ranges(struct source *s, const struct comm_raw_kcopy *raw, uint16_t kind)
{
	uint16_t flags = raw->reads ? COMM_ACCESS_READ : COMM_ACCESS_WRITE;
	uint32_t i;

	if (kind == COMM_EV_KCOPY || !raw->head.ip)
		flags |= COMM_ACCESS_KERNEL;
	if (raw->filled)
		flags |= COMM_ACCESS_REP;
	if (kind == COMM_EV_KCOPY && !raw->passed_bytes)
		flags |= COMM_ACCESS_BY_TIME;

	for (i = 0; i < raw->n_ranges && i < COMM_RAW_RANGES_MAX; i++) {
		struct comm_event event = {
			.kind = kind,
			.time_ns = raw->head.time_ns,
			.cpu = (uint16_t)raw->head.cpu,
			.tgid = raw->head.tgid,
			.tid = raw->head.tid,
		};

		event.access = (struct comm_precise){
			.addr = raw->range[i].addr,
			.ip = raw->head.ip,
			.size_bytes = raw->range[i].len_bytes,
			.flags = flags,
			.period = raw->passed_bytes
					  ? pieces(raw->passed_bytes, raw->range[i].len_bytes)
					  : at_most_32_bits(raw->head.period),
			.call_bytes = raw->call_bytes,
		};
		s->push(s->push_ctx, &event);
		s->pushed++;
	}
}

static void to_mark(struct source *s, const struct comm_raw_mark *raw)
{
	struct comm_event event = {
		.kind = COMM_EV_MARK,
		.time_ns = raw->head.time_ns,
		.cpu = (uint16_t)raw->head.cpu,
		.tgid = raw->head.tgid,
		.tid = raw->head.tid,
	};

	event.marks.n = raw->depth < COMM_RAW_MARKS_MAX ? (uint32_t)raw->depth : COMM_RAW_MARKS_MAX;
	for (uint32_t i = 0; i < event.marks.n; i++)
		event.marks.name[i] = raw->name[i];
	s->push(s->push_ctx, &event);
	s->pushed++;
}

static void to_frame(struct source *s, const struct comm_raw_frame *raw)
{
	const struct comm_event event = {
		.kind = COMM_EV_FRAME,
		.time_ns = raw->head.time_ns,
		.cpu = (uint16_t)raw->head.cpu,
		.tgid = raw->head.tgid,
		.tid = raw->head.tid,
		.frame = raw->number,
	};

	s->push(s->push_ctx, &event);
	s->pushed++;
}

static int on_sample(void *ctx, void *data, size_t size)
{
	const struct comm_raw_head *head = data;
	struct source *s = ctx;

	if (size >= sizeof(struct comm_raw_sample) && head->kind == COMM_RAW_SAMPLE)
		s->malformed += !to_sample(s, data, size);
	else if (size >= sizeof(struct comm_raw_mark) && head->kind == COMM_RAW_MARK)
		to_mark(s, data);
	else if (size >= sizeof(struct comm_raw_frame) && head->kind == COMM_RAW_FRAME)
		to_frame(s, data);
	else if (size >= sizeof(struct comm_raw_kcopy) && head->kind == COMM_RAW_KCOPY)
		to_ranges(s, data, COMM_EV_KCOPY);
	else if (size >= sizeof(struct comm_raw_kcopy) && head->kind == COMM_RAW_TOUCH)
		to_ranges(s, data, COMM_EV_TOUCH);
	else
		s->malformed++;
	return 0;
}

static bool ticks_met(const struct source *s)
{
	bool met = false;

	for (unsigned int k = 0; k < LOOKS && !met; k++)
		for (unsigned int i = 0; i < s->life_info.n_cpus; i++)
			met |= __atomic_load_n(&s->cpu[i].ticks, __ATOMIC_RELAXED) > 0;
	return met;
}

/*
 * Tries whether the BPF program runs at this kernel's ticks; tick_ns 0: it does not.  Does
 * so much work that ticks must interrupt it (50 ms or more), for no clock tells that: on a
 * busy machine others have the CPU, and time that the host of a virtual machine takes away
 * counts as our own.
 */
static void try_ticks(struct source *s)
{
	uint64_t give_up_ns = comm_clock_now_ns() + TRY_MOST_S * 1000000000ULL;
	LIBBPF_OPTS(bpf_test_run_opts, run);
	bool met = false;

	if (!s->tick_ns)
		return;
	s->bpf->data->ctl.try_ticks = 1;
	if (!bpf_prog_test_run_opts(bpf_program__fd(s->bpf->progs.find_tick), &run) && !run.retval)
		s->bpf->links.ticked = bpf_program__attach(s->bpf->progs.ticked);
	for (unsigned int i = 0; s->bpf->links.ticked && !met && i < TRY_TIMES; i++) {
		met = ticks_met(s);
		if (comm_clock_now_ns() > give_up_ns)
			break;
	}
	s->bpf->data->ctl.try_ticks = 0;
	if (met)
		return;
	bpf_link__destroy(s->bpf->links.ticked);
	s->bpf->links.ticked = NULL;
	s->tick_ns = 0;
}

static void choose_programs(void *ctx, struct capture_bpf *bpf)
{
	const struct source *s = ctx;

	bpf->rodata->stack_bytes = s->config.stack_bytes;
	bpf->rodata->max_lines = s->config.max_lines;
	bpf->rodata->code_line = s->config.max_lines > 0;
	bpf->rodata->samples_time = s->event.trigger == COMM_TRIGGER_TIME;
	bpf->rodata->irq_regs_behind_tick = s->regs_behind_tick;
	bpf->rodata->since_ns = comm_target_since_ns(s->config.target);
	bpf->rodata->others_every = s->config.chooses ? OTHERS_EVERY : 1;
	bpf->rodata->has_probes = s->config.probes && s->config.probes->n;
	bpf_program__set_autoload(bpf->progs.sample, true);
	bpf_program__set_autoload(bpf->progs.ticked, s->tick_ns > 0);
	bpf_program__set_autoload(bpf->progs.find_tick, s->tick_ns > 0);
	bpf_program__set_autoload(bpf->progs.touched_by_user,
				  comm_bpf_kernel_traces("page_fault_user"));
	bpf_program__set_autoload(bpf->progs.touched_by_kernel,
				  comm_bpf_kernel_traces("page_fault_kernel"));
}

static int open_life(struct source *s, char **err)
{
	const struct comm_bpf_life_config config = {
		.target = s->config.target,
		.switches = s->config.switches,
		.counters = s->config.counters,
		.with_samples = choose_programs,
		.ctx = s,
	};
	int rc = comm_bpf_life_open(&config, &s->life, err);

	if (rc)
		return rc;
	comm_bpf_life_info(s->life, &s->life_info);
	s->bpf = comm_bpf_life_object(s->life);
	s->cpu = comm_bpf_life_cpus(s->life);
	rc = comm_bpf_life_add_rings(s->life, bpf_map__fd(s->bpf->maps.samples), on_sample, s);
	return rc ? comm_source_fail(err, rc, "cannot set up the rings of samples: %s",
				     strerror(-rc))
		  : 0;
}

static int open_probes(struct source *s, char **err)
{
	const struct comm_region_probe_list *list = s->config.probes;

	if (!list || comm_region_probe_list_is_empty(list))
		return 0;
	s->bpf->data->ctl.has_marks |= list->n > 0;
	s->bpf->data->ctl.probes_frames = list->frame.path != NULL;
	return comm_bpf_probes_open(list, bpf_map__fd(s->bpf->maps.probed),
				    bpf_map__fd(s->bpf->maps.probed_frames), &s->probes, err);
}

static void source_close(void *source)
{
	struct source *s = source;

	if (!s)
		return;
	comm_bpf_probes_close(s->probes);
	comm_hotplug_destroy(s->hotplug);
	comm_cpu_events_deinit(&s->events);
	comm_bpf_life_close(s->life);
	comm_wanted_lines_destroy(s->wanted);
	free(s);
}

static int source_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	struct source *s;
	int rc = comm_sampler_check(config, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	rc = comm_wanted_lines_create(&s->wanted);
	if (!rc)
		rc = comm_trigger_pick(config->trigger, &s->event, err);
	if (rc)
		goto fail;
	if (s->event.trigger == COMM_TRIGGER_TIME && !ticks_may_stop() &&
	    find_ticks(&s->regs_behind_tick))
		s->tick_ns = comm_trigger_tick_ns();
	rc = open_life(s, err);
	if (rc)
		goto fail;
	try_ticks(s);
	rc = open_probes(s, err);
	if (rc)
		goto fail;
	rc = open_events(s, err);
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
		.per_cpu = true,
		.ticks = s->tick_ns > 0,
		.sees_kernel_copies = true,
		.sees_switches = s->life_info.sees_switches,
		.sees_maps = s->life_info.sees_maps,
		.n_cpus = s->life_info.n_cpus,
		.n_fds = s->events.n_open,
		.notes = s->life_info.notes,
	};
}

static int source_start(void *source, char **err)
{
	struct source *s = source;
	int rc = comm_bpf_life_start(s->life, err);

	return rc ? rc : comm_cpu_events_enable(&s->events, err);
}

static int source_fd(const void *source)
{
	(void)source;
	return -1;
}

static int source_wake(void *source, bool wanted)
{
	struct source *s = source;

	return comm_bpf_life_wake(s->life, wanted);
}

static void source_stats(void *source, struct comm_sampler_stats *ret)
{
	struct source *s = source;

	memset(ret, 0, sizeof(*ret));
	for (unsigned int i = 0; i < s->life_info.n_cpus; i++) {
		volatile struct comm_raw_cpu *c = &s->cpu[i];

		ret->interrupts += c->interrupts;
		ret->hits += c->hits;
		ret->tick_hits += c->tick_hits;
		ret->samples += c->samples;
		ret->kcopies += c->kcopies;
		ret->handler_ns += c->handler_ns + c->touch_ns;
		ret->lines += c->lines;
		ret->failed_reads += c->failed_reads;
		ret->loss[COMM_LOSS_RING] += c->sample_drops;
		ret->loss[COMM_LOSS_TOUCH] += c->touch_drops;
		ret->loss[COMM_LOSS_STOPPED] += c->stopped;
	}
	ret->loss[COMM_LOSS_MALFORMED] += s->malformed;
	ret->loss[COMM_LOSS_COUNTS] += s->uncounted;
	ret->loss[COMM_LOSS_CPUS] = comm_hotplug_lost(s->hotplug);
	comm_bpf_life_stats(s->life, ret);
	ret->period = s->nominal;
}

static int source_drain(void *source, comm_event_fn *push, void *ctx)
{
	static const struct comm_hotplug_ops ops = {.gone = cpu_gone, .back = cpu_back};
	struct source *s = source;
	struct comm_sampler_stats stats;
	int life;

	comm_hotplug_look(s->hotplug, comm_clock_now_ns(), &ops, s);
	s->push = push;
	s->push_ctx = ctx;
	s->pushed = 0;
	life = comm_bpf_life_drain(s->life, push, ctx);
	if (life < 0)
		return life;
	source_stats(s, &stats);
	return s->pushed + life +
	       comm_loss_tell(&s->losses, stats.loss, comm_clock_now_ns(), push, ctx);
}

static int source_set_rate(void *source, const struct comm_sampler_rate *rate)
{
	struct source *s = source;
	int rc = comm_bpf_life_set_switches(s->life, rate->switches);

	s->bpf->data->ctl.tick_every = s->tick_ns ? rate->tick_every : 0;
	for (unsigned int i = 0; i < s->life_info.n_cpus; i++) {
		int set = comm_cpu_events_set_rate(&s->events, i, rate);

		if (set < 0)
			rc = set;
		else
			tell_period(s, i);
	}
	s->bpf->data->ctl.lines_on = rate->lines;
	comm_bpf_life_set_strangers(s->life, rate->strangers_per_s);
	/* A target that faults all the time: where samples are at their least, so is this. */
	comm_bpf_life_set_touches(s->life, rate->lines);
	comm_bpf_life_set_hooks(s->life, rate->hooks_off);
	s->nominal = rate->period;
	return rc;
}

static void source_seen(const void *source, uint64_t *ret_ns)
{
	const struct source *s = source;

	comm_bpf_life_seen(s->life, ret_ns);
}

static void source_marks(void *source, uint32_t tgid, const struct comm_marks_place *place)
{
	const struct comm_raw_marks marks = {place->stack, place->process, 0};
	struct source *s = source;

	/* A full map: its regions are not seen. */
	bpf_map_update_elem(bpf_map__fd(s->bpf->maps.marks), &tgid, &marks, BPF_ANY);
	s->bpf->data->ctl.has_marks = 1;
}

/* Of a full map those pieces go that were met least recently. */
static void choose(struct source *s, const struct comm_event *event, const struct comm_burst *burst)
{
	uint64_t program = comm_wanted_lines_program(s->wanted, event->tgid), key[COMM_CHOSEN_NEW];
	unsigned int n = comm_chosen_code_burst(&s->chosen, program, event->sample, burst, key);
	const uint8_t present = 1;

	for (unsigned int i = 0; i < n; i++)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.pieces), &key[i], &present, BPF_ANY);
}

static void source_burst(void *source, const struct comm_event *event,
			 const struct comm_burst *burst)
{
	struct source *s = source;
	struct comm_wanted wanted[COMM_WANTED_CHANGES];
	unsigned int n = comm_wanted_lines_burst(s->wanted, event, burst, wanted);

	for (unsigned int i = 0; i < n; i++)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.wanted), &wanted[i].key,
				    &wanted[i].raw, BPF_ANY);
	if (s->config.chooses)
		choose(s, event, burst);
}

static uint64_t source_strings_ns(void *source, bool watch)
{
	struct source *s = source;
	uint64_t ticks = 0;

	if (!s->tick_ns)
		return UINT64_MAX;
	s->bpf->data->ctl.watch_strings = watch;
	for (unsigned int i = 0; i < s->life_info.n_cpus; i++)
		ticks += s->cpu[i].string_ticks;
	return ticks * s->tick_ns;
}

static int source_count(void *source, uint64_t time_ns, comm_event_fn *push, void *ctx)
{
	return comm_bpf_life_count(((struct source *)source)->life, time_ns, push, ctx);
}

static void source_stop(void *source)
{
	struct source *s = source;

	comm_cpu_events_disable(&s->events);
	comm_bpf_life_stop(s->life);
}

static bool source_ended_name(void *source, uint32_t tgid, uint32_t tid, uint64_t time_ns,
			      char ret_name[16])
{
	const struct source *s = source;
	struct comm_raw_ended end;

	/* Who had the tid before had ended by then. */
	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.ended), &tid, &end) || end.tgid != tgid ||
	    end.time_ns < time_ns)
		return false;
	memcpy(ret_name, end.name, sizeof(end.name));
	return true;
}

static const struct comm_sampler sampler = {
	.probes = true,
	.open = source_open,
	.info = source_info,
	.start = source_start,
	.fd = source_fd,
	.wake = source_wake,
	.drain = source_drain,
	.set_rate = source_set_rate,
	.stats = source_stats,
	.seen = source_seen,
	.marks = source_marks,
	.burst = source_burst,
	.strings_ns = source_strings_ns,
	.count = source_count,
	.ended_name = source_ended_name,
	.stop = source_stop,
	.close = source_close,
};

const struct comm_source comm_source_bpf = {
	.name = "bpf",
	.help = "software samples by a BPF program on every CPU, switches, life cycle",
	.probe = probe,
	.sampler = &sampler,
};
