// SPDX-License-Identifier: GPL-2.0-or-later
#include "choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHOICE_NAMES = 4096 };

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Letters to add, leave out, change or swap with the next: optimal string alignment distance. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
	int row[3][COMM_CHOICE] = {0};

	for (size_t j = 0; j <= m; j++)
		row[0][j] = (int)j;
	for (size_t i = 1; i <= n; i++) {
		int *now = row[i % 3], *before = row[(i + 2) % 3], *twice = row[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= m; j++) {
			bool differs = a[i - 1] != b[j - 1];

			now[j] = least(least(now[j - 1], before[j]) + 1, before[j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], twice[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

bool comm_choice_near(const char *word, const char *names, char ret[COMM_CHOICE])
{
	size_t n = strlen(word), size;
	int best = n < 3 ? 1 : n < 6 ? 2 : 3;
	bool found = false;

	if (n < 2 || n >= COMM_CHOICE)
		return false;
	for (const char *name = names + strspn(names, " "); *name; name += strspn(name, " ")) {
		int far;

		size = strcspn(name, " ");
		far = size >= COMM_CHOICE ? COMM_CHOICE : distance(word, n, name, size);
		/* What is left out at its end is no slip. */
		if (size > n && n >= 3 && !strncmp(name, word, n))
			far = 1;
		if (far < (int)size && far <= best && !(found && far == best)) {
			best = far;
			found = true;
			snprintf(ret, COMM_CHOICE, "%.*s", (int)size, name);
		}
		name += size;
	}
	return found;
}

void comm_choice_error(struct argp_state *state, const char *what, const char *word,
		       const char *names)
{
	char near[COMM_CHOICE];

	names += strspn(names, " ");
	if (comm_choice_near(word, names, near))
		argp_error(state, "there is no %s '%s'; choose one of %s; did you mean %s?", what,
			   word, names, near);
	else
		argp_error(state, "there is no %s '%s'; choose one of %s", what, word, names);
}

/* argp takes beginnings of names, also where they begin several: then it says so. */
static bool is_option(const struct argp_option *option, const char *name, size_t n)
{
	static const char *const own[] = {"help", "usage", "version"};

	for (; option->name || option->key || option->doc || option->group; option++)
		if (option->name && !(option->flags & OPTION_DOC) &&
		    !strncmp(option->name, name, n))
			return true;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strncmp(own[i], name, n))
			return true;
	return false;
}

static bool nearest_option(const struct argp_option *option, const char *name, size_t n,
			   char ret[COMM_CHOICE])
{
	char names[CHOICE_NAMES] = "", word[COMM_CHOICE];
	size_t used = 0;

	for (; option->name || option->key || option->doc || option->group; option++)
		if (option->name && !(option->flags & (OPTION_DOC | OPTION_HIDDEN)) &&
		    used + strlen(option->name) + 2 < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, " %s",
						 option->name);
	snprintf(word, sizeof(word), "%.*s", (int)(n < COMM_CHOICE ? n : COMM_CHOICE - 1), name);
	return comm_choice_near(word, names, ret);
}

/* What follows an option may be its value, whatever it begins with. */
static bool takes_value(const struct argp_option *option, const char *arg)
{
	for (; option->name || option->key || option->doc || option->group; option++) {
		if (!option->arg || option->flags & OPTION_ARG_OPTIONAL)
			continue;
		if (option->name && !strncmp(arg, "--", 2) && strlen(arg) > 3 &&
		    strstr(option->name, arg + 2) == option->name)
			return true;
		if (arg[0] == '-' && option->key == arg[1] && arg[1] && !arg[2])
			return true;
	}
	return false;
}

void comm_choice_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	char near[COMM_CHOICE];

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		size_t n = strcspn(argv[i], "=");

		if (flags & ARGP_IN_ORDER && argv[i][0] != '-')
			break;
		if (takes_value(argp->options, argv[i])) {
			i++;
			continue;
		}
		if (strncmp(argv[i], "--", 2) != 0 || is_option(argp->options, argv[i] + 2, n - 2))
			continue;
		if (!nearest_option(argp->options, argv[i] + 2, n - 2, near))
			break;
		fprintf(stderr,
			"%s: there is no option '%.*s'; did you mean --%s?\n"
			"Try `%s --help' or `%s --usage' for more information.\n",
			argv[0], (int)n, argv[i], near, argv[0], argv[0]);
		exit(argp_err_exit_status);
	}
	argp_parse(argp, argc, argv, flags, NULL, input);
}
