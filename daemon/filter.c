// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No libseccomp: the list is short, of one architecture, and asks of an argument's bits no more
 * than whether they are there.
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum test { ANY, NONE_OF_BITS, IS, IS_NOT };

struct rule {
	uint16_t nr;
	uint8_t test, arg; /* arg: its number; only its lower half is looked at */
	uint32_t value;
};

/* What the daemon does on descriptors that it has: bpf()'s commands that make nothing. */
#define BPF_COMMAND(name)                            \
	{                                            \
		SYS_bpf, IS, 0, (uint32_t)BPF_##name \
	}
#define CALL(name)                    \
	{                             \
		SYS_##name, ANY, 0, 0 \
	}

enum { OWN_PID, SPECIAL_BITS = S_ISUID | S_ISGID | S_ISVTX };

/*
 * Several rules of one call: ones with IS let it pass if any does; with the other tests all
 * must.
 */
static struct rule rules[] = {
	/* The rings, samples, files of /proc and the store: */
	CALL(read),
	CALL(pread64),
	CALL(readv),
	CALL(write),
	CALL(pwrite64),
	CALL(writev),
	CALL(close),
	CALL(lseek),
	CALL(fstat),
	CALL(stat),
	CALL(lstat),
	CALL(newfstatat),
	CALL(statx),
	CALL(statfs),
	CALL(fstatfs),
	CALL(access),
	CALL(faccessat),
	CALL(faccessat2),
	CALL(readlink),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(getcwd),
	CALL(fcntl),
	CALL(flock),
	CALL(dup),
	CALL(fsync),
	CALL(fdatasync),
	CALL(ftruncate),
	CALL(fallocate),
	CALL(unlink),
	CALL(unlinkat),
	/* No program of root's that any user may run. */
	{SYS_open, NONE_OF_BITS, 2, SPECIAL_BITS},
	{SYS_openat, NONE_OF_BITS, 3, SPECIAL_BITS},
	CALL(process_vm_readv),
	/* Memory, none of it executable: */
	{SYS_mmap, NONE_OF_BITS, 2, PROT_EXEC},
	{SYS_mprotect, NONE_OF_BITS, 2, PROT_EXEC},
	CALL(munmap),
	CALL(mremap),
	CALL(madvise),
	CALL(msync),
	CALL(brk),
	/* The kernel's halves of the sources.  No typing into a terminal. */
	{SYS_ioctl, IS_NOT, 1, TIOCSTI},
	{SYS_ioctl, IS_NOT, 1, TIOCLINUX},
	CALL(perf_event_open),
	BPF_COMMAND(MAP_LOOKUP_ELEM),
	BPF_COMMAND(MAP_UPDATE_ELEM),
	BPF_COMMAND(MAP_DELETE_ELEM),
	BPF_COMMAND(MAP_GET_NEXT_KEY),
	BPF_COMMAND(OBJ_GET_INFO_BY_FD),
	BPF_COMMAND(RAW_TRACEPOINT_OPEN),
	BPF_COMMAND(LINK_CREATE),
	BPF_COMMAND(LINK_DETACH),
	/* The host of the children that read files: */
	CALL(memfd_create),
	CALL(sendmsg),
	CALL(sendto),
	CALL(recvmsg),
	CALL(recvfrom),
	CALL(wait4),
	CALL(waitid),
	/* Waiting, clocks, signals to itself, and what asks about itself: */
	CALL(poll),
	CALL(ppoll),
	CALL(select),
	CALL(pselect6),
	CALL(epoll_wait),
	CALL(epoll_pwait),
	CALL(epoll_ctl),
	CALL(nanosleep),
	CALL(clock_nanosleep),
	CALL(clock_gettime),
	CALL(clock_getres),
	CALL(gettimeofday),
	CALL(time),
	CALL(timer_settime),
	CALL(timer_gettime),
	CALL(restart_syscall),
	CALL(futex),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(getcpu),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(sigaltstack),
	{SYS_tgkill, IS, 0, OWN_PID},
	CALL(getpid),
	CALL(gettid),
	CALL(getppid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(capget),
	CALL(getrusage),
	CALL(getrlimit),
	{SYS_prlimit64, IS, 0, 0},
	CALL(getrandom),
	CALL(sysinfo),
	CALL(uname),
	CALL(exit),
	CALL(exit_group),
};

enum { RULES = sizeof(rules) / sizeof(rules[0]), INSTRUCTIONS = 8 + 6 * RULES };

bool comm_filter_knows(long nr)
{
	for (size_t i = 0; i < RULES; i++)
		if (rules[i].nr == nr)
			return true;
	return false;
}

static struct sock_filter load(size_t offset)
{
	return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

static struct sock_filter answer(uint32_t action)
{
	return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
}

/* Goes on with the next instruction if so, else skips as many. */
static struct sock_filter unless(uint16_t what, uint32_t value, uint8_t skip)
{
	return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_K | what, value, 0, skip);
}

/*
 * The instructions of one rule.  Each begins with the call's number loaded anew, and either
 * answers or goes on behind itself.
 */
static size_t write_rule(const struct rule *rule, struct sock_filter *at)
{
	size_t n = 0;

	at[n++] = load(offsetof(struct seccomp_data, nr));
	if (rule->test == ANY) {
		at[n++] = unless(BPF_JEQ, rule->nr, 1);
		at[n++] = answer(SECCOMP_RET_ALLOW);
		return n;
	}
	at[n++] = unless(BPF_JEQ, rule->nr, 3);
	at[n++] = load(offsetof(struct seccomp_data, args) + 8 * rule->arg);
	at[n++] = unless(rule->test == NONE_OF_BITS ? BPF_JSET : BPF_JEQ, rule->value, 1);
	at[n++] = answer(rule->test == IS ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
	return n;
}

/* A call of whose last rule none refused passes. */
static bool is_last_refusal(size_t i)
{
	if (rules[i].test != NONE_OF_BITS && rules[i].test != IS_NOT)
		return false;
	return i + 1 == RULES || rules[i + 1].nr != rules[i].nr;
}

int comm_filter_install(void)
{
	static struct sock_filter code[INSTRUCTIONS];
	struct sock_fprog program = {.filter = code};
	size_t n = 0;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		return 0; /* a kernel without CONFIG_SECCOMP */
	code[n++] = load(offsetof(struct seccomp_data, arch));
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = answer(SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < RULES; i++) {
		if (rules[i].nr == SYS_tgkill)
			rules[i].value = (uint32_t)getpid();
		n += write_rule(&rules[i], code + n);
		if (!is_last_refusal(i))
			continue;
		n += write_rule(&(struct rule){.nr = rules[i].nr, .test = ANY}, code + n);
	}
	code[n++] = answer(SECCOMP_RET_ERRNO | EPERM);
	program.len = (unsigned short)n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
}
