/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one sampling interrupt costs on this machine, ns: 1 us on bare metal,
 * 15 us on a nested virtual machine, so it has to be measured.  Takes less than
 * 250 ms on one CPU.
 */
#ifndef COMM_CALIBRATE_H
#define COMM_CALIBRATE_H

#include <stdbool.h>

struct comm_calibration {
	double interrupt_ns;
	bool measured; /* false: a guess, because it could not be measured */
};

void comm_calibrate(struct comm_calibration *ret);

#endif
