/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sync.h"

/*
 * A word of a lock: tag, sequence number, state.  The kernel compares the lower
 * half of a word that a thread waits on.
 */
enum {
	FREE,
	HELD,
	AWAITED, /* held, and somebody may wait */
	STATE_BITS = 2,
	ARRIVED_BITS = 8, /* of the barrier's count, below its sequence number */
};

#define LOW(value, bits) ((value) & (((uint64_t)1 << (bits)) - 1))
#define INDEX(value) LOW(value, TRUTH_TAG_SHIFT)

static void note(struct truth_thread *t, uint64_t value, uint64_t *seen)
{
	unsigned int tag = value >> TRUTH_TAG_SHIFT;

	t->sync[tag] += TRUTH_WORD_BYTES;
	if (*seen != value) {
		t->sync_first[tag] += TRUTH_WORD_BYTES;
		*seen = value;
	}
}

static uint64_t load(struct truth_thread *t, const uint64_t *p, uint64_t *seen)
{
	uint64_t value = __atomic_load_n(p, __ATOMIC_ACQUIRE);

	note(t, value, seen);
	return value;
}

/* A locked instruction that reads *p, equal or not. */
static bool swap(struct truth_thread *t, uint64_t *p, uint64_t *old, uint64_t value, uint64_t *seen)
{
	bool done = __atomic_compare_exchange_n(p, old, value, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE);

	note(t, *old, seen);
	if (done)
		*seen = value;
	return done;
}

static void store(const struct truth_thread *t, uint64_t *p, uint64_t low, uint64_t *seen)
{
	uint64_t value = truth_value(t->id, low);

	__atomic_store_n(p, value, __ATOMIC_RELEASE);
	*seen = value;
}

static uint64_t next(struct truth_thread *t, unsigned int bits, unsigned int low)
{
	return truth_value(t->id, INDEX(++t->sync_sequence << bits) | low);
}

static void sleep_on(const uint64_t *p, uint64_t value)
{
	syscall(SYS_futex, p, FUTEX_WAIT, (uint32_t)value, NULL, NULL, 0);
}

static void wake(const uint64_t *p, int n)
{
	syscall(SYS_futex, p, FUTEX_WAKE, n, NULL, NULL, 0);
}

static uint64_t read_decision(struct truth_thread *t)
{
	uint64_t value = __atomic_load_n(&t->sync_words->barrier.decision, __ATOMIC_RELAXED);
	unsigned int tag = value >> TRUTH_TAG_SHIFT;

	/* Each reads each decision once. */
	t->sync[tag] += TRUTH_WORD_BYTES;
	t->sync_first[tag] += TRUTH_WORD_BYTES;
	return INDEX(value);
}

static uint64_t barrier(struct truth_thread *t)
{
	struct truth_sync *sync = t->sync_words;
	struct truth_sync_seen *seen = &t->sync_seen;
	uint64_t generation = load(t, &sync->barrier.generation, &seen->generation);
	uint64_t old = load(t, &sync->barrier.arrived, &seen->arrived), ctl, value;

	do {
		value = next(t, ARRIVED_BITS, LOW(old, ARRIVED_BITS) + 1);
	} while (!swap(t, &sync->barrier.arrived, &old, value, &seen->arrived));
	if (LOW(value, ARRIVED_BITS) == t->n) {
		store(t, &sync->barrier.arrived, next(t, ARRIVED_BITS, 0), &seen->arrived);
		ctl = load(t, &sync->ctl, &seen->ctl);
		__atomic_store_n(&sync->barrier.decision, truth_value(t->id, INDEX(ctl)),
				 __ATOMIC_RELAXED);
		store(t, &sync->barrier.generation, INDEX(generation) + 1, &seen->generation);
		wake(&sync->barrier.generation, INT32_MAX);
	} else {
		while (load(t, &sync->barrier.generation, &seen->generation) == generation)
			sleep_on(&sync->barrier.generation, generation);
	}
	return read_decision(t);
}

static bool begin_turn(struct truth_thread *t, uint64_t ctl)
{
	if (ctl & TRUTH_STOP)
		return false;
	t->turn++;
	if (ctl != t->epoch) {
		t->epoch = ctl;
		t->from_turn = t->turn;
		memset(t->bytes, 0, sizeof(t->bytes));
		memset(t->first, 0, sizeof(t->first));
		memset(t->sync, 0, sizeof(t->sync));
		memset(t->sync_first, 0, sizeof(t->sync_first));
	}
	return true;
}

bool truth_turn(struct truth_thread *t)
{
	return begin_turn(t, barrier(t));
}

void truth_barrier(struct truth_thread *t)
{
	barrier(t);
}

bool truth_poll(struct truth_thread *t)
{
	return begin_turn(t, INDEX(load(t, &t->sync_words->ctl, &t->sync_seen.ctl)));
}

void truth_lock(struct truth_thread *t, unsigned int i)
{
	uint64_t *word = &t->sync_words->lock[i % TRUTH_LOCKS].word;
	uint64_t *seen = &t->sync_seen.lock[i % TRUTH_LOCKS], old = load(t, word, seen), value;
	unsigned int take = HELD;

	for (;;) {
		if (LOW(old, STATE_BITS) == FREE) {
			value = next(t, STATE_BITS, take);
			if (swap(t, word, &old, value, seen))
				return;
			continue;
		}
		if (LOW(old, STATE_BITS) == HELD) {
			value = next(t, STATE_BITS, AWAITED);
			if (!swap(t, word, &old, value, seen))
				continue;
			old = value;
		}
		sleep_on(word, old);
		/* Others may still wait: whoever was woken cannot know. */
		take = AWAITED;
		old = load(t, word, seen);
	}
}

void truth_unlock(struct truth_thread *t, unsigned int i)
{
	uint64_t *word = &t->sync_words->lock[i % TRUTH_LOCKS].word;
	uint64_t *seen = &t->sync_seen.lock[i % TRUTH_LOCKS];
	uint64_t value = next(t, STATE_BITS, FREE);
	uint64_t old = __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);

	note(t, old, seen);
	*seen = value;
	if (LOW(old, STATE_BITS) == AWAITED)
		wake(word, 1);
}

static void tell(struct truth_sync *sync, uint64_t low)
{
	__atomic_store_n(&sync->ctl, truth_value(TRUTH_MAIN, low), __ATOMIC_RELAXED);
}

void truth_sync_reset(struct truth_sync *sync)
{
	tell(sync, INDEX(sync->ctl) + TRUTH_EPOCH);
}

void truth_sync_stop(struct truth_sync *sync)
{
	tell(sync, INDEX(sync->ctl) | TRUTH_STOP);
}
