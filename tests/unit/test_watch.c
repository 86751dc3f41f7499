// SPDX-License-Identifier: GPL-2.0-or-later
/* The share of the budget that watches may take, whatever the target did before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/companion/watch.c"

static struct comm_watchpoint_stats spent;
static bool may;

void comm_watchpoint_stats(const struct comm_watchpoints *w, struct comm_watchpoint_stats *ret)
{
	(void)w;
	*ret = spent;
}

void comm_watchpoint_arm(struct comm_watchpoints *w, uint64_t now_ns, bool may_begin)
{
	(void)w;
	(void)now_ns;
	may = may_begin;
}

/* Not called here. */
int comm_watchpoint_probe(char **why)
{
	(void)why;
	return -ENOSYS;
}

int comm_watchpoint_create(const struct comm_watchpoint_config *config,
			   struct comm_watchpoints **ret, char **err)
{
	(void)config;
	(void)ret;
	(void)err;
	return -ENOSYS;
}

void comm_watchpoint_destroy(struct comm_watchpoints *w)
{
	(void)w;
}

void comm_watchpoint_offer(struct comm_watchpoints *w, const struct comm_event *event,
			   const struct comm_burst *burst)
{
	(void)w;
	(void)event;
	(void)burst;
}

void comm_watchpoint_collect(struct comm_watchpoints *w, uint64_t now_ns, comm_event_fn *push,
			     void *ctx)
{
	(void)w;
	(void)now_ns;
	(void)push;
	(void)ctx;
}

int comm_watchpoint_turn_ms(const struct comm_watchpoints *w)
{
	(void)w;
	return 0;
}

enum { MS = 1000 * 1000, TURN_MS = 50, TICK_MS = 200 };

/*
 * Turns for some seconds, in which the budget grows by so much a second, at each tick, and each turn
 * that may costs some.  Returns what was spent.
 */
static double play(struct watch *w, uint64_t *now_ms, uint64_t *budget_ns, unsigned int seconds,
		   uint64_t budget_ns_per_s, uint64_t cost_ns)
{
	uint64_t before_ns = spent.trap_ns;

	for (unsigned int i = 0; i < seconds * 1000 / TURN_MS; i++) {
		*now_ms += TURN_MS;
		if (*now_ms % TICK_MS == 0)
			*budget_ns += budget_ns_per_s * TICK_MS / 1000;
		watch_turn(w, *now_ms * MS, *budget_ns);
		if (may)
			spent.trap_ns += cost_ns;
	}
	return (double)(spent.trap_ns - before_ns);
}

static void test_share(void **state)
{
	struct watch w = {0};
	uint64_t now_ms = 0, budget_ns = 0;
	double all;

	(void)state;
	spent = (struct comm_watchpoint_stats){0};
	/* Watches that cost more than they may are as many as they may be. */
	all = play(&w, &now_ms, &budget_ns, 100, 10 * MS, 2 * MS);
	assert_true(all > 0.95 * SHARE * 1000 * MS && all < 1.05 * SHARE * 1000 * MS);
	/* Cheap ones are not held up by when the budget is told of. */
	all = play(&w, &now_ms, &budget_ns, 100, 10 * MS, MS / 10);
	assert_true(all > 0.9 * 100 * 1000 / TURN_MS * MS / 10);
}

/* An hour in which nothing was spent gives no more than a few seconds' worth. */
static void test_idle_hour(void **state)
{
	struct watch w = {0};
	uint64_t now_ms = 0, budget_ns = 0;
	double all;

	(void)state;
	spent = (struct comm_watchpoint_stats){0};
	play(&w, &now_ms, &budget_ns, 3600, 10 * MS, 0);
	all = play(&w, &now_ms, &budget_ns, 20, 10 * MS, 2 * MS);
	assert_true(all < SHARE * 22.5 * 10 * MS);
	watch_turn(&w, now_ms * MS, UINT64_MAX);
	assert_true(may);
}

/* Registers are set in so much of the time, however cheap the watches, and however long one is. */
static void test_time_with_registers_set(void **state)
{
	struct watch w = {.set_share = 0.1};
	uint64_t now_ms = 0, idle_ms = 3600 * 1000;

	(void)state;
	spent = (struct comm_watchpoint_stats){0};
	for (unsigned int i = 0; i < 100 * 1000 / TURN_MS; i++) {
		now_ms += TURN_MS;
		watch_turn(&w, now_ms * MS, now_ms * MS);
		if (may)
			spent.set_ns += (i % 7 ? 70ULL : 1000ULL) * MS;
	}
	assert_in_range(spent.set_ns / MS, 9 * 1000, 11 * 1000);
	/* Nor after an hour in which none was. */
	spent.set_ns = 0;
	w = (struct watch){.set_share = 0.1};
	watch_turn(&w, now_ms * MS, now_ms * MS);
	now_ms += idle_ms;
	for (unsigned int i = 0; i < 1000 / TURN_MS; i++) {
		now_ms += TURN_MS;
		watch_turn(&w, now_ms * MS, now_ms * MS);
		if (may)
			spent.set_ns += TURN_MS * (uint64_t)MS;
	}
	assert_in_range(spent.set_ns / MS, 100, 300);
	/* Without a budget they may be set all the time. */
	spent.set_ns += 1000ULL * MS;
	watch_turn(&w, now_ms * MS, UINT64_MAX);
	assert_true(may);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_time_with_registers_set),
		cmocka_unit_test(test_idle_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
