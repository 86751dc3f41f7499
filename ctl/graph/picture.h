/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures: SVG that is written here, without a library.  It stands on white, needs no script
 * and no font but the reader's own; what its text may hold is cleaned here.
 */
#ifndef CTL_PICTURE_H
#define CTL_PICTURE_H

#include <stdio.h>

#include "panel.h"

enum {
	CTL_PICTURE_CHAR = 7, /* about as wide as a character is, at most */
	CTL_PICTURE_LINE = 16,
	CTL_PICTURE_EDGE = 12, /* empty, around all */
};

enum ctl_picture_anchor { CTL_START, CTL_MIDDLE, CTL_END };

void ctl_picture_begin(FILE *out, double width, double height, const char *title);
void ctl_picture_end(FILE *out);
/* y is the base line. */
void ctl_picture_text(FILE *out, double x, double y, enum ctl_picture_anchor anchor,
		      const char *text);
/* From the bottom up, ending at y: the head of a column. */
void ctl_picture_upward(FILE *out, double x, double y, const char *text);
/* As much of a name as fits into width, both of its ends where it is cut.  Returns text. */
const char *ctl_picture_fit(char text[CTL_LABEL], const char *name, double width);

/*
 * A cell for an edge, or where it is NULL for none: coloured by bytes, of which largest is
 * the most of all cells; hatched where it is not resolved; with a tooltip.
 */
void ctl_picture_cell(FILE *out, double x, double y, double width, double height,
		      const struct ctl_panel *panel, const struct comm_report_edge *edge,
		      double bytes, double largest);
/* The colours' meaning, in a row of some 420 units; unit: "", or "/s". */
void ctl_picture_legend(FILE *out, double x, double y, double largest, const char *unit);
/* The notes of each run, from y on; returns what is below them.  out NULL: measures alone. */
double ctl_picture_notes(FILE *out, double y, const struct ctl_panels *panels, double *ret_width);

#endif
