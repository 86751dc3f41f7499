/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parser for each test, and requests for the files that the test itself has mapped.  To be included
 * once by a test program.
 */
#ifndef TESTS_MADE_PARSER_H
#define TESTS_MADE_PARSER_H

#include "clock.h"
#include "parser.h"
#include "saved.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct comm_parser *parser;
static int token; /* what is asked with */

static inline int setup(void **state)
{
	(void)state;
	return comm_parser_create(&parser);
}

static inline int teardown(void **state)
{
	(void)state;
	comm_parser_destroy(parser);
	/* No process is left. */
	return waitpid(-1, NULL, WNOHANG) == -1 ? 0 : -1;
}

/* A request for the file that is mapped at addr. */
static inline struct comm_parse_request request_of(enum comm_parse_kind kind,
						   const volatile void *addr)
{
	struct comm_parse_request r = {.kind = kind, .tgid = (uint32_t)getpid()};
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long long start, end, ino;
	char line[4096], path[400];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		path[0] = 0;
		if (sscanf(line, "%llx-%llx %*s %*x %*s %llu %399s", &start, &end, &ino, path) <
			    3 ||
		    (uintptr_t)addr < start || (uintptr_t)addr >= end)
			continue;
		r.start = start;
		r.end = end;
		r.ino = ino;
		snprintf(r.path, sizeof(r.path), "%s", path);
	}
	fclose(maps);
	assert_true(r.end);
	return r;
}

static inline struct comm_parsed wait_for_any(void)
{
	uint64_t stop_ns = comm_clock_now_ns() + 100ull * 1000000000;
	struct comm_parsed parsed = {.err = -EAGAIN};

	while (!comm_parser_next(parser, &parsed) && comm_clock_now_ns() < stop_ns)
		comm_parser_wait(parser, 1000000000);
	return parsed;
}

static inline struct comm_parsed read_now(const struct comm_parse_request *request)
{
	assert_int_equal(comm_parser_ask(parser, request, &token), 0);
	return wait_for_any();
}

static inline struct comm_parse_request self_with_identity(enum comm_parse_kind kind)
{
	struct comm_parse_request r = request_of(COMM_PARSE_IDENTITY, (void *)setup);
	struct comm_parsed parsed = read_now(&r);
	uint64_t at = 0;

	assert_int_equal(parsed.err, 0);
	assert_int_equal(comm_saved_get(parsed.saved, &r.id, sizeof(r.id), &at), 0);
	r.kind = kind;
	return r;
}

#endif
