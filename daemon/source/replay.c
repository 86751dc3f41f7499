// SPDX-License-Identifier: GPL-2.0-or-later
/* The source that replays a recording of `commd --record FILE`; no target is needed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "privilege.h"
#include "replay.h"
#include "session.h"
#include "source.h"
#include "stop.h"

static void say_unreadable(const char *path, int err, const char *then)
{
	const char *what = comm_replay_strerror(err);

	if (what)
		fprintf(stderr, "commd: %s %s%s\n", path, what, then);
	else
		fprintf(stderr, "commd: cannot read %s: %s%s\n", path, strerror(-err), then);
}

static int run(const struct comm_options *options)
{
	struct comm_session session = {0};
	const struct comm_record_head *head;
	struct comm_replay *replay;
	struct comm_event event;
	struct comm_inspect inspect;
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
	got = comm_replay_open(options->source_arg, &replay);
	if (got) {
		say_unreadable(options->source_arg, got, "");
		return 1;
	}
	head = comm_replay_head(replay);
	if (comm_session_open_store(&session, options))
		goto out;
	/* Of other code it has fewer samples, and is no run of the whole program. */
	if (!session.function && *head->function)
		session.function = head->function;
	comm_replay_inspect(replay, &inspect);
	if (comm_session_begin(&session,
			       &(struct comm_run_info){
				       .source = "replay",
				       .event = head->event,
				       .estimator = comm_estimator()->name,
				       .error_model = &comm_estimator()->error_model,
				       .command = head->command,
				       .host = head->host,
				       .numa = head->numa,
				       .start_ns = head->start_ns,
				       .start_unix_ns = head->start_unix_ns,
				       .overhead_limit = head->overhead_limit,
				       .granularity_bytes = options->granularity_bytes,
				       .notes = "",
			       },
			       &inspect,
			       &(struct comm_est_config){
				       .granularity_bytes = options->granularity_bytes,
				       .cycles_per_ns = head->cycles_per_ns,
			       },
			       options->slice_ns))
		goto out;
	if (comm_privilege_drop(options->store, COMM_REST_FILE, NULL, NULL))
		goto out;
	while (!comm_stop_told() && !comm_session_lost(&session) &&
	       (got = comm_replay_next(replay, &event)) == 1) {
		comm_engine_event(session.engine, &event);
		comm_session_progress(&session, event.time_ns);
	}
	status = comm_session_end(&session, comm_replay_end_ns(replay),
				  comm_session_lost(&session) ? comm_session_lost(&session)
				  : comm_stop_told()	      ? "interrupted"
				  : got < 0		      ? "damage in the recording"
				  : comm_replay_cut(replay)   ? "recording cut short"
							      : "end of recording");
	if (got < 0) {
		say_unreadable(options->source_arg, got, "; what came before is stored");
		status = 1;
	} else if (comm_replay_cut(replay)) {
		fprintf(stderr,
			"commd: %s was cut short (was commd killed?): replayed up to its last "
			"whole record\n",
			options->source_arg);
	}
out:
	status = comm_session_deinit(&session, status);
	comm_replay_close(replay);
	return status;
}

const struct comm_source comm_source_replay = {
	.name = "replay",
	.help = "a recording that --record has written, without its target; on request",
	.arg = "FILE",
	.needs_arg = true,
	.of_file = true,
	.run = run,
};
