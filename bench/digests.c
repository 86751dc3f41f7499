// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `make demo` looks at first: one thread fills blocks, two hash them and leave digests, one
 * collects these.  The two count words side by side in one cache line: that is planted.  Runs until
 * it is killed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

enum { WORKERS = 2, DEPTH = 8, BLOCK_WORDS = 2048, DIGEST_WORDS = 512 };

/* Places that one thread fills and one empties, in turns.  Each has lines of its own. */
struct queue {
	sem_t empty __attribute__((aligned(64))), full __attribute__((aligned(64)));
};

struct counts {
	uint64_t words, odd;
};

static struct queue to_hash[WORKERS], to_collect[WORKERS];
static uint64_t blocks[WORKERS][DEPTH][BLOCK_WORDS] __attribute__((aligned(64)));
static uint64_t digests[WORKERS][DEPTH][DIGEST_WORDS] __attribute__((aligned(64)));
static volatile struct counts counts[WORKERS] __attribute__((aligned(64)));
static uint64_t collected[DIGEST_WORDS] __attribute__((aligned(64)));

static __attribute__((noinline)) void fill_block(uint64_t *block, uint64_t seed)
{
	for (int i = 0; i < BLOCK_WORDS; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		block[i] = seed >> 16;
	}
}

static __attribute__((noinline)) void hash_block(const uint64_t *block, uint64_t *digest,
						 volatile struct counts *count)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (int i = 0; i < BLOCK_WORDS; i++) {
		hash = (hash ^ block[i]) * 0x100000001b3;
		digest[i % DIGEST_WORDS] = hash;
		count->words++;
		count->odd += hash & 1;
	}
}

static __attribute__((noinline)) void collect_digest(const uint64_t *digest)
{
	for (int i = 0; i < DIGEST_WORDS; i++)
		collected[i] ^= digest[i];
}

static void *maker(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "maker");
	for (uint64_t n = 0;; n++) {
		struct queue *queue = &to_hash[n % WORKERS];

		sem_wait(&queue->empty);
		fill_block(blocks[n % WORKERS][n / WORKERS % DEPTH], n);
		sem_post(&queue->full);
	}
	return NULL;
}

static void *hasher(void *arg)
{
	uintptr_t id = (uintptr_t)arg;

	pthread_setname_np(pthread_self(), id ? "hasher-2" : "hasher-1");
	for (uint64_t n = 0;; n++) {
		sem_wait(&to_hash[id].full);
		sem_wait(&to_collect[id].empty);
		hash_block(blocks[id][n % DEPTH], digests[id][n % DEPTH], &counts[id]);
		sem_post(&to_collect[id].full);
		sem_post(&to_hash[id].empty);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (uintptr_t i = 0; i < WORKERS; i++) {
		sem_init(&to_hash[i].empty, 0, DEPTH);
		sem_init(&to_collect[i].empty, 0, DEPTH);
		if (pthread_create(&thread, NULL, hasher, (void *)i))
			return 1;
	}
	if (pthread_create(&thread, NULL, maker, NULL))
		return 1;
	pthread_setname_np(pthread_self(), "collector");
	for (uint64_t n = 0;; n++) {
		struct queue *queue = &to_collect[n % WORKERS];

		sem_wait(&queue->full);
		collect_digest(digests[n % WORKERS][n / WORKERS % DEPTH]);
		sem_post(&queue->empty);
	}
}
