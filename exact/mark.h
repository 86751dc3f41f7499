/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers that a program may place for the exact source.  They cost a few
 * instructions and do nothing when the program runs on its own.
 */
#ifndef COMM_EXACT_MARK_H
#define COMM_EXACT_MARK_H

#include <valgrind/valgrind.h>

enum comm_exact_request {
	COMM_EXACT_REQUEST_START = VG_USERREQ_TOOL_BASE('C', 'P'),
	COMM_EXACT_REQUEST_STOP,
	COMM_EXACT_REQUEST_PHASE,     /* name */
	COMM_EXACT_REQUEST_ALLOCATED, /* the preloaded library: block, size, caller */
};

/* Reads count from here, or no longer; writes are followed all the same. */
#define COMM_EXACT_START() VALGRIND_DO_CLIENT_REQUEST_STMT(COMM_EXACT_REQUEST_START, 0, 0, 0, 0, 0)
#define COMM_EXACT_STOP() VALGRIND_DO_CLIENT_REQUEST_STMT(COMM_EXACT_REQUEST_STOP, 0, 0, 0, 0, 0)
/* A new phase begins: its edges are reported apart. */
#define COMM_EXACT_PHASE(name) \
	VALGRIND_DO_CLIENT_REQUEST_STMT(COMM_EXACT_REQUEST_PHASE, name, 0, 0, 0, 0)

#endif
