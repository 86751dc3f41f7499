/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The result file of the exact source, version 2.  Little-endian, fixed widths.
 *
 * A header, then records: kind, payload bytes, payload, zero padding up to a
 * multiple of 8.  Strings follow their struct in the order of its *_bytes
 * members, without a NUL.  A reader skips kinds it does not know.  Edges name
 * actors, actors name threads and sites, sites name functions; dictionary
 * records may come after what refers to them, so resolve at the end.  The last
 * record is COMM_EXACT_END: a file without it was cut off.
 *
 * Where the program was mapped (COMM_EXACT_MAPS), sites and functions have an address in place of a name
 * (COMM_EXACT_CODE, COMM_EXACT_ENTRY), and objects may have; who reads the file finds names, lines and
 * types by them.
 *
 * Fixed ids: site 0 "(other)", site 1 "[kernel]" and the other channels behind it (channel.h), object 0 "(other)", actor 0
 * nobody (its edges are reads of memory never seen to be written).
 */
#ifndef EXACT_FORMAT_H
#define EXACT_FORMAT_H

#include <stdint.h>

#define COMM_EXACT_MAGIC "COMMEXA\n"

enum {
	COMM_EXACT_VERSION = 2,
};

/*
 * The ELF note of a program that writes such a file by itself: its name, its
 * type; the four bytes it holds are the version of the file.
 */
#define COMM_EXACT_NOTE "commprof"

enum {
	COMM_EXACT_NOTE_RUNTIME = 1,
};

enum comm_exact_kind {
	COMM_EXACT_COMMAND = 1, /* a string */
	COMM_EXACT_THREAD,
	COMM_EXACT_FUNCTION,
	COMM_EXACT_SITE,
	COMM_EXACT_OBJECT,
	COMM_EXACT_ACTORS, /* ids count up over all records, from 0 */
	COMM_EXACT_PHASE,
	COMM_EXACT_EDGES, /* of the phase whose record came last */
	COMM_EXACT_END,	  /* the last record */
	COMM_EXACT_REGION,
	COMM_EXACT_WITHIN,
	COMM_EXACT_FRAMES, /* a uint64_t: how many frames (COMM_FRAME()) began */
	COMM_EXACT_MAPS,   /* text as of /proc/PID/maps; there is one at most */
	COMM_EXACT_CODE,
	COMM_EXACT_CALLS,  /* there where calls were to be told apart */
	COMM_EXACT_WRITES, /* of the phase whose record came last; none at all: not counted */
	COMM_EXACT_AGES,   /* of the edges of the record before; none at all: not counted */
	COMM_EXACT_CLOCK, /* a uint64_t: nanoseconds of the run by which ages are counted; there with ages */
	COMM_EXACT_LINK, /* the program's file in COMM_EXACT_MAPS was started by a link to it */
	COMM_EXACT_INSTRUCTIONS, /* of the phase whose record came last; none at all: not counted */
	COMM_EXACT_PATHS,	 /* ids count up over all records, from 0 */
	COMM_EXACT_CALLED,
	COMM_EXACT_ENTRY,
	COMM_EXACT_UNCUT, /* a uint64_t: CLOCK_MONOTONIC from which on slices took too much memory: the last one takes the rest */
	COMM_EXACT_LENGTHS, /* of the phase whose record came last; none at all: not counted */
	COMM_EXACT_DATES, /* likewise; the rest of an edge's bytes was written in the phase in which it was read */
	COMM_EXACT_PLACES, /* of the phase whose record came last; none at all: not known */
	COMM_EXACT_FORGOTTEN, /* a uint64_t: bytes on their way through channels that there was no room for (transit.h) */
};

/* In place of a phase's index: it is not known. */
#define COMM_EXACT_NO_PHASE UINT32_MAX

/*
 * How long before the read an edge's bytes were written: less than the first of these, less than the
 * second, less than the third.  Time is that of COMM_EXACT_CLOCK: an instruction of any thread
 * takes a nanosecond, and a wait of all threads as long as it takes.
 */
enum { COMM_EXACT_AGES_MAX = 3 };
#define COMM_EXACT_AGES_NS                                 \
	{                                                  \
		10000000ull, 1000000000ull, 10000000000ull \
	}

struct comm_exact_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* records start there */
	uint32_t granularity_bytes;
	uint32_t pid;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t start_unix_ns;
};

struct comm_exact_record {
	uint32_t kind;
	uint32_t bytes; /* of the payload, without padding */
};

struct comm_exact_file_thread {
	uint32_t id;
	uint32_t tid;
	uint64_t start_ns, end_ns; /* end 0: lived to the end */
	uint32_t name_bytes;
	uint32_t pid; /* its process; 0: that of the header */
};

struct comm_exact_file_function {
	uint32_t id;
	uint32_t name_bytes, module_bytes;
	uint32_t reserved;
	uint64_t start; /* the file's own address */
};

struct comm_exact_file_link {
	uint32_t file_bytes, name_bytes; /* the file as mapped, and the base name of the link */
};

struct comm_exact_file_site {
	uint32_t id;
	uint32_t function;
	uint32_t line;
	uint32_t source_bytes;
	uint64_t offset; /* the file's own address */
};

/* A marked region (comm/mark.h), or a call that is told apart.  Region 0 is none, region 1 "(other)"; ids are dense. */
struct comm_exact_file_region {
	uint32_t id;
	uint32_t parent; /* the region around it, 0: there is none */
	uint32_t name_bytes;
	uint32_t reserved;
};

/* A site stands for code in a region alone; the same code elsewhere is another site. */
struct comm_exact_file_within {
	uint32_t site, region;
};

/* A function that is under way, and the path that it was called in, which comes before.  Path 0: nobody knows, 1: nobody called. */
struct comm_exact_file_path {
	uint32_t parent, function;
};

/* A site stands for code whose function was called in that path; the same code elsewhere is another site. */
struct comm_exact_file_called {
	uint32_t site, path;
};

/* How many calls have regions of their own, and how many came after these. */
struct comm_exact_file_calls {
	uint64_t numbered, later;
};

/* Where a site is.  Its record of COMM_EXACT_SITE says nothing then. */
struct comm_exact_file_code {
	uint32_t site;
	uint32_t access_bytes; /* that an access there is of; 0: accesses are not counted by code */
	uint64_t ip; /* run-time address, in the instruction or the call that comes before it */
	uint64_t
		reads; /* from there on the next instruction that reads memory is the site's; 0: it is of no type */
};

/* Where a function is that has no name.  Its record of COMM_EXACT_FUNCTION says nothing then. */
struct comm_exact_file_entry {
	uint32_t function;
	uint32_t reserved;
	uint64_t ip; /* run-time address, in the function */
};

/* Static ones need no name, nor do heap and anonymous ones, where there are maps. */
struct comm_exact_file_object {
	uint32_t id;
	uint32_t kind; /* enum comm_object_kind of ids.h */
	uint32_t name_bytes, module_bytes;
	uint64_t start; /* run-time address; of a heap or anonymous one: the code that made it */
	uint64_t size_bytes; /* of a heap site: allocated over the run */
	uint64_t blocks;     /* of a heap site */
	uint32_t tid;	     /* of a stack */
	uint32_t reserved;
};

struct comm_exact_file_actor {
	uint32_t thread;
	uint32_t site;
	uint64_t reserved;
};

struct comm_exact_file_phase {
	uint32_t index;
	uint32_t name_bytes;
	uint64_t start_ns, end_ns;
	uint64_t start_instruction, end_instruction;
};

struct comm_exact_file_edge {
	uint32_t src, dst; /* actors */
	uint32_t object;
	uint32_t
		back; /* written in: 1 the frame in which it is read, 2 that before, 3 earlier; 0: no frames */
	uint64_t bytes;
	uint64_t first_bytes;
};

/* One for each edge.  The rest of the edge's bytes is older. */
struct comm_exact_file_ages {
	uint64_t bytes[COMM_EXACT_AGES_MAX];
};

/* Of the edges between two actors, what was written in an earlier phase. */
struct comm_exact_file_date {
	uint32_t src, dst, object;
	uint32_t phase; /* index of its record, or COMM_EXACT_NO_PHASE */
	uint64_t bytes;
};

/* Where a thread ran in the phase, or in the last one in which it did anything. */
struct comm_exact_file_place {
	uint32_t thread, cpu;
};

/* What an actor wrote to an object, whoever read it. */
struct comm_exact_file_write {
	uint32_t actor, object;
	uint64_t bytes;
};

/* What a thread executed while reads counted. */
struct comm_exact_file_instructions {
	uint32_t thread;
	uint32_t reserved;
	uint64_t count;
};

/* The same of an actor. */
struct comm_exact_file_length {
	uint32_t actor;
	uint32_t reserved;
	uint64_t count;
};

struct comm_exact_file_end {
	uint64_t edges;
	uint64_t accesses;
	uint64_t instructions;
	uint64_t wall_ns;
};

_Static_assert(sizeof(struct comm_exact_header) == 40, "file format");
_Static_assert(sizeof(struct comm_exact_record) == 8, "file format");
_Static_assert(sizeof(struct comm_exact_file_thread) == 32, "file format");
_Static_assert(sizeof(struct comm_exact_file_function) == 24, "file format");
_Static_assert(sizeof(struct comm_exact_file_site) == 24, "file format");
_Static_assert(sizeof(struct comm_exact_file_region) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_within) == 8, "file format");
_Static_assert(sizeof(struct comm_exact_file_path) == 8, "file format");
_Static_assert(sizeof(struct comm_exact_file_called) == 8, "file format");
_Static_assert(sizeof(struct comm_exact_file_calls) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_code) == 24, "file format");
_Static_assert(sizeof(struct comm_exact_file_entry) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_object) == 48, "file format");
_Static_assert(sizeof(struct comm_exact_file_actor) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_phase) == 40, "file format");
_Static_assert(sizeof(struct comm_exact_file_edge) == 32, "file format");
_Static_assert(sizeof(struct comm_exact_file_ages) == 24, "file format");
_Static_assert(sizeof(struct comm_exact_file_date) == 24, "file format");
_Static_assert(sizeof(struct comm_exact_file_place) == 8, "file format");
_Static_assert(sizeof(struct comm_exact_file_write) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_instructions) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_length) == 16, "file format");
_Static_assert(sizeof(struct comm_exact_file_end) == 32, "file format");

#endif
