// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../daemon/companion/look_timeline.c"

enum { US = 7, OTHER = 9, ROOM = 16 };

static struct comm_look_timeline *t;

static int set_up(void **state)
{
	(void)state;
	return comm_look_timeline_create(2, ROOM, &t);
}

static int tear_down(void **state)
{
	(void)state;
	comm_look_timeline_destroy(t);
	return 0;
}

/* tid and next: of our process, but for 0. */
static void add_switch(uint32_t cpu, uint64_t time_ns, uint32_t tid, uint32_t next)
{
	assert_true(comm_look_timeline_add(t, &(struct comm_look_switch){
						      .time_ns = time_ns,
						      .came_ns = time_ns + 1,
						      .tgid = tid ? US : 0,
						      .tid = tid,
						      .next_tgid = next ? US : 0,
						      .next_tid = next,
						      .cpu = cpu,
					      }));
}

static void add_tick(uint32_t cpu, uint64_t time_ns, uint32_t tid)
{
	assert_true(comm_look_timeline_add(
		t,
		&(struct comm_look_switch){
			.time_ns = time_ns, .tgid = US, .tid = tid, .cpu = cpu, .goes_on = true}));
}

/* Between 100 and 200. */
static void expect(uint64_t position, int n, const struct comm_look_interval *expected)
{
	const struct comm_look_interval *found;

	assert_int_equal(comm_look_timeline_threads(t, US, position, 100, 200, &found), n);
	for (int i = 0; i < n; i++) {
		assert_int_equal(found[i].from_ns, expected[i].from_ns);
		assert_int_equal(found[i].to_ns, expected[i].to_ns);
		assert_int_equal(found[i].tid, expected[i].tid);
	}
}

static void test_threads_come_and_leave(void **state)
{
	(void)state;
	add_switch(0, 110, 0, 1);
	add_switch(1, 115, 0, 3);
	add_switch(0, 120, 1, 2);
	add_switch(1, 130, 3, 0);
	add_switch(0, 150, 2, 0);
	expect(0, 3, (struct comm_look_interval[]){{111, 120, 1}, {116, 130, 3}, {121, 150, 2}});
}

/* One that lasts is told after those within it, and comes before them. */
static void test_a_long_one_has_others_in_it(void **state)
{
	(void)state;
	add_switch(1, 105, 0, 9);
	for (uint32_t i = 0; i < 3; i++) {
		add_switch(0, 110 + 20 * i, 0, 1 + i);
		add_switch(0, 120 + 20 * i, 1 + i, 0);
	}
	add_switch(1, 180, 9, 0);
	add_switch(0, 185, 0, 4);
	expect(0, 5,
	       (struct comm_look_interval[]){
		       {106, 180, 9}, {111, 120, 1}, {131, 140, 2}, {151, 160, 3}, {186, 200, 4}});
}

/* Who leaves without having come was there; who does not leave is there still. */
static void test_ends_are_open(void **state)
{
	(void)state;
	add_switch(0, 120, 1, 0);
	add_switch(1, 190, 0, 2);
	expect(0, 2, (struct comm_look_interval[]){{100, 120, 1}, {191, 200, 2}});
	add_switch(1, 210, 2, 0);
	expect(0, 2, (struct comm_look_interval[]){{100, 120, 1}, {191, 200, 2}});
}

static void test_ticks_tell_of_who_never_leaves(void **state)
{
	(void)state;
	add_tick(1, 150, 4);
	expect(0, 2, (struct comm_look_interval[]){{100, 150, 4}, {150, 200, 4}});
	/* Also after the end. */
	add_tick(0, 250, 5);
	expect(0, 3, (struct comm_look_interval[]){{100, 150, 4}, {100, 200, 5}, {150, 200, 4}});
}

static void test_other_processes_are_left_out(void **state)
{
	(void)state;
	assert_true(comm_look_timeline_add(
		t, &(struct comm_look_switch){
			   .time_ns = 110, .came_ns = 111, .next_tgid = OTHER, .next_tid = 5}));
	assert_true(comm_look_timeline_add(
		t, &(struct comm_look_switch){
			   .time_ns = 120, .tgid = OTHER, .tid = 5, .goes_on = true}));
	assert_true(comm_look_timeline_add(t, &(struct comm_look_switch){.time_ns = 130,
									 .came_ns = 131,
									 .tgid = OTHER,
									 .tid = 5,
									 .next_tgid = US,
									 .next_tid = 1}));
	assert_true(comm_look_timeline_add(t, &(struct comm_look_switch){.time_ns = 140,
									 .came_ns = 141,
									 .next_tgid = OTHER,
									 .next_tid = 5,
									 .cpu = 1}));
	expect(0, 1, (struct comm_look_interval[]){{131, 200, 1}});
}

static void test_room_is_bounded_and_given_back(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ROOM; i++)
		add_switch(0, 10 * i, 0, 0);
	assert_false(comm_look_timeline_add(t, &(struct comm_look_switch){0}));
	assert_int_equal(comm_look_timeline_position(t), ROOM);
	comm_look_timeline_forget(t, 0);
	comm_look_timeline_forget(t, ROOM / 2);
	assert_int_equal(comm_look_timeline_position(t), ROOM);
	add_switch(0, 110, 0, 1);
	add_switch(0, 120, 1, 0);
	/* Positions go on. */
	expect(ROOM, 1, (struct comm_look_interval[]){{111, 120, 1}});
	expect(ROOM + 1, 1, (struct comm_look_interval[]){{100, 120, 1}});
	comm_look_timeline_forget(t, UINT64_MAX);
	expect(0, 0, NULL);
	assert_false(comm_look_timeline_add(t, &(struct comm_look_switch){.cpu = 2}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads_come_and_leave, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_long_one_has_others_in_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_ends_are_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ticks_tell_of_who_never_leaves, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_other_processes_are_left_out, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_room_is_bounded_and_given_back, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
