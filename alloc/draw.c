// SPDX-License-Identifier: GPL-2.0-or-later
#include "draw.h"

#include <stdlib.h>
#include <unistd.h>

enum { MEAN_BYTES = 512 << 10 };

ALLOC_THREAD uint64_t alloc_draw_left_bytes;

static uint64_t mean_bytes = MEAN_BYTES;
static ALLOC_THREAD uint64_t random_state;

/*
 * How many bytes until the next one that is drawn: exponentially distributed, but for the mean at most, so
 * that no larger block is missed.
 */
static uint64_t draw(void)
{
	union {
		double value;
		uint64_t bits;
	} u;
	double log2, bytes;

	/* xorshift64*, and its high bits as a number above 0, up to 1. */
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	u.value = (double)((random_state * UINT64_C(0x2545f4914f6cdd1d) >> 11) + 1) * 0x1p-53;
	/* Its exponent, and a parabola through the logarithm of the rest: 0.01 off at most. */
	log2 = (double)(int64_t)(u.bits >> 52) - 1023;
	u.bits = (u.bits & UINT64_MAX >> 12) | UINT64_C(1023) << 52;
	log2 += (2 - u.value / 3) * u.value - 5.0 / 3;
	bytes = -0.693147 * log2 * (double)mean_bytes;
	return bytes < (double)mean_bytes ? (uint64_t)(bytes > 1 ? bytes : 1) : mean_bytes;
}

void alloc_draw_take(const void *block, size_t size, const uintptr_t *sp, uintptr_t rbp)
{
	if (!random_state) {
		random_state = (uintptr_t)&random_state ^ alloc_table_now_ns() << 20;
		random_state |= !random_state;
		alloc_draw_left_bytes = draw();
		if (size < alloc_draw_left_bytes) {
			alloc_draw_left_bytes -= size;
			return;
		}
	}
	alloc_draw_left_bytes = draw();
	if (block)
		alloc_table_enter((uintptr_t)block, size, sp, rbp);
}

void alloc_draw_again(const void *block, size_t size, int was_there, const uintptr_t *sp,
		      uintptr_t rbp)
{
	if (!ALLOC_PASSES(size))
		alloc_draw_take(block, size, sp, rbp);
	else if (was_there && block)
		alloc_table_enter((uintptr_t)block, size, sp, rbp);
	else
		alloc_draw_left_bytes -= size;
}

/* COMM_ALLOC_BYTES: of the program's environment, which is its user's. */
static __attribute__((constructor)) void look_at_environment(void)
{
	static const char what[] = "libcomm-alloc: COMM_ALLOC_BYTES is no number of bytes from 1 "
				   "to 1099511627776; 524288 is taken\n";
	const char *text = getenv("COMM_ALLOC_BYTES");
	uint64_t bytes = 0;

	if (!text)
		return;
	for (; *text >= '0' && *text <= '9' && !(bytes >> 40); text++)
		bytes = bytes * 10 + (uint64_t)(*text - '0');
	if (*text || !bytes || bytes > UINT64_C(1) << 40) {
		if (write(STDERR_FILENO, what, sizeof(what) - 1) < 0)
			return;
		return;
	}
	mean_bytes = bytes;
	/* This thread has drawn already, by the other mean. */
	alloc_draw_left_bytes = 1;
}
