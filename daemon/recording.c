// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "out_file.h"
#include "privilege.h"

/*
 * With the rights of the user that it will belong to: who may call sudo for commd alone would
 * have a file of its own in any directory.
 */
static int create(const char *path, const struct comm_record_head *head, struct comm_record **ret)
{
	int err = comm_privilege_set_aside(true);

	if (!err)
		err = comm_record_create(path, head, ret);
	return comm_privilege_set_aside(false) ? -EPERM : err;
}

int comm_recording_create(const struct comm_session *session, const struct comm_run_info *info,
			  double cycles_per_ns, struct comm_record **ret)
{
	const struct comm_options *options = session->options;
	struct comm_record_head head = {
		.cycles_per_ns = cycles_per_ns,
		.start_ns = info->start_ns,
		.start_unix_ns = info->start_unix_ns,
		.overhead_limit = info->overhead_limit,
	};
	int err;

	snprintf(head.source, sizeof(head.source), "%s", info->source);
	snprintf(head.event, sizeof(head.event), "%s", info->event);
	snprintf(head.estimator, sizeof(head.estimator), "%s", info->estimator);
	snprintf(head.host, sizeof(head.host), "%s", info->host);
	snprintf(head.command, sizeof(head.command), "%s", info->command);
	snprintf(head.numa, sizeof(head.numa), "%s", info->numa);
	if (options->function && strlen(options->function) >= sizeof(head.function)) {
		fprintf(stderr,
			"commd: a recording holds a --function of at most %zu bytes: give a "
			"shorter pattern\n",
			sizeof(head.function) - 1);
		return -ENAMETOOLONG;
	}
	snprintf(head.function, sizeof(head.function), "%s",
		 options->function ? options->function : "");
	if (comm_session_has_file(session, options->record)) {
		fprintf(stderr,
			"commd: cannot record to %s: it is the store %s, or beside it; "
			"name another file\n",
			options->record, options->store);
		return -EEXIST;
	}
	err = create(options->record, &head, ret);
	if (err)
		fprintf(stderr, "commd: cannot record to %s as user %u: %s\n", options->record,
			(unsigned int)geteuid(),
			err == -ENOTBLK ? "it is no regular file" : strerror(-err));
	return err;
}

uint64_t comm_recording_look(struct comm_record *record, const char *path, uint64_t told)
{
	uint64_t lost;
	int err;

	if (!record)
		return 0;
	comm_record_look(record);
	lost = comm_record_lost(record, &err);
	if (!lost || told)
		return lost;
	fprintf(stderr, "commd: recording to %s stopped: %s\n", path, comm_out_file_why(err));
	return lost;
}
