/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files that a target named.  Such a path may mean a fifo, a tape or a watchdog, and a
 * link may lead out of a container; a file system may never answer (a FUSE server or an NFS
 * server that hangs), not even fstat().  So only a process that may hang calls these, see
 * parse_host.h: never the daemon's own, unless it has no target to keep up with.
 */
#ifndef COMM_FOREIGN_H
#define COMM_FOREIGN_H

#include "elfsym.h"

enum {
	COMM_DEBUG_FILES_MAX = 5,
};

/* An O_PATH handle of a process's root directory, or -errno. */
int comm_foreign_root(uint32_t tgid);
/*
 * Opens a regular file for reading; anything else, and what the kernel makes up (/proc, /sys),
 * is never opened: -EINVAL.  resolve, flags: as openat2() has them (RESOLVE_..., O_NOFOLLOW).
 */
int comm_foreign_regular(int dir_fd, const char *path, uint64_t resolve, uint64_t flags);
/*
 * Opens the file behind a mapping.  /proc/PID/map_files is exact, even for deleted files, but
 * needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; a path below root_fd may mean another file
 * by now, so its inode must match (st_dev may differ on btrfs and overlayfs).  end 0: the file
 * of that path, whichever it is; the caller compares build-ids.
 */
int comm_foreign_mapped(uint32_t tgid, uint64_t start, uint64_t end, uint64_t ino, const char *path,
			int root_fd);
/*
 * Opens what may be the file with the debug symbols that a distribution stripped off path: the
 * caller checks the build-ids.  Returns how many were opened.
 */
int comm_foreign_debug(const struct comm_elf_id *id, int root_fd, const char *path,
		       int ret[COMM_DEBUG_FILES_MAX]);

/*
 * Opens the file that a JIT compiler in the process writes for perf, /tmp/perf-PID.map.  Any user
 * can write to /tmp: -EPERM unless it is root's or the process's own user's.
 */
int comm_foreign_perf_map(uint32_t tgid, int root_fd);

#endif
