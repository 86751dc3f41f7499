// SPDX-License-Identifier: GPL-2.0-or-later
#include "parent.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* A change of user clears the signal. */
int comm_parent_bind(pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == parent ? 0 : -ESRCH;
}
