/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human-readable numbers: volumes, times, shares. */
#ifndef CTL_NUMBER_H
#define CTL_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <comm/comm.h>

enum { CTL_NUMBER = 24 };

/* "12.3 MiB": three significant digits.  Returns text. */
const char *ctl_bytes(char text[CTL_NUMBER], double bytes);
/* "9.8..24.1 MiB" */
const char *ctl_range(char text[CTL_NUMBER], double low, double high);
/* "9.8..24.1 %" */
const char *ctl_percent_range(char text[CTL_NUMBER], double low, double high);
/* "12.3 %", "0.04 %" */
const char *ctl_percent(char text[CTL_NUMBER], double share);
/* The budget of a run, "1.0 %", or those that it had one after another, "0.50 % to 1.0 %". */
const char *ctl_limit(char text[CTL_NUMBER], const struct comm_run *run);
/* "90 s", "12.5 min" */
const char *ctl_duration(char text[CTL_NUMBER], uint64_t ns);
/* "60,120" */
const char *ctl_count(char text[CTL_NUMBER], uint64_t n);
/*
 * How long something was by a counter (comm_report.length_unit), "24 s" or "60,120", and what that is of, "CPU time" or the
 * counter's name, which is foreign text.
 */
const char *ctl_length(char text[CTL_NUMBER], double length, const char *unit);
const char *ctl_length_noun(const char *unit);
/* "under 1.6 %": the share of what none was seen of in n, at 95 % (the rule of three) */
const char *ctl_none_of(char text[CTL_NUMBER], uint64_t n);
/* "61,000": a count of which no more than two digits are known; "<1" */
const char *ctl_two_digits(char text[CTL_NUMBER], double n);
/* Local time, "2026-11-20 22:11:05". */
const char *ctl_time(char text[CTL_NUMBER], uint64_t unix_ns);

/* "4096", "64K", "1.5M": steps of 1024, up to T; false: it is no such text. */
bool ctl_parse_bytes(const char *text, double *ret);
bool ctl_parse_count(const char *text, uint64_t max, uint64_t *ret);

#endif
