// SPDX-License-Identifier: GPL-2.0-or-later
#include "bpf_life.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "count_event.h"
#include "sample_event.h"
#include "sched_event.h"

#include "capture.skel.h"

#include "bpf_counts.h"
#include "bpf_kernel.h"
#include "bpf_rings.h"
#include "bpf_untold.h"
#include "clock.h"
#include "preflight.h"
#include "source.h"
#include "trigger.h"

enum {
	CPUS_MAX = 8192,
	LIST_NS = 1000 * 1000 * 1000, /* between two readings of the map of targets */
	LIST_SHARE = 1000,	      /* and so many times as long as one takes */
};

/* For so long at least first writes of pages stay off: to attach a program takes a while. */
static const uint64_t TOUCHES_OFF_NS = 10000000000u;

struct comm_bpf_life {
	struct comm_bpf_life_config config;
	struct capture_bpf *bpf;
	struct bpf_link *switch_link; /* NULL: switches are off */
	struct comm_bpf_counts *counts;
	struct ring_buffer *rings;
	struct comm_bpf_rings_plan plan;
	volatile struct comm_raw_cpu *cpu; /* n_cpus of them */
	size_t cpu_bytes;
	unsigned int n_cpus;
	bool started, sees_maps;
	char notes[160];   /* "" or what the kernel does not permit */
	uint64_t unhooked; /* 1: hooking into perf_event_mmap() failed at the start */
	bool switches;	   /* context switches are traced now */
	uint64_t gaps;	   /* how often tracing of switches was turned off */
	bool in_gap;
	uint64_t malformed;
	uint64_t ended_ns;	 /* so much of the counters' is in the target */
	uint64_t touches_off_ns; /* since when first writes of pages are not told; 0: they are */
	uint64_t touch_gaps;	 /* how often that was turned off */
	uint64_t name_gaps;	 /* how often new names were not told */
	uint64_t left_out, listed_ns, list_took_ns; /* at the last reading of the map of targets */
	/* Valid only during drain. */
	comm_event_fn *push;
	void *push_ctx;
	int pushed;
};

/* libbpf's first message: the reason of a failed load. */
static char libbpf_said[512];
/* At some message few descriptors were left, which libbpf tells as this or that. */
static bool libbpf_lacked_descriptors;

static int libbpf_print(enum libbpf_print_level level, const char *fmt, va_list args)
{
	if (level != LIBBPF_WARN)
		return 0;
	if (!libbpf_said[0]) {
		vsnprintf(libbpf_said, sizeof(libbpf_said), fmt, args);
		libbpf_said[strcspn(libbpf_said, "\n")] = 0;
	}
	libbpf_lacked_descriptors |= !comm_preflight_descriptors();
	return 0;
}

int comm_bpf_life_probe(char **why)
{
	const struct btf *btf;
	int rc;

	if (!comm_has_capability(CAP_BPF, CAP_SYS_ADMIN) ||
	    !comm_has_capability(CAP_PERFMON, CAP_SYS_ADMIN))
		return comm_source_fail(
			why, -EPERM,
			"needs CAP_BPF and CAP_PERFMON: run as root, or give them "
			"with 'setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep commd'");
	btf = comm_bpf_kernel_types();
	if (!btf)
		return comm_source_fail(why, -ENOENT,
					"needs a kernel with CONFIG_DEBUG_INFO_BTF: "
					"/sys/kernel/btf/vmlinux cannot be read");
	rc = comm_bpf_kernel_suits(btf, why);
	if (rc)
		return rc;
	if (!comm_target_pids_are_global())
		return comm_source_fail(why, -EINVAL,
					"runs in a PID namespace of its own and would look for the "
					"wrong processes: start the container with --pid=host");
	return 0;
}

static int load(struct comm_bpf_life *life)
{
	const struct comm_bpf_life_config *config = &life->config;
	struct capture_bpf *bpf;
	int rc;

	libbpf_said[0] = 0;
	libbpf_lacked_descriptors = false;
	bpf = capture_bpf__open();
	if (!bpf)
		return -errno;
	bpf_map__set_max_entries(bpf->maps.samples, life->plan.n);
	bpf_map__set_max_entries(bpf->maps.switches, life->plan.n);
	bpf->rodata->n_rings = life->plan.n;
	bpf_map__set_max_entries(bpf->maps.cpus, life->n_cpus);
	bpf_map__set_max_entries(bpf->maps.events, life->n_cpus * COMM_RAW_EVENTS_MAX);
	bpf->rodata->counting = config->counters && config->counters->wanted;
	bpf->rodata->n_events = config->counters ? config->counters->n : 0;
	bpf->rodata->follow = comm_target_follows(config->target);
	bpf->rodata->own_tgid = (uint32_t)getpid();
	bpf->rodata->all_tasks = comm_target_kind(config->target) == COMM_TARGET_ALL;
	bpf->rodata->by_cgroup = comm_target_kind(config->target) == COMM_TARGET_CGROUP;
	bpf->rodata->cgroup_level = comm_target_cgroup_level(config->target);
	bpf->data->ctl.cgroup_id = comm_target_cgroup_id(config->target);
	bpf_program__set_autoload(bpf->progs.sample, false);
	bpf_program__set_autoload(bpf->progs.ticked, false);
	bpf_program__set_autoload(bpf->progs.find_tick, false);
	bpf_program__set_autoload(bpf->progs.touched_by_user, false);
	bpf_program__set_autoload(bpf->progs.touched_by_kernel, false);
	bpf_program__set_autoload(bpf->progs.mapped, life->sees_maps);
	bpf_program__set_autoload(bpf->progs.freed,
				  comm_target_kind(config->target) == COMM_TARGET_PIDS);
	/* Of what another source samples these programs know nothing. */
	bpf->data->ctl.tell_all = !config->with_samples;
	bpf_program__set_autoload(bpf->progs.switched, config->switches);
	if (config->with_samples)
		config->with_samples(config->ctx, bpf);
	rc = capture_bpf__load(bpf);
	if (rc) {
		capture_bpf__destroy(bpf);
		return rc;
	}
	life->bpf = bpf;
	return 0;
}

static int add_targets(struct comm_bpf_life *life)
{
	const uint32_t *pid;
	size_t n, i;
	int rc;

	if (comm_target_kind(life->config.target) != COMM_TARGET_PIDS)
		return 0;
	n = comm_target_pids(life->config.target, &pid);
	for (i = 0; i < n; i++) {
		uint8_t target = COMM_RAW_TARGET_KNOWN;

		rc = bpf_map_update_elem(bpf_map__fd(life->bpf->maps.targets), &pid[i], &target,
					 BPF_NOEXIST);
		if (rc && rc != -EEXIST)
			return rc;
	}
	return 0;
}

/*
 * A process that ended before it was added left no end to come: its number, given again, would be a
 * stranger's among the targets.
 */
static void drop_ended(struct comm_bpf_life *life)
{
	const uint32_t *pid;
	size_t n = 0;
	char path[32];

	if (comm_target_kind(life->config.target) == COMM_TARGET_PIDS)
		n = comm_target_pids(life->config.target, &pid);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%u", pid[i]);
		if (access(path, F_OK) && errno == ENOENT)
			bpf_map_delete_elem(bpf_map__fd(life->bpf->maps.targets), &pid[i]);
	}
}

/*
 * Finds the processes whose fork was left out and that still live: from now on their CPU
 * time is known while they run, too.
 */
static void list_targets(struct comm_bpf_life *life)
{
	int fd = bpf_map__fd(life->bpf->maps.targets);
	uint32_t tgid = 0, next;

	for (bool first = true; !bpf_map_get_next_key(fd, first ? NULL : &tgid, &next);
	     first = false) {
		uint8_t target;

		tgid = next;
		if (bpf_map_lookup_elem(fd, &tgid, &target) || target)
			continue;
		target = COMM_RAW_TARGET_KNOWN;
		if (!bpf_map_update_elem(fd, &tgid, &target, BPF_EXIST))
			comm_target_adopt(life->config.target, tgid);
	}
}

static void look_for_strangers(struct comm_bpf_life *life)
{
	uint64_t now_ns = comm_clock_now_ns(), left_out = 0;

	if (comm_target_kind(life->config.target) != COMM_TARGET_PIDS ||
	    now_ns - life->listed_ns < LIST_NS + LIST_SHARE * life->list_took_ns)
		return;
	for (unsigned int i = 0; i < life->n_cpus; i++)
		left_out += life->cpu[i].life_left_out;
	if (left_out == life->left_out)
		return;
	life->left_out = left_out;
	list_targets(life);
	life->listed_ns = comm_clock_now_ns();
	life->list_took_ns = life->listed_ns - now_ns;
}

static int on_switch(void *ctx, void *data, size_t size)
{
	const struct comm_raw_sched *raw = data;
	struct comm_bpf_life *life = ctx;
	struct comm_event event = {0};

	if (size < sizeof(*raw)) {
		life->malformed++;
		return 0;
	}
	event.kind = COMM_EV_SWITCH;
	event.time_ns = raw->time_ns;
	event.cpu = raw->cpu;
	event.tgid = raw->tgid;
	event.tid = raw->tid;
	event.next_tid = raw->other_tid;
	event.sched.prev_tgid = raw->tgid;
	event.sched.next_tgid = raw->other_tgid;
	life->push(life->push_ctx, &event);
	life->pushed++;
	return 0;
}

static int on_life(void *ctx, void *data, size_t size)
{
	static const uint16_t kinds[] = {
		/* No event: the engine has had the process's EXIT. */
		[COMM_RAW_ENDED] = UINT16_MAX,	    [COMM_RAW_FORK] = COMM_EV_FORK,
		[COMM_RAW_EXEC] = COMM_EV_EXEC,	    [COMM_RAW_EXIT] = COMM_EV_EXIT,
		[COMM_RAW_RENAME] = COMM_EV_RENAME, [COMM_RAW_MMAP] = COMM_EV_MMAP,
	};
	const struct comm_raw_life *raw = data;
	struct comm_bpf_life *life = ctx;
	struct comm_event event = {0};

	if (size < sizeof(*raw) || raw->kind >= sizeof(kinds) / sizeof(kinds[0]) ||
	    !kinds[raw->kind]) {
		life->malformed++;
		return 0;
	}
	if (raw->kind == COMM_RAW_ENDED) {
		comm_target_ended(life->config.target, raw->tgid, raw->cpu_ns);
		return 0;
	}
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
	} else if (event.kind == COMM_EV_RENAME || event.kind == COMM_EV_EXIT) {
		memcpy(event.name, raw->name, sizeof(event.name));
		event.name[sizeof(event.name) - 1] = '\0';
	}
	comm_target_event(life->config.target, &event);
	life->push(life->push_ctx, &event);
	life->pushed++;
	return 0;
}

static int map_cpus(struct comm_bpf_life *life)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	life->cpu_bytes = (life->n_cpus * sizeof(*life->cpu) + page - 1) & ~(page - 1);
	p = mmap(NULL, life->cpu_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		 bpf_map__fd(life->bpf->maps.cpus), 0);
	if (p == MAP_FAILED)
		return -errno;
	life->cpu = p;
	return 0;
}

int comm_bpf_life_add_rings(struct comm_bpf_life *life, int array_fd,
			    int (*fn)(void *ctx, void *data, size_t size), void *ctx)
{
	return comm_bpf_rings_make(array_fd, &life->plan, &life->rings, fn, ctx);
}

static int set_up(struct comm_bpf_life *life)
{
	int rc = map_cpus(life);

	if (rc)
		return rc;
	life->rings = ring_buffer__new(bpf_map__fd(life->bpf->maps.life), on_life, life, NULL);
	if (!life->rings)
		return -errno;
	if (life->config.switches)
		rc = comm_bpf_life_add_rings(life, bpf_map__fd(life->bpf->maps.switches), on_switch,
					     life);
	return rc ? rc : add_targets(life);
}

/* What libbpf says is right but for a refusal, which it takes for one of locked memory. */
static void fail_load(int rc, char **err)
{
	bool refused = rc == -EPERM || rc == -EACCES || rc == -ENOSYS;

	if (libbpf_lacked_descriptors) {
		comm_source_fail(err, -EMFILE,
				 "too few file descriptors are left (raise 'ulimit -n')");
		return;
	}
	comm_source_fail(
		err, rc, "the kernel does not load the BPF programs: %s (%s)", strerror(-rc),
		refused ? "a seccomp filter, a user namespace, or kernel lockdown?" : libbpf_said);
}

static int set_up_counts(struct comm_bpf_life *life, char **err)
{
	const struct comm_counter_list *counters = life->config.counters;

	if (!counters || !counters->wanted)
		return 0;
	return comm_bpf_counts_create(life->bpf, life->n_cpus, counters, &life->counts, err);
}

int comm_bpf_life_open(const struct comm_bpf_life_config *config, struct comm_bpf_life **ret,
		       char **err)
{
	int rc, n_cpus = libbpf_num_possible_cpus();
	struct comm_bpf_life *life;

	if (n_cpus < 1 || n_cpus > CPUS_MAX)
		return comm_source_fail(err, -ENODEV, "cannot tell how many CPUs there are");
	life = calloc(1, sizeof(*life));
	if (!life)
		return -ENOMEM;
	life->config = *config;
	life->n_cpus = (unsigned int)n_cpus;
	comm_bpf_rings_plan((unsigned int)sysconf(_SC_NPROCESSORS_ONLN), &life->plan);
	life->switches = config->switches;
	libbpf_set_print(libbpf_print);
	rc = comm_bpf_kernel_hooks_maps();
	life->sees_maps = !rc;
	if (rc)
		snprintf(life->notes, sizeof(life->notes),
			 "new mappings are noticed late: the kernel lets no BPF program hook into "
			 "perf_event_mmap() (%s)",
			 strerror(-rc));
	rc = load(life);
	comm_bpf_kernel_types_put();
	if (rc) {
		fail_load(rc, err);
		goto fail;
	}
	rc = set_up(life);
	if (rc) {
		comm_source_fail(err, rc, "cannot set up the rings: %s", strerror(-rc));
		goto fail;
	}
	rc = set_up_counts(life, err);
	if (rc)
		goto fail;
	*ret = life;
	return 0;
fail:
	comm_bpf_life_close(life);
	return rc;
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

void comm_bpf_life_close(struct comm_bpf_life *life)
{
	if (!life)
		return;
	comm_bpf_counts_destroy(life->counts);
	ring_buffer__free(life->rings);
	if (life->cpu)
		munmap((void *)life->cpu, life->cpu_bytes);
	detach(&life->switch_link);
	capture_bpf__destroy(life->bpf);
	free(life);
}

void comm_bpf_life_info(const struct comm_bpf_life *life, struct comm_bpf_life_info *ret)
{
	*ret = (struct comm_bpf_life_info){
		.sees_switches = life->config.switches,
		.sees_maps = life->sees_maps,
		.n_cpus = life->n_cpus,
		.notes = life->notes,
	};
}

struct capture_bpf *comm_bpf_life_object(struct comm_bpf_life *life)
{
	return life->bpf;
}

volatile struct comm_raw_cpu *comm_bpf_life_cpus(struct comm_bpf_life *life)
{
	return life->cpu;
}

static int attach_names(struct capture_bpf *bpf, char **err)
{
	return attach(bpf->progs.renamed, &bpf->links.renamed, "task renaming", err);
}

static int attach_life(struct capture_bpf *bpf, char **err)
{
	int rc = attach(bpf->progs.forked, &bpf->links.forked, "fork", err);

	if (!rc)
		rc = attach(bpf->progs.execed, &bpf->links.execed, "exec", err);
	if (!rc)
		rc = attach(bpf->progs.exited, &bpf->links.exited, "exit", err);
	if (!rc)
		rc = attach_names(bpf, err);
	if (!rc)
		rc = attach(bpf->progs.freed, &bpf->links.freed, "the end of processes", err);
	return rc;
}

/* Without this hook a run goes on, as it does on kernels that permit none. */
static void attach_maps(struct comm_bpf_life *life)
{
	char *why = NULL;

	life->unhooked = attach(life->bpf->progs.mapped, &life->bpf->links.mapped,
				"perf_event_mmap", &why) != 0;
	free(why);
}

/* Without these a run knows less of what is written once. */
static void attach_touches(struct capture_bpf *bpf)
{
	char *why = NULL;

	if (attach(bpf->progs.touched_by_user, &bpf->links.touched_by_user, "page faults", &why) ||
	    attach(bpf->progs.touched_by_kernel, &bpf->links.touched_by_kernel, "page faults",
		   &why))
		free(why);
}

static int attach_switches(struct comm_bpf_life *life, char **err)
{
	int rc;

	if (life->counts)
		comm_bpf_counts_attaching(life->counts);
	rc = attach(life->bpf->progs.switched, &life->switch_link, "sched_switch", err);
	if (!rc && life->counts)
		comm_bpf_counts_attached(life->counts);
	return rc;
}

static void detach_switches(struct comm_bpf_life *life)
{
	if (life->counts)
		comm_bpf_counts_detach(life->counts);
	detach(&life->switch_link);
}

int comm_bpf_life_start(struct comm_bpf_life *life, char **err)
{
	struct capture_bpf *bpf = life->bpf;
	const uint32_t *pid;
	int rc;

	if (comm_target_kind(life->config.target) == COMM_TARGET_PIDS &&
	    comm_target_pids(life->config.target, &pid) == 1)
		bpf->data->ctl.only_tgid = pid[0];
	rc = attach_life(bpf, err);
	if (rc)
		return rc;
	attach_maps(life);
	attach_touches(bpf);
	if (life->bpf->links.freed)
		comm_target_expect_ends(life->config.target);
	/* From here on no fork is missed; children forked before are found now. */
	comm_target_scan(life->config.target);
	if (comm_target_kind(life->config.target) == COMM_TARGET_PIDS &&
	    comm_target_pids(life->config.target, &pid) != 1)
		bpf->data->ctl.only_tgid = 0;
	rc = add_targets(life);
	if (rc)
		return comm_source_fail(err, rc, "too many target processes: %s", strerror(-rc));
	drop_ended(life);
	if (life->counts)
		rc = comm_bpf_counts_start(life->counts, err);
	if (!rc && life->switches)
		rc = attach_switches(life, err);
	life->started = !rc;
	return rc;
}

void comm_bpf_life_stop(struct comm_bpf_life *life)
{
	if (life->switch_link)
		detach_switches(life);
	capture_bpf__detach(life->bpf);
	life->started = false;
}

/* CPU time of processes that came and went without a record. */
static void count_ended(struct comm_bpf_life *life)
{
	uint64_t ended_ns = 0;

	for (unsigned int i = 0; i < life->n_cpus; i++)
		ended_ns += life->cpu[i].ended_ns;
	comm_target_add_cpu(life->config.target, ended_ns - life->ended_ns);
	life->ended_ns = ended_ns;
}

int comm_bpf_life_wake(struct comm_bpf_life *life, bool wanted)
{
	/* A program that looked before is met by the drain, or its CPU's next record wakes. */
	__atomic_store_n(&life->bpf->data->ctl.wake, wanted, __ATOMIC_SEQ_CST);
	return ring_buffer__epoll_fd(life->rings);
}

/* As a thread and as a process, since an id does not say which: at worst an end is told for nothing. */
static int note_untold(void *ctx, uint32_t id)
{
	const struct comm_bpf_life *life = ctx;
	const struct comm_raw_told told = {.thread = 1, .process = 1};
	int rc = bpf_map_update_elem(bpf_map__fd(life->bpf->maps.told), &id, &told, BPF_NOEXIST);

	return rc == -EEXIST ? 0 : rc;
}

int comm_bpf_life_drain(struct comm_bpf_life *life, comm_event_fn *push, void *ctx)
{
	int rc;

	life->push = push;
	life->push_ctx = ctx;
	life->pushed = 0;
	if (life->config.with_samples)
		comm_bpf_untold_note(&life->bpf->data->ctl, note_untold, life);
	life->bpf->data->ctl.drains++;
	life->bpf->data->ctl.cgroup_id = comm_target_cgroup_id(life->config.target);
	rc = ring_buffer__consume(life->rings);
	if (rc < 0)
		return rc;
	if (life->config.switches && life->started && !life->switch_link && !life->in_gap)
		life->gaps++;
	life->in_gap = !life->switch_link;
	look_for_strangers(life);
	count_ended(life);
	return life->pushed;
}

void comm_bpf_life_set_touches(struct comm_bpf_life *life, bool on)
{
	uint64_t now_ns = comm_clock_now_ns();

	if (!life->started || on == !life->touches_off_ns ||
	    (on && now_ns - life->touches_off_ns < TOUCHES_OFF_NS))
		return;
	life->touches_off_ns = on ? 0 : now_ns;
	if (on) {
		attach_touches(life->bpf);
		return;
	}
	life->touch_gaps++;
	detach(&life->bpf->links.touched_by_user);
	detach(&life->bpf->links.touched_by_kernel);
}

static void set_names(struct comm_bpf_life *life, bool on)
{
	struct bpf_link **link = &life->bpf->links.renamed;
	char *why = NULL;

	if (on == !!*link)
		return;
	if (on) {
		attach_names(life->bpf, &why);
		free(why);
		return;
	}
	life->name_gaps++;
	detach(link);
}

void comm_bpf_life_set_hooks(struct comm_bpf_life *life, uint32_t off)
{
	if (!life->started)
		return;
	set_names(life, !(off & 1U << COMM_HOOK_NAMES));
}

void comm_bpf_life_set_strangers(struct comm_bpf_life *life, uint32_t per_s)
{
	life->bpf->data->ctl.strangers_per_s = per_s;
}

int comm_bpf_life_set_switches(struct comm_bpf_life *life, bool on)
{
	char *err = NULL;
	int rc = 0;

	if (!life->config.switches)
		return 0;
	if (life->started && on && !life->switches)
		rc = attach_switches(life, &err);
	else if (life->started && !on && life->switch_link)
		detach_switches(life);
	free(err);
	life->switches = on;
	return rc;
}

int comm_bpf_life_count(struct comm_bpf_life *life, uint64_t time_ns, comm_event_fn *push,
			void *ctx)
{
	return life->counts ? comm_bpf_counts_read(life->counts, time_ns, push, ctx) : 0;
}

void comm_bpf_life_stats(const struct comm_bpf_life *life, struct comm_sampler_stats *ret)
{
	for (unsigned int i = 0; i < life->n_cpus; i++) {
		const volatile struct comm_raw_cpu *c = &life->cpu[i];

		ret->switches += c->switches;
		ret->switches_out += c->switches_out;
		ret->switch_ns += c->sched_ns;
		ret->loss[COMM_LOSS_SCHED] += c->sched_drops;
		ret->life_ns += c->life_ns;
		ret->hook_ns[COMM_HOOK_NAMES] += c->name_ns;
		ret->loss[COMM_LOSS_LIFE] += c->life_drops;
		ret->loss[COMM_LOSS_STRANGERS] += c->life_left_out;
		ret->loss[COMM_LOSS_TARGETS] += c->targets_full;
		ret->loss[COMM_LOSS_COUNTS] += c->count_drops;
	}
	ret->loss[COMM_LOSS_LIFE] += life->unhooked;
	ret->loss[COMM_LOSS_BUDGET] += life->gaps;
	ret->loss[COMM_LOSS_TOUCH] += life->touch_gaps;
	ret->loss[COMM_LOSS_NAMES] += life->name_gaps;
	ret->loss[COMM_LOSS_MALFORMED] += life->malformed;
}

void comm_bpf_life_seen(const struct comm_bpf_life *life, uint64_t *ret_ns)
{
	for (unsigned int i = 0; i < life->n_cpus; i++)
		ret_ns[i] = life->cpu[i].seen_ns;
}
