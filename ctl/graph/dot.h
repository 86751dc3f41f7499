/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What drawings in Graphviz's language have in common. */
#ifndef CTL_DOT_H
#define CTL_DOT_H

#include "panel.h"

enum { CTL_DOT_HOT_PCT = 20 }; /* nodes of that many of the bytes are grey */

/* Text inside of a string: nothing may end it, break its line, or be an entity of HTML. */
void ctl_dot_text(FILE *out, const char *text);
const char *ctl_dot_shape(const struct comm_node *node);
/* The rest of an edge's line, after its ends. */
void ctl_dot_edge(FILE *out, const struct comm_report *report, const struct comm_report_edge *edge,
		  double largest);
/* The graph's head, with the notes of all runs and what the drawing says of itself. */
void ctl_dot_begin(FILE *out, const struct ctl_panels *panels, const char *more);

#endif
