// SPDX-License-Identifier: GPL-2.0-or-later
#include "word_census.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "census.h"

enum {
	WORDS_MAX = 1 << 13,
	/* Looks that are due within such a part of their lag are made with those that are due now: each call costs some. */
	EARLY_PART = 8,
	WORD_BYTES = 8,
	/*
	 * First looks are made together, for each question to the process that reads the target wakes it up: no sooner after
	 * the last ones than that, and later where few words came.
	 */
	GATHER_NS = 500 * 1000 * 1000,
	GATHER_TIMES = 4,  /* that, at most, */
	GATHER_WORDS = 16, /* while there are no more */
	RETRY_NS = 20 * 1000 * 1000,
};

struct word {
	struct comm_burst_read read;
	uint64_t addr; /* of the eight bytes that are looked at */
	uint64_t mask; /* of these, the bytes that were read */
	uint64_t value;
	uint64_t first_ns;  /* of the first look; 0: none was made */
	uint64_t quiet_ns;  /* of the last look, after the first */
	unsigned int looks; /* after the first */
	uint64_t due_ns;
};

struct settled {
	struct comm_burst_read read;
	uint64_t quiet_ns, changed_ns;
};

struct comm_word_census {
	struct comm_word_census_config config;
	struct comm_word_census_stats stats;
	uint64_t lost, next_ns;
	uint64_t gather_ns; /* no first look is made before */
	size_t n_new;	    /* words that wait for theirs */
	size_t n, n_settled;
	struct word word[WORDS_MAX];
	struct settled settled[WORDS_MAX];
	/* Of a turn. */
	uint32_t due[WORDS_MAX];
	struct comm_peek_place place[WORDS_MAX];
	struct comm_peek_word now[WORDS_MAX];
};

int comm_word_census_create(const struct comm_word_census_config *config,
			    struct comm_word_census **ret)
{
	struct comm_word_census *census = calloc(1, sizeof(*census));

	if (!census)
		return -ENOMEM;
	census->config = *config;
	census->next_ns = UINT64_MAX;
	*ret = census;
	return 0;
}

void comm_word_census_destroy(struct comm_word_census *census)
{
	free(census);
}

/* Of an unaligned word, eight bytes from its start on: what they hold is compared alone. */
static uint64_t mask_of(uint32_t size_bytes)
{
	return size_bytes >= WORD_BYTES ? UINT64_MAX : (1ull << 8 * size_bytes) - 1;
}

/* When those that wait are looked at first. */
static uint64_t first_ns(const struct comm_word_census *census)
{
	uint64_t more_ns =
		census->n_new < GATHER_WORDS ? (GATHER_TIMES - 1) * (uint64_t)GATHER_NS : 0;

	return census->gather_ns + more_ns;
}

static uint64_t due_ns(const struct comm_word_census *census, const struct word *word)
{
	return word->first_ns ? word->due_ns : first_ns(census);
}

void comm_word_census_offer(struct comm_word_census *census, const struct comm_burst_read *read)
{
	struct word *word = &census->word[census->n];

	if (census->n + census->n_settled >= WORDS_MAX) {
		census->stats.crowded++;
		census->lost++;
		return;
	}
	*word = (struct word){.read = *read, .addr = read->addr, .mask = mask_of(read->size_bytes)};
	/* The last bytes of a page may be read: what lies before them then takes their place. */
	if ((word->addr & 4095) > 4096 - WORD_BYTES) {
		unsigned int back = (word->addr & 4095) - (4096 - WORD_BYTES);

		word->addr -= back;
		word->mask <<= 8 * back;
	}
	census->n++;
	census->n_new++;
	census->stats.words++;
	if (first_ns(census) < census->next_ns)
		census->next_ns = first_ns(census);
}

static void settle(struct comm_word_census *census, const struct word *word, uint64_t changed_ns)
{
	census->settled[census->n_settled++] = (struct settled){
		.read = word->read, .quiet_ns = word->quiet_ns, .changed_ns = changed_ns};
}

static void tell_live(struct comm_word_census *census, const struct word *word, uint64_t lag_ns)
{
	const struct comm_burst_read *read = &word->read;
	const struct comm_live_word live = {
		.tgid = read->tgid,
		.tid = read->tid,
		.addr = read->addr,
		.ip = read->ip,
		.code_ip = read->code_ip,
		.size_bytes = read->size_bytes,
		.has_value = read->has_value,
		.value = read->value,
		.time_ns = read->time_ns,
		.lag_ns = lag_ns,
		.stands_for = read->stands_for,
	};

	census->stats.live++;
	if (census->config.live)
		census->config.live(census->config.live_ctx, &live);
}

/* That late, or early. */
static bool is_made(const struct word *word, uint64_t lag_ns)
{
	uint64_t wanted_ns = comm_census_lag_ns[word->looks];

	return lag_ns >= wanted_ns - wanted_ns / EARLY_PART;
}

/* Takes a look at a word.  False: no more are wanted. */
static bool look(struct comm_word_census *census, struct word *word,
		 const struct comm_peek_word *now, uint64_t now_ns)
{
	uint64_t lag_ns;

	if (!now->is_known) {
		settle(census, word, 0);
		return false;
	}
	if (!word->first_ns) {
		word->first_ns = now_ns;
		word->value = now->value;
		word->due_ns = now_ns + comm_census_lag_ns[0];
		return true;
	}
	lag_ns = now_ns - word->first_ns;
	if ((now->value ^ word->value) & word->mask) {
		settle(census, word, lag_ns ? lag_ns : 1);
		tell_live(census, word, lag_ns);
		return false;
	}
	word->quiet_ns = lag_ns;
	/* Looks that were missed meanwhile are made up by this one. */
	while (word->looks < COMM_CENSUS_LAGS && is_made(word, lag_ns))
		word->looks++;
	if (word->looks == COMM_CENSUS_LAGS) {
		settle(census, word, 0);
		return false;
	}
	word->due_ns = word->first_ns + comm_census_lag_ns[word->looks];
	return true;
}

/* By process, as its words are read in one system call. */
static int order(const void *pa, const void *pb, void *ctx)
{
	const struct comm_word_census *census = ctx;
	uint32_t a = census->word[*(const uint32_t *)pa].read.tgid;
	uint32_t b = census->word[*(const uint32_t *)pb].read.tgid;

	return (a > b) - (a < b);
}

static size_t find_due(struct comm_word_census *census, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < census->n; i++) {
		const struct word *word = &census->word[i];
		uint64_t early_ns =
			word->first_ns ? comm_census_lag_ns[word->looks] / EARLY_PART : 0;

		if (due_ns(census, word) <= now_ns + early_ns)
			census->due[n++] = (uint32_t)i;
	}
	return n;
}

/* False: the process that reads the target has had no CPU for it, say. */
static bool look_at_due(struct comm_word_census *census, size_t n, uint64_t now_ns)
{
	int err;

	for (size_t i = 0; i < n; i++) {
		const struct word *word = &census->word[census->due[i]];

		census->place[i] = (struct comm_peek_place){word->addr, word->read.tgid};
	}
	err = census->config.read(census->config.read_ctx, census->place, n, census->now);
	if (err == -EAGAIN)
		return false;
	if (err)
		memset(census->now, 0, n * sizeof(*census->now));
	census->stats.looks += n;
	for (size_t i = 0; i < n; i++) {
		struct word *word = &census->word[census->due[i]];

		census->n_new -= !word->first_ns;
		if (!look(census, word, &census->now[i], now_ns))
			word->due_ns = UINT64_MAX;
	}
	return true;
}

/* Closes the gaps that settled words leave; when the next look is due. */
static void pack(struct comm_word_census *census)
{
	size_t n = 0;

	census->next_ns = UINT64_MAX;
	for (size_t i = 0; i < census->n; i++) {
		const struct word *word = &census->word[i];

		if (word->due_ns == UINT64_MAX)
			continue;
		if (due_ns(census, word) < census->next_ns)
			census->next_ns = due_ns(census, word);
		if (n != i)
			census->word[n] = *word;
		n++;
	}
	census->n = n;
}

void comm_word_census_turn(struct comm_word_census *census, uint64_t now_ns)
{
	bool gathers = census->n_new && first_ns(census) <= now_ns;
	size_t n;

	if (census->next_ns > now_ns)
		return;
	n = find_due(census, now_ns);
	qsort_r(census->due, n, sizeof(*census->due), order, census);
	if (n && !look_at_due(census, n, now_ns)) {
		census->next_ns = now_ns + RETRY_NS;
		return;
	}
	if (gathers)
		census->gather_ns = now_ns + GATHER_NS;
	pack(census);
}

void comm_word_census_collect(struct comm_word_census *census, uint64_t now_ns, comm_event_fn *push,
			      void *ctx)
{
	for (size_t i = 0; i < census->n_settled; i++) {
		const struct settled *settled = &census->settled[i];
		struct comm_event event = {.kind = COMM_EV_CENSUS, .time_ns = now_ns};

		comm_burst_read_tell(&settled->read, &event);
		event.census.quiet_ns = settled->quiet_ns;
		event.census.changed_ns = settled->changed_ns;
		push(ctx, &event);
	}
	census->n_settled = 0;
	if (census->lost)
		push(ctx, &(struct comm_event){.kind = COMM_EV_LOSS,
					       .time_ns = now_ns,
					       .cause = COMM_LOSS_CENSUS,
					       .count = census->lost});
	census->lost = 0;
}

int comm_word_census_turn_ms(const struct comm_word_census *census, uint64_t now_ns)
{
	uint64_t ms;

	if (census->next_ns == UINT64_MAX)
		return INT_MAX;
	ms = census->next_ns > now_ns ? (census->next_ns - now_ns) / 1000000 + 1 : 0;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

void comm_word_census_stats(const struct comm_word_census *census,
			    struct comm_word_census_stats *ret)
{
	*ret = census->stats;
}
