// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_text.h"

#include <stdio.h>

#include "term.h"

enum { NAME = 64 };

const char *ctl_filter_text(char text[CTL_FILTER_TEXT], const struct comm_query *query)
{
	const struct {
		const char *is, *name;
	} filters[] = {
		{"written by ", query->writer},
		{"from or to ", query->thread},
		{"in ", query->function},
		{"through ", query->object},
	};
	char name[NAME];
	int n = 0;

	text[0] = '\0';
	/* Four names and their words fit. */
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
		if (filters[i].name)
			n += snprintf(text + n, CTL_FILTER_TEXT - n, ", %s%s", filters[i].is,
				      ctl_clean(name, sizeof(name), filters[i].name, NAME - 1));
	return text;
}
