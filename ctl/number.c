// SPDX-License-Identifier: GPL-2.0-or-later
#include "number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

enum { N_UNITS = sizeof(units) / sizeof(*units) };

/* Decimals for three significant digits: 1.23, 12.3, 123. */
static int decimals(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

const char *ctl_bytes(char text[CTL_NUMBER], double bytes)
{
	size_t unit = 0;

	while (bytes >= 999.5 && unit + 1 < N_UNITS) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, CTL_NUMBER, "%.*f %s", unit ? decimals(bytes) : 0, bytes, units[unit]);
	return text;
}

const char *ctl_range(char text[CTL_NUMBER], double low, double high)
{
	size_t unit = 0;
	int digits;

	while (high >= 999.5 && unit + 1 < N_UNITS) {
		low /= 1024;
		high /= 1024;
		unit++;
	}
	/* As many decimals as the upper end needs: more would be a pretence. */
	digits = unit ? decimals(high) : 0;
	snprintf(text, CTL_NUMBER, "%.*f..%.*f %s", digits, low, digits, high, units[unit]);
	return text;
}

const char *ctl_percent_range(char text[CTL_NUMBER], double low, double high)
{
	int digits = high < 0.01 ? 2 : high < 0.0995 ? 1 : 0;

	/* "100..100 %" would say that it is known. */
	if (low < 1 && low >= 0.995) {
		snprintf(text, CTL_NUMBER, ">%.*f %%", low < 0.999 ? 1 : 2,
			 floor(low * (low < 0.999 ? 1e3 : 1e4)) / (low < 0.999 ? 10 : 100));
		return text;
	}
	snprintf(text, CTL_NUMBER, "%.*f..%.*f %%", digits, low * 100, digits, high * 100);
	return text;
}

const char *ctl_percent(char text[CTL_NUMBER], double share)
{
	double percent = share * 100;

	if (percent > 0 && percent < 0.01)
		snprintf(text, CTL_NUMBER, "<0.01 %%");
	else if (percent < 100 && percent >= 99.95)
		snprintf(text, CTL_NUMBER, ">99.9 %%");
	else
		snprintf(text, CTL_NUMBER, "%.*f %%", percent < 1 ? 2 : 1, percent);
	return text;
}

const char *ctl_limit(char text[CTL_NUMBER], const struct comm_run *run)
{
	char most[CTL_NUMBER];
	size_t used;

	if (!(run->overhead_least > 0))
		return ctl_percent(text, run->overhead_limit);
	ctl_percent(text, run->overhead_least);
	used = strlen(text);
	snprintf(text + used, CTL_NUMBER - used, " to %s", ctl_percent(most, run->overhead_limit));
	return text;
}

static const struct {
	double unit_ns, up_to;
	const char *name;
} steps[] = {
	{1e3, 1e6, "us"},      {1e6, 1e9, "ms"},	{1e9, 120e9, "s"},
	{60e9, 7200e9, "min"}, {3600e9, 172800e9, "h"}, {86400e9, INFINITY, "d"},
};

const char *ctl_duration(char text[CTL_NUMBER], uint64_t ns)
{
	size_t i = 0;
	double value;

	if (!ns)
		return "0 s";
	while (ns >= steps[i].up_to)
		i++;
	value = ns / steps[i].unit_ns;
	snprintf(text, CTL_NUMBER, "%.*f %s", value == floor(value) ? 0 : decimals(value), value,
		 steps[i].name);
	return text;
}

const char *ctl_count(char text[CTL_NUMBER], uint64_t n)
{
	char digits[CTL_NUMBER];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t at = 0;

	/* 2^64 has 20 digits: with commas they would not fit into text. */
	if (len > 17) {
		snprintf(text, CTL_NUMBER, "%s", digits);
		return text;
	}
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

static bool is_time(const char *unit)
{
	return !strcmp(unit, "cpu-time-ns");
}

const char *ctl_length(char text[CTL_NUMBER], double length, const char *unit)
{
	uint64_t whole = (uint64_t)(fmin(fmax(length, 0), 1e18) + 0.5);

	return is_time(unit) ? ctl_duration(text, whole) : ctl_count(text, whole);
}

const char *ctl_length_noun(const char *unit)
{
	return is_time(unit) ? "CPU time" : unit;
}

const char *ctl_none_of(char text[CTL_NUMBER], uint64_t n)
{
	double percent = n > 3 ? 300.0 / (double)n : 100;

	if (percent < 0.01)
		return "under 0.01 %";
	snprintf(text, CTL_NUMBER, "under %.*f %%", percent < 1 ? 2 : percent < 9.95, percent);
	return text;
}

const char *ctl_two_digits(char text[CTL_NUMBER], double n)
{
	double unit = 1;

	if (!(n >= 1))
		return n > 0 ? "<1" : "0";
	while (n / unit >= 99.5 && unit < 1e16)
		unit *= 10;
	return ctl_count(text, n < 1e18 ? (uint64_t)(round(n / unit) * unit) : UINT64_MAX);
}

const char *ctl_time(char text[CTL_NUMBER], uint64_t unix_ns)
{
	time_t seconds = unix_ns / 1000000000;
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(text, CTL_NUMBER, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, CTL_NUMBER, "?");
	return text;
}

bool ctl_parse_bytes(const char *text, double *ret)
{
	static const char steps_of_1024[] = "KMGT";
	const char *step;
	char *end;
	double value;

	if (*text < '0' || *text > '9' || text[1] == 'x' || text[1] == 'X')
		return false;
	value = strtod(text, &end);
	step = *end ? strchr(steps_of_1024, *end) : NULL;
	if (step)
		value *= pow(1024, step - steps_of_1024 + 1);
	if (end[step != NULL] || !isfinite(value))
		return false;
	*ret = value;
	return true;
}

bool ctl_parse_count(const char *text, uint64_t max, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end || errno || value > max)
		return false;
	*ret = value;
	return true;
}
