// SPDX-License-Identifier: GPL-2.0-or-later
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

int comm_rights_keep(const int *kept, size_t n)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = {0},
				      want[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, have) < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		uint32_t bit = 1u << (kept[i] % 32) & have[kept[i] / 32].permitted;

		want[kept[i] / 32].permitted |= bit;
		want[kept[i] / 32].effective |= bit;
	}
	return syscall(SYS_capset, &header, want) < 0 ? -errno : 0;
}
