/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From instrumented code to the shadow.  Code is cut into segments: runs of
 * instructions of one site that are entered only at the top, though they may be
 * left earlier.  At run time a segment writes a header and the few base
 * registers its accesses are relative to into a buffer; what it accesses stands
 * in its descriptor.  So an access costs the generated code at most one store,
 * and often none, and the shadow is updated in batches by a tight loop.  At each
 * side exit the header is written anew, saying how far the segment came.
 *
 * The buffer is emptied when full and whenever the running thread stops, so
 * the order of accesses is that of execution.
 *
 * Nothing here knows the translator.  One thread at a time.
 */
#ifndef COMM_EXACT_TRACE_H
#define COMM_EXACT_TRACE_H

#include "dates.h"
#include "marks.h"
#include "shadow.h"
#include "table.h"

enum comm_trace_kind {
	COMM_TRACE_READ = 1,
	COMM_TRACE_WRITE = 2,
	COMM_TRACE_UPDATE = COMM_TRACE_READ | COMM_TRACE_WRITE, /* reads, then writes */
	COMM_TRACE_MAYBE = 4, /* with one of the others; base 0: did not happen */
	/* No accesses: a call that is told apart begins, the first of a segment; and a call returns.  Of the stack's top. */
	COMM_TRACE_ENTER = 8,
	COMM_TRACE_LEAVE = 16,
	/*
	 * No access: the write that follows, which may be one of a mark, stores what is in the base's slot.  The offset is
	 * how many of the segment's instructions have begun.
	 */
	COMM_TRACE_TELL = 32,
};

enum {
	COMM_TRACE_SLOTS = 4096,
	/* What one superblock may use between two checks of the position. */
	COMM_TRACE_SLACK = 768,
	COMM_TRACE_MAX_SLOTS = 255,
	COMM_TRACE_MAX_ACCESSES = 255,
	COMM_TRACE_THREADS = 1 << 18,
	COMM_TRACE_STACK_BYTES = 16 << 20, /* what is farther away is another stack */
};

/* The address is slot[base] + offset; slot 0 is the segment's header. */
struct comm_trace_access {
	int64_t offset;
	uint16_t size_bytes;
	uint8_t base;
	uint8_t kind;
	/* The cell this access was counted in last, and what it is for. */
	uint32_t object;
	uint64_t pair; /* writer in the low half, reader in the high one */
	struct comm_tool_cell *cell;
};

struct comm_tool_segment {
	uint32_t site;
	uint16_t n_accesses;
	uint16_t n_slots; /* bases, and 1 for the header */
	uint32_t n_instructions;
	/* 1 + index of the function that begins, if its calls are told apart, or 0. */
	uint32_t entered;
	struct comm_tool_segment *next; /* of the same translation */
	const uint64_t *ip;		/* of each access, in the order of execution */
	struct comm_trace_access access[];
};

/*
 * What generated code stores in slot 0: the descriptor's address, how many slots
 * there are (this one included), and how many accesses were made.
 */
static inline uint64_t comm_segment_header(const struct comm_tool_segment *segment,
					   uint64_t n_slots, uint64_t n_accesses)
{
	return (uintptr_t)segment | n_slots << 48 | n_accesses << 56;
}

/* A call that a thread is in. */
struct comm_trace_call {
	uint64_t sp;
	uint32_t around;   /* the region, or the path, that it began in */
	uint32_t within;   /* its own */
	uint32_t function; /* segment->entered - 1 */
	uint32_t n_marks;  /* that had begun before it */
};

struct comm_trace_thread {
	uint32_t *actor; /* in no region and no path, by site; 0: none yet */
	uint32_t n_actors;
	uint32_t region, path; /* what it is in; 0: none */
	uint32_t n_calls, calls_capacity;
	struct comm_trace_call *call;
	struct comm_tool_marks *marks; /* NULL: it has made none */
};

struct comm_trace {
	uint64_t *pos;			 /* generated code writes here */
	uint64_t slot[COMM_TRACE_SLOTS]; /* and here */
	struct comm_shadow shadow;
	struct comm_table table;
	struct comm_tool_dates dates; /* of the table's cells */
	bool counting;		      /* between a start and a stop marker, or as a mark says */
	bool by_object;		      /* tell objects apart */
	uint32_t thread;
	uint64_t reader_bit;
	struct comm_trace_thread *threads; /* by number; this process's own have actors */
	uint32_t n_threads;
	uint64_t instructions;
	/* Of each thread of all processes, by number, while counting; on memory that they share. */
	uint64_t *thread_instructions;
	/*
	 * What ages are measured by: all processes' instructions, and comm_trace_waited(); in nanoseconds,
	 * on memory that they share.
	 */
	uint64_t *clock_ns;
	uint64_t phase_end; /* in instructions; UINT64_MAX: none */
	uint64_t accesses;
	/* The host's: the region, or the path, of the last of n calls that are under way. */
	uint32_t (*begin_call)(const struct comm_trace_call *call, uint32_t n);
	bool has_paths;	     /* calls are paths, and no regions */
	uint32_t calls_deep; /* a call within as many others counts for the last of these */
	struct comm_trace_thread forked; /* what a child of fork() goes on in */
	bool has_forked;
	/* Marks: where they are, and of this process how many frames have begun, and when the last two did. */
	struct comm_tool_marks_place marks;
	uint64_t frames, frame_ns, frame_before_ns; /* frame_ns 0: none */
	comm_marks_region_fn *region_of;	    /* the host's */
	/* The host's: piece i of the memory that has a name now has that one; bytes 0: it has none any more. */
	void (*name_object)(uint32_t i, const struct comm_marks_object *object);
	struct comm_marks_object object[COMM_MARKS_OBJECTS];
	/* The host's: names the object at an address that has none yet. */
	uint32_t (*find_object)(uint64_t addr);
	/* Called when instructions reach phase_end; moves phase_end. */
	void (*end_phase)(void);
	/*
	 * The host's: draws an access, one of COMM_TRACE_READ and COMM_TRACE_WRITE, and says how many of that kind from
	 * it on the next is drawn.  NULL: none is.
	 */
	uint32_t (*draw)(enum comm_trace_kind kind, uint64_t time_ns, uint64_t ip, uint64_t addr,
			 uint32_t bytes);
	uint32_t to_draw[COMM_TRACE_WRITE + 1]; /* by kind: how many from here on, from 1 */
};

void comm_trace_init(struct comm_trace *trace, uint32_t granule_bytes);

/* A new thread, by its number, which no other one of any process has. */
void comm_trace_add_thread(struct comm_trace *trace, uint32_t number);
/* In a child of fork(): what was done so far others have done. */
void comm_trace_forked(struct comm_trace *trace);
/* Empties the buffer before: what follows is done by that thread. */
void comm_trace_run_thread(struct comm_trace *trace, uint32_t thread);
/* No thread of any process ran meanwhile. */
void comm_trace_waited(struct comm_trace *trace, uint64_t ns);
uint32_t comm_trace_actor(struct comm_trace *trace, uint32_t thread, uint32_t site);

/* Works off whole segments.  The position is at the start again afterwards. */
void comm_trace_flush(struct comm_trace *trace);
/*
 * As well the accesses that the segment cut short by a memory fault made since
 * its last exit and before fault_ip.  Only for faults: they are raised by an
 * access, so that segment is at hand.
 */
void comm_trace_flush_fault(struct comm_trace *trace, uint64_t fault_ip);

/* Accesses that no generated code made: system calls, the allocator. */
void comm_trace_read(struct comm_trace *trace, uint32_t thread, uint32_t site, uint64_t addr,
		     uint64_t len_bytes);
void comm_trace_write(struct comm_trace *trace, uint32_t thread, uint32_t site, uint64_t addr,
		      uint64_t len_bytes);

/* No accesses: memory has copies of what was written elsewhere.  The actor, 0: nobody, of how many of the bytes. */
uint64_t comm_trace_writer(struct comm_trace *trace, uint64_t addr, uint64_t len_bytes,
			   uint32_t *ret_actor);
void comm_trace_set_writer(struct comm_trace *trace, uint64_t addr, uint64_t len_bytes,
			   uint32_t actor, uint64_t time_ns);

#endif
