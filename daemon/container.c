// SPDX-License-Identifier: GPL-2.0-or-later
#include "container.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

enum { SHORT_ID = 12 }; /* digits, as runtimes list them */

/* What a name of a directory is made of. */
static const char separators[] = "-.:";

static bool is_short_id(const char *id)
{
	return strlen(id) >= SHORT_ID && !id[strspn(id, "0123456789abcdef")];
}

/* Whether the name has the ID as a part of its own, or a part that begins with a short one. */
static bool has_id(const char *name, const char *id)
{
	size_t n = strlen(id);
	bool may_begin = is_short_id(id);

	/* The runtime's own process beside the container has the ID, too. */
	if (strstr(name, "conmon"))
		return false;
	for (const char *at = name; (at = strstr(at, id)); at++)
		if ((at == name || strchr(separators, at[-1])) &&
		    (may_begin || !at[n] || strchr(separators, at[n])))
			return true;
	return false;
}

static int take(const char *path, const char *id, char **ret, char **err)
{
	if (*ret)
		return comm_source_fail(err, -ENOTUNIQ,
					"%s is not one container: there are %s and %s", id, *ret,
					path);
	*ret = strdup(path);
	return *ret ? 0 : -ENOMEM;
}

int comm_container_find(const char *root, const char *id, char **ret, char **err)
{
	const char *scheme = strstr(id, "://");
	char *roots[] = {strdup(root), NULL};
	FTS *tree = roots[0] ? fts_open(roots, FTS_PHYSICAL | FTS_NOSTAT | FTS_XDEV, NULL) : NULL;
	char *found = NULL;
	int rc = tree ? 0 : -ENOMEM;
	FTSENT *entry;

	id = scheme ? scheme + 3 : id;
	while (!rc && (entry = fts_read(tree))) {
		if (entry->fts_info != FTS_D || !entry->fts_level || !has_id(entry->fts_name, id))
			continue;
		rc = take(entry->fts_path, id, &found, err);
		/* What it has made within is its own. */
		fts_set(tree, entry, FTS_SKIP);
	}
	if (tree)
		fts_close(tree);
	free(roots[0]);
	if (!rc && !found)
		rc = comm_source_fail(
			err, -ENOENT,
			"there is no control group of a container %s below %s: an ID has all its "
			"digits or %d at least, and the host's groups have to be in sight",
			id, root, SHORT_ID);
	if (rc)
		free(found);
	else
		*ret = found;
	return rc;
}
