/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Acyclic graphs over the course of a run (CETA's, Cuesta et al., CODES+ISSS 2006): each node
 * stands at each moment between two phases.  What was written in phase i and read in phase j is
 * an edge from its writer at the beginning of i to its reader at the end of j, so all edges lead
 * forward in time, within a phase as well.  Who wrote at a time not known stands before all.
 *
 * Drawn of panels whose query is by something and "phase", which has to be the last.
 */
#ifndef CTL_ACYCLIC_H
#define CTL_ACYCLIC_H

#include <stdio.h>

#include "panel.h"

int ctl_acyclic_dot(const struct ctl_panels *panels, FILE *out);
int ctl_acyclic_json(const struct ctl_panels *panels, FILE *out);

#endif
