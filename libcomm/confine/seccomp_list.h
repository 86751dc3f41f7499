/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list of system calls as a seccomp filter: what is on it passes, all else is refused with
 * EPERM.  The lists stand with whom they confine: daemon/filter.c, child_calls.c.
 */
#ifndef COMM_SECCOMP_LIST_H
#define COMM_SECCOMP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum comm_seccomp_test {
	COMM_SECCOMP_ANY,
	COMM_SECCOMP_NONE_OF_BITS,
	COMM_SECCOMP_IS,
	COMM_SECCOMP_IS_NOT,
	COMM_SECCOMP_IS_OWN_PID, /* of the process that installs the filter; value is not used */
};

/*
 * Several rules of one call stand together: ones with IS let it pass if any does; with
 * NONE_OF_BITS and IS_NOT all must.
 */
struct comm_seccomp_rule {
	uint16_t nr;
	uint8_t test, arg; /* arg: its number; only its lower half is looked at */
	uint32_t value;
};

#define COMM_SECCOMP_CALL(name)                    \
	{                                          \
		SYS_##name, COMM_SECCOMP_ANY, 0, 0 \
	}

/*
 * For this process and its future children, for good.  Needs no_new_privs.  0, also where the
 * kernel has no such filters and under AddressSanitizer, or -errno.
 */
int comm_seccomp_install(const struct comm_seccomp_rule *rules, size_t n);
/* Whether a call is let pass, with some arguments at least. */
bool comm_seccomp_knows(const struct comm_seccomp_rule *rules, size_t n, long nr);

#endif
