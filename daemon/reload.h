/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reload: what may change of a configuration file while a commd runs is given to that commd, by the FIFOs of its
 * --control, since it may open no file any more.  Run by another process, as a unit's ExecReload= is.
 */
#ifndef COMMD_RELOAD_H
#define COMMD_RELOAD_H

struct comm_options;

/* options->config is read, and options->control names FIFOs.  Returns the exit status: 0, the running commd took it. */
int comm_reload(const struct comm_options *options);

#endif
