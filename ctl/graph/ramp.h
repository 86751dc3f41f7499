/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ramp: bytes as a colour on white, by their logarithm: as in the page of commctl html. */
#ifndef CTL_RAMP_H
#define CTL_RAMP_H

#include <stdbool.h>

enum { CTL_RAMP = 8, CTL_RAMP_DECADES = 4 };

/* "#440154" for the largest, "#fde725" for what is CTL_RAMP_DECADES below it.  Returns text. */
const char *ctl_ramp(char text[CTL_RAMP], double bytes, double largest);
/* 1 for the largest, 0 for what is CTL_RAMP_DECADES below it, or less. */
double ctl_ramp_level(double bytes, double largest);

#endif
