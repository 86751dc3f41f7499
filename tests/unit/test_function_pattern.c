// SPDX-License-Identifier: GPL-2.0-or-later
/* Which names a pattern of functions is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function_pattern.h"

static void test_fits(void **state)
{
	static const struct {
		const char *pattern, *name;
	} of[] = {
		{"parse", "parse"},
		{"parse", "parse(int)"},
		{"parse", "parse.constprop.0"},
		{"ns::p*", "ns::parse(int)"},
		{"operator[](int)", "operator[](int)"},
		{"(anonymous namespace)::parse", "(anonymous namespace)::parse(int)"},
		{"*::parse", "(anonymous namespace)::parse(int)"},
		{"T::operator()", "T::operator()(int) const"},
		{"main.foo", "main.foo"},
		{"main.foo", "main.foo.1"},
		{"main.(*T).get", "main.(*T).get"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!comm_function_pattern_has(of[i].pattern, of[i].name))
			fail_msg("%s is not of %s", of[i].name, of[i].pattern);
}

static void test_does_not_fit(void **state)
{
	static const struct {
		const char *pattern, *name;
	} of[] = {
		{"parse", "parser"},
		{"parse", "x::parse"},
		{"", "(no name)"},
		{"main", "main.foo"},
		{"main", "main.(*T).get"},
		{"main.", "main.(*T).get"},
		{"", "(anonymous namespace)::parse(int)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (comm_function_pattern_has(of[i].pattern, of[i].name))
			fail_msg("%s is of %s", of[i].name, of[i].pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
