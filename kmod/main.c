// SPDX-License-Identifier: GPL-2.0-only
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/version.h>

#include "cap.h"
#include "cpus.h"
#include "session.h"
#include "softpmu.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "commprof needs Linux 6.1 or later"
#endif
#ifndef CONFIG_X86_64
#error "commprof reads x86-64 registers and instructions"
#endif

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "commprof",
	.fops = &cp_session_fops,
	.mode = 0600,
};

static int __init commprof_init(void)
{
	int ret;

	cp_cap_init();
	ret = cp_cpus_module_init();
	if (ret)
		return ret;
	ret = cp_softpmu_init();
	if (ret)
		goto err_cpus;
	ret = misc_register(&device);
	if (ret)
		goto err_softpmu;
	return 0;

err_softpmu:
	cp_softpmu_exit();
err_cpus:
	cp_cpus_module_exit();
	return ret;
}

static void __exit commprof_exit(void)
{
	misc_deregister(&device);
	cp_watch_module_exit();
	cp_softpmu_exit();
	cp_cpus_module_exit();
	rcu_barrier(); /* targets that were removed are freed by code of ours */
}

module_init(commprof_init);
module_exit(commprof_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("samples of memory accesses for commprof");
MODULE_INFO(abi, __stringify(CP_ABI_VERSION));
MODULE_VERSION("0.1.0");
