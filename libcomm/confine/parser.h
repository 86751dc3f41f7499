/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has foreign files read by other processes (parse_host.h), a few at a time, while the caller
 * goes on: nothing here blocks on a file.  What is asked waits in queues, one per kind;
 * each kind has an allowance of CPU time, so that a target cannot have more read than that by
 * mapping one file after the other.
 *
 * The thread that creates a parser must outlive it: the host dies with that thread
 * (PR_SET_PDEATHSIG).
 */
#ifndef COMM_PARSER_H
#define COMM_PARSER_H

#include "parse_host.h"

#include <stdbool.h>

struct comm_parser;

/* What was read of a file, or why nothing was. */
struct comm_parsed {
	enum comm_parse_kind kind;
	void *of;  /* as asked with */
	int err;   /* as in struct comm_parse_answer; -ECHILD also when the host died */
	int saved; /* memory file, until the next call */
	uint64_t owner;
	uint64_t size_bytes;
};

int comm_parser_create(struct comm_parser **ret);
/* Ends the host and its children. */
void comm_parser_destroy(struct comm_parser *parser);
/* What others did to the hosts of this process, as far as it was noticed: all was, once they are destroyed. */
struct comm_parser_end {
	bool was_killed; /* so that files and memory were not read from then on */
	pid_t left; /* was stopped, and goes on; 0: none.  After the start nobody here may end it */
};
struct comm_parser_end comm_parser_end(void);

/* Queues a request; the parser sets its job.  -EBUSY: the queue is full. */
int comm_parser_ask(struct comm_parser *parser, const struct comm_parse_request *request, void *of);
/* Starts what is queued and may start.  True: *ret is the next file that is done with. */
bool comm_parser_next(struct comm_parser *parser, struct comm_parsed *ret);
/* Waits until a file is done with, at most that long; false, at once: none is being read. */
bool comm_parser_wait(struct comm_parser *parser, uint64_t ns);

/* True while something is queued or being read: comm_parser_next() has something to do. */
bool comm_parser_busy(const struct comm_parser *parser);
/* The same, for one kind. */
bool comm_parser_busy_with(const struct comm_parser *parser, enum comm_parse_kind kind);
/*
 * So much more CPU time may be used, if there is something to read.  Until the first call there
 * is no limit but the allowances; from then on reading stops when all is used.
 */
void comm_parser_allow(struct comm_parser *parser, uint64_t cpu_ns);

/* CPU time of the children so far, those that run at most 0.1 s ago. */
uint64_t comm_parser_children_ns(const struct comm_parser *parser, enum comm_parse_kind kind);
/* Takes the caller's own work on what was read from the kind's allowance, too. */
void comm_parser_charge(struct comm_parser *parser, enum comm_parse_kind kind, uint64_t cpu_ns);
/* Makes the process of peek.h, for who has the other end of the socket, and ends the one before. */
int comm_parser_make_peek(struct comm_parser *parser, int socket);
/* Files that nothing was read of since the child or the host died or took too long. */
uint64_t comm_parser_lost(const struct comm_parser *parser);

#endif
