/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of options.  A value that an option cannot take ends the program with a sentence and
 * argp's exit code.
 */
#ifndef CTL_ARGUMENT_H
#define CTL_ARGUMENT_H

#include <argp.h>
#include <stdint.h>

/* "10s", "2m", "-30s": nanoseconds */
int64_t ctl_time_argument(struct argp_state *state, const char *option, const char *arg);
/* A whole number from least on */
uint64_t ctl_count_argument(struct argp_state *state, const char *option, uint64_t least,
			    const char *arg);
/* "5", "5%" from least to most, as it stands: 5 */
double ctl_number_argument(struct argp_state *state, const char *option, const char *arg,
			   double least, double most);
/* "5", "5%" from 0 to 100, as a share: 0.05 */
double ctl_percent_argument(struct argp_state *state, const char *option, const char *arg);

#endif
