// SPDX-License-Identifier: GPL-2.0-or-later
#include "switch_window.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_life.h"
#include "look_pairs.h"
#include "look_programs.h"
#include "loss_teller.h"
#include "source.h"
#include "window_cost.h"
#include "word_pool.h"

enum {
	SOON,  /* words that change soon, */
	LATER, /* and others */
	STRATA,
	LAGS = 4,   /* so long is a window, */
	LONGER = 4, /* and up to so many times as long where few changes were seen */
	SHORTEST_NS = 40 * 1000 * 1000,
	SWITCHES = 1 << 16, /* kept; with more, windows end early */
	TURN_MS = 20,
	SLOW_TURN_MS = 100, /* while all windows are long */
};

static const uint64_t LONGEST_NS = 4000000000u;
/* Words whose windows cost too much are told as unasked after so long. */
static const uint64_t DEAR_NS = 10000000000u;

_Static_assert((int)COMM_SWITCH_WORDS_MAX == (int)COMM_RAW_LOOK_WORDS,
	       "look_event.h and switch_window.h");

/* A window on a word; its index is the word's number for the programs. */
struct window {
	struct comm_live_word word;
	uint32_t generation; /* 0: there is none */
	uint64_t length_ns;
	uint64_t due_ns;
	uint64_t begun_ns; /* of the first look, from which on it lasts; 0: none yet */
	uint64_t position; /* in the timeline, then */
	uint64_t ended_ns; /* 0: it is open */
	bool is_lost;
	unsigned int n_changes;
	struct comm_look_change change[COMM_LOOK_CHANGES_MAX];
};

/* Each place of a stratum draws for itself. */
struct stratum {
	struct window *window; /* n of them */
	unsigned int n;
	uint64_t longest_ns; /* of a window, unless it goes on */
	uint64_t dear_ns;    /* since when its windows cost too much; 0: they do not */
	struct comm_word_pool pool[COMM_SWITCH_WORDS_MAX];
};

struct comm_switch_windows {
	struct comm_switch_windows_config config;
	struct comm_look_programs *programs;
	struct comm_look_timeline *timeline;
	struct window window[COMM_SWITCH_WORDS_MAX];
	struct stratum stratum[STRATA];
	unsigned int next_stratum; /* the one that begins next, if both want to */
	struct comm_window_cost cost;
	uint32_t generation, number; /* the last ones given */
	uint64_t stopped_ns;	     /* 0: it is not */
	uint64_t random, drops;
	struct comm_live_word unasked; /* stands for all that were drawn and cannot be looked at */
	uint64_t lost[COMM_LOSS_MAX];
	struct comm_loss_teller losses;
	struct comm_switch_windows_stats stats;
};

int comm_switch_windows_probe(char **why)
{
	return comm_bpf_life_probe(why);
}

static void on_look(void *ctx, const struct comm_raw_look *raw);

static void set_up_strata(struct comm_switch_windows *w)
{
	unsigned int half = w->config.words / STRATA;

	if (half < 1)
		half = 1;
	if (half > COMM_SWITCH_WORDS_MAX / STRATA)
		half = COMM_SWITCH_WORDS_MAX / STRATA;
	for (unsigned int i = 0; i < STRATA; i++) {
		w->stratum[i].window = &w->window[i * half];
		w->stratum[i].n = half;
		w->stratum[i].longest_ns = i == SOON ? LAGS * COMM_SOON_NS : LONGEST_NS;
	}
}

int comm_switch_windows_create(const struct comm_switch_windows_config *config,
			       struct comm_switch_windows **ret, char **err)
{
	struct comm_switch_windows *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	set_up_strata(w);
	rc = comm_look_programs_create(on_look, w, &w->programs);
	if (!rc)
		rc = comm_look_timeline_create(comm_look_programs_cpus(w->programs), SWITCHES,
					       &w->timeline);
	if (rc) {
		comm_switch_windows_destroy(w);
		return comm_source_fail(err, rc,
					"the kernel does not load the BPF programs that look at "
					"words when threads leave their CPUs: %s",
					strerror(-rc));
	}
	*ret = w;
	return 0;
}

void comm_switch_windows_destroy(struct comm_switch_windows *w)
{
	if (!w)
		return;
	comm_look_timeline_destroy(w->timeline);
	comm_look_programs_destroy(w->programs);
	free(w);
}

void comm_switch_windows_offer(struct comm_switch_windows *w, const struct comm_live_word *word)
{
	struct stratum *s = &w->stratum[word->lag_ns > COMM_SOON_NS ? LATER : SOON];

	for (unsigned int i = 0; i < s->n; i++)
		comm_word_pool_offer(&s->pool[i], &w->random, word);
}

static bool is_open(const struct window *win)
{
	return win->generation && !win->ended_ns;
}

static void open_window(struct comm_switch_windows *w, struct window *win,
			const struct comm_live_word *word, uint64_t now_ns)
{
	uint64_t length_ns = LAGS * word->lag_ns;

	length_ns = length_ns > SHORTEST_NS ? length_ns : SHORTEST_NS;
	length_ns = length_ns < LONGEST_NS ? length_ns : LONGEST_NS;
	if (!++w->generation)
		w->generation++;
	win->word = *word;
	win->length_ns = length_ns;
	/* Until one of the process's threads has run nothing can change. */
	win->due_ns = now_ns + LONGEST_NS;
	win->begun_ns = win->ended_ns = win->n_changes = 0;
	win->is_lost = false;
	win->generation = w->generation;
	comm_window_cost_open(&w->cost, now_ns, length_ns);
	comm_look_programs_watch(w->programs, (unsigned int)(win - w->window), word, w->generation);
	w->stats.begun++;
}

/* No more looks; what was seen is told later. */
static void end_window(struct comm_switch_windows *w, struct window *win, uint64_t now_ns)
{
	comm_look_programs_unwatch(w->programs, (unsigned int)(win - w->window));
	win->ended_ns = now_ns;
}

/* A read that ends in the next word is of no value of this one. */
static struct comm_look_read read_of(const struct comm_live_word *word)
{
	unsigned int at = word->addr % 8;

	return (struct comm_look_read){
		.tid = word->tid,
		.has_value = word->has_value && word->size_bytes <= 8 - at,
		.value = word->value << 8 * at,
	};
}

static bool has_value_read(const struct window *win)
{
	const struct comm_look_read read = read_of(&win->word);

	for (unsigned int i = 0; read.has_value && i < win->n_changes; i++)
		if (win->change[i].value == read.value)
			return true;
	return false;
}

/*
 * A word that has changed, but too seldom to be told by time alone, is looked at for longer, whoever
 * changed it: its next cycle may be longer than the one that the census saw.
 */
static bool goes_on(const struct window *win, uint64_t now_ns)
{
	uint64_t longest_ns = LONGER * win->length_ns;

	longest_ns = longest_ns < LONGEST_NS ? longest_ns : LONGEST_NS;
	return win->n_changes && win->n_changes < COMM_LOOK_CHANGES_LEAST &&
	       now_ns - win->begun_ns < longest_ns && !has_value_read(win);
}

static void end_due(struct comm_switch_windows *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++) {
		struct window *win = &w->window[i];

		if (is_open(win) && win->due_ns <= now_ns && !goes_on(win, now_ns))
			end_window(w, win, now_ns);
	}
}

static void end_all(struct comm_switch_windows *w, uint64_t now_ns)
{
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++)
		if (is_open(&w->window[i]))
			end_window(w, &w->window[i], now_ns);
}

void comm_switch_windows_stop(struct comm_switch_windows *w, uint64_t now_ns)
{
	if (w->stopped_ns)
		return;
	w->stopped_ns = now_ns;
	end_all(w, now_ns);
	comm_look_programs_detach(w->programs);
}

static bool is_same(const struct comm_live_word *a, const struct comm_live_word *b)
{
	return a->time_ns == b->time_ns && a->tid == b->tid && a->addr == b->addr && a->ip == b->ip;
}

/* Draws so many words; each stands for as much as any other.  Returns how many differ. */
static unsigned int draw(struct stratum *s, unsigned int n, struct comm_live_word *ret)
{
	unsigned int drawn = 0, k;
	struct comm_live_word word;

	for (unsigned int i = 0; i < s->n; i++) {
		if (!comm_word_pool_draw(&s->pool[i], &word) || i >= n)
			continue;
		word.stands_for /= n;
		for (k = 0; k < drawn && !is_same(&ret[k], &word); k++)
			;
		if (k == drawn)
			ret[drawn++] = word;
		else
			ret[k].stands_for += word.stands_for;
	}
	return drawn;
}

/* Others may write it, or its process has ended, and another one may have its number. */
static bool may_look(const struct comm_switch_windows *w, const struct comm_live_word *word)
{
	const struct comm_switch_windows_config *config = &w->config;

	return comm_target_has(config->target, word->tgid) &&
	       !(config->is_shared &&
		 config->is_shared(config->shared_ctx, word->tgid, word->addr));
}

/* It is told as a word that nobody was seen to write. */
static void keep_unasked(struct comm_switch_windows *w, const struct comm_live_word *word)
{
	double before = w->unasked.stands_for;

	w->unasked = *word;
	w->unasked.stands_for += before;
	w->stats.unasked++;
}

static void begin(struct comm_switch_windows *w, struct stratum *s, uint64_t now_ns)
{
	struct comm_live_word word[COMM_SWITCH_WORDS_MAX];
	unsigned int n_unused = 0, n, at = 0;

	for (unsigned int i = 0; i < s->n; i++)
		n_unused += !s->window[i].generation;
	if (!n_unused)
		return;
	n = draw(s, n_unused, word);
	for (unsigned int i = 0; i < n; i++) {
		if (!may_look(w, &word[i])) {
			keep_unasked(w, &word[i]);
			continue;
		}
		while (s->window[at].generation)
			at++;
		open_window(w, &s->window[at], &word[i], now_ns);
	}
}

static void learn_cost(struct comm_switch_windows *w, uint64_t now_ns)
{
	struct comm_raw_look_cpu totals;

	comm_look_programs_totals(w->programs, &totals);
	comm_window_cost_learn(&w->cost, comm_look_programs_look(w->programs), now_ns, totals.ns);
}

static bool wants(const struct stratum *s)
{
	bool has_room = false, has_words = false;

	for (unsigned int i = 0; i < s->n; i++) {
		has_room |= !s->window[i].generation;
		has_words |= s->pool[i].stands_for > 0;
	}
	return has_room && has_words;
}

/* What windows of a stratum would take of the target's time, beyond what those that are open will. */
static double cost_of(const struct comm_switch_windows *w, const struct stratum *s, uint64_t now_ns)
{
	/* Short ones find out. */
	if (!comm_window_cost_known(&w->cost) && s != &w->stratum[SOON] && wants(&w->stratum[SOON]))
		return INFINITY;
	return comm_window_cost_more(&w->cost, now_ns, s->longest_ns);
}

/* Words that are not looked at stand for what they stand for, all the same. */
static void pass_over(struct comm_switch_windows *w, struct stratum *s, uint64_t now_ns)
{
	struct comm_live_word word;

	if (!s->dear_ns)
		s->dear_ns = now_ns;
	if (now_ns - s->dear_ns < DEAR_NS)
		return;
	for (unsigned int i = 0; i < s->n; i++) {
		if (!comm_word_pool_draw(&s->pool[i], &word))
			continue;
		word.stands_for /= s->n;
		keep_unasked(w, &word);
	}
	s->dear_ns = 0;
}

void comm_switch_windows_turn(struct comm_switch_windows *w, uint64_t now_ns, double left_ns,
			      double most_ns)
{
	unsigned int first = w->next_stratum;
	bool waits[STRATA], can[STRATA];
	double cost_ns[STRATA];

	if (w->stopped_ns)
		return;
	end_due(w, now_ns);
	learn_cost(w, now_ns);
	for (unsigned int i = 0; i < STRATA; i++) {
		struct stratum *s = &w->stratum[i];

		waits[i] = wants(s);
		cost_ns[i] = isinf(left_ns) ? 0 : cost_of(w, s, now_ns);
		can[i] = cost_ns[i] <= most_ns;
		if (waits[i] && !can[i])
			pass_over(w, s, now_ns);
		else
			s->dear_ns = 0;
	}
	for (unsigned int k = 0; k < STRATA && left_ns > 0; k++) {
		unsigned int i = (first + k) % STRATA;

		if (!waits[i] || !can[i])
			continue;
		/* What is dear is saved for, while the other waits. */
		if (cost_ns[i] > left_ns)
			return;
		begin(w, &w->stratum[i], now_ns);
		w->next_stratum = (i + 1) % STRATA;
		left_ns -= cost_ns[i];
	}
}

static struct window *window_of(struct comm_switch_windows *w, uint32_t generation)
{
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++)
		if (generation && w->window[i].generation == generation)
			return &w->window[i];
	return NULL;
}

/* In order of time: CPUs that look at once may tell in another. */
static void add_change(struct window *win, const struct comm_raw_look *raw)
{
	unsigned int at = win->n_changes++;

	for (; at && win->change[at - 1].time_ns > raw->time_ns; at--)
		win->change[at] = win->change[at - 1];
	win->change[at] = (struct comm_look_change){
		.since_ns = raw->since_ns,
		.time_ns = raw->time_ns,
		.until_ns = raw->until_ns,
		.value = raw->value,
	};
}

static void on_word(struct comm_switch_windows *w, const struct comm_raw_look *raw)
{
	struct window *win = window_of(w, raw->generation);

	if (!win)
		return;
	if (raw->kind == COMM_RAW_LOOK_BEGUN) {
		win->begun_ns = raw->time_ns;
		win->due_ns = raw->time_ns + win->length_ns;
		win->position = comm_look_timeline_position(w->timeline);
	} else if (raw->kind == COMM_RAW_LOOK_CHANGED && win->n_changes < COMM_LOOK_CHANGES_MAX) {
		add_change(win, raw);
	}
	if (is_open(win) &&
	    (raw->kind == COMM_RAW_LOOK_GONE || win->n_changes == COMM_LOOK_CHANGES_MAX))
		end_window(w, win, raw->until_ns);
}

static void on_switch(struct comm_switch_windows *w, const struct comm_raw_look *raw)
{
	const struct comm_look_switch s = {
		.time_ns = raw->time_ns,
		.came_ns = raw->until_ns,
		.tgid = raw->tgid,
		.tid = raw->tid,
		.next_tgid = raw->other_tgid,
		.next_tid = raw->other_tid,
		.cpu = raw->cpu,
		.goes_on = raw->kind == COMM_RAW_LOOK_TICK,
	};

	/* What comes later is of no window any more. */
	if (!comm_look_timeline_add(w->timeline, &s))
		end_all(w, raw->time_ns);
}

static void on_look(void *ctx, const struct comm_raw_look *raw)
{
	struct comm_switch_windows *w = ctx;

	if (!raw)
		w->lost[COMM_LOSS_MALFORMED]++;
	else if (raw->kind == COMM_RAW_LOOK_SWITCH || raw->kind == COMM_RAW_LOOK_TICK)
		on_switch(w, raw);
	else
		on_word(w, raw);
}

/* Without all switches and changes it is not known who could have written. */
static void find_losses(struct comm_switch_windows *w, uint64_t now_ns)
{
	struct comm_raw_look_cpu totals;

	comm_look_programs_totals(w->programs, &totals);
	if (totals.drops == w->drops)
		return;
	w->drops = totals.drops;
	end_all(w, now_ns);
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++)
		w->window[i].is_lost = w->window[i].generation;
}

static void push_pair(const struct comm_switch_windows *w, const struct comm_live_word *word,
		      const struct comm_look_pair *pair, uint64_t now_ns, comm_event_fn *push,
		      void *ctx)
{
	struct comm_event event = {
		.kind = COMM_EV_FED,
		.time_ns = now_ns,
		.tgid = word->tgid,
		.tid = pair->tid ? pair->tid : word->tid,
	};

	event.fed.read = (struct comm_precise){.addr = word->addr,
					       .ip = word->ip,
					       .size_bytes = word->size_bytes,
					       .flags = COMM_ACCESS_READ};
	event.fed.write = (struct comm_precise){.addr = word->addr,
						.size_bytes = word->size_bytes,
						.flags = pair->tid ? COMM_ACCESS_WRITE : 0};
	event.fed.read_ns = pair->read_ns;
	event.fed.write_ns = pair->tid ? pair->write_ns : 0;
	event.fed.read_tgid = word->tgid;
	event.fed.read_tid = word->tid;
	event.fed.window = w->number;
	event.fed.how = COMM_FED_SWITCHES;
	event.fed.stands_for = pair->share * word->stands_for;
	push(ctx, &event);
}

/* Returns how many pairs the window has; 0: it is not known who wrote. */
static unsigned int find_pairs(struct comm_switch_windows *w, struct window *win,
			       struct comm_look_pair pair[COMM_LOOK_PAIRS_MAX])
{
	const struct comm_look_read read = read_of(&win->word);
	const struct comm_look_interval *interval = NULL;
	enum comm_look_unknown why;
	unsigned int n_pairs;
	int n = 0;

	/* Of a word that did not change nobody asks who ran. */
	if (win->begun_ns && win->n_changes)
		n = comm_look_timeline_threads(w->timeline, win->word.tgid, win->position,
					       win->begun_ns, win->ended_ns, &interval);
	if (n < 0)
		return 0;
	comm_look_candidates_settle(interval, (size_t)n, win->change, win->n_changes);
	for (unsigned int i = 0; i < win->n_changes; i++) {
		w->stats.certain += win->change[i].n_candidates == 1;
		w->stats.known += win->change[i].tid != 0;
	}
	w->stats.changes += win->n_changes;
	w->stats.changed += win->n_changes > 0;
	n_pairs = comm_look_pairs(&read, interval, (size_t)n, win->change, win->n_changes, pair,
				  &why);
	w->stats.unknown[why]++;
	return n_pairs;
}

static void tell(struct comm_switch_windows *w, struct window *win, uint64_t now_ns,
		 comm_event_fn *push, void *ctx)
{
	const struct comm_look_pair nobody = {.share = 1, .read_ns = win->word.time_ns};
	struct comm_look_pair pair[COMM_LOOK_PAIRS_MAX];
	unsigned int n = find_pairs(w, win, pair);

	w->number++;
	for (unsigned int i = 0; i < n; i++)
		push_pair(w, &win->word, &pair[i], now_ns, push, ctx);
	if (!n)
		push_pair(w, &win->word, &nobody, now_ns, push, ctx);
	w->stats.ended++;
}

static void tell_unasked(struct comm_switch_windows *w, uint64_t now_ns, comm_event_fn *push,
			 void *ctx)
{
	const struct comm_look_pair nobody = {.share = 1, .read_ns = w->unasked.time_ns};

	if (!(w->unasked.stands_for > 0))
		return;
	w->number++;
	push_pair(w, &w->unasked, &nobody, now_ns, push, ctx);
	w->unasked.stands_for = 0;
}

/* The timeline keeps what windows that go on need. */
static void forget(struct comm_switch_windows *w)
{
	uint64_t position = comm_look_timeline_position(w->timeline);

	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++) {
		const struct window *win = &w->window[i];

		if (is_open(win) && win->begun_ns && win->position < position)
			position = win->position;
	}
	comm_look_timeline_forget(w->timeline, position);
}

void comm_switch_windows_collect(struct comm_switch_windows *w, uint64_t now_ns,
				 comm_event_fn *push, void *ctx)
{
	/* What has begun is due later; what is due ends, and is then known as a whole. */
	comm_look_programs_take(w->programs);
	end_due(w, now_ns);
	comm_look_programs_take(w->programs);
	find_losses(w, now_ns);
	for (unsigned int i = 0; i < COMM_SWITCH_WORDS_MAX; i++) {
		struct window *win = &w->window[i];

		if (!win->generation || !win->ended_ns)
			continue;
		if (win->is_lost) {
			w->lost[COMM_LOSS_WATCH]++;
			w->stats.lost++;
		} else {
			tell(w, win, now_ns, push, ctx);
		}
		win->generation = 0;
	}
	tell_unasked(w, now_ns, push, ctx);
	forget(w);
	if (w->stopped_ns)
		w->lost[COMM_LOSS_LOOKS] = (now_ns - w->stopped_ns) / 1000000;
	comm_loss_tell(&w->losses, w->lost, now_ns, push, ctx);
}

int comm_switch_windows_turn_ms(const struct comm_switch_windows *w)
{
	int ret = INT_MAX;

	for (unsigned int i = 0; i < STRATA; i++)
		for (unsigned int k = 0; k < w->stratum[i].n; k++)
			if (w->stratum[i].window[k].generation && ret == INT_MAX)
				ret = i == SOON ? TURN_MS : SLOW_TURN_MS;
	return ret;
}

void comm_switch_windows_stats(const struct comm_switch_windows *w,
			       struct comm_switch_windows_stats *ret)
{
	struct comm_raw_look_cpu totals;

	comm_look_programs_totals(w->programs, &totals);
	*ret = w->stats;
	ret->look_ns = totals.ns;
	ret->call_ns = totals.call_ns;
	ret->runs = totals.runs;
	ret->ticks = totals.ticks;
	ret->looks = totals.looks;
	ret->failed = totals.failed;
}
