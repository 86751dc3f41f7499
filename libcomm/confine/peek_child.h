/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that reads mappings, memory and command lines of targets, as peek.h asks it to.  It
 * keeps the two capabilities that this takes, looks at nothing of what it reads but at the path of
 * PROGRAM, and a list of calls lets it open for reading alone.
 *
 * ROBUST_LIST is the address of a thread's list of robust mutexes (get_robust_list(2)), 0: it has none;
 * IPC is the number of a process's IPC namespace, PROGRAM a struct comm_program_link.
 */
#ifndef COMM_PEEK_CHILD_H
#define COMM_PEEK_CHILD_H

#include <stdint.h>
#include <sys/types.h>

enum comm_peek_kind {
	COMM_PEEK_MAPS,
	COMM_PEEK_MEMORY,
	COMM_PEEK_COMMAND,
	COMM_PEEK_ROBUST_LIST,
	COMM_PEEK_WORDS,
	COMM_PEEK_IPC,
	COMM_PEEK_PROGRAM,
};

enum {
	COMM_PEEK_PIECE_BYTES = 96 << 10,
	/*
	 * The kernel gives whole lines of mappings to who has room for one: a path, each byte of it escaped, and twice that.
	 * A piece that has so much room left is the last.
	 */
	COMM_PEEK_LINE_BYTES = 32 << 10,
	COMM_PEEK_WORDS_MAX = 256,
};

struct comm_peek_request {
	uint64_t serial;
	uint32_t kind, tgid; /* tgid: of WORDS 0 */
	uint64_t addr;	/* MEMORY; ROBUST_LIST: the thread; MAPS: where the piece begins, bytes */
	uint64_t bytes; /* MEMORY, COMMAND; WORDS: how many */
};

/* Where a word of eight bytes is. */
struct comm_peek_place {
	uint64_t addr, tgid;
};

/* WORDS: as many places as head.bytes says are sent, those of a process together.  The answer has so many values. */
struct comm_peek_words_request {
	struct comm_peek_request head;
	struct comm_peek_place place[COMM_PEEK_WORDS_MAX];
};

struct comm_peek_word {
	uint64_t value, is_known;
};

/*
 * The first is of serial 0 and has nothing, so that the process can be found.  Bytes follow in the same message, as many
 * as n says.  Of MAPS they are whole lines, from where the piece before ended.  -ESTALE: the file that was begun is not
 * open any more.
 */
struct comm_peek_answer {
	uint64_t serial;
	int64_t n;	 /* or -errno */
	uint64_t cpu_ns; /* spent since the answer before */
	int64_t pid;
};

/* Serves requests from the socket until its other end is closed; host: who forked. */
_Noreturn void comm_peek_child(int socket, pid_t host);

#endif
