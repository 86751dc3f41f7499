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

/* The slices of the range, and in *ret_before how many frames began before these. */
static size_t find_slices(const struct comm_report *by_frame, const struct comm_report *report,
			  size_t *ret_first, uint64_t *ret_before)
{
	size_t n = 0;

	*ret_first = 0;
	*ret_before = 0;
	for (size_t i = 0; i < by_frame->n_slices; i++) {
		const struct comm_report_slice *slice = comm_report_slice_at(by_frame, i);

		if (slice->end_ns <= report->from_ns) {
			*ret_first = i + 1;
			*ret_before += slice->frames;
		} else if (slice->start_ns < report->to_ns) {
			n++;
		}
	}
	return n;
}

static uint64_t count_frames(const struct comm_report *by_frame, size_t first, size_t n)
{
	uint64_t frames = 0;

	for (size_t i = first; i < first + n; i++)
		frames += comm_report_slice_at(by_frame, i)->frames;
	return frames;
}

/* Returns how many phases there are. */
static size_t cut_frames(const struct comm_report *by_frame, size_t first, size_t n,
			 uint64_t before, uint64_t least_frames, size_t least_slices,
			 struct ctl_phase *phase)
{
	uint64_t left = count_frames(by_frame, first, n);
	size_t in_phase = 0, n_phases = 0;

	for (size_t i = 0; i < n; i++) {
		const struct comm_report_slice *slice = comm_report_slice_at(by_frame, first + i);
		struct ctl_phase *at = &phase[n_phases];
		bool is_rest;

		if (!in_phase++)
			*at = (struct ctl_phase){.from_ns = slice->start_ns,
						 .first_frame = before + 1};
		at->to_ns = slice->end_ns;
		at->n_frames += slice->frames;
		before += slice->frames;
		left -= slice->frames;
		is_rest = i + 1 < n && (n - i - 1 < least_slices || left < (least_frames + 1) / 2);
		if (in_phase < least_slices || at->n_frames < least_frames || is_rest)
			continue;
		n_phases++;
		in_phase = 0;
	}
	return n_phases + (in_phase > 0);
}

int ctl_phases_of_frames(struct comm_reader *reader, const struct comm_report *report,
			 uint64_t least_frames, size_t most, size_t least_slices,
			 struct ctl_phase **ret, size_t *ret_n, char **err)
{
	/* Of the whole run, as frames are numbered from its beginning. */
	struct comm_query query = {
		.size = sizeof(query), .run = report->run->id, .by = "frame", .self = true};
	struct comm_report *by_frame;
	uint64_t before, frames;
	size_t first, n;
	int code = comm_reader_report(reader, &query, &by_frame, err);

	if (code)
		return code;
	n = find_slices(by_frame, report, &first, &before);
	frames = count_frames(by_frame, first, n);
	if (!least_frames)
		least_frames = (frames + most - 1) / most;
	*ret = calloc(n + 1, sizeof(**ret));
	if (*ret)
		*ret_n = cut_frames(by_frame, first, n, before, least_frames, least_slices, *ret);
	comm_report_free(by_frame);
	return *ret ? 0 : -ENOMEM;
}
