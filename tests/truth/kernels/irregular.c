/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels whose matrix depends on timing: no formula, each word is counted by
 * the writer that its value names.  Words that may be read while another
 * writes them are relaxed atomics: plain moves in the machine.
 */
#include <sched.h>

#include "truth.h"

#define LOAD(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)

enum { LINE_WORDS = 8 };

static uint64_t next_value(struct truth_thread *t)
{
	return truth_value(t->id, ++t->sequence);
}

/*
 * migratory: objects of four cache lines, each under a mutex, updated by whoever
 * comes along.  A word is read once after each write, so first reads are all.
 */
enum { OBJECTS = 256, OBJECT_WORDS = 32, BATCH = 64 };

static void migratory(struct truth_thread *t)
{
	unsigned int i, j;

	while (truth_poll(t)) {
		for (i = 0; i < BATCH; i++) {
			unsigned int object = truth_random(t) % OBJECTS;
			uint64_t *p = t->shared + object * OBJECT_WORDS, bad = 0, old, value;

			truth_lock(t, object);
			old = p[0];
			value = next_value(t);
			p[0] = value;
			for (j = 1; j < OBJECT_WORDS; j++) {
				bad |= p[j] ^ old;
				p[j] = value;
			}
			truth_unlock(t, object);
			if (bad)
				truth_fail(t, "migratory: a torn object");
			t->bytes[old >> TRUTH_TAG_SHIFT] += OBJECT_WORDS * TRUTH_WORD_BYTES;
			t->first[old >> TRUTH_TAG_SHIFT] += OBJECT_WORDS * TRUTH_WORD_BYTES;
			truth_work(t->work);
		}
	}
}

static uint64_t migratory_words(const struct truth_thread *t)
{
	(void)t;
	return OBJECTS * OBJECT_WORDS;
}

/*
 * spsc: a queue without locks from each even worker to the next.  Both keep a
 * copy of the other's index and read it again only when they must.
 */
enum { SLOTS = 256 };

struct spsc {
	uint64_t head, pad1[15]; /* written by the consumer */
	uint64_t tail, pad2[15]; /* written by the producer */
	uint64_t slot[SLOTS][LINE_WORDS];
};

#define INDEX(v) ((v) & (((uint64_t)1 << TRUTH_TAG_SHIFT) - 1))

static uint64_t read_index(struct truth_thread *t, const uint64_t *index, uint64_t *seen)
{
	uint64_t value = __atomic_load_n(index, __ATOMIC_ACQUIRE);

	truth_note(t, value, seen);
	return INDEX(value);
}

static void produce(struct truth_thread *t, struct spsc *q)
{
	uint64_t tail = 0, head = 0, seen = 0;
	unsigned int i, j;

	while (truth_poll(t)) {
		for (i = 0; i < BATCH; i++, tail++) {
			uint64_t value = truth_value(t->id, tail + 1);

			if (tail - head == SLOTS) {
				head = read_index(t, &q->head, &seen);
				if (tail - head == SLOTS) {
					sched_yield();
					break;
				}
			}
			for (j = 0; j < LINE_WORDS; j++)
				q->slot[tail % SLOTS][j] = value;
			__atomic_store_n(&q->tail, value, __ATOMIC_RELEASE);
			truth_work(t->work);
		}
	}
}

static void consume(struct truth_thread *t, struct spsc *q)
{
	uint64_t tail = 0, head = 0, seen = 0, bad = 0;
	unsigned int i, j;

	while (truth_poll(t)) {
		for (i = 0; i < BATCH; i++, head++) {
			if (tail == head) {
				tail = read_index(t, &q->tail, &seen);
				if (tail == head) {
					sched_yield();
					break;
				}
			}
			for (j = 0; j < LINE_WORDS; j++)
				bad |= q->slot[head % SLOTS][j] ^ truth_value(t->id - 1, head + 1);
			truth_count(t, t->id - 1, LINE_WORDS, LINE_WORDS);
			__atomic_store_n(&q->head, truth_value(t->id, head + 1), __ATOMIC_RELEASE);
			truth_work(t->work);
		}
		if (bad)
			truth_fail(t, "spsc: an item out of order");
	}
}

static void spsc(struct truth_thread *t)
{
	struct spsc *q = (struct spsc *)t->shared + t->id / 2;

	if (t->id % 2)
		consume(t, q);
	else if (t->id + 1 < t->n)
		produce(t, q);
	/* The odd one out has nobody to talk to. */
}

static uint64_t spsc_words(const struct truth_thread *t)
{
	return t->n / 2 * sizeof(struct spsc) / TRUTH_WORD_BYTES;
}

/*
 * hash: a table of four-way buckets without locks: three look-ups to one update;
 * a key that is missing takes a place.  A key and its value may be of two
 * writers, which nobody minds here.  A key word is tag, 32 bits of sequence, 24
 * of key.
 */
enum { BUCKETS = 4096, WAYS = 4, KEYS = 20000, KEY_BITS = 24 };

static void hash(struct truth_thread *t)
{
	unsigned int i, way;

	while (truth_poll(t)) {
		for (i = 0; i < BATCH; i++) {
			uint64_t r = truth_random(t), key = r % KEYS, word;
			uint64_t bucket = (key * 0x9e3779b97f4a7c15u >> 40) % BUCKETS;
			uint64_t *p = t->shared + bucket * 2 * WAYS;
			uint64_t *seen = t->own + bucket * 2 * WAYS;

			for (way = 0; way < WAYS; way++) {
				word = LOAD(&p[2 * way]);
				truth_note(t, word, &seen[2 * way]);
				if (word && (word & ((1 << KEY_BITS) - 1)) == key)
					break;
			}
			if (way == WAYS) {
				way = r >> 32 & (WAYS - 1);
				STORE(&p[2 * way],
				      truth_value(t->id,
						  (++t->sequence & 0xffffffff) << KEY_BITS | key));
				STORE(&p[2 * way + 1], next_value(t));
			} else if (r >> 34 & 3) {
				word = LOAD(&p[2 * way + 1]);
				truth_note(t, word, &seen[2 * way + 1]);
			} else {
				STORE(&p[2 * way + 1], next_value(t));
			}
			truth_work(t->work);
		}
	}
}

static uint64_t hash_words(const struct truth_thread *t)
{
	(void)t;
	return BUCKETS * 2 * WAYS;
}

/*
 * steal: even workers make tasks, all take them: the own newest first, else the
 * oldest of a random other.  A task's block is used again once its executor
 * has said that it is done.
 */
enum { TASKS = 128, TASK_WORDS = 64, TASK_WORK = 20 };

struct deque {
	uint64_t top, bottom, pad[6]; /* tag, 40 bits of sequence, 16 of index */
	uint64_t entry[TASKS];	      /* tag, 40 bits of sequence, 16 of block */
	uint64_t done[TASKS];	      /* how often the block was executed */
	uint64_t block[TASKS][TASK_WORDS];
};

/* What this worker has seen of a deque. */
struct deque_seen {
	uint64_t top, bottom, entry[TASKS];
};

struct stealer {
	uint64_t done_seen[TASKS], made[TASKS], next;
	struct deque_seen seen[TRUTH_THREADS_MAX];
};

static uint64_t load_noted(struct truth_thread *t, const uint64_t *p, uint64_t *seen)
{
	uint64_t value = LOAD(p);

	truth_note(t, value, seen);
	return value;
}

static uint64_t packed(struct truth_thread *t, uint16_t low)
{
	return truth_value(t->id, (++t->sequence & 0xffffffffff) << 16 | low);
}

static bool take(struct truth_thread *t, unsigned int victim, unsigned int *ret)
{
	struct deque_seen *seen = &((struct stealer *)t->own)->seen[victim];
	struct deque *d = (struct deque *)t->shared + victim;
	uint16_t top, bottom;
	bool found;

	truth_lock(t, victim);
	top = load_noted(t, &d->top, &seen->top);
	bottom = load_noted(t, &d->bottom, &seen->bottom);
	found = top != bottom;
	if (found && victim == t->id) {
		bottom--;
		*ret = load_noted(t, &d->entry[bottom % TASKS], &seen->entry[bottom % TASKS]) &
		       0xffff;
		STORE(&d->bottom, packed(t, bottom));
	} else if (found) {
		*ret = load_noted(t, &d->entry[top % TASKS], &seen->entry[top % TASKS]) & 0xffff;
		STORE(&d->top, packed(t, top + 1));
	}
	truth_unlock(t, victim);
	return found;
}

static void make_task(struct truth_thread *t)
{
	struct stealer *own = (struct stealer *)t->own;
	struct deque_seen *seen = &own->seen[t->id];
	struct deque *d = (struct deque *)t->shared + t->id;
	unsigned int block = own->next % TASKS, i;
	uint64_t done = __atomic_load_n(&d->done[block], __ATOMIC_ACQUIRE), value;
	uint16_t top, bottom;

	truth_note(t, done, &own->done_seen[block]);
	if (INDEX(done) != own->made[block])
		return;
	own->made[block]++;
	own->next++;
	value = next_value(t);
	for (i = 0; i < TASK_WORDS; i++)
		d->block[block][i] = value;
	truth_lock(t, t->id);
	top = load_noted(t, &d->top, &seen->top);
	bottom = load_noted(t, &d->bottom, &seen->bottom);
	/* TASKS blocks fit into TASKS entries. */
	if ((uint16_t)(bottom - top) >= TASKS)
		truth_fail(t, "steal: more tasks than blocks");
	STORE(&d->entry[bottom % TASKS], packed(t, block));
	STORE(&d->bottom, packed(t, bottom + 1));
	truth_unlock(t, t->id);
}

static void execute(struct truth_thread *t, unsigned int owner, unsigned int block)
{
	struct deque *d = (struct deque *)t->shared + owner;
	const uint64_t *p = d->block[block];
	uint64_t bad = 0, value = p[0], times;
	unsigned int i;

	for (i = 1; i < TASK_WORDS; i++) {
		bad |= p[i] ^ value;
		truth_work(TASK_WORK + t->work);
	}
	if (bad || value >> TRUTH_TAG_SHIFT != owner + 1)
		truth_fail(t, "steal: a torn task");
	truth_count(t, owner, TASK_WORDS, TASK_WORDS);
	times = LOAD(&d->done[block]);
	/* The count only grows and each time has one executor: no value comes twice. */
	t->bytes[times >> TRUTH_TAG_SHIFT] += TRUTH_WORD_BYTES;
	t->first[times >> TRUTH_TAG_SHIFT] +=
		owner == t->id && ((struct stealer *)t->own)->done_seen[block] == times
			? 0
			: TRUTH_WORD_BYTES;
	__atomic_store_n(&d->done[block], truth_value(t->id, INDEX(times) + 1), __ATOMIC_RELEASE);
}

static void steal(struct truth_thread *t)
{
	unsigned int block, victim, i;

	while (truth_poll(t)) {
		for (i = 0; i < BATCH; i++) {
			if (t->id % 2 == 0)
				make_task(t);
			/* Owners make more than they take, so that there is something to steal. */
			if (t->id % 2 == 0 && i % 4 == 0 && take(t, t->id, &block)) {
				execute(t, t->id, block);
				continue;
			}
			victim = truth_random(t) % t->n;
			if (victim != t->id && victim % 2 == 0 && take(t, victim, &block))
				execute(t, victim, block);
		}
		sched_yield();
	}
}

static uint64_t steal_words(const struct truth_thread *t)
{
	return t->n * sizeof(struct deque) / TRUTH_WORD_BYTES;
}

static uint64_t steal_own(const struct truth_thread *t)
{
	(void)t;
	return sizeof(struct stealer) / TRUTH_WORD_BYTES;
}

/* falseshare: neighbouring words of one line, each with one owner. */
enum { ROWS = 64, ROUNDS = 16 };

static void falseshare(struct truth_thread *t)
{
	uint64_t *p = t->shared + t->id, last = 0;
	unsigned int round, i;

	while (truth_poll(t)) {
		for (round = 0; round < ROUNDS; round++) {
			uint64_t value = next_value(t), bad = 0;

			for (i = 0; i < ROWS; i++) {
				bad |= LOAD(&p[i * t->n]) ^ last;
				STORE(&p[i * t->n], value);
				truth_work(t->work);
			}
			if (bad)
				truth_fail(t, "falseshare: somebody else wrote");
			if (last)
				truth_count(t, t->id, ROWS, ROWS);
			last = value;
		}
	}
}

static uint64_t falseshare_words(const struct truth_thread *t)
{
	return ROWS * t->n;
}

/* readmostly: a table that all read and each sometimes changes. */
enum { TABLE = 4096, READS = 1024 };

static void readmostly(struct truth_thread *t)
{
	unsigned int i;

	for (i = t->id; i < TABLE; i += t->n)
		STORE(&t->shared[i], next_value(t));
	while (truth_poll(t)) {
		for (i = 0; i < READS; i++) {
			uint64_t at = truth_random(t) % TABLE;

			truth_note(t, LOAD(&t->shared[at]), &t->own[at]);
			truth_work(t->work);
		}
		if (t->turn % 4 == 0)
			STORE(&t->shared[truth_random(t) % TABLE], next_value(t));
	}
}

static uint64_t readmostly_words(const struct truth_thread *t)
{
	(void)t;
	return TABLE;
}

static void none_expect(const struct truth_thread *t, unsigned int src, unsigned int dst,
			uint64_t turn, uint64_t *bytes, uint64_t *first)
{
	(void)t, (void)src, (void)dst, (void)turn;
	*bytes = *first = 0;
}

const struct truth_kernel truth_irregular[] = {
	{"migratory", "objects under mutexes go from worker to worker", migratory, migratory_words,
	 NULL, NULL, NULL, false},
	{"spsc", "queues without locks between pairs", spsc, spsc_words, NULL, NULL, NULL, false},
	{"hash", "a shared hash table", hash, hash_words, hash_words, NULL, NULL, false},
	{"steal", "tasks made by the even workers, taken by all", steal, steal_words, steal_own,
	 NULL, NULL, false},
	{"falseshare", "neighbouring words of one line: no communication", falseshare,
	 falseshare_words, NULL, none_expect, NULL, false},
	{"readmostly", "a table that is rarely written", readmostly, readmostly_words,
	 readmostly_words, NULL, NULL, false},
	{.name = NULL},
};
