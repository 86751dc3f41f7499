// SPDX-License-Identifier: GPL-2.0-or-later
#include "stamp.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/* FNV-1a, by words: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t add(uint64_t hash, uint64_t word)
{
	for (int i = 0; i < 8; i++)
		hash = (hash ^ (word >> 8 * i & 0xff)) * 0x100000001b3;
	return hash;
}

static uint64_t add_file(uint64_t hash, const struct stat *st)
{
	hash = add(hash, st->st_dev);
	hash = add(hash, st->st_ino);
	hash = add(hash, (uint64_t)st->st_size);
	hash = add(hash, (uint64_t)st->st_mtim.tv_sec);
	return add(hash, (uint64_t)st->st_mtim.tv_nsec);
}

uint64_t ctl_stamp(const char *path)
{
	char log[PATH_MAX];
	struct stat st;
	uint64_t hash;

	if (!path || stat(path, &st) < 0)
		return 0;
	hash = add_file(0xcbf29ce484222325, &st);
	/* Who only reads makes a log without contents, and takes it away again. */
	if (snprintf(log, sizeof(log), "%s-wal", path) < (int)sizeof(log) && stat(log, &st) == 0 &&
	    st.st_size)
		hash = add_file(hash, &st);
	return hash ? hash : 1;
}
