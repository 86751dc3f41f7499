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

#include "filter.h"
#include "privilege.h"

/* What reading a target's mappings and memory in /proc takes. */
static const cap_value_t kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH};

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

/* The user behind sudo, or else, for a service, the one that the package makes. */
static struct passwd *other_user(bool service)
{
	unsigned long uid, gid;
	struct passwd *user;

	if (!env_id("SUDO_UID", &uid) || !env_id("SUDO_GID", &gid))
		/* cppcheck-suppress getpwnamCalled; there is one thread */
		return service ? getpwnam("commprof") : NULL;
	user = getpwuid((uid_t)uid);
	if (user)
		user->pw_gid = (gid_t)gid;
	return user;
}

int comm_privilege_become_user(const char *store_path, bool service)
{
	struct passwd *user;
	uid_t uid;
	gid_t gid;
	bool may;

	if (geteuid() != 0)
		return 0;
	user = other_user(service);
	if (!user || !user->pw_uid || setegid(user->pw_gid) || seteuid(user->pw_uid))
		return 0;
	uid = user->pw_uid;
	gid = user->pw_gid;
	may = may_write_as_effective(store_path);
	if (seteuid(0) || setegid(0))
		return -errno;
	if (!may)
		return 0;
	/* The permitted set survives the change of uid; the effective set has to be set again. */
	if (prctl(PR_SET_KEEPCAPS, 1) || initgroups(user->pw_name, gid) ||
	    setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	return set_caps(true);
}

/* So that not even a program with capabilities of its own could get one back. */
static int empty_bounding_set(void)
{
	cap_flag_value_t may = CAP_CLEAR;
	cap_t have = cap_get_proc();

	if (!have)
		return -ENOMEM;
	cap_get_flag(have, CAP_SETPCAP, CAP_EFFECTIVE, &may);
	cap_free(have);
	for (cap_value_t cap = 0; may == CAP_SET && cap < cap_max_bits(); cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			return -errno;
	return 0;
}

int comm_privilege_drop(void)
{
	int err = empty_bounding_set();

	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err)
		err = set_caps(false);
#ifndef __SANITIZE_ADDRESS__ /* whose search for leaks traces this process */
	if (!err)
		err = comm_filter_install();
#endif
	return err;
}
