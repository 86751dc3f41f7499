// SPDX-License-Identifier: GPL-2.0-or-later
#include "slice.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "epoch.h"
#include "thread.h"

enum {
	FIRST_ITEMS = 1 << 12,
	SHARES_MAX = 1 << 22, /* 160 MiB of them: then slices are no longer cut */
};

/* Grows at the end alone. */
struct list {
	uint8_t *item;
	uint64_t n, capacity;
};

/* Of one edge, in all slices so far. */
struct told {
	uint64_t key; /* 0: free */
	uint64_t object;
	uint64_t bytes, first_bytes;
	uint32_t thread;
};

static struct {
	struct list slices, shares;
	struct told *told; /* by hash */
	uint64_t n_told, mask;
	uint64_t start_ns, length_ns, uncut_ns;
	int busy;
} all;

/* By number, here and below: the names are interposed (mapping.c, channel.c). */
static void *map(uint64_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* NULL: memory is out. */
static void *add(struct list *list, uint64_t item_bytes)
{
	uint64_t capacity = list->capacity ? 2 * list->capacity : FIRST_ITEMS;
	void *grown = MAP_FAILED;

	if (list->n == list->capacity) {
		if (!list->item)
			grown = map(capacity * item_bytes);
		else
			grown = (void *)syscall(SYS_mremap, list->item, list->capacity * item_bytes,
						capacity * item_bytes, MREMAP_MAYMOVE);
		if (!grown || grown == MAP_FAILED)
			return NULL;
		list->item = grown;
		list->capacity = capacity;
	}
	return list->item + item_bytes * list->n++;
}

static struct told *place(struct told *told, uint64_t mask, const struct comm_exact_share *of)
{
	uint64_t hash =
		(of->key ^ of->object * 0xff51afd7ed558ccdu ^ of->thread) * 0x9e3779b97f4a7c15u;
	uint64_t i = hash >> 20 & mask;

	while (told[i].key && (told[i].key != of->key || told[i].object != of->object ||
			       told[i].thread != of->thread))
		i = (i + 1) & mask;
	return &told[i];
}

static int grow_told(void)
{
	uint64_t mask = all.told ? all.mask * 2 + 1 : FIRST_ITEMS - 1, i;
	struct told *grown = map((mask + 1) * sizeof(*grown));

	if (!grown)
		return 0;
	for (i = 0; all.told && i <= all.mask; i++) {
		const struct told *t = &all.told[i];
		const struct comm_exact_share like = {
			.key = t->key, .object = t->object, .thread = t->thread};

		if (t->key)
			*place(grown, mask, &like) = *t;
	}
	if (all.told)
		syscall(SYS_munmap, all.told, (all.mask + 1) * sizeof(*all.told));
	all.told = grown;
	all.mask = mask;
	return 1;
}

/* NULL: memory is out. */
static struct told *told_of(const struct comm_exact_share *of)
{
	struct told *told;

	if (all.n_told * 2 >= all.mask && !grow_told())
		return NULL;
	told = place(all.told, all.mask, of);
	if (!told->key) {
		*told = (struct told){.key = of->key, .object = of->object, .thread = of->thread};
		all.n_told++;
	}
	return told;
}

/* Since the last slice, or since a reset that came later.  The thread may be counting as we look. */
static int take_edge(const struct comm_exact_thread *t, const struct comm_exact_edge *edge)
{
	const uint64_t bytes = __atomic_load_n(&edge->bytes, __ATOMIC_RELAXED);
	const uint64_t first_bytes = __atomic_load_n(&edge->first_bytes, __ATOMIC_RELAXED);
	struct comm_exact_share share = {
		.key = edge->key, .object = edge->object, .thread = t->slot, .cpu = t->cpu};
	struct told none = {0}, *told = all.length_ns ? told_of(&share) : &none;
	struct comm_exact_share *kept;

	if (!told)
		return 0;
	if (told->bytes < edge->base_bytes)
		told->bytes = edge->base_bytes;
	if (told->first_bytes < edge->base_first_bytes)
		told->first_bytes = edge->base_first_bytes;
	if (bytes <= told->bytes)
		return 1;
	share.bytes = bytes - told->bytes;
	share.first_bytes = first_bytes > told->first_bytes ? first_bytes - told->first_bytes : 0;
	if (share.first_bytes > share.bytes)
		share.first_bytes = share.bytes;
	kept = add(&all.shares, sizeof(*kept));
	if (!kept)
		return 0;
	*kept = share;
	told->bytes = bytes;
	told->first_bytes += share.first_bytes;
	return 1;
}

static int take_edges(void)
{
	struct comm_exact_thread *t;
	uint64_t mask, i;

	for (t = comm_exact_threads(); t; t = t->next) {
		const struct comm_exact_edge *edge = comm_exact_table(t, &mask);

		for (i = 0; i <= mask; i++)
			if (__atomic_load_n(&edge[i].key, __ATOMIC_ACQUIRE) &&
			    !take_edge(t, &edge[i]))
				return 0;
	}
	return 1;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/*
 * One without a share is none.  The time is that of the turn: the slice before may have ended while this one waited
 * for it.  0: memory is out; what is not taken now is left for the next slice.
 */
static int end_slice(void)
{
	const uint64_t first = all.shares.n, now_ns = clock_ns();
	struct comm_exact_slice *slice = add(&all.slices, sizeof(*slice));
	int is_all;

	if (!slice)
		return 0;
	is_all = take_edges();
	*slice = (struct comm_exact_slice){all.start_ns, now_ns, first, all.shares.n - first};
	if (!slice->n)
		all.slices.n--;
	if (slice->n || is_all)
		all.start_ns = now_ns;
	return is_all;
}

/* 0: the rest of the run is the last slice. */
static int cut_slice(void)
{
	if (end_slice() && all.shares.n < SHARES_MAX) {
		comm_exact_epoch_slice(all.slices.n);
		return 1;
	}
	all.uncut_ns = all.start_ns;
	return 0;
}

/* Whoever writes the result may be a signal handler: it waits for the library's thread, which takes no signals. */
static void take_turn(void)
{
	while (__atomic_exchange_n(&all.busy, 1, __ATOMIC_ACQUIRE))
		syscall(SYS_sched_yield);
}

static uint64_t wait_until(uint64_t ns)
{
	const struct timespec until = {ns / 1000000000, ns % 1000000000};

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return clock_ns();
}

static void *cut(void *unused)
{
	uint64_t next_ns = all.start_ns + all.length_ns;
	int goes_on = 1;

	(void)unused;
	prctl(PR_SET_NAME, "comm-exact");
	while (goes_on) {
		uint64_t now_ns = wait_until(next_ns);

		take_turn();
		goes_on = cut_slice();
		comm_exact_slices_give_back();
		/* Slices stay multiples of their length: what came too late is not made up for. */
		while (next_ns <= now_ns)
			next_ns += all.length_ns;
	}
	return NULL;
}

void comm_exact_slices_begin(uint64_t start_ns, uint64_t length_ns)
{
	static const char what[] = "comm-exact: no thread to cut slices\n";
	sigset_t every, before;
	pthread_t thread;

	all.start_ns = start_ns;
	all.length_ns = length_ns;
	if (!length_ns)
		return;
	comm_exact_epochs_cut();
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	if (pthread_create(&thread, NULL, cut, NULL))
		syscall(SYS_write, 2, what, sizeof(what) - 1);
	else
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int comm_exact_slices_take(struct comm_exact_slices *ret)
{
	const uint64_t start_ns = all.start_ns;
	int is_all;

	take_turn();
	if (!all.length_ns)
		all.slices.n = all.shares.n = 0;
	is_all = end_slice();
	*ret = (struct comm_exact_slices){all.length_ns > 0, all.slices.n, all.start_ns,
					  all.uncut_ns};
	if (!all.length_ns)
		all.start_ns = start_ns;
	return is_all ? 0 : -ENOMEM;
}

void comm_exact_slices_give_back(void)
{
	__atomic_store_n(&all.busy, 0, __ATOMIC_RELEASE);
}

const struct comm_exact_slice *comm_exact_slice_at(uint64_t i)
{
	return (const struct comm_exact_slice *)all.slices.item + i;
}

const struct comm_exact_share *comm_exact_share_at(uint64_t i)
{
	return (const struct comm_exact_share *)all.shares.item + i;
}
