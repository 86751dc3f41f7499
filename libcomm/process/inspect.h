/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspecting a target: all that the engine asks about one besides its events,
 * mappings, code bytes and names.  Views, which answer, have one interface: the live one
 * (/proc and ELF files), the recorder (asks another view and records each answer) and the
 * replay (answers from a recording, so that the same matrix comes out on any
 * host, bit for bit).
 *
 * All answers derive from hostile input.  Strings returned are NUL-terminated,
 * clean (text.h) but for names of threads, and owned by the view until it is destroyed.  One thread uses a view.
 */
#ifndef COMM_INSPECT_H
#define COMM_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "frame_table.h"
#include "ids.h"
#include "marks.h"
#include "title.h"

enum comm_mapping_kind {
	COMM_MAP_FILE,
	COMM_MAP_ANON,
	COMM_MAP_HEAP,	 /* [heap] */
	COMM_MAP_STACK,	 /* [stack]; thread stacks are ANON, see stack.h */
	COMM_MAP_SHARED, /* shared memory without a lasting file: shm, memfd */
	COMM_MAP_VDSO,	 /* [vdso], [vvar] */
	COMM_MAP_JIT,	 /* executable and not of a file */
};

struct comm_mapping {
	uint64_t start, end; /* end is past the last byte */
	uint64_t offset;     /* into the file, bytes */
	/* Of the file; of a System V segment its IPC namespace (maps.h) and its id, which may be 0. */
	uint64_t dev, ino; /* both 0 when anonymous */
	bool readable, writable, executable, shared;
	enum comm_mapping_kind kind;
	const char *path; /* as in /proc/PID/maps; "" when anonymous */
	const char *
		name; /* of a program that was started by a link: the link's base name; else NULL */
	uint32_t file; /* dense id of (dev, ino, path); 0 when anonymous */
};

/* Symbol and line of an instruction; start..end of its function in the file's own addresses. */
struct comm_code {
	/* Demangled, never NULL; "module+0x12" at worst; "[unknown]", "[jit]": not known, or not yet. */
	const char *function;
	const char *inlined;	 /* innermost inlined function here, or NULL */
	const char *module;	 /* base name of the file, "[jit]", "[vdso]" */
	const char *build_id;	 /* hex, "" when unknown */
	const char *source;	 /* file name, NULL when unknown */
	uint32_t line;		 /* 0 when unknown */
	const char *call_source; /* where the inlined function is called, NULL when unknown */
	uint32_t call_line;	 /* likewise, 0 when unknown */
	const char *type;  /* of what the instruction reads: "struct client"; NULL when unknown */
	const char *field; /* of the type: "querybuf", "" for all of it; NULL as type is */
	uint32_t field_offset; /* bytes */
	uint64_t start;	       /* of the function: virtual address in the file */
	uint64_t end;
	struct comm_frame_rule frame; /* where the return address is at this instruction */
	/* The file is still being read: ask again a little later for what is missing. */
	bool provisional;
};

/*
 * A static variable.  A name that starts with a dot (".bss") is a section in
 * which no variable is known at the address; start..end is then all of it.
 */
struct comm_static {
	const char *name;
	const char *module;
	const char *build_id;
	uint64_t start, end; /* run-time addresses in the asked process */
};

/* Memory that a program asked its allocator for and has not given back. */
struct comm_block {
	uint64_t start;
	uint64_t size_bytes;  /* that it may use, and */
	uint64_t least_bytes; /* that it asked for at least */
	/*
	 * Of the object in it, as that itself says; of a part of shared memory, the static variable that leads
	 * to it (shared_parts.h); NULL: not known.
	 */
	const char *class;
	uint32_t object; /* where that begins in it, bytes */
};

struct comm_blocks_found {
	const struct comm_block
		*block; /* in order of addresses; texts are valid as long as it is */
	size_t n;
};

/* Where a block was allocated, told by the process itself (libcomm-alloc.so, jemalloc): all of it may be anything. */
enum { COMM_ALLOCATION_WORDS = 24 };

struct comm_allocation {
	uint64_t start, size_bytes;
	uint64_t since_ns, until_ns; /* from when to when that is known */
	uint64_t code;		     /* behind the call that allocated it */
	uint64_t sp, rbp; /* there; sp 0: the words are the code behind its callers' calls */
	uint32_t n_words; /* of the stack, from sp on */
	uint64_t word[COMM_ALLOCATION_WORDS];
};

/* Blocks are told of memory in pieces. */
enum { COMM_PIECE_BYTES = 16 << 10, COMM_PIECE_BLOCKS = COMM_PIECE_BYTES / 8 };

static inline uint64_t comm_piece_of(uint64_t addr)
{
	return addr & ~(uint64_t)(COMM_PIECE_BYTES - 1);
}

struct comm_inspect_ops {
	/*
	 * The mappings of a process, sorted by address.  On success *ret is
	 * owned by the view and valid until the next call of maps().  -EINPROGRESS: they are being read, ask
	 * again a little later; -EAGAIN: too much was read already.
	 */
	int (*maps)(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n);
	/* maps() costs next to nothing, and an event tells of each change: ask at each. */
	bool maps_at_once;
	/* Code bytes; returns how many could be read, or -errno. */
	ssize_t (*text)(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			void *buf, size_t len_bytes);
	/* Function and line at ip; -ENOENT: nothing is known, *ret then names the module only. */
	int (*code)(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		    struct comm_code *ret);
	/* The variable at addr; -EAGAIN: the file is still being read, ask again a little later. */
	int (*data)(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		    struct comm_static *ret);
	/* A thread's name as in /proc/PID/task/TID/comm, at most 16 bytes, as they are there. */
	int (*thread_name)(void *ctx, uint32_t tgid, uint32_t tid, char name[16]);
	/*
	 * Optional.  What a process calls itself now, "" if it does not; -EAGAIN: too much was read
	 * already, ask again later.
	 */
	int (*title)(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES]);
	/*
	 * Optional.  What the program itself calls a thread of which the kernel does not know that (of Python:
	 * threading.Thread).  -ENOENT: nothing, as far as is known; -EAGAIN: ask again later.
	 */
	int (*given_name)(void *ctx, uint32_t tgid, uint32_t tid,
			  char name[COMM_THREAD_NAME_BYTES]);
	/*
	 * Optional.  The allocator's blocks in the piece of COMM_PIECE_BYTES, aligned, that addr is in; where
	 * there is none at addr, it is free, or the allocator's own.  Of shared memory, its parts.  Valid until
	 * the next call.
	 * -ENOENT: no allocator that is known has this memory; -EAGAIN: it is not known now; -ENOSYS: nobody
	 * looked.
	 */
	int (*blocks)(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret);
	/*
	 * Optional.  The block that addr was in at that time, if the process told where it was allocated.
	 * -ENOENT: it told of none; -EAGAIN: that is not known now; -ENOSYS: it tells of none at all.
	 */
	int (*allocation)(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
			  struct comm_allocation *ret);
	void (*destroy)(void *ctx);
};

struct comm_inspect {
	const struct comm_inspect_ops *ops;
	void *ctx;
};

/* A view of the processes that run now.  Those of the caller's own user need no root. */
int comm_inspect_live_create(struct comm_inspect *ret);
/*
 * Has the symbols and lines of the files that a process has mapped read, before the
 * first sample needs them, and its perf map.  Waits for all but the lines, until stop_ns at most.  Live
 * views only.  Of a fork of this process that is to run another program, of the files that most programs
 * have mapped alone, libc and its loader, and of those the symbols.
 */
void comm_inspect_live_prefetch(struct comm_inspect *inspect, uint32_t tgid, bool is_fork,
				uint64_t stop_ns);
/*
 * CPU time spent so far on reading symbols and lines of modules, a cost paid once
 * per module and not per sample; includes child processes that have ended
 * (parser.h).  0 unless the view is live.
 */
uint64_t comm_inspect_live_setup_ns(const struct comm_inspect *inspect);
/* The part of that CPU time that this process spent itself. */
uint64_t comm_inspect_live_own_ns(const struct comm_inspect *inspect);
/*
 * CPU time of children that read perf maps after the prefetch, and of those that read mappings
 * and memory: it recurs, so it belongs in the budget.
 */
uint64_t comm_inspect_live_generated_ns(const struct comm_inspect *inspect);
/*
 * Takes what was read of files, and lets so much more CPU time go into reading files and
 * mappings of targets, until the next call; UINT64_MAX: there is no limit, which cannot be said
 * any more once there was one.  What is not used is kept for a while, and what was used
 * too much is owed: meanwhile files wait, and mappings are not read.
 */
void comm_inspect_live_allow(struct comm_inspect *inspect, uint64_t cpu_ns);
/*
 * A run has ended: waits for names of the code that was asked about, until stop_ns at most, whatever
 * was allowed.
 */
void comm_inspect_live_finish(struct comm_inspect *inspect, uint64_t stop_ns);
/*
 * For a loop that may not wait, once in each round: from the first call on, mappings that take long are read in pieces, one
 * in each call, and no answer about memory is waited for longer than 20 ms.  True: there is more to read, call it soon.
 */
bool comm_inspect_live_turn(struct comm_inspect *inspect);
/* A run ends, and so do the turns: mappings and memory that nobody has read by end_ns are done without. */
void comm_inspect_live_until(struct comm_inspect *inspect, uint64_t end_ns);
/*
 * How many files of targets were not read, since the process that reads them died or took
 * too long, too many were waiting, or, for mappings, nothing was allowed.  0 unless
 * the view is live.
 */
uint64_t comm_inspect_live_unread(const struct comm_inspect *inspect);
/*
 * The start of a process's command line, as it is in memory, each argument with its NUL.  Returns
 * how many bytes were read: 0 also where it cannot be, or takes too long.  Live views only.
 */
size_t comm_inspect_live_command(const struct comm_inspect *inspect, uint32_t tgid, char *buf,
				 size_t bytes);
/*
 * Calls fn whenever it is found out that a process has marks (<comm/mark.h>), and where; for one
 * process more than once.  At once for those that were asked about before.  Live views only.
 */
typedef void comm_inspect_marks_fn(void *ctx, uint32_t tgid, const struct comm_marks_place *place);
void comm_inspect_live_tell_marks(struct comm_inspect *inspect, comm_inspect_marks_fn *fn,
				  void *ctx);
/*
 * Calls fn for each piece of memory that a process has named (COMM_OBJECT()): slot tells which of
 * them; size_bytes 0: no more.  Called by comm_inspect_live_await_marks().
 */
typedef void comm_inspect_objects_fn(void *ctx, uint32_t tgid, uint32_t slot, uint64_t start,
				     uint64_t size_bytes, uint64_t name);
void comm_inspect_live_tell_objects(struct comm_inspect *inspect, comm_inspect_objects_fn *fn,
				    void *ctx);
/*
 * Calls fn when debug information of a file turns out not to be read in full; unread: of enum
 * comm_dwline_unread.  Live views only.
 */
typedef void comm_inspect_unread_fn(void *ctx, const char *module, unsigned int unread);
void comm_inspect_live_tell_unread(struct comm_inspect *inspect, comm_inspect_unread_fn *fn,
				   void *ctx);
/* Is a file being read, or waiting for its turn?  What was read is taken as time goes on. */
bool comm_inspect_live_reads(const struct comm_inspect *inspect);
/* Asks again those processes whose marks were not initialised yet, and for named memory. */
void comm_inspect_live_await_marks(struct comm_inspect *inspect);
/* Memory of a process, as it is now.  Returns how many bytes could be read, or -errno.  Live views only. */
ssize_t comm_inspect_live_memory(struct comm_inspect *inspect, uint32_t tgid, uint64_t addr,
				 void *buf, size_t len_bytes);
/*
 * Words of eight bytes, n of them, those of a process together, as they are now, in few system calls; is_known is 0 of
 * those that cannot be read.  0 or -errno.  Live views only.
 */
struct comm_peek_place;
struct comm_peek_word;
int comm_inspect_live_words(struct comm_inspect *inspect, const struct comm_peek_place *place,
			    size_t n, struct comm_peek_word *ret);
/* A thread's pointer to its variables (thread_pointer.h).  Live views only. */
int comm_inspect_live_thread_pointer(struct comm_inspect *inspect, uint32_t tgid, uint32_t tid,
				     uint64_t *ret);
void comm_inspect_destroy(struct comm_inspect *inspect);

#endif
