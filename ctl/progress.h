/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says on a terminal that a command still works, and what it has read and written by then: after 5 s, 10 s, 20 s and so
 * on, each a line on stderr.  Nothing where stderr is no terminal.  Not for commands that follow a run, or execute
 * another program.
 */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

/* command: "commctl report"; kept. */
void ctl_progress_begin(const char *command);

#endif
