// SPDX-License-Identifier: GPL-2.0-only
#include <linux/hrtimer.h>
void cp_probe(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *));
void cp_probe(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
}
