// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "cptest.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool failed;

void check_at(bool ok, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("%s %s # ", ok ? "ok" : "not ok", name);
	vprintf(format, args);
	printf("\n");
	va_end(args);
	fflush(stdout);
	failed |= !ok;
}

void skip(const char *name, const char *why)
{
	printf("skip %s # %s\n", name, why);
	fflush(stdout);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

bool told(void)
{
	return !access("/tmp/over", F_OK);
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

int pmu_type(const char *name)
{
	char path[128];
	int type = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &type) != 1)
		type = -1;
	fclose(file);
	return type;
}

pid_t spawn(void (*body)(void *), void *argument)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	body(argument);
	_exit(0);
}

void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

struct cp_reader *session(pid_t pid)
{
	struct cp_reader *reader;
	int err = cp_reader_create(CP_DEVICE, RING_BYTES, 0, &reader);

	if (!err)
		err = cp_reader_target(reader, pid ? CP_TARGET_TGID : CP_TARGET_ALL, 0, pid);
	if (err) {
		check(false, "session", "%s", strerror(-err));
		exit(1);
	}
	return reader;
}

static uint64_t drain(struct cp_reader *reader, void (*take)(const struct cp_record *, void *),
		      void *argument)
{
	const struct cp_record *record;
	uint64_t n = 0;

	for (uint32_t i = 0; i < cp_reader_rings(reader); i++) {
		while ((record = cp_reader_next(reader, i))) {
			take(record, argument);
			n++;
		}
	}
	return n;
}

/* Until the time is over, or what is counted is enough. */
static uint64_t run_turn(struct cp_reader *reader, unsigned int ms,
			 void (*take)(const struct cp_record *, void *), void *argument,
			 const uint64_t *count, uint64_t enough)
{
	uint64_t end = now_ns() + ms * 1000000ull, n = 0;
	int err = cp_reader_start(reader);

	if (err) {
		check(false, "start", "%s", strerror(-err));
		return 0;
	}
	while (now_ns() < end && !(count && *count >= enough)) {
		struct pollfd fd = {.fd = cp_reader_fd(reader), .events = POLLIN};

		poll(&fd, 1, 50);
		n += drain(reader, take, argument);
	}
	err = cp_reader_stop(reader);
	if (err)
		check(false, "stop", "%s", strerror(-err));
	return n + drain(reader, take, argument);
}

uint64_t run(struct cp_reader *reader, unsigned int ms,
	     void (*take)(const struct cp_record *, void *), void *argument)
{
	return run_turn(reader, ms, take, argument, NULL, 0);
}

void run_until(struct cp_reader *reader, unsigned int ms,
	       void (*take)(const struct cp_record *, void *), void *argument,
	       const uint64_t *count, uint64_t enough)
{
	uint64_t end = now_ns() + LIMIT_S * 1000000000ull;

	do {
		run_turn(reader, ms, take, argument, count, enough);
	} while (*count < enough && now_ns() < end);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{"abi", test_abi},
	{"ioctl", test_ioctl},
	{"soft", test_soft},
	{"nmi", test_nmi},
	{"burst", test_burst},
	{"copies", test_copies},
	{"marks", test_marks},
	{"precise", test_precise},
	{"softpmu", test_softpmu},
	{"watch", test_watch},
	{"whose", test_whose},
	{"message", test_message},
	{"windows", test_windows},
	{"traps", test_traps},
	{"debugger", test_debugger},
	{"budget", test_budget},
	{"rate", test_rate},
	{"target", test_target},
	{"mode32", test_mode32},
	{"locked", test_locked},
	{"tail", test_tail},
	{"cost", test_cost},
	/* Parts of tests that the shell drives. */
	{"image", test_image},
	{"mark-image", test_mark_image},
	{"hold", test_hold},
	{"map", test_map},
	{"load", test_load},
	{"spin", test_spin},
	{"share", test_share},
	{"feed", test_feed},
	{"chase", test_chase},
	{"after", test_after},
	{"failing", test_failing},
	{"storm", test_storm},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (argc == 2 && !strcmp(argv[1], tests[i].name)) {
			tests[i].run();
			return failed;
		}
	}
	fprintf(stderr, "usage: cptest TEST\n");
	return 2;
}
