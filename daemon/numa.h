/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NUMA nodes: which CPUs of this machine are on which, as a text that goes into the run and into its
 * recording: both may be looked at on another machine.
 */
#ifndef COMM_NUMA_H
#define COMM_NUMA_H

enum { COMM_NUMA_BYTES = 4096 };

#define COMM_NUMA_SYSFS "/sys/devices/system/node"

/*
 * "0:0-3,8;1:4-7": nodes by number, each with the kernel's list of its CPUs; those without CPUs are left
 * out.  "": the kernel tells of none, or of more than have room.  sysfs: COMM_NUMA_SYSFS, or a copy of it.
 */
void comm_numa_read(const char *sysfs, char ret[COMM_NUMA_BYTES]);

#endif
