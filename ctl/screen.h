/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The overview as text for a terminal. */
#ifndef CTL_SCREEN_H
#define CTL_SCREEN_H

#include "overview.h"
#include "term.h"

/* In 25 lines at most, for which rows are taken out of the overview where names are long. */
void ctl_screen_print(struct ctl_overview *overview);
/* A line of it, in as many lines as it takes. */
void ctl_screen_print_line(const struct ctl_term *term, const struct ctl_overview_line *line);

#endif
