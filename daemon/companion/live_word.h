/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live word: a word that a burst of a target read, and that the census found changed a little
 * later.  Windows are opened on such words, to see who writes them and who reads them, in order.
 */
#ifndef COMM_LIVE_WORD_H
#define COMM_LIVE_WORD_H

#include <stdbool.h>
#include <stdint.h>

/* Words that change within it change soon: they have short windows, and are drawn apart. */
#define COMM_SOON_NS UINT64_C(30000000)

struct comm_live_word {
	uint32_t tgid, tid;  /* of the reader */
	uint64_t addr, ip;   /* of the read, as the burst has it */
	uint64_t code_ip;    /* of its instruction, where ip is that of interpreted code */
	uint32_t size_bytes; /* up to 8, within one aligned word */
	bool has_value;	     /* what was read is known: */
	uint64_t value;	     /* so many bytes, the first one lowest */
	uint64_t time_ns;    /* of the sample */
	uint64_t lag_ns;     /* after which a look found another value */
	double stands_for;   /* bytes read, as COMM_EV_CENSUS has it */
	/* No other thread can write it: the process has no other, and nobody shares the memory. */
	bool is_sole;
};

#endif
