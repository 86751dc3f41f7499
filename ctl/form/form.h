/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output forms: how a report goes to stdout.  A form is one file of this
 * folder, which defines ctl_form_NAME(), and one line of the table here, which
 * "commctl report --as NAME" and its help are made from.  A form must do with a
 * report that has no node and no edge, and with names that hold any bytes.
 */
#ifndef CTL_FORM_H
#define CTL_FORM_H

#include <stdio.h>

#include <comm/comm.h>

#include "panel.h"

/*
 * FORM(name, top, min_share_pct, resolved, help): top edges at most (0: all) and those of
 * min_share_pct at least are shown, resolved ones alone or all, unless the user says
 * otherwise.  The first is the default.
 */
#define CTL_FORMS(FORM)                                                        \
	FORM(text, 20, 0.1, true, "for people, the default: matrix and table") \
	FORM(json, 0, 0, false, "for programs: one object")                    \
	FORM(csv, 0, 0, false, "for spreadsheets: one line per edge")          \
	FORM(graphml, 0, 0, false, "for yEd, Gephi and networkx: a graph")     \
	/* Graphviz takes minutes over thousands of edges. */                  \
	FORM(dot, 60, 0, false, "for Graphviz: a drawing")

struct ctl_form {
	const char *name;
	size_t top;
	double min_share_pct;
	bool resolved;
	void (*print)(const struct comm_query *query, const struct comm_report *report);
};

#define CTL_FORM_DECLARE(name, top, min_share_pct, resolved, help) \
	void ctl_form_##name(const struct comm_query *query, const struct comm_report *report);
CTL_FORMS(CTL_FORM_DECLARE)
#undef CTL_FORM_DECLARE

/* As text, without how the run was made, the account of all reads, losses and the method. */
void ctl_form_text_brief(const struct comm_query *query, const struct comm_report *report);
/* The members of what ctl_form_json() prints, for an object that holds several reports. */
struct ctl_json;
void ctl_form_json_members(struct ctl_json *json, const struct comm_report *report);
/* Prints a report as a drawing of it alone. */
void ctl_form_draw(const struct comm_query *query, const struct comm_report *report,
		   int (*draw)(const struct ctl_panels *panels, FILE *out));

/* The form of that name, the default one for a NULL name; returns NULL: no such form. */
const struct ctl_form *ctl_form_find(const char *name);

#endif
