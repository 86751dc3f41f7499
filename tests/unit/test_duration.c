// SPDX-License-Identifier: GPL-2.0-or-later
/* Times as people write them, for commd and commctl alike. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <comm/comm.h>

static void good(const char *text, int64_t want_ns)
{
	int64_t ns = 77;

	if (comm_parse_duration(text, &ns) || ns != want_ns)
		fail_msg("'%s' gave %lld", text, (long long)ns);
}

static void bad(const char *text, int want)
{
	int64_t ns = 77;
	int err = comm_parse_duration(text, &ns);

	if (err != want || ns != 77)
		fail_msg("'%s' gave %d and %lld", text, err, (long long)ns);
}

static void units(void **state)
{
	(void)state;
	good("10", 10000000000);
	good("10s", 10000000000);
	good("500ms", 500000000);
	good("7us", 7000);
	good("3ns", 3);
	good("-2m", -120000000000);
	good("2min", 120000000000);
	good("1.5h", 5400000000000);
	good("1d", 86400000000000);
	good("0", 0);
	good("-0", 0);
	good("007s", 7000000000);
}

static void fractions(void **state)
{
	(void)state;
	good("0.1", 100000000); /* not 99999999, as of a float */
	good("0.123456789s", 123456789);
	good("-0.5ms", -500000);
	good("1.9999999999999999999999999s", 1999999999);
	good("0.9ns", 0);
	good("0.00000000000001157408d", 0);
	good("0.00000000000115741d", 100);
}

static void limits(void **state)
{
	(void)state;
	good("9223372036854775807ns", INT64_MAX);
	good("-9223372036854775807ns", -INT64_MAX);
	bad("9223372036854775808ns", -ERANGE);
	bad("9223372036.854775808", -ERANGE);
	bad("18446744073709551617ns", -ERANGE);			   /* 2^64 + 1 */
	bad("340282366920938463463374607431768211457ns", -ERANGE); /* 2^128 + 1 */
	bad("106752d", -ERANGE);
	good("106751d", 106751 * 86400000000000);
}

static void nonsense(void **state)
{
	static const char *const text[] = {
		"",    "-",    "--1", "+1",    " 1",	     "1 ",	"1 s", "1s ",
		"s",   ".5",   "5.",  "5.s",   "1.2.3",	     "1,5",	"nan", "NaN",
		"inf", "-inf", "1e3", "1e999", "0x10",	     "0x1p3",	"1S",  "1sec",
		"1M",  "1ss",  "1\n", "1m30s", "1\xc2\xb5s", "\xd9\xa1"};

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		bad(text[i], -EINVAL);
}

/* Where 1.5 is written 1,5. */
static void a_decimal_comma(void **state)
{
	static const char *const name[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
	bool comma = false;

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]) && !comma; i++)
		comma = setlocale(LC_ALL, name[i]) && strtod("1,5", NULL) > 1.4;
	if (!comma) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	good("1.5h", 5400000000000);
	bad("1,5h", -EINVAL);
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units),	   cmocka_unit_test(fractions),
		cmocka_unit_test(limits),	   cmocka_unit_test(nonsense),
		cmocka_unit_test(a_decimal_comma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
