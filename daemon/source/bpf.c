// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live source where BPF is permitted: one event per CPU, the filter and
 * all copying in bpf/capture.bpf.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

typedef uint8_t __u8;
typedef uint32_t u32;
typedef uint64_t u64;
#include "clock.h"
#include "sample_event.h"
#include "sched_event.h"

#include "capture.skel.h"

#include "source.h"
#include "trigger.h"

enum {
	RING_BYTES = 1 << 20, /* per CPU, and four times that at least */
	RING_BYTES_MAX = 1 << 26,
	CPUS_MAX = 8192,
	TRY_TICKS = 5,
};

_Static_assert((int)COMM_RAW_STACK_MAX == (int)COMM_SAMPLER_STACK_MAX,
	       "sample_event.h and sampler.h");
_Static_assert((int)COMM_RAW_LINES_MAX == (int)COMM_SAMPLER_LINES_MAX,
	       "sample_event.h and sampler.h");
_Static_assert((int)COMM_RAW_NREGS == (int)COMM_NREGS, "sample_event.h and event.h");
_Static_assert(COMM_RAW_LINES_MAX + 1 <= COMM_SAMPLE_CHUNKS, "a chunk for each line");
_Static_assert(COMM_RAW_STACK_MAX + COMM_RAW_LINES_MAX * COMM_RAW_LINE_BYTES <=
		       COMM_SAMPLE_DATA_BYTES,
	       "room for all that a sample may bring");

struct source {
	struct comm_sampler_config config;
	struct comm_trigger_event event;
	struct capture_bpf *bpf;
	struct bpf_link *switch_link;
	struct ring_buffer *rings;
	volatile struct comm_raw_cpu *cpu; /* n_cpus of them */
	size_t cpu_bytes;
	unsigned int n_cpus;
	int *fd; /* by CPU; -1: offline */
	uint64_t *period;
	uint64_t nominal;
	uint64_t tick_ns; /* 0: this kernel's ticks cannot be met */
	int64_t regs_behind_tick;
	unsigned int n_fds;
	bool started, sees_maps;
	bool switches;
	uint64_t told_loss[COMM_LOSS_MAX];
	uint64_t gaps; /* times that switches began to be left out */
	bool in_gap;
	char notes[256];
	/* While draining. */
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
	struct comm_sample sample;
};

/* What libbpf said first: the reason behind a failed load. */
static char libbpf_said[512];

static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level == LIBBPF_WARN && !libbpf_said[0]) {
		vsnprintf(libbpf_said, sizeof(libbpf_said), fmt, args);
		libbpf_said[strcspn(libbpf_said, "\n")] = 0;
	}
	return 0;
}

static int probe(char **why)
{
	struct perf_event_attr attr;
	struct comm_trigger_event event;
	int cpu, fd;

	if (!comm_has_capability(CAP_BPF, CAP_SYS_ADMIN) ||
	    !comm_has_capability(CAP_PERFMON, CAP_SYS_ADMIN))
		return comm_source_fail(
			why, -EPERM,
			"needs CAP_BPF and CAP_PERFMON: run as root, or give them "
			"with 'setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep commd'");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return comm_source_fail(why, -ENOENT,
					"needs a kernel with CONFIG_DEBUG_INFO_BTF: "
					"/sys/kernel/btf/vmlinux cannot be read");
	if (!comm_target_pids_are_global())
		return comm_source_fail(why, -EINVAL,
					"runs in a PID namespace of its own and would look for the "
					"wrong processes: start the container with --pid=host");
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

/*
 * Does this kernel let a program hook into perf_event_mmap()?  Asked with one
 * that does nothing, for verifying all of ours twice takes long.
 */
static bool may_hook_maps(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int id = libbpf_find_vmlinux_btf_id("perf_event_mmap", BPF_TRACE_FENTRY), fd;

	if (id <= 0)
		return false;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "comm_probe", "GPL", insns, 2, &opts);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
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
 * How far behind the tick's own timer a CPU keeps where its interrupted registers
 * are: both are variables of a CPU, and BTF tells where those lie.
 */
static bool find_ticks(int64_t *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();
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
	btf__free(btf);
	*ret = regs - tick;
	return tick >= 0 && regs >= 0;
}

/* Of an event and of the ticks together, each as often as it says; 0: never. */
static uint64_t joint_period(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a | b;
	return (uint64_t)((double)a * (double)b / ((double)a + (double)b));
}

static int load(struct source *s, bool with_maps)
{
	const struct comm_sampler_config *config = &s->config;
	uint64_t ring_bytes = 4 * RING_BYTES;
	struct capture_bpf *bpf;
	int rc;

	libbpf_said[0] = 0;
	bpf = capture_bpf__open();
	if (!bpf)
		return -errno;
	while (ring_bytes < (uint64_t)RING_BYTES * s->n_cpus && ring_bytes < RING_BYTES_MAX)
		ring_bytes *= 2;
	bpf_map__set_max_entries(bpf->maps.samples, (uint32_t)ring_bytes);
	bpf_map__set_max_entries(bpf->maps.switches, (uint32_t)ring_bytes);
	bpf_map__set_max_entries(bpf->maps.cpus, s->n_cpus);
	bpf->rodata->stack_bytes = config->stack_bytes;
	bpf->rodata->max_lines = config->max_lines;
	bpf->rodata->code_line = config->max_lines > 0;
	bpf->rodata->follow = comm_target_follows(config->target);
	bpf->rodata->irq_regs_behind_tick = s->regs_behind_tick;
	bpf->rodata->own_tgid = (uint32_t)getpid();
	bpf->rodata->all_tasks = comm_target_kind(config->target) == COMM_TARGET_ALL;
	if (comm_target_kind(config->target) == COMM_TARGET_CGROUP) {
		bpf->rodata->cgroup_id = comm_target_cgroup_id(config->target);
		bpf->rodata->cgroup_level = comm_target_cgroup_level(config->target);
	}
	bpf_program__set_autoload(bpf->progs.sample, !config->no_samples);
	bpf_program__set_autoload(bpf->progs.ticked, s->tick_ns > 0);
	bpf_program__set_autoload(bpf->progs.mapped, with_maps);
	bpf_program__set_autoload(bpf->progs.switched, config->switches);
	rc = capture_bpf__load(bpf);
	if (rc) {
		capture_bpf__destroy(bpf);
		return rc;
	}
	s->bpf = bpf;
	return 0;
}

static int add_targets(struct source *s)
{
	const uint32_t *pid;
	size_t n, i;
	int rc;

	if (comm_target_kind(s->config.target) != COMM_TARGET_PIDS)
		return 0;
	n = comm_target_pids(s->config.target, &pid);
	for (i = 0; i < n; i++) {
		uint8_t one = 1;

		rc = bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &pid[i], &one,
					 BPF_NOEXIST);
		if (!rc)
			__atomic_fetch_add(&s->bpf->data->ctl.n_targets, 1, __ATOMIC_RELAXED);
		else if (rc != -EEXIST)
			return rc;
	}
	return 0;
}

static int open_events(struct source *s, char **err)
{
	struct perf_event_attr attr;
	int *cpu, n, i, rc = 0;

	cpu = calloc(s->n_cpus, sizeof(*cpu));
	if (!cpu)
		return -ENOMEM;
	n = comm_online_cpus(cpu, (int)s->n_cpus);
	comm_trigger_attr(&s->event, s->config.period, true, &attr);
	for (i = 0; i < n; i++) {
		int fd;

		if (cpu[i] >= (int)s->n_cpus)
			continue;
		fd = comm_perf_open(&attr, -1, cpu[i], -1, 0);
		if (fd == -ENODEV) /* it has just gone offline */
			continue;
		if (fd < 0) {
			rc = comm_source_fail(err, fd, "cannot open %s on CPU %d: %s%s",
					      s->event.name, cpu[i], strerror(-fd),
					      fd == -EMFILE ? " (raise 'ulimit -n')" : "");
			break;
		}
		s->fd[cpu[i]] = fd;
		s->n_fds++;
		s->period[cpu[i]] = attr.sample_period;
		s->cpu[cpu[i]].period = attr.sample_period;
		if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(s->bpf->progs.sample))) {
			rc = comm_source_fail(err, -errno, "cannot attach the sampling program: %s",
					      strerror(errno));
			break;
		}
	}
	free(cpu);
	return rc;
}

static void to_sample(struct source *s, const struct comm_raw_sample *raw, size_t size)
{
	const struct comm_raw_line *line;
	struct comm_sample *out = &s->sample;
	struct comm_event event = {0};
	size_t stack = s->config.stack_bytes, i;

	if (size < sizeof(*raw) + stack || raw->n_lines > COMM_RAW_LINES_MAX ||
	    raw->stack_bytes > stack || size < sizeof(*raw) + stack + raw->n_lines * sizeof(*line))
		return;
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
}

static void to_kcopy(struct source *s, const struct comm_raw_kcopy *raw)
{
	uint32_t i;

	for (i = 0; i < raw->n_ranges && i < COMM_RAW_RANGES_MAX; i++) {
		struct comm_event event = {
			.kind = COMM_EV_KCOPY,
			.time_ns = raw->head.time_ns,
			.cpu = (uint16_t)raw->head.cpu,
			.tgid = raw->head.tgid,
			.tid = raw->head.tid,
		};

		event.access = (struct comm_precise){
			.addr = raw->range[i].addr,
			.ip = raw->head.ip,
			.size_bytes = raw->range[i].len_bytes,
			.flags = COMM_ACCESS_WRITE | COMM_ACCESS_KERNEL,
		};
		s->push(s->push_ctx, &event);
		s->pushed++;
	}
}

static int on_sample(void *ctx, void *data, size_t size)
{
	const struct comm_raw_head *head = data;

	if (size >= sizeof(struct comm_raw_sample) && head->kind == COMM_RAW_SAMPLE)
		to_sample(ctx, data, size);
	else if (size >= sizeof(struct comm_raw_kcopy) && head->kind == COMM_RAW_KCOPY)
		to_kcopy(ctx, data);
	return 0;
}

static int on_switch(void *ctx, void *data, size_t size)
{
	const struct comm_raw_sched *raw = data;
	struct source *s = ctx;
	struct comm_event event = {0};

	if (size < sizeof(*raw))
		return 0;
	event.kind = COMM_EV_SWITCH;
	event.time_ns = raw->time_ns;
	event.cpu = raw->cpu;
	event.tgid = raw->tgid;
	event.tid = raw->tid;
	event.next_tid = raw->other_tid;
	event.sched.prev_tgid = raw->tgid;
	event.sched.next_tgid = raw->other_tgid;
	s->push(s->push_ctx, &event);
	s->pushed++;
	return 0;
}

static int on_life(void *ctx, void *data, size_t size)
{
	static const uint16_t kinds[] = {
		[COMM_RAW_FORK] = COMM_EV_FORK, [COMM_RAW_EXEC] = COMM_EV_EXEC,
		[COMM_RAW_EXIT] = COMM_EV_EXIT, [COMM_RAW_RENAME] = COMM_EV_RENAME,
		[COMM_RAW_MMAP] = COMM_EV_MMAP,
	};
	const struct comm_raw_life *raw = data;
	struct source *s = ctx;
	struct comm_event event = {0};

	if (size < sizeof(*raw) || raw->kind >= sizeof(kinds) / sizeof(kinds[0]) ||
	    !kinds[raw->kind])
		return 0;
	event.kind = kinds[raw->kind];
	event.time_ns = raw->time_ns;
	event.cpu = raw->cpu;
	event.tgid = raw->tgid;
	event.tid = raw->tid;
	if (event.kind == COMM_EV_FORK) {
		event.fork.child_tgid = raw->child_tgid;
		event.fork.child_tid = raw->child_tid;
	} else if (event.kind == COMM_EV_MMAP) {
		event.mmap.start = raw->start;
		event.mmap.end = raw->end;
		event.mmap.offset = raw->offset;
		event.mmap.executable = raw->executable;
	}
	comm_target_event(s->config.target, &event);
	s->push(s->push_ctx, &event);
	s->pushed++;
	return 0;
}

static int map_cpus(struct source *s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	s->cpu_bytes = (s->n_cpus * sizeof(*s->cpu) + page - 1) & ~(page - 1);
	p = mmap(NULL, s->cpu_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(s->bpf->maps.cpus), 0);
	if (p == MAP_FAILED)
		return -errno;
	s->cpu = p;
	return 0;
}

static int make_rings(struct source *s)
{
	int rc;

	s->rings = ring_buffer__new(bpf_map__fd(s->bpf->maps.samples), on_sample, s, NULL);
	if (!s->rings)
		return -errno;
	rc = ring_buffer__add(s->rings, bpf_map__fd(s->bpf->maps.switches), on_switch, s);
	if (!rc)
		rc = ring_buffer__add(s->rings, bpf_map__fd(s->bpf->maps.life), on_life, s);
	return rc;
}

/* Whether this kernel's ticks can be met is best tried. */
static void try_ticks(struct source *s)
{
	uint64_t end_ns = comm_clock_now_ns() + TRY_TICKS * s->tick_ns;
	bool met = false;
	unsigned int i;

	if (!s->tick_ns)
		return;
	s->bpf->data->ctl.try_ticks = 1;
	s->bpf->links.ticked = bpf_program__attach(s->bpf->progs.ticked);
	while (s->bpf->links.ticked && !met && comm_clock_now_ns() < end_ns)
		for (i = 0; i < s->n_cpus; i++)
			met |= __atomic_load_n(&s->cpu[i].ticks, __ATOMIC_RELAXED) > 0;
	s->bpf->data->ctl.try_ticks = 0;
	if (met)
		return;
	bpf_link__destroy(s->bpf->links.ticked);
	s->bpf->links.ticked = NULL;
	s->tick_ns = 0;
}

static void source_close(void *source);

static int source_open(const struct comm_sampler_config *config, void **ret, char **err)
{
	struct source *s;
	unsigned int i;
	int rc, n_cpus = libbpf_num_possible_cpus();

	rc = comm_sampler_check(config, err);
	if (rc)
		return rc;
	if (n_cpus < 1 || n_cpus > CPUS_MAX)
		return comm_source_fail(err, -ENODEV, "cannot tell how many CPUs there are");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->config = *config;
	s->n_cpus = (unsigned int)n_cpus;
	s->switches = config->switches;
	s->fd = calloc(s->n_cpus, sizeof(*s->fd));
	s->period = calloc(s->n_cpus, sizeof(*s->period));
	rc = -ENOMEM;
	if (!s->fd || !s->period)
		goto fail;
	for (i = 0; i < s->n_cpus; i++)
		s->fd[i] = -1;
	rc = comm_trigger_pick(config->trigger, &s->event, err);
	if (rc)
		goto fail;
	libbpf_set_print(libbpf_print);
	if (s->event.trigger == COMM_TRIGGER_TIME && !config->no_samples && !ticks_may_stop() &&
	    find_ticks(&s->regs_behind_tick))
		s->tick_ns = comm_trigger_tick_ns();
	s->sees_maps = may_hook_maps();
	rc = load(s, s->sees_maps);
	if (rc) {
		comm_source_fail(err, rc, "the kernel does not load the sampling program: %s (%s)",
				 strerror(-rc), libbpf_said);
		goto fail;
	}
	rc = map_cpus(s);
	if (!rc)
		rc = make_rings(s);
	if (!rc)
		rc = add_targets(s);
	if (rc) {
		comm_source_fail(err, rc, "cannot set up the rings: %s", strerror(-rc));
		goto fail;
	}
	try_ticks(s);
	rc = config->no_samples ? 0 : open_events(s, err);
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
		.sees_switches = s->config.switches,
		.sees_maps = s->sees_maps,
		.n_cpus = s->n_cpus,
		.n_fds = s->n_fds,
		.notes = s->notes,
	};
}

static int attach(struct bpf_program *prog, struct bpf_link **link, const char *what, char **err)
{
	if (!bpf_program__autoload(prog) || *link)
		return 0;
	*link = bpf_program__attach(prog);
	if (*link)
		return 0;
	return comm_source_fail(err, -errno, "cannot attach to %s: %s", what, strerror(errno));
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

static int source_start(void *source, char **err)
{
	struct source *s = source;
	struct capture_bpf *bpf = s->bpf;
	const uint32_t *pid;
	unsigned int i;
	int rc;

	if (comm_target_kind(s->config.target) == COMM_TARGET_PIDS &&
	    comm_target_pids(s->config.target, &pid) == 1)
		bpf->data->ctl.only_tgid = pid[0];
	rc = attach(bpf->progs.forked, &bpf->links.forked, "fork", err);
	if (!rc)
		rc = attach(bpf->progs.execed, &bpf->links.execed, "exec", err);
	if (!rc)
		rc = attach(bpf->progs.exited, &bpf->links.exited, "exit", err);
	if (!rc)
		rc = attach(bpf->progs.renamed, &bpf->links.renamed, "task renaming", err);
	if (!rc)
		rc = attach(bpf->progs.mapped, &bpf->links.mapped, "perf_event_mmap", err);
	if (rc)
		return rc;
	/* From here on no fork is missed; what came before is found now. */
	comm_target_scan(s->config.target);
	if (comm_target_kind(s->config.target) == COMM_TARGET_PIDS &&
	    comm_target_pids(s->config.target, &pid) != 1)
		bpf->data->ctl.only_tgid = 0;
	rc = add_targets(s);
	if (rc)
		return comm_source_fail(err, rc, "too many target processes: %s", strerror(-rc));
	if (s->switches) {
		rc = attach(bpf->progs.switched, &s->switch_link, "sched_switch", err);
		if (rc)
			return rc;
	}
	for (i = 0; i < s->n_cpus; i++)
		if (s->fd[i] >= 0 && ioctl(s->fd[i], PERF_EVENT_IOC_ENABLE, 0))
			return comm_source_fail(err, -errno, "cannot enable %s: %s", s->event.name,
						strerror(errno));
	s->started = true;
	return 0;
}

static int source_fd(const void *source)
{
	(void)source;
	return -1;
}

static void source_stats(void *source, struct comm_sampler_stats *ret)
{
	struct source *s = source;
	unsigned int i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < s->n_cpus; i++) {
		volatile struct comm_raw_cpu *c = &s->cpu[i];

		ret->interrupts += c->interrupts;
		ret->hits += c->hits;
		ret->tick_hits += c->tick_hits;
		ret->samples += c->samples;
		ret->kcopies += c->kcopies;
		ret->handler_ns += c->handler_ns;
		ret->lines += c->lines;
		ret->failed_reads += c->failed_reads;
		ret->switches += c->switches;
		ret->switches_out += c->switches_out;
		ret->switch_ns += c->sched_ns;
		ret->loss[COMM_LOSS_RING] += c->sample_drops;
		ret->loss[COMM_LOSS_SCHED] += c->sched_drops;
		ret->loss[COMM_LOSS_LIFE] += c->life_drops;
	}
	ret->loss[COMM_LOSS_BUDGET] += s->gaps;
	ret->period = s->nominal;
}

static int source_drain(void *source, comm_event_fn *push, void *ctx)
{
	struct source *s = source;
	struct comm_sampler_stats stats;
	struct comm_event event = {.kind = COMM_EV_LOSS};
	unsigned int cause;
	int rc;

	s->push = push;
	s->push_ctx = ctx;
	s->pushed = 0;
	rc = ring_buffer__consume(s->rings);
	if (rc < 0)
		return rc;
	if (s->config.switches && s->started && !s->switch_link && !s->in_gap)
		s->gaps++;
	s->in_gap = !s->switch_link;
	source_stats(s, &stats);
	event.time_ns = comm_clock_now_ns();
	for (cause = 0; cause < COMM_LOSS_MAX; cause++) {
		if (stats.loss[cause] == s->told_loss[cause])
			continue;
		event.cause = cause;
		event.count = stats.loss[cause] - s->told_loss[cause];
		s->told_loss[cause] = stats.loss[cause];
		push(ctx, &event);
		s->pushed++;
	}
	return s->pushed;
}

static int source_set_rate(void *source, const struct comm_sampler_rate *rate)
{
	struct source *s = source;
	char *err = NULL;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < s->n_cpus; i++) {
		uint64_t period = rate->period << (rate->park ? rate->park[i] : 0);

		if (s->fd[i] < 0)
			continue;
		if (comm_trigger_worth_setting(s->period[i], period, rate->park && rate->park[i])) {
			if (ioctl(s->fd[i], PERF_EVENT_IOC_PERIOD, &period)) {
				rc = -errno;
				continue;
			}
			s->period[i] = period;
		}
		s->cpu[i].period = joint_period(s->period[i], s->tick_ns * rate->tick_every);
	}
	s->bpf->data->ctl.tick_every = s->tick_ns ? rate->tick_every : 0;
	s->nominal = rate->period;
	s->bpf->data->ctl.lines_on = rate->lines;
	if (s->config.switches && s->started && rate->switches != s->switches) {
		if (!rate->switches)
			detach(&s->switch_link);
		else
			rc = attach(s->bpf->progs.switched, &s->switch_link, "sched_switch", &err);
		free(err);
	}
	if (s->config.switches)
		s->switches = rate->switches;
	return rc;
}

static void source_seen(const void *source, uint64_t *ret_ns)
{
	const struct source *s = source;
	unsigned int i;

	for (i = 0; i < s->n_cpus; i++)
		ret_ns[i] = s->cpu[i].seen_ns;
}

static void source_stop(void *source)
{
	struct source *s = source;
	unsigned int i;

	for (i = 0; i < s->n_cpus; i++)
		if (s->fd[i] >= 0)
			ioctl(s->fd[i], PERF_EVENT_IOC_DISABLE, 0);
	detach(&s->switch_link);
	capture_bpf__detach(s->bpf);
	s->started = false;
}

static void source_close(void *source)
{
	struct source *s = source;
	unsigned int i;

	if (!s)
		return;
	for (i = 0; s->fd && i < s->n_cpus; i++)
		if (s->fd[i] >= 0)
			close(s->fd[i]);
	ring_buffer__free(s->rings);
	if (s->cpu)
		munmap((void *)s->cpu, s->cpu_bytes);
	detach(&s->switch_link);
	capture_bpf__destroy(s->bpf);
	free(s->fd);
	free(s->period);
	free(s);
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

const struct comm_source comm_source_bpf = {
	.name = "bpf",
	.help = "software samples by a BPF program on every CPU, switches, life cycle",
	.probe = probe,
	.sampler = &sampler,
};
