// SPDX-License-Identifier: GPL-2.0-or-later
#include "config_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WORDS_MAX = 1024 };

static const char spaces[] = " \t\r\n";

static const struct argp_option *find(const struct argp_option *options, const char *name)
{
	for (; options->name || options->doc; options++)
		if (options->name && !strcmp(options->name, name))
			return options;
	return NULL;
}

/* Both ends. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, spaces);
	n = strlen(text);
	while (n && strchr(spaces, text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* What is wrong with a line, NAME and a VALUE that is NULL where there is no "="; NULL: nothing. */
static const char *problem_of(const struct argp_option *option, const char *except,
			      const char *value)
{
	if (!option)
		return "there is no such option";
	if (!strcmp(option->name, except))
		return "this is for the command line";
	if (!option->arg && value)
		return "this takes no value";
	if (option->arg && !value && !(option->flags & OPTION_ARG_OPTIONAL))
		return "this wants a value";
	return NULL;
}

static int add(struct comm_config_file *config, const char *name, const char *value, int line)
{
	char *word = NULL;

	if (config->n == WORDS_MAX)
		return -E2BIG;
	if (asprintf(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
		return -ENOMEM;
	config->word[config->n] = word;
	config->line[config->n++] = line;
	return 0;
}

static int read_lines(FILE *f, const char *path, const struct argp_option *options,
		      const char *except, struct comm_config_file *ret, char **why)
{
	char *text = NULL;
	size_t size = 0;
	int err = 0;

	for (int line = 1; !err && getline(&text, &size, f) > 0; line++) {
		char *name = trim(text), *value = strchr(name, '=');
		const char *problem;

		if (!*name || *name == '#' || *name == ';')
			continue;
		if (value) {
			*value++ = '\0';
			name = trim(name);
			value = trim(value);
		}
		problem = problem_of(find(options, name), except, value);
		err = problem ? -EINVAL : add(ret, name, value, line);
		if (problem && asprintf(why, "%s:%d: '%.60s': %s", path, line, name, problem) < 0)
			*why = NULL;
	}
	free(text);
	return !err && ferror(f) ? -EIO : err;
}

int comm_config_file_read(const char *path, const struct argp_option *options, const char *except,
			  struct comm_config_file *ret, char **why)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	int err = f ? 0 : -errno;

	*why = NULL;
	*ret = (struct comm_config_file){.word = calloc(WORDS_MAX, sizeof(*ret->word)),
					 .line = calloc(WORDS_MAX, sizeof(*ret->line))};
	if (!err && (!ret->word || !ret->line))
		err = -ENOMEM;
	if (!err && (fstat(fileno(f), &st) || !S_ISREG(st.st_mode)))
		err = -EINVAL;
	if (!err)
		err = read_lines(f, path, options, except, ret, why);
	if (f)
		fclose(f);
	if (err && !*why &&
	    asprintf(why, "cannot read %s: %s", path,
		     err == -EINVAL ? "it is no regular file" : strerror(-err)) < 0)
		*why = NULL;
	return err;
}
