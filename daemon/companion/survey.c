// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The companion that surveys what a target does now.  Of each burst one read is drawn: does it wait
 * (wait_reads.h), and if not, how soon does its word change (word_census.h)?  Windows on words
 * that change tell who writes them: by debug registers (register_window.h), or, where these do not
 * trap, by looks when threads leave their CPUs (switch_window.h); or the source arms windows by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "allotment.h"
#include "census.h"
#include "clock.h"
#include "companion.h"
#include "inspect.h"
#include "options.h"
#include "register_window.h"
#include "switch_window.h"
#include "wait_reads.h"
#include "window_pairs.h"
#include "word_census.h"
#include "word_pool.h"

enum { WAITING_MAX = 4096 }; /* reads that wait, of a turn */

/* Share of the budget that windows may take, and long ones of it; the samples that words come from have the rest. */
static const double WINDOWS_SHARE = 0.3, LONG_SHARE = 0.15;
/*
 * What an allotment does not spend is kept for so long, twice that at most.  That of long windows, and of windows by looks at
 * switches, is kept longer, since all that one takes must be there when it begins.
 */
static const uint64_t KEPT_NS = 1000000000u, LOOKS_KEPT_NS = 4000000000u,
		      LONG_KEPT_NS = 16000000000u;
/*
 * The program that looks when threads leave their CPUs is called at each switch of the machine.  Where that alone takes more
 * than this part of the budget, there are no more windows: samples say more.
 */
static const double CALLS_SHARE = 0.15;
static const uint64_t CALLS_KEPT_NS = 8000000000u;
/*
 * Debug registers that are set slow string instructions down, though they never trap (docs/operate/overhead.md).  Where
 * the sampler cannot tell by how much, they are set in no more of the time than that many times the budget's share.
 */
static const double SET_PER_OVERHEAD = 20;

struct survey {
	enum comm_trigger trigger;
	uint64_t random;
	struct comm_waited_reads waits;
	struct comm_word_census *census;
	struct comm_register_windows *registers; /* NULL: they cannot be had */
	struct comm_switch_windows *switches;	 /* likewise, or registers can */
	struct comm_allotment windows, of_long;	 /* of the budget; the second is of the first */
	struct comm_allotment set;		 /* of time */
	struct comm_allotment calls;		 /* of the budget */
	uint64_t start_ns;			 /* 0: no turn yet */
	struct comm_word_pools sole;		 /* words that need no window */
	uint32_t n_sole;			 /* that were told */
	uint32_t tgid;				 /* of the first burst; 0: there was none */
	bool has_several;			 /* processes */
	bool is_stopped;			 /* windows by looks are, for good */
	/* As a companion's. */
	bool (*is_shared)(void *ctx, uint32_t tgid, uint64_t addr);
	void *shared_ctx;
	uint64_t n_bursts, n_waiting, crowded;
	size_t n;
	struct comm_burst_read waiting[WAITING_MAX];
};

static int read_words(void *ctx, const struct comm_peek_place *place, size_t n,
		      struct comm_peek_word *ret)
{
	return comm_inspect_live_words(ctx, place, n, ret);
}

static ssize_t read_code(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t bytes)
{
	return comm_inspect_live_memory(ctx, tgid, addr, buf, bytes);
}

/* Of a thread that begins and ends between two looks nobody knows. */
static bool has_one_thread(uint32_t tgid)
{
	enum { LINKS = 2 /* of any folder, besides those to it from the folders in it */ };
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", tgid);
	return !stat(path, &st) && st.st_nlink == LINKS + 1;
}

static void offer_live(void *ctx, const struct comm_live_word *word)
{
	struct survey *s = ctx;
	struct comm_live_word live = *word;

	if (comm_census_class_of(0, word->lag_ns) > COMM_CENSUS_CHANGED + COMM_CENSUS_FED)
		return;
	live.is_sole = s->is_shared && !s->is_shared(s->shared_ctx, word->tgid, word->addr) &&
		       has_one_thread(word->tgid);
	/*
	 * Looks tell threads, and there is one; and registers trap in all processes of a program, which have data of their
	 * own at the same address.  Without windows on the others these would be told alone, as if nothing crossed.
	 */
	if (live.is_sole && (s->registers ? s->has_several : s->switches && !s->is_stopped))
		comm_word_pools_offer(&s->sole, &s->random, &live, comm_clock_now_ns());
	else if (s->registers)
		comm_register_windows_offer(s->registers, &live);
	else if (s->switches)
		comm_switch_windows_offer(s->switches, &live);
}

static int survey_probe(char **why)
{
	char *registers = NULL, *switches = NULL;
	int rc = comm_register_windows_probe(why);

	if (!rc)
		return 0;
	registers = *why;
	*why = NULL;
	rc = comm_switch_windows_probe(&switches);
	if (asprintf(why, "%s%s", rc ? "" : "by looks when threads leave their CPUs, for ",
		     registers ? registers : "debug registers cannot be had") < 0)
		*why = NULL;
	free(registers);
	free(switches);
	return rc;
}

/* A run without windows says how soon data changes, but not by whom: *err says why. */
static void open_windows(struct survey *s, const struct comm_companion_config *config, char **err)
{
	const struct comm_register_windows_config registers = {
		.target = config->target,
		.slots = config->options->debug_registers,
		.trap_ns = config->interrupt_ns,
		.is_shared = config->is_shared,
		.shared_ctx = config->shared_ctx,
		.read_code = read_code,
		.code_ctx = config->inspect,
		.strings_ns = config->sampler->strings_ns,
		.strings_ctx = config->handle,
	};
	const struct comm_switch_windows_config switches = {
		.target = config->target,
		.words = COMM_SWITCH_WORDS_MAX,
		.is_shared = config->is_shared,
		.shared_ctx = config->shared_ctx,
	};
	char *why = NULL, *neither = NULL;

	/* The same data would count twice. */
	if (config->sampler->watches && config->options->watch_per_s)
		return;
	if (registers.slots && !comm_register_windows_create(&registers, &s->registers, &why))
		return;
	if (comm_switch_windows_create(&switches, &s->switches, &neither) &&
	    asprintf(err, "who writes fresh data is not known: %s; %s",
		     why	       ? why
		     : registers.slots ? "out of memory"
				       : "--debug-registers is 0",
		     neither ? neither : "out of memory") < 0)
		*err = NULL;
	free(why);
	free(neither);
}

static void survey_close(void *companion)
{
	struct survey *s = companion;

	if (!s)
		return;
	comm_register_windows_destroy(s->registers);
	comm_switch_windows_destroy(s->switches);
	comm_word_census_destroy(s->census);
	free(s);
}

/* Samplers whose samples are no bursts never call burst(). */
static int survey_open(const struct comm_companion_config *config, void **ret, char **err)
{
	struct survey *s = calloc(1, sizeof(*s));
	const struct comm_word_census_config census = {
		.read = read_words,
		.read_ctx = config->inspect,
		.live = offer_live,
		.live_ctx = s,
	};
	int rc;

	if (!s)
		return -ENOMEM;
	s->trigger = config->trigger;
	s->is_shared = config->is_shared;
	s->shared_ctx = config->shared_ctx;
	s->windows.share = WINDOWS_SHARE;
	s->of_long.share = LONG_SHARE;
	s->of_long.kept_ns = LONG_KEPT_NS;
	s->set.kept_ns = KEPT_NS;
	s->calls.share = CALLS_SHARE;
	s->calls.kept_ns = CALLS_KEPT_NS;
	s->set.share = SET_PER_OVERHEAD * config->options->overhead;
	rc = comm_word_census_create(&census, &s->census);
	if (rc) {
		survey_close(s);
		return rc;
	}
	open_windows(s, config, err);
	s->windows.kept_ns = s->switches ? LOOKS_KEPT_NS : KEPT_NS;
	*ret = s;
	return 0;
}

static void survey_burst(void *companion, const struct comm_event *event,
			 const struct comm_burst *burst)
{
	struct survey *s = companion;
	struct comm_burst_read read;

	if (!s->tgid)
		s->tgid = event->tgid;
	s->has_several |= event->tgid != s->tgid;
	if (!comm_burst_read_pick(&read, &s->random, s->trigger, event, burst))
		return;
	read.waits = comm_wait_reads_is(&s->waits, event->tgid, burst);
	s->n_bursts++;
	s->n_waiting += read.waits;
	if (!read.waits)
		comm_word_census_offer(s->census, &read);
	else if (s->n < WAITING_MAX)
		s->waiting[s->n++] = read;
	else
		s->crowded++;
}

static void survey_gone(void *companion, uint32_t tgid)
{
	struct survey *s = companion;

	if (s->registers)
		comm_register_windows_gone(s->registers, tgid);
}

static void survey_end(void *companion)
{
	struct survey *s = companion;

	if (s->registers)
		comm_register_windows_end(s->registers);
}

static void tell_waiting(struct survey *s, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
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
}

/* The number of a window is its module's; these have the other half of all numbers. */
static void tell_sole(struct survey *s, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	static const struct comm_window_pairs none;
	struct comm_live_word word;

	while (comm_word_pools_draw(&s->sole, &word))
		comm_window_pairs_tell(&none, &word, 1u << 31 | ++s->n_sole, COMM_FED_SOLE, now_ns,
				       push, ctx);
}

static void survey_drain(void *companion, uint64_t now_ns, comm_event_fn *push, void *ctx)
{
	struct survey *s = companion;

	tell_waiting(s, now_ns, push, ctx);
	comm_word_census_collect(s->census, now_ns, push, ctx);
	tell_sole(s, now_ns, push, ctx);
	if (s->registers)
		comm_register_windows_collect(s->registers, now_ns, push, ctx);
	if (s->switches)
		comm_switch_windows_collect(s->switches, now_ns, push, ctx);
}

/* What windows have cost the target since the start. */
static uint64_t survey_cost_ns(const void *companion)
{
	const struct survey *s = companion;
	struct comm_register_windows_stats registers = {0};
	struct comm_switch_windows_stats switches = {0};

	if (s->registers)
		comm_register_windows_stats(s->registers, &registers);
	if (s->switches)
		comm_switch_windows_stats(s->switches, &switches);
	return registers.trap_ns + registers.string_ns + switches.look_ns + switches.call_ns;
}

/* Only what goes on for longer than calls may save for counts against them. */
static bool do_calls_pay(struct survey *s, uint64_t now_ns, uint64_t budget_ns, uint64_t call_ns)
{
	double left_ns = comm_allotment_left(&s->calls, now_ns, budget_ns, call_ns);

	return now_ns - s->start_ns < CALLS_KEPT_NS || left_ns > -comm_allotment_most(&s->calls);
}

static struct comm_window_means means_of(struct comm_allotment *allotment, uint64_t now_ns,
					 uint64_t all_ns, uint64_t spent_ns)
{
	struct comm_window_means ret;

	ret.left_ns = comm_allotment_left(allotment, now_ns, all_ns, spent_ns);
	ret.most_ns = comm_allotment_most(allotment);
	return ret;
}

/* Of all the time that it is kept, before so much has passed, too. */
static double most_for_long(const struct survey *s, uint64_t now_ns, uint64_t budget_ns)
{
	double per_ns = (double)budget_ns / (double)(now_ns - s->start_ns + 1);

	return fmax(comm_allotment_most(&s->of_long), LONG_SHARE * per_ns * (double)LONG_KEPT_NS);
}

static void turn_registers(struct survey *s, uint64_t now_ns, uint64_t budget_ns,
			   const struct comm_register_windows_stats *stats)
{
	struct comm_window_means all = {INFINITY, INFINITY}, of_long = all;

	if (budget_ns != UINT64_MAX) {
		all = means_of(&s->windows, now_ns, budget_ns, stats->trap_ns + stats->string_ns);
		of_long = means_of(&s->of_long, now_ns, budget_ns, stats->long_string_ns);
		of_long.most_ns = most_for_long(s, now_ns, budget_ns);
		if (!stats->knows_strings &&
		    comm_allotment_left(&s->set, now_ns, now_ns, stats->set_ns) <= 0)
			all.left_ns = 0;
	}
	comm_register_windows_turn(s->registers, now_ns, &all, &of_long);
}

static void survey_turn(void *companion, uint64_t now_ns, uint64_t budget_ns)
{
	struct survey *s = companion;
	struct comm_register_windows_stats registers = {0};
	struct comm_switch_windows_stats switches = {0};
	double left_ns = INFINITY, most_ns = INFINITY;

	if (!s->start_ns)
		s->start_ns = now_ns;
	comm_word_census_turn(s->census, now_ns);
	if (s->registers) {
		comm_register_windows_stats(s->registers, &registers);
		turn_registers(s, now_ns, budget_ns, &registers);
	}
	if (!s->switches)
		return;
	comm_switch_windows_stats(s->switches, &switches);
	if (budget_ns != UINT64_MAX) {
		left_ns = comm_allotment_left(&s->windows, now_ns, budget_ns, switches.look_ns);
		most_ns = comm_allotment_most(&s->windows);
		if (!do_calls_pay(s, now_ns, budget_ns, switches.call_ns)) {
			comm_switch_windows_stop(s->switches, now_ns);
			s->is_stopped = true;
		}
	}
	comm_switch_windows_turn(s->switches, now_ns, left_ns, most_ns);
}

/* The time up to now has the old share. */
static void survey_allow(void *companion, uint64_t now_ns, double overhead)
{
	struct survey *s = companion;
	struct comm_register_windows_stats registers = {0};

	if (s->registers) {
		comm_register_windows_stats(s->registers, &registers);
		comm_allotment_left(&s->set, now_ns, now_ns, registers.set_ns);
	}
	s->set.share = SET_PER_OVERHEAD * overhead;
}

static int survey_turn_ms(const void *companion)
{
	const struct survey *s = companion;
	int census_ms = comm_word_census_turn_ms(s->census, comm_clock_now_ns());
	int windows_ms = s->registers  ? comm_register_windows_turn_ms(s->registers)
			 : s->switches ? comm_switch_windows_turn_ms(s->switches)
				       : INT_MAX;

	return census_ms < windows_ms ? census_ms : windows_ms;
}

static void say_registers(const struct comm_register_windows *registers, FILE *out)
{
	struct comm_register_windows_stats r;

	comm_register_windows_stats(registers, &r);
	fprintf(out,
		"  windows by debug registers: %" PRIu64 " begun, %" PRIu64
		" with a write, %" PRIu64 " with a read of one, %" PRIu64 " lost; %" PRIu64
		" traps, %" PRIu64 " of other processes, %" PRIu64
		" of unknown ways; %.1f s with any set, %.1f ms of the target's time\n",
		r.begun, r.with_write, r.with_read, r.lost, r.traps, r.foreign, r.unknown,
		(double)r.set_ns / 1e9, (double)r.trap_ns / 1e6);
	if (r.knows_strings)
		fprintf(out,
			"  string instructions with any register set: %.1f ms lost, %.0f %% of "
			"their time; %" PRIu64
			" draws without a window, as it would cost too much, or the run ended\n",
			(double)r.string_ns / 1e6, 100 * r.string_loss, r.unpaid);
}

static void say_switches(const struct comm_switch_windows *switches, FILE *out)
{
	struct comm_switch_windows_stats w;

	comm_switch_windows_stats(switches, &w);
	fprintf(out,
		"  windows by looks at switches: %" PRIu64 " begun, %" PRIu64 " ended, %" PRIu64
		" with a change, %" PRIu64 " lost; %" PRIu64 " changes, of %" PRIu64
		" the writer is known; %" PRIu64 " looks, %.1f ms of the target's time\n",
		w.begun, w.ended, w.changed, w.lost, w.changes, w.known, w.looks,
		(double)w.look_ns / 1e6);
	fprintf(out,
		"  windows with a known writer: %" PRIu64
		"; without, as the word did not change: %" PRIu64 ", too few times: %" PRIu64
		", by several threads and not to what was read: %" PRIu64
		", as the reader did not run: %" PRIu64 ", as others may write it: %" PRIu64 "\n",
		w.unknown[COMM_LOOK_KNOWN], w.unknown[COMM_LOOK_QUIET], w.unknown[COMM_LOOK_FEW],
		w.unknown[COMM_LOOK_SEVERAL], w.unknown[COMM_LOOK_IDLE], w.unasked);
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
	if (s->n_sole)
		fprintf(out,
			"  windows that were not needed, as no other thread can write the word: "
			"%" PRIu32 "\n",
			s->n_sole);
	if (s->registers)
		say_registers(s->registers, out);
	if (s->switches)
		say_switches(s->switches, out);
}

const struct comm_companion comm_companion_survey = {
	.title = "windows on fresh data",
	.probe = survey_probe,
	.open = survey_open,
	.burst = survey_burst,
	.gone = survey_gone,
	.end = survey_end,
	.drain = survey_drain,
	.turn = survey_turn,
	.allow = survey_allow,
	.turn_ms = survey_turn_ms,
	.cost_ns = survey_cost_ns,
	.say = survey_say,
	.close = survey_close,
};
