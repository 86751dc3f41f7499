/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: commands for a run, in the grammar of perf record --control: lines that say enable,
 * disable, ping, stop or, which perf has not, "overhead PCT", each answered by "ack" when it was
 * done, if there is somewhere to answer.  What a command does is the caller's.  Whoever may write the FIFO commands, and may
 * write anything at any rate: what is done about it at once is bounded.  One thread uses it.
 */
#ifndef COMMD_CONTROL_H
#define COMMD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

enum comm_command {
	COMM_COMMAND_ENABLE,
	COMM_COMMAND_DISABLE,
	COMM_COMMAND_PING,
	COMM_COMMAND_STOP,
	COMM_COMMAND_OVERHEAD,
	COMM_COMMAND_MAX
};

struct comm_control;

/* Is it a text of the form of comm_control_open()? */
bool comm_control_is_spec(const char *spec);
/*
 * spec: fifo:CTL[,ACK], paths of FIFOs that are there, or fd:CTL[,ACK], descriptors of pipes
 * or sockets.  0, or -errno with a sentence in *why (malloc'ed).
 */
int comm_control_open(const char *spec, struct comm_control **ret, char **why);
/* Leaves the descriptors of fd: as they are. */
void comm_control_close(struct comm_control *control);

/*
 * What to poll for reading; -1: nothing, because commands were taken only just now; *sleep_ms
 * then ends when there may be more.
 */
int comm_control_fd(const struct comm_control *control, uint64_t now_ns, int *sleep_ms);
/*
 * Does a command; overhead: as a share, of that command, else 0.  NULL: it was done; or why it was not, which is
 * said in place of the acknowledgement.
 */
typedef const char *comm_control_fn(void *ctx, enum comm_command command, double overhead);
/* Hands over the commands that came; of several to enable and to disable in a row the last one. */
void comm_control_take(struct comm_control *control, uint64_t now_ns, comm_control_fn *fn,
		       void *ctx);

#endif
