/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session: one run from its store to its last line.  Shared by live runs and by
 * sources with a run() of their own: it opens the store, makes the engine, shows
 * progress and sums up.
 */
#ifndef COMMD_SESSION_H
#define COMMD_SESSION_H

#include "engine.h"
#include "options.h"
#include "stall.h"

struct comm_session {
	const struct comm_options *options;
	/* Whose reads the run is about; NULL: all.  A replay may set it before comm_session_begin(). */
	const char *function;
	struct comm_store *store;
	struct comm_engine *engine;
	int64_t run;
	uint64_t start_ns, shown_ns, ending_ns;
	uint64_t handler_ns, daemon_ns, daemon_idle_ns, setup_ns,
		target_ns; /* sums over the slices so far */
	uint64_t edges;
	struct comm_access_log *accesses; /* NULL: nobody asked for them */
	bool accesses_stopped;
	uint32_t row_cap; /* most edges stored per slice; 0: enough for estimates */
	bool progress;	  /* stderr is a terminal */
	/* What samples does not wait for the store: to be set before comm_session_begin(). */
	bool is_live;
	struct comm_slice_queue *queue; /* NULL: slices are stored at once */
	bool is_stuck;			/* the queue's thread is, in the store */
	const struct comm_stall *stall; /* to be set before the end; NULL: not known */
	bool removes; /* what is beside its store by itself: nothing will refuse it that */
	/* Set before comm_session_begin(), which passes it to the engine. */
	void (*burst_done)(void *ctx, const struct comm_event *event,
			   const struct comm_burst *burst);
	void *burst_ctx;
};

/* 0, or -errno with a sentence on stderr. */
int comm_session_open_store(struct comm_session *session, const struct comm_options *options);
/* Whether a name is of the store, or of what SQLite and commd have beside it. */
bool comm_session_has_file(const struct comm_session *session, const char *path);
/* Sets the bound of the estimator's memory; est need not have one. */
int comm_session_begin(struct comm_session *session, const struct comm_run_info *info,
		       const struct comm_inspect *inspect, const struct comm_est_config *est,
		       uint64_t slice_ns);
/* Last before system calls are refused, of a live run: the thread that stores begins.  0 or -errno. */
int comm_session_start_storing(struct comm_session *session);
/* Takes the run back, which came to nothing, as if it had not begun. */
void comm_session_forget(struct comm_session *session);
/* Shows where the run stands, at most four times a second. */
void comm_session_progress(struct comm_session *session, uint64_t now_ns);
/* The same in words without a line's end: "12 s, 340 samples, ..." and what that cost. */
void comm_session_status(const struct comm_session *session, uint64_t now_ns, char *text,
			 size_t size);
/* What was done to the store's file, as the run's end; NULL: nothing that was noticed. */
const char *comm_session_lost(const struct comm_session *session);
/* Until when what waits for a disk may be written at the end (CLOCK_MONOTONIC): shorter where commd was told to end. */
uint64_t comm_session_patience_ns(const struct comm_session *session);
/* Ends the run, sums up.  Returns commd's exit status. */
int comm_session_end(struct comm_session *session, uint64_t end_ns, const char *how);
/*
 * The exit status of commd, of which status is known, after its command, which ended as
 * waitpid() says: the command's own, unless commd failed.
 */
int comm_session_command(const struct comm_session *session, int ended, int status);
/* Returns the exit status: 1, with a sentence, where something stays beside the store. */
int comm_session_deinit(struct comm_session *session, int status);

/* live.c: a whole run of a source that has a sampler; returns the exit status. */
int comm_live(const struct comm_options *options);
/* doctor.c: prints which sources work here and what is missing; 0 when one with a sampler works. */
int comm_doctor(void);

#endif
