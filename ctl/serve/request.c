// SPDX-License-Identifier: GPL-2.0-or-later
#include "request.h"

#include <stdlib.h>
#include <string.h>

#include <comm/comm.h>

#include "number.h"

enum { REQUEST_SEEN = 16, REQUEST_VALUE = 64 };

static const char *take_run(struct ctl_request *request, const char *value)
{
	uint64_t run = 0;

	if (!ctl_parse_count(value, INT64_MAX, &run) || !run)
		return "run wants a run's number, from 1 on";
	request->run = (int64_t)run;
	return NULL;
}

static const char *take_from(struct ctl_request *request, const char *value)
{
	if (comm_parse_duration(value, &request->from_ns))
		return "from wants a time such as 10s, 2m or -30s";
	return NULL;
}

/* The library says which there are. */
static const char *take_by(struct ctl_request *request, const char *value)
{
	if (strlen(value) >= CTL_REQUEST_BY || !*value ||
	    value[strspn(value, "abcdefghijklmnopqrstuvwxyz,")])
		return "by wants a grouping, or several with commas between";
	strcpy(request->by, value);
	return NULL;
}

static const char *take_seen(struct ctl_request *request, const char *value)
{
	if (strlen(value) != REQUEST_SEEN || value[strspn(value, "0123456789abcdef")])
		return "seen wants the id of an event";
	request->seen = strtoull(value, NULL, 16);
	return NULL;
}

static const struct {
	const char *path;
	bool has_from, has_by, has_seen;
} paths[CTL_REQUESTS] = {
	[CTL_REQUEST_PAGE] = {"/", .has_from = true},
	[CTL_REQUEST_EVENTS] = {"/events", .has_seen = true},
	[CTL_REQUEST_RUNS] = {"/runs.json"},
	[CTL_REQUEST_REPORT] = {"/report.json", .has_from = true, .has_by = true},
	[CTL_REQUEST_METRICS] = {"/metrics", .has_from = true},
};

bool ctl_request_find(const char *path, struct ctl_request *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < CTL_REQUESTS; i++) {
		ret->what = i;
		if (!strcmp(paths[i].path, path))
			return true;
	}
	return false;
}

const char *ctl_request_take(struct ctl_request *request, const char *name, const char *value)
{
	enum ctl_request_what what = request->what;

	if (!value || strlen(value) > REQUEST_VALUE)
		return "a parameter has a value of 64 bytes at most";
	if (!strcmp(name, "run") && what != CTL_REQUEST_RUNS)
		return take_run(request, value);
	if (!strcmp(name, "from") && paths[what].has_from)
		return take_from(request, value);
	if (!strcmp(name, "by") && paths[what].has_by)
		return take_by(request, value);
	if (!strcmp(name, "seen") && paths[what].has_seen)
		return take_seen(request, value);
	return "there is no such parameter here: / takes run and from, /report.json and /metrics "
	       "as well, /report.json by, "
	       "/events run and seen";
}
