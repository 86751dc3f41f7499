// SPDX-License-Identifier: GPL-2.0-or-later
/* Which instructions are string instructions, by their first bytes as an assembler writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../bpf/rep_string.h"

static int is_string(const char *bytes)
{
	unsigned int insn;

	memcpy(&insn, bytes, sizeof(insn));
	return comm_is_string_insn(insn);
}

static void test_string_instructions(void **state)
{
	(void)state;
	assert_true(is_string("\xf3\xa4\xc3\x90")); /* rep movsb */
	assert_true(is_string("\xf3\xaa\xc3\x90")); /* rep stosb */
	assert_true(is_string("\xf3\xa5\xc3\x90")); /* rep movsl */
	assert_true(is_string("\xf3\x48\xa5\xc3")); /* rep movsq */
	assert_true(is_string("\xf3\x48\xab\xc3")); /* rep stosq */
	assert_true(is_string("\x66\xf3\xab\xc3")); /* rep stosw */
	assert_true(is_string("\xf3\x66\xa5\xc3")); /* rep movsw, the other way round */
	assert_true(is_string("\x66\xf3\x48\xa5")); /* both prefixes: a quadword */
}

static void test_others(void **state)
{
	(void)state;
	assert_false(is_string("\xa4\xf3\xa4\x90")); /* movsb, once */
	assert_false(is_string("\xf3\xa6\xc3\x90")); /* repe cmpsb */
	assert_false(is_string("\xf3\xae\xc3\x90")); /* repe scasb */
	assert_false(is_string("\xf3\xac\xc3\x90")); /* rep lodsb */
	assert_false(is_string("\xf2\xae\xc3\x90")); /* repne scasb */
	assert_false(is_string("\xf3\x0f\x1e\xfa")); /* endbr64 */
	assert_false(is_string("\xf3\x90\xc3\x90")); /* pause */
	assert_false(is_string("\x66\xa5\xf3\xa4")); /* movsw, once */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string_instructions),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
