// SPDX-License-Identifier: GPL-2.0-or-later
#include "estimator.h"

#include <stddef.h>
#include <string.h>

enum { MEMORY_MIN_BYTES = 4 << 20 };

#define ROW(name) &comm_est_##name,
const struct comm_est_ops *const comm_estimators[] = {COMM_ESTIMATORS(ROW) NULL};

const struct comm_est_ops *comm_est_find(const char *name)
{
	if (!name)
		return NULL;
	for (size_t i = 0; comm_estimators[i]; i++)
		if (!strcmp(comm_estimators[i]->name, name))
			return comm_estimators[i];
	return NULL;
}

uint64_t comm_est_memory(const struct comm_est_config *config)
{
	if (!config->memory_bytes)
		return 0;
	return config->memory_bytes < MEMORY_MIN_BYTES ? MEMORY_MIN_BYTES : config->memory_bytes;
}
