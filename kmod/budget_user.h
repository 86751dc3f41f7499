/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel names that budget.c uses, for building it in user space. */
#ifndef CP_BUDGET_USER_H
#define CP_BUDGET_USER_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

#define NSEC_PER_MSEC 1000000L
#define S64_MAX INT64_MAX
#define min_t(type, a, b)                      \
	({                                     \
		type min_a = (a), min_b = (b); \
		min_a < min_b ? min_a : min_b; \
	})
#define max_t(type, a, b)                      \
	({                                     \
		type max_a = (a), max_b = (b); \
		max_a > max_b ? max_a : max_b; \
	})
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)

static inline u32 ilog2(u64 value)
{
	return 63 - (u32)__builtin_clzll(value);
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

static inline u64 mul_u64_u32_shr(u64 a, u32 b, unsigned int shift)
{
	return (u64)((__uint128_t)a * b >> shift);
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (u64)((__uint128_t)a * b >> shift);
}

/* The kernel's is one instruction, which faults if the quotient has more than 64 bits. */
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 divisor)
{
	__uint128_t quotient = (__uint128_t)a * b / divisor;

	if (quotient >> 64)
		__builtin_trap();
	return (u64)quotient;
}

#endif
