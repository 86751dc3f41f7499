/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drawings: panels as a graph for other tools, or as a picture.  A drawing is one file of this
 * folder, which defines ctl_draw_NAME(), and one line of the table here, which "commctl graph
 * --as NAME" and its help are made from.  It must do with reports without nodes and edges.
 *
 * Text comes from labels, which are UTF-8 (utf8.h), or is foreign: each drawing escapes it.
 */
#ifndef CTL_DRAWING_H
#define CTL_DRAWING_H

#include <stdio.h>

#include "panel.h"

/*
 * DRAWING(name, top, min_share_pct, phases, help): top edges of a panel at most (0: all), and
 * those of min_share_pct at least, are drawn unless the user says otherwise; with phases it is
 * of the course of time, so the panels always have phases, that many at most.  The first is
 * the default.
 */
#define CTL_DRAWINGS(DRAWING)                                                                 \
	/* Graphviz takes minutes over thousands of edges. */                                 \
	DRAWING(dot, 60, 1, 0, "for Graphviz, the default")                                   \
	DRAWING(svg, 60, 1, 0, "a picture of the graph, which Graphviz's dot lays out")       \
	DRAWING(graphml, 0, 0, 0, "for yEd, Gephi and networkx")                              \
	DRAWING(json, 0, 0, 0, "for programs: as of commctl report; several of them: panels") \
	DRAWING(matrix, 0, 0, 0, "a picture, SVG: who writes in rows, who reads in columns")  \
	DRAWING(streams, 24, 0, 48, "a picture, SVG: the largest edges over the course of time")

/* 0, -errno, or a positive exit code after a sentence on stderr; out shows errors of its own. */
#define CTL_DRAWING_DECLARE(name, top, min_share_pct, phases, help) \
	int ctl_draw_##name(const struct ctl_panels *panels, FILE *out);
CTL_DRAWINGS(CTL_DRAWING_DECLARE)
#undef CTL_DRAWING_DECLARE

#endif
