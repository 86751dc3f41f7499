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

static int order_phases(const void *pa, const void *pb)
{
	const struct ctl_phase *a = pa, *b = pb;

	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

int ctl_phases_find(struct comm_reader *reader, const struct comm_report *report,
		    struct ctl_phase **ret, size_t *ret_n, char **err)
{
	/* What a thread wrote itself is read in a phase, too. */
	struct comm_query query = {
		.size = sizeof(query), .run = report->run->id, .by = "phase", .self = true};
	struct comm_report *by_phase;
	struct ctl_phase *phase;
	size_t n = 0;
	int code = comm_reader_report(reader, &query, &by_phase, err);

	if (code)
		return code;
	phase = calloc(by_phase->n_nodes + 1, sizeof(*phase));
	for (size_t i = 0; phase && i < by_phase->n_nodes; i++) {
		const struct comm_node *node = comm_report_node_at(by_phase, i);

		/* The node of what was written at a time not known has no time. */
		phase[n].from_ns =
			node->from_ns > report->from_ns ? node->from_ns : report->from_ns;
		phase[n].to_ns = node->to_ns < report->to_ns ? node->to_ns : report->to_ns;
		n += phase[n].from_ns < phase[n].to_ns;
	}
	comm_report_free(by_phase);
	if (!phase)
		return -ENOMEM;
	qsort(phase, n, sizeof(*phase), order_phases);
	*ret = phase;
	*ret_n = n > 1 ? n : 0;
	return 0;
}
