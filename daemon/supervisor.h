/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The supervisor: the service manager that started commd, as it says in the environment.  It is told when the
 * run has begun, how it goes, that it ends, and, if it asks for that, again and again that commd lives.  Without
 * one, nothing is told.  Not for messages to people: those go to stderr.
 *
 * The protocol is that of sd_notify(3) and sd_watchdog_enabled(3): datagrams of lines NAME=VALUE to the socket
 * $NOTIFY_SOCKET.  One thread uses it.
 */
#ifndef COMMD_SUPERVISOR_H
#define COMMD_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

struct comm_supervisor {
	int fd;		      /* -1: none is there */
	uint64_t interval_ns; /* at least so often it wants to hear; 0: it does not ask */
	uint64_t told_ns,
		said_ns; /* when that was last done, and when it was told how the run goes */
};

/*
 * Connects, before rights are given up: no file is opened later.  0 also where there is none; -errno with one
 * that cannot be reached.
 */
int comm_supervisor_open(struct comm_supervisor *ret);
void comm_supervisor_close(struct comm_supervisor *supervisor);

/* Tells lines, such as "READY=1".  What is not heard is lost: nobody waits for a manager. */
void comm_supervisor_tell(const struct comm_supervisor *supervisor, const char *lines);

/* Whether it is to be told now how the run goes: every 5 s at most. */
bool comm_supervisor_listens(struct comm_supervisor *supervisor, uint64_t now_ns);

/* Tells that commd lives, if that is due; the sleep that ends when it is due again, at most sleep_ms. */
int comm_supervisor_alive(struct comm_supervisor *supervisor, uint64_t now_ns, int sleep_ms);

#endif
