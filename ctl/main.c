// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <comm/version.h>

#include "choice.h"
#include "progress.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
	bool takes_time; /* with a large store, and then comes to an end */
} commands[] = {
	{"report", ctl_report, "what the program waits for, who feeds whom, and through what",
	 true},
	{"html", ctl_html, "a run as a page for a browser, down to lines of source", true},
	{"serve", ctl_serve, "that page for browsers of this machine, kept current, and metrics",
	 false},
	{"top", ctl_top, "the last minute, on a screen that follows", false},
	{"diff", ctl_diff, "which flows changed from one run to another", true},
	{"sharing", ctl_sharing, "cache lines that threads take from each other: false sharing",
	 true},
	{"advise", ctl_advise, "which threads to put together, and how sure that is", true},
	{"graph", ctl_graph, "a drawing of runs, or of their phases: graph, matrix, streams", true},
	{"export", ctl_export, "a run for pprof, Perfetto, flame graphs and spreadsheets", true},
	{"ship", ctl_ship, "what is finished of a store into the database or profiler of a fleet",
	 false},
	{"list", ctl_list, "the runs in a store", false},
	{"label", ctl_label, "give a run a name", false},
	{"delete", ctl_delete, "take runs out of a store", true},
	{"salvage", ctl_salvage, "copy what can be read of a damaged store into a new one", true},
	{"doctor", ctl_doctor, "what works here, and what to do about the rest", false},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(*commands), MAIN_NAMES = 256 };

int ctl_error(int code, char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "commctl: %s\n", sentence ? sentence : strerror(-code));
	free(sentence);
	return code == -ENODATA ? CTL_NO_DATA : CTL_FAILURE;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static void usage(FILE *out)
{
	fprintf(out, "Usage: commctl COMMAND [OPTION...]\n\n"
		     "Shows what commd stored: who wrote the data that others read.\n\n"
		     "Commands:\n");
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "  %-9s %s\n\n", "help", "of a command: commctl help report");
	fprintf(out, "Exit codes: 0 done, 1 failure, 2 bad usage, 3 no data, 4 changed (diff "
		     "--exit-code).\n");
}

static int run(const struct command *command, int argc, char **argv)
{
	static char name[64];

	snprintf(name, sizeof(name), "commctl %s", command->name);
	argv[0] = name;
	if (command->takes_time)
		ctl_progress_begin(name);
	return command->run(argc, argv);
}

static int unknown(const char *name)
{
	char names[MAIN_NAMES] = "", near[COMM_CHOICE];

	for (size_t i = 0; i < N_COMMANDS; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s, ",
			 commands[i].name);
	fprintf(stderr, "commctl: there is no command '%s'; the commands are %shelp", name, names);
	for (char *comma = strchr(names, ','); comma; comma = strchr(comma, ','))
		*comma = ' ';
	if (comm_choice_near(name, names, near))
		fprintf(stderr, "; did you mean %s?", near);
	fprintf(stderr, "\n");
	return CTL_USAGE;
}

static int help(const char *name)
{
	static char option[] = "--help";
	char *argv[] = {NULL, option, NULL};
	const struct command *command;

	if (!name) {
		usage(stdout);
		return CTL_OK;
	}
	command = find(name);
	return command ? run(command, 2, argv) : unknown(name);
}

/*
 * A full disk or a closed pipe shows only when the last bytes are written.  An
 * atexit() handler, because argp prints its help and exits by itself.
 */
static void close_stdout(void)
{
	int failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !failed)
		return;
	/* EPIPE needs no message: the reader has closed the pipe on purpose. */
	if (errno && errno != EPIPE)
		fprintf(stderr, "commctl: cannot write the output: %s\n", strerror(errno));
	_exit(CTL_FAILURE);
}

static struct termios terminal; /* as it was found: "commctl top" changes it */
static bool has_terminal;

/* SQLite maps the store's -shm file, which another program may cut short. */
static void end_cut(int signal)
{
	static const char sentence[] = "commctl: the -shm file of the store was cut short by "
				       "another program while it was read: try again\n",
			  leave_screen[] = "\033[?1049l\033[?25h\r";
	struct termios now;

	(void)signal;
	if (has_terminal && tcgetattr(STDIN_FILENO, &now) == 0 && now.c_lflag != terminal.c_lflag) {
		tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
		(void)!write(STDOUT_FILENO, leave_screen, sizeof(leave_screen) - 1);
	}
	(void)!write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
	_exit(CTL_FAILURE);
}

/* Who started this may have closed some of these: then a store would have their numbers, and take what is printed. */
static void take_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct command *command;

	take_standard_files();
	signal(SIGPIPE, SIG_IGN);
	has_terminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
	signal(SIGBUS, end_cut);
	setlocale(LC_CTYPE, "");
	argp_err_exit_status = CTL_USAGE;
	atexit(close_stdout);
	if (argc < 2) {
		usage(stderr);
		return CTL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help"))
		return help(argc > 2 ? argv[2] : NULL);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("commctl (commprof) " COMM_VERSION);
		return CTL_OK;
	}
	command = find(argv[1]);
	return command ? run(command, argc - 1, argv + 1) : unknown(argv[1]);
}
