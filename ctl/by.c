// SPDX-License-Identifier: GPL-2.0-or-later
#include "by.h"

#include <stdio.h>
#include <string.h>

#include <comm/comm.h>

void ctl_by_options(struct argp_option *option, const struct argp_option *rest, size_t n)
{
	static char name[CTL_BY_MAX][40];
	const struct comm_grouping *const *groupings = comm_groupings();

	*option++ = (struct argp_option){.doc = "What stands for a node:", .group = 1};
	for (int i = 0; i < CTL_BY_MAX && groupings[i]; i++) {
		snprintf(name[i], sizeof(name[i]), "by-%s", groupings[i]->name);
		*option++ = (struct argp_option){
			.name = name[i], .key = CTL_BY_NAMED + i, .doc = groupings[i]->help};
	}
	*option++ = (struct argp_option){
		.name = "by",
		.key = CTL_BY,
		.arg = "NAME",
		.doc = "One of the following, or several: thread,function; default thread"};
	memcpy(option, rest, n * sizeof(*rest));
}

error_t ctl_by_parse(int key, const char *arg, struct argp_state *state, const char **by)
{
	const struct comm_grouping *const *groupings = comm_groupings();
	int i = 0;

	if (key < CTL_BY)
		return ARGP_ERR_UNKNOWN;
	while (groupings[i] &&
	       (key == CTL_BY ? strcmp(groupings[i]->name, arg) : key != CTL_BY_NAMED + i))
		i++;
	/* Several at once: the library says what goes together. */
	if (!groupings[i] && key == CTL_BY && strchr(arg, ',')) {
		*by = arg;
		return 0;
	}
	if (!groupings[i]) {
		if (key != CTL_BY)
			return ARGP_ERR_UNKNOWN;
		argp_error(state, "there is no --by-%s to say --by %s for", arg, arg);
		return EINVAL;
	}
	*by = groupings[i]->name;
	return 0;
}
