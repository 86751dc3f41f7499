// SPDX-License-Identifier: GPL-2.0-or-later
#include "word_pool.h"

#include "hash.h"

void comm_word_pool_offer(struct comm_word_pool *pool, uint64_t *random,
			  const struct comm_live_word *word)
{
	if (!(word->stands_for > 0))
		return;
	pool->stands_for += word->stands_for;
	if (comm_hash_uniform(random) * pool->stands_for < word->stands_for)
		pool->kept = *word;
}

bool comm_word_pool_draw(struct comm_word_pool *pool, struct comm_live_word *ret)
{
	if (!(pool->stands_for > 0))
		return false;
	*ret = pool->kept;
	ret->stands_for = pool->stands_for;
	*pool = (struct comm_word_pool){0};
	return true;
}

static const uint64_t SECOND_NS = 1000000000;

static void merge_pools(struct comm_word_pool *pool, struct comm_word_pool *other, uint64_t *random)
{
	struct comm_live_word word;

	if (comm_word_pool_draw(other, &word))
		comm_word_pool_offer(pool, random, &word);
}

static void adapt(struct comm_word_pools *pools, uint64_t *random, uint64_t now_ns)
{
	unsigned int wanted = pools->is_dry ? 2 * pools->n : pools->drawn / 2;

	if (wanted < COMM_WORD_POOLS_LEAST)
		wanted = COMM_WORD_POOLS_LEAST;
	if (wanted > COMM_WORD_POOLS)
		wanted = COMM_WORD_POOLS;
	for (unsigned int i = wanted; i < pools->n; i++)
		merge_pools(&pools->pool[i % wanted], &pools->pool[i], random);
	pools->n = wanted;
	pools->drawn = 0;
	pools->is_dry = false;
	pools->since_ns = now_ns;
}

void comm_word_pools_offer(struct comm_word_pools *pools, uint64_t *random,
			   const struct comm_live_word *word, uint64_t now_ns)
{
	if (!pools->n || now_ns - pools->since_ns >= SECOND_NS)
		adapt(pools, random, now_ns);
	comm_word_pool_offer(&pools->pool[pools->next++ % pools->n], random, word);
}

static struct comm_word_pool *heaviest(struct comm_word_pools *pools)
{
	struct comm_word_pool *ret = pools->pool;

	for (unsigned int i = 1; i < COMM_WORD_POOLS; i++)
		if (pools->pool[i].stands_for > ret->stands_for)
			ret = &pools->pool[i];
	return ret;
}

bool comm_word_pools_any(const struct comm_word_pools *pools)
{
	bool ret = false;

	for (unsigned int i = 0; i < COMM_WORD_POOLS; i++)
		ret |= pools->pool[i].stands_for > 0;
	return ret;
}

bool comm_word_pools_draw(struct comm_word_pools *pools, struct comm_live_word *ret)
{
	if (!comm_word_pool_draw(heaviest(pools), ret)) {
		pools->is_dry = true;
		return false;
	}
	pools->drawn++;
	return true;
}
