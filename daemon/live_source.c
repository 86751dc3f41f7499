// SPDX-License-Identifier: GPL-2.0-or-later
#include "live_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "breakpoints.h"
#include "preflight.h"
#include "self_test.h"

/* Are the addresses of its precise samples true?  It says so where they are not. */
static bool is_true(const struct comm_source *source, const char *arg)
{
	struct comm_self_test counts;
	char *why = NULL;
	bool is = !*arg || !comm_self_test(source, arg, &counts, &why);

	if (!is)
		fprintf(stderr, "commd: %s:%s is not taken: %s\n", source->name, arg,
			why ? why : "it cannot be tested");
	free(why);
	return is;
}

/* The next that "auto" may take. */
static const struct comm_source *next_source(struct comm_live_source *live,
					     const struct comm_options *options, char **why)
{
	const struct comm_source *source;

	do {
		free(*why);
		*why = NULL;
		source = comm_source_choose(&live->next, &live->arg, why);
	} while (source && ((options->counters.wanted && !source->sampler->count) ||
			    !is_true(source, live->arg)));
	return source;
}

int comm_live_source_choose(struct comm_live_source *live, const struct comm_options *options,
			    char **err)
{
	live->source = options->source;
	live->arg = options->source_arg;
	if (live->source == &comm_source_auto)
		live->source = next_source(live, options, err);
	if (!live->source)
		return -ENOENT;
	live->sampler = live->source->sampler;
	if (options->counters.wanted && !live->sampler->count)
		return comm_source_fail(err, -EOPNOTSUPP,
					"the source %s does not count threads: use --source bpf",
					live->source->name);
	if (!comm_region_probe_list_is_empty(&options->probes) && !live->sampler->probes)
		return comm_source_fail(
			err, -EOPNOTSUPP, "the source %s sees no probes: %s wants bpf",
			live->source->name, options->probes.n ? "--region-probe" : "--frame-probe");
	return 0;
}

/*
 * How much of the stack is captured: where callers of callers are asked for, as far as their frames
 * go, of which PostgreSQL's take some 200 bytes each.
 */
static uint32_t stack_bytes(uint32_t callers)
{
	enum { CALLER_BYTES = 256 };
	uint32_t bytes = comm_sampler_defaults.stack_bytes;

	if (callers > 1)
		bytes += (callers - 1) * CALLER_BYTES;
	return bytes < COMM_SAMPLER_STACK_MAX ? bytes : COMM_SAMPLER_STACK_MAX;
}

static int try_source(struct comm_live_source *live, const struct comm_sampler_config *config,
		      char **why)
{
	int err = live->sampler->open(config, &live->handle, why);

	if (!err && !comm_preflight_descriptors()) {
		live->sampler->close(live->handle);
		live->handle = NULL;
		err = comm_source_fail(why, -EMFILE,
				       "too few file descriptors are left (raise 'ulimit -n')");
	}
	return err;
}

/*
 * Where debug registers can be set but do not trap, a source that opens windows by itself would say of all
 * data that nobody writes them.
 */
static int check_watches(const struct comm_options *options, char **err)
{
	char *why = NULL;
	int rc = options->watch_per_s ? comm_breakpoints_probe(&why) : 0;

	if (rc == -ENOTSUP) {
		*err = why;
		return rc;
	}
	free(why);
	return 0;
}

int comm_live_source_open(struct comm_live_source *live, const struct comm_options *options,
			  struct comm_target *target, struct comm_inspect *inspect,
			  uint32_t interrupt_ns, char **err)
{
	struct comm_sampler_config config = comm_sampler_defaults;
	bool is_auto = options->source == &comm_source_auto &&
		       comm_region_probe_list_is_empty(&options->probes);
	const struct comm_source *next;
	char *none = NULL;
	int rc;

	config.target = target;
	config.arg = live->arg;
	config.stack_bytes = stack_bytes(options->callers);
	config.watch_per_s = options->watch_per_s;
	rc = check_watches(options, err);
	if (rc)
		return rc;
	config.debug_registers = options->debug_registers;
	config.counters = &options->counters;
	config.probes = &options->probes;
	config.inspect = inspect;
	config.chooses = options->function != NULL;
	config.interrupt_ns = interrupt_ns;
	rc = try_source(live, &config, err);
	while (rc && is_auto) {
		next = next_source(live, options, &none);
		free(none);
		none = NULL;
		if (!next)
			break;
		fprintf(stderr, "commd: %s: %s\n", live->source->name, *err ? *err : strerror(-rc));
		free(*err);
		*err = NULL;
		live->source = next;
		live->sampler = next->sampler;
		config.arg = live->arg;
		rc = try_source(live, &config, err);
	}
	if (rc)
		return rc;
	live->sampler->info(live->handle, &live->info);
	if (is_auto && *live->arg && !options->quiet)
		fprintf(stderr,
			"commd: this machine samples memory accesses itself (%s), and a test found "
			"them "
			"true: --source %s:%s; copies by the kernel, first writes and bursts with "
			"memory "
			"are of --source bpf\n",
			live->info.event, live->source->name, live->arg);
	return 0;
}

void comm_live_source_close(struct comm_live_source *live)
{
	if (live->handle)
		live->sampler->close(live->handle);
}
