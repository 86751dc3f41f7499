// SPDX-License-Identifier: GPL-2.0-or-later
#include "perf_clock.h"

#include <x86intrin.h>

#include "clock.h"

enum { TRIES = 4 };

bool comm_perf_clock_now(const struct perf_event_mmap_page *page, uint64_t *ret_ns)
{
	const volatile struct perf_event_mmap_page *shared = page;
	uint64_t zero, tsc, low;
	uint32_t mult, lock;
	uint16_t shift;
	bool can;

	/* Written by the kernel on the CPU of the event, which may be another. */
	do {
		lock = shared->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		can = shared->cap_user_time_zero;
		zero = shared->time_zero;
		mult = shared->time_mult;
		shift = shared->time_shift;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (lock & 1 || shared->lock != lock);
	if (!can || shift > 63)
		return false;
	tsc = __rdtsc();
	low = tsc & ((1ULL << shift) - 1);
	*ret_ns = zero + (tsc >> shift) * mult + ((low * mult) >> shift);
	return true;
}

void comm_perf_clock_read(struct comm_perf_clock *clock, const struct perf_event_mmap_page *page)
{
	uint64_t best_ns = UINT64_MAX, best_perf_ns = 0, best_mono_ns = 0;

	/* The shortest look: in a longer one this thread may have been off its CPU. */
	for (int i = 0; i < TRIES; i++) {
		uint64_t before_ns = comm_clock_now_ns(), perf_ns, after_ns;

		if (!comm_perf_clock_now(page, &perf_ns))
			return;
		after_ns = comm_clock_now_ns();
		if (after_ns - before_ns >= best_ns)
			continue;
		best_ns = after_ns - before_ns;
		best_perf_ns = perf_ns;
		best_mono_ns = before_ns + best_ns / 2;
	}
	comm_perf_clock_anchor(clock, best_perf_ns, best_mono_ns);
}

void comm_perf_clock_anchor(struct comm_perf_clock *clock, uint64_t perf_ns, uint64_t mono_ns)
{
	if (perf_ns <= clock->perf_ns[1])
		return;
	clock->perf_ns[0] = clock->perf_ns[1];
	clock->mono_ns[0] = clock->mono_ns[1];
	clock->perf_ns[1] = perf_ns;
	clock->mono_ns[1] = mono_ns;
}

uint64_t comm_perf_clock_mono(const struct comm_perf_clock *clock, uint64_t perf_ns)
{
	int64_t since = (int64_t)(perf_ns - clock->perf_ns[1]);
	double rate = 1;

	if (clock->perf_ns[0])
		rate = (double)(clock->mono_ns[1] - clock->mono_ns[0]) /
		       (double)(clock->perf_ns[1] - clock->perf_ns[0]);
	return clock->mono_ns[1] + (uint64_t)(int64_t)((double)since * rate);
}
