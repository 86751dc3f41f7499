// SPDX-License-Identifier: GPL-2.0-or-later
#include "open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answering.h"
#include "ctl.h"
#include "number.h"

const char *ctl_store_default(void)
{
	static const char *const stores[] = {CTL_STORE_HERE, CTL_STORE_SERVICE};

	for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++)
		if (access(stores[i], F_OK) == 0)
			return stores[i];
	return NULL;
}

int ctl_open_answers(const char *path, char **err)
{
	int slow_ms;

	if (comm_answering(path, &slow_ms))
		return 0;
	if (asprintf(err, "the file system of the store %s does not answer: is its server there?",
		     path) < 0)
		*err = NULL;
	return -ETIMEDOUT;
}

int ctl_open_store(const char *path, struct comm_reader **ret, const char **ret_path, char **err)
{
	int code;

	if (!path)
		path = ctl_store_default();
	if (!path) {
		*err = strdup("there is no store: neither ./" CTL_STORE_HERE
			      " nor " CTL_STORE_SERVICE " exists; make one with "
			      "\"commd --pid PID\" or name one with --store");
		return -ENODATA;
	}
	code = comm_reader_open(path, ret, err);
	if (!code && ret_path)
		*ret_path = path;
	return code;
}

int ctl_open(const char *path, struct comm_reader **ret, const char **ret_path)
{
	const char *named = path ? path : ctl_store_default();
	char *err = NULL;
	int code = named ? ctl_open_answers(named, &err) : 0;

	if (!code)
		code = ctl_open_store(path, ret, ret_path, &err);
	return code ? ctl_error(code, err) : CTL_OK;
}

int64_t ctl_run_find(const struct comm_runs *runs, const char *name)
{
	uint64_t number = 0;
	bool is_number = ctl_parse_count(name, INT64_MAX, &number);

	for (size_t i = comm_runs_count(runs); i-- > 0;) {
		const struct comm_run *run = comm_runs_at(runs, i);

		if (is_number ? run->id == (int64_t)number : !strcmp(run->label, name))
			return run->id;
	}
	return 0;
}

/* The run of that label, the latest; 0: there is none, or no such store. */
static int64_t find_label(const char *store, const char *label)
{
	struct comm_reader *reader;
	struct comm_runs *runs;
	int64_t run = 0;

	if (!store || comm_reader_open(store, &reader, NULL))
		return 0;
	if (!comm_reader_runs(reader, &runs, NULL)) {
		run = ctl_run_find(runs, label);
		comm_runs_free(runs);
	}
	comm_reader_close(reader);
	return run;
}

void ctl_open_which(const char *name, const char *store, char file[CTL_PATH], const char **ret_path,
		    int64_t *ret_run)
{
	const char *colon = strrchr(name, ':');
	uint64_t run = 0;

	*ret_path = name;
	*ret_run = 0;
	if (access(name, F_OK) == 0)
		return;
	if (colon)
		snprintf(file, CTL_PATH, "%.*s", (int)(colon - name), name);
	if (colon &&
	    (ctl_parse_count(colon + 1, INT64_MAX, &run) || (run = find_label(file, colon + 1))))
		*ret_path = file;
	else if (ctl_parse_count(name, INT64_MAX, &run) ||
		 (run = find_label(store ? store : ctl_store_default(), name)))
		*ret_path = store;
	*ret_run = (int64_t)run;
}
