/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages: reports of one run as a single HTML file that needs no other and no network.  All its
 * numbers are those of reports, which the library made; the page's script only shows them.
 * What the reports do not state, it does not state either.
 */
#ifndef CTL_PAGE_H
#define CTL_PAGE_H

#include <stdio.h>

#include <comm/comm.h>

#include "comparison.h"
#include "source.h"

/* The run that a page's is compared with. */
struct ctl_page_against {
	const struct ctl_comparison *comparison;
	const char *name;
};

/* What a page is of. */
struct ctl_page_ask {
	/* Run, range, first_read and confidence are taken; of a running run the page has what was there when this began. */
	const struct comm_query *query;
	struct ctl_source *source;
	const struct ctl_page_against *against; /* NULL: the page says nothing of changes */
};

/* Returns 0 or -errno; *err as by the library, NULL where out failed. */
int ctl_page_print(FILE *out, struct comm_reader *reader, const struct ctl_page_ask *ask,
		   char **err);

#endif
