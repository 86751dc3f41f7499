// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534 };

int comm_rights_bound(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {0};
	/* Others may not, and have none to bound. */
	bool may = syscall(SYS_capget, &header, have) == 0 && have[0].effective & 1u << CAP_SETPCAP;

	/* There is no end of them but the kernel's own. */
	for (int cap = 0; may && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
	return 0;
}

int comm_rights_keep(const int *kept, size_t n)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {0},
				      want[_LINUX_CAPABILITY_U32S_3] = {0};

	int err = comm_rights_bound();

	if (!err && syscall(SYS_capget, &header, have) < 0)
		err = -errno;
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		uint32_t bit = 1u << (kept[i] % 32) & have[kept[i] / 32].permitted;

		want[kept[i] / 32].permitted |= bit;
		want[kept[i] / 32].effective |= bit;
	}
	return syscall(SYS_capset, &header, want) < 0 ? -errno : 0;
}

int comm_rights_as_nobody(const int *kept, size_t n)
{
	/* Before, as a change of user id takes the right to do it. */
	int err = comm_rights_bound();

	if (!err && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		err = -errno;
	if (err)
		return err;
	if (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0)
		(void)!setresuid(NOBODY, NOBODY, NOBODY);
	return comm_rights_keep(kept, n);
}
