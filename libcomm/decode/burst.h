/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts: from the registers of an interrupted thread, the accesses that it is
 * about to make.  The saved registers are exact for the instruction at the IP,
 * so forward emulation over the integer subset of x86-64 knows the address of
 * each access until it meets a branch or an address that depends on a value
 * that was not captured (strict mode: an address is emitted only when it is
 * certain, given that no other thread changes the captured memory meanwhile).
 *
 * An instruction that reads and writes one datum gives two accesses, the read
 * first; with a lock prefix (or xchg) both are COMM_ACCESS_ATOMIC.  A cmpxchg
 * that is known to fail is a read, as in libcomm-exact.  A whole rep is one
 * instruction, with one access per side.  A store to an unknown address
 * makes all captured and stored memory unknown; read-only data of ELF files stays.
 *
 * .cycles runs from the retirement of the first instruction to that of the
 * last, and holds what was left of the first if it is a string instruction; .cycle of an access may
 * lie before that of an earlier one, and of a rep is the mean of all its bytes'.
 *
 * Decoded instructions are cached by (file, offset), or by process for code
 * that is not of a file.  The cache is bounded.  Not thread safe.
 *
 * What it is not for: which object an address belongs to (object.h), or what an
 * access means for communication (estimator.h).
 */
#ifndef COMM_BURST_H
#define COMM_BURST_H

#include "event.h"
#include "space.h"

enum {
	COMM_BURST_INSNS = 512,	      /* most instructions of one burst */
	COMM_BURST_ACCESSES = 1024,   /* most accesses of one burst */
	COMM_BURST_CALLS = 64,	      /* calls of one burst that are told */
	COMM_BURST_LOST = UINT16_MAX, /* call: too many of them, or too many within each other */
};

enum comm_burst_end {
	COMM_BURST_FULL,	/* COMM_BURST_INSNS reached */
	COMM_BURST_BRANCH,	/* a branch on an unknown value */
	COMM_BURST_INDIRECT,	/* a jump to an unknown address */
	COMM_BURST_SYSCALL,	/* the kernel takes over */
	COMM_BURST_UNSUPPORTED, /* an instruction whose effect on the flow or
				   registers is not modelled */
	COMM_BURST_NO_TEXT,	/* code bytes not readable */
	COMM_BURST_UNDECODED,
	COMM_BURST_MODE32,
	COMM_BURST_CHANGED, /* the cached code is not the code that the sample captured */
	COMM_BURST_END_MAX
};

struct comm_burst_access {
	uint64_t addr;
	uint64_t ip;
	uint64_t
		bytecode; /* of the program that the code at ip interprets; 0: none, or it is not known (interpreted.h) */
	uint64_t size_bytes;
	uint16_t flags;	  /* enum comm_access_flags */
	uint16_t insn;	  /* position in the burst, 0 for the sampled one */
	uint16_t nth;	  /* of the burst's accesses, those of unknown addresses included */
	uint16_t returns; /* functions that the burst had returned from, those it called apart */
	uint16_t call; /* 1 + the burst's call of the function that this is in; 0: it called none */
	bool left_out; /* nobody asked for what is read here (chosen_functions.h); the decoder leaves it false */
	float cycle; /* when the access issues, from the sample on: dataflow model */
};

struct comm_burst_call {
	uint64_t ip;
	uint16_t within; /* 1 + the call of the function that calls; 0: the burst called none */
};

struct comm_burst {
	/*
	 * Of what it read last, the datum whose value it would have had to know to go on: had the sample
	 * brought it, it would be longer.  0: none, or it is not known which.
	 */
	uint64_t lacked;
	uint32_t n_accesses;
	uint32_t n_insns;   /* instructions emulated */
	uint32_t n_unknown; /* accesses whose address was not known */
	uint32_t n_filled;  /* cache lines that the burst met first with a store */
	float cycles;	    /* time the burst takes by the dataflow model */
	enum comm_burst_end end;
	bool yields; /* at COMM_BURST_SYSCALL: by sched_yield(), which leaves the CPU to others */
	uint16_t n_calls;
	struct comm_burst_call call[COMM_BURST_CALLS];
	struct comm_burst_access access[COMM_BURST_ACCESSES];
};

struct comm_decoder;

int comm_decoder_create(const struct comm_inspect *inspect, struct comm_decoder **ret);
void comm_decoder_destroy(struct comm_decoder *decoder);

/*
 * Emulates from the sample on; from the next instruction on with COMM_SAMPLE_AFTER, not
 * at all if that is not the one behind.  Always fills *ret; it may hold no access.
 * now_ns is the sample's time, for the mappings.
 */
void comm_burst_run(struct comm_decoder *decoder, struct comm_space *space, uint64_t now_ns,
		    const struct comm_sample *sample, struct comm_burst *ret);

/*
 * How many accesses of the instruction at ip had a known address so far, and how
 * many there were in all: accesses are scaled by all/known.
 */
void comm_decoder_known(struct comm_decoder *decoder, struct comm_space *space, uint64_t now_ns,
			uint64_t ip, uint64_t *ret_known, uint64_t *ret_all);

/*
 * The memory operand of the instruction at ip, one that goes that way
 * (COMM_ACCESS_READ, COMM_ACCESS_WRITE): its bytes and enum comm_access_flags.  False:
 * it has none, or none of a size that its code alone tells.
 */
bool comm_decoder_operand(struct comm_decoder *decoder, struct comm_space *space, uint64_t now_ns,
			  uint64_t ip, uint16_t way, uint32_t *ret_bytes, uint16_t *ret_flags);

const char *comm_burst_end_name(enum comm_burst_end end);

/*
 * Whether an access of the sample's burst is near the top of the stack: from the red zone's 128 bytes below it to 8 KiB
 * above.
 */
static inline bool comm_burst_on_stack(const struct comm_sample *sample,
				       const struct comm_burst_access *access)
{
	enum { BELOW_BYTES = 128, ABOVE_BYTES = 8192 };

	return access->addr - (sample->reg[COMM_RSP] - BELOW_BYTES) < BELOW_BYTES + ABOVE_BYTES;
}

#endif
