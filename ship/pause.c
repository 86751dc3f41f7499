// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause.h"

uint64_t ship_pause_ms(unsigned int failures, uint64_t random)
{
	uint64_t ms = SHIP_PAUSE_LEAST_MS;

	while (failures-- > 1 && ms < SHIP_PAUSE_MOST_MS)
		ms *= 2;
	if (ms > SHIP_PAUSE_MOST_MS)
		ms = SHIP_PAUSE_MOST_MS;
	return ms - ms / 4 + random % (ms / 2 + 1);
}
