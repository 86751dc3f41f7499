// SPDX-License-Identifier: GPL-2.0-or-later
#include "estimator.h"

enum { MEMORY_MIN_BYTES = 4 << 20 };

#ifndef COMM_ABLATE /* there tests/truth/baseline/ says which */
const struct comm_est_ops *comm_estimator(void)
{
	return &comm_est_hazard;
}
#endif

uint64_t comm_est_memory(const struct comm_est_config *config)
{
	if (!config->memory_bytes)
		return 0;
	return config->memory_bytes < MEMORY_MIN_BYTES ? MEMORY_MIN_BYTES : config->memory_bytes;
}
