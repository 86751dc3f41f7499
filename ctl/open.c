// SPDX-License-Identifier: GPL-2.0-or-later
#include "open.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "number.h"

int ctl_open(const char *path, struct comm_reader **ret, const char **ret_path)
{
	char *err;
	int code;

	if (!path && access(CTL_STORE_HERE, F_OK) == 0)
		path = CTL_STORE_HERE;
	if (!path && access(CTL_STORE_SERVICE, F_OK) == 0)
		path = CTL_STORE_SERVICE;
	if (!path) {
		fprintf(stderr,
			"commctl: there is no store: neither ./%s nor %s exists; make one "
			"with \"commd --pid PID\" or name one with --store\n",
			CTL_STORE_HERE, CTL_STORE_SERVICE);
		return CTL_NO_DATA;
	}
	code = comm_reader_open(path, ret, &err);
	if (code)
		return ctl_error(code, err);
	if (ret_path)
		*ret_path = path;
	return CTL_OK;
}

void ctl_open_which(const char *name, const char *store, char file[CTL_PATH], const char **ret_path,
		    int64_t *ret_run)
{
	const char *colon = strrchr(name, ':');
	uint64_t run = 0;

	*ret_path = name;
	if (ctl_parse_count(name, INT64_MAX, &run) && access(name, F_OK)) {
		*ret_path = store;
	} else if (access(name, F_OK) && colon && ctl_parse_count(colon + 1, INT64_MAX, &run)) {
		snprintf(file, CTL_PATH, "%.*s", (int)(colon - name), name);
		*ret_path = file;
	}
	*ret_run = (int64_t)run;
}
