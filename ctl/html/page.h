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
#include "source_file.h"

/* The run that a page's is compared with. */
struct ctl_page_against {
	const struct ctl_comparison *comparison;
	const char *name;
};

/*
 * A page that commctl serve keeps current: besides what a file has, it asks where it came from for the runs that there are, and to be
 * told when the store is written.
 */
struct ctl_page_live {
	int64_t run; /* 0: the latest, whichever that is */
	uint64_t version;
};

/* What a page is of. */
struct ctl_page_ask {
	/* Run, range, first_read and confidence are taken; of a running run the page has what was there when this began. */
	const struct comm_query *query;
	struct ctl_source *source;
	const struct ctl_page_against *against; /* NULL: the page says nothing of changes */
	const struct ctl_page_live *live;	/* NULL: the page is a file */
};

/* Returns 0 or -errno; *err as by the library, NULL where out failed. */
int ctl_page_print(FILE *out, struct comm_reader *reader, const struct ctl_page_ask *ask,
		   char **err);
/* In place of a page that cannot be made: a sentence, and what a page has that is kept current. */
void ctl_page_print_problem(FILE *out, const char *sentence, const struct ctl_page_live *live);

#endif
