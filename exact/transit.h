/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is on its way through pipes and sockets, and who wrote it: for each channel the runs of bytes that were put in and
 * not taken out, in their order.  Whoever reads has the writers of what it gets.  All processes that came from one by
 * fork() have the channels in common.
 *
 * A channel is known by the inode of the end that is read: descriptors may be copied and passed on.  A socket has to be
 * paired first.  Of files, datagrams, and sockets of other machines nothing is known.
 *
 * Others may use the channel who are not followed, and calls of several threads overlap, so that the order in which they
 * began is not the one in which the kernel took them.  So each read compares what should be left with what the kernel
 * says is left (host->queued).  Bytes of which that does not say who wrote them have no writer.  This errs only where
 * somebody who is not followed takes bytes out and puts as many in between two looks, or puts bytes in while a call that
 * is followed is under way.
 *
 * Memory is bounded: where there is no room, a channel that was not used for long is forgotten.
 *
 * Both runtimes have one, with a host of their own.  Any thread may call; a signal handler that interrupts another call
 * of its thread is not followed.
 */
#ifndef COMM_EXACT_TRANSIT_H
#define COMM_EXACT_TRANSIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum {
	COMM_TRANSIT_CHANNELS = 4096,
	COMM_TRANSIT_RUNS = 1 << 18,
	/* Bytes: as many as a pipe may hold.  A longer call is not followed, for the kernel takes it in parts. */
	COMM_TRANSIT_WRITE_MAX = 1 << 20,
};

enum comm_transit_kind { COMM_TRANSIT_PIPE = 1, COMM_TRANSIT_SOCKET };

/* As of fstat(2). */
struct comm_transit_end {
	uint64_t device, number;
	enum comm_transit_kind kind;
};

struct comm_transit_host {
	/* Zero, and shared with children of fork(); NULL: there is no room. */
	void *(*map_shared)(size_t bytes);
	/* Lets others go on; 0: long enough. */
	int (*give_way)(unsigned int turn);
	/* The calling thread's own number, not 0. */
	uint32_t (*self)(void);
	/* How many bytes are in a pipe, or to be read from a socket; -1: not known. */
	int64_t (*queued)(int fd);
};

/* A call that is under way.  Zero: it is not followed. */
struct comm_transit_call {
	struct comm_transit_end end; /* that is read */
	uint32_t id;		     /* of a write */
	bool is_followed, is_blurred;
};

/* What the host calls a writer and a time; writer 0: not known. */
typedef void comm_transit_run_fn(void *ctx, uint32_t writer, uint64_t date, uint64_t bytes);

/* 0 or -errno.  Without, nothing is followed. */
int comm_transit_init(const struct comm_transit_host *host);

/* What is written to one is read from the other. */
void comm_transit_pair(const struct comm_transit_end *a, const struct comm_transit_end *b);

/*
 * Before the call: true, and then the bytes are put in by comm_transit_put() in their order, and comm_transit_sent() ends
 * that.  Nothing else may be done in between: others wait.
 */
bool comm_transit_write(const struct comm_transit_end *end, int fd, struct comm_transit_call *ret);
void comm_transit_put(struct comm_transit_call *call, uint32_t writer, uint64_t date,
		      uint64_t bytes);
void comm_transit_sent(struct comm_transit_call *call);
/* After it: how many bytes the kernel took, or less than 0. */
void comm_transit_written(struct comm_transit_call *call, int64_t bytes);

/* Before a call, and after it. */
void comm_transit_read(const struct comm_transit_end *end, struct comm_transit_call *ret);
/* Calls back with runs of so many bytes in all, while others wait; bytes of no known writer are such a run, too. */
void comm_transit_got(struct comm_transit_call *call, int fd, int64_t bytes,
		      comm_transit_run_fn *each, void *ctx);

/* Bytes that were forgotten. */
uint64_t comm_transit_lost(void);

#pragma GCC visibility pop

#endif
