// SPDX-License-Identifier: GPL-2.0-or-later
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl.h"

/* As the store's: names and command lines are not for everybody. */
enum { OUTPUT_MODE = 0640 };

/* The file while it is written; "": there is none. */
static char partial[PATH_MAX];

/* Ends the program by the signal, as without this, when the handler returns. */
static void end(int signal)
{
	unlink(partial);
	raise(signal);
}

/* Whoever ends the program by a signal, or limits its files, finds no part of one. */
static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXFSZ};
	struct sigaction action = {.sa_handler = end, .sa_flags = SA_RESETHAND}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

/*
 * A new file, or one of which nothing but the bytes changes when another takes its name.  What
 * a link leads to is the user's affair, and a device or a FIFO is written to as it is.
 */
static bool can_replace(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT;
	return S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() &&
	       access(path, W_OK) == 0;
}

static int write_to(const char *path, int flags, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, OUTPUT_MODE);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out && fwrite(bytes, 1, size, out) == size && !fclose(out))
		return 0;
	return errno ? -errno : -EIO;
}

static int replace(const char *path, const char *bytes, size_t size)
{
	struct stat st;
	int err;

	catch_signals();
	err = write_to(partial, O_EXCL, bytes, size);
	if (!err && lstat(path, &st) == 0 && chmod(partial, st.st_mode & ALLPERMS) < 0)
		err = -errno;
	if (!err && rename(partial, path) < 0)
		err = -errno;
	if (err && err != -EEXIST)
		unlink(partial);
	return err;
}

int ctl_output_write(const char *path, const char *bytes, size_t size)
{
	int err;

	if (!path || !strcmp(path, "-")) {
		/* That not all could be written shows when the program ends. */
		fwrite(bytes, 1, size, stdout);
		return CTL_OK;
	}
	err = -EACCES;
	if (can_replace(path) &&
	    snprintf(partial, sizeof(partial), "%s-%d", path, getpid()) < PATH_MAX)
		err = replace(path, bytes, size);
	/* A file may be writable in a directory that is not. */
	if (err == -EACCES)
		err = write_to(path, O_TRUNC, bytes, size);
	if (!err)
		return CTL_OK;
	fprintf(stderr, "commctl: cannot write %s: %s\n", path, strerror(-err));
	return CTL_FAILURE;
}
