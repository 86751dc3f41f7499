/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a query picks edges by, in the words of titles. */
#ifndef CTL_FILTER_TEXT_H
#define CTL_FILTER_TEXT_H

#include <comm/comm.h>

enum { CTL_FILTER_TEXT = 256 };

/* ", from or to T, in F, through O"; "": the query is for all.  Returns text. */
const char *ctl_filter_text(char text[CTL_FILTER_TEXT], const struct comm_query *query);

#endif
