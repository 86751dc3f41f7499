/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that commd --accesses writes: every access that was decoded from samples, and no others, in
 * order of time.  This header is the specification; docs/formats/accesses.md has programs that read it.
 *
 * The file begins with struct comm_accesses_file.  Records follow until its end, each of
 * struct comm_accesses_record and as many bytes as that says, a multiple of 8.  The last one is END; a file
 * without it was cut short, or is still being written, and what it has is whole records and perhaps a
 * part of one.  A reader skips kinds that it does not know and what stands behind the fields it knows:
 * records grow at their end.  Numbers are little endian; all stands at a multiple of 8 bytes.
 *
 * Texts are UTF-8 without control characters, with their NUL; a length of 0 is no text.
 */
#ifndef COMM_ACCESSES_H
#define COMM_ACCESSES_H

#include <stdint.h>

#define COMM_ACCESSES_MAGIC "commacc" /* with its NUL: 8 bytes */

enum {
	COMM_ACCESSES_VERSION = 1,
	COMM_ACCESSES_BYTE_ORDER = 0x01020304,
};

struct comm_accesses_file {
	char magic[8];
	uint32_t version, byte_order;
	uint64_t start_ns;	/* of the run, by the clock of the rows */
	uint64_t start_unix_ns; /* and since 1970 */
	double cycles_per_ns;	/* of comm_accesses_row.cycle; 0: not known */
	uint64_t zero;
};

struct comm_accesses_record {
	uint32_t kind;	/* enum comm_accesses_kind */
	uint32_t bytes; /* that follow */
};

enum comm_accesses_kind {
	COMM_ACCESSES_FUNCTION = 1, /* comes before the first row that has its id */
	COMM_ACCESSES_OBJECT,	    /* likewise */
	COMM_ACCESSES_ROW,
	COMM_ACCESSES_END,
};

/* Behind it its texts, then zeros.  A later record of the same id knows more: the last one counts. */
struct comm_accesses_function {
	uint32_t id;
	uint32_t zero;
	uint64_t start; /* virtual address in its file; 0: of generated code, or not known */
	uint32_t name_bytes, module_bytes, build_id_bytes;
	uint32_t zero2;
};

/* What lies at an address: a variable, a heap, a stack.  Behind it its texts, then zeros. */
struct comm_accesses_object {
	uint32_t id;
	uint32_t pid; /* of the process whose private memory it is; 0: shared, or not known */
	uint64_t size_bytes;
	uint32_t kind_bytes, name_bytes, module_bytes;
	uint32_t zero;
};

enum comm_accesses_flags {
	COMM_ACCESSES_READ = 1 << 0,
	COMM_ACCESSES_WRITE = 1 << 1,	  /* with READ: one of both, it is not known which */
	COMM_ACCESSES_ATOMIC = 1 << 2,	  /* lock prefix or xchg */
	COMM_ACCESSES_REP = 1 << 3,	  /* all that one string instruction reads, or writes */
	COMM_ACCESSES_KERNEL = 1 << 4,	  /* done by the kernel for the thread */
	COMM_ACCESSES_OWN_STACK = 1 << 5, /* in the stack of the thread that accesses */
	COMM_ACCESSES_CONSTANT = 1 << 6,  /* in memory that no thread of the process can write */
	/* In a private page of a file, in a variable of less than 2 MiB, or in no known mapping. */
	COMM_ACCESSES_FILE = 1 << 7,
};

/* By what the address is known. */
enum comm_accesses_known {
	COMM_ACCESSES_MEASURED, /* the machine told it: PEBS, IBS, SPE */
	COMM_ACCESSES_DECODED,	/* from the registers at the sample, of the instruction there */
	COMM_ACCESSES_EMULATED, /* of a later instruction, which the thread was about to run */
};

/*
 * An instruction that reads and writes has two rows, the read first.  Rows of one burst, what one sample
 * gave, come together and have its number: they are one observation, so errors are those of bursts.
 * What push, pop, call and ret do on the stack is left out.
 */
struct comm_accesses_row {
	uint64_t time_ns; /* of the sample, CLOCK_MONOTONIC */
	uint64_t ip;	  /* of the instruction */
	uint64_t address; /* virtual, of the process pid */
	uint64_t size_bytes;
	/*
	 * Executed accesses that this one stands for, by the chance with which it was met: a sum of
	 * weight times size_bytes estimates bytes (libcomm/estimate/weight.h).
	 */
	double weight;
	uint64_t burst;
	uint32_t pid, tid, cpu;	   /* of the initial PID namespace */
	uint32_t function, object; /* 0: not known, or one of too many */
	uint16_t flags;		   /* enum comm_accesses_flags */
	uint8_t known;		   /* enum comm_accesses_known */
	uint8_t zero;
	float cycle; /* after the sample, by a model of the processor; below 0: before */
	uint32_t
		insn; /* how many instructions behind the sampled one; accesses, where these are sampled */
};

struct comm_accesses_end {
	uint64_t end_ns; /* of the run */
	uint64_t rows;
};

#endif
