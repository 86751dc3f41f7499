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

#include <stdbool.h>
#include <sys/types.h>

struct comm_peek;

int comm_peek_create(struct comm_parser *parser, struct comm_peek **ret);
void comm_peek_destroy(struct comm_peek *peek);

/*
 * The piece of /proc/PID/maps from from_bytes on, where the piece before ended: whole lines, *ret, valid until the next
 * call of any of these.  Returns its length; -ESRCH; -ETIME: it took too long; -ECHILD: there is nobody
 * to read, for now; -ESTALE: it must be begun again, from 0.
 */
ssize_t comm_peek_maps(struct comm_peek *peek, uint32_t tgid, uint64_t from_bytes,
		       const char **ret);
/* Whether no piece follows one of that length. */
static inline bool comm_peek_is_last(ssize_t bytes)
{
	return bytes <= COMM_PEEK_PIECE_BYTES - COMM_PEEK_LINE_BYTES;
}
/* Memory of a process.  Returns how much could be read, or an error as above. */
ssize_t comm_peek_memory(struct comm_peek *peek, uint32_t tgid, uint64_t addr, void *buf,
			 size_t bytes);
/*
 * Words of eight bytes, n of them, those of a process together: of those that could not be read is_known is 0.  0, or
 * -EPERM or -EACCES: none may be read; or -EAGAIN, of who is in a hurry: no answer has come yet; or -ETIME or -ECHILD:
 * none of them was asked for with success, so that nothing is known of what is there.
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
/*
 * Who is in a hurry waits for no answer longer than 20 ms; while the other process waits for a CPU, until it has had one
 * for as long, and a second at most: -EAGAIN, and so at once for all that is asked until that answer has come, or the
 * other process has been given up.
 */
void comm_peek_hurry(struct comm_peek *peek, bool hurries);
/* From then on nothing is waited for: -ETIME. */
void comm_peek_until(struct comm_peek *peek, uint64_t end_ns);
/* CPU time that the other processes spent on it. */
uint64_t comm_peek_cpu_ns(const struct comm_peek *peek);

#endif
