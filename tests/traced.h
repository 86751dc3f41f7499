/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A traced child and its registers in the order of struct comm_sample, for tests that
 * compare the emulator with the processor.
 */
#ifndef TESTS_TRACED_H
#define TESTS_TRACED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <Zydis/Zydis.h>

#include "event.h"

enum { PAGE = 4096 };

static uint64_t rng = 88172645463325252ULL;

static inline uint64_t draw(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static inline bool read_child(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec local = {buf, len}, remote = {(void *)addr, len};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static inline bool write_child(pid_t pid, uint64_t addr, const void *buf, size_t len)
{
	struct iovec local = {(void *)buf, len}, remote = {(void *)addr, len};

	return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static inline uint64_t reg_of(const struct user_regs_struct *r, unsigned i)
{
	const unsigned long long reg[COMM_NREGS] = {
		r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,	    r->r8,
		r->r9,	r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->fs_base, r->gs_base};

	return reg[i];
}

static inline void set_reg(struct user_regs_struct *r, unsigned i, uint64_t v)
{
	unsigned long long *reg[COMM_NGPR] = {&r->rax, &r->rcx, &r->rdx, &r->rbx, &r->rsp, &r->rbp,
					      &r->rsi, &r->rdi, &r->r8,	 &r->r9,  &r->r10, &r->r11,
					      &r->r12, &r->r13, &r->r14, &r->r15};

	*reg[i] = v;
}

/* Steps one instruction.  Returns 0, 1 when a signal came instead, -1 when the child ended. */
static inline int step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 || waitpid(pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status))
		return -1;
	if (WSTOPSIG(status) == SIGTRAP && !(status >> 16))
		return 0;
	return 1;
}

static inline void complain(const char *what, const uint8_t *code, size_t len)
{
	ZydisDisassembledInstruction text;

	if (ZYAN_SUCCESS(
		    ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, 0x1000, code, len, &text)))
		print_error("%s: %s\n", what, text.text);
	else
		print_error("%s: undecodable\n", what);
}

#endif
