// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that come one after the other: seats, and what the hazard estimator makes of them. */
#include "made_bursts.h"
#include "seat.h"

enum {
	INITIAL = 1,
	ROLE = 77,
	TURN_NS = 100000,
};

static struct comm_access_burst burst_of(uint64_t time_ns, uint32_t thread, uint32_t role)
{
	return (struct comm_access_burst){.time_ns = time_ns,
					  .thread = thread,
					  .initial = INITIAL,
					  .role = role,
					  .exact = true,
					  .trigger = COMM_TRIGGER_ACCESSES,
					  .period = 1000,
					  .n_insns = 1};
}

static uint32_t take(struct comm_seats *seats, uint64_t time_ns, uint32_t thread, uint32_t role)
{
	const struct comm_access_burst burst = burst_of(time_ns, thread, role);

	return comm_seats_take(seats, &burst);
}

static struct comm_seats *seats_new(void)
{
	struct comm_seats *seats;

	assert_int_equal(comm_seats_create(&seats), 0);
	return seats;
}

static void test_who_takes_a_seat(void **state)
{
	struct comm_seats *seats = seats_new();
	struct comm_access_burst stranger = burst_of(5, 7, ROLE);

	(void)state;
	assert_int_equal(take(seats, 1, 2, ROLE), 2);
	assert_int_equal(take(seats, 1, 3, ROLE), 3);
	assert_int_equal(take(seats, 2, 2, ROLE), 2);
	/* Nobody has ended. */
	assert_int_equal(take(seats, 3, 4, ROLE), 4);
	comm_seats_leave(seats, 2);
	comm_seats_leave(seats, 3);
	/* A thread that never had a burst has none, and one that is not known. */
	comm_seats_leave(seats, 100);
	comm_seats_leave(seats, COMM_ID_OTHER);
	assert_int_equal(comm_seats_of(seats, 100), 100);
	/* Not of another role, of none, of another process, or of one that is not known. */
	assert_int_equal(take(seats, 4, 5, ROLE + 1), 5);
	assert_int_equal(take(seats, 4, 6, 0), 6);
	stranger.initial = 100;
	assert_int_equal(comm_seats_take(seats, &stranger), 7);
	stranger.thread = 8;
	stranger.initial = COMM_ID_OTHER;
	assert_int_equal(comm_seats_take(seats, &stranger), 8);
	/* The latest that was left first, each once. */
	assert_int_equal(take(seats, 6, 9, ROLE), 3);
	assert_int_equal(take(seats, 7, 10, ROLE), 2);
	assert_int_equal(take(seats, 8, 11, ROLE), 11);
	assert_int_equal(comm_seats_of(seats, 9), 3);
	assert_int_equal(comm_seats_of(seats, 3), 3);
	assert_int_equal(comm_seats_role(seats, 9), ROLE);
	assert_int_equal(comm_seats_role(seats, 100), 0);
	/* It is the seat of another role if its thread has changed its name. */
	assert_int_equal(take(seats, 8, 11, ROLE + 2), 11);
	assert_int_equal(comm_seats_role(seats, 11), ROLE + 2);
	comm_seats_leave(seats, 11);
	assert_int_equal(take(seats, 8, 14, ROLE + 2), 11);
	/* It ends once, however often that is told. */
	comm_seats_leave(seats, 9);
	comm_seats_leave(seats, 9);
	assert_int_equal(take(seats, 9, 12, ROLE), 3);
	assert_int_equal(take(seats, 9, 13, ROLE), 13);
	comm_seats_destroy(seats);
}

/* An id's place has another thread after many: seats that it gave its name are no more. */
static void test_places_come_again(void **state)
{
	struct comm_seats *seats = seats_new();
	uint32_t again = comm_thread_id(2, 1);

	(void)state;
	assert_int_equal(take(seats, 1, 2, ROLE), 2);
	comm_seats_leave(seats, 2);
	assert_int_equal(take(seats, 2, 3, ROLE), 2);
	assert_int_equal(take(seats, 3, again, ROLE), again);
	assert_int_equal(take(seats, 4, 3, ROLE), 3);
	comm_seats_leave(seats, again);
	assert_int_equal(take(seats, 5, 4, ROLE), again);
	comm_seats_destroy(seats);
}

/* The parts of what was written so long before now_ns; their sums are 1. */
static uint32_t parts(struct comm_seats *seats, uint32_t reader, uint32_t seat, uint64_t age_ns,
		      uint64_t now_ns, struct comm_seat_part *ret)
{
	const struct comm_frame_at no_frame = {0};
	const struct comm_ages ages = comm_ages_of(age_ns, &no_frame);
	uint32_t n = comm_seats_parts(seats, reader, seat, &ages, now_ns, ret);
	double part = 0, doubted = 0;

	assert_in_range(n, 1, COMM_SEAT_PARTS);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(ret[i].part >= 0 && ret[i].doubted >= 0);
		part += ret[i].part;
		doubted += ret[i].doubted;
	}
	assert_true(fabs(part - 1) < 1e-9 && fabs(doubted - 1) < 1e-9);
	return n;
}

static double part_of(const struct comm_seat_part *part, uint32_t n, uint32_t thread)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += part[i].thread == thread ? part[i].part : 0;
	return sum;
}

static void test_parts(void **state)
{
	const uint64_t s = 1000000000;
	struct comm_seats *seats = seats_new();
	struct comm_seat_part part[COMM_SEAT_PARTS];
	uint32_t n;

	(void)state;
	take(seats, 1 * s, 2, ROLE);
	take(seats, 1 * s, 3, ROLE);
	/* Nobody has succeeded anybody: what was written from a seat is its thread's. */
	n = parts(seats, 2, 3, 100 * s, 2 * s, part);
	assert_int_equal(n, 1);
	assert_true(part[0].thread == 3 && part[0].role == ROLE);
	assert_int_equal(parts(seats, 2, 2, 100 * s, 2 * s, part), 1);
	assert_int_equal(part[0].thread, 2);
	/* A seat that nobody ever took. */
	assert_int_equal(parts(seats, 2, 100, s, 2 * s, part), 1);
	assert_int_equal(part[0].thread, 100);
	/* Who had it then, for a reader that succeeds nobody. */
	comm_seats_leave(seats, 3);
	take(seats, 11 * s, 4, ROLE);
	n = parts(seats, 2, 3, s / 1000, 21 * s, part);
	assert_true(part_of(part, n, 4) > 0.999);
	n = parts(seats, 2, 3, 19 * s, 21 * s, part);
	assert_true(part_of(part, n, 3) > 0.999);
	n = parts(seats, 2, 3, s / 1000, 10 * s, part);
	assert_true(part_of(part, n, 3) > 0.999);
	/* One that succeeds another is taken to read its own, which half of it may not be ... */
	n = parts(seats, 4, 2, s / 1000, 21 * s, part);
	assert_true(part_of(part, n, 4) > 0.9 && part_of(part, n, 2) > 0.01);
	for (uint32_t i = 0; i < n; i++)
		assert_true(part[i].doubted > 0.4);
	n = parts(seats, 4, 3, 19 * s, 21 * s, part);
	assert_true(part_of(part, n, 4) > 0.9 && part_of(part, n, 3) > 0.01);
	n = parts(seats, 4, 3, s / 1000, 21 * s, part);
	assert_true(part_of(part, n, 4) > 0.999);
	assert_true(part[0].doubted < 0.6);
	/* ... until many bursts have met it; of another role nothing is. */
	take(seats, 12 * s, 5, ROLE + 1);
	n = parts(seats, 4, 5, s / 1000, 21 * s, part);
	assert_true(part_of(part, n, 5) > 0.999);
	for (int i = 0; i < 1000; i++)
		take(seats, 13 * s, 4, ROLE);
	n = parts(seats, 4, 2, s / 1000, 21 * s, part);
	assert_true(part_of(part, n, 2) > 0.95);
	comm_seats_destroy(seats);
}

/* Of many threads of one seat the oldest that is remembered stands for those before it. */
static void test_many_of_a_seat(void **state)
{
	struct comm_seats *seats = seats_new();
	struct comm_seat_part part[COMM_SEAT_PARTS];
	uint32_t n;

	(void)state;
	take(seats, 1, 1, ROLE + 1);
	for (uint32_t thread = 2; thread < 50; thread++) {
		assert_int_equal(take(seats, thread * 1000000ull, thread, ROLE), 2);
		comm_seats_leave(seats, thread);
	}
	for (uint32_t thread = 2; thread < 50; thread++) {
		n = parts(seats, 1, 2, 1, thread * 1000000ull + 500000, part);
		assert_true(part_of(part, n, thread > 42 ? thread : 42) > 0.999);
	}
	comm_seats_destroy(seats);
}

static void access_by(void *est, uint64_t time_ns, uint32_t thread, uint32_t role, uint32_t i,
		      uint16_t flags)
{
	struct comm_access access = access_at(base + i % 64 * 8, flags, 0);
	struct comm_access_burst burst = burst_of(time_ns, thread, role);

	burst.n = 1;
	burst.access = &access;
	assert_int_equal(comm_est_hazard.burst(est, &burst), 0);
}

/*
 * Thread 2 writes and ends; thread 3 reads that so often.  Returns the part of what it reads that is
 * said to be its own, and of these edges' bytes those that may be another's.
 */
static double own(uint32_t reads, uint32_t role, bool ends, double *ret_doubt)
{
	void *est = est_new(&comm_est_hazard);
	uint64_t now_ns = TURN_NS;
	struct comm_unwritten u;
	struct result r;

	for (uint32_t i = 0; i < 2000; i++, now_ns += TURN_NS)
		access_by(est, now_ns, 2, ROLE, i * 7, COMM_ACCESS_WRITE);
	if (ends)
		comm_est_hazard.ended(est, 2);
	for (uint32_t i = 0; i < reads; i++, now_ns += TURN_NS)
		access_by(est, now_ns, 3, role, i * 5, COMM_ACCESS_READ);
	u = slice(&comm_est_hazard, est, &r);
	comm_est_hazard.destroy(est);
	assert_true(u.bytes < 0.2 * (u.bytes + r.edge_bytes));
	assert_true(r.bytes[2][3] + r.bytes[3][3] > 0.999 * r.edge_bytes);
	*ret_doubt = (r.doubts[2][3].side + r.doubts[3][3].side) / r.edge_bytes;
	return r.bytes[3][3] / r.edge_bytes;
}

/* It may write there, too, where no sample met it. */
static void test_few_bursts_of_a_successor(void **state)
{
	double doubt;

	(void)state;
	assert_true(own(4, ROLE, true, &doubt) > 0.8);
	assert_true(doubt > 0.4);
	/* The very same of one whose role is another, and of one beside it. */
	assert_true(own(4, ROLE + 1, true, &doubt) < 0.01);
	assert_true(own(4, ROLE, false, &doubt) < 0.01);
	assert_true(doubt < 0.01);
}

/* Met so often and never at a write, what it reads is of the one before it in great part, which is named. */
static void test_what_the_one_before_wrote(void **state)
{
	double doubt;

	(void)state;
	assert_true(own(1500, ROLE, true, &doubt) < 0.6);
	assert_true(own(1500, ROLE, false, &doubt) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_takes_a_seat),
		cmocka_unit_test(test_places_come_again),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_many_of_a_seat),
		cmocka_unit_test(test_few_bursts_of_a_successor),
		cmocka_unit_test(test_what_the_one_before_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
