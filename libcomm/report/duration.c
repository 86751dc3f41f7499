// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include <comm/comm.h>

/* Digits past these are cut off: they are worth less than 1 ns in any unit. */
enum { FRACTION_DIGITS = 18 };

static uint64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", 1000000000},      {"ns", 1},
		{"us", 1000},	       {"ms", 1000000},
		{"s", 1000000000},     {"m", 60000000000},
		{"min", 60000000000},  {"h", 3600000000000},
		{"d", 86400000000000},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(name, units[i].name))
			return units[i].ns;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not by strtod(), which takes 1,5 for 1.5 in some locales, and hexadecimal numbers. */
int comm_parse_duration(const char *text, int64_t *ret_ns)
{
	bool negative = *text == '-';
	unsigned __int128 ns = 0, fraction = 0;
	uint64_t each_ns, scale = 1;

	text += negative;
	if (!is_digit(*text))
		return -EINVAL;
	for (; is_digit(*text); text++)
		if (ns <= INT64_MAX)
			ns = ns * 10 + (unsigned)(*text - '0');
	if (*text == '.') {
		if (!is_digit(*++text))
			return -EINVAL;
		for (int i = 0; is_digit(*text); text++, i++) {
			if (i >= FRACTION_DIGITS)
				continue;
			fraction = fraction * 10 + (unsigned)(*text - '0');
			scale *= 10;
		}
	}
	each_ns = unit_ns(text);
	if (!each_ns)
		return -EINVAL;
	ns = ns * each_ns + fraction * each_ns / scale;
	if (ns > INT64_MAX)
		return -ERANGE;
	*ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
	return 0;
}
