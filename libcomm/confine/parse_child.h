/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child that reads one foreign file.  It opens it with the host's rights, tells the host
 * what it is, gives up all rights, and only then reads.  Whatever a hostile file does to
 * libelf or libdw happens to a process that can open no other file, has a bounded share of
 * memory and CPU time, and is the first to go when memory is short.
 */
#ifndef COMM_PARSE_CHILD_H
#define COMM_PARSE_CHILD_H

#include "parse_host.h"

/* What a child tells the host through a pipe, once, before it reads of the file. */
struct comm_parse_opened {
	int32_t err;	/* 0 or -errno: then the child ends */
	uint64_t owner; /* user id, or of a file of FUSE what no user's file has */
	uint64_t size_bytes;
};

/* In the forked child.  saved: the memory file; tell: a pipe. */
_Noreturn void comm_parse_child(const struct comm_parse_request *request, int saved, int tell,
				pid_t host);

#endif
