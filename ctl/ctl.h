/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of commctl.  Each lives in a file of its own, has one line
 * in the table of main.c, and returns an exit code.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

enum {
	CTL_OK = 0,
	CTL_FAILURE = 1,
	CTL_USAGE = 2,
	CTL_NO_DATA = 3,
	CTL_CHANGED = 4, /* diff --exit-code */
};

/* argv[0] is "commctl NAME", for argp's messages. */
int ctl_report(int argc, char **argv);
int ctl_graph(int argc, char **argv);
int ctl_export(int argc, char **argv);
int ctl_top(int argc, char **argv);
int ctl_html(int argc, char **argv);
int ctl_serve(int argc, char **argv);
int ctl_list(int argc, char **argv);
int ctl_diff(int argc, char **argv);
int ctl_label(int argc, char **argv);
int ctl_delete(int argc, char **argv);
int ctl_sharing(int argc, char **argv);
int ctl_advise(int argc, char **argv);
int ctl_salvage(int argc, char **argv);
int ctl_doctor(int argc, char **argv);
int ctl_ship(int argc, char **argv);

/*
 * Prints "commctl: SENTENCE" for a reader's error and frees it; returns the
 * exit code for it.
 */
int ctl_error(int code, char *sentence);

#endif
