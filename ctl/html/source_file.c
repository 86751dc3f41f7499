// SPDX-License-Identifier: GPL-2.0-or-later
#include "source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data.h"

enum {
	SOURCE_ABOUT = 4,      /* lines before and after */
	SOURCE_BYTES = 400,    /* of a line */
	SOURCE_LARGE = 8 << 20 /* generated source may be huge: not read */
};

int ctl_source_add(struct ctl_source *source, const char *dir)
{
	int fd;

	if (source->n_dirs == CTL_SOURCE_DIRS)
		return -E2BIG;
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	source->dir[source->n_dirs++] = fd;
	return 0;
}

static void forget(struct ctl_source *source)
{
	if (source->file)
		fclose(source->file);
	free(source->path);
	source->file = NULL;
	source->path = NULL;
}

void ctl_source_deinit(struct ctl_source *source)
{
	forget(source);
	while (source->n_dirs)
		close(source->dir[--source->n_dirs]);
}

/* Opens a regular file beneath dir, through no link: links could lead anywhere. */
static FILE *open_beneath(int dir, const char *path, struct stat *st)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	int fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
	FILE *file;

	if (fd < 0)
		return NULL;
	if (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_size > SOURCE_LARGE) {
		close(fd);
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

/*
 * Looks for /home/u/proj/src/a.c as home/u/proj/src/a.c, u/proj/src/a.c, ... beneath each
 * folder: the longest end that is there, so that the tree may lie elsewhere than where it was
 * built.
 */
static bool find(struct ctl_source *source, const char *path)
{
	struct stat st;

	if (source->path && !strcmp(source->path, path))
		return source->file;
	forget(source);
	source->path = strdup(path);
	for (const char *end = path; source->path && end && !source->file;) {
		end += strspn(end, "/");
		for (size_t i = 0; i < source->n_dirs && *end && !source->file; i++)
			source->file = open_beneath(source->dir[i], end, &st);
		end = strchr(end, '/');
	}
	source->newer =
		source->file && (uint64_t)st.st_mtim.tv_sec > source->run_unix_ns / 1000000000;
	return source->file;
}

bool ctl_source_print(struct ctl_source *source, const char *path, uint32_t line, FILE *out)
{
	uint32_t first = line > SOURCE_ABOUT ? line - SOURCE_ABOUT : 1, n = 0;
	char *about[2 * SOURCE_ABOUT + 1] = {0};
	bool found;
	size_t capacity;

	if (!source->n_dirs || !find(source, path))
		return false;
	rewind(source->file);
	while (n < line + SOURCE_ABOUT) {
		char *text = NULL;
		ssize_t len = getline(&text, &capacity, source->file);

		n += len >= 0;
		if (len < 0 || n < first) {
			free(text);
			if (len < 0)
				break;
			continue;
		}
		about[n - first] = text;
	}
	found = n >= line;
	if (found)
		fprintf(out, "{\"first\":%u,\"newer\":%s,\"text\":[", first,
			source->newer ? "true" : "false");
	for (uint32_t i = first; i <= n; i++) {
		char *text = about[i - first];

		text[strcspn(text, "\r\n")] = '\0';
		if (strlen(text) > SOURCE_BYTES)
			text[SOURCE_BYTES] = '\0';
		for (char *at = text; *at; at++)
			*at = *at == '\t' ? ' ' : *at;
		if (found && i > first)
			putc(',', out);
		if (found)
			ctl_data_text(out, text);
		free(text);
	}
	if (found)
		fputs("]}", out);
	return found;
}
