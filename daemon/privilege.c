// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <mntent.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fence.h"
#include "filter.h"
#include "privilege.h"
#include "remover.h"
#include "rights.h"

enum { NOGROUP = 65534 };

/* The store's directory wants it: it is another user's, whom this process did not become. */
static bool keeps_search;

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

/* Of the permitted capabilities those that are kept, or all. */
static int set_caps(const cap_value_t *kept, size_t n_kept, bool all)
{
	cap_t have = cap_get_proc(), want = cap_init();
	int err = 0;

	if (!have || !want)
		err = -ENOMEM;
	for (cap_value_t cap = 0; !err && cap <= cap_max_bits() - 1; cap++) {
		cap_flag_value_t permitted;
		bool keep = all;

		for (size_t i = 0; i < n_kept; i++)
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
		/* cppcheck-suppress getpwnamCalled; there is one thread yet */
		return service ? getpwnam("commprof") : NULL;
	user = getpwuid((uid_t)uid);
	if (user)
		user->pw_gid = (gid_t)gid;
	return user;
}

static int set_effective(cap_flag_value_t value)
{
	cap_t caps = cap_get_proc();
	int err = 0;

	if (!caps)
		return -ENOMEM;
	for (cap_value_t cap = 0; cap < cap_max_bits(); cap++) {
		cap_flag_value_t permitted;

		if (cap_get_flag(caps, cap, CAP_PERMITTED, &permitted) == 0 && permitted == CAP_SET)
			cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, value);
	}
	if (cap_set_proc(caps))
		err = -errno;
	cap_free(caps);
	return err;
}

/* For good, with all capabilities that are permitted. */
static int become(const struct passwd *user)
{
	int rc = user->pw_name ? initgroups(user->pw_name, user->pw_gid) : setgroups(0, NULL);

	/* The permitted set survives the change of uid; the effective set has to be set again. */
	if (rc || prctl(PR_SET_KEEPCAPS, 1) ||
	    setresgid(user->pw_gid, user->pw_gid, user->pw_gid) ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid))
		return -errno;
	return set_caps(NULL, 0, true);
}

/* Whether that user, without capabilities, may write the store; -errno: who am I? */
static int may_write_as(const struct passwd *user, const char *store_path)
{
	bool may;

	if (setegid(user->pw_gid) || seteuid(user->pw_uid))
		return setegid(0) ? -errno : 0;
	may = may_write_as_effective(store_path);
	return seteuid(0) || setegid(0) ? -errno : may;
}

static int may_root_write(const char *store_path)
{
	bool may;
	int err = set_effective(CAP_CLEAR);

	if (err)
		return err;
	may = may_write_as_effective(store_path);
	err = set_effective(CAP_SET);
	return err ? err : may;
}

/*
 * Whose directory it is, unless it is root's.  In a container the owner of a directory of the
 * host's has no name, and no group that is known.
 */
static const struct passwd *owner_of_directory(const char *store_path)
{
	static struct passwd unnamed = {.pw_gid = NOGROUP};
	const struct passwd *user;
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s", store_path) >= PATH_MAX ||
	    stat(dirname(path), &st) || !st.st_uid)
		return NULL;
	unnamed.pw_uid = st.st_uid;
	user = getpwuid(st.st_uid);
	return user ? user : &unnamed;
}

int comm_privilege_become_user(const char *store_path, bool service)
{
	const struct passwd *user;
	int may = 0;

	if (geteuid() != 0)
		return 0;
	user = other_user(service);
	if (user && user->pw_uid)
		may = may_write_as(user, store_path);
	if (may)
		return may < 0 ? may : become(user);
	may = may_root_write(store_path);
	if (may)
		return may < 0 ? may : 0;
	user = service ? owner_of_directory(store_path) : NULL;
	if (user)
		may = may_write_as(user, store_path);
	if (may)
		return may < 0 ? may : become(user);
	keeps_search = true;
	return 0;
}

int comm_privilege_set_aside(bool aside)
{
	return geteuid() ? set_effective(aside ? CAP_CLEAR : CAP_SET) : 0;
}

/* Of the options of a mount: what hidepid is, "0" where there is none. */
static const char *hidepid_of(const struct mntent *mount)
{
	const char *option = hasmntopt(mount, "hidepid");

	return option && option[7] == '=' ? option + 8 : "0";
}

/* Joins a group beside those of the user. */
static int join(gid_t gid)
{
	gid_t groups[NGROUPS_MAX + 1];
	int n = getgroups(NGROUPS_MAX, groups);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return 0;
	if (gid == getegid())
		return 0;
	groups[n++] = gid;
	return setgroups((size_t)n, groups) ? -errno : 0;
}

/*
 * Whether processes of other users cannot be seen in /proc, as it is mounted with hidepid.  One
 * group can (gid=, else root's), unless it is "ptraceable" that counts: this process joins it.
 */
static bool is_proc_hiding(void)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent mount;
	bool hides = false, is_group = false;
	char line[4096];
	gid_t gid = 0;

	/* What is mounted last on a place is what is seen there. */
	while (file && getmntent_r(file, &mount, line, sizeof(line))) {
		const char *hidepid = hidepid_of(&mount), *option;

		if (strcmp(mount.mnt_dir, "/proc") || strcmp(mount.mnt_type, "proc"))
			continue;
		option = hasmntopt(&mount, "gid");
		gid = option && option[3] == '=' ? (gid_t)strtoul(option + 4, NULL, 10) : 0;
		hides = *hidepid != '0' && strncmp(hidepid, "off", 3);
		is_group = *hidepid != '4' && strncmp(hidepid, "ptraceable", 10);
	}
	if (file)
		endmntent(file);
	return hides && !(is_group && join(gid) == 0);
}

static bool is_permitted(cap_value_t cap)
{
	cap_flag_value_t permitted = CAP_CLEAR;
	cap_t have = cap_get_proc();

	if (!have)
		return false;
	cap_get_flag(have, cap, CAP_PERMITTED, &permitted);
	cap_free(have);
	return permitted == CAP_SET;
}

int comm_privilege_drop(const char *store_path, enum comm_privilege_rest rest,
			int (*last)(void *ctx), void *ctx)
{
	static const struct comm_seccomp_list *const filters[] = {
		[COMM_REST_CPUS] = &comm_filter,
		[COMM_REST_THREADS] = &comm_filter_events,
		[COMM_REST_FILE] = &comm_filter,
		[COMM_REST_NAMED_FILES] = &comm_filter_files,
	};
	bool looks = rest == COMM_REST_THREADS || (rest == COMM_REST_CPUS && is_proc_hiding());
	/* Without rights to give to another process it may have to read memory itself. */
	bool has_rights = is_permitted(CAP_SYS_PTRACE);
	cap_value_t kept[2];
	size_t n_kept = 0;
	int err = comm_rights_bound();

	if (looks)
		kept[n_kept++] = CAP_SYS_PTRACE;
	if (keeps_search)
		kept[n_kept++] = CAP_DAC_READ_SEARCH;
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && has_rights && !looks && rest != COMM_REST_RESULT)
		err = comm_fence_close(store_path, rest == COMM_REST_NAMED_FILES);
	if (!err && rest != COMM_REST_RESULT)
		comm_remover_take_over();
	if (!err)
		err = set_caps(kept, n_kept, false);
	if (!err && last)
		err = last(ctx);
	if (!err && rest != COMM_REST_RESULT)
		err = comm_seccomp_install_all(filters[rest]);
	if (err)
		fprintf(stderr, "commd: cannot give up privileges: %s\n", strerror(-err));
	return err;
}
