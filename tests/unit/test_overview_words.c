// SPDX-License-Identifier: GPL-2.0-or-later
/* What functions are called on the first screen of a report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "overview_words.h"

const struct comm_node *comm_report_node_at(const struct comm_report *report, size_t i)
{
	(void)report;
	(void)i;
	return NULL;
}

static void is_called(const char *function, const char *expected)
{
	const struct comm_node node = {.kind = COMM_NODE_NAMED, .name = function};
	char name[CTL_OVERVIEW_NAME];

	assert_string_equal(ctl_overview_name(name, &node), expected);
}

/* Parameters go where they are long; that a name is a guess, never. */
static void test_names(void **state)
{
	(void)state;
	is_called("produce", "produce");
	is_called("add(int, int)", "add(int, int)");
	is_called("fillBatch(std::vector<Order, std::allocator<Order> >&, long)", "fillBatch()");
	is_called("fillBatch(std::vector<Order, std::allocator<Order> >&, long) (seen writing it)",
		  "fillBatch() (seen writing it)");
	is_called("each(void (*)(char const*), unsigned long, bool) (seen writing it)",
		  "each() (seen writing it)");
	is_called("produce (seen writing it)", "produce (seen writing it)");
	is_called("a_name_that_takes_all_of_the_room_that_there_is_for_one_and_then_more"
		  " (seen writing it)",
		  "a_name_that_takes_all_of_the_room_that_ther.. (seen writing it)");
	is_called("(other)", "(other)");
	is_called("", "");
	/* A list that does not end is cut like any name. */
	is_called("f(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
		  "f((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((..");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
