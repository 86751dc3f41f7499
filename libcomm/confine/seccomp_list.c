// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No libseccomp: the lists are short, of one architecture, and ask of an argument's bits no more
 * than whether they are there.
 */
#include "seccomp_list.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OUTER = 8, PER_RULE = 6 }; /* instructions, at most */

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
static size_t write_rule(const struct comm_seccomp_rule *rule, struct sock_filter *at)
{
	size_t n = 0;

	at[n++] = load(offsetof(struct seccomp_data, nr));
	if (rule->test == COMM_SECCOMP_ANY) {
		at[n++] = unless(BPF_JEQ, rule->nr, 1);
		at[n++] = answer(SECCOMP_RET_ALLOW);
		return n;
	}
	at[n++] = unless(BPF_JEQ, rule->nr, 3);
	at[n++] = load(offsetof(struct seccomp_data, args) + 8 * rule->arg);
	at[n++] = unless(rule->test == COMM_SECCOMP_NONE_OF_BITS ? BPF_JSET : BPF_JEQ, rule->value,
			 1);
	at[n++] = answer(rule->test == COMM_SECCOMP_IS ? SECCOMP_RET_ALLOW
						       : SECCOMP_RET_ERRNO | EPERM);
	return n;
}

/* A call of whose last rule none refused passes. */
static bool is_last_refusal(const struct comm_seccomp_rule *rules, size_t n, size_t i)
{
	if (rules[i].test != COMM_SECCOMP_NONE_OF_BITS && rules[i].test != COMM_SECCOMP_IS_NOT)
		return false;
	return i + 1 == n || rules[i + 1].nr != rules[i].nr;
}

bool comm_seccomp_knows(const struct comm_seccomp_rule *rules, size_t n, long nr)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].nr == nr)
			return true;
	return false;
}

int comm_seccomp_install(const struct comm_seccomp_rule *rules, size_t n)
{
	struct sock_fprog program = {0};
	struct comm_seccomp_rule rule;
	struct sock_filter *code;
	size_t k = 0;
	int err;

#ifdef __SANITIZE_ADDRESS__ /* whose search for leaks traces this process, and whose reports make calls */
	return 0;
#endif
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
		return 0; /* a kernel without CONFIG_SECCOMP */
	code = calloc(OUTER + PER_RULE * n, sizeof(*code));
	if (!code)
		return -ENOMEM;
	code[k++] = load(offsetof(struct seccomp_data, arch));
	code[k++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[k++] = answer(SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < n; i++) {
		rule = rules[i];
		if (rule.test == COMM_SECCOMP_IS_OWN_PID) {
			rule.test = COMM_SECCOMP_IS;
			rule.value = (uint32_t)getpid();
		}
		k += write_rule(&rule, code + k);
		if (!is_last_refusal(rules, n, i))
			continue;
		k += write_rule(&(struct comm_seccomp_rule){.nr = rule.nr}, code + k);
	}
	code[k++] = answer(SECCOMP_RET_ERRNO | EPERM);
	program.len = (unsigned short)k;
	program.filter = code;
	err = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno : 0;
	free(code);
	return err;
}
