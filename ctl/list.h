/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a store, as commctl list --json prints them. */
#ifndef CTL_LIST_H
#define CTL_LIST_H

#include <stdio.h>

#include <comm/comm.h>

void ctl_list_json(FILE *out, const char *path, uint64_t bytes, const struct comm_runs *runs);

#endif
