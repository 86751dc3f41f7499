// SPDX-License-Identifier: GPL-2.0-or-later
#include "by.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <comm/comm.h>

#include "choice.h"

enum { BY_NAMES = 512 };

size_t ctl_by_options(struct argp_option *option)
{
	static char name[CTL_BY_MAX][40];
	const struct comm_grouping *const *groupings = comm_groupings();
	int i;

	*option++ = (struct argp_option){.doc = "What stands for a node:", .group = 1};
	for (i = 0; i < CTL_BY_MAX && groupings[i]; i++) {
		snprintf(name[i], sizeof(name[i]), "by-%s", groupings[i]->name);
		*option++ = (struct argp_option){
			.name = name[i], .key = CTL_BY_NAMED + i, .doc = groupings[i]->help};
	}
	return i + 1;
}

static bool is_grouping(const char *name, size_t n)
{
	const struct comm_grouping *const *groupings = comm_groupings();

	for (int i = 0; groupings[i]; i++)
		if (strlen(groupings[i]->name) == n && !strncmp(groupings[i]->name, name, n))
			return true;
	return false;
}

/* Several at once: the library says what goes together. */
static void check(struct argp_state *state, const char *arg)
{
	const struct comm_grouping *const *groupings = comm_groupings();
	char names[BY_NAMES] = "", part[BY_NAMES];
	size_t n;

	for (int i = 0; groupings[i]; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? " " : "",
			 groupings[i]->name);
	for (const char *at = arg;; at += n + 1) {
		n = strcspn(at, ",");
		if (!is_grouping(at, n)) {
			snprintf(part, sizeof(part), "%.*s", (int)n, at);
			comm_choice_error(state, "grouping", part, names);
		}
		if (!at[n])
			return;
	}
}

error_t ctl_by_parse(int key, const char *arg, struct argp_state *state, const char **by)
{
	const struct comm_grouping *const *groupings = comm_groupings();
	int i = 0;

	if (key == CTL_BY) {
		check(state, arg);
		*by = arg;
		return 0;
	}
	while (groupings[i] && key != CTL_BY_NAMED + i)
		i++;
	if (!groupings[i])
		return ARGP_ERR_UNKNOWN;
	*by = groupings[i]->name;
	return 0;
}
