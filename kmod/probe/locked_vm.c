// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sched/user.h>
long cp_probe(struct user_struct *user);
long cp_probe(struct user_struct *user)
{
	return atomic_long_read(&user->locked_vm);
}
