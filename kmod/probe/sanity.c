// SPDX-License-Identifier: GPL-2.0-only
/* Must compile: if not, the other probes would say no for a wrong reason. */
#include <linux/module.h>
int cp_probe(void);
int cp_probe(void)
{
	return 0;
}
