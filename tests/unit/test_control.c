// SPDX-License-Identifier: GPL-2.0-or-later
/* Commands that come in pieces, as garbage and without end; who answers is not there. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../daemon/control.c"
#include "../../daemon/overhead.c"

int comm_source_fail(char **err, int error, const char *fmt, ...)
{
	*err = strdup(fmt);
	return error;
}

static char got[4096];
static uint64_t now_ns = 1000000000;
static struct comm_control *control;
static int to = -1, from = -1; /* commd, as its user sees it */

static double wanted; /* by the last command */
static const char *refusal;

static const char *take(void *ctx, enum comm_command command, double overhead)
{
	(void)ctx;
	assert_true(strlen(got) + 1 < sizeof(got));
	got[strlen(got)] = "edpso"[command];
	wanted = overhead;
	return refusal;
}

/* What came of it in a turn. */
static const char *turn(void)
{
	memset(got, 0, sizeof(got));
	now_ns += TURN_NS;
	comm_control_take(control, now_ns, take, NULL);
	return got;
}

static const char *say(const char *text)
{
	assert_int_equal(write(to, text, strlen(text)), strlen(text));
	return turn();
}

static const char *answer(void)
{
	static char text[4096];
	ssize_t n = read(from, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static int setup(void **state)
{
	int ctl[2], ack[2];
	char spec[64];
	char *why = NULL;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ctl) || pipe(ack))
		return -1;
	to = ctl[1];
	from = ack[0];
	fcntl(from, F_SETFL, O_NONBLOCK);
	snprintf(spec, sizeof(spec), "fd:%d,%d", ctl[0], ack[1]);
	assert_true(comm_control_is_spec(spec));
	return comm_control_open(spec, &control, &why);
}

static int teardown(void **state)
{
	(void)state;
	comm_control_close(control);
	close(to);
	close(from);
	return 0;
}

static void test_commands(void **state)
{
	(void)state;
	assert_string_equal(say("enable\n"), "e");
	assert_string_equal(answer(), "ack\n");
	assert_string_equal(say("disable\nping\n\nstop\n"), "dps");
	assert_string_equal(answer(), "ack\nack\nack\n");
	/* As perf's own tests write them. */
	assert_int_equal(write(to, "ping", 5), 5);
	assert_string_equal(turn(), "p");
}

/* Of some to enable and to disable the last is done, before whatever else comes, and each is acknowledged. */
static void test_toggles(void **state)
{
	(void)state;
	assert_string_equal(say("enable\ndisable\nenable\n"), "e");
	assert_string_equal(answer(), "ack\nack\nack\n");
	assert_string_equal(say("enable\ndisable\nping\nenable\nstop\ndisable\n"), "dpesd");
	assert_string_equal(answer(), "ack\nack\nack\nack\nack\nack\n");
}

static void test_overhead(void **state)
{
	static const char *const no_numbers[] = {
		"overhead\n",	    "overhead \n",     "overhead x\n",	 "overhead 0\n",
		"overhead 0.009\n", "overhead 50.1\n", "overhead -1\n",	 "overhead nan\n",
		"overhead inf\n",   "overhead 1 2\n",  "overhead 1 %\n", "overhead=1\n",
		"overhead1\n",	    "overheads 1\n",   "ping 1\n"};

	(void)state;
	assert_string_equal(say("overhead 0.01\n"), "o");
	assert_true(wanted == 0.0001);
	assert_string_equal(say("ping\noverhead 50%\n"), "po");
	assert_true(wanted == 0.5);
	assert_string_equal(say("overhead 1e0\nping\n"), "op");
	assert_true(wanted == 0);
	assert_string_equal(answer(), "ack\nack\nack\nack\nack\n");
	for (size_t i = 0; i < sizeof(no_numbers) / sizeof(*no_numbers); i++)
		assert_string_equal(say(no_numbers[i]), "");
	assert_string_equal(answer(), "");
	/* Nor is one acknowledged that could not be done. */
	refusal = "why";
	assert_string_equal(say("overhead 2\n"), "o");
	refusal = NULL;
	assert_string_equal(answer(), "");
	assert_string_equal(say("overhead 2\n"), "o");
	assert_true(wanted == 0.02);
	assert_string_equal(answer(), "ack\n");
}

static void test_pieces(void **state)
{
	const char *text = "enable\nping\n";

	(void)state;
	for (size_t i = 0; text[i]; i++) {
		const char piece[] = {text[i], '\0'};

		assert_string_equal(say(piece), i == 6 ? "e" : text[i] == '\n' ? "p" : "");
	}
	assert_string_equal(answer(), "ack\nack\n");
}

static void test_unknown(void **state)
{
	static const char *const no_commands[] = {"Enable\n", "enabl\n",    "enablee\n",
						  "ping \n",  "snapshot\n", "\xff\x1b[2J\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(no_commands) / sizeof(*no_commands); i++)
		assert_string_equal(say(no_commands[i]), "");
	assert_string_equal(answer(), "");
	assert_string_equal(say("ping\n"), "p");
}

/* A line without an end is passed over up to where it has one, and what it ends with is none. */
static void test_long(void **state)
{
	char text[400];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 20; i++)
		assert_string_equal(say(text), "");
	assert_string_equal(say("\nping\n"), "p");
	for (int i = 0; i < 3; i++)
		assert_string_equal(say(text), "");
	assert_string_equal(say("enable\ndisable\n"), "d");
}

/* What is done in a turn is bounded, and there is no turn before its time. */
static void test_flood(void **state)
{
	size_t n = 0;

	(void)state;
	fcntl(to, F_SETFL, O_NONBLOCK);
	while (write(to, "ping\n", 5) == 5)
		n++;
	assert_true(n > 1000);
	for (int i = 0; i < 10; i++) {
		int sleep_ms = 500;
		size_t done = strlen(turn());

		assert_in_range(done, 1, 103);
		n -= done;
		assert_int_equal(comm_control_fd(control, now_ns, &sleep_ms), -1);
		assert_in_range(sleep_ms, 1, 21);
		memset(got, 0, sizeof(got));
		comm_control_take(control, now_ns + TURN_NS / 2, take, NULL);
		assert_string_equal(got, "");
		assert_true(comm_control_fd(control, now_ns + TURN_NS, &sleep_ms) >= 0);
	}
	while (*turn())
		n -= strlen(got);
	assert_int_equal(n, 0);
	fcntl(to, F_SETFL, 0);
	assert_string_equal(say("stop\n"), "s");
}

/* Commands are done, whoever does not read the answers. */
static void test_no_answers(void **state)
{
	(void)state;
	close(from);
	assert_string_equal(say("enable\n"), "e");
	assert_string_equal(say("disable\n"), "d");
}

static void test_full_answers(void **state)
{
	(void)state;
	for (int i = 0; i < 20000; i++)
		assert_string_equal(say("ping\n"), "p");
}

static void test_no_writer(void **state)
{
	int sleep_ms = 500;

	(void)state;
	assert_string_equal(say("ping\nenable\ndis"), "pe");
	close(to);
	assert_string_equal(turn(), "");
	assert_int_equal(comm_control_fd(control, now_ns + TURN_NS, &sleep_ms), -1);
	assert_int_equal(sleep_ms, 500);
	assert_string_equal(turn(), "");
}

static void refuses(const char *spec, int err)
{
	struct comm_control *none = NULL;
	char *why = NULL;

	assert_true(comm_control_is_spec(spec));
	assert_int_equal(comm_control_open(spec, &none, &why), err);
	assert_non_null(why);
	assert_null(none);
	free(why);
}

static void test_bad_places(void **state)
{
	static const char *const no_specs[] = {"",	"fifo:",    "fifo:,a", "fd:",	"fd:x",
					       "fd:1x", "fd:1,2,3", "fd:-1",   "fd:1,", "pipe:a"};
	char dir[] = "/tmp/test_control.XXXXXX", spec[256];
	char *why = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(no_specs) / sizeof(*no_specs); i++)
		assert_false(comm_control_is_spec(no_specs[i]));
	refuses("fifo:/dev/null", -EINVAL);
	refuses("fifo:/no/such", -ENOENT);
	refuses("fifo:/tmp", -EINVAL);
	refuses("fd:1000", -EBADF);
	assert_non_null(mkdtemp(dir));
	snprintf(spec, sizeof(spec), "%s/f", dir);
	assert_int_equal(mkfifo(spec, 0600), 0);
	snprintf(spec, sizeof(spec), "fifo:%s/f,%s/f", dir, dir);
	refuses(spec, -EINVAL);
	snprintf(spec, sizeof(spec), "fifo:%s/f,%s", dir, dir);
	refuses(spec, -EINVAL);
	/* Nobody else has it open: neither waits. */
	snprintf(spec, sizeof(spec), "fifo:%s/f", dir);
	comm_control_close(control);
	assert_int_equal(comm_control_open(spec, &control, &why), 0);
	assert_string_equal(turn(), "");
	snprintf(spec, sizeof(spec), "%s/f", dir);
	unlink(spec);
	rmdir(dir);
	assert_string_equal(turn(), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_commands),  TEST(test_toggles),    TEST(test_overhead),
		TEST(test_pieces),    TEST(test_unknown),    TEST(test_long),
		TEST(test_flood),     TEST(test_no_answers), TEST(test_full_answers),
		TEST(test_no_writer), TEST(test_bad_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
