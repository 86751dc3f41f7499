// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "privilege.h"

/* CAP_CHECKPOINT_RESTORE is newer than Debian 12's libcap headers know. */
static const cap_value_t kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_KILL, 40};

static bool env_id(const char *name, unsigned long *ret)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return false;
	*ret = strtoul(text, &end, 10);
	return !*end && *ret > 0 && *ret < UINT_MAX;
}

static bool may_write_as_effective(const char *store_path)
{
	char path[PATH_MAX];

	if (!faccessat(AT_FDCWD, store_path, R_OK | W_OK, AT_EACCESS))
		return true;
	if (errno != ENOENT || snprintf(path, sizeof(path), "%s", store_path) >= PATH_MAX)
		return false;
	return !faccessat(AT_FDCWD, dirname(path), W_OK | X_OK, AT_EACCESS);
}

static int set_caps(bool all_permitted)
{
	cap_t have = cap_get_proc(), want = cap_init();
	int err = 0;

	if (!have || !want)
		err = -ENOMEM;
	for (cap_value_t cap = 0; !err && cap <= cap_max_bits() - 1; cap++) {
		cap_flag_value_t permitted;
		bool keep = all_permitted;

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			keep |= cap == kept[i];
		if (!keep || cap_get_flag(have, cap, CAP_PERMITTED, &permitted) ||
		    permitted != CAP_SET)
			continue;
		if (cap_set_flag(want, CAP_PERMITTED, 1, &cap, CAP_SET) ||
		    cap_set_flag(want, CAP_EFFECTIVE, 1, &cap, CAP_SET))
			err = -errno;
	}
	if (!err && cap_set_proc(want))
		err = -errno;
	cap_free(have);
	cap_free(want);
	return err;
}

int comm_privilege_become_user(const char *store_path)
{
	unsigned long uid, gid;
	struct passwd *user;
	bool may;

	if (geteuid() != 0 || !env_id("SUDO_UID", &uid) || !env_id("SUDO_GID", &gid))
		return 0;
	user = getpwuid((uid_t)uid);
	if (!user || seteuid((uid_t)uid))
		return 0;
	may = may_write_as_effective(store_path);
	if (seteuid(0))
		return -errno;
	if (!may)
		return 0;
	/* The permitted set survives the change of uid; the effective set has to be set again. */
	if (prctl(PR_SET_KEEPCAPS, 1) || initgroups(user->pw_name, (gid_t)gid) ||
	    setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid) ||
	    setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid))
		return -errno;
	return set_caps(true);
}

int comm_privilege_drop(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return set_caps(false);
}
