// SPDX-License-Identifier: GPL-2.0-only
#include <asm/msr.h>
u64 cp_probe(void);
u64 cp_probe(void)
{
	u64 value;

	rdmsrq(MSR_FS_BASE, value);
	return value;
}
