/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls that Valgrind has no function for; there is no libc to make them through. */
#ifndef COMM_EXACT_KERNEL_H
#define COMM_EXACT_KERNEL_H

/* As the kernel returns it: -errno on failure. */
static inline long comm_kernel(long number, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
