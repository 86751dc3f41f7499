/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ages: how long before a read the datum was written.  Of a number of bytes that were read,
 * the part of each age, in bins that grow by four up to a second and by two from there on;
 * what is missing to the whole is of an age that is not known.  Together with the slice in
 * which the bytes were read they tell when these were written.
 *
 * Where the program marks frames (frame.h), the same in frames: of the bytes, those written in the
 * frame in which they were read, those of the frame before it, and those of earlier ones.
 */
#ifndef COMM_AGE_H
#define COMM_AGE_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

enum {
	COMM_AGES = 24,
	COMM_AGES_BACK = 3,
	/* Bytes of packed ages, at most. */
	COMM_AGES_PACKED = 2 * (COMM_AGES + COMM_AGES_BACK),
};

struct comm_ages {
	float bytes[COMM_AGES];
	double back[COMM_AGES_BACK]; /* so many frames, the last one or more; exactly, if counted */
};

/* A bin is from its first age up to, but not with, that of the next; the last has no end. */
uint64_t comm_age_first_ns(uint32_t bin);
uint32_t comm_age_bin(uint64_t age_ns);

/* One byte of that age; at: where the reader was in its frames. */
struct comm_ages comm_ages_of(uint64_t age_ns, const struct comm_frame_at *at);

/* Adds weight times what other has. */
void comm_ages_add(struct comm_ages *ages, const struct comm_ages *other, double weight);
void comm_ages_scale(struct comm_ages *ages, double factor);
/* Of all that is known, in time. */
double comm_ages_sum(const struct comm_ages *ages);

/*
 * For a store: a pair of octets for each bin that is not empty, the bin and its share of bytes in
 * units of 1/255.  The shares' sum is that of the ages to half a unit, a bin's to one.  Then the same of
 * the frames, whose bins are numbered on.  Whole numbers of bytes that are known by their frames, and not
 * by time, as who counts has them, stand there as they are.  Returns the length.
 */
size_t comm_ages_pack(const struct comm_ages *ages, double bytes,
		      uint8_t ret_packed[COMM_AGES_PACKED]);
/* Packed ages may be hostile: what is no pack of shares of one whole is not known. */
void comm_ages_unpack(const uint8_t *packed, size_t n, double bytes, struct comm_ages *ret);

#endif
