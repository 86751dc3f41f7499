/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases: a report's range of time cut into pieces of whole slices, each of which is then a
 * report of its own.  They are of about equal length, of about as many frames, or those that the
 * library finds in what the program did.
 */
#ifndef CTL_PHASES_H
#define CTL_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include <comm/comm.h>

struct ctl_phase {
	uint64_t from_ns, to_ns; /* since the run's start; for the query of its report */
	/* Where they are of frames: those that began in it, counted from 1 on in the run. */
	uint64_t first_frame, n_frames;
};

/*
 * Cuts where a phase is of least_ns and of least_slices at least; the last takes what is left
 * over, if that is too little for one.  None, where the whole range has fewer slices than
 * least_slices.  -ENOMEM; the caller frees *ret.
 */
int ctl_phases_cut(const struct comm_report *report, uint64_t least_ns, size_t least_slices,
		   struct ctl_phase **ret, size_t *ret_n);
/*
 * What lies in the report's range of the phases that were found in its run (by "phase"): none,
 * where that is one alone.  0 or -errno, *err as by the library; the caller frees *ret.
 */
int ctl_phases_find(struct comm_reader *reader, const struct comm_report *report,
		    struct ctl_phase **ret, size_t *ret_n, char **err);
/*
 * Cuts the report's range where a phase is of least_frames and of least_slices at least, as
 * ctl_phases_cut() does; least_frames 0: so many that there are most phases at most.  Its frames are
 * those that began in its slices.  -ENODATA: the run has none.
 */
int ctl_phases_of_frames(struct comm_reader *reader, const struct comm_report *report,
			 uint64_t least_frames, size_t most, size_t least_slices,
			 struct ctl_phase **ret, size_t *ret_n, char **err);

#endif
