// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"

static int put_profile(const struct comm_query *query, const struct comm_report *report,
		       struct ship_batch *batch, char **err)
{
	const struct ctl_export export = {
		.query = query, .report = report, .all = true, .added_up = true};
	FILE *out = open_memstream(&batch->profile, &batch->profile_bytes);
	int code = out ? ctl_export_pprof(&export, out, err) : -errno;

	if (out && (ferror(out) | fclose(out)) && !code)
		code = -ENOMEM;
	if (code == -ENODATA) {
		free(*err);
		*err = NULL;
		batch->profile_bytes = 0;
		code = 0;
	}
	return code;
}

int ship_profile_make(struct comm_reader *reader, const struct comm_run *run,
		      struct ship_batch *batch, char **err)
{
	/* Of paths where the run has callers. */
	static const char *const by[] = {"role,path,object", "role,function,object"};
	struct comm_query query = COMM_QUERY_INIT;
	struct comm_report *report = NULL;
	int code = batch->flows ? -ENODATA : 0;

	query.run = run->id;
	query.across = true;
	query.from_ns = (int64_t)batch->start_ns;
	query.to_ns = (int64_t)(batch->start_ns + batch->length_ns);
	for (size_t i = 0; code == -ENODATA && i < sizeof(by) / sizeof(*by); i++) {
		free(*err);
		*err = NULL;
		query.by = by[i];
		code = comm_reader_report(reader, &query, &report, err);
	}
	if (code == -ENODATA) {
		free(*err);
		return comm_reader_fail(err, -ESTALE, "the slice of run %s at %.0f s is not found",
					run->uuid, (double)batch->start_ns / 1e9);
	}
	/* Of a wider slice, where the minute has gone. */
	if (!code && report &&
	    (report->from_ns < batch->start_ns ||
	     report->to_ns > batch->start_ns + batch->length_ns)) {
		comm_report_free(report);
		return comm_reader_fail(err, -ESTALE, "the slice of run %s at %.0f s is not found",
					run->uuid, (double)batch->start_ns / 1e9);
	}
	if (!code && report)
		code = put_profile(&query, report, batch, err);
	comm_report_free(report);
	free(batch->host);
	free(batch->service);
	batch->host = strdup(run->host);
	batch->service = ship_service_of(run);
	return code ? code : batch->host && batch->service ? 0 : -ENOMEM;
}
