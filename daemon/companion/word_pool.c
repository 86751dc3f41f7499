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
