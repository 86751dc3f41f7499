// SPDX-License-Identifier: GPL-2.0-or-later
#include "phases.h"

#include <errno.h>
#include <stdlib.h>

int ctl_phases_cut(const struct comm_report *report, uint64_t least_ns, size_t least_slices,
		   struct ctl_phase **ret, size_t *ret_n)
{
	size_t n = report->n_slices, in_phase = 0, n_phases = 0;
	struct ctl_phase *phase = calloc(n + 1, sizeof(*phase));

	if (!phase)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct comm_report_slice *slice = comm_report_slice_at(report, i);
		const struct comm_report_slice *last = comm_report_slice_at(report, n - 1);
		bool is_rest = i + 1 < n && (n - i - 1 < least_slices ||
					     last->end_ns - slice->end_ns < least_ns / 2);

		if (!in_phase++)
			phase[n_phases].from_ns = slice->start_ns;
		phase[n_phases].to_ns = slice->end_ns;
		if (in_phase < least_slices || slice->end_ns - phase[n_phases].from_ns < least_ns ||
		    is_rest)
			continue;
		n_phases++;
		in_phase = 0;
	}
	n_phases += in_phase && in_phase >= least_slices;
	*ret = phase;
	*ret_n = n_phases;
	return 0;
}
