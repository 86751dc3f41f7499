/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked for: a path and its parameters, as a browser sent them.  Knows nothing of a store. */
#ifndef CTL_REQUEST_H
#define CTL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

enum ctl_request_what {
	CTL_REQUEST_PAGE,    /* / */
	CTL_REQUEST_EVENTS,  /* /events */
	CTL_REQUEST_RUNS,    /* /runs.json */
	CTL_REQUEST_REPORT,  /* /report.json */
	CTL_REQUEST_METRICS, /* /metrics */

	CTL_REQUESTS,
};

enum { CTL_REQUEST_BY = 64 };

struct ctl_request {
	enum ctl_request_what what;
	int64_t run;	 /* 0: the latest */
	int64_t from_ns; /* as of a query */
	uint64_t seen;	 /* a version that the asker has; 0: none */
	char by[CTL_REQUEST_BY];
};

/* What the path names, with no parameter yet; false: nothing. */
bool ctl_request_find(const char *path, struct ctl_request *ret);
/* Takes a parameter; value NULL: it has none.  Returns NULL, or what is wrong with it, as a sentence. */
const char *ctl_request_take(struct ctl_request *request, const char *name, const char *value);

#endif
