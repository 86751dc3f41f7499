// SPDX-License-Identifier: GPL-2.0-or-later
#include "run.h"

#include <string.h>

#include "number.h"

void ctl_run_parse(struct argp_state *state, const char *arg, struct comm_query *query)
{
	uint64_t run = 0;

	if (!*arg || *arg == '-' || (ctl_parse_count(arg, INT64_MAX, &run) && !run))
		argp_error(state, "--run wants a run's number, from 1 on, or its label, not '%s'",
			   arg);
	query->run = (int64_t)run;
	query->label = run ? NULL : arg;
}

int64_t ctl_run_find(const struct comm_runs *runs, const char *name)
{
	uint64_t number = 0;
	bool is_number = ctl_parse_count(name, INT64_MAX, &number);

	for (size_t i = comm_runs_count(runs); i-- > 0;) {
		const struct comm_run *run = comm_runs_at(runs, i);

		if (is_number ? run->id == (int64_t)number : !strcmp(run->label, name))
			return run->id;
	}
	return 0;
}
