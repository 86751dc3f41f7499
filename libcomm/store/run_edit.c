// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run edits: what a user may change of a store's runs, as comm.h offers it.  The store is
 * opened as a commd does that writes to it, so there is one at a time.
 */
#include <comm/comm.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema.h"
#include "store.h"

static int fail(char **err, int code, char *sentence)
{
	if (err)
		*err = sentence;
	else
		free(sentence);
	return code;
}

static char *sentence(const char *path, int code, int64_t run)
{
	char *ret;

	if (code != -ENODATA)
		return comm_schema_sentence(path, code, NULL);
	return asprintf(&ret, "the store %s has no run %lld", path, (long long)run) < 0 ? NULL
											: ret;
}

/* A label, or NULL: the run goes. */
static int edit(const char *path, int64_t run, const char *label, char **err)
{
	const struct comm_store_config config = {.path = path};
	struct comm_store *store;
	char *why = NULL;
	int code;

	if (err)
		*err = NULL;
	/* A store that is not there would be made. */
	if (access(path, F_OK) < 0)
		return fail(err, -errno, comm_schema_sentence(path, -errno, NULL));
	code = comm_store_open(&config, &store, &why);
	if (code)
		return fail(err, code, why);
	code = label ? comm_store_label_run(store, run, label) : comm_store_delete_run(store, run);
	comm_store_close(store);
	return code ? fail(err, code, sentence(path, code, run)) : 0;
}

int comm_run_label(const char *path, int64_t run, const char *label, char **err)
{
	char *why = NULL;

	if (comm_store_is_label(label))
		return edit(path, run, label, err);
	if (asprintf(&why, "a label is a text of one line, of %d bytes at most, and no number",
		     COMM_LABEL_BYTES) < 0)
		why = NULL;
	return fail(err, -EINVAL, why);
}

int comm_run_delete(const char *path, int64_t run, char **err)
{
	return edit(path, run, NULL, err);
}
