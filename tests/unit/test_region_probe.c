// SPDX-License-Identifier: GPL-2.0-or-later
/* What --region-probe and --frame-probe take, and what they do not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "region_probe.c"

static char text[512];

static int parse(const char *from, struct comm_region_probe *ret)
{
	strcpy(text, from);
	return comm_region_probe_parse(text, ret);
}

static void regions_have_a_begin_and_ends(void **state)
{
	struct comm_region_probe region;

	(void)state;
	assert_int_equal(parse("a b=/bin/x=y:p:begin,q:end", &region), 0);
	assert_string_equal(region.name, "a b");
	assert_string_equal(region.path, "/bin/x=y");
	assert_string_equal(region.begin.provider, "p");
	assert_string_equal(region.begin.name, "begin");
	assert_int_equal(region.n_ends, 1);
	assert_string_equal(region.end[0].provider, "q");
	assert_string_equal(region.end[0].name, "end");
	assert_int_equal(parse("n=/x:p:b,p:c,p:d,p:e,p:f", &region), 0);
	assert_int_equal(region.n_ends, 4);
	assert_string_equal(region.end[3].name, "f");
}

static void other_texts_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"=",
		"n",
		"n=",
		"n=/x",
		"n=/x:",
		"n=/x:p",
		"n=/x:p:b",
		"n=/x:p:b,",
		"n=/x:p:b,p",
		"n=/x:p:b,p:",
		"n=/x:p:b,:c",
		"n=/x::b,p:c",
		"n=/x:p:b:c,p:d",
		"=/x:p:b,p:c",
		"n=:p:b,p:c",
		"a\nb=/x:p:b,p:c",
		"n=/x:p:b,p:c,p:d,p:e,p:f,p:g",
		"0123456789012345678901234567890123456789012345678901234567890123=/x:p:b,p:c",
	};
	struct comm_region_probe region;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse(bad[i], &region) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
}

static void frames_begin_at_one_probe(void **state)
{
	static const char *const bad[] = {"",	   "/x",       "/x:",  "/x:p",
					  "/x::b", "/x:p:b:c", ":p:b", "/x:p:b,p:c:d"};
	struct comm_frame_probe frame;

	(void)state;
	strcpy(text, "/bin/x=y,z:p:frame");
	assert_int_equal(comm_frame_probe_parse(text, &frame), 0);
	assert_string_equal(frame.path, "/bin/x=y,z");
	assert_string_equal(frame.begin.provider, "p");
	assert_string_equal(frame.begin.name, "frame");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		strcpy(text, bad[i]);
		if (comm_frame_probe_parse(text, &frame) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(regions_have_a_begin_and_ends),
		cmocka_unit_test(other_texts_are_refused),
		cmocka_unit_test(frames_begin_at_one_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
