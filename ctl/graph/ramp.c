// SPDX-License-Identifier: GPL-2.0-or-later
#include "ramp.h"

#include <math.h>
#include <stdio.h>

/* viridis (CC0), dark to light. */
static const unsigned char ramp[][3] = {{68, 1, 84},	{65, 68, 135},	{42, 120, 142},
					{34, 168, 132}, {122, 209, 81}, {253, 231, 37}};

enum { STEPS = sizeof(ramp) / sizeof(*ramp) - 1 };

double ctl_ramp_level(double bytes, double largest)
{
	if (!(bytes > 0) || !(largest > 0))
		return 0;
	return fmin(1, fmax(0, 1 + log10(bytes / largest) / CTL_RAMP_DECADES));
}

const char *ctl_ramp(char text[CTL_RAMP], double bytes, double largest)
{
	/* Its light end is too light for a line on white. */
	double at = 0.94 * (1 - ctl_ramp_level(bytes, largest)) * STEPS;
	int i = at < STEPS - 1 ? (int)at : STEPS - 1;
	unsigned int colour[3];

	for (int c = 0; c < 3; c++)
		colour[c] = (unsigned int)lround(ramp[i][c] +
						 (at - i) * (ramp[i + 1][c] - ramp[i][c])) &
			    0xff;
	snprintf(text, CTL_RAMP, "#%02x%02x%02x", colour[0], colour[1], colour[2]);
	return text;
}
