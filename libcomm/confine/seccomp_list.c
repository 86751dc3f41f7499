// SPDX-License-Identifier: GPL-2.0-or-later
#include "seccomp_list.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { ALSO = sizeof(((struct comm_seccomp_list *)0)->also) / sizeof(struct comm_seccomp_list *) };

bool comm_seccomp_knows(const struct comm_seccomp_list *list, long nr)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->rules[i].nr == nr)
			return true;
	for (size_t i = 0; i < ALSO && list->also[i]; i++)
		if (comm_seccomp_knows(list->also[i], nr))
			return true;
	return false;
}

static int add_all(scmp_filter_ctx filter, const struct comm_seccomp_list *list)
{
	int err = 0;

	for (size_t i = 0; i < list->n && !err; i++) {
		const struct comm_seccomp_rule *rule = &list->rules[i];
		const struct scmp_arg_cmp only[] = {
			{rule->arg, SCMP_CMP_MASKED_EQ, rule->mask,
			 rule->is_of_own_pid ? (uint32_t)getpid() : rule->value},
			{0, SCMP_CMP_MASKED_EQ, UINT32_MAX, rule->first}};

		err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rule->nr,
					     !!rule->mask + rule->has_first, only);
	}
	for (size_t i = 0; i < ALSO && list->also[i] && !err; i++)
		err = add_all(filter, list->also[i]);
	return err;
}

static int install(const struct comm_seccomp_list *list, bool all_threads)
{
	scmp_filter_ctx filter;
	int err;

#ifdef __SANITIZE_ADDRESS__ /* whose search for leaks traces this process, and whose reports make calls */
	return 0;
#endif
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
		return 0; /* a kernel without CONFIG_SECCOMP */
	/*
	 * For one thread by prctl(), which a process that has a filter of the host's may call, not by seccomp(); to ask
	 * libseccomp what the kernel has makes it find seccomp().
	 */
	if (all_threads)
		err = seccomp_api_get() < 2 ? -EOPNOTSUPP : 0;
	else
		err = seccomp_api_set(1);
	filter = err ? NULL : seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!filter)
		return err ? err : -ENOMEM;
	err = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	if (!err && all_threads)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = add_all(filter, list);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int comm_seccomp_install(const struct comm_seccomp_list *list)
{
	return install(list, false);
}

int comm_seccomp_install_all(const struct comm_seccomp_list *list)
{
	return install(list, true);
}
