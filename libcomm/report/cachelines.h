/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache lines of a report: who uses which bytes of them, and whether they are shared falsely
 * (line_sharing.h has the arithmetic).
 */
#ifndef COMM_CACHELINES_H
#define COMM_CACHELINES_H

#include "reader.h"
#include "report.h"
#include "slices.h"

/* Loads what the cover's taken slices have of the run's lines into the report. */
int comm_cachelines_load(struct comm_reader *reader, const struct comm_slices *slices,
			 struct comm_report_whole *whole, char **err);

#endif
