// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler.h"

#include <errno.h>

#include "source.h"

const struct comm_sampler_config comm_sampler_defaults = {
	.trigger = COMM_WANT_ANY,
	.stack_bytes = 512,
	.max_lines = COMM_SAMPLER_LINES_MAX,
	.switches = true,
	.debug_registers = 1,
};

int comm_sampler_check(const struct comm_sampler_config *config, char **err)
{
	if (!config->target)
		return comm_source_fail(err, -EINVAL, "there is no target to sample");
	if (!config->stack_bytes || config->stack_bytes % 64 ||
	    config->stack_bytes > COMM_SAMPLER_STACK_MAX)
		return comm_source_fail(err, -EINVAL, "stack bytes are a multiple of 64 up to %d",
					COMM_SAMPLER_STACK_MAX);
	if (config->max_lines > COMM_SAMPLER_LINES_MAX)
		return comm_source_fail(err, -EINVAL, "a sample has at most %d lines",
					COMM_SAMPLER_LINES_MAX);
	return 0;
}
