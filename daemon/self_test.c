// SPDX-License-Identifier: GPL-2.0-or-later
#include "self_test.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

enum {
	ENOUGH = 32, /* of loads, and of stores */
	/* Of the samples, at most one in so many may be wrong. */
	WRONG_ONE_IN = 20,
	REGION_BYTES = 4096,
	STEP_BYTES = 64,
	DRAIN_NS = 10 * 1000 * 1000,
	GIVE_UP_CPU_NS = 2000 * 1000 * 1000, /* of the sampled process: a million loads and more */
	GIVE_UP_S = 30,			     /* where it does not get to run */
};

/* Where it reads and writes: the same in both processes. */
struct ground {
	unsigned char read[REGION_BYTES], written[REGION_BYTES];
	volatile int ready;
};

struct look {
	const struct ground *ground;
	uint32_t pid;
	struct comm_self_test *counts;
	uint64_t wrong_addr, wrong_ip; /* of the first */
};

extern const char comm_self_test_load[], comm_self_test_store[];

/* Once: its labels are global.  The jump begins a block, for emulators that interrupt only there. */
static __attribute__((noinline, noclone, noreturn)) void touch(struct ground *ground)
{
	ground->ready = 1;
	__asm__ volatile(".globl comm_self_test_load, comm_self_test_store\n"
			 "xorl %%ecx, %%ecx\n"
			 "comm_self_test_load: movq (%0,%%rcx), %%rax\n"
			 "jmp comm_self_test_store\n"
			 "comm_self_test_store: movq %%rax, (%1,%%rcx)\n"
			 "addl %2, %%ecx\n"
			 "andl %3, %%ecx\n"
			 "jmp comm_self_test_load\n"
			 :
			 : "D"(ground->read), "S"(ground->written), "i"(STEP_BYTES),
			   "i"(REGION_BYTES - 1)
			 : "rax", "rcx", "memory", "cc");
	__builtin_unreachable();
}

static bool is_in(const unsigned char *region, uint64_t addr)
{
	uint64_t at = addr - (uint64_t)(uintptr_t)region;

	return at < REGION_BYTES && at % STEP_BYTES == 0;
}

static void take(void *ctx, const struct comm_event *event)
{
	const struct comm_precise *access = &event->access;
	struct look *look = ctx;
	uint16_t ways;

	if (event->kind != COMM_EV_ACCESS || event->tgid != look->pid)
		return;
	ways = access->flags & (COMM_ACCESS_READ | COMM_ACCESS_WRITE);
	if (access->ip == (uint64_t)(uintptr_t)comm_self_test_load && ways == COMM_ACCESS_READ &&
	    is_in(look->ground->read, access->addr)) {
		look->counts->loads++;
	} else if (access->ip == (uint64_t)(uintptr_t)comm_self_test_store &&
		   ways == COMM_ACCESS_WRITE && is_in(look->ground->written, access->addr)) {
		look->counts->stores++;
	} else if (!look->counts->wrong++) {
		look->wrong_addr = access->addr;
		look->wrong_ip = access->ip;
	}
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	return clock_gettime(clock, &now)
		       ? 0
		       : (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool goes_on(const struct look *look, clockid_t cpu_clock, uint64_t end_cpu_ns,
		    uint64_t end_ns)
{
	const struct comm_self_test *counts = look->counts;

	return (counts->loads < ENOUGH || counts->stores < ENOUGH) && counts->wrong < ENOUGH &&
	       clock_ns(cpu_clock) < end_cpu_ns && clock_ns(CLOCK_MONOTONIC) < end_ns;
}

static int sample(const struct comm_sampler *sampler, void *handle, struct look *look, char **why)
{
	const struct timespec pause = {.tv_nsec = DRAIN_NS};
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + GIVE_UP_S * 1000000000ULL, end_cpu_ns = 0;
	clockid_t cpu_clock;
	int err = -clock_getcpuclockid((pid_t)look->pid, &cpu_clock);

	if (!err)
		err = sampler->start(handle, why);
	/* It has run for as long as it took to open the source, too. */
	if (!err)
		end_cpu_ns = clock_ns(cpu_clock) + GIVE_UP_CPU_NS;
	while (!err && goes_on(look, cpu_clock, end_cpu_ns, end_ns)) {
		nanosleep(&pause, NULL);
		err = sampler->drain(handle, take, look);
		err = err < 0 ? err : 0;
	}
	sampler->stop(handle);
	return err;
}

static int sample_process(const struct comm_source *source, const char *arg, struct look *look,
			  char **why)
{
	struct comm_sampler_config config = comm_sampler_defaults;
	void *handle = NULL;
	int err = comm_target_create(COMM_TARGET_PIDS, false, &config.target);

	if (err)
		return err;
	config.arg = arg;
	config.switches = false;
	err = comm_target_add_pid(config.target, look->pid, why);
	if (!err)
		err = source->sampler->open(&config, &handle, why);
	if (!err)
		err = sample(source->sampler, handle, look, why);
	source->sampler->close(handle);
	comm_target_destroy(config.target);
	return err;
}

static int judge(const struct look *look, char **why)
{
	const struct comm_self_test *counts = look->counts;
	unsigned int n = counts->loads + counts->stores + counts->wrong;

	if (counts->wrong * WRONG_ONE_IN > n)
		return comm_source_fail(why, -EBADMSG,
					"of %u samples of a process that reads and writes at known "
					"addresses %u were wrong (the first: address %#" PRIx64
					", instruction %#" PRIx64 ")",
					n, counts->wrong, look->wrong_addr, look->wrong_ip);
	if (counts->loads < ENOUGH || counts->stores < ENOUGH)
		return comm_source_fail(
			why, -ENODATA,
			"of a process that reads and writes at known addresses only "
			"%u loads and %u stores were sampled",
			counts->loads, counts->stores);
	return 0;
}

int comm_self_test(const struct comm_source *source, const char *arg, struct comm_self_test *ret,
		   char **why)
{
	const int anonymous = MAP_SHARED | MAP_ANONYMOUS;
	struct look look = {.counts = ret};
	struct ground *ground;
	pid_t pid;
	int err;

	*ret = (struct comm_self_test){0};
	/* cppcheck-suppress invalidFunctionArg ; -1 is of no file */
	ground = mmap(NULL, sizeof(*ground), PROT_READ | PROT_WRITE, anonymous, -1, 0);
	look.ground = ground;
	if (ground == MAP_FAILED)
		return -errno;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		touch(ground);
	}
	if (pid < 0) {
		err = comm_source_fail(why, -errno, "cannot make a process to sample: %s",
				       strerror(errno));
		goto out;
	}
	/* One that was killed never gets there; nothing is sampled of it then. */
	for (int i = 0; !ground->ready && i < GIVE_UP_S * 1000; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	look.pid = (uint32_t)pid;
	err = sample_process(source, arg, &look, why);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!err)
		err = judge(&look, why);
out:
	munmap(ground, sizeof(*ground));
	return err;
}
