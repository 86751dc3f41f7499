/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which store a command reads, and which run of it. */
#ifndef CTL_OPEN_H
#define CTL_OPEN_H

#include <comm/comm.h>

enum { CTL_PATH = 4096 };

#define CTL_STORE_HERE "comm.db"
#define CTL_STORE_SERVICE "/var/lib/commprof/comm.db"
#define CTL_STORE_DEFAULT "default ./" CTL_STORE_HERE ", else " CTL_STORE_SERVICE
#define CTL_STORE_OF_RUNS "Of runs given by number; " CTL_STORE_DEFAULT

/* NULL: there is none. */
const char *ctl_store_default(void);
/* path NULL: the default store.  0, or -errno and a sentence in *err, NULL without memory; -ENODATA: there is none. */
int ctl_open_store(const char *path, struct comm_reader **ret, const char **ret_path, char **err);
/* Whether the file system of a store answers: 0, or -ETIMEDOUT and a sentence in *err. */
int ctl_open_answers(const char *path, char **err);
/* Both.  Returns an exit code, on failure with the sentence on stderr. */
int ctl_open(const char *path, struct comm_reader **ret, const char **ret_path);
/*
 * A run as a user names it: N or LABEL, of that store; FILE, for its latest; FILE:N or FILE:LABEL.
 * file is where *ret_path may then point to; *ret_run 0 is the latest.
 */
void ctl_open_which(const char *name, const char *store, char file[CTL_PATH], const char **ret_path,
		    int64_t *ret_run);
/* The number of the latest run with that label, or of that number; 0: there is none. */
int64_t ctl_run_find(const struct comm_runs *runs, const char *name);

#endif
