// SPDX-License-Identifier: GPL-2.0-or-later
/* The system calls of a run: each that is refused is tried, behind the filter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../../daemon/filter.c"

enum {
	CALLS = 512,
	URETPROBE = 335, /* and the next, uprobe: newer kernels answer them before any filter */
	X32 = 0x40000000,
};

/* Runs fn behind the filter, in a child; its result is how many things went wrong. */
static int behind(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || comm_filter_install())
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

/* With arguments that do no harm should the call be let pass. */
static int try_unknown(void)
{
	int wrong = 0;
	char name[32];

	for (long nr = 0; nr < CALLS; nr++) {
		snprintf(name, sizeof(name), "call %ld", nr);
		if (!comm_filter_knows(nr) && nr != URETPROBE && nr != URETPROBE + 1)
			wrong += refused(name, syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L));
	}
	return wrong + refused("an x32 call", syscall(X32 | SYS_getpid));
}

static int try_known(void)
{
	int fd = open("/dev/null", O_RDWR), wrong = fd < 0;
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
	wrong += refused("a BPF program", syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 0));
	wrong += refused("a BPF map", syscall(SYS_bpf, BPF_MAP_CREATE, NULL, 0));
	wrong += refused("a signal to another", syscall(SYS_tgkill, getppid(), getppid(), 0));
	wrong += refused("another's limits", syscall(SYS_prlimit64, getppid(), 0, NULL, NULL));
	return wrong;
}

static int let_pass(const char *what, long got)
{
	if (got != -1 || errno != EPERM)
		return 0;
	dprintf(2, "%s is refused\n", what);
	return 1;
}

/* Of each rule with a condition the side that passes. */
static int try_needed(void)
{
	int fd = open("/dev/null", O_RDWR | O_CREAT, 0640), wrong = fd < 0;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	wrong += let_pass("memory", p == MAP_FAILED ? -1 : 0);
	wrong += let_pass("protection", mprotect(p, 4096, PROT_READ));
	wrong += let_pass("ioctl()", ioctl(fd, FIONREAD, &wrong));
	wrong += let_pass("a map's element", syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, NULL, 0));
	wrong += let_pass("own limits", syscall(SYS_prlimit64, 0, 7, NULL, NULL));
	wrong += let_pass("a signal to itself", syscall(SYS_tgkill, getpid(), getpid(), 0));
	wrong += let_pass("reading a process",
			  syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
	return wrong;
}

static void test_unknown(void **state)
{
	(void)state;
	assert_int_equal(behind(try_unknown), 0);
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
		SYS_openat2,
		SYS_modify_ldt,
		SYS_iopl,
		SYS_ioperm,
		SYS_clock_settime,
		SYS_settimeofday,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (comm_filter_knows(never[i]))
			fail_msg("call %ld", never[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
