// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * commctl-ship: what "commctl ship" runs, a program of its own, so that nothing else needs a client of a database or of HTTP.
 * It keeps no state but the marks of profilers (marks.h): a signal may end it at any moment, and does.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <comm/version.h>

#include "choice.h"
#include "pause.h"
#include "schema_text.h"
#include "shipper.h"

enum {
	KEY_STORE = 's',
	KEY_TO = 0x100,
	KEY_SCHEMA,
	KEY_FOLLOW,
	KEY_DROP_OLDER,
	KEY_TIMEOUT,
	KEY_MARKS,

	/* As those of commctl. */
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_WRONG_USE = 2,

	LOOK_S = 5,
	TIMEOUT_S = 60,
	DAY_S = 86400,
};

#define STORE_HERE "comm.db"
#define STORE_SERVICE "/var/lib/commprof/comm.db"

struct options {
	const char *store, *to, *marks;
	bool schema, follow;
	uint64_t drop_older_s, timeout_ms;
};

static const struct argp_option argp_options[] = {
	{"store", KEY_STORE, "FILE", 0, "The store; default ./" STORE_HERE ", else " STORE_SERVICE,
	 0},
	{"to", KEY_TO, "TARGET", 0,
	 "Where to: file:DIR, a file for each slice; postgresql://[USER@]HOST/DATABASE; or a "
	 "profiler, pyroscope+http[s]://HOST[:PORT][/PATH] or parca+http[s]://HOST[:PORT][/PATH]",
	 0},
	{"marks", KEY_MARKS, "DIR", 0,
	 "For a profiler, where to note what it has; default $STATE_DIRECTORY", 0},
	{"follow", KEY_FOLLOW, NULL, 0,
	 "Go on while commd writes the store, and wait for a target that is down", 0},
	{"drop-older", KEY_DROP_OLDER, "TIME", 0,
	 "In the database, drop days that ended longer ago: 90d", 0},
	{"timeout", KEY_TIMEOUT, "TIME", 0, "How long a server may take for an answer; default 60s",
	 0},
	{"schema", KEY_SCHEMA, NULL, 0,
	 "Print the SQL that makes the tables, or brings older ones up to date, and end", 0},
	{0},
};

static uint64_t time_of(struct argp_state *state, const char *option, const char *arg,
			uint64_t unit_ns)
{
	int64_t ns = 0;

	if (comm_parse_duration(arg, &ns) || ns < (int64_t)unit_ns)
		argp_error(state, "%s wants a time such as 60s or 90d, not '%s'", option, arg);
	return (uint64_t)ns / unit_ns;
}

static void check(struct argp_state *state, struct options *options)
{
	const struct ship_sink_ops *ops;
	const char *wrong;

	if (options->schema)
		return;
	if (!options->to) {
		argp_error(state, "say where to: --to %s", ship_sink_forms());
		return;
	}
	ops = ship_sink_find(options->to);
	/* Not the address itself: it may have a password in it. */
	if (!ops) {
		argp_error(state, "--to wants %s", ship_sink_forms());
		return;
	}
	wrong = ops->wrong(options->to);
	if (wrong)
		argp_error(state, "--to: %s", wrong);
	if (options->drop_older_s && !ops->drop_older)
		argp_error(state, "--drop-older is for a database: nothing is dropped of %s",
			   ops->form);
	if (!ops->profiles && options->marks)
		argp_error(state, "--marks is for a profiler: %s keeps its own", ops->form);
	if (!options->marks)
		options->marks = getenv("STATE_DIRECTORY");
	if (ops->profiles && !options->marks)
		argp_error(state, "a profiler does not say what it has: say where to note it, "
				  "--marks DIR");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_STORE:
		options->store = arg;
		return 0;
	case KEY_TO:
		options->to = arg;
		return 0;
	case KEY_SCHEMA:
		options->schema = true;
		return 0;
	case KEY_MARKS:
		options->marks = arg;
		return 0;
	case KEY_FOLLOW:
		options->follow = true;
		return 0;
	case KEY_DROP_OLDER:
		options->drop_older_s = time_of(state, "--drop-older", arg, 1000000000);
		return 0;
	case KEY_TIMEOUT:
		options->timeout_ms = time_of(state, "--timeout", arg, 1000000);
		if (options->timeout_ms > INT32_MAX)
			argp_error(state, "--timeout wants less than 24 days");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, options);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.doc = "Sends what is finished of a store to the database, or the profiler, of a fleet: "
	       "summed by role, function and data object, a minute at a time.  What the target has "
	       "is not sent again, and what it does not take is sent the next time.",
};

static int fail(int code, char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "commctl: %s\n", sentence ? sentence : strerror(-code));
	free(sentence);
	return EXIT_FAILED;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void tell(const struct ship_sums *sums)
{
	printf("%llu slice%s of %llu run%s sent, %llu flow%s", (unsigned long long)sums->slices,
	       plural(sums->slices), (unsigned long long)sums->runs, plural(sums->runs),
	       (unsigned long long)sums->flows, plural(sums->flows));
	if (sums->had)
		printf("; %llu were there already", (unsigned long long)sums->had);
	if (sums->missing_ns >= 1000000000)
		printf("; %.0f s missing", (double)sums->missing_ns / 1e9);
	printf("\n");
}

static int drop_older(struct ship_shipper *shipper, uint64_t seconds, bool quiet, char **err)
{
	uint64_t days = 0;
	int code = ship_shipper_drop_older(shipper, seconds, &days, err);

	if (!code && !quiet)
		printf("%llu day%s dropped\n", (unsigned long long)days, plural(days));
	return code;
}

static int once(struct ship_shipper *shipper, const struct options *options)
{
	char *err = NULL;
	int code = ship_shipper_round(shipper, &err);

	if (!code || shipper->sums.slices)
		tell(&shipper->sums);
	if (!code && options->drop_older_s)
		code = drop_older(shipper, options->drop_older_s, false, &err);
	if (code)
		return fail(code, err);
	return shipper->sums.passed ? EXIT_FAILED : EXIT_OK;
}

static uint64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec;
}

static void wait_ms(uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&left, NULL);
}

/* Failures that pass: each is said once, until something goes well. */
struct trouble {
	unsigned int failures;
	char *said;
};

static void wait_for_better(struct trouble *trouble, uint64_t least_ms, char *sentence)
{
	uint64_t random = 0, ms;

	trouble->failures++;
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	ms = ship_pause_ms(trouble->failures, random);
	if (sentence && (!trouble->said || strcmp(trouble->said, sentence) != 0))
		fprintf(stderr, "commctl: %s; it is tried again\n", sentence);
	free(trouble->said);
	trouble->said = sentence;
	wait_ms(ms > least_ms ? ms : least_ms);
}

static void end_trouble(struct trouble *trouble)
{
	if (trouble->failures)
		fprintf(stderr, "commctl: it goes on\n");
	free(trouble->said);
	*trouble = (struct trouble){0};
}

/* Ends by a signal, or by what no waiting mends. */
static int follow(struct ship_shipper *shipper, const struct options *options)
{
	struct trouble trouble = {0};
	uint64_t dropped_s = 0;
	char *err = NULL;
	int code;

	for (;;) {
		code = ship_shipper_round(shipper, &err);
		if (!code && options->drop_older_s &&
		    (!dropped_s || now_s() - dropped_s >= DAY_S)) {
			code = drop_older(shipper, options->drop_older_s, true, &err);
			dropped_s = now_s();
		}
		if (code && code != -EAGAIN)
			break;
		if (code) {
			wait_for_better(&trouble, shipper->wait_ms, err);
			continue;
		}
		end_trouble(&trouble);
		wait_ms(LOOK_S * 1000);
	}
	free(trouble.said);
	return fail(code, err);
}

static const char *default_store(void)
{
	return access(STORE_HERE, F_OK) == 0 ? STORE_HERE : STORE_SERVICE;
}

int main(int argc, char **argv)
{
	struct options options = {.timeout_ms = TIMEOUT_S * 1000};
	struct ship_shipper shipper = {0};
	int code;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = EXIT_WRONG_USE;
	comm_choice_parse(&argp, argc, argv, 0, &options);
	if (options.schema) {
		/* As a whole, or not at all. */
		printf("BEGIN;\n%s;\n%sCOMMIT;\n", SHIP_SCHEMA_LOCK, ship_schema_text);
		return fflush(stdout) || ferror(stdout) ? fail(-EIO, NULL) : EXIT_OK;
	}
	shipper.store = options.store ? options.store : default_store();
	shipper.ops = ship_sink_find(options.to);
	shipper.config = (struct ship_sink_config){
		.to = options.to, .timeout_ms = options.timeout_ms, .marks = options.marks};
	code = options.follow ? follow(&shipper, &options) : once(&shipper, &options);
	ship_shipper_deinit(&shipper);
	return code;
}
