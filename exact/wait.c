/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wait.h"

#include <asm/unistd.h>

#include "pub_tool_basics.h"
#include "pub_tool_vki.h"

#include "kernel.h"

enum {
	YIELDS = 32,
	SLEEPS = 100000,
	SLEEP_NS = 100000,
};

int comm_wait(unsigned int turn)
{
	const struct vki_timespec nap = {0, SLEEP_NS};

	if (turn < YIELDS)
		comm_kernel(__NR_sched_yield, 0, 0, 0, 0, 0);
	else
		comm_kernel(__NR_nanosleep, (long)&nap, 0, 0, 0, 0);
	return turn < YIELDS + SLEEPS;
}
