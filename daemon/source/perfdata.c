// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source that takes the samples out of a file of perf record, so that people who have
 * PEBS, IBS or SPE need nothing but perf on that machine; no target is needed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata.h"
#include "privilege.h"
#include "session.h"
#include "source.h"
#include "stop.h"

static int say(int err, char *why, const char *then)
{
	fprintf(stderr, "commd: %s%s\n", why ? why : strerror(-err), then);
	free(why);
	return 1;
}

static int begin(struct comm_session *session, struct comm_perfdata *data,
		 const struct comm_inspect *inspect, uint64_t start_ns)
{
	const struct comm_options *options = session->options;
	const struct comm_perfdata_info *info = comm_perfdata_info(data);
	const struct comm_event rate = {
		.kind = COMM_EV_RATE,
		.time_ns = start_ns,
		.trigger = COMM_TRIGGER_ACCESSES,
		.period = 1, /* samples bring their own */
	};
	int err = comm_session_begin(
		session,
		&(struct comm_run_info){
			.source = "perfdata",
			.event = info->events,
			.estimator = comm_estimator()->name,
			.error_model = &comm_estimator()->error_model,
			.command = info->command,
			.host = info->host,
			.start_ns = start_ns,
			.start_unix_ns = info->written_unix_ns - info->duration_ns,
			.granularity_bytes = options->granularity_bytes,
			.notes = info->notes,
		},
		inspect,
		&(struct comm_est_config){
			.granularity_bytes = options->granularity_bytes,
		},
		options->slice_ns);

	if (!err)
		comm_engine_event(session->engine, &rate);
	return err;
}

/* What a reader of the report should know, and the store has no place for. */
static void say_missing(const struct comm_options *options, const struct comm_perfdata *data)
{
	struct comm_perfdata_passed passed;
	const char *path;
	uint64_t absent = comm_perfdata_absent(data, &path);

	comm_perfdata_passed(data, &passed);
	if (absent)
		fprintf(stderr,
			"commd: %" PRIu64
			" of the recorded files, %s first, are not here: their code "
			"is named by file and offset, and the size of its accesses is a guess; "
			"'perf archive' on the other machine packs them, to be unpacked in "
			"~/.debug\n",
			absent, path);
	if (options->quiet || !options->verbose)
		return;
	fprintf(stderr, "  %" PRIu64 " samples of the kernel's code left out\n", passed.kernel);
	fprintf(stderr, "  %" PRIu64 " samples of no memory access left out\n", passed.other);
}

static int run(const struct comm_options *options)
{
	struct comm_session session = {0};
	struct comm_perfdata *data;
	struct comm_inspect inspect;
	struct comm_event event;
	char *why = NULL;
	int got, status = 1;

	if (comm_privilege_become_user(options->store, true)) {
		fprintf(stderr, "commd: cannot become the user behind sudo\n");
		return 1;
	}
	got = comm_stop_catch();
	if (got) {
		fprintf(stderr, "commd: cannot catch signals: %s\n", strerror(-got));
		return 1;
	}
	got = comm_perfdata_open(options->source_arg, &data, &why);
	if (got)
		return say(got, why, "");
	got = comm_perfdata_inspect(data, &inspect);
	if (got) {
		say(got, NULL, ": no process can be made to read symbols");
		goto out;
	}
	/* The run begins with the first event. */
	got = comm_perfdata_next(data, &event, &why);
	if (got <= 0) {
		if (got < 0) {
			say(got, why, "");
		} else {
			fprintf(stderr, "commd: %s holds no samples\n", options->source_arg);
			status = 3;
		}
		goto out;
	}
	if (comm_session_open_store(&session, options) ||
	    begin(&session, data, &inspect, event.time_ns) ||
	    comm_privilege_drop(options->store, COMM_REST_NAMED_FILES, NULL, NULL))
		goto out;
	do {
		comm_engine_event(session.engine, &event);
		comm_session_progress(&session, event.time_ns);
	} while (!comm_stop_told() && !comm_session_lost(&session) &&
		 (got = comm_perfdata_next(data, &event, &why)) == 1);
	status = comm_session_end(&session, comm_perfdata_end_ns(data) + 1,
				  comm_session_lost(&session) ? comm_session_lost(&session)
				  : comm_stop_told()	      ? "interrupted"
				  : got < 0		      ? "damage in the file"
				  : comm_perfdata_cut(data)   ? "file cut short"
							      : "end of file");
	say_missing(options, data);
	if (got < 0)
		status = say(got, why, "; what came before is stored");
	else if (comm_perfdata_cut(data))
		fprintf(stderr,
			"commd: %s was cut short (was perf killed?): read up to its last whole "
			"record\n",
			options->source_arg);
out:
	status = comm_session_deinit(&session, status);
	comm_perfdata_close(data);
	return status;
}

const struct comm_source comm_source_perfdata = {
	.name = "perfdata",
	.help = "a perf.data of perf mem record, PEBS, IBS or SPE; on request",
	.arg = "FILE",
	.needs_arg = true,
	.of_file = true,
	.run = run,
};
