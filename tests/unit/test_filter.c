// SPDX-License-Identifier: GPL-2.0-or-later
/* The system calls of a run: each that is refused is tried, behind the filter. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/filter.c"
#include "child_calls.h"

enum {
	CALLS = 512,
	URETPROBE = 335, /* and the next, uprobe: newer kernels answer them before any filter */
	X32 = 0x40000000,
};

static const struct side {
	const char *name;
	const struct comm_seccomp_list *list;
} sides[] = {
	{"the daemon", &comm_filter},
	{"the host", &comm_child_calls_host},
	{"the child that reads memory", &comm_child_calls_peek},
	{"a parsing child", &comm_child_calls_parser},
	{"a run that opens threads", &comm_filter_events},
	{"a run that reads a perf.data", &comm_filter_files},
};

static const struct side *side = &sides[0];

/* Runs fn behind the side's filter, in a child; its result is how many things went wrong. */
static int behind(int (*fn)(void))
{
	int status;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* its own calls are on no list, so there is no filter (seccomp_list.c) */
#endif
	pid = fork();
	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || comm_seccomp_install(side->list))
			_exit(200);
		_exit(fn());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 201;
}

static int refused(const char *what, long got)
{
	if (got == -1 && errno == EPERM)
		return 0;
	dprintf(2, "%s is let pass: %ld\n", what, got);
	return 1;
}

static int let_pass(const char *what, long got)
{
	if (got != -1 || errno != EPERM)
		return 0;
	dprintf(2, "%s is refused\n", what);
	return 1;
}

/* With arguments that do no harm should the call be let pass. */
static int try_unknown(void)
{
	int wrong = 0;
	char name[32];

	for (long nr = 0; nr < CALLS; nr++) {
		snprintf(name, sizeof(name), "call %ld", nr);
		if (!comm_seccomp_knows(side->list, nr) && nr != URETPROBE && nr != URETPROBE + 1)
			wrong += refused(name, syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L));
	}
	return wrong + refused("an x32 call", syscall(X32 | SYS_getpid));
}

static int try_known(void)
{
	int fd = open("/dev/null", O_RDWR), wrong = fd < 0, on = 1, pair[2];
	pid_t pid = getppid();
	char byte = 0;

	wrong += refused("an executable mapping", syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	wrong += refused("memory made executable", syscall(SYS_mprotect, 0, 0, PROT_EXEC));
	wrong += refused("a file of mode 04755",
			 syscall(SYS_openat, -1, "x", O_CREAT | O_WRONLY, 04755));
	wrong += refused("and by open()",
			 syscall(SYS_open, "/nowhere/x", O_CREAT | O_WRONLY, 02755));
	wrong += refused("typing into a terminal", ioctl(fd, TIOCSTI, &byte));
	wrong += refused("and into a console", ioctl(fd, TIOCLINUX, &byte));
	/* By these a descriptor sends another process any signal, SIGKILL too. */
	wrong += refused("an owner of a descriptor", fcntl(fd, F_SETOWN, getppid()));
	wrong += refused("its signal", fcntl(fd, F_SETSIG, SIGKILL));
	wrong += refused("and that it is sent", fcntl(fd, F_SETFL, O_ASYNC));
	wrong += refused("a group as owner", ioctl(fd, FIOSETOWN, &pid));
	wrong += refused("and by another name", ioctl(fd, SIOCSPGRP, &pid));
	wrong += refused("the signal by ioctl()", ioctl(fd, FIOASYNC, &on));
	wrong += refused("a terminal's speed", ioctl(fd, TCSETS, &on));
	wrong += refused("a BPF program of an event", ioctl(fd, PERF_EVENT_IOC_SET_BPF, 0));
	wrong += refused("a BPF program", syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0));
	wrong += refused("a BPF map", syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0));
	wrong += refused("a signal to another", syscall(SYS_tgkill, getppid(), getppid(), 0));
	wrong += refused("another's limits", syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
	wrong += refused("sockets that send to anybody",
			 socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair));
	wrong += refused("sockets of a family that is a module",
			 socketpair(AF_TIPC, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	return wrong;
}

/* Of each rule with a condition the side that passes. */
static int try_needed(void)
{
	int fd = open("/dev/null", O_RDWR | O_CREAT, 0640), wrong = fd < 0, pair[2];
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	wrong += let_pass("memory", p == MAP_FAILED ? -1 : 0);
	wrong += let_pass("protection", mprotect(p, 4096, PROT_READ));
	wrong += let_pass("another period", ioctl(fd, PERF_EVENT_IOC_PERIOD, NULL));
	wrong += let_pass("another watchpoint", ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, NULL));
	wrong += let_pass("the module's counters", ioctl(fd, CP_IOC_STATS, NULL));
	wrong += let_pass("SQLite's locks", fcntl(fd, F_GETLK, NULL));
	wrong += let_pass("the lock of a store", fcntl(fd, F_OFD_GETLK, NULL));
	wrong += let_pass("a descriptor's state", fcntl(fd, F_GETFL));
	wrong += let_pass("a map's element", syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, NULL, 0));
	wrong += let_pass("many of them", syscall(SYS_bpf, BPF_MAP_LOOKUP_BATCH, NULL, 0));
	wrong += let_pass("a pass over threads", syscall(SYS_bpf, BPF_ITER_CREATE, NULL, 0));
	wrong += let_pass("a program's run", syscall(SYS_bpf, BPF_PROG_TEST_RUN, NULL, 0));
	wrong += let_pass("own limits", syscall(SYS_prlimit64, 0, 7, NULL, NULL));
	wrong += let_pass("a signal to itself", syscall(SYS_tgkill, getpid(), getpid(), 0));
	wrong += let_pass("sockets to a new reader of memory",
			  socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	return wrong;
}

static void test_unknown(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		side = &sides[i];
		if (behind(try_unknown))
			fail_msg("behind the list of %s", side->name);
	}
	side = &sides[0];
}

/* Of the host's rules with a condition the sides that are refused, and one that passes. */
static int try_host(void)
{
	int wrong = 0;

	wrong += refused("an executable mapping", syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	wrong += refused("memory made executable", syscall(SYS_mprotect, 0, 0, PROT_EXEC));
	wrong += refused("a new file", syscall(SYS_openat, -1, "x", O_CREAT | O_WRONLY, 0600));
	wrong += refused("a file made empty", syscall(SYS_openat, -1, "x", O_TRUNC | O_WRONLY));
	wrong += refused("a user namespace", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0));
	wrong += refused("another's limits", syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
	wrong += refused("an owner of a descriptor", fcntl(0, F_SETOWN, getppid()));
	wrong += let_pass("a file", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY));
	return wrong;
}

static int try_parser(void)
{
	int wrong = 0;

	wrong += refused("a file", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY));
	wrong += refused("the state of a path", syscall(SYS_newfstatat, AT_FDCWD, "/", NULL, 0));
	wrong += refused("an owner of a descriptor", fcntl(0, F_SETOWN, getppid()));
	wrong += refused("an executable mapping", syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	wrong += refused("memory made executable", syscall(SYS_mprotect, 0, 0, PROT_EXEC));
	wrong += refused("a signal to another", syscall(SYS_tgkill, getppid(), getppid(), 0));
	wrong += refused("another's limits", syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
	wrong += let_pass("a descriptor's state", fcntl(0, F_GETFD));
	return wrong;
}

static int try_peek(void)
{
	int wrong = 0;

	wrong += refused("writing a file", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY));
	wrong += refused("reading and writing", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR));
	wrong += refused("a new file", syscall(SYS_openat, -1, "x", O_CREAT, 0600));
	wrong += refused("an executable mapping", syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC,
							  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	wrong += let_pass("reading", syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY));
	return wrong;
}

static void test_children(void **state)
{
	(void)state;
	side = &sides[1];
	assert_int_equal(behind(try_host), 0);
	side = &sides[2];
	assert_int_equal(behind(try_peek), 0);
	side = &sides[3];
	assert_int_equal(behind(try_parser), 0);
	side = &sides[0];
}

static int try_files(void)
{
	return let_pass("a file", syscall(SYS_openat2, -1, NULL, NULL, 0)) +
	       refused("an event", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int try_threads(void)
{
	return let_pass("an event", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)) +
	       refused("openat2()", syscall(SYS_openat2, -1, NULL, NULL, 0));
}

static void test_more(void **state)
{
	(void)state;
	side = &sides[4];
	assert_int_equal(behind(try_threads), 0);
	side = &sides[5];
	assert_int_equal(behind(try_files), 0);
	side = &sides[0];
}

static void test_known(void **state)
{
	(void)state;
	assert_int_equal(behind(try_known), 0);
}

static void test_needed(void **state)
{
	(void)state;
	assert_int_equal(behind(try_needed), 0);
}

/* None that starts programs, traces, signals, mounts, changes owners or reaches the network. */
static void test_never(void **state)
{
	static const long never[] = {
		SYS_execve,
		SYS_execveat,
		SYS_fork,
		SYS_vfork,
		SYS_clone,
		SYS_clone3,
		SYS_ptrace,
		SYS_process_vm_writev,
		SYS_process_vm_readv,
		SYS_kill,
		SYS_tkill,
		SYS_pidfd_send_signal,
		SYS_pidfd_getfd,
		SYS_setuid,
		SYS_setresuid,
		SYS_setfsuid,
		SYS_capset,
		SYS_prctl,
		SYS_seccomp,
		SYS_mount,
		SYS_move_mount,
		SYS_open_tree,
		SYS_umount2,
		SYS_pivot_root,
		SYS_chroot,
		SYS_unshare,
		SYS_setns,
		SYS_chmod,
		SYS_fchmod,
		SYS_fchmodat,
		SYS_chown,
		SYS_fchown,
		SYS_rename,
		SYS_renameat2,
		SYS_link,
		SYS_linkat,
		SYS_symlink,
		SYS_mkdir,
		SYS_mknod,
		SYS_setxattr,
		SYS_socket,
		SYS_connect,
		SYS_bind,
		SYS_init_module,
		SYS_finit_module,
		SYS_delete_module,
		SYS_kexec_load,
		SYS_reboot,
		SYS_keyctl,
		SYS_userfaultfd,
		SYS_io_uring_setup,
		SYS_open_by_handle_at,
		SYS_modify_ldt,
		SYS_iopl,
		SYS_ioperm,
		SYS_clock_settime,
		SYS_settimeofday,
		SYS_unlink,
		SYS_unlinkat,
		SYS_rmdir,
		SYS_rename,
		SYS_renameat2,
	};

	static const long programs[] = {
		SYS_execve,	    SYS_execveat,    SYS_ptrace,       SYS_process_vm_writev,
		SYS_mount,	    SYS_unshare,     SYS_setns,	       SYS_pidfd_getfd,
		SYS_socket,	    SYS_connect,     SYS_bpf,	       SYS_perf_event_open,
		SYS_unlink,	    SYS_unlinkat,    SYS_rename,       SYS_renameat2,
		SYS_chmod,	    SYS_fchmod,	     SYS_chown,	       SYS_fchown,
		SYS_mknod,	    SYS_init_module, SYS_finit_module, SYS_userfaultfd,
		SYS_io_uring_setup,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (comm_seccomp_knows(&comm_filter, never[i]) ||
		    comm_seccomp_knows(&comm_child_calls_parser, never[i]) ||
		    (comm_seccomp_knows(&comm_child_calls_peek, never[i]) &&
		     never[i] != SYS_process_vm_readv))
			fail_msg("call %ld", never[i]);
	/* Nor does the host, which makes, ends and confines processes, start programs. */
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (comm_seccomp_knows(&comm_child_calls_host, programs[i]))
			fail_msg("call %ld", programs[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never),  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_known),  cmocka_unit_test(test_children),
		cmocka_unit_test(test_needed), cmocka_unit_test(test_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
