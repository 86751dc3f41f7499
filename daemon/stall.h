/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The longest time that the rings of the kernel waited for the loop that reads them, beyond the sleep that was meant:
 * what the loop did or waited for meanwhile, and how long it had no CPU.  And the longest without the time for which there
 * was no CPU: on a busy machine that is another one.  The main thread's alone.
 */
#ifndef COMMD_STALL_H
#define COMMD_STALL_H

#include <stdint.h>

struct comm_stall_times {
	uint64_t work_ns; /* CPU time of this thread */
	uint64_t cpu_ns;  /* ready to run, without a CPU; 0 where the kernel does not tell */
};

struct comm_stall {
	uint64_t read_ns, slept_from_ns, slept_cpu_ns, longest_ns;
	uint64_t
		own_ns; /* the longest but for the time without a CPU: of work, and of waiting for anything else */
	struct comm_stall_times parts;	/* of the longest */
	struct comm_stall_times before; /* when the rings were read last */
	int fd;				/* of /proc/self/schedstat, or -1 */
};

/* Opens what must be open before files are out of reach. */
void comm_stall_open(struct comm_stall *stall);
void comm_stall_close(struct comm_stall *stall);
/* The loop sleeps from now on. */
void comm_stall_sleep(struct comm_stall *stall, uint64_t now_ns);
/* The rings are read now, after a sleep of at most slept_ms: one that was ended earlier excuses no more than it took. */
void comm_stall_read(struct comm_stall *stall, uint64_t now_ns, int slept_ms);

#endif
