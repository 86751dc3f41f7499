// SPDX-License-Identifier: GPL-2.0-or-later
#include "ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "store_file.h"

bool comm_ballast_reserve(int fd)
{
	return fd >= 0 && posix_fallocate(fd, 0, COMM_BALLAST_BYTES) == 0;
}

void comm_ballast_remove_file(const char *name)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	vfs->xDelete(vfs, name, 0);
}

static bool name_of(const char *store, char name[PATH_MAX])
{
	return snprintf(name, PATH_MAX, "%s-ballast", store) < PATH_MAX;
}

void comm_ballast_drop(struct comm_ballast *ballast)
{
	if (ballast->fd >= 0)
		ballast->is_loaded = ftruncate(ballast->fd, 0) < 0;
}

/* What has the ballast's name is of a writer that was killed, or made to be written to: it goes. */
void comm_ballast_load(struct comm_ballast *ballast, const char *store)
{
	char name[PATH_MAX];
	pid_t holder;

	if (ballast->fd < 0 && name_of(store, name)) {
		comm_ballast_remove_file(name);
		ballast->fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT | O_EXCL, 0600);
		/* Whatever the umask takes away. */
		if (ballast->fd >= 0 && fchmod(ballast->fd, 0600) == 0)
			comm_store_file_own(ballast->fd, &holder);
	}
	ballast->is_loaded = comm_ballast_reserve(ballast->fd);
	if (!ballast->is_loaded)
		comm_ballast_drop(ballast);
}

void comm_ballast_remove(struct comm_ballast *ballast, const char *store)
{
	char name[PATH_MAX];

	if (ballast->fd < 0)
		return;
	close(ballast->fd);
	ballast->fd = -1;
	if (name_of(store, name))
		comm_ballast_remove_file(name);
}

bool comm_ballast_is_held(const char *store, pid_t *ret_holder)
{
	char name[PATH_MAX];
	int fd = name_of(store, name) ? open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
				      : -1;
	bool is_held = fd >= 0 && comm_store_file_own(fd, ret_holder) == -EBUSY;

	if (fd >= 0)
		close(fd);
	return is_held;
}
