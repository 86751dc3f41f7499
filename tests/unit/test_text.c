// SPDX-License-Identifier: GPL-2.0-or-later
#include "text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *clean(const char *text)
{
	static char ret[512];

	size_t n = comm_text_clean(text, strlen(text), ret, sizeof(ret));

	assert_int_equal(n, strlen(ret));
	assert_true(comm_text_is_clean(ret, strlen(ret)));
	return ret;
}

static void what_is_text_is_kept(void **state)
{
	static const char *const kept[] = {
		"",
		"plain",
		"größe_schreiben",
		"読む",
		"работник-7",
		"👩‍💻",
		"\xc2\xa0",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xf4\x8f\xbf\xbf",
		/* Turns others around: output sees to it. */
		"a\xe2\x80\xae"
		"b",
		"back\\slash \\x09",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		assert_true(comm_text_is_clean(kept[i], strlen(kept[i])));
		assert_string_equal(clean(kept[i]), kept[i]);
	}
}

static void all_else_is_told_by_byte(void **state)
{
	static const char *const made[][2] = {
		{"\t", "\\x09"},
		{"\033[31mred", "\\x1b[31mred"},
		{"\x7f", "\\x7f"},
		{"\xc2\x9b"
		 "31m",
		 "\\xc2\\x9b31m"},
		{"caf\xe9", "caf\\xe9"},
		{"\x80", "\\x80"},
		{"\xc0\xaf", "\\xc0\\xaf"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
		{"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf5", "\\xf5"},
		{"\xff\xfe", "\\xff\\xfe"},
		/* As the kernel cuts names of threads. */
		{"работни\xd0", "работни\\xd0"},
		{"\xe8\xaa"
		 "a",
		 "\\xe8\\xaa"
		 "a"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		assert_false(comm_text_is_clean(made[i][0], strlen(made[i][0])));
		assert_string_equal(clean(made[i][0]), made[i][1]);
	}
}

/* Of all texts of two bytes no two that are not each other's escape become one. */
static void two_texts_stay_two(void **state)
{
	static char seen[65536][9];

	(void)state;
	for (unsigned int i = 0; i < 65536; i++) {
		char text[] = {(char)(i >> 8), (char)i, '\0'};

		if (text[0] && text[1])
			strcpy(seen[i], clean(text));
	}
	for (unsigned int i = 0x101; i < 65536; i++)
		for (unsigned int j = i + 1; j < 65536 && (i & 0x7f) == 0x1b; j++)
			if (*seen[i] && *seen[j] && !strcmp(seen[i], seen[j]))
				fail_msg("%04x and %04x are \"%s\"", i, j, seen[i]);
}

static void what_does_not_fit_is_cut_between_characters(void **state)
{
	static const char text[] = "aé読\x01z";
	char ret[16];
	size_t n;

	(void)state;
	for (size_t capacity = 1; capacity <= sizeof(ret); capacity++) {
		static const char *const fits[] = {"",	   "a",	   "a",		"aé",
						   "aé",   "aé",   "aé読",	"aé読",
						   "aé読", "aé読", "aé読\\x01", "aé読\\x01z"};
		size_t i = capacity - 1 < 11 ? capacity - 1 : 11;

		memset(ret, 'x', sizeof(ret));
		n = comm_text_clean(text, sizeof(text), ret, capacity);
		assert_int_equal(n, strlen(fits[i]));
		assert_string_equal(ret, fits[i]);
	}
	assert_int_equal(comm_text_whole("aé", 2), 1);
	assert_int_equal(comm_text_whole("aé", 3), 3);
	assert_int_equal(comm_text_whole("読", 2), 0);
	assert_int_equal(comm_text_whole("読", 3), 3);
	assert_int_equal(comm_text_whole("\x80\x80\x80\x80", 4), 4);
	assert_int_equal(comm_text_whole("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_text_is_kept),
		cmocka_unit_test(all_else_is_told_by_byte),
		cmocka_unit_test(two_texts_stay_two),
		cmocka_unit_test(what_does_not_fit_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
