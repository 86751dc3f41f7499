// SPDX-License-Identifier: GPL-2.0-or-later
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter.h"
#include "form.h"
#include "json.h"
#include "list.h"
#include "open.h"
#include "page.h"

/* What an answer is made of. */
struct making {
	FILE *out;
	struct comm_reader *reader;
	const char *path;
	struct comm_query query;
	struct ctl_source *source;
	const struct ctl_page_live *live;
	char **err;
};

static int make_page(struct making *making)
{
	const struct ctl_page_ask ask = {
		.query = &making->query, .source = making->source, .live = making->live};

	return ctl_page_print(making->out, making->reader, &ask, making->err);
}

static int make_runs(struct making *making)
{
	struct comm_runs *runs;
	int code = comm_reader_runs(making->reader, &runs, making->err);

	if (code)
		return code;
	ctl_list_json(making->out, making->path, comm_reader_bytes(making->reader), runs);
	comm_runs_free(runs);
	return 0;
}

/* As commctl report --json. */
static int make_report(struct making *making)
{
	struct ctl_json json = {.out = making->out};
	struct comm_report *report;
	int code;

	making->query.unwritten = making->query.census = 1;
	code = comm_reader_report(making->reader, &making->query, &report, making->err);
	if (code)
		return code;
	ctl_json_begin(&json);
	ctl_form_json_members(&json, report);
	ctl_json_close(&json, '}');
	comm_report_free(report);
	return 0;
}

/* As commctl export --as openmetrics. */
static int make_metrics(struct making *making)
{
	struct ctl_export export = {.reader = making->reader, .query = &making->query};
	struct comm_report *report;
	int code;

	making->query.by = "role";
	making->query.across = true;
	making->query.resolved = 1;
	code = comm_reader_report(making->reader, &making->query, &report, making->err);
	if (code)
		return code;
	export.report = report;
	code = ctl_export_openmetrics(&export, making->out, making->err);
	comm_report_free(report);
	return code;
}

static const char html[] = "text/html; charset=utf-8", json[] = "application/json",
		  sentence_type[] = "text/plain; charset=utf-8";

static const struct {
	const char *type;
	int (*make)(struct making *making);
} answers[CTL_REQUESTS] = {
	[CTL_REQUEST_PAGE] = {html, make_page},
	[CTL_REQUEST_RUNS] = {json, make_runs},
	[CTL_REQUEST_REPORT] = {json, make_report},
	[CTL_REQUEST_METRICS] = {"application/openmetrics-text; version=1.0.0; charset=utf-8",
				 make_metrics},
};

int ctl_answer_say(unsigned int status, const char *sentence, struct ctl_answer *ret)
{
	int n;

	*ret = (struct ctl_answer){.status = status, .type = sentence_type};
	n = asprintf(&ret->body, "%s\n", sentence);
	if (n < 0)
		return -ENOMEM;
	ret->size = (size_t)n;
	return 0;
}

/* What there is not may be wrongly asked for, or not there yet. */
static unsigned int status_of(int code, const struct ctl_request *request)
{
	if (code == -EINVAL || code == -E2BIG)
		return 400;
	return code == -ENODATA && (request->run || request->from_ns) ? 404 : 503;
}

/* What says why there is no answer: a page instead of a page, which goes on asking. */
static void print_problem(struct making *making, const struct ctl_request *request,
			  const char *sentence)
{
	if (request->what == CTL_REQUEST_PAGE)
		ctl_page_print_problem(making->out, sentence, making->live);
	else
		fprintf(making->out, "%s\n", sentence);
}

static int open_body(struct making *making, struct ctl_answer *ret)
{
	free(ret->body);
	ret->body = NULL;
	making->out = open_memstream(&ret->body, &ret->size);
	return making->out ? 0 : -ENOMEM;
}

static int close_body(struct making *making)
{
	return ferror(making->out) | fclose(making->out) ? -ENOMEM : 0;
}

/* *err as by the library. */
static int make(const char *store, struct making *making, const struct ctl_request *request,
		struct ctl_answer *ret)
{
	int closed, code = ctl_open_store(store, &making->reader, &making->path, making->err);

	if (code)
		return code;
	code = open_body(making, ret);
	if (!code) {
		code = answers[request->what].make(making);
		closed = close_body(making);
		code = code ? code : closed;
	}
	comm_reader_close(making->reader);
	return code;
}

int ctl_answer_make(const char *store, struct ctl_source *source, const struct ctl_request *request,
		    uint64_t version, struct ctl_answer *ret)
{
	const struct ctl_page_live live = {request->run, version};
	char *err = NULL;
	struct making making = {
		.query = COMM_QUERY_INIT, .source = source, .live = &live, .err = &err};
	int code, failed;

	*ret = (struct ctl_answer){.status = 200, .type = answers[request->what].type};
	making.query.run = request->run;
	making.query.from_ns = request->from_ns;
	making.query.by = *request->by ? request->by : NULL;
	failed = code = make(store, &making, request, ret);
	if (failed && failed != -ENOMEM) {
		ret->status = status_of(failed, request);
		ret->type = request->what == CTL_REQUEST_PAGE ? html : sentence_type;
		code = open_body(&making, ret);
		if (!code) {
			print_problem(&making, request, err ? err : strerror(-failed));
			code = close_body(&making);
		}
	}
	free(err);
	if (code)
		free(ret->body);
	return code;
}
