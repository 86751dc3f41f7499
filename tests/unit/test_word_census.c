// SPDX-License-Identifier: GPL-2.0-or-later
/* Words of made-up processes, whose memory changes when a test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../daemon/companion/word_census.c"

#define MS 1000000ull
#define START (1ull << 32)
enum { TGID = 7, TID = 8, GOT_MAX = 64 };

static struct {
	uint64_t value; /* of every word */
	uint64_t gone;	/* address that cannot be read */
	uint32_t dead;	/* process that cannot be read */
	int err;	/* nothing can be read now */
	unsigned int calls;
	size_t words;
	uint64_t addr; /* the last one */
} memory;

static struct {
	size_t n, lost, n_live;
	struct comm_event event[GOT_MAX];
	struct comm_live_word live;
} got;

void comm_burst_read_tell(const struct comm_burst_read *read, struct comm_event *ret)
{
	ret->tgid = read->tgid;
	ret->tid = read->tid;
	ret->census.read.addr = read->addr;
	ret->census.stands_for = read->stands_for;
}

static int read_made_up(void *ctx, const struct comm_peek_place *place, size_t n,
			struct comm_peek_word *ret)
{
	(void)ctx;
	memory.calls++;
	if (memory.err)
		return memory.err;
	memory.words += n;
	for (size_t i = 0; i < n; i++) {
		bool is_there = place[i].addr != memory.gone && place[i].tgid != memory.dead;

		ret[i] = (struct comm_peek_word){memory.value, is_there};
		memory.addr = place[i].addr;
		/* Those of a process stand together. */
		for (size_t j = 0; i && j + 1 < i; j++)
			assert_true(place[j].tgid != place[i].tgid ||
				    place[i - 1].tgid == place[i].tgid);
	}
	return 0;
}

static void take_live(void *ctx, const struct comm_live_word *word)
{
	(void)ctx;
	got.n_live++;
	got.live = *word;
}

static void take(void *ctx, const struct comm_event *event)
{
	(void)ctx;
	if (event->kind == COMM_EV_LOSS && event->cause == COMM_LOSS_CENSUS)
		got.lost += event->count;
	else if (got.n < GOT_MAX)
		got.event[got.n++] = *event;
}

static struct comm_word_census *create(void)
{
	const struct comm_word_census_config config = {.read = read_made_up, .live = take_live};
	struct comm_word_census *census = NULL;

	memset(&memory, 0, sizeof(memory));
	memset(&got, 0, sizeof(got));
	assert_int_equal(comm_word_census_create(&config, &census), 0);
	return census;
}

static struct comm_burst_read read_of(uint32_t tgid, uint64_t addr, uint32_t size_bytes)
{
	return (struct comm_burst_read){.time_ns = START,
					.addr = addr,
					.ip = 0x401000,
					.tgid = tgid,
					.tid = TID,
					.size_bytes = size_bytes,
					.stands_for = 10};
}

static void offer(struct comm_word_census *census, uint64_t addr, uint32_t size_bytes)
{
	const struct comm_burst_read read = read_of(TGID, addr, size_bytes);

	comm_word_census_offer(census, &read);
}

/* Turns as often as is asked for, until then. */
static void turn_until(struct comm_word_census *census, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t now_ns = from_ns;

	while (now_ns < to_ns) {
		int ms;

		comm_word_census_turn(census, now_ns);
		comm_word_census_collect(census, now_ns, take, NULL);
		ms = comm_word_census_turn_ms(census, now_ns);
		if (ms == INT_MAX)
			return;
		now_ns += (uint64_t)(ms ? ms : 1) * MS;
	}
}

static void test_unchanged_to_the_end(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 8);
	turn_until(census, START, START + 11000 * MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.n_live, 0);
	assert_int_equal(got.event[0].census.changed_ns, 0);
	assert_true(got.event[0].census.quiet_ns >= 10000 * MS);
	assert_int_equal(comm_census_class_of(got.event[0].census.quiet_ns, 0),
			 COMM_CENSUS_CLASSES - 1);
	assert_int_equal(got.event[0].tid, TID);
	/* The first look, and one for each lag. */
	assert_int_equal(memory.words, 1 + COMM_CENSUS_LAGS);
	assert_int_equal(comm_word_census_turn_ms(census, START), INT_MAX);
	comm_word_census_destroy(census);
}

/*
 * Words that come one by one are looked at together, and lags count from then on: where many come that is soon, and
 * later where few do.
 */
static void test_first_looks_are_gathered(void **state)
{
	static const struct {
		unsigned int words;
		uint64_t due_ns;
	} gathers[] = {{2, GATHER_TIMES * (uint64_t)GATHER_NS}, {GATHER_WORDS, GATHER_NS}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct comm_word_census *census = create();
		const uint64_t due_ns = START + gathers[i].due_ns;

		offer(census, 0x1000, 8);
		comm_word_census_turn(census, START);
		assert_int_equal(memory.words, 1);
		turn_until(census, START + 1, START + 100 * MS);
		for (unsigned int j = 0; j < gathers[i].words; j++)
			offer(census, 0x2000 + 8 * j, 8);
		turn_until(census, START + 100 * MS, due_ns);
		memory.words = memory.calls = 0;
		comm_word_census_turn(census, due_ns);
		assert_int_equal(memory.calls, 1);
		assert_int_equal(memory.words, gathers[i].words);
		memory.value = 1;
		turn_until(census, due_ns + 1, due_ns + 20 * MS);
		assert_int_equal(got.n, gathers[i].words);
		assert_in_range(got.event[1].census.changed_ns, 1, 2 * MS);
		comm_word_census_destroy(census);
	}
}

/* However many come, first looks are no closer together. */
static void test_many_gatherings(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	memory.dead = TGID; /* so that no word is looked at again */
	for (uint64_t now_ns = START; now_ns < START + 10 * (uint64_t)GATHER_NS; now_ns += MS) {
		for (int i = 0; i < 2; i++)
			offer(census, 0x1000, 8);
		comm_word_census_turn(census, now_ns);
		comm_word_census_collect(census, now_ns, take, NULL);
	}
	assert_in_range(memory.calls, 10, 11);
	comm_word_census_destroy(census);
}

/* A look that is nearly due is made with others, and not again. */
static void test_early_looks(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 8);
	comm_word_census_turn(census, START);
	comm_word_census_turn(census, START + 299 * MS);
	comm_word_census_turn(census, START + 870 * MS);
	assert_int_equal(memory.words, 2);
	comm_word_census_turn(census, START + 880 * MS);
	comm_word_census_turn(census, START + 1000 * MS);
	assert_int_equal(memory.words, 3);
	assert_in_range(comm_word_census_turn_ms(census, START + 1000 * MS), 1990, 2002);
	comm_word_census_destroy(census);
}

static void test_changed(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 8);
	turn_until(census, START, START + 20 * MS);
	memory.value = 1;
	turn_until(census, START + 20 * MS, START + 11000 * MS);
	assert_int_equal(got.n, 1);
	assert_in_range(got.event[0].census.changed_ns, 20 * MS, 40 * MS);
	assert_in_range(got.event[0].census.quiet_ns, 9 * MS, 20 * MS);
	assert_int_equal(comm_census_class_of(0, got.event[0].census.changed_ns),
			 COMM_CENSUS_CHANGED + 3);
	assert_int_equal(got.n_live, 1);
	assert_int_equal(got.live.addr, 0x1000);
	assert_true(got.live.stands_for == 10);
	comm_word_census_destroy(census);
}

/* Beside the bytes that were read others may change. */
static void test_neighbours_do_not_count(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 2);
	offer(census, 0x1ffe, 2); /* the page's last bytes: the word before them is read */
	turn_until(census, START, START + 2 * MS);
	memory.value = 0xffff0000;
	turn_until(census, START + 2 * MS, START + 4 * MS);
	assert_int_equal(got.n, 0);
	memory.value = 0xffff0001;
	turn_until(census, START + 4 * MS, START + 20 * MS);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.event[0].census.read.addr, 0x1000);
	memory.value ^= 1ull << 63;
	turn_until(census, START + 20 * MS, START + 100 * MS);
	assert_int_equal(got.n, 2);
	assert_int_equal(memory.addr, 0x1ff8);
	comm_word_census_destroy(census);
}

/* What was unmapped, or is of a process that ended, was unchanged for as long as it was seen. */
static void test_memory_that_goes(void **state)
{
	struct comm_word_census *census = create();
	const struct comm_burst_read other = read_of(TGID + 1, 0x3000, 8);

	(void)state;
	offer(census, 0x1000, 8);
	offer(census, 0x2000, 8);
	comm_word_census_offer(census, &other);
	turn_until(census, START, START + 2 * MS);
	assert_int_equal(got.n, 0);
	memory.gone = 0x2000;
	memory.dead = TGID + 1;
	turn_until(census, START + 2 * MS, START + 20 * MS);
	assert_int_equal(got.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(got.event[i].census.changed_ns, 0);
		assert_true(got.event[i].census.quiet_ns < 3 * MS);
	}
	assert_int_equal(got.n_live, 0);
	comm_word_census_destroy(census);
}

/* All words that are due take one call, of however many processes. */
static void test_one_call(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		const struct comm_burst_read read = read_of(TGID + i % 2, 0x1000 + 8 * i, 8);

		comm_word_census_offer(census, &read);
	}
	comm_word_census_turn(census, START);
	assert_int_equal(memory.calls, 1);
	assert_int_equal(memory.words, 100);
	comm_word_census_destroy(census);
}

/* A late look is made for all that were due. */
static void test_late_looks(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 8);
	comm_word_census_turn(census, START);
	comm_word_census_turn(census, START + 400 * MS);
	assert_int_equal(memory.words, 2);
	assert_in_range(comm_word_census_turn_ms(census, START + 400 * MS), 590, 602);
	comm_word_census_destroy(census);
}

/* A reader that has no CPU answers later: no word is lost, and it is not asked again at once. */
static void test_no_answer_yet(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	offer(census, 0x1000, 8);
	memory.err = -EAGAIN;
	comm_word_census_turn(census, START);
	comm_word_census_turn(census, START + RETRY_NS / 2);
	assert_int_equal(memory.calls, 1);
	assert_in_range(comm_word_census_turn_ms(census, START), RETRY_NS / MS, RETRY_NS / MS + 1);
	memory.err = 0;
	turn_until(census, START + RETRY_NS, START + 40 * MS);
	memory.err = -EAGAIN;
	turn_until(census, START + 40 * MS, START + 200 * MS);
	comm_word_census_collect(census, START, take, NULL);
	assert_int_equal(got.n, 0);
	memory.err = 0;
	memory.value = 1;
	turn_until(census, START + 200 * MS, START + 400 * MS);
	assert_int_equal(got.n, 1);
	assert_in_range(got.event[0].census.changed_ns, 180 * MS, 250 * MS);
	comm_word_census_destroy(census);
}

static void test_too_many(void **state)
{
	struct comm_word_census *census = create();

	(void)state;
	for (uint64_t i = 0; i < WORDS_MAX + 3; i++)
		offer(census, 0x1000 + 8 * i, 8);
	comm_word_census_collect(census, START, take, NULL);
	assert_int_equal(got.lost, 3);
	comm_word_census_destroy(census);
}

static void test_classes(void **state)
{
	(void)state;
	assert_int_equal(comm_census_class_of(0, 0), COMM_CENSUS_QUIET);
	assert_int_equal(comm_census_class_of(0, 1), COMM_CENSUS_CHANGED);
	assert_int_equal(comm_census_class_of(0, 11 * MS), COMM_CENSUS_CHANGED + 2);
	assert_int_equal(comm_census_class_of(0, 19 * MS), COMM_CENSUS_CHANGED + 2);
	assert_int_equal(comm_census_class_of(0, 21 * MS), COMM_CENSUS_CHANGED + 3);
	assert_int_equal(comm_census_class_of(0, 1000000 * MS),
			 COMM_CENSUS_CHANGED + COMM_CENSUS_LAGS - 1);
	assert_int_equal(comm_census_class_of(1 * MS, 0), COMM_CENSUS_QUIET + 1);
	assert_int_equal(comm_census_class_of(10000 * MS, 0), COMM_CENSUS_QUIET + COMM_CENSUS_LAGS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged_to_the_end),
		cmocka_unit_test(test_first_looks_are_gathered),
		cmocka_unit_test(test_many_gatherings),
		cmocka_unit_test(test_early_looks),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_neighbours_do_not_count),
		cmocka_unit_test(test_memory_that_goes),
		cmocka_unit_test(test_one_call),
		cmocka_unit_test(test_late_looks),
		cmocka_unit_test(test_no_answer_yet),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
