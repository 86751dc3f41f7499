// SPDX-License-Identifier: GPL-2.0-or-later
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answering.h"
#include "choice.h"
#include "config_file.h"
#include "control.h"
#include "ids.h"
#include "options.h"
#include "overhead.h"
#include "source.h"
#include "store.h"
#include <comm/comm.h>
#include <comm/version.h>

enum { NAMES_BYTES = 256 };

enum {
	OPT_CGROUP = 0x100,
	OPT_CONTAINER,
	OPT_SOURCE,
	OPT_OVERHEAD,
	OPT_OVERHEAD_FLOOR,
	OPT_DAEMON_CPU,
	OPT_RATE,
	OPT_STORE,
	OPT_LABEL,
	OPT_SLICE,
	OPT_GRANULARITY,
	OPT_DURATION,
	OPT_RECORD,
	OPT_ACCESSES,
	OPT_QUOTA,
	OPT_DETAIL,
	OPT_NO_FOLLOW,
	OPT_NO_COLLECTORS,
	OPT_ALLOC_SITES,
	OPT_REGION_PROBE,
	OPT_FRAME_PROBE,
	OPT_CALLS,
	OPT_FUNCTION,
	OPT_WATCH,
	OPT_DEBUG_REGISTERS,
	OPT_COUNTERS,
	OPT_CALLERS,
	OPT_EVENTS,
	OPT_DOCTOR,
	OPT_CONTROL,
	OPT_CONFIG,
	OPT_RELOAD,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to profile:", 1},
	{"pid", 'p', "PID", 0, "Attach to a running process; may be repeated", 1},
	{"cgroup", OPT_CGROUP, "PATH", 0, "Attach to all processes of a control group (v2)", 1},
	{"container", OPT_CONTAINER, "ID", 0,
	 "Attach to all processes of a container: its ID as docker, podman or crictl list it", 1},
	{"no-follow", OPT_NO_FOLLOW, NULL, 0, "Leave out processes that the target forks", 1},
	{"no-collectors", OPT_NO_COLLECTORS, NULL, 0,
	 "Leave the environment of COMMAND as it is: OpenMP's, ITT's and NVTX's marks are not seen",
	 1},
	{"alloc-sites", OPT_ALLOC_SITES, NULL, 0,
	 "Start COMMAND with a library that tells where memory was allocated: large blocks, and "
	 "some "
	 "of the small ones",
	 1},
	{NULL, 0, NULL, 0, "How:", 2},
	{"overhead", OPT_OVERHEAD, "PCT", 0,
	 "Spend at most PCT percent of the target's CPU time (default 1)", 2},
	{"overhead-floor", OPT_OVERHEAD_FLOOR, "PCT", 0,
	 "But allow PCT percent of the time of all CPUs if that is more, so that an idle "
	 "target is sampled, too (default 0.2)",
	 2},
	{"daemon-cpu", OPT_DAEMON_CPU, "PCT", 0,
	 "Let commd use PCT percent of the time of all CPUs (default 1) beside --overhead, while "
	 "they are idle and it yields",
	 2},
	{"rate", OPT_RATE, "HZ", 0, "Sample each CPU at HZ instead of holding a budget", 2},
	{"source", OPT_SOURCE, "NAME", 0, "", 2}, /* help_filter() writes its help */
	{"granularity", OPT_GRANULARITY, "BYTES", 0,
	 "Size of a datum, a power of two from 1 to 4096 (default 8)", 2},
	{"watch", OPT_WATCH, "N", 0,
	 "With the kernel module, have it open up to N windows a second by itself, on what samples "
	 "read, in place of the survey's (default 0)",
	 2},
	{"debug-registers", OPT_DEBUG_REGISTERS, "N", 0,
	 "Of the four debug registers of each CPU take N, as far as they are free, for windows on "
	 "fresh data (default 3); a debugger has the others; 0: windows are by looks when threads "
	 "leave their CPUs",
	 2},
	{"counters", OPT_COUNTERS, NULL, 0,
	 "Count CPU time, waits, switches, page faults and migrations of each thread", 2},
	{"callers", OPT_CALLERS, "DEPTH", OPTION_ARG_OPTIONAL,
	 "Tell by which function each function was called, and by which that one, up to DEPTH of "
	 "them, at most 16 (default 1), for the callers and call tree of commctl report",
	 2},
	{"events", OPT_EVENTS, "LIST", 0,
	 "Count these as well: up to 8 events, as perf or libpfm4 call them, with commas between",
	 2},
	{"region-probe", OPT_REGION_PROBE, "NAME=PATH:BEGIN,END...", 0,
	 "Between these probes of a file, each PROVIDER:PROBE, a thread is in the region NAME; may "
	 "be repeated",
	 2},
	{"frame-probe", OPT_FRAME_PROBE, "PATH:PROBE", 0,
	 "At this probe of a file, PROVIDER:PROBE, a process begins its next frame", 2},
	{"calls", OPT_CALLS, "FUNCTION", 0,
	 "With --source exact: make a region, as \"parse #3\", of each call of FUNCTION, a name "
	 "or a pattern",
	 2},
	{"function", OPT_FUNCTION, "FUNCTION", 0,
	 "Count what FUNCTION reads alone, a name or a pattern; code elsewhere is sampled less", 2},
	{NULL, 0, NULL, 0, "How long, and where to:", 3},
	{"duration", OPT_DURATION, "DUR", 0, "End after DUR (10s, 2m, 1h; default: at a signal)",
	 3},
	{"delay", 'D', "DUR", 0,
	 "Begin with sampling disabled, for DUR (500ms, 10s; -1: until --control enables it)", 3},
	{"control", OPT_CONTROL, "CTL", 0,
	 "Take commands (enable, disable, ping, stop, overhead PCT) from fifo:CTL[,ACK] or "
	 "fd:CTL[,ACK], as "
	 "perf record does",
	 3},
	{"slice", OPT_SLICE, "DUR", 0,
	 "Length of a time slice (default 1s; of an exact run all of it)", 3},
	{"store", OPT_STORE, "FILE", 0, "SQLite file to write (default ./comm.db)", 3},
	{"label", OPT_LABEL, "TEXT", 0, "What to call this run, for 'commctl report --run TEXT'",
	 3},
	{"quota", OPT_QUOTA, "SIZE", 0, "Largest size of the store (K, M, G; default 1G)", 3},
	{"detail", OPT_DETAIL, "DUR", 0, "Roll slices older than DUR up (default 30m)", 3},
	{"record", OPT_RECORD, "FILE", 0, "Also write the raw event stream, for replay:FILE", 3},
	{"accesses", OPT_ACCESSES, "FILE", 0,
	 "Also write the accesses that samples gave: a table where FILE ends in .csv, else binary",
	 3},
	{NULL, 0, NULL, 0, "Other:", 4},
	{"config", OPT_CONFIG, "FILE", 0,
	 "Take options from FILE, one a line without dashes, as overhead = 0.5; what stands behind "
	 "it on the command line wins",
	 4},
	{"reload", OPT_RELOAD, NULL, 0,
	 "Give the overhead of --config to the commd that runs with this --control, and end", 4},
	{"quiet", 'q', NULL, 0, "No progress, no summary", 4},
	{"verbose", 'v', NULL, 0, "Also say what the sources and bursts did", 4},
	{"doctor", OPT_DOCTOR, NULL, 0, "Say what works on this machine and what is missing", 4},
	{0},
};

/* The configuration file, whose words stand on the line that is parsed, from the first one on. */
static struct comm_config_file config;
static const char *config_path;
static size_t config_first;

/* Says what is wrong, and where if that is in the configuration file; exits. */
__attribute__((format(printf, 2, 3))) static void wrong(const struct argp_state *state,
							const char *format, ...)
{
	char *text = NULL;
	va_list args;
	size_t at = (size_t)state->next - 1 - config_first;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!config_first || at >= config.n)
		argp_error(state, "%s", text ? text : "out of memory");
	argp_failure(state, argp_err_exit_status, 0, "%s:%d: %s", config_path, config.line[at],
		     text ? text : "out of memory");
	abort(); /* argp has exited */
}

static int parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	char *end;
	double value = strtod(text, &end);
	const char *unit;

	if (end == text || !isfinite(value) || value <= 0)
		return -EINVAL;
	if (*end) {
		unit = strchr(units, *end & ~0x20);
		if (!unit)
			return -EINVAL;
		value *= ldexp(1, 10 * (int)(unit - units + 1));
		end++;
		if (!strcmp(end, "iB") || !strcmp(end, "B"))
			end = strchr(end, '\0');
	}
	if (*end || value < 1 || value > 1e18)
		return -EINVAL;
	*ret = (uint64_t)value;
	return 0;
}

static void want_duration(struct argp_state *state, const char *option, const char *text,
			  uint64_t *ret)
{
	const int64_t most_ns = 1000000000000000000;
	int64_t ns;

	if (comm_parse_duration(text, &ns) || ns <= 0 || ns > most_ns) {
		wrong(state, "%s wants a time such as 10s, 500ms or 2m, not '%s'", option, text);
		return;
	}
	*ret = (uint64_t)ns;
}

static double want_number(struct argp_state *state, const char *option, const char *text,
			  double least, double most)
{
	char *end;
	double value = strtod(text, &end);

	if (end != text && *end == '%')
		end++;
	if (end == text || *end || !(value >= least && value <= most))
		wrong(state, "%s wants a number from %g to %g, not '%s'", option, least, most,
		      text);
	return value;
}

static void want_pid(struct argp_state *state, const char *text, struct comm_options *opt)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (end == text || *end || pid <= 0 || pid > (1 << 22))
		wrong(state, "--pid wants a process id, not '%s'", text);
	if (opt->n_pids == COMM_PIDS_MAX)
		wrong(state, "at most %d --pid; a --cgroup takes any number", COMM_PIDS_MAX);
	opt->pid[opt->n_pids++] = (pid_t)pid;
}

static void want_source(struct argp_state *state, char *text, struct comm_options *opt)
{
	char *colon = strchr(text, ':');
	char names[NAMES_BYTES], plain[NAMES_BYTES], near[COMM_CHOICE];

	if (colon)
		*colon = '\0';
	opt->source = comm_source_find(text);
	opt->source_arg = colon ? colon + 1 : "";
	comm_source_names(names, sizeof(names));
	if (!opt->source &&
	    comm_choice_near(text, comm_source_plain_names(plain, sizeof(plain)), near))
		wrong(state, "there is no source '%s': --source wants %s; did you mean %s?", text,
		      names, near);
	else if (!opt->source)
		wrong(state, "there is no source '%s': --source wants %s", text, names);
	else if (opt->source->needs_arg && !*opt->source_arg)
		wrong(state, "--source %s wants %s:%s", text, text, opt->source->arg);
	else if (colon && !opt->source->arg)
		wrong(state, "the source %s takes nothing behind a colon, not '%s'", text,
		      opt->source_arg);
}

/* Bare numbers are milliseconds to perf and seconds to our other options: none are taken. */
static void want_delay(struct argp_state *state, const char *text, uint64_t *ret)
{
	if (!strcmp(text, "-1"))
		*ret = UINT64_MAX;
	else if (!*text || strchr("0123456789.", text[strlen(text) - 1]))
		wrong(state,
		      "--delay wants -1, or a time with its unit such as 500ms, not "
		      "'%s'",
		      text);
	else
		want_duration(state, "--delay", text, ret);
}

static void want_events(struct argp_state *state, char *text, struct comm_counter_list *ret)
{
	char *name, *rest;

	for (name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (ret->n == COMM_COUNTER_LIST_MAX)
			wrong(state, "--events wants at most %d events", COMM_COUNTER_LIST_MAX);
		if (strlen(name) >= COMM_COUNTER_BYTES)
			wrong(state, "--events wants names of at most %d bytes, not '%s'",
			      COMM_COUNTER_BYTES - 1, name);
		for (unsigned int i = 0; i < ret->n; i++)
			if (!strcmp(ret->name[i], name))
				wrong(state, "--events has %s twice", name);
		strcpy(ret->name[ret->n++], name);
	}
	if (!ret->n)
		wrong(state, "--events wants names, such as page-faults,instructions");
}

static void want_region_probe(struct argp_state *state, const char *text,
			      struct comm_region_probe_list *ret)
{
	/* Its parts are kept as long as the options are. */
	char *copy;

	if (ret->n == COMM_PROBED_MAX)
		wrong(state, "at most %d --region-probe", COMM_PROBED_MAX);
	copy = strdup(text);
	if (!copy || comm_region_probe_parse(copy, &ret->region[ret->n])) {
		free(copy);
		wrong(state, "--region-probe wants NAME=PATH:PROVIDER:BEGIN,PROVIDER:END, not '%s'",
		      text);
	}
	ret->n++;
}

static void want_frame_probe(struct argp_state *state, const char *text,
			     struct comm_frame_probe *ret)
{
	char *copy;

	if (ret->path)
		wrong(state, "one --frame-probe is enough");
	copy = strdup(text);
	if (!copy || comm_frame_probe_parse(copy, ret)) {
		free(copy);
		wrong(state, "--frame-probe wants PATH:PROVIDER:PROBE, not '%s'", text);
	}
}

/* Checks what a live run needs: one target, and a budget or a rate but not both. */
static void check_live(struct argp_state *state, const struct comm_options *opt)
{
	if (!!opt->n_pids + !!opt->cgroup + !!opt->container + !!opt->command != 1)
		wrong(state, "name one target: --pid PID, --cgroup PATH, --container ID or -- "
			     "COMMAND");
	if (opt->rate_hz > 0 && opt->overhead > 0)
		wrong(state, "give --overhead or --rate, not both");
	if (opt->delay_ns == UINT64_MAX && !opt->control)
		wrong(state, "--delay -1 wants --control: nothing else enables sampling");
}

/* Checks what a run of a file cannot have. */
static void check_file(struct argp_state *state, const struct comm_options *opt)
{
	if (opt->watch_per_s)
		wrong(state, "--watch is for live runs");
	if (opt->counters.n)
		wrong(state, "--events is for live runs");
	if (opt->probes.n)
		wrong(state, "--region-probe is for live runs");
	if (opt->probes.frame.path)
		wrong(state, "--frame-probe is for live runs");
	if (opt->n_pids || opt->cgroup || opt->container || opt->command || opt->record)
		wrong(state, "%s:%s goes with no target and no --record", opt->source->name,
		      opt->source->arg);
}

/* Checks what tells another commd. */
static void check_reload(struct argp_state *state, const struct comm_options *opt)
{
	if (!opt->config || !opt->control || strncmp(opt->control, "fifo:", strlen("fifo:")) ||
	    !strchr(opt->control, ','))
		wrong(state, "--reload wants --config FILE and --control fifo:CTL,ACK");
}

static void check_options(struct argp_state *state, const struct comm_options *opt)
{
	char *why = NULL;

	if (opt->source->run && (opt->control || opt->delay_ns))
		wrong(state, "--control and --delay are for live runs, not for the source %s",
		      opt->source->name);
	if (opt->alloc_sites && (opt->source->run || !opt->command))
		wrong(state, "--alloc-sites is for a command that commd starts and samples; a "
			     "process that runs already needs LD_PRELOAD at its start");
	if (opt->calls && !opt->source->tells_calls)
		wrong(state, "--calls wants a source that counts all: --source exact");
	if (opt->source->of_file)
		check_file(state, opt);
	else if (!opt->source->check)
		check_live(state, opt);
	else if (opt->source->check(opt, &why))
		wrong(state, "%s", why ? why : "this source does not go with these options");
}

/*
 * A file, which others read by its name.  SQLite takes some names for no file at all, and readers would
 * find nothing behind them.
 */
static const char *want_store(const struct argp_state *state, const char *name)
{
	if (!*name)
		wrong(state, "--store wants the name of a file");
	else if (*name == ':' || !strncmp(name, "file:", strlen("file:")))
		wrong(state,
		      "--store wants the name of a file, not '%s', which SQLite takes for "
		      "another thing; of a file that is called so: ./%s",
		      name, name);
	return name;
}

/* Last, as its file system may not answer. */
static void check_store(const struct argp_state *state, const char *name)
{
	struct stat st;
	int slow_ms;

	if (!comm_answering(name, &slow_ms))
		argp_failure(state, 1, 0,
			     "the file system of the store %s does not answer: is its server "
			     "there? Nothing was begun",
			     name);
	if (slow_ms)
		fprintf(stderr,
			"commd: the file system of the store %s is slow, and took %d s to answer; "
			"the "
			"run goes on\n",
			name, slow_ms / 1000);
	if (!lstat(name, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		wrong(state, "--store wants the name of a file, and '%s' is %s", name,
		      S_ISDIR(st.st_mode) ? "a directory" : "none");
}

/* The words of the file are parsed next, before what stands behind its name. */
static void take_config(struct argp_state *state, const char *path, struct comm_options *opt)
{
	size_t n = (size_t)state->next, n_rest;
	char **all, *why;

	if (config_first)
		wrong(state, "one --config is enough");
	if (comm_config_file_read(path, options, "config", &config, &why))
		argp_failure(state, argp_err_exit_status, 0, "%s", why ? why : "out of memory");
	n_rest = (size_t)state->argc - n;
	all = calloc(n + config.n + n_rest + 1, sizeof(*all));
	if (!all) {
		argp_failure(state, 1, 0, "out of memory");
		return;
	}
	memcpy(all, state->argv, n * sizeof(*all));
	memcpy(all + n, config.word, config.n * sizeof(*all));
	memcpy(all + n + config.n, state->argv + n, n_rest * sizeof(*all));
	config.all = all;
	state->argv = all;
	state->argc += (int)config.n;
	config_path = path;
	config_first = n;
	opt->config_path = path;
	opt->config = &config;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct comm_options *opt = state->input;
	double value;

	switch (key) {
	case 'p':
		want_pid(state, arg, opt);
		break;
	case 'q':
		opt->quiet = true;
		break;
	case 'v':
		opt->verbose = true;
		break;
	case 'D':
		want_delay(state, arg, &opt->delay_ns);
		break;
	case OPT_CONTROL:
		opt->control = arg;
		if (!comm_control_is_spec(arg))
			wrong(state, "--control wants fifo:CTL[,ACK] or fd:CTL[,ACK], not '%s'",
			      arg);
		break;
	case OPT_CGROUP:
		/* As an unset variable of a script is: not all processes of the machine. */
		if (!*arg)
			wrong(state, "--cgroup wants a path, not ''; '/' is the root's");
		opt->cgroup = arg;
		break;
	case OPT_CONTAINER:
		if (!*arg)
			wrong(state, "--container wants an ID, not ''");
		opt->container = arg;
		break;
	case OPT_SOURCE:
		want_source(state, arg, opt);
		break;
	case OPT_OVERHEAD:
		if (comm_overhead_parse(arg, &opt->overhead))
			wrong(state, "--" COMM_OVERHEAD_WANTED ", not '%s'", arg);
		break;
	case OPT_OVERHEAD_FLOOR:
		opt->overhead_floor = want_number(state, "--overhead-floor", arg, 0, 50) / 100;
		break;
	case OPT_DAEMON_CPU:
		opt->daemon_cpu = want_number(state, "--daemon-cpu", arg, 0.01, 100) / 100;
		break;
	case OPT_RATE:
		opt->rate_hz = want_number(state, "--rate", arg, 1, 20000);
		break;
	case OPT_STORE:
		opt->store = want_store(state, arg);
		break;
	case OPT_LABEL:
		if (!*arg || !comm_store_is_label(arg))
			wrong(state,
			      "--label wants a text of one line, of %d bytes at most, and no "
			      "number, not '%s'",
			      COMM_LABEL_BYTES, arg);
		opt->label = arg;
		break;
	case OPT_SLICE:
		want_duration(state, "--slice", arg, &opt->slice_ns);
		opt->slice_given = true;
		if (opt->slice_ns < 10000000)
			wrong(state, "--slice wants at least 10ms, not '%s'", arg);
		break;
	case OPT_DURATION:
		want_duration(state, "--duration", arg, &opt->duration_ns);
		break;
	case OPT_DETAIL:
		want_duration(state, "--detail", arg, &opt->detail_ns);
		break;
	case OPT_QUOTA:
		if (parse_size(arg, &opt->quota_bytes) || opt->quota_bytes < 1 << 20)
			wrong(state, "--quota wants a size such as 512M, at least 1M, not '%s'",
			      arg);
		break;
	case OPT_GRANULARITY:
		value = want_number(state, "--granularity", arg, 1, 4096);
		opt->granularity_bytes = (uint32_t)value;
		if (value != opt->granularity_bytes ||
		    (opt->granularity_bytes & (opt->granularity_bytes - 1)))
			wrong(state, "--granularity wants a power of two, not '%s'", arg);
		break;
	case OPT_WATCH:
		opt->watch_per_s = (uint32_t)want_number(state, "--watch", arg, 0, 100000);
		break;
	case OPT_DEBUG_REGISTERS:
		value = want_number(state, "--debug-registers", arg, 0, COMM_DEBUG_REGISTERS);
		opt->debug_registers = (uint32_t)value;
		if (value != opt->debug_registers)
			wrong(state, "--debug-registers wants a whole number, not '%s'", arg);
		break;
	case OPT_COUNTERS:
		opt->counters.wanted = true;
		break;
	case OPT_CALLERS:
		value = arg ? want_number(state, "--callers", arg, 1, COMM_CALL_DEPTH_MAX) : 1;
		opt->callers = (uint32_t)value;
		if (value != opt->callers)
			wrong(state, "--callers wants a whole number, not '%s'", arg);
		break;
	case OPT_EVENTS:
		opt->counters.wanted = true;
		want_events(state, arg, &opt->counters);
		break;
	case OPT_RECORD:
		opt->record = arg;
		break;
	case OPT_ACCESSES:
		opt->accesses = arg;
		break;
	case OPT_REGION_PROBE:
		want_region_probe(state, arg, &opt->probes);
		break;
	case OPT_FRAME_PROBE:
		want_frame_probe(state, arg, &opt->probes.frame);
		break;
	case OPT_CALLS:
		if (!*arg)
			wrong(state, "--calls wants a function, not ''");
		opt->calls = arg;
		break;
	case OPT_FUNCTION:
		if (!*arg)
			wrong(state, "--function wants a function, not ''");
		opt->function = arg;
		break;
	case OPT_CONFIG:
		take_config(state, arg, opt);
		break;
	case OPT_NO_COLLECTORS:
		opt->no_collectors = true;
		break;
	case OPT_ALLOC_SITES:
		opt->alloc_sites = true;
		break;
	case OPT_NO_FOLLOW:
		opt->no_follow = true;
		break;
	case OPT_RELOAD:
		opt->reload = true;
		break;
	case OPT_DOCTOR:
		opt->doctor = true;
		break;
	case ARGP_KEY_ARGS:
		opt->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		config_first = 0; /* what is wrong then is of no line */
		if (opt->reload)
			check_reload(state, opt);
		else if (!opt->doctor) {
			check_options(state, opt);
			check_store(state, opt->store);
		}
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* The table says which sources there are. */
static char *help_filter(int key, const char *text, void *input)
{
	char names[NAMES_BYTES], *help;

	(void)input;
	if (key != OPT_SOURCE)
		return (char *)text;
	comm_source_names(names, sizeof(names));
	return asprintf(&help, "%s; see --doctor (default auto)", names) < 0 ? NULL : help;
}

static const struct argp argp = {
	.help_filter = help_filter,
	.options = options,
	.parser = parse_option,
	.args_doc = "-- COMMAND [ARG...]",
	.doc = "Tells who wrote the data that each thread of a running program reads."
	       "\vExamples:\n"
	       "  commd --pid 1234 --duration 30s && commctl report\n"
	       "  commd --cgroup /system.slice/redis-server.service\n"
	       "  commd -- xz -T4 -k big.tar\n"
	       "  commd --source exact -- ./prog        (every access, where it can be rerun)\n"
	       "\n"
	       "SIGINT, SIGTERM and other signals end a run with everything stored.  Exit "
	       "status: 0, 1 on failure, 2 on bad usage, 3 when nothing was seen.",
};

const char *argp_program_version = "commd (commprof) " COMM_VERSION;

void comm_options_parse(int argc, char **argv, struct comm_options *ret)
{
	*ret = (struct comm_options){
		.source = &comm_source_auto,
		.source_arg = "",
		.store = "comm.db",
		.overhead_floor = 0.002,
		.daemon_cpu = 0.01,
		.slice_ns = 1000000000ull,
		.granularity_bytes = 8,
		.debug_registers = 3,
		.quota_bytes = 1ull << 30,
		.detail_ns = 1800ull * 1000000000,
	};
	argp_err_exit_status = 2;
	comm_choice_parse(&argp, argc, argv, ARGP_IN_ORDER, ret);
	if (!(ret->rate_hz > 0) && !(ret->overhead > 0))
		ret->overhead = 0.01;
}
