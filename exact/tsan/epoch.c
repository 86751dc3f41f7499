// SPDX-License-Identifier: GPL-2.0-or-later
#include "epoch.h"

#include <stddef.h>

#include "thread.h"

struct epoch {
	uint64_t frame; /* 0: before the first */
	uint32_t slice;
};

uint16_t comm_exact_epoch, comm_exact_epoch_read;

/* On memory that children of fork() share.  NULL: the run is not cut. */
struct epochs {
	uint64_t n; /* that have begun */
	struct epoch epoch[UINT16_MAX + 1];
};

static struct epochs *epochs;

static int is_over(void)
{
	return __atomic_load_n(&epochs->n, __ATOMIC_RELAXED) > COMM_EXACT_EPOCH_WRAP;
}

static uint16_t next(void)
{
	return (__atomic_fetch_add(&epochs->n, 1, __ATOMIC_RELAXED)) % COMM_EXACT_EPOCH_WRAP + 1;
}

/*
 * Reads are of the epoch that the process is in as well, unless they are stopped.  Another one may begin meanwhile, and
 * its number come here first: who comes last sees to it that the last one stays.  In one order with go_on() and
 * comm_exact_epoch_stop(): who finds reads stopped has set the epoch before who lets them go on looks for it.
 */
static void read_in(void)
{
	uint16_t was = __atomic_load_n(&comm_exact_epoch_read, __ATOMIC_SEQ_CST), now;

	do {
		now = __atomic_load_n(&comm_exact_epoch, __ATOMIC_SEQ_CST);
		while (was != COMM_EXACT_STOPPED &&
		       !__atomic_compare_exchange_n(&comm_exact_epoch_read, &was, now, 0,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
	} while (was != COMM_EXACT_STOPPED &&
		 now != __atomic_load_n(&comm_exact_epoch, __ATOMIC_SEQ_CST));
}

/*
 * The process goes on in another epoch, which has one of these from that at hand: a frame and a slice may begin at once, and
 * a signal handler may begin a frame while one begins.
 */
static void go_on(const uint64_t *frame, const uint32_t *slice)
{
	uint16_t was = __atomic_load_n(&comm_exact_epoch, __ATOMIC_RELAXED), now = next();

	do {
		struct epoch e = epochs->epoch[was];

		e.frame = frame ? *frame : e.frame;
		e.slice = is_over() ? COMM_EXACT_NO_SLICE : slice ? *slice : e.slice;
		epochs->epoch[now] = e;
	} while (!__atomic_compare_exchange_n(&comm_exact_epoch, &was, now, 0, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	read_in();
}

void comm_exact_epochs_cut(void)
{
	const uint32_t first = 0;

	epochs = comm_exact_map_shared(sizeof(*epochs));
	epochs->epoch[0].slice = COMM_EXACT_NO_SLICE;
	go_on(NULL, &first);
}

void comm_exact_epoch_slice(uint32_t slice)
{
	/* Once of none it stays so. */
	if (epochs && epochs->epoch[comm_exact_epoch].slice != COMM_EXACT_NO_SLICE)
		go_on(NULL, &slice);
}

void comm_exact_epoch_frame(uint64_t frame)
{
	if (epochs) {
		go_on(&frame, NULL);
		return;
	}
	comm_exact_epoch = (frame - 1) % COMM_EXACT_EPOCH_WRAP + 1;
	read_in();
}

void comm_exact_epoch_stop(int stopped)
{
	__atomic_store_n(&comm_exact_epoch_read, stopped ? COMM_EXACT_STOPPED : comm_exact_epoch,
			 __ATOMIC_SEQ_CST);
	read_in();
}

void comm_exact_epochs_forked(void)
{
	const uint32_t none = COMM_EXACT_NO_SLICE;

	if (epochs)
		go_on(NULL, &none);
}

uint32_t comm_exact_back(uint16_t written)
{
	uint16_t now = comm_exact_epoch;
	uint64_t back = now - written + (written > now ? COMM_EXACT_EPOCH_WRAP : 0);

	if (epochs) {
		if (!epochs->epoch[now].frame)
			return 0;
		back = epochs->epoch[now].frame - epochs->epoch[written].frame;
	} else if (!now) {
		return 0;
	}
	return back < 2 ? back + 1 : 3;
}

uint32_t comm_exact_earlier(uint16_t written)
{
	uint32_t slice;

	if (!epochs)
		return 0;
	slice = epochs->epoch[written].slice;
	if (slice == COMM_EXACT_NO_SLICE)
		return slice;
	return slice == epochs->epoch[comm_exact_epoch].slice ? 0 : slice + 1;
}
