// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"

enum {
	NOTES_BYTES_MAX = 1 << 16,
	SEGMENTS_MAX = 4096,
};

int comm_program_check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

int comm_program_find(const char *name, char *ret)
{
	const char *path = getenv("PATH"), *next;
	int err = -ENOENT;

	if (strchr(name, '/')) {
		if (snprintf(ret, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return comm_program_check(ret);
	}
	for (path = path ? path : "/bin:/usr/bin"; *name && path; path = next) {
		size_t n = strcspn(path, ":");
		int found;

		next = path[n] ? path + n + 1 : NULL;
		if (snprintf(ret, PATH_MAX, "%.*s%s%s", (int)n, path, n ? "/" : "./", name) >=
		    PATH_MAX)
			continue;
		found = comm_program_check(ret);
		if (!found)
			return 0;
		if (found == -EACCES)
			err = -EACCES;
	}
	return err;
}

/* libelf keeps notes within their section, and sections within the file. */
static bool is_among(Elf_Data *data, uint32_t *ret_version)
{
	size_t at = 0, name_at, at_data, next;
	GElf_Nhdr note;

	while ((next = gelf_getnote(data, at, &note, &name_at, &at_data)) > 0) {
		const char *bytes = data->d_buf;

		if (note.n_type == COMM_EXACT_NOTE_RUNTIME &&
		    note.n_namesz == sizeof(COMM_EXACT_NOTE) &&
		    note.n_descsz == sizeof(*ret_version) &&
		    !memcmp(bytes + name_at, COMM_EXACT_NOTE, sizeof(COMM_EXACT_NOTE))) {
			memcpy(ret_version, bytes + at_data, sizeof(*ret_version));
			return true;
		}
		at = next;
	}
	return false;
}

bool comm_program_counts(const char *path, uint32_t *ret_version)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found = false;
	size_t n = 0, i;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n))
		n = 0;
	for (i = 0; i < n && i < SEGMENTS_MAX && !found; i++) {
		Elf_Data *data;
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE ||
		    ph.p_filesz > NOTES_BYTES_MAX)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		found = data && is_among(data, ret_version);
	}
	elf_end(elf);
	close(fd);
	return found;
}

int comm_program_spawn(const char *path, char *const *argv, const sigset_t *signals, pid_t *ret)
{
	posix_spawnattr_t attr;
	sigset_t usual;
	int err;

	/*
	 * A shell's background job ignores these signals; they are reset so that
	 * commd can pass them on.
	 */
	sigemptyset(&usual);
	sigaddset(&usual, SIGINT);
	sigaddset(&usual, SIGTERM);
	sigaddset(&usual, SIGHUP);
	err = posix_spawnattr_init(&attr);
	if (err)
		return -err;
	err = posix_spawnattr_setsigmask(&attr, signals);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attr, &usual);
	if (!err)
		err = posix_spawnattr_setflags(&attr,
					       POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!err)
		err = posix_spawn(ret, path, NULL, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	return -err;
}
