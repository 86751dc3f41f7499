// SPDX-License-Identifier: GPL-2.0-or-later
#include "late_words.h"

#include <math.h>

#include "census.h"

/* The census' look that finds the words of the first stratum changed; each further one has a stratum of its own. */
enum { FIRST_LOOK = 3 };

unsigned int comm_late_words_stratum(uint64_t lag_ns)
{
	unsigned int class = comm_census_class_of(0, lag_ns);
	unsigned int first = COMM_CENSUS_CHANGED + FIRST_LOOK, last = first + COMM_LATE_STRATA - 1;

	return (class < first ? first : class > last ? last : class) - first;
}

static const uint64_t WAIT_NS = 60 * UINT64_C(1000000000);

void comm_late_words_offer(struct comm_late_words *late, uint64_t *random,
			   const struct comm_live_word *word, uint64_t now_ns)
{
	unsigned int stratum = comm_late_words_stratum(word->lag_ns);
	unsigned int pool = late->next[stratum]++ % late->n_pools;
	bool is_empty = true;

	for (unsigned int i = 0; i < late->n_pools; i++)
		is_empty &= !(late->pool[stratum][i].stands_for > 0);
	if (is_empty)
		late->since_ns[stratum] = now_ns;
	comm_word_pool_offer(&late->pool[stratum][pool], random, word);
}

bool comm_late_words_draw(struct comm_late_words *late, double longest_ns, uint64_t now_ns,
			  struct comm_live_word *ret)
{
	struct comm_word_pool *most = NULL;
	unsigned int stratum = 0;
	double most_worth = 0, worth;

	for (unsigned int i = 0; i < COMM_LATE_STRATA; i++) {
		double lag_ns = (double)comm_census_lag_ns[FIRST_LOOK + i];

		for (unsigned int j = 0; j < late->n_pools && lag_ns <= longest_ns; j++) {
			worth = late->pool[i][j].stands_for / sqrt(lag_ns);
			if (!(worth > most_worth))
				continue;
			most = &late->pool[i][j];
			most_worth = worth;
			stratum = i;
		}
	}
	if (!most)
		return false;
	late->since_ns[stratum] = now_ns;
	return comm_word_pool_draw(most, ret);
}

bool comm_late_words_overdue(struct comm_late_words *late, uint64_t now_ns,
			     struct comm_live_word *ret)
{
	for (unsigned int i = 0; i < COMM_LATE_STRATA; i++)
		for (unsigned int j = 0; j < late->n_pools; j++)
			if (now_ns - late->since_ns[i] >= WAIT_NS &&
			    comm_word_pool_draw(&late->pool[i][j], ret))
				return true;
	return false;
}
