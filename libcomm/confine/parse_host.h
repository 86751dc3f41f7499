/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host of the children that read foreign files, a process between the daemon and them.
 * It starts one child per file, ends those that take too long, and reads nothing of a target
 * itself.  Forked when the daemon is young, it is small, so a fork of it is cheap where one
 * of the daemon copies the page tables of all its memory; and it keeps the rights to
 * open a target's files, which its children give up before they read a byte.
 *
 * parser.h is the daemon's end of it, parse_child.h what a child does.
 */
#ifndef COMM_PARSE_HOST_H
#define COMM_PARSE_HOST_H

#include "elfsym.h"
#include "jitmap.h"
#include "names.h"

#include <sys/types.h>

enum comm_parse_kind {
	COMM_PARSE_IDENTITY, /* struct comm_elf_id, as it is */
	COMM_PARSE_SYMBOLS,  /* comm_elfsym_save() */
	COMM_PARSE_PERF_MAP, /* comm_jit_read() */
	COMM_PARSE_LINES,    /* comm_dwline_save() */
	COMM_PARSE_TYPES,    /* comm_type_table_save() */
	COMM_PARSE_KINDS,
	/* No file: a process for peek.h, which comes with its socket and is not answered. */
	COMM_PARSE_PEEK = COMM_PARSE_KINDS
};

/* What to read.  With it comes, as a descriptor, the memory file for what was read. */
struct comm_parse_request {
	uint64_t job;
	uint32_t kind;
	uint32_t tgid;
	uint64_t start, end, ino; /* a mapping of the file by tgid */
	char path[COMM_NAME_BYTES];
	struct comm_elf_id id;	     /* SYMBOLS, LINES, TYPES: to find the debug file */
	struct comm_jit_place place; /* PERF_MAP: where to read on; it has no mapping or path */
};

/*
 * CPU time that the children may use from now on, beside what they have left.  Until the first
 * of these they run unlimited; from then on they are stopped while nothing is left, and
 * one at a time runs of those that have opened their file.
 */
struct comm_parse_grant {
	uint64_t cpu_ns;
};

_Static_assert(sizeof(struct comm_parse_grant) != sizeof(struct comm_parse_request),
	       "their size tells the two apart");

/*
 * How it went.  err: 0; -EINPROGRESS: it goes on, and this says only what it has cost so far;
 * -ENODATA: the file has no such thing; -ECHILD: the child died; -ETIME: it took too long;
 * -EBUSY: too many hang already; or why the file could not be opened.
 */
struct comm_parse_answer {
	uint64_t job;
	int32_t err;
	uint64_t owner;	     /* of the file: struct comm_parse_opened's, told before it was read */
	uint64_t size_bytes; /* of the file; alike */
	uint64_t cpu_ns;     /* of child and host since this was told last */
};

/* Serves requests from the socket until its other end is closed; parent: who forked. */
_Noreturn void comm_parse_host(int socket, pid_t parent);

#endif
