// SPDX-License-Identifier: GPL-2.0-or-later
#include "register_window.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "breakpoints.h"
#include "clock.h"
#include "hash.h"
#include "late_words.h"
#include "loss_teller.h"
#include "trapped.h"
#include "unpaid_words.h"
#include "window_cost.h"
#include "window_pairs.h"
#include "word_pool.h"

enum {
	MS = 1000 * 1000,
	LAGS = 4, /* that a window lasts */
	LENGTH_MIN_NS = 10 * MS,
	UNWRITTEN_MIN_NS = 40 * MS, /* of one without a write */
	LENGTH_MAX_NS = 1500 * MS,
	LOOKS = 4, /* at a window until it is due */
	LOOK_MS_MIN = 5,
	/* Times that a window takes all the traps it may have, while no read like the drawn one is among them. */
	TRIES = 3,
	/* Traps of other processes that one window bears: each costs them time. */
	FOREIGN_MAX = 4 * COMM_BREAKPOINT_TRAPS,
	/* Blocks of code that are kept: where each begins, and its length, which holds all that is of use. */
	CODES = 256,
	CODE_STEP = 512,
	CODE_BYTES = CODE_STEP + COMM_TRAPPED_BEFORE + COMM_TRAPPED_AFTER,
	PAGE_BYTES = 4096,
};

enum phase {
	FREE,
	OPEN,  /* reads and writes trap */
	QUIET, /* writes trap: until one comes */
	ENDED, /* and is to be told of */
};

struct window {
	enum phase phase;
	struct comm_live_word word;
	uint32_t number;
	uint64_t addr; /* that is watched, and */
	uint32_t bytes;
	bool is_shared; /* the word may be other processes', too */
	bool is_lost;
	uint64_t due_ns, length_ns;
	/* Traps of other processes; of these, before the registers were set last. */
	unsigned int foreign, foreign_before;
	unsigned int tries;
	/* Since the registers were set: own traps, and all traps by CPU. */
	struct comm_breakpoint_trap *trap;
	unsigned int n_traps;
	unsigned int *taken;
	/*
	 * CPUs are set and silenced one after the other.  From when on all of them trapped, and until when:
	 * UINT64_MAX while none has had as many traps as it may.
	 */
	uint64_t since_ns, stop_ns;
	struct comm_window_pairs pairs;
};

/* Code around a place where a thread trapped. */
struct code {
	uint32_t tgid;
	uint32_t n; /* bytes; 0: none is kept here */
	uint64_t block, addr;
	uint8_t bytes[CODE_BYTES];
};

struct comm_register_windows {
	struct comm_register_windows_config config;
	struct comm_breakpoints *points;
	unsigned int n_slots, n_cpus, capacity; /* capacity: of a window's traps */
	struct window *window;			/* one for each slot */
	struct comm_word_pools soon;
	struct comm_late_words late;
	uint64_t random;
	uint32_t numbers;
	uint64_t counted_ns;	      /* at the last count; and from then on registers were set, */
	bool was_set, was_long;	      /* for any window, and for a long one */
	struct comm_window_cost cost; /* to string instructions */
	struct comm_unpaid_words unpaid;
	uint64_t lost[COMM_LOSS_MAX];
	struct comm_loss_teller losses;
	struct comm_register_windows_stats stats;
	struct code code[CODES];
};

int comm_register_windows_probe(char **why)
{
	return comm_breakpoints_probe(why);
}

static int make_windows(struct comm_register_windows *w)
{
	int rc = 0;

	w->n_slots = comm_breakpoints_slots(w->points);
	w->n_cpus = comm_breakpoints_cpus(w->points);
	w->capacity = w->n_cpus * COMM_BREAKPOINT_TRAPS;
	/* The first slot is for words that change soon. */
	w->late.n_pools = w->n_slots > 1 ? w->n_slots - 1 : 1;
	w->window = calloc(w->n_slots, sizeof(*w->window));
	if (!w->window)
		return -ENOMEM;
	for (unsigned int i = 0; i < w->n_slots && !rc; i++) {
		struct window *s = &w->window[i];

		s->trap = calloc(w->capacity, sizeof(*s->trap));
		s->taken = calloc(w->n_cpus, sizeof(*s->taken));
		rc = s->trap && s->taken ? 0 : -ENOMEM;
		/* More than there can be: where a pair was seen the window is not opened again. */
		if (!rc)
			rc = comm_window_pairs_init(&s->pairs, 3 * w->capacity);
	}
	return rc;
}

int comm_register_windows_create(const struct comm_register_windows_config *config,
				 struct comm_register_windows **ret, char **err)
{
	struct comm_register_windows *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->config = *config;
	rc = comm_breakpoints_create(config->slots, config->trap_ns, &w->points, err);
	if (!rc)
		rc = make_windows(w);
	w->stats.knows_strings = !rc && config->strings_ns &&
				 config->strings_ns(config->strings_ctx, false) != UINT64_MAX &&
				 comm_breakpoints_string_loss(w->points) >= 0;
	if (rc)
		comm_register_windows_destroy(w);
	else
		*ret = w;
	return rc;
}

void comm_register_windows_destroy(struct comm_register_windows *w)
{
	if (!w)
		return;
	for (unsigned int i = 0; w->window && i < w->n_slots; i++) {
		free(w->window[i].trap);
		free(w->window[i].taken);
		comm_window_pairs_deinit(&w->window[i].pairs);
	}
	free(w->window);
	comm_breakpoints_destroy(w->points);
	free(w);
}

static bool is_late(const struct comm_live_word *word)
{
	return word->lag_ns > COMM_SOON_NS;
}

void comm_register_windows_offer(struct comm_register_windows *w, const struct comm_live_word *word)
{
	if (is_late(word))
		comm_late_words_offer(&w->late, &w->random, word, comm_clock_now_ns());
	else
		comm_word_pools_offer(&w->soon, &w->random, word, comm_clock_now_ns());
}

static bool is_set(const struct window *s)
{
	return s->phase == OPEN || s->phase == QUIET;
}

static void lose(struct window *s)
{
	s->phase = ENDED;
	s->is_lost = true;
}

/* Sets the registers for a phase of the window; what was seen until then is settled. */
static void set(struct comm_register_windows *w, unsigned int slot, enum phase phase)
{
	struct window *s = &w->window[slot];

	s->phase = phase;
	s->n_traps = 0;
	s->foreign_before = s->foreign;
	s->since_ns = 0;
	s->stop_ns = UINT64_MAX;
	memset(s->taken, 0, w->n_cpus * sizeof(*s->taken));
	if (!comm_breakpoints_aim(w->points, slot, s->addr, s->bytes, phase == OPEN))
		lose(s);
}

/* The same where nothing is known of what was before. */
static void set_anew(struct comm_register_windows *w, unsigned int slot, enum phase phase)
{
	comm_window_pairs_gap(&w->window[slot].pairs);
	set(w, slot, phase);
	w->window[slot].since_ns = comm_clock_now_ns();
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b + b_bytes && b < a + a_bytes;
}

/* The bytes around a word that a register can watch. */
static uint32_t watched_bytes(const struct comm_live_word *word)
{
	uint32_t bytes = word->size_bytes;

	return bytes & (bytes - 1) || !bytes || bytes > 8 || word->addr & (bytes - 1) ? 8 : bytes;
}

/* The window that is open on the word already: it stands for both draws.  NULL: none is. */
static struct window *window_on(struct comm_register_windows *w, const struct comm_live_word *word)
{
	for (unsigned int i = 0; i < w->n_slots; i++) {
		struct window *s = &w->window[i];

		/* Two on one datum of two processes would take each other's traps. */
		if (is_set(s) && (s->addr ^ word->addr) < 8)
			return s;
	}
	return NULL;
}

static uint64_t length_of(const struct comm_live_word *word)
{
	uint64_t ns = word->lag_ns * LAGS;

	return ns < LENGTH_MIN_NS ? LENGTH_MIN_NS : ns > LENGTH_MAX_NS ? LENGTH_MAX_NS : ns;
}

/* Long windows are no longer than can be paid. */
static uint64_t paid_length(const struct comm_register_windows *w,
			    const struct comm_live_word *word, uint64_t now_ns, double most_ns)
{
	uint64_t length_ns = length_of(word);
	double paid_ns;

	if (!is_late(word))
		return length_ns;
	paid_ns = comm_window_cost_length(&w->cost, now_ns, most_ns);
	return paid_ns < (double)length_ns ? (uint64_t)paid_ns : length_ns;
}

/* A word whose window would cost too much, or that still waits when the run ends. */
static void pass_over(struct comm_register_windows *w, const struct comm_live_word *word)
{
	comm_unpaid_words_add(&w->unpaid, &w->random, word);
	w->stats.unpaid++;
}

/* most_ns: that a long window may cost. */
static void begin(struct comm_register_windows *w, unsigned int slot,
		  const struct comm_live_word *word, uint64_t now_ns, double most_ns)
{
	struct window *s = window_on(w, word);

	if (s && s->word.tgid == word->tgid) {
		s->word.stands_for += word->stands_for;
		return;
	}
	if (s) {
		w->stats.lost++;
		w->lost[COMM_LOSS_WATCH]++;
		return;
	}
	s = &w->window[slot];
	s->word = *word;
	s->number = ++w->numbers;
	s->bytes = watched_bytes(word);
	s->addr = word->addr & ~(uint64_t)(s->bytes - 1);
	s->is_shared = !w->config.is_shared ||
		       w->config.is_shared(w->config.shared_ctx, word->tgid, word->addr);
	s->is_lost = false;
	s->foreign = s->foreign_before = s->tries = 0;
	s->length_ns = paid_length(w, word, now_ns, most_ns);
	s->due_ns = now_ns + s->length_ns;
	comm_window_pairs_clear(&s->pairs, word->code_ip);
	comm_window_cost_open(&w->cost, now_ns, s->length_ns);
	w->stats.begun++;
	set_anew(w, slot, OPEN);
}

static bool is_any_set(const struct comm_register_windows *w)
{
	bool any = false;

	for (unsigned int i = 0; i < w->n_slots; i++)
		any |= is_set(&w->window[i]);
	return any;
}

/* Are there means for long windows?  Until it is known what they cost, there is one alone, if there are no short ones. */
static bool may_be_long(const struct comm_register_windows *w,
			const struct comm_window_means *of_long)
{
	if (comm_window_cost_known(&w->cost) || isinf(of_long->left_ns))
		return of_long->left_ns > 0;
	return of_long->left_ns > 0 && !is_any_set(w) && !comm_word_pools_any(&w->soon);
}

/* A window shorter than its word's lag would seldom see a write. */
static bool draw_late(struct comm_register_windows *w, uint64_t now_ns, double most_ns,
		      struct comm_live_word *ret)
{
	return comm_late_words_draw(&w->late, comm_window_cost_length(&w->cost, now_ns, most_ns),
				    now_ns, ret);
}

/*
 * Which words a slot is for: the first for those that change soon, which may have the others', too.  A single slot takes
 * them in turn.
 */
static bool draw(struct comm_register_windows *w, unsigned int slot, uint64_t now_ns,
		 const struct comm_window_means *of_long, struct comm_live_word *ret)
{
	bool later = w->n_slots > 1 ? slot != 0 : w->numbers % 2;
	bool is_long = may_be_long(w, of_long);

	if (later && is_long && draw_late(w, now_ns, of_long->most_ns, ret))
		return true;
	if (comm_word_pools_draw(&w->soon, ret))
		return true;
	return w->n_slots == 1 && is_long && draw_late(w, now_ns, of_long->most_ns, ret);
}

/* Whose data the traps at this address are: those of another process at a private one are other data. */
static bool is_own(const struct window *s, const struct comm_breakpoint_trap *trap)
{
	return trap->tgid == s->word.tgid || s->is_shared;
}

static void on_trap(void *ctx, const struct comm_breakpoint_trap *trap)
{
	struct comm_register_windows *w = ctx;

	for (unsigned int i = 0; i < w->n_slots; i++) {
		struct window *s = &w->window[i];

		if (!is_set(s) || s->addr != trap->at.addr)
			continue;
		if (++s->taken[trap->nth_cpu] == COMM_BREAKPOINT_TRAPS &&
		    trap->time_ns < s->stop_ns)
			s->stop_ns = trap->time_ns;
		if (!is_own(s, trap)) {
			s->foreign++;
			w->stats.foreign++;
		} else if (s->n_traps < w->capacity) {
			s->trap[s->n_traps++] = *trap;
		}
		return;
	}
}

static void drain(struct comm_register_windows *w)
{
	if (!comm_breakpoints_drain(w->points, on_trap, w))
		return;
	/* Nobody knows whose accesses they were. */
	for (unsigned int i = 0; i < w->n_slots; i++)
		w->window[i].is_lost |= is_set(&w->window[i]);
}

static struct code *code_at(struct comm_register_windows *w, uint32_t tgid, uint64_t ip)
{
	uint64_t block = (ip - COMM_TRAPPED_BEFORE) / CODE_STEP;
	struct code *c = &w->code[comm_hash_mix(block, tgid) % CODES];
	ssize_t n;

	if (c->n && c->tgid == tgid && c->block == block)
		return c;
	*c = (struct code){.tgid = tgid, .block = block, .addr = block * CODE_STEP};
	n = w->config.read_code(w->config.code_ctx, tgid, c->addr, c->bytes, CODE_BYTES);
	if (n < 0 || c->addr + (uint64_t)n < ip) {
		/* The page before is not there. */
		c->addr = (ip - 1) & ~(uint64_t)(PAGE_BYTES - 1);
		n = w->config.read_code(w->config.code_ctx, tgid, c->addr, c->bytes, CODE_BYTES);
	}
	c->n = n > 0 ? (uint32_t)n : 0;
	return c;
}

static bool by_code(struct comm_register_windows *w, const struct comm_breakpoint_trap *trap,
		    struct comm_trapped *ret)
{
	struct code *c;

	if (trap->mode_bits != 64)
		return false;
	c = code_at(w, trap->tgid, trap->at.ip);
	if (c->n && comm_trapped_by_code(&trap->at, c->bytes, c->addr, c->n, ret))
		return true;
	/* Code that is generated may be another one now. */
	c->n = 0;
	return false;
}

static bool is_kernel(uint64_t ip)
{
	return ip >> 63;
}

/* False: it is no access to the word itself, or none that counts. */
static bool classify(struct comm_register_windows *w, const struct window *s,
		     struct comm_breakpoint_trap *trap, struct comm_window_access *ret)
{
	struct comm_trapped t = {0};
	bool kernel = is_kernel(trap->at.ip);

	trap->at.size_bytes = s->bytes;
	*ret = (struct comm_window_access){
		.time_ns = trap->time_ns, .tgid = trap->tgid, .tid = trap->tid, .cpu = trap->cpu};
	if (kernel ? comm_trapped_by_kernel(&trap->at, &t) : by_code(w, trap, &t))
		ret->flags = t.flags;
	if (s->phase == QUIET) {
		/* The register tells; reads of those that write would count alone. */
		if (!kernel && ret->flags && !(ret->flags & COMM_ACCESS_WRITE))
			return false;
		ret->flags = COMM_ACCESS_WRITE | (t.flags & COMM_ACCESS_ATOMIC);
	}
	w->stats.unknown += !ret->flags;
	/* Where the kernel's code lies is nobody's business; the trap's ip is behind the instruction. */
	if (kernel)
		ret->flags |= COMM_ACCESS_KERNEL;
	else
		ret->ip = t.ip ? t.ip : trap->at.ip - 1;
	return !t.size_bytes || overlap(t.addr, t.size_bytes, s->word.addr, s->word.size_bytes);
}

static int by_time(const void *a, const void *b)
{
	const struct comm_breakpoint_trap *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* A write while only some CPUs trapped: who wrote last before a read does not follow, but that it is written does. */
static void note_write(struct window *s, struct comm_window_access *access)
{
	if (s->pairs.write.flags || !(access->flags & COMM_ACCESS_WRITE))
		return;
	access->flags &= (uint16_t)~COMM_ACCESS_READ;
	comm_window_pairs_access(&s->pairs, access);
	comm_window_pairs_gap(&s->pairs);
}

/* Makes pairs of the traps since the registers were set. */
static void settle(struct comm_register_windows *w, struct window *s)
{
	struct comm_window_access access;

	qsort(s->trap, s->n_traps, sizeof(*s->trap), by_time);
	for (unsigned int i = 0; i < s->n_traps; i++) {
		struct comm_breakpoint_trap *trap = &s->trap[i];

		if (!classify(w, s, trap, &access))
			continue;
		/* Others that share the memory are not told of, but what they write is not the last writer's. */
		if (trap->tgid != s->word.tgid && !comm_target_has(w->config.target, trap->tgid)) {
			if (!(access.flags & COMM_ACCESS_READ) || access.flags & COMM_ACCESS_WRITE)
				comm_window_pairs_gap(&s->pairs);
		} else if (trap->time_ns < s->since_ns || trap->time_ns > s->stop_ns) {
			note_write(s, &access);
		} else {
			comm_window_pairs_access(&s->pairs, &access);
		}
	}
}

/* A CPU is silent (is_full), or time was short, and some is left: is there more to see? */
static void go_on(struct comm_register_windows *w, unsigned int slot, bool is_full)
{
	struct window *s = &w->window[slot];
	enum phase phase = s->phase;

	s->phase = ENDED;
	if (s->pairs.n_reads)
		return;
	if (s->foreign > FOREIGN_MAX)
		s->is_lost = true;
	else if (s->foreign > s->foreign_before)
		set_anew(w, slot, phase);
	else if (!s->pairs.write.flags)
		set_anew(w, slot, QUIET);
	else if (is_full && phase == QUIET)
		set_anew(w, slot, OPEN);
	else if (is_full && s->pairs.n_others && ++s->tries < TRIES)
		set_anew(w, slot, OPEN);
}

static void look(struct comm_register_windows *w, unsigned int slot, uint64_t now_ns)
{
	struct window *s = &w->window[slot];
	bool is_over = now_ns >= s->due_ns || s->is_lost;
	bool goes_on = is_over && !s->is_lost && s->length_ns < UNWRITTEN_MIN_NS;
	bool is_full = s->stop_ns != UINT64_MAX;
	uint64_t until_ns;

	if (!is_set(s))
		return;
	if (goes_on) {
		s->due_ns += UNWRITTEN_MIN_NS - s->length_ns;
		s->length_ns = UNWRITTEN_MIN_NS;
		is_over = now_ns >= s->due_ns;
	}
	if (!is_over && !goes_on && !is_full) {
		if (s->phase != QUIET || !s->n_traps)
			return;
		/*
		 * The last writer is the word's until the registers trap reads again: but for a write while
		 * a CPU's own is set, some microseconds of all the time between two writes.
		 */
		settle(w, s);
		set(w, slot, OPEN);
		return;
	}
	until_ns = comm_clock_now_ns();
	comm_breakpoints_silence(w->points, slot);
	drain(w);
	s->stop_ns = s->stop_ns < until_ns ? s->stop_ns : until_ns;
	settle(w, s);
	if (!is_over) {
		go_on(w, slot, is_full);
		return;
	}
	s->phase = ENDED;
	/* Where there was no time in which all CPUs trapped, nobody's writes are no answer. */
	s->is_lost |= s->stop_ns < s->since_ns && !s->pairs.write.flags;
}

/* What the time since the last count has cost; and are registers set from now on? */
static bool count_cost(struct comm_register_windows *w, uint64_t now_ns)
{
	bool any = is_any_set(w), any_long = false;
	uint64_t ns;

	for (unsigned int i = 0; i < w->n_slots; i++)
		any_long |= is_set(&w->window[i]) && is_late(&w->window[i].word);
	if (w->stats.knows_strings && (any || w->was_set)) {
		ns = w->config.strings_ns(w->config.strings_ctx, any);
		ns = (uint64_t)(comm_breakpoints_string_loss(w->points) * (double)ns);
		if (w->was_long)
			w->stats.long_string_ns += ns - w->stats.string_ns;
		w->stats.string_ns = ns;
	}
	comm_window_cost_learn(&w->cost, w->was_set, now_ns, w->stats.string_ns);
	if (w->was_set)
		w->stats.set_ns += now_ns - w->counted_ns;
	w->counted_ns = now_ns;
	w->was_set = any;
	w->was_long = any_long;
	return any;
}

static void look_at_all(struct comm_register_windows *w, uint64_t now_ns)
{
	if (!count_cost(w, now_ns))
		return;
	drain(w);
	for (unsigned int i = 0; i < w->n_slots; i++)
		look(w, i, now_ns);
	count_cost(w, now_ns);
}

/* That nobody writes the memory of a process that has ended is no news. */
static bool has_ended(const struct window *s)
{
	return !s->pairs.write.flags && kill((pid_t)s->word.tgid, 0) && errno == ESRCH;
}

void comm_register_windows_collect(struct comm_register_windows *w, uint64_t now_ns,
				   comm_event_fn *push, void *ctx)
{
	look_at_all(w, now_ns);
	for (unsigned int i = 0; i < w->n_slots; i++) {
		struct window *s = &w->window[i];

		if (s->phase != ENDED)
			continue;
		s->phase = FREE;
		if (s->is_lost || has_ended(s)) {
			w->stats.lost++;
			w->lost[COMM_LOSS_WATCH]++;
			continue;
		}
		w->stats.with_write += s->pairs.write.flags != 0;
		w->stats.with_read += s->pairs.n_reads != 0;
		comm_window_pairs_tell(&s->pairs, &s->word, s->number, COMM_FED_REGISTERS, now_ns,
				       push, ctx);
		comm_unpaid_words_seen(&w->unpaid, &s->word, &s->pairs, now_ns);
	}
	comm_unpaid_words_tell(&w->unpaid, &w->numbers, now_ns, push, ctx);
	w->lost[COMM_LOSS_CPUS] = comm_breakpoints_unopened(w->points);
	comm_loss_tell(&w->losses, w->lost, now_ns, push, ctx);
}

/* Windows end with what they have seen, if what is left of them would cost too much, as is known by now. */
static void cut_dear(struct comm_register_windows *w, uint64_t now_ns, double most_ns)
{
	uint64_t until_ns = now_ns;

	for (unsigned int i = 0; i < w->n_slots; i++) {
		struct window *s = &w->window[i];

		if (!is_set(s))
			continue;
		if (is_late(&s->word) && s->due_ns > now_ns &&
		    comm_window_cost_of(&w->cost, s->due_ns - now_ns) > most_ns)
			s->due_ns = now_ns;
		until_ns = s->due_ns > until_ns ? s->due_ns : until_ns;
		look(w, i, now_ns);
	}
	w->cost.open_until_ns = until_ns;
}

void comm_register_windows_turn(struct comm_register_windows *w, uint64_t now_ns,
				const struct comm_window_means *all,
				const struct comm_window_means *of_long)
{
	struct comm_live_word word;

	look_at_all(w, now_ns);
	for (unsigned int i = 0; i < w->n_slots && all->left_ns > 0; i++)
		if (w->window[i].phase == FREE && draw(w, i, now_ns, of_long, &word))
			begin(w, i, &word, now_ns, of_long->most_ns);
	while (comm_late_words_overdue(&w->late, now_ns, &word))
		pass_over(w, &word);
	cut_dear(w, now_ns, of_long->most_ns);
	count_cost(w, now_ns);
}

void comm_register_windows_end(struct comm_register_windows *w)
{
	struct comm_live_word word;

	for (unsigned int i = 0; i < w->n_slots; i++)
		w->window[i].due_ns = 0;
	while (comm_late_words_draw(&w->late, INFINITY, 0, &word))
		pass_over(w, &word);
	while (comm_word_pools_draw(&w->soon, &word))
		pass_over(w, &word);
	w->unpaid.told_ns = 0;
}

void comm_register_windows_gone(struct comm_register_windows *w, uint32_t tgid)
{
	for (unsigned int i = 0; i < w->n_slots; i++) {
		struct window *s = &w->window[i];

		if (!is_set(s) || s->word.tgid != tgid)
			continue;
		comm_breakpoints_silence(w->points, i);
		lose(s);
	}
	comm_unpaid_words_gone(&w->unpaid, tgid);
	for (unsigned int i = 0; i < CODES; i++)
		if (w->code[i].tgid == tgid)
			w->code[i].n = 0;
}

int comm_register_windows_turn_ms(const struct comm_register_windows *w)
{
	int ret = INT_MAX;

	for (unsigned int i = 0; i < w->n_slots; i++) {
		const struct window *s = &w->window[i];
		int ms = (int)(s->length_ns / LOOKS / MS);

		if (w->stats.knows_strings && !comm_window_cost_known(&w->cost))
			ms = 0;
		ms = ms < LOOK_MS_MIN ? LOOK_MS_MIN : ms;
		if (is_set(s) && ms < ret)
			ret = ms;
	}
	return ret;
}

void comm_register_windows_stats(const struct comm_register_windows *w,
				 struct comm_register_windows_stats *ret)
{
	*ret = w->stats;
	ret->string_loss = comm_breakpoints_string_loss(w->points);
	ret->traps = comm_breakpoints_traps(w->points);
	ret->trap_ns = comm_breakpoints_cost_ns(w->points);
}
