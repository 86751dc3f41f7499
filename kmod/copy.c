// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/socket.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#include "copy.h"

enum {
	MIN_ADDR = 65536,	   /* mmap_min_addr: nothing is mapped below */
	MAX_RANGE_BYTES = 1 << 24, /* more than that in one call is no buffer */
};

static bool cp_copy_read_user(void *to, u64 from, u32 bytes)
{
	return !copy_from_user_nmi(to, (void __user *)from, bytes);
}

static void cp_copy_add(struct cp_copy *copy, u64 addr, u64 bytes)
{
	if (copy->n == CP_COPY_RANGES || !bytes || bytes > MAX_RANGE_BYTES || addr < MIN_ADDR ||
	    addr >= TASK_SIZE_MAX || bytes > TASK_SIZE_MAX - addr)
		return;
	copy->range[copy->n].addr = addr;
	copy->range[copy->n].bytes = bytes;
	copy->n++;
}

/* One at a time: a short vector may end a page behind which there is none. */
static void cp_copy_add_vector(struct cp_copy *copy, u64 vector, u64 n)
{
	struct iovec one;
	u64 i;

	for (i = 0; i < min_t(u64, n, CP_COPY_RANGES); i++) {
		if (!cp_copy_read_user(&one, vector + i * sizeof(one), sizeof(one)))
			return;
		cp_copy_add(copy, (__force u64)one.iov_base, one.iov_len);
	}
}

/*
 * In 64-bit code int 0x80 makes calls by the numbers of 32-bit code.  The thread's flag for that is
 * set and cleared some way into and out of the kernel; the instruction says it at once.
 */
static bool cp_copy_is_by_syscall(const struct pt_regs *frame)
{
	static const u8 syscall[] = {0x0f, 0x05};
	u8 text[sizeof(syscall)];

	return cp_copy_read_user(text, frame->ip - sizeof(text), sizeof(text)) &&
	       !memcmp(text, syscall, sizeof(text));
}

/*
 * On its way in and out of the kernel a task is not on its stack, or still makes
 * the frame at its top: what lies there is the call before.
 */
static bool cp_copy_in_call(const struct pt_regs *regs, const struct pt_regs *frame)
{
	return regs->sp >= (unsigned long)task_stack_page(current) &&
	       regs->sp < (unsigned long)frame;
}

bool cp_copy(const struct pt_regs *regs, struct cp_copy *ret)
{
	const struct pt_regs *frame = task_pt_regs(current);
	struct user_msghdr message;

	ret->n = 0;
	ret->ip = frame->ip;
	if (!cp_copy_in_call(regs, frame))
		return false;
	/* The frame of an exception or interrupt has no number at all. */
	if (frame->cs != __USER_CS)
		return false;
	switch (syscall_get_nr(current, (struct pt_regs *)frame)) {
	case __NR_read:
	case __NR_pread64:
	case __NR_recvfrom:
	case __NR_getdents64:
		cp_copy_add(ret, frame->si, frame->dx);
		break;
	case __NR_getrandom:
		cp_copy_add(ret, frame->di, frame->si);
		break;
	case __NR_readv:
	case __NR_preadv:
	case __NR_preadv2:
		cp_copy_add_vector(ret, frame->si, frame->dx);
		break;
	case __NR_recvmsg:
	case __NR_recvmmsg: /* the first of its messages */
		if (cp_copy_read_user(&message, frame->si, sizeof(message)))
			cp_copy_add_vector(ret, (__force u64)message.msg_iov, message.msg_iovlen);
		break;
	}
	return ret->n && cp_copy_is_by_syscall(frame);
}
