// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ownership: who wrote a datum is told by who was seen to write it and what
 * lies around it, at whatever time, by what the reading instruction is used to
 * read, and, where nobody was seen to write, by who ran before.
 *
 * Observed: bursts, each with the data that it read and wrote.  A burst is one vote
 * for its thread in each region that it wrote (nest.h).
 *
 * Model, for a read by thread r with instruction i of a datum x:
 *	1. position: p(w), by back-off from the object to x (kappa.h).  An object
 *	   without votes is r's own with chance OWNERSHIP_OWN.
 *	2. habits: at OWNERSHIP_HABIT_LEVEL p(w) is multiplied by factor(r, i, w) and
 *	   scaled to one (habit.h); votes for x's own surroundings follow after that.
 *	3. tables: with chance q(i, x) nobody writes x while it is read (habit.h).
 *	   It was then written by who touched its page first (touch.h); of pages without a
 *	   touch the writer is not seen.  Where no source tells of touches, it goes to who ran
 *	   before, or counts as unwritten (before.h).
 *	   share(w) = (1 - q) * p(w) + q * table(w)
 *
 * The reader's own burst votes as well: that a burst writes beside what it reads is
 * just what tells data that one thread owns.  What is learned (kappas, habits)
 * is learned without it.
 *
 * No notion of time: of several writers of one datum each has its part of the votes,
 * whoever came last.  When a datum was written is
 * known of touches and of a burst's own writes alone.
 */
#include "before.h"
#include "constants.h"
#include "edge_sums.h"
#include "estimator.h"
#include "event.h"
#include "habit.h"
#include "ids.h"
#include "kappa.h"
#include "nest.h"
#include "touch.h"
#include "trust.h"
#include "unwritten_sums.h"
#include "weight.h"
#include "window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct ownership {
	struct comm_weights *weights;
	struct comm_window *window;
	struct comm_nest *nest;
	struct comm_kappas *kappas;
	struct comm_habits *habits;
	struct comm_before *before;
	struct comm_touches *touches;
	struct comm_edge_sums *edges;
	struct comm_unwritten_sums unwritten;
	uint32_t granularity_bytes;
	uint32_t n_bursts; /* estimated so far: the window's i-th has number n_bursts + 1 + i */
	uint64_t thinned;
	struct comm_trust trust;
	struct comm_nest_view view;
	double share[OWNERSHIP_CANDIDATES];
};

static void ownership_destroy(void *est)
{
	struct ownership *o = est;

	if (!o)
		return;
	comm_weights_destroy(o->weights);
	comm_window_destroy(o->window);
	comm_nest_destroy(o->nest);
	comm_kappas_destroy(o->kappas);
	comm_habits_destroy(o->habits);
	comm_before_destroy(o->before);
	comm_touches_destroy(o->touches);
	comm_edge_sums_destroy(o->edges);
	comm_unwritten_sums_deinit(&o->unwritten);
	free(o);
}

static int ownership_create(const struct comm_est_config *config, void **ret)
{
	uint64_t memory = comm_est_memory(config);
	struct ownership *o;

	if (!memory)
		return -EINVAL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->granularity_bytes = config->granularity_bytes;
	if (comm_weights_create(config->cycles_per_ns, &o->weights) ||
	    comm_window_create(memory / 8, config->granularity_bytes, &o->window) ||
	    comm_nest_create(memory / 2, config->granularity_bytes, &o->nest) ||
	    comm_kappas_create(&o->kappas) || comm_habits_create(&o->habits) ||
	    comm_before_create(&o->before) || comm_touches_create(&o->touches) ||
	    comm_edge_sums_create(memory / 4, &o->edges)) {
		ownership_destroy(o);
		return -ENOMEM;
	}
	comm_unwritten_sums_init(&o->unwritten, memory / 16);
	comm_window_pace(o->window, OWNERSHIP_READS_PER_S);
	*ret = o;
	return 0;
}

/* The votes of one write of the window. */
static void ownership_note(struct ownership *o, uint32_t burst, uint32_t thread,
			   const struct comm_window_write *w)
{
	uint32_t to = COMM_NEST_LEVELS;

	if (w->level > COMM_NEST_LINE) {
		comm_nest_write(o->nest, w->object, w->datum, w->level, to, burst, thread, w->site);
		return;
	}
	for (uint32_t i = 0; i < 8; i++) {
		if (!(w->mask >> i & 1))
			continue;
		comm_nest_write(o->nest, w->object, w->datum + (uint64_t)i * o->granularity_bytes,
				0, to, burst, thread, w->site);
		/* All data of a line lie in the same larger regions. */
		to = COMM_NEST_LINE;
	}
}

static uint64_t ownership_datum(const struct ownership *o, const struct comm_window_write *w)
{
	return w->mask ? w->datum + (uint64_t)__builtin_ctz(w->mask) * o->granularity_bytes
		       : w->datum;
}

/* The reader's place among the voters, with or without votes. */
static uint32_t ownership_seat(struct comm_nest_view *view, uint32_t reader)
{
	uint32_t i = 0;

	while (i < view->n && view->voter[i].thread != reader)
		i++;
	if (i < view->n)
		return i;
	if (i == OWNERSHIP_CANDIDATES)
		i--;
	else
		view->n++;
	view->voter[i] = (struct comm_nest_voter){.thread = reader, .level = COMM_NEST_OBJECT};
	return i;
}

/* Votes at a level of bursts that did not vote at the next finer level out, if it is one. */
static double ownership_votes(const float votes[COMM_NEST_LEVELS], uint32_t level, uint32_t out)
{
	return out < level ? fmax(0, votes[level] - votes[out]) : votes[level];
}

/*
 * From level from - 1 down to level to: p'(w) of kappa.h.  out: the level whose votes are left
 * out; COMM_NEST_LEVELS: none.
 */
static void ownership_back_off(struct ownership *o, uint32_t object, uint32_t from, uint32_t to,
			       uint32_t out)
{
	const struct comm_nest_view *view = &o->view;

	for (uint32_t level = from; level-- > to;) {
		double n = ownership_votes(view->votes, level, out);
		double kappa = comm_kappa(o->kappas, object, level);

		for (uint32_t i = 0; i < view->n && n > 0; i++)
			o->share[i] = (ownership_votes(view->voter[i].votes, level, out) +
				       kappa * o->share[i]) /
				      (n + kappa);
	}
}

/* Shares by position alone, down to level to; returns the reader's place. */
static uint32_t ownership_position(struct ownership *o, const struct comm_window_read *r,
				   uint32_t reader, uint32_t to, uint32_t out)
{
	uint32_t self = ownership_seat(&o->view, reader), others = o->view.n - 1;

	for (uint32_t i = 0; i < o->view.n; i++)
		o->share[i] = !others	  ? 1
			      : i == self ? OWNERSHIP_OWN
					  : (1 - OWNERSHIP_OWN) / others;
	ownership_back_off(o, r->object, COMM_NEST_LEVELS, to, out);
	return self;
}

static void ownership_scale(struct ownership *o)
{
	double sum = 0;

	for (uint32_t i = 0; i < o->view.n; i++)
		sum += o->share[i];
	for (uint32_t i = 0; i < o->view.n && sum > 0; i++)
		o->share[i] /= sum;
}

/* The shares of all voters, from votes down to level to; returns the reader's place. */
static uint32_t ownership_shares(struct ownership *o, const struct comm_window_read *r,
				 uint32_t reader, uint32_t to, uint32_t out)
{
	uint32_t habit = to > OWNERSHIP_HABIT_LEVEL ? to : OWNERSHIP_HABIT_LEVEL;
	uint32_t self = ownership_position(o, r, reader, habit, out);

	for (uint32_t i = 0; i < o->view.n; i++)
		o->share[i] *= comm_habit_factor(o->habits, reader, r->weight_slot,
						 o->view.voter[i].thread);
	ownership_scale(o);
	ownership_back_off(o, r->object, habit, to, out);
	return self;
}

/* Foretells a read of known writer from each distance (trust.h); o->view is of it. */
static void ownership_learn_trust(struct ownership *o, const struct comm_window_read *r,
				  uint32_t reader, double weight)
{
	uint32_t label = comm_trust_label(&o->view), self;
	double right;

	for (uint32_t level = 1; label && level < COMM_NEST_LEVELS; level++) {
		if (!(ownership_votes(o->view.votes, level, level - 1) > 0))
			continue;
		self = ownership_shares(o, r, reader, level, level - 1);
		right = 0;
		for (uint32_t i = 0; i < o->view.n && label != reader; i++)
			right += o->view.voter[i].thread == label ? o->share[i] : 0;
		comm_trust_learn(&o->trust, level, weight * (1 - o->share[self]), weight * right);
	}
}

static void ownership_learn_read(struct ownership *o, const struct comm_window_burst *b,
				 const struct comm_window_read *r, uint32_t burst)
{
	struct comm_habit_read read = {
		.thread = b->thread, .insn = r->weight_slot, .view = &o->view, .share = o->share};
	double weight = 1.0 / b->n_reads;
	uint32_t level;

	comm_nest_look(o->nest, r->object, r->datum, burst, &o->view);
	comm_habits_learn_table(o->habits, r->weight_slot,
				comm_habit_table(o->habits, r->weight_slot, &o->view, &level),
				weight);
	read.self = o->share[ownership_position(o, r, b->thread, OWNERSHIP_HABIT_LEVEL,
						COMM_NEST_LEVELS)];
	comm_habits_learn(o->habits, &read, weight);
	ownership_learn_trust(o, r, b->thread, weight);
}

/*
 * The chance that a read is the first one of its datum since it was written: writes per
 * read of the finest region that was seen to be written.
 */
static double ownership_first(const struct comm_nest_view *view)
{
	for (uint32_t level = 0; level < COMM_NEST_LEVELS; level++)
		if (view->writes[level] > 0)
			return fmin(1, view->writes[level] / fmax(view->reads[level], 1));
	return 0;
}

/*
 * bytes of a read of a table: to who touched its page first, or nobody seen.  Where
 * touches are not told at all, to who ran before.
 */
static void ownership_table(struct ownership *o, const struct comm_window_burst *b,
			    const struct comm_window_read *r, uint32_t level, double bytes)
{
	uint64_t first_ns = o->view.first_ns[level] ? o->view.first_ns[level] : b->time_ns;
	const struct comm_touch *touch =
		comm_touches_of(o->touches, r->datum, r->constant, r->of_file, b->time_ns);
	const double *share = NULL;
	uint32_t n = 0;

	if (r->own_stack) {
		comm_edge_sums_add(o->edges,
				   &(struct comm_edge_key){b->thread, COMM_ID_OTHER, b->thread,
							   r->site, r->shown},
				   bytes, 0, COMM_TOUCH_LEVEL);
		return;
	}
	if (touch) {
		struct comm_ages ages = comm_touch_ages(touch, b->time_ns, &b->frame);

		comm_edge_sums_add_known(o->edges,
					 &(struct comm_edge_key){touch->thread, touch->site,
								 b->thread, r->site, r->shown},
					 bytes, 0, COMM_TOUCH_LEVEL,
					 &(struct comm_edge_known){.ages = &ages});
		return;
	}
	if (comm_touches_none(o->touches))
		share = comm_before_shares(o->before, r->datum, first_ns, &n);
	if (!share)
		comm_unwritten_sums_add(
			&o->unwritten,
			&(struct comm_unwritten_end){b->thread, r->site, r->shown, bytes, 0});
	for (uint32_t i = 0; share && i < n; i++)
		if (share[i] >= OWNERSHIP_SMALL)
			comm_edge_sums_add(o->edges,
					   &(struct comm_edge_key){i, COMM_ID_OTHER, b->thread,
								   r->site, r->shown},
					   bytes * share[i], 0, COMM_LEVEL_OBJECT);
}

static void ownership_read(struct ownership *o, const struct comm_window_burst *b,
			   const struct comm_window_read *r)
{
	double bytes = r->bytes * comm_weight_of(o->weights, &b->weighing, r->weight_slot);
	double table, first, kept = 0;
	uint32_t level, self, near = 0;
	bool trusted;

	if (r->self) {
		const struct comm_ages at_once = comm_ages_of(0, &b->frame);

		comm_edge_sums_add_known(o->edges,
					 &(struct comm_edge_key){b->thread, r->self_site, b->thread,
								 r->site, r->shown},
					 bytes, bytes * r->first, 0,
					 &(struct comm_edge_known){.ages = &at_once});
		return;
	}
	if (r->by_creator && b->creator) {
		comm_edge_sums_add_known(o->edges,
					 &(struct comm_edge_key){b->creator, COMM_SITE_STARTUP,
								 b->thread, r->site, r->shown},
					 bytes, 0, 0, &(struct comm_edge_known){0});
		return;
	}
	if (r->spins) {
		comm_unwritten_sums_poll(
			&o->unwritten,
			&(struct comm_unwritten_end){b->thread, r->site, r->shown, bytes, 0});
		return;
	}
	comm_nest_look(o->nest, r->object, r->datum, 0, &o->view);
	first = r->first * ownership_first(&o->view);
	table = comm_habit_table(o->habits, r->weight_slot, &o->view, &level);
	if (table > 0)
		ownership_table(o, b, r, level, bytes * table);
	self = ownership_shares(o, r, b->thread, 0, COMM_NEST_LEVELS);
	while (near < COMM_NEST_OBJECT && !(o->view.votes[near] > 0))
		near++;
	trusted = comm_trust_in(&o->trust, near);
	for (uint32_t i = 0; i < o->view.n; i++)
		kept += o->share[i] >= OWNERSHIP_SMALL ? o->share[i] : 0;
	bytes *= (1 - table) / kept;
	for (uint32_t i = 0; i < o->view.n; i++) {
		const struct comm_nest_voter *v = &o->view.voter[i];

		if (o->share[i] >= OWNERSHIP_SMALL)
			comm_edge_sums_add(
				o->edges,
				&(struct comm_edge_key){v->thread, v->site, b->thread, r->site,
							r->shown},
				bytes * o->share[i], bytes * o->share[i] * first,
				(uint8_t)((trusted || i == self) && v->level < COMM_LEVEL_OBJECT
						  ? v->level
						  : COMM_LEVEL_OBJECT));
	}
}

/* Estimates the n oldest bursts of the window and drops them. */
static void ownership_estimate(struct ownership *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(o->window, i);
		const struct comm_window_write *w = comm_window_writes(o->window, b);
		const struct comm_window_read *r = comm_window_reads(o->window, b);

		for (uint32_t j = 0; j < b->n_writes; j++)
			ownership_note(o, o->n_bursts + 1 + i, b->thread, &w[j]);
		for (uint32_t j = 0; j < b->n_reads; j++)
			comm_nest_read(o->nest, r[j].object, r[j].datum, o->n_bursts + 1 + i,
				       b->time_ns);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(o->window, i);
		const struct comm_window_write *w = comm_window_writes(o->window, b);

		for (uint32_t j = 0; j < b->n_writes; j++) {
			comm_nest_look(o->nest, w[j].object, ownership_datum(o, &w[j]),
				       o->n_bursts + 1 + i, &o->view);
			comm_kappas_learn(o->kappas, w[j].object, &o->view, b->thread,
					  1.0 / b->n_writes);
		}
	}
	comm_kappas_settle(o->kappas);
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(o->window, i);
		const struct comm_window_read *r = comm_window_reads(o->window, b);

		for (uint32_t j = 0; j < b->n_reads; j++)
			if (!r[j].self)
				ownership_learn_read(o, b, &r[j], o->n_bursts + 1 + i);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct comm_window_burst *b = comm_window_at(o->window, i);
		const struct comm_window_read *r = comm_window_reads(o->window, b);

		for (uint32_t j = 0; j < b->n_reads; j++)
			ownership_read(o, b, &r[j]);
		comm_edge_sums_end_burst(o->edges);
	}
	o->n_bursts += n;
	o->thinned += comm_nest_tidy(o->nest);
	comm_window_drop(o->window, n);
}

static int ownership_burst(void *est, const struct comm_access_burst *burst)
{
	struct ownership *o = est;
	int err;

	if (burst->n)
		comm_before_ran(o->before, burst->time_ns, burst->thread, (double)burst->period,
				burst->access[0].datum);
	err = comm_window_add(o->window, o->weights, burst, burst->thread);
	if (err != -ENOSPC)
		return err;
	ownership_estimate(o, comm_window_count(o->window));
	return comm_window_add(o->window, o->weights, burst, burst->thread);
}

static void ownership_touch(void *est, const struct comm_touch *touch)
{
	comm_touches_add(((struct ownership *)est)->touches, touch);
}

static void ownership_began(void *est, uint64_t time_ns, uint32_t thread)
{
	comm_before_began(((struct ownership *)est)->before, time_ns, thread);
}

static int ownership_slice(void *est, uint64_t start_ns, uint64_t end_ns, comm_edge_fn *emit,
			   void *ctx, struct comm_unwritten *ret_unwritten)
{
	struct ownership *o = est;
	uint32_t n = 0, count = comm_window_count(o->window);

	(void)start_ns;
	while (n < count && comm_window_at(o->window, n)->time_ns < end_ns)
		n++;
	ownership_estimate(o, n);
	comm_edge_sums_emit(o->edges, emit, ctx);
	comm_unwritten_sums_take(&o->unwritten, ret_unwritten);
	return 0;
}

static uint64_t ownership_thinned(const void *est)
{
	const struct ownership *o = est;

	return o->thinned + comm_window_thinned(o->window);
}

static uint64_t ownership_folded(const void *est)
{
	const struct ownership *o = est;

	return comm_edge_sums_folded(o->edges) + o->unwritten.folded;
}

/* Not fitted: that of nearest, not to promise too much (docs/method/accuracy.md says why). */
#define OWNERSHIP_FACTOR_SD 1.75
/*
 * What trust.h leaves; chosen where first writers are known: with 0.005, chosen where they were
 * not, 18 programs at 20 % had 49 rows stated with 35 % of their bytes on true ones, now 8, all true
 * (docs/method/accuracy.md).
 */
#define OWNERSHIP_CONFUSION_SD 0.1

const struct comm_est_ops comm_est_ownership = {
	.name = "ownership",
	.help = "votes of the writes around a datum, habits of its reader, who ran before",
	.error_model = {.sampled_ends = 2,
			.factor_sd = OWNERSHIP_FACTOR_SD,
			.confusion_sd = OWNERSHIP_CONFUSION_SD},
	.create = ownership_create,
	.destroy = ownership_destroy,
	.burst = ownership_burst,
	.began = ownership_began,
	.touch = ownership_touch,
	.slice = ownership_slice,
	.thinned = ownership_thinned,
	.folded = ownership_folded,
};
