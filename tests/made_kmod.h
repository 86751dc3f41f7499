/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel module's device as a memory file, whose ioctls are noted, and fakes of the functions that
 * its source calls: for the one test that takes the source into itself, after its headers.
 */
#ifndef MADE_KMOD_H
#define MADE_KMOD_H

enum { CPUS = 2, PIDS_MAX = CP_MAX_TARGETS + 5 };

static int fake_open_errno, fake_fd, last_fd;
static uint32_t fake_abi, fake_bytes;
static uint32_t pids[PIDS_MAX], n_pids;
static struct cp_target told[2 * PIDS_MAX];
static int n_told, capacity; /* of the module, for how many that have ended */
static struct cp_rate rates[16];
static int n_rates;
static struct cp_pointees told_pointees;
static int n_pointees, pointees_errno, target_errno;
static struct cp_source asked;
static struct cp_marks marked;
static struct cp_watch watched;
static struct cp_budget budgeted;
static struct cp_stats fake_stats;
static bool follows;
static uint64_t cgroup_id;

static int fake_open(void)
{
	if (fake_open_errno) {
		errno = fake_open_errno;
		return -1;
	}
	fake_fd = memfd_create("commprof", 0);
	assert_true(fake_fd >= 0);
	assert_int_equal(ftruncate(fake_fd, 1LL << 40), 0);
	last_fd = dup(fake_fd);
	return fake_fd;
}

static int fake_ioctl(unsigned long request, void *argument)
{
	struct cp_info *info = argument;

	switch (request) {
	case CP_IOC_INFO:
		info->abi = fake_abi;
		info->cpus = CPUS;
		info->page_bytes = 4096;
		break;
	case CP_IOC_RINGS:
		fake_bytes = ((struct cp_rings *)argument)->ring_bytes;
		break;
	case CP_IOC_TARGET:
		if (target_errno) {
			errno = target_errno;
			return -1;
		}
		if (n_told >= CP_MAX_TARGETS + capacity &&
		    ((struct cp_target *)argument)->kind != CP_TARGET_ALL) {
			errno = ENOSPC;
			return -1;
		}
		told[n_told++] = *(struct cp_target *)argument;
		break;
	case CP_IOC_RATE:
		rates[n_rates++ % 16] = *(struct cp_rate *)argument;
		break;
	case CP_IOC_POINTEES:
		n_pointees++;
		if (pointees_errno) {
			errno = pointees_errno;
			return -1;
		}
		told_pointees = *(struct cp_pointees *)argument;
		break;
	case CP_IOC_SOURCE:
		((struct cp_source *)argument)->id = 0;
		asked = *(struct cp_source *)argument;
		break;
	case CP_IOC_MARKS:
		marked = *(struct cp_marks *)argument;
		break;
	case CP_IOC_WATCH:
		watched = *(struct cp_watch *)argument;
		break;
	case CP_IOC_BUDGET:
		budgeted = *(struct cp_budget *)argument;
		break;
	case CP_IOC_STATS:
		*(struct cp_stats *)argument = fake_stats;
		break;
	default:
		break;
	}
	return 0;
}

#define open(path, flags) ((void)(path), (void)(flags), fake_open())
#define ioctl(fd, request, argument) ((void)(fd), fake_ioctl(request, argument))
#include "../kmod/user/reader.c"
#undef open
#undef ioctl

/* Fakes of the functions that this source calls. */
int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vasprintf(err, fmt, args) < 0)
		*err = NULL;
	va_end(args);
	return error;
}

enum comm_target_kind comm_target_kind(const struct comm_target *target)
{
	(void)target;
	return cgroup_id ? COMM_TARGET_CGROUP : COMM_TARGET_PIDS;
}

bool comm_target_follows(const struct comm_target *target)
{
	(void)target;
	return follows;
}

bool comm_target_has(const struct comm_target *target, uint32_t tgid)
{
	(void)target;
	for (uint32_t i = 0; i < n_pids; i++)
		if (pids[i] == tgid)
			return true;
	return false;
}

size_t comm_target_pids(const struct comm_target *target, const uint32_t **ret)
{
	(void)target;
	*ret = pids;
	return n_pids;
}

int comm_target_cgroup_fd(const struct comm_target *target)
{
	(void)target;
	return 1000 + (int)cgroup_id;
}

uint64_t comm_target_cgroup_id(const struct comm_target *target)
{
	(void)target;
	return cgroup_id;
}

bool comm_target_pids_are_global(void)
{
	return true;
}

int comm_target_scan(struct comm_target *target)
{
	(void)target;
	return 0;
}

int comm_trigger_pick(enum comm_want_trigger want, struct comm_trigger_event *ret, char **err)
{
	(void)want;
	(void)err;
	*ret = (struct comm_trigger_event){"cpu-clock", COMM_TRIGGER_TIME, 1, 0, 1000003};
	return 0;
}

bool comm_trigger_worth_setting(uint64_t now, uint64_t then, bool parked)
{
	(void)parked;
	return now != then;
}

static enum comm_pmu_want wanted_events;
static bool is_intel, filters;

int comm_pmu_events(const char *sysfs, enum comm_pmu_want want,
		    struct comm_pmu_event ret[COMM_PMU_EVENTS], char **err)
{
	(void)sysfs;
	(void)err;
	wanted_events = want;
	if (is_intel) {
		ret[0] = (struct comm_pmu_event){
			.name = "cpu/loads/", .type = 4, .ways = COMM_ACCESS_READ};
		ret[1] = (struct comm_pmu_event){
			.name = "cpu/stores/", .type = 4, .ways = COMM_ACCESS_WRITE};
		return 2;
	}
	ret[0] = (struct comm_pmu_event){
		.name = "ibs_op//", .type = 11, .ibs = true, .user_filter = filters};
	return 1;
}

int comm_perf_precise_probe(enum comm_pmu_want want, char **why)
{
	(void)want;
	(void)why;
	return -ENODEV;
}

/* BPF does not work here, so none of its other functions is called. */
int comm_bpf_life_probe(char **why)
{
	return comm_source_fail(why, -EPERM, "not permitted");
}

int comm_bpf_life_open(const struct comm_bpf_life_config *config, struct comm_bpf_life **ret,
		       char **err)
{
	(void)config;
	(void)ret;
	(void)err;
	return -EPERM;
}

void comm_bpf_life_close(struct comm_bpf_life *life)
{
	assert_null(life);
}

void comm_bpf_life_info(const struct comm_bpf_life *life, struct comm_bpf_life_info *ret)
{
	(void)life;
	(void)ret;
	fail();
}

int comm_bpf_life_start(struct comm_bpf_life *life, char **err)
{
	(void)life;
	(void)err;
	fail();
	return -1;
}

void comm_bpf_life_stop(struct comm_bpf_life *life)
{
	(void)life;
	fail();
}

int comm_bpf_life_drain(struct comm_bpf_life *life, comm_event_fn *push, void *ctx)
{
	(void)life;
	(void)push;
	(void)ctx;
	fail();
	return -1;
}

int comm_bpf_life_count(struct comm_bpf_life *life, uint64_t time_ns, comm_event_fn *push,
			void *ctx)
{
	(void)life;
	(void)time_ns;
	(void)push;
	(void)ctx;
	fail();
	return -1;
}

void comm_bpf_life_set_hooks(struct comm_bpf_life *life, uint32_t off)
{
	(void)life;
	(void)off;
	fail();
}

int comm_bpf_life_set_switches(struct comm_bpf_life *life, bool on)
{
	(void)life;
	(void)on;
	fail();
	return -1;
}

void comm_bpf_life_stats(const struct comm_bpf_life *life, struct comm_sampler_stats *ret)
{
	(void)life;
	(void)ret;
	fail();
}

void comm_bpf_life_seen(const struct comm_bpf_life *life, uint64_t *ret_ns)
{
	(void)life;
	(void)ret_ns;
	fail();
}

#endif
