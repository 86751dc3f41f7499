// SPDX-License-Identifier: GPL-2.0-or-later
#include "unpaid_words.h"

/* One alone would seem to be two. */
enum { DONORS_MIN = 2 };

static const uint64_t TELL_NS = UINT64_C(1000000000); /* they are told of together */
static const uint64_t DONOR_NS = 60 * UINT64_C(1000000000);

static struct comm_unpaid_stratum *stratum_of(struct comm_unpaid_words *unpaid,
					      const struct comm_live_word *word)
{
	return &unpaid->stratum[word->lag_ns > COMM_SOON_NS ? comm_late_words_stratum(word->lag_ns)
							    : COMM_LATE_STRATA];
}

void comm_unpaid_words_add(struct comm_unpaid_words *unpaid, uint64_t *random,
			   const struct comm_live_word *word)
{
	comm_word_pool_offer(&stratum_of(unpaid, word)->waiting[word->is_sole], random, word);
}

void comm_unpaid_words_seen(struct comm_unpaid_words *unpaid, const struct comm_live_word *word,
			    const struct comm_window_pairs *pairs, uint64_t now_ns)
{
	struct comm_unpaid_stratum *s = stratum_of(unpaid, word);
	struct comm_unpaid_donor *donor;
	uint32_t n = pairs->n_pairs < COMM_UNPAID_PAIRS ? pairs->n_pairs : COMM_UNPAID_PAIRS;

	/* Words with other writers are not like it. */
	if (word->is_sole)
		return;
	donor = &s->donor[s->next++ % COMM_UNPAID_DONORS];
	donor->time_ns = now_ns;
	donor->word = *word;
	donor->pairs = *pairs;
	donor->pairs.n_pairs = n;
	donor->pairs.n_reads = 0;
	for (uint32_t i = 0; i < n; i++) {
		donor->pair[i] = pairs->pair[i];
		donor->pairs.n_reads += pairs->pair[i].n;
	}
}

void comm_unpaid_words_gone(struct comm_unpaid_words *unpaid, uint32_t tgid)
{
	for (unsigned int i = 0; i < COMM_UNPAID_STRATA; i++)
		for (unsigned int j = 0; j < COMM_UNPAID_DONORS; j++)
			if (unpaid->stratum[i].donor[j].word.tgid == tgid)
				unpaid->stratum[i].donor[j].time_ns = 0;
}

static bool can_be_told(const struct comm_unpaid_donor *donor, uint64_t now_ns)
{
	return donor->time_ns && now_ns - donor->time_ns <= DONOR_NS;
}

/* As one window: those that are told once more are no new observations. */
static void tell_like(struct comm_unpaid_stratum *s, const struct comm_live_word *word,
		      uint32_t number, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	static const struct comm_window_pairs none;
	double sum = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < COMM_UNPAID_DONORS && !word->is_sole; i++)
		if (can_be_told(&s->donor[i], now_ns)) {
			sum += s->donor[i].word.stands_for;
			n++;
		}
	if (n < DONORS_MIN || !(sum > 0)) {
		comm_window_pairs_tell(&none, word, number, COMM_FED_REGISTERS, now_ns, push, ctx);
		return;
	}
	for (unsigned int i = 0; i < COMM_UNPAID_DONORS; i++) {
		struct comm_unpaid_donor *donor = &s->donor[i];
		struct comm_live_word like = donor->word;

		if (!can_be_told(donor, now_ns))
			continue;
		like.stands_for *= word->stands_for / sum;
		donor->pairs.pair = donor->pair;
		comm_window_pairs_tell(&donor->pairs, &like, number, COMM_FED_REGISTERS, now_ns,
				       push, ctx);
		donor->time_ns = 0;
	}
}

void comm_unpaid_words_tell(struct comm_unpaid_words *unpaid, uint32_t *numbers, uint64_t now_ns,
			    comm_event_fn *push, void *ctx)
{
	struct comm_live_word word;

	if (now_ns - unpaid->told_ns < TELL_NS)
		return;
	for (unsigned int i = 0; i < COMM_UNPAID_STRATA; i++)
		for (unsigned int j = 0; j < 2; j++) {
			struct comm_unpaid_stratum *s = &unpaid->stratum[i];

			if (!comm_word_pool_draw(&s->waiting[j], &word))
				continue;
			tell_like(s, &word, ++*numbers, now_ns, push, ctx);
			unpaid->told_ns = now_ns;
		}
}
