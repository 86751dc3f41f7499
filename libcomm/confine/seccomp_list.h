/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of system calls as a seccomp filter: what is on it passes, all else is refused with
 * EPERM.  The lists stand with whom they confine: daemon/filter.c, daemon/remover.c, child_calls.c.
 */
#ifndef COMM_SECCOMP_LIST_H
#define COMM_SECCOMP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/*
 * A call that passes, if the bits of an argument that are in the mask are as in value.  Several
 * rules of one call stand for any of them.
 */
struct comm_seccomp_rule {
	uint16_t nr;
	uint8_t arg;	      /* its number; only its lower half is looked at */
	bool is_of_own_pid;   /* of the process that installs the filter, in the place of value */
	bool has_first;	      /* besides, the lower half of argument 0 is as in first */
	uint32_t mask, value; /* mask 0: whatever the arguments */
	uint32_t first;
};

/* clang-format off */
#define COMM_SECCOMP_CALL(name) {.nr = SYS_##name}
#define COMM_SECCOMP_IS(name, n, number) {.nr = SYS_##name, .arg = n, .mask = UINT32_MAX, .value = number}
#define COMM_SECCOMP_BOTH(name, number0, n, number) {.nr = SYS_##name, .arg = n, .mask = UINT32_MAX, .value = number, .has_first = true, .first = number0}
#define COMM_SECCOMP_NONE_OF(name, n, bits) {.nr = SYS_##name, .arg = n, .mask = bits}
#define COMM_SECCOMP_OWN_PID(name, n) {.nr = SYS_##name, .arg = n, .mask = UINT32_MAX, .is_of_own_pid = true}
/* clang-format on */

struct comm_seccomp_list {
	const struct comm_seccomp_rule *rules;
	size_t n;
	const struct comm_seccomp_list *also[2]; /* lists that are part of it, or NULL */
};

/*
 * For this thread, and what it makes from now on, for good.  Needs no_new_privs.  0, also where the
 * kernel has no such filters and under AddressSanitizer, or -errno.
 */
int comm_seccomp_install(const struct comm_seccomp_list *list);
/* Likewise, for all threads of the process. */
int comm_seccomp_install_all(const struct comm_seccomp_list *list);
/* Whether a call is let pass, with some arguments at least.  For tests. */
bool comm_seccomp_knows(const struct comm_seccomp_list *list, long nr);

#endif
