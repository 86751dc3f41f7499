/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The link that a process's program was started by.  The kernel knows a program by its file; the path that was
 * given to execve(2) is in the process's memory (AT_EXECFN), which the process may write.  It counts if it leads to
 * that file: that of a script leads to the script.  It is looked for where the process is, by links of this process's
 * root.
 */
#ifndef COMM_PROGRAM_LINK_H
#define COMM_PROGRAM_LINK_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct comm_program_link {
	char file[PATH_MAX]; /* as /proc/PID/exe tells it, and so as /proc/PID/maps does */
	char name[NAME_MAX +
		  1]; /* base name of the path that it was started by; "": the file's own */
};

/* 0 or -errno: then nothing is known of the program. */
int comm_program_link_find(uint32_t tgid, struct comm_program_link *ret);

#endif
