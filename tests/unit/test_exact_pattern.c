/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions by patterns of their names, as the Valgrind tool has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* In place of Valgrind's header. */
#define COMM_EXACT_PATTERN_H
typedef char HChar;
typedef unsigned int UInt;
typedef enum { False, True } Bool;
Bool comm_pattern_has(const HChar *pattern, const HChar *name);

#include "../exact/pattern.c"

static void test_bare_names(void **state)
{
	static const struct {
		const char *name, *bare;
	} of[] = {
		{"parse", "parse"},
		{"parse(int)", "parse"},
		{"parse.constprop.0", "parse"},
		{"parse.part.0.isra.0", "parse"},
		{"parse.cold", "parse"},
		{"parse.lto_priv.12", "parse"},
		{"cache.2", "cache"},
		{"parse(int) [clone .isra.0]", "parse"},
		{"T::get() const", "T::get"},
		{"get(void (*)(int), char)", "get"},
		{"(anonymous namespace)::parse(int)", "(anonymous namespace)::parse"},
		{"(anonymous namespace)::parse", "(anonymous namespace)::parse"},
		{"T::operator()(int) const", "T::operator()"},
		{"T::operator()", "T::operator()"},
		{"operator[](int)", "operator[]"},
		{"call<void (int)>(int)", "call<void (int)>"},
		{"call<void (int)>", "call<void (int)>"},
		{"main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda(int)#1}::operator()"},
		{"main.foo", "main.foo"},
		{"main.part", "main.part"},
		{"main.(*T).get", "main.(*T).get"},
		{"gopkg.in/yaml.v3.Marshal", "gopkg.in/yaml.v3.Marshal"},
		{"(no name)", "(no name)"},
		{"a) b", "a) b"},
		{")", ")"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		size_t n = comm_bare_bytes(of[i].name);

		if (n != strlen(of[i].bare) || memcmp(of[i].name, of[i].bare, n) != 0)
			fail_msg("%s: %.*s", of[i].name, (int)n, of[i].name);
	}
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(comm_pattern_has("parse", "parse(int)"));
	assert_true(comm_pattern_has("p[a-c]r?e", "parse.constprop.0"));
	assert_true(
		comm_pattern_has("(anonymous namespace)::*", "(anonymous namespace)::parse(int)"));
	assert_true(comm_pattern_has("*::parse", "(anonymous namespace)::parse(int)"));
	assert_true(comm_pattern_has("main.foo", "main.foo"));
	assert_false(comm_pattern_has("main", "main.foo"));
	assert_false(comm_pattern_has("parse", "parser(int)"));
	assert_false(comm_pattern_has("", "(anonymous namespace)::parse(int)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bare_names),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
