// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "commprof.h"

/* What the daemon does on descriptors that it has: bpf()'s commands that make nothing. */
#define BPF_COMMAND(name) COMM_SECCOMP_IS(bpf, 0, BPF_##name)
#define REQUEST(request) COMM_SECCOMP_IS(ioctl, 1, (uint32_t)(request))
#define DESCRIPTOR(command) COMM_SECCOMP_IS(fcntl, 1, command)

enum { SPECIAL_BITS = S_ISUID | S_ISGID | S_ISVTX };

static const struct comm_seccomp_rule rules[] = {
	/* The rings, samples, files of /proc and the store: */
	COMM_SECCOMP_CALL(read),
	COMM_SECCOMP_CALL(pread64),
	COMM_SECCOMP_CALL(readv),
	COMM_SECCOMP_CALL(write),
	COMM_SECCOMP_CALL(pwrite64),
	COMM_SECCOMP_CALL(writev),
	COMM_SECCOMP_CALL(close),
	COMM_SECCOMP_CALL(lseek),
	COMM_SECCOMP_CALL(fstat),
	COMM_SECCOMP_CALL(stat),
	COMM_SECCOMP_CALL(lstat),
	COMM_SECCOMP_CALL(newfstatat),
	COMM_SECCOMP_CALL(statx),
	COMM_SECCOMP_CALL(statfs),
	COMM_SECCOMP_CALL(fstatfs),
	COMM_SECCOMP_CALL(access),
	COMM_SECCOMP_CALL(faccessat),
	COMM_SECCOMP_CALL(faccessat2),
	COMM_SECCOMP_CALL(readlink),
	COMM_SECCOMP_CALL(readlinkat),
	COMM_SECCOMP_CALL(getdents64),
	COMM_SECCOMP_CALL(getcwd),
	/*
	 * Descriptors and locks.  Not F_SETOWN, F_SETSIG and O_ASYNC, by which a socket sends any
	 * process of the same user any signal; nor the requests of ioctl() that do the same.
	 */
	DESCRIPTOR(F_GETFD),
	DESCRIPTOR(F_SETFD),
	DESCRIPTOR(F_GETFL),
	DESCRIPTOR(F_DUPFD_CLOEXEC),
	DESCRIPTOR(F_GETLK),
	DESCRIPTOR(F_SETLK),
	DESCRIPTOR(F_OFD_GETLK),
	DESCRIPTOR(F_OFD_SETLK),
	COMM_SECCOMP_CALL(flock),
	COMM_SECCOMP_CALL(dup),
	COMM_SECCOMP_CALL(fsync),
	COMM_SECCOMP_CALL(fdatasync),
	COMM_SECCOMP_CALL(ftruncate),
	COMM_SECCOMP_CALL(fallocate),
	/* No program of root's that any user may run. */
	COMM_SECCOMP_NONE_OF(open, 2, SPECIAL_BITS),
	COMM_SECCOMP_NONE_OF(openat, 3, SPECIAL_BITS),
	/* Memory, none of it executable: */
	COMM_SECCOMP_NONE_OF(mmap, 2, PROT_EXEC),
	COMM_SECCOMP_NONE_OF(mprotect, 2, PROT_EXEC),
	COMM_SECCOMP_CALL(munmap),
	COMM_SECCOMP_CALL(mremap),
	COMM_SECCOMP_CALL(madvise),
	COMM_SECCOMP_CALL(msync),
	COMM_SECCOMP_CALL(brk),
	/* The kernel's halves of the sources, as they are open; and whether this is a terminal. */
	REQUEST(PERF_EVENT_IOC_ENABLE),
	REQUEST(PERF_EVENT_IOC_DISABLE),
	REQUEST(PERF_EVENT_IOC_REFRESH),
	REQUEST(PERF_EVENT_IOC_PERIOD),
	REQUEST(PERF_EVENT_IOC_SET_OUTPUT),
	REQUEST(PERF_EVENT_IOC_MODIFY_ATTRIBUTES),
	REQUEST(CP_IOC_INFO),
	REQUEST(CP_IOC_TARGET),
	REQUEST(CP_IOC_MARKS),
	REQUEST(CP_IOC_RATE),
	REQUEST(CP_IOC_POINTEES),
	REQUEST(CP_IOC_STATS),
	REQUEST(CP_IOC_STOP),
	REQUEST(TCGETS),
	BPF_COMMAND(MAP_LOOKUP_ELEM),
	BPF_COMMAND(MAP_LOOKUP_BATCH),
	BPF_COMMAND(MAP_UPDATE_ELEM),
	BPF_COMMAND(MAP_DELETE_ELEM),
	BPF_COMMAND(MAP_GET_NEXT_KEY),
	BPF_COMMAND(OBJ_GET_INFO_BY_FD),
	BPF_COMMAND(PROG_TEST_RUN),
	BPF_COMMAND(RAW_TRACEPOINT_OPEN),
	BPF_COMMAND(LINK_CREATE),
	BPF_COMMAND(ITER_CREATE),
	BPF_COMMAND(LINK_DETACH),
	/*
	 * The host of the children that read files and memory.  Such a pair of sockets has names of no others: those of
	 * SOCK_DGRAM may send to whoever has one, and another family's load modules.
	 */
	COMM_SECCOMP_CALL(memfd_create),
	COMM_SECCOMP_BOTH(socketpair, AF_UNIX, 1, SOCK_SEQPACKET | SOCK_CLOEXEC),
	COMM_SECCOMP_CALL(sendmsg),
	COMM_SECCOMP_CALL(sendto),
	COMM_SECCOMP_CALL(recvmsg),
	COMM_SECCOMP_CALL(recvfrom),
	COMM_SECCOMP_IS(shutdown, 1, SHUT_RDWR), /* at the end: stop.c */
	COMM_SECCOMP_CALL(wait4),
	COMM_SECCOMP_CALL(waitid),
	/* Waiting, clocks, signals to itself, and what asks about itself: */
	COMM_SECCOMP_CALL(poll),
	COMM_SECCOMP_CALL(ppoll),
	COMM_SECCOMP_CALL(select),
	COMM_SECCOMP_CALL(pselect6),
	COMM_SECCOMP_CALL(epoll_wait),
	COMM_SECCOMP_CALL(epoll_pwait),
	COMM_SECCOMP_CALL(epoll_ctl),
	COMM_SECCOMP_CALL(nanosleep),
	COMM_SECCOMP_CALL(clock_nanosleep),
	COMM_SECCOMP_CALL(clock_gettime),
	COMM_SECCOMP_CALL(clock_getres),
	COMM_SECCOMP_CALL(gettimeofday),
	COMM_SECCOMP_CALL(time),
	COMM_SECCOMP_CALL(timer_settime),
	COMM_SECCOMP_CALL(timer_gettime),
	COMM_SECCOMP_CALL(restart_syscall),
	COMM_SECCOMP_CALL(futex),
	COMM_SECCOMP_CALL(sched_yield),
	COMM_SECCOMP_CALL(sched_getaffinity),
	COMM_SECCOMP_IS(sched_setscheduler, 0, 0),
	COMM_SECCOMP_IS(sched_getscheduler, 0, 0),
	COMM_SECCOMP_CALL(getcpu),
	COMM_SECCOMP_CALL(rt_sigaction),
	COMM_SECCOMP_CALL(rt_sigprocmask),
	COMM_SECCOMP_CALL(rt_sigreturn),
	COMM_SECCOMP_CALL(sigaltstack),
	COMM_SECCOMP_OWN_PID(tgkill, 0),
	COMM_SECCOMP_CALL(getpid),
	COMM_SECCOMP_CALL(gettid),
	COMM_SECCOMP_CALL(getppid),
	COMM_SECCOMP_CALL(getuid),
	COMM_SECCOMP_CALL(geteuid),
	COMM_SECCOMP_CALL(getgid),
	COMM_SECCOMP_CALL(getegid),
	COMM_SECCOMP_CALL(capget),
	COMM_SECCOMP_CALL(getrusage),
	COMM_SECCOMP_CALL(getrlimit),
	COMM_SECCOMP_IS(prlimit64, 0, 0),
	COMM_SECCOMP_CALL(getrandom),
	COMM_SECCOMP_CALL(sysinfo),
	COMM_SECCOMP_CALL(uname),
	COMM_SECCOMP_CALL(exit),
	COMM_SECCOMP_CALL(exit_group),
};

static const struct comm_seccomp_rule events[] = {COMM_SECCOMP_CALL(perf_event_open)};
static const struct comm_seccomp_rule files[] = {COMM_SECCOMP_CALL(openat2)};

const struct comm_seccomp_list comm_filter = {rules, sizeof(rules) / sizeof(rules[0]), {NULL}};
const struct comm_seccomp_list comm_filter_events = {events, 1, {&comm_filter}};
const struct comm_seccomp_list comm_filter_files = {files, 1, {&comm_filter}};
