/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pause before a sink that failed is tried again: twice as long each time, up to five minutes, and of each host another, so that a
 * fleet does not come back at once.
 */
#ifndef SHIP_PAUSE_H
#define SHIP_PAUSE_H

#include <stdint.h>

enum { SHIP_PAUSE_LEAST_MS = 1000, SHIP_PAUSE_MOST_MS = 300000 };

/* failures: in a row, from 1 on; random: any number.  Within a quarter of its length either way. */
uint64_t ship_pause_ms(unsigned int failures, uint64_t random);

#endif
