/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a store of commprof; commprof(3) has a complete program.
 *
 * A reader sees a store as it was when each call began; a writer may go on
 * meanwhile.  It does not write to it.  One thread uses a reader.  All text comes
 * from observed programs and may hold any bytes but NUL: escape it for where
 * it goes.  Times are nanoseconds, volumes bytes.  Functions return 0 or
 * -errno, and *ret is written on success alone.  *err is then a sentence for
 * the user (malloc'ed, the caller frees it; NULL when there is no memory); a
 * caller that does not want the sentence passes NULL as err.
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
/* From its third report on a reader keeps what it read, up to 64 MiB, for the next. */
void comm_reader_close(struct comm_reader *reader);
/* Size on disk of the store's files. */
uint64_t comm_reader_bytes(const struct comm_reader *reader);

/* What comm_salvage() saved; size is the program's sizeof(struct comm_salvaged). */
struct comm_salvaged {
	size_t size;
	uint64_t runs, slices, edges; /* rows of the new store */
	uint64_t partial;	      /* of the slices, those that lack edges: a loss of theirs */
	uint64_t gaps;		      /* places that could not be read */
};

/*
 * Copies what can be read of a damaged store, of any version, into a new one, and changes
 * nothing else.  -EEXIST: there is a file of the new
 * name; -ENODATA, -EUCLEAN: nothing can be saved; -EBUSY: a commd is writing to it.
 */
int comm_salvage(const char *from, const char *to, struct comm_salvaged *ret, char **err);

/*
 * These two change a store.  comm_run_label() says what the user calls a run: a text of one line
 * and at most 100 bytes that is no number; "" is none.  comm_run_delete() deletes a run for good.
 * -ENODATA: there is no such run; -EINVAL: no such label; -EBUSY: a commd is writing to it.
 */
int comm_run_label(const char *path, int64_t run, const char *label, char **err);
int comm_run_delete(const char *path, int64_t run, char **err);

/* So long, from its start on, a run may cost more than its limit: it sets up. */
#define COMM_SETTLING_NS 5000000000ull

/*
 * The last of comm_run.notes begins so, where the reads of some functions alone were counted (commd --function): shares
 * are then of what these read.
 */
#define COMM_NOTE_ONLY "only what '"

enum comm_run_state {
	COMM_RUN_RUNNING,
	COMM_RUN_FINISHED,
	COMM_RUN_UNFINISHED, /* the run's daemon died before it ended the run */
};

struct comm_run {
	int64_t id;
	const char *source, *event, *estimator, *command, *host, *notes;
	const char *how; /* how the run ended: "duration", ...; "unfinished" */
	enum comm_run_state state;
	uint64_t start_ns;	/* CLOCK_MONOTONIC */
	uint64_t end_ns;	/* end of the last slice while the run has not ended */
	uint64_t start_unix_ns; /* CLOCK_REALTIME at start_ns */
	double overhead_limit;	/* 0.01 is 1 %; 0: the user fixed the rate */
	double overhead;	/* (handler + daemon) / target; 0 when unknown */
	uint64_t granularity_bytes;
	uint64_t slices; /* in the store, without the wide ones that repeat them */
	uint64_t edges;	 /* rows in the store */
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, target_ns;
	uint64_t setup_ns;   /* CPU time spent once, on setting up: no part of overhead */
	uint64_t deleted_ns; /* how much of the run's time was deleted for quota or disk */
	const char *uuid;    /* random: no other run of any store has it */
	const char *label;   /* what the user calls the run, "": nothing */
	double floor;	     /* overhead that was allowed in any case, as a share of one CPU */
	/* How long the rings of the kernel waited at most, beyond what was meant; 0: not known. */
	uint64_t stall_ns;
	uint64_t store_ns; /* the longest that a slice took to be written; 0: not known */
	/* CPU time that the daemon used while CPUs were idle, beside daemon_ns: no part of overhead */
	uint64_t daemon_idle_ns;
	/* The least limit that was in force; overhead_limit and floor are the largest.  0: there was but one. */
	double overhead_least;
	/* The longest such wait but for the time without a CPU, which may be of another wait; 0: not known. */
	uint64_t stall_own_ns;
};

/* The runs of a store, oldest first; freed by comm_runs_free(). */
struct comm_runs;

int comm_reader_runs(struct comm_reader *reader, struct comm_runs **ret, char **err);
void comm_runs_free(struct comm_runs *runs);
size_t comm_runs_count(const struct comm_runs *runs);
/* NULL past the last one. */
const struct comm_run *comm_runs_at(const struct comm_runs *runs, size_t i);

/*
 * For a program that follows a store which is being written: the newest run and
 * the end of its newest slice.  Costs a few lookups, so it can be called many
 * times a second.  *ret_run 0: no run yet; *ret_end_ns 0: that run has no slice
 * yet.  *ret_changes differs between two calls of one reader whenever the store
 * was written between them, a run's end or a roll-up of old slices too; values
 * of different readers cannot be compared.
 */
int comm_reader_newest(struct comm_reader *reader, int64_t *ret_run, uint64_t *ret_end_ns,
		       uint64_t *ret_changes, char **err);

/* What a node of a report stands for: a thread, a function, an object, ... */
struct comm_grouping {
	const char *name;  /* for comm_query.by: "thread", "function", ... */
	const char *help;  /* "Threads": help text of the option that picks it */
	const char *title; /* "threads": as in "communication between threads" */
	const char *noun;  /* "thread": what one node is */
	bool within;	   /* edges are also within one thread */
	bool between;	   /* nodes stand between threads: thread -> object -> thread */
	bool matrix;	   /* mostly few nodes: a matrix of them is worth printing */
	bool across;	   /* without comm_query.self as if comm_query.across were set */
};

/* NULL-terminated; the first is the default. */
const struct comm_grouping *const *comm_groupings(void);

/*
 * With only size set, the query is for the whole latest run, by thread.
 *
 * size tells the library which fields the program knows: fields past it are
 * taken as zero, and zero means what the library did before it had the field.
 * A program that is newer than the library gets -E2BIG when it sets a field
 * that the library does not know, and a report when all such fields are zero.
 */
struct comm_query {
	size_t size; /* sizeof(struct comm_query); COMM_QUERY_INIT sets it */
	int64_t run; /* 0: the latest */
	/*
	 * A grouping's name; NULL: "thread".  Or up to four of them but "cpu" and "node", joined by
	 * commas: "thread,function" has a node for each function in each thread.  Of "phase",
	 * "time", "frame" and "frames" one at most.
	 */
	const char *by;
	/*
	 * Relative to the run's start, or when negative to its end; to_ns 0 is
	 * the end.  Slices are not cut: the range grows to whole ones.
	 */
	int64_t from_ns, to_ns;
	/* A tid or a thread name (a glob): only edges from or to such threads; NULL: all. */
	const char *thread;
	bool first_read;   /* count only first reads of what was written */
	bool self;	   /* keep edges from a node to itself */
	bool across;	   /* only what one thread wrote and another read, within a node too */
	double min_share;  /* 0.01: edges of at least 1 % are shown */
	size_t top;	   /* most edges shown; 0: no limit */
	double confidence; /* of the intervals; 0: 0.9 */
	/* Nonzero: show resolved edges alone (n_shown); the others are counted. */
	uint64_t resolved;
	double min_bytes;   /* edges of at least so many are shown */
	const char *writer; /* as thread: only edges from such threads; NULL: all */
	/*
	 * Nonzero: data objects stand between the nodes, function -> object -> function, as with
	 * by "object" between threads; the report's by is that of "object".
	 */
	uint64_t objects;
	const char *label; /* the latest run of that label, when run is 0; NULL: any */
	/*
	 * Nonzero: the report also says where the run's threads ran, for comm_report_place_at().
	 * Only by "thread", "role" and "process", of whose nodes each thread belongs to one.
	 */
	uint64_t places;
	/*
	 * Globs: only edges whose writer or reader is in such a function, also as inlined, and
	 * only those through such a data object; NULL: all.  Parameters may be left out: "ns::f".
	 */
	const char *function, *object;
	/* Nonzero: the report also has cache lines, for comm_report_cacheline_at(). */
	uint64_t cachelines;
	/*
	 * Nonzero: the report also says how much of each counter fell to each node, for
	 * comm_report_count_at().  Only by "thread", "role", "process", and "region", to which
	 * CPU time is shared out by samples.
	 */
	uint64_t counts;
	/*
	 * Nonzero: the report also says what each node wrote and read in all, for
	 * comm_report_total_at(); by "path" these make a call tree.
	 */
	uint64_t totals;
	/*
	 * Nonzero: nodes also say how much of what they read has no known writer, and those are
	 * nodes, too, of which nothing else is known.
	 */
	uint64_t unwritten;
	/*
	 * Nonzero: not what the run's estimator says, but who feeds whom with fresh data: of some of the
	 * sampled reads, drawn with a known chance, the words that change within 1 s, and who was seen to
	 * write them last before they are read.  Of an exact run what was read less than 10 s after it
	 * was written; -ENODATA where ages were not counted.  Not of first reads,
	 * or by "phase", "time", "frame" or "frames", of which nothing is known there: -EINVAL.
	 */
	uint64_t fresh;
	/*
	 * Nonzero: the report also says how much of what its nodes read waits for others, and how
	 * soon the rest changes, for comm_report_census_at().
	 */
	uint64_t census;
	/*
	 * By "time": how long a piece is, of which there are 64 at most, else -EINVAL; 0: there are 16, equally long.
	 */
	uint64_t piece_ns;
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
	COMM_NODE_NAMED, /* any other kind, named by kind_name: only the name is set */
};

/* Two other structs begin with one, so this one never grows. */
struct comm_node {
	char id[16]; /* unique in a report: "t12", "f7" */
	enum comm_node_kind kind;
	const char *kind_name; /* "thread", "function", "object", "line", ... */
	/*
	 * Identifies the node in other runs, stores and hosts too, so that reports
	 * can be compared; id names a row of this store only.  Two nodes that no
	 * lasting property tells apart have the same key.
	 *   thread NAME#N    the N-th thread NAME of the run, ordered by start of
	 *                    its process, then by its own start, then by tid; NAME is its
	 *                    role where it is called by its process's title
	 *   function ID+0xA  build-id and address in the file
	 *   function M:NAME  module and name, where there is no build-id
	 *   line F S:L I at S:L   F as above, source:line, function inlined there and
	 *                    the line that calls it
	 *   path F, F, ...   a function, and those around it, the innermost first
	 *   caller of F F, caller of F unknown   a function, and the one that called it
	 *   object KIND ID:NAME, object KIND M:NAME, object KIND NAME
	 *   object KIND of thread NAME#N   stacks
	 *   ... of process of NAME#N       after each of the other objects' keys: private
	 *                    memory, by its process's main thread where that is known
	 *   process NAME#N   as for threads, by the process's main thread
	 *   KIND NAME        all other kinds, and nodes where other is set
	 */
	const char *key;
	/* "(other)", "[first write]": sums what was folded or could not be told apart */
	bool other;
	const char *name; /* thread, function, object; the line's function */
	const char *module, *build_id;
	const char *source;  /* LINE: file, "" when unknown */
	const char *inlined; /* LINE: function inlined there, "" when none */
	const char *object_kind;
	uint32_t tgid, tid; /* THREAD; OBJECT: of whose private memory, and a stack's owner */
	uint32_t line;
	uint64_t start;			  /* FUNCTION: address in its file */
	uint64_t size_bytes;		  /* OBJECT */
	double written_bytes, read_bytes; /* sums over the edges from and to the node */
	/* OBJECT: the pair of threads with the most bytes through the object. */
	size_t main_writer, main_reader; /* indices of nodes */
	double main_bytes;
	/*
	 * Of a report by several groupings: the node in each of them; of a path: its functions, the
	 * outermost first; else none.
	 */
	const struct comm_node *const *parts;
	size_t n_parts;
	/* THREAD: when it was first seen, CLOCK_MONOTONIC: with tid and host it is unique. */
	uint64_t start_ns;
	/* Of a phase, a piece of time or frames by number, relative to the run's start; else 0. */
	uint64_t from_ns, to_ns;
	const char *call_source; /* LINE: where the inlined function is called, "" when unknown */
	uint32_t call_line;
	/*
	 * With query->unwritten: what the node read whose writer was not seen.
	 * Over all nodes they add up to the report's, unless a filter takes a part; where data
	 * objects or types stand between the nodes, once over these and once over the readers.
	 * They have no interval.
	 */
	double unwritten_bytes;
};

struct comm_report_edge {
	size_t from, to; /* indices of nodes */
	double bytes;
	double low, high; /* interval of the query's confidence */
	double share;	  /* of the report's total_bytes */
	uint64_t samples; /* lower bound of the bursts that the edge was estimated from */
	uint32_t level;	  /* deepest back-off level of the estimator */
	bool resolved;
	/* The interval of share: without the factor that is common to all volumes. */
	double share_low, share_high;
	uint64_t slices; /* of time, in which the edge was seen */
	/*
	 * The factor, of the query's confidence, by which sampling alone errs: all that tells
	 * two runs apart that were made alike of an unchanged program, besides the report's
	 * factor for volumes.  1: exact.
	 */
	double noise;
	/*
	 * Where loads at the reading end found their data, as a PMU told that samples precisely:
	 * n_origins shares from first_origin on, for comm_report_origin_at(); 0: it is not known.
	 * They rest on so many sampled loads.  What was read at one place by one thread in one
	 * object counts the same for each edge to it.
	 */
	size_t first_origin, n_origins;
	double origin_loads;
	double latency_cycles; /* mean of the loads that it was measured of; 0: of none */
};

/*
 * A share of the loads of an edge whose origin is known.  Three sum up to 1: "hitm", from
 * another core, which had written the line (a transfer for sure); "remote", else from another
 * socket, its caches or memory; "local", else.  Then each origin by itself: "own" (L1, L2
 * or a fill buffer of the reader's core), "l3", "peer" (another core of the socket, which had
 * not written the line), "modified" (which had), "remote_cache", "remote_modified",
 * "memory" and "remote_memory".
 */
struct comm_report_origin {
	const char *name; /* stable identifier */
	double share, share_low, share_high;
};

struct comm_report_loss {
	const char *cause; /* stable identifier */
	const char *help;  /* what it means; "" when unknown */
	uint64_t n;
	bool spared; /* left out on purpose, to stay in the budget: no sample is lost by it */
};

/*
 * A thread of the run on a CPU, in a slice of the range.  Threads that nobody saw run have one
 * place without a CPU; exact runs have no others.
 */
struct comm_report_place {
	char node[16]; /* comm_node.id of its thread, role or process; the report may not have it */
	uint32_t tgid, tid;
	const char *name; /* the thread's */
	uint64_t from_ns; /* start of the slice, relative to the run's */
	int64_t cpu;	  /* -1: not known */
	uint64_t samples; /* where they come by time, in proportion to CPU time */
};

/*
 * A cache line that threads take from each other: 64 bytes that bursts met one thread after
 * the other to use, one of which wrote.  An access may be contended when another thread writes in
 * the line, or when it writes and another uses the line; what threads do more seldom is
 * contended for no more often than that.  It is contended truly when the others use bytes of its
 * own, falsely when they only use others.  How often threads waited samples do not tell: an access
 * that waits looks like many that do not.  Of the lines of a slice the daemon keeps those
 * that changed their thread most often.
 */
struct comm_report_cacheline {
	/*
	 * "false": at most a quarter of what is contended is so truly, as a whole, in each
	 * half of the run, and by the interval's end; "true": at least three quarters; "both": something
	 * between; "unclear": the run does not tell, as when the same bytes of a heap may have been
	 * given to one thread after the other.
	 */
	const char *verdict;
	bool stated; /* another verdict than "unclear", which the run confirms as it does an edge */
	uint64_t bursts; /* that met it */
	uint64_t turns; /* of these, by another thread than the one before, and one of both wrote */
	double accesses; /* of all that threads do with it, if they never wait: a bound */
	/* So many at most, if threads never wait; the turns that were seen; the most by the interval. */
	double contended, contended_low, contended_high;
	double true_share, true_low, true_high; /* of contended */
	const struct comm_node *object;		/* that is used most of it */
	int64_t offset; /* of its first byte in that, which may be negative; INT64_MIN: not known */
	size_t first_use, n_uses; /* for comm_report_cacheline_use_at(), by byte */
};

/* What a thread does at a place of the program with some bytes of a cache line. */
struct comm_report_cacheline_use {
	const struct comm_node *thread, *object;
	const struct comm_node *place; /* COMM_NODE_LINE */
	int64_t offset;		       /* of these bytes in the object; -1: not known */
	uint32_t byte, size_bytes;     /* of the line */
	bool writes;
	double accesses;
	uint64_t bursts;
	const struct comm_node *role; /* the thread's */
	const struct comm_node *type; /* of what is read, with its field; NULL: the run has none */
};

struct comm_report_slice {
	uint64_t start_ns, end_ns; /* relative to the run's start */
	double bytes;		   /* between different threads */
	uint64_t samples;
	/*
	 * With "frame" or "frames" in query->by: how many frames began in it, of the process that began
	 * most; else 0.
	 */
	uint64_t frames;
};

/*
 * What became of all bytes that were read.  An edge is not resolved here where its share has
 * no interval as of an edge, where the halves of the run differ, or where a single object
 * carries it: object names that one then.
 */
struct comm_report_part {
	const char *name; /* stable identifier: "others", "self", "within", "unseen", ... */
	double bytes;
	double share, share_low, share_high; /* of the report's read_bytes */
	bool resolved;
	const char *object; /* NULL: no single one */
};

/* A counter of a node, in the range.  The node may be none of the report's, for want of edges. */
struct comm_report_count {
	struct comm_node node; /* without its bytes */
	const char *counter;   /* "cpu-time-ns", "minor-faults", ...; those with -ns are times */
	double total;
	uint64_t slices;	/* in which there was any of it */
	double mean, deviation; /* of these slices */
	double counted;		/* in which share of its CPU time; total knows of no other time */
	double cpu_ns;		/* of the node; 0: not known */
	double bytes;		/* written and read by the node, as far as the report has edges */
};

/* The sum of edges. */
struct comm_report_volume {
	double bytes;
	double low, high; /* interval of the query's confidence */
	double share;	  /* of the report's total_bytes */
	double share_low, share_high;
	uint64_t samples; /* as of an edge, lower bounds */
	uint64_t slices;
	bool resolved; /* as of an edge */
};

/*
 * What others read of what a node wrote, and what it read that others wrote, as far as the report
 * has edges of it (all, whatever is shown); of an object, read is what was read from it, and written
 * is nothing.  all_written and all_read include the nodes that are within it, as a function's path
 * of calls is within that of its caller: the same where none is.
 *
 * written is a sum of reads: what is written once and read twice counts twice, and what nobody
 * reads does not count.  What was written is wrote_bytes.
 */
struct comm_report_total {
	struct comm_node node; /* may be none of the report's, for want of edges */
	struct comm_report_volume written, read, all_written, all_read;
	double own_bytes; /* read of what it wrote itself, where the report leaves that out */
	size_t around;	  /* index of the one that it is within, SIZE_MAX: none */
	size_t depth;
	const struct comm_node *reader, *writer; /* with the most bytes; NULL: there is none */
	double reader_bytes, writer_bytes;
	bool intensive; /* written or read: resolved, and share_low is at least 5 % */
	/* With query->unwritten, as of the node; all: including the nodes within it. */
	double all_unwritten_bytes;
	/*
	 * What was written by the node, or to the object, whoever reads it, as the run counted it;
	 * below 0: it did not, as a run that samples, or nodes are of what is read (types), or the
	 * query is of certain threads or functions.
	 */
	double wrote_bytes, all_wrote_bytes;
	/* All that it read, or that was read of the object, by whom ever: also without a known writer. */
	double reads_bytes;
	/*
	 * How long the node was, all: with those within it, in the report's length_unit, counted or, of code of a run that
	 * samples, what samples stand for: a sum over the node's threads and code.  Below 0: it is not known.
	 */
	double length, all_length;
};

/* A datum is fresh that changes within 10 ms, 1 s, 10 s; in an exact run, that was written less than that before. */
enum { COMM_CENSUS_FRESH = 3 };

/*
 * What a survey says of a node's reads outside of own stacks, by the words of some that were drawn by
 * their bytes (struct comm_query.census): shares, with intervals of the query's confidence.  A
 * word that is written again as it was does not change, so more may be rewritten than these say.
 */
struct comm_report_census {
	size_t node;	/* index of a node; SIZE_MAX: all together, which comes first */
	uint64_t reads; /* that were drawn */
	double bytes;	/* that they stand for */
	/* Of the bytes that all nodes read besides in loops that wait. */
	double share, share_low, share_high;
	/* Of the bytes of all nodes, what the node reads in such loops. */
	uint64_t waiting_reads;
	double waiting, waiting_low, waiting_high;
	/*
	 * Of what the node reads besides, what changes within 10 ms, 1 s, 10 s of the read.  Low is 0
	 * and high is 1 where no word was looked at for so long.
	 */
	double fresh[COMM_CENSUS_FRESH], fresh_low[COMM_CENSUS_FRESH],
		fresh_high[COMM_CENSUS_FRESH];
};

struct comm_report {
	const struct comm_run *run;
	const struct comm_grouping *by;
	uint64_t from_ns, to_ns; /* range that the slices cover, relative to run->start_ns */
	/* The first n_shown edges pass min_share and top. */
	size_t n_nodes, n_edges, n_shown, n_losses, n_slices;
	double total_bytes;	/* of all n_edges, before cutting */
	double self_bytes;	/* left out: edges from a node to itself */
	double within_bytes;	/* left out by across: from a thread to itself */
	double folded_bytes;	/* left out: both ends folded into (other) */
	double unwritten_bytes; /* read, but never seen to be written */
	double read_bytes;	/* all of the above together */
	uint64_t samples, bursts, accesses;
	uint64_t handler_ns, daemon_ns, target_ns; /* in the range */
	double overhead;			   /* in the range */
	double confidence;
	bool exact;	   /* every access was counted: low = high = bytes */
	double factor;	   /* error of volumes that the estimator states, a factor; 1: exact */
	double seen_bytes; /* of read_bytes: the writer was seen */
	double unresolved_bytes; /* part of total_bytes: in edges that are not resolved */
	size_t n_unresolved;
	size_t n_blocks;  /* of time, that the range was split into to check it against itself */
	size_t n_origins; /* of all edges; 0: no origin of any load is known */
	size_t n_places;  /* 0 but for query->places */
	/*
	 * What overhead may be in the range: the run's limit, or its floor where the target used
	 * so little that this is more; 0: there is no limit.
	 */
	double overhead_allowed;
	/*
	 * Of the range, how long sampling was enabled: what rates are of.  At least 1; all of the
	 * range where nobody disabled it.
	 */
	uint64_t enabled_ns;
	size_t n_cachelines, n_cacheline_uses; /* 0 but for query->cachelines */
	size_t n_counts;		       /* 0 but for query->counts */
	size_t n_totals;		       /* 0 but for query->totals */
	/*
	 * Part of unwritten_bytes: read over and over by loops that write nothing, as threads do that
	 * wait for another's write; none of them for query->first_read.
	 */
	double polled_bytes;
	/* Windows on fresh words in the range: what a report with query->fresh rests on. */
	uint64_t windows;
	bool fresh; /* as the query */
	/*
	 * The same as overhead, of what of the range is later than COMM_SETTLING_NS into the run;
	 * below 0: nothing is.
	 */
	double overhead_settled;
	size_t n_census;	 /* 0 but for query->census, and without a survey */
	uint64_t daemon_idle_ns; /* in the range, as of comm_run */
	/*
	 * With query->totals: the counter that lengths of nodes are of, named as of comm_report_count ("instructions",
	 * "accesses", "cpu-time-ns"); NULL: the run counted none for such nodes, nodes are of data, or the query is
	 * of windows, or of certain threads or functions: then CPU time alone is known, and is all of the node's.
	 */
	const char *length_unit;
};

/*
 * -ENODATA: no run, no such run, no slice in the range, no such thread, or the
 * run lacks what the grouping needs; *err says which.  -EINVAL: query->size is
 * not set, no such grouping, or one without places; -E2BIG: see struct comm_query.
 *
 * Intervals: the estimator's variances are summed as independent, or what the blocks
 * of time differ by is taken where that is more; the other errors of its error model
 * are added (interval.c), and the estimate is taken as log-normal about bytes.
 *
 * An edge is resolved when the run confirms it: of a sampled run, when at least
 * COMM_RESOLVED_SAMPLES bursts in COMM_RESOLVED_SLICES slices stand behind it, it is
 * known to within COMM_RESOLVED_RATIO (from the lower to the upper end, of 90 %), and the even and
 * the odd blocks of the run agree about it within that ratio too.  Known is its share, by share_high /
 * share_low, or how it compares with others that are known: its bytes, apart from the factor
 * that all volumes of the run err by together.  The share of an edge beside a large one that
 * is not known may be anything, and has a wide interval.  No edge is resolved where more than
 * COMM_RESOLVED_RATIO times as much was read of writers that nobody saw (unwritten_bytes without
 * polled_bytes) as of known other threads, or, by code and not across threads, of all known ones.
 * In windows on fresh data the last writer was seen: an edge of COMM_RESOLVED_WINDOWS of them is resolved, too, where
 * share_low, of 90 %, is 2 % or more.
 * The next run of a steady load repeats such an edge; nothing else is stated by commctl report.
 */
int comm_reader_report(struct comm_reader *reader, const struct comm_query *query,
		       struct comm_report **ret, char **err);
/* A report outlives its reader: the reader may be closed first. */
void comm_report_free(struct comm_report *report);

/*
 * The parts of a report, which live as long as it does; NULL past the last one.
 * Edges: the n_shown ones before the others; of each, resolved ones first, then by size.
 */
const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i);
const struct comm_report_edge *comm_report_edge_at(const struct comm_report *report, size_t i);
/*
 * What of comm_report_edge depends on the confidence that the query asked for.  Programs make
 * it, so it never grows.
 */
struct comm_interval {
	double low, high;
	double share_low, share_high;
	double noise;
};
/*
 * The intervals of all n_edges edges, as of another confidence, without reading the store again.
 * What is outside of (0, 1) means 0.9.
 */
void comm_report_intervals(const struct comm_report *report, double confidence,
			   struct comm_interval *ret);
/* Losses, largest first. */
const struct comm_report_loss *comm_report_loss_at(const struct comm_report *report, size_t i);
/* The range as a time series, of the narrowest slices that the store still has. */
const struct comm_report_slice *comm_report_slice_at(const struct comm_report *report, size_t i);
/* Where all bytes went. */
const struct comm_report_part *comm_report_part_at(const struct comm_report *report, size_t i);
/* See comm_report_edge.first_origin. */
const struct comm_report_origin *comm_report_origin_at(const struct comm_report *report, size_t i);
/* In order of time; threads without a CPU are last. */
const struct comm_report_place *comm_report_place_at(const struct comm_report *report, size_t i);
/* Stated ones first, then by what is contended. */
const struct comm_report_cacheline *comm_report_cacheline_at(const struct comm_report *report,
							     size_t i);
const struct comm_report_cacheline_use *
comm_report_cacheline_use_at(const struct comm_report *report, size_t i);
/* All together first, then by node, those that read most first. */
const struct comm_report_census *comm_report_census_at(const struct comm_report *report, size_t i);
/* By node, those with most CPU time first. */
const struct comm_report_count *comm_report_count_at(const struct comm_report *report, size_t i);
/* The largest first, each followed by those within it. */
const struct comm_report_total *comm_report_total_at(const struct comm_report *report, size_t i);

enum {
	COMM_RESOLVED_SAMPLES = 5,
	COMM_RESOLVED_SLICES = 4,
	COMM_RESOLVED_RATIO = 3,
	COMM_RESOLVED_WINDOWS = 10,
};

/*
 * Parses a duration, alike in any locale: [-]DIGITS[.DIGITS][UNIT], without spaces, where
 * UNIT is ns, us, ms, s, m or min, h, or d; the default is seconds.  Fractions of a
 * nanosecond are cut off.  -EINVAL: not such a text; -ERANGE: more than INT64_MAX ns.
 */
int comm_parse_duration(const char *text, int64_t *ret_ns);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
