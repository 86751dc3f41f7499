/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has the mappings, the memory and the command lines of targets read by another process (peek_child.h), for two
 * reasons.  A page may be served by a program that never answers (FUSE, userfaultfd), and whoever
 * reads it then hangs: that process is given up after a deadline, and another is made.  And the
 * rights to read other users' processes are that one's alone.
 *
 * The host of a parser makes the process, so the parser must outlive this.
 */
#ifndef COMM_PEEK_H
#define COMM_PEEK_H

#include "parser.h"
#include "peek_child.h"
#include "program_link.h"

#include <sys/types.h>

struct comm_peek;

int comm_peek_create(struct comm_parser *parser, struct comm_peek **ret);
void comm_peek_destroy(struct comm_peek *peek);

/*
 * All of /proc/PID/maps into *text, which is of *capacity bytes and grows up to max_bytes.  Returns
 * its length; -ESRCH; -ETIME: it took too long, or there is more than twice of that; -EIO: there is
 * nobody to read, for now.
 */
ssize_t comm_peek_maps(struct comm_peek *peek, uint32_t tgid, char **text, size_t *capacity,
		       size_t max_bytes);
/* Memory of a process.  Returns how much could be read, or an error as above. */
ssize_t comm_peek_memory(struct comm_peek *peek, uint32_t tgid, uint64_t addr, void *buf,
			 size_t bytes);
/*
 * Words of eight bytes, n of them, those of a process together: of those that could not be read is_known is 0.  0, or
 * -EPERM or -EACCES: none may be read.
 */
int comm_peek_words(struct comm_peek *peek, const struct comm_peek_place *place, size_t n,
		    struct comm_peek_word *ret);
/*
 * Where a thread's list of robust mutexes is (get_robust_list(2)), 0: it has none.  0, or an error as
 * above.
 */
int comm_peek_robust_list(struct comm_peek *peek, uint32_t tgid, uint32_t tid, uint64_t *ret);
/* The number of a process's IPC namespace; likewise. */
int comm_peek_ipc(struct comm_peek *peek, uint32_t tgid, uint64_t *ret);
/* The link that its program was started by; likewise. */
int comm_peek_program(struct comm_peek *peek, uint32_t tgid, struct comm_program_link *ret);
/* The start of /proc/PID/cmdline; likewise. */
ssize_t comm_peek_command(struct comm_peek *peek, uint32_t tgid, void *buf, size_t bytes);
/* From then on nothing is waited for: -ETIME. */
void comm_peek_until(struct comm_peek *peek, uint64_t end_ns);
/* CPU time that the other processes spent on it. */
uint64_t comm_peek_cpu_ns(const struct comm_peek *peek);

#endif
