// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The companion that surveys what a target does now: which reads wait, which words are rewritten and
 * how soon (word_census.h), and who writes them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "companion.h"
#include "inspect.h"
#include "word_census.h"

enum { WAITING_MAX = 4096 }; /* reads that wait, of a turn */

struct survey {
	enum comm_trigger trigger;
	uint64_t random;
	struct comm_word_census *census;
	uint64_t n_bursts, n_waiting, crowded;
	size_t n;
	struct comm_burst_read waiting[WAITING_MAX];
};

static int read_words(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n,
		      struct comm_peek_word *ret)
{
	return comm_inspect_live_words(ctx, tgid, addr, n, ret);
}

/* Samplers whose samples are no bursts never call burst(). */
static int survey_probe(char **why)
{
	*why = NULL;
	return 0;
}

static int survey_open(const struct comm_companion_config *config, void **ret, char **err)
{
	struct survey *s = calloc(1, sizeof(*s));
	const struct comm_word_census_config census = {
		.read = read_words,
		.read_ctx = config->inspect,
	};
	int rc;

	(void)err;
	if (!s)
		return -ENOMEM;
	s->trigger = config->trigger;
	rc = comm_word_census_create(&census, &s->census);
	if (rc)
		free(s);
	else
		*ret = s;
	return rc;
}

static void survey_close(void *companion)
{
	struct survey *s = companion;

	comm_word_census_destroy(s->census);
	free(s);
}

static void survey_burst(void *companion, const struct comm_event *event,
			 const struct comm_burst *burst)
{
	struct survey *s = companion;
	struct comm_burst_read read;

	if (!comm_burst_read_pick(&read, &s->random, s->trigger, event, burst))
		return;
	s->n_bursts++;
	s->n_waiting += read.waits;
	if (!read.waits)
		comm_word_census_offer(s->census, &read);
	else if (s->n < WAITING_MAX)
		s->waiting[s->n++] = read;
	else
		s->crowded++;
}

static void survey_drain(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct survey *s = companion;

	for (size_t i = 0; i < s->n; i++) {
		struct comm_event event = {.kind = COMM_EV_CENSUS, .time_ns = now_ns};

		comm_burst_read_tell(&s->waiting[i], &event);
		push(ctx, &event);
	}
	s->n = 0;
	if (s->crowded)
		push(ctx, &(struct comm_event){.kind = COMM_EV_LOSS,
					       .time_ns = now_ns,
					       .cause = COMM_LOSS_CENSUS,
					       .count = s->crowded});
	s->crowded = 0;
	comm_word_census_collect(s->census, now_ns, push, ctx);
}

static void survey_turn(void *companion, uint64_t now_ns, uint64_t budget_ns)
{
	struct survey *s = companion;

	(void)budget_ns;
	comm_word_census_turn(s->census, now_ns);
}

static int survey_turn_ms(const void *companion)
{
	const struct survey *s = companion;

	return comm_word_census_turn_ms(s->census, comm_clock_now_ns());
}

static uint64_t survey_cost_ns(const void *companion)
{
	(void)companion;
	return 0;
}

static void survey_say(const void *companion, FILE *out)
{
	const struct survey *s = companion;
	struct comm_word_census_stats census;

	comm_word_census_stats(s->census, &census);
	fprintf(out,
		"  census: %" PRIu64 " reads drawn, %" PRIu64 " wait; %" PRIu64 " words, %" PRIu64
		" looks, %" PRIu64 " words changed, %" PRIu64 " found no place\n",
		s->n_bursts, s->n_waiting, census.words, census.looks, census.live, census.crowded);
}

const struct comm_companion comm_companion_survey = {
	.title = "survey of what is rewritten now",
	.probe = survey_probe,
	.open = survey_open,
	.burst = survey_burst,
	.drain = survey_drain,
	.turn = survey_turn,
	.turn_ms = survey_turn_ms,
	.cost_ns = survey_cost_ns,
	.say = survey_say,
	.close = survey_close,
};
