/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decoded instructions, and constant file bytes.  Code of a file is kept by
 * (file, offset) and shared by all processes that map it; other code by
 * (process, address, generation of its mappings).  Bounded: a full cache is
 * emptied at once, which keeps positions in it plain indices.
 *
 * Instructions of a straight line lie side by side, so the emulator goes on by
 * adding one.  Where a new line reaches an instruction of a cached line, a
 * COMM_OP_GOTO leads there, so each instruction exists once and its counters are
 * complete.
 */
#ifndef COMM_CODECACHE_H
#define COMM_CODECACHE_H

#include "insn.h"
#include "space.h"

/* A mapping as the cache needs it; plain data, valid for one burst. */
struct comm_segment {
	uint64_t start, end;
	uint64_t delta; /* address = at + delta */
	uint32_t owner; /* file, or process */
	uint32_t generation;
	uint32_t salt; /* bumped when the text was found changed */
	bool of_file;
	uint32_t tgid;
	struct comm_mapping mapping;
};

struct comm_codecache;

int comm_codecache_create(const struct comm_inspect *inspect, struct comm_codecache **ret);
void comm_codecache_destroy(struct comm_codecache *cache);

/* Begins a burst: forgets the mappings remembered during the last one. */
void comm_codecache_begin(struct comm_codecache *cache);

/* False when the address is in no executable mapping. */
bool comm_codecache_segment(struct comm_codecache *cache, struct comm_space *space, uint64_t now_ns,
			    uint64_t ip, struct comm_segment *ret);

/*
 * Position of the instruction at an address inside the segment, which is decoded
 * if it is not cached; 0 when its bytes cannot be read.
 */
uint32_t comm_codecache_find(struct comm_codecache *cache, const struct comm_segment *seg,
			     uint64_t ip);
/* The same, but 0 when the instruction is not cached yet. */
uint32_t comm_codecache_peek(struct comm_codecache *cache, const struct comm_segment *seg,
			     uint64_t ip);
/* The text of the segment's owner changed: forgets its instructions. */
void comm_codecache_forget(struct comm_codecache *cache, struct comm_segment *seg);

/* Instructions by position; positions are void once the cache was emptied (epoch). */
struct comm_uop *comm_codecache_uops(struct comm_codecache *cache);
/*
 * Whether the code at a position is what the sample captured at its ip.  A debugger's
 * breakpoint (0xcc) in memory counts as a match with the file's byte.
 */
bool comm_codecache_matches(const struct comm_codecache *cache, uint32_t position,
			    const struct comm_sample *sample);
/* Grows each time that the cache is emptied. */
uint32_t comm_codecache_epoch(const struct comm_codecache *cache);

/*
 * 64 bytes that do not change while the process runs: in a mapping of an ELF
 * file that is neither writable nor shared.  Where the ELF segment is not
 * writable either, the bytes are the file's and all processes share them here;
 * otherwise it is relocated data that was made read-only afterwards (RELRO, so
 * most global offset tables), and they are this process' own.
 */
bool comm_codecache_constant(struct comm_codecache *cache, struct comm_space *space,
			     uint64_t now_ns, uint64_t line_addr, uint8_t data[64]);

#endif
