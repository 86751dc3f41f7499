// SPDX-License-Identifier: GPL-2.0-or-later
#include "filter_options.h"

#include <stdio.h>

#include "term.h"

enum { NAME = 64 };

error_t ctl_filter_parse(int key, const char *arg, struct comm_query *query)
{
	switch (key) {
	case 't':
		query->thread = arg;
		return 0;
	case CTL_FILTER_FUNCTION:
		query->function = arg;
		return 0;
	case CTL_FILTER_OBJECT:
		query->object = arg;
		return 0;
	case CTL_FILTER_FIRST_READ:
		query->first_read = true;
		return 0;
	case CTL_FILTER_FRESH:
		query->fresh = 1;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

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
