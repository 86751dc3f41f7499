/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions with watchpoints, for all tests of them. */
#ifndef T_WATCH_H
#define T_WATCH_H

#include "cptest.h"

/* When there is enough of both, or LIMIT_S are over, a session has watched for long. */
struct watch_until {
	const uint64_t *hits;
	uint64_t enough_hits;
	uint64_t enough_armed;
	uint64_t ns; /* out: how long it was watched */
};

/*
 * Runs a session that has its targets, on samples of the clock; hands over every record
 * and ends the session.  period_ns: between samples, on each CPU.
 */
struct cp_stats watch_until(struct cp_reader *reader, const struct cp_watch *watch,
			    uint64_t period_ns, void (*on)(const struct cp_record *, void *),
			    void *argument, struct watch_until *until);

#endif
