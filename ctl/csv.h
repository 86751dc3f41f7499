/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of CSV, as RFC 4180 has them. */
#ifndef CTL_CSV_H
#define CTL_CSV_H

#include <stdio.h>

/*
 * A quoted field.  A spreadsheet runs a field that begins like a formula, and names come from
 * foreign programs, so such a one gets an apostrophe.
 */
void ctl_csv_field(FILE *out, const char *text);

#endif
