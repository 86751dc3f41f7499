// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burst.h"
#include "clock.h"
#include "out_file.h"
#include "priority.h"
#include "privilege.h"
#include "remover.h"
#include "session.h"
#include "source.h"
#include "stop.h"
#include "store_file.h"
#include <comm/comm.h>

enum {
	NOTES_BYTES = 640,     /* of a run */
	NOTE_ONLY_BYTES = 100, /* of these, the last one, which is never cut short */
	ROW_CAP = 4000,
	/*
	 * The estimator's part of the 150 MB that commd may take in all; a small
	 * target fills only a few MiB.
	 */
	ESTIMATOR_MIB = 64,
};

/*
 * So long slices that wait are stored at the end of a run, and after a signal, which a timer makes an end of in 5 s
 * (stop.h).  One that was begun may take longer, unless the store's disk or server does not answer, which there is a
 * sentence for before that timer.
 */
static const uint64_t STORE_NS = 20000000000u, STORE_TOLD_NS = 2500000000u;
static const uint64_t STORE_PATIENCE_NS = 20000000000u, STORE_PATIENCE_TOLD_NS = 1000000000u;
/* So much of it other files have in any case. */
static const uint64_t OTHERS_LEAST_NS = 300000000u, OTHERS_TOLD_NS = 4300000000u;
/* So often it is seen whether commd was told to end meanwhile. */
static const uint64_t LOOK_NS = 100000000u;

/* To write a slice takes longer than all else that is done for it beside a target that sleeps. */
static const uint64_t EMPTY_NS = 30000000000u;

/* SQLite takes no less than a file has already: the quota holds for what is written from now on. */
static void say_larger(const struct comm_options *options)
{
	struct stat st;

	if (options->quiet || stat(options->store, &st) ||
	    st.st_size <= (off_t)options->quota_bytes)
		return;
	fprintf(stderr,
		"commd: the store %s has %.1f MiB, more than --quota: it does not shrink, and "
		"grows no more, as its oldest slices make room\n",
		options->store, (double)st.st_size / (1 << 20));
}

int comm_session_open_store(struct comm_session *session, const struct comm_options *options)
{
	const struct comm_store_config config = {
		.path = options->store,
		.quota_bytes = options->quota_bytes,
		.row_cap = session->row_cap ? session->row_cap : ROW_CAP,
		.detail_ns = options->detail_ns,
		.rollup_ns = 60ull * 1000000000,
		.empty_ns = EMPTY_NS,
	};
	char *why = NULL;
	int err;

	session->options = options;
	session->function = options->function;
	session->progress = !options->quiet && isatty(STDERR_FILENO);
	err = session->removes ? 0 : comm_remover_start(options->store);
	if (!err)
		err = comm_privilege_set_aside(true);
	comm_store_file_map_alone();
	if (!err)
		err = comm_store_open(&config, &session->store, &why);
	if (!err)
		err = comm_privilege_set_aside(false);
	if (err)
		fprintf(stderr, "commd: %s\n", why ? why : strerror(-err));
	else
		say_larger(options);
	free(why);
	return err;
}

/* The directory that a file is in; *ret_base: its name there. */
static bool find_directory(const char *path, struct stat *ret, const char **ret_base)
{
	const char *slash = strrchr(path, '/');
	char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	bool is_found = directory && stat(directory, ret) == 0;

	*ret_base = slash ? slash + 1 : path;
	free(directory);
	return is_found;
}

/* Whether two names are of one place in one directory. */
static bool is_same_name(const char *a, const char *b)
{
	const char *a_base, *b_base;
	struct stat here, there;

	return find_directory(a, &here, &a_base) && find_directory(b, &there, &b_base) &&
	       here.st_ino == there.st_ino && here.st_dev == there.st_dev &&
	       !strcmp(a_base, b_base);
}

bool comm_session_has_file(const struct comm_session *session, const char *path)
{
	static const char *const own[] = {"", "-wal", "-shm", "-ballast", "-journal"};
	const char *base, *store_base;
	struct stat here, there;
	size_t n;

	if (!find_directory(session->options->store, &there, &store_base) ||
	    !find_directory(path, &here, &base) || here.st_ino != there.st_ino ||
	    here.st_dev != there.st_dev)
		return false;
	n = strlen(store_base);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(base, store_base, n) && !strcmp(base + n, own[i]))
			return true;
	return false;
}

static void slice_done(void *ctx, const struct comm_slice_info *info, const struct comm_edge *edges,
		       size_t n_edges)
{
	struct comm_session *session = ctx;

	(void)edges;
	session->handler_ns += info->handler_ns;
	session->daemon_ns += info->daemon_ns;
	session->daemon_idle_ns += info->daemon_idle_ns;
	session->setup_ns += info->setup_ns;
	session->target_ns += info->target_ns;
	session->edges += n_edges;
}

static int refuse_accesses(const struct comm_session *session, const char *why)
{
	fprintf(stderr, "commd: cannot write accesses to %s: it is %s; name another file\n",
		session->options->accesses, why);
	return -EEXIST;
}

/* With the rights of the user that it will belong to, as a recording. */
static int create_accesses(struct comm_session *session, const struct comm_run_info *info,
			   double cycles_per_ns)
{
	const struct comm_options *options = session->options;
	const struct comm_access_file_head head = {
		.start_ns = info->start_ns,
		.start_unix_ns = info->start_unix_ns,
		.cycles_per_ns = cycles_per_ns,
	};
	int err;

	if (comm_session_has_file(session, options->accesses))
		return refuse_accesses(session, "the store, or beside it");
	if (options->record && is_same_name(options->record, options->accesses))
		return refuse_accesses(session, "the recording");
	if (options->source->of_file && is_same_name(options->source_arg, options->accesses))
		return refuse_accesses(session, "the file that is read");
	err = comm_privilege_set_aside(true);
	if (!err)
		err = comm_access_log_create(options->accesses, &head, &session->accesses);
	if (comm_privilege_set_aside(false))
		err = -EPERM;
	if (err)
		fprintf(stderr, "commd: cannot write accesses to %s as user %u: %s\n",
			options->accesses, (unsigned int)geteuid(),
			err == -ENOTBLK ? "it is no regular file" : strerror(-err));
	return err;
}

/* Says once why no more are written. */
static void look_at_accesses(struct comm_session *session, uint64_t now_ns)
{
	int err;

	if (!session->accesses)
		return;
	comm_access_log_look(session->accesses, now_ns);
	comm_access_log_lost(session->accesses, &err);
	if (!err || session->accesses_stopped)
		return;
	session->accesses_stopped = true;
	fprintf(stderr, "commd: writing accesses to %s stopped: %s\n", session->options->accesses,
		comm_out_file_why(err));
}

int comm_session_begin(struct comm_session *session, const struct comm_run_info *info,
		       const struct comm_inspect *inspect, const struct comm_est_config *est,
		       uint64_t slice_ns)
{
	struct comm_engine_config config = {
		.inspect = inspect,
		.store = session->store,
		.estimator = comm_estimator(),
		.est = *est,
		.callers = session->options->callers,
		.function = session->function,
		.slice_ns = slice_ns,
		.start_ns = info->start_ns,
		.slice_done = slice_done,
		.ctx = session,
		.burst_done = session->burst_done,
		.burst_ctx = session->burst_ctx,
	};
	struct comm_run_info labelled = *info;
	char notes[NOTES_BYTES];
	int err;

	labelled.label = session->options->label;
	if (session->function) {
		snprintf(notes, sizeof(notes), "%.*s%s" COMM_NOTE_ONLY "%.64s' reads is counted",
			 NOTES_BYTES - NOTE_ONLY_BYTES, info->notes ? info->notes : "",
			 info->notes && *info->notes ? "; " : "", session->function);
		labelled.notes = notes;
	}
	config.est.memory_bytes = (uint64_t)ESTIMATOR_MIB << 20;
	session->start_ns = info->start_ns;
	if (session->options->accesses) {
		err = create_accesses(session, info, est->cycles_per_ns);
		if (err)
			return err;
		config.accesses = session->accesses;
	}
	err = comm_store_begin_run(session->store, &labelled, &session->run);
	if (err) {
		fprintf(stderr, "commd: cannot begin a run in %s: %s\n", session->options->store,
			strerror(-err));
		return err;
	}
	if (session->is_live)
		err = comm_slice_queue_create(session->store, &session->queue);
	config.queue = session->queue;
	if (!err)
		err = comm_engine_create(&config, &session->engine);
	if (err)
		fprintf(stderr, "commd: cannot set up the engine: %s\n", strerror(-err));
	return err;
}

int comm_session_start_storing(struct comm_session *session)
{
	int err = session->accesses ? comm_access_log_start(session->accesses) : 0;

	return err ? err : comm_slice_queue_start(session->queue);
}

void comm_session_forget(struct comm_session *session)
{
	int err = comm_store_forget_run(session->store);

	if (err)
		fprintf(stderr, "commd: a run without data stays in %s: %s\n",
			session->options->store, strerror(-err));
}

static double spent_pct(const struct comm_session *session)
{
	if (!session->target_ns)
		return 0;
	return 100.0 * (double)(session->handler_ns + session->daemon_ns) /
	       (double)session->target_ns;
}

void comm_session_progress(struct comm_session *session, uint64_t now_ns)
{
	struct comm_engine_stats stats;

	look_at_accesses(session, now_ns);
	if (!session->progress || now_ns - session->shown_ns < 250000000)
		return;
	session->shown_ns = now_ns;
	comm_engine_stats(session->engine, &stats);
	fprintf(stderr, "\r\033[K%5.0f s  %" PRIu64 " samples  %" PRIu64 " accesses  %u threads",
		(double)(now_ns - session->start_ns) / 1e9, stats.samples, stats.accesses,
		comm_threads_count(comm_engine_identity(session->engine)->threads) - 1);
	if (session->target_ns)
		fprintf(stderr, "  overhead %.2f %%", spent_pct(session));
}

void comm_session_status(const struct comm_session *session, uint64_t now_ns, char *text,
			 size_t size)
{
	struct comm_engine_stats stats;
	int n;

	comm_engine_stats(session->engine, &stats);
	n = snprintf(text, size, "%.0f s, %" PRIu64 " samples",
		     (double)(now_ns - session->start_ns) / 1e9, stats.samples);
	if (session->target_ns && n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n,
			 ", %.2f %% of the target's CPU time, %.2f %% of one CPU",
			 spent_pct(session),
			 100.0 * (double)(session->handler_ns + session->daemon_ns) /
				 (double)(now_ns - session->start_ns));
}

/* What was left out to stay in the budget is for whoever wants to know it all. */
static void say_losses(const struct comm_engine_stats *stats, bool verbose)
{
	for (int i = 0; i < COMM_LOSS_MAX; i++)
		if (stats->loss[i] && (verbose || !comm_loss_is_spared(i)))
			fprintf(stderr, "  %" PRIu64 " %s\n", stats->loss[i],
				comm_loss_help((enum comm_loss)i));
}

static void say_bursts(const struct comm_engine_stats *stats)
{
	if (!stats->bursts)
		return;
	fprintf(stderr, "  bursts: %.1f instructions, %.1f accesses on average; ended by",
		(double)stats->insns / (double)stats->bursts,
		(double)stats->accesses / (double)stats->bursts);
	for (int i = 0; i < COMM_BURST_END_MAX; i++)
		if (stats->ends[i])
			fprintf(stderr, " %s %.0f %%", comm_burst_end_name((enum comm_burst_end)i),
				100.0 * (double)stats->ends[i] / (double)stats->bursts);
	fputc('\n', stderr);
}

static void say_estimator(void)
{
	fprintf(stderr, "  estimator: %s, in at most %d MiB of tables\n", comm_estimator()->name,
		ESTIMATOR_MIB);
}

/* Prints the commctl command to run next; the default store needs no --store there. */
static void say_next(const char *store)
{
	if (!strcmp(store, "comm.db") || !strcmp(store, "./comm.db"))
		fprintf(stderr, "see: commctl report\n");
	else
		fprintf(stderr, "see: commctl report --store %s\n", store);
}

static const struct {
	int err;
	const char *how, *sentence;
} losses[] = {
	{-ENOENT, "store deleted", "was deleted; the run ended, and what it saw is gone"},
	{-ESTALE, "store moved", "was moved; the run ended, and all of it is in the moved file"},
	{-EACCES, "store out of reach",
	 "is out of reach: a directory on its path may not be searched any more; the run ended, "
	 "and all of it is in the file"},
	{-ENODATA, "store cut short",
	 "was cut short by another program; the run ended, and \"commctl salvage\" may save a "
	 "part"},
};

static int lost(const struct comm_session *session)
{
	int err = session->queue ? comm_slice_queue_lost(session->queue)
				 : comm_store_lost(session->store);

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (losses[i].err == err)
			return (int)i;
	return -1;
}

const char *comm_session_lost(const struct comm_session *session)
{
	int i = lost(session);

	return i < 0 ? NULL : losses[i].how;
}

static void say_missed(const struct comm_session *session)
{
	const char *store = session->options->store;
	pid_t reader;
	int err = comm_store_missed(session->store, &reader);

	fprintf(stderr, "commd: not all slices could be stored in %s: ", store);
	switch (err) {
	case 0:
		fprintf(stderr, "its disk did not take them in time\n");
		break;
	case -ENOSPC:
		fprintf(stderr, "the disk was full\n");
		break;
	case -EDQUOT:
		fprintf(stderr, "the quota has no room for them; allow a larger --quota\n");
		break;
	case -EBUSY:
		fprintf(stderr, "another program used it all the time");
		if (reader > 0)
			fprintf(stderr, ", such as process %d", reader);
		fprintf(stderr, "; end that\n");
		break;
	default:
		fprintf(stderr, "%s\n", strerror(-err));
	}
}

/* As the timer does: from the signal on that came meanwhile, or from the beginning of the end. */
static uint64_t since_ns(const struct comm_session *session)
{
	uint64_t told_ns = comm_stop_told_ns();

	return comm_stop_told() && told_ns > session->ending_ns ? told_ns : session->ending_ns;
}

uint64_t comm_session_patience_ns(const struct comm_session *session)
{
	uint64_t now_ns = comm_clock_now_ns(), least_ns = now_ns + OTHERS_LEAST_NS;
	uint64_t end_ns = since_ns(session) + OTHERS_TOLD_NS;

	if (!comm_stop_told())
		return now_ns + STORE_NS;
	return end_ns > least_ns ? end_ns : least_ns;
}

/* Has what waits stored.  0 or -ETIMEDOUT. */
static int end_queue(struct comm_session *session, struct comm_engine_stats *stats)
{
	struct comm_slice_queue_stats queue;
	uint64_t until_ns, give_up_ns, look_ns;
	int err;

	if (!session->queue)
		return 0;
	do {
		bool told = comm_stop_told();

		until_ns = since_ns(session) + (told ? STORE_TOLD_NS : STORE_NS);
		give_up_ns = until_ns + (told ? STORE_PATIENCE_TOLD_NS : STORE_PATIENCE_NS);
		look_ns = comm_clock_now_ns() + LOOK_NS;
		err = comm_slice_queue_end(session->queue, until_ns,
					   look_ns < give_up_ns ? look_ns : give_up_ns);
	} while (err && look_ns < give_up_ns);
	comm_slice_queue_stats(session->queue, &queue);
	stats->loss[COMM_LOSS_STORE] += queue.unstored;
	session->is_stuck = err != 0;
	return err;
}

static void say_store(const struct comm_session *session)
{
	struct comm_slice_queue_stats queue;
	const struct comm_stall *stall = session->stall;

	if (!session->queue)
		return;
	comm_slice_queue_stats(session->queue, &queue);
	fprintf(stderr, "  store: a slice took at most %.1f ms, at most %.1f MiB waited for it\n",
		(double)comm_store_longest_ns(session->store) / 1e6,
		(double)queue.most_bytes / (1 << 20));
	if (stall)
		fprintf(stderr,
			"  rings of the kernel waited at most %.1f ms too long: commd worked for "
			"%.1f ms of that, and had no CPU for %.1f; at most %.1f ms but for that\n",
			(double)stall->longest_ns / 1e6, (double)stall->parts.work_ns / 1e6,
			(double)stall->parts.cpu_ns / 1e6, (double)stall->own_ns / 1e6);
}

int comm_session_end(struct comm_session *session, uint64_t end_ns, const char *how)
{
	struct comm_engine_stats stats;
	double enabled_ns;
	int err, gone;

	comm_stop_ending();
	session->ending_ns = comm_clock_now_ns();
	comm_engine_finish(session->engine, end_ns);
	comm_engine_stats(session->engine, &stats);
	enabled_ns =
		(double)(end_ns - session->start_ns) - 1e6 * (double)stats.loss[COMM_LOSS_DISABLED];
	if (end_queue(session, &stats)) {
		fprintf(stderr,
			"commd: the store %s does not answer: what is stored by now is there, and "
			"the run is unfinished\n",
			session->options->store);
		return 1;
	}
	if (session->stall)
		comm_store_tell_stall(session->store, session->stall->longest_ns,
				      session->stall->own_ns);
	if (session->accesses) {
		comm_access_log_end(session->accesses, end_ns, comm_session_patience_ns(session));
		look_at_accesses(session, end_ns);
	}
	err = comm_store_end_run(session->store, end_ns, how);
	gone = lost(session);
	if (session->progress)
		fputs("\r\033[K", stderr);
	if (gone >= 0)
		fprintf(stderr, "commd: the store %s %s\n", session->options->store,
			losses[gone].sentence);
	else if (err)
		fprintf(stderr, "commd: the end of the run could not be stored: %s\n",
			strerror(-err));
	if (!session->options->quiet) {
		fprintf(stderr, "%.1f s (%s), ", (double)(end_ns - session->start_ns) / 1e9, how);
		if (stats.loss[COMM_LOSS_DISABLED])
			fprintf(stderr, "disabled for %.1f s of it, ",
				(double)stats.loss[COMM_LOSS_DISABLED] / 1e3);
		fprintf(stderr, "%" PRIu64 " samples, %" PRIu64 " accesses", stats.samples,
			stats.accesses);
		if (session->target_ns)
			/* Of one CPU, too: what a target that does little may cost is a share of that. */
			fprintf(stderr, ", overhead %.2f %% of its CPU time, %.2f %% of one CPU",
				spent_pct(session),
				100.0 * (double)(session->handler_ns + session->daemon_ns) /
					enabled_ns);
		if (session->daemon_idle_ns)
			fprintf(stderr, "; %.2f %% of one CPU besides, while CPUs were idle",
				100.0 * (double)session->daemon_idle_ns / enabled_ns);
		fprintf(stderr, "; run %" PRId64 " in %s\n", session->run, session->options->store);
		say_losses(&stats, session->options->verbose);
		if (stats.accesses && gone < 0)
			say_next(session->options->store);
		if (session->options->verbose) {
			say_estimator();
			say_store(session);
			say_bursts(&stats);
		}
	}
	if (stats.loss[COMM_LOSS_STORE] && gone < 0)
		say_missed(session);
	if (err || gone >= 0 || stats.loss[COMM_LOSS_STORE] || session->accesses_stopped)
		return 1;
	if (!stats.accesses) {
		fprintf(stderr, "commd: no memory access of the target was seen\n");
		return 3;
	}
	return 0;
}

int comm_session_command(const struct comm_session *session, int ended, int status)
{
	enum { SHELL_SIGNAL = 128 }; /* added by shells to the number of a signal */

	if (WIFSIGNALED(ended))
		fprintf(stderr, "commd: %s was killed by signal %d (%s)\n",
			session->options->command[0], WTERMSIG(ended), strsignal(WTERMSIG(ended)));
	if (status == 1)
		return status;
	if (WIFSIGNALED(ended))
		return SHELL_SIGNAL + WTERMSIG(ended);
	return WEXITSTATUS(ended) ? WEXITSTATUS(ended) : status;
}

int comm_session_deinit(struct comm_session *session, int status)
{
	char left[4 * NAME_MAX];

	/* Of a run that has failed its thread may still be there. */
	if (session->queue && !session->is_stuck)
		session->is_stuck =
			comm_slice_queue_end(session->queue, 0,
					     comm_clock_now_ns() + STORE_PATIENCE_NS) != 0;
	/* Its thread goes with the process, and so does what it has, maybe long after all else. */
	if (session->is_stuck) {
		comm_remover_leave();
		comm_priority_leave();
		return 1;
	}
	comm_slice_queue_destroy(session->queue);
	comm_engine_destroy(session->engine);
	comm_access_log_destroy(session->accesses);
	comm_store_close(session->store);
	if (comm_remover_is_gone()) {
		comm_remover_left(session->options->store, left, sizeof(left));
		fprintf(stderr,
			"commd: commd-remover was killed or stopped: beside the store %s stay "
			"until the next run in it: %s\n",
			session->options->store, *left ? left : "nothing");
		status = 1;
	}
	memset(session, 0, sizeof(*session));
	return status;
}
