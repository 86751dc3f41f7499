/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests that run inside the VM: one function each, listed in cptest.c.  Every
 * check prints one line, "ok NAME" or "not ok NAME", with figures behind " # ".
 */
#ifndef CPTEST_H
#define CPTEST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "reader.h"

/* LIMIT_S: how long a test waits for what must come, however busy the host is. */
enum { RING_BYTES = 1 << 20, LIMIT_S = 100 };

#define check(condition, name, ...) check_at(!!(condition), name, __VA_ARGS__)
void check_at(bool ok, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void skip(const char *name, const char *why);

uint64_t now_ns(void);
/* Whether the shell says that it is over, by the file /tmp/over. */
bool told(void);
void pin(int cpu);
/* perf type of a PMU in sysfs, or -1. */
int pmu_type(const char *name);

/* A child that runs body until it is killed; it does not return. */
pid_t spawn(void (*body)(void *), void *argument);
void reap(pid_t pid);
/* A body in 32-bit mode; counts at 0x10000000, which the caller has mapped. */
void spin32(void *unused);

/* A session on one process, or on everyone with pid 0; exits if it cannot be had. */
struct cp_reader *session(pid_t pid);
/* Runs the session for so long and hands over every record. */
uint64_t run(struct cp_reader *reader, unsigned int ms,
	     void (*take)(const struct cp_record *, void *), void *argument);

/* The same over and over until *count is enough, or LIMIT_S are over. */
void run_until(struct cp_reader *reader, unsigned int ms,
	       void (*take)(const struct cp_record *, void *), void *argument,
	       const uint64_t *count, uint64_t enough);

void test_abi(void);
void test_ioctl(void);
void test_soft(void);
void test_after(void);
void test_nmi(void);
void test_burst(void);
void test_copies(void);
void test_marks(void);
void test_mark_image(void);
void test_precise(void);
void test_softpmu(void);
void test_watch(void);
void test_budget(void);
void test_target(void);
void test_mode32(void);
void test_locked(void);
void test_tail(void);
void test_cost(void);
void test_switch(void);
void test_hold(void);
void test_map(void);
void test_load(void);
void test_spin(void);
void test_share(void);
void test_feed(void);
void test_chase(void);
void test_rate(void);
void test_failing(void);
void test_debugger(void);
void test_whose(void);
void test_image(void);
void test_message(void);
void test_storm(void);
void test_windows(void);
void test_traps(void);

#endif
