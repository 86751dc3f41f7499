/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a store of commprof; commprof(3) has a complete program.
 *
 * A reader sees a store as it was when each call began; a writer may go on
 * meanwhile.  Nothing here writes.  One thread uses a reader.  All text comes
 * from observed programs and may hold any bytes but NUL: escape it for where
 * it goes.  Times are nanoseconds, volumes bytes.  Functions return 0 or
 * -errno, and *ret is written on success alone.  *err is then a sentence for
 * the user (malloc'ed, the caller frees it; NULL when there is no memory); who
 * does not want it passes NULL.
 *
 * What may change while the library's name stays libcommprof.so.0: structs
 * grow at their end, enums get more values, functions are added.  So a struct
 * that the program makes says its size, and those that the library makes are
 * reached one by one through a function: a program must not take their sizeof,
 * copy them or step through them as arrays.
 */
#ifndef COMM_COMM_H
#define COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* The library's own symbols are hidden; these functions are its interface. */
#pragma GCC visibility push(default)

struct comm_reader;

/*
 * -ENOENT: no such file; -EMEDIUMTYPE: not a store; -EPROTO: newer than this
 * library; -EUCLEAN: damaged; -EACCES, -EISDIR, -EBUSY, ...: as named.
 */
int comm_reader_open(const char *path, struct comm_reader **ret, char **err);
void comm_reader_close(struct comm_reader *reader);
/* Bytes of the store's files on disk. */
uint64_t comm_reader_bytes(const struct comm_reader *reader);

enum comm_run_state {
	COMM_RUN_RUNNING,
	COMM_RUN_FINISHED,
	COMM_RUN_UNFINISHED, /* its daemon is gone without having ended it */
};

struct comm_run {
	int64_t id;
	const char *source, *event, *estimator, *command, *host, *notes;
	const char *how; /* it ended: "duration", ...; "unfinished" */
	enum comm_run_state state;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t end_ns;	/* of its last slice where it has not ended */
	uint64_t start_unix_ns; /* CLOCK_REALTIME at start_ns */
	double overhead_limit;	/* 0.01 is 1 %; 0: a rate was asked for */
	double overhead;	/* (handler + daemon) / target; 0 when unknown */
	uint64_t granularity_bytes;
	uint64_t slices; /* as delivered, without those rolled up since */
	uint64_t edges;	 /* rows in the store */
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, target_ns;
	uint64_t setup_ns;   /* CPU time spent once, on setting up: no part of overhead */
	uint64_t deleted_ns; /* of its time, to stay within quota or disk */
	const char *uuid;    /* random: no other run of any store has it */
};

/* The runs of a store, oldest first; freed by comm_runs_free(). */
struct comm_runs;

int comm_reader_runs(struct comm_reader *reader, struct comm_runs **ret, char **err);
void comm_runs_free(struct comm_runs *runs);
size_t comm_runs_count(const struct comm_runs *runs);
/* NULL past the last one. */
const struct comm_run *comm_runs_at(const struct comm_runs *runs, size_t i);

/*
 * For whoever follows a store that is being written: what is newest in it.  Costs
 * a few lookups, so it can be asked many times a second.  *ret_run 0: no run yet;
 * *ret_end_ns 0: that run has no slice yet.  *ret_changes is another number
 * whenever anything was written between two calls of one reader, a run's end or
 * a merger of old slices too; it says nothing to another reader.
 */
int comm_reader_newest(struct comm_reader *reader, int64_t *ret_run, uint64_t *ret_end_ns,
		       uint64_t *ret_changes, char **err);

/* What may stand for a node. */
struct comm_grouping {
	const char *name;  /* for comm_query.by: "thread", "function", ... */
	const char *help;  /* "Threads": for a list of options */
	const char *title; /* "threads": communication between them */
	const char *noun;  /* "thread": an edge goes from one to another */
	bool within;	   /* edges are also within one thread */
	bool between;	   /* nodes stand between threads: thread -> object -> thread */
	bool matrix;	   /* mostly few nodes: a matrix of them is worth printing */
};

/* NULL-terminated; the first is the default. */
const struct comm_grouping *const *comm_groupings(void);

/*
 * The rest all zero is a good question: the whole latest run, by thread.
 *
 * size tells the library which fields the program knows: fields past it are
 * taken as zero, and zero means what the library did before it had the field.
 * A program that is newer than the library gets -E2BIG where it sets a field
 * that the library does not know, and its answer where that is zero.
 */
struct comm_query {
	size_t size;	/* sizeof(struct comm_query); COMM_QUERY_INIT sets it */
	int64_t run;	/* 0: the latest */
	const char *by; /* a grouping's name; NULL: "thread" */
	/*
	 * Relative to the run's start, or when negative to its end; to_ns 0 is
	 * the end.  Slices are not cut: the range grows to whole ones.
	 */
	int64_t from_ns, to_ns;
	/* Edges from or to a thread of that tid or name (a glob); NULL: all. */
	const char *thread;
	bool first_read;   /* count only first reads of what was written */
	bool self;	   /* keep edges from a node to itself */
	bool across;	   /* only what one thread wrote and another read */
	double min_share;  /* 0.01: edges of at least 1 % are shown */
	size_t top;	   /* most edges shown; 0: no limit */
	double confidence; /* of the intervals; 0: 0.9 */
};

#ifdef __cplusplus
#define COMM_QUERY_INIT                   \
	{                                 \
		sizeof(struct comm_query) \
	}
#else
#define COMM_QUERY_INIT                           \
	{                                         \
		.size = sizeof(struct comm_query) \
	}
#endif

enum comm_node_kind {
	COMM_NODE_THREAD,
	COMM_NODE_FUNCTION,
	COMM_NODE_OBJECT,
	COMM_NODE_LINE,
	COMM_NODE_NAMED, /* any other: kind_name tells which, and it has a name alone */
};

struct comm_node {
	char id[16]; /* unique in a report: "t12", "f7" */
	enum comm_node_kind kind;
	const char *kind_name; /* "thread", "function", "object", "line", ... */
	/*
	 * The same for what is the same in another run, store or host, so that
	 * reports can be compared: unlike id, which names a row of this store.
	 * Where nothing tells two nodes apart for ever they have one key.
	 *   thread NAME#N    the N-th of that name in the run, counted by its
	 *                    process's start, then its own, then its tid
	 *   function ID+0xA  build-id and address in the file
	 *   function M:NAME  module and name, where there is no build-id
	 *   line F S:L I     F as above, source:line, function inlined there
	 *   object KIND ID:NAME, object KIND M:NAME, object KIND NAME
	 *   object KIND of thread NAME#N   stacks
	 *   process NAME#N   likewise, by its main thread
	 *   KIND NAME        of all other kinds, and of what is other
	 */
	const char *key;
	bool other;	  /* what was folded or could not be told apart */
	const char *name; /* thread, function, object; the line's function */
	const char *module, *build_id;
	const char *source;  /* LINE: file, "" when unknown */
	const char *inlined; /* LINE: function inlined there, "" when none */
	const char *object_kind;
	uint32_t tgid, tid; /* THREAD; OBJECT: tid of a stack's owner */
	uint32_t line;
	uint64_t start;			  /* FUNCTION: address in its file */
	uint64_t size_bytes;		  /* OBJECT */
	double written_bytes, read_bytes; /* by edges from and to it */
	/* OBJECT: the two threads that most goes between, through it. */
	size_t main_writer, main_reader; /* indices of nodes */
	double main_bytes;
};

struct comm_report_edge {
	size_t from, to; /* indices of nodes */
	double bytes;
	double low, high;    /* interval of the query's confidence */
	double share;	     /* of the report's total_bytes */
	double coarse_bytes; /* of bytes: only the object is known to be the same */
	uint64_t samples;    /* bursts behind it: at least so many */
	uint32_t level;	     /* deepest back-off level of the estimator */
	bool resolved;
};

struct comm_report_loss {
	const char *cause; /* stable identifier */
	const char *help;  /* what it means; "" when unknown */
	uint64_t n;
};

struct comm_report_slice {
	uint64_t start_ns, end_ns; /* relative to the run's start */
	double bytes;		   /* between different threads */
	uint64_t samples;
};

struct comm_report {
	const struct comm_run *run;
	const struct comm_grouping *by;
	uint64_t from_ns, to_ns; /* really covered, relative to run->start_ns */
	/* The first n_shown edges pass min_share and top. */
	size_t n_nodes, n_edges, n_shown, n_losses, n_slices;
	double total_bytes;	/* of all n_edges, before cutting */
	double coarse_bytes;	/* of them: only the object is known to be the same */
	double self_bytes;	/* left out: a node with itself */
	double within_bytes;	/* left out: a thread with itself, with across */
	double folded_bytes;	/* left out: both ends folded into (other) */
	double unwritten_bytes; /* read, but never seen to be written */
	double read_bytes;	/* all of the above together */
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, target_ns; /* in the range */
	double overhead;			   /* in the range */
	double confidence;
	bool exact;    /* every access was counted: low = high = bytes */
	double factor; /* that volumes may be wrong by, as the estimator says; 1: exact */
};

/*
 * -ENODATA: no run, no such run, nothing in the range, no such thread, nothing
 * that the grouping needs; *err says which.  -EINVAL: query->size is not set, no
 * such grouping; -E2BIG: see there.
 *
 * Intervals: the estimator's variances are summed as independent, what is known
 * of other errors is added (interval.c), and the whole is taken as log-normal
 * about bytes.  An edge of a sampled run is resolved when at least
 * COMM_RESOLVED_SAMPLES bursts stand behind it, high / low is at most
 * COMM_RESOLVED_RATIO, and at most COMM_RESOLVED_COARSE_PCT of its bytes are
 * known only to have gone through the same object.
 */
int comm_reader_report(struct comm_reader *reader, const struct comm_query *query,
		       struct comm_report **ret, char **err);
/* The reader may be closed before. */
void comm_report_free(struct comm_report *report);

/*
 * The parts of a report, which live as long as it does; NULL past the last one.
 * Edges: those shown before the others, resolved ones first, each largest first.
 */
const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i);
const struct comm_report_edge *comm_report_edge_at(const struct comm_report *report, size_t i);
/* Largest first. */
const struct comm_report_loss *comm_report_loss_at(const struct comm_report *report, size_t i);
/* The range as a course of time, as fine as the store has it. */
const struct comm_report_slice *comm_report_slice_at(const struct comm_report *report, size_t i);

enum {
	COMM_RESOLVED_SAMPLES = 5,
	COMM_RESOLVED_RATIO = 10,
	COMM_RESOLVED_COARSE_PCT = 50,
};

/*
 * A time as people write it, in any locale: [-]DIGITS[.DIGITS][UNIT], without spaces, where
 * UNIT is ns, us, ms, s, m or min, h, or d; without one it is seconds.  What is less
 * than 1 ns is cut off.  -EINVAL: not such a text; -ERANGE: more than INT64_MAX ns.
 */
int comm_parse_duration(const char *text, int64_t *ret_ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
