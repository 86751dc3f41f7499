/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of a page: JSON that may stand in an HTML <script> element.  Names of threads,
 * functions and objects come from observed programs: no character of a text can end the
 * element or open a comment, and none that is invisible or turns the direction of writing is
 * left.  Not for other programs: numbers have five digits.
 */
#ifndef CTL_DATA_H
#define CTL_DATA_H

#include <stdint.h>
#include <stdio.h>

/* A quoted text; an overlong one is cut, with an ellipsis. */
void ctl_data_text(FILE *out, const char *text);
/* At most five significant digits, as short as can be; null when not finite. */
void ctl_data_number(FILE *out, double value);
/* As ctl_data_text() and ctl_data_number(), as a member "name": with a comma behind. */
void ctl_data_member_text(FILE *out, const char *name, const char *text);
void ctl_data_member(FILE *out, const char *name, double value);
/* All digits. */
void ctl_data_member_count(FILE *out, const char *name, uint64_t value);

#endif
