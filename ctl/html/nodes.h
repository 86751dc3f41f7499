/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nodes of a page: those of all its reports, each once.  Edges name a node by its kind,
 * the first letter of its id, and its number among those of that kind.
 */
#ifndef CTL_NODES_H
#define CTL_NODES_H

#include <comm/comm.h>

#include <stdio.h>

struct ctl_nodes;

/* NULL: out of memory. */
struct ctl_nodes *ctl_nodes_create(void);
void ctl_nodes_destroy(struct ctl_nodes *nodes);
/*
 * The node's number; the reports that the nodes are of must live until ctl_nodes_print().
 * -ENOMEM
 */
int ctl_nodes_at(struct ctl_nodes *nodes, const struct comm_node *node);
/* Writes those that were not written before: an object of an array for each letter. */
void ctl_nodes_print(struct ctl_nodes *nodes, FILE *out);
/* Calls with each source line that a node names, once. */
void ctl_nodes_lines(const struct ctl_nodes *nodes,
		     void (*call)(void *arg, const char *id, const char *source, uint32_t line),
		     void *arg);

#endif
