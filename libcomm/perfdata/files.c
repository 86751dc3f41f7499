// SPDX-License-Identifier: GPL-2.0-or-later
#include "files.h"

#include "clock.h"
#include "foreign.h"
#include "module.h"
#include "parser.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MODULES_BYTES_MAX = 64 << 20,
	BUILD_IDS_MAX = 1 << 16,
	FILES_MAX = 1 << 20, /* as maps.c has them */
	FDS_MAX = 64,
	PLACES = 2,
	HEX_BYTES = 2 * COMM_PERFDATA_BUILD_ID + 1,
	PAGE = 4096,
};

static const uint64_t wait_ns = 20000000000ull;	     /* for one file, */
static const uint64_t wait_all_ns = 120000000000ull; /* and for all together */
static const uint64_t step_ns = 50000000;

struct known_id {
	const char *path; /* of names */
	char hex[HEX_BYTES];
};

/* A file of the other machine, and where it is on this one. */
struct known_file {
	char hex[HEX_BYTES]; /* "": its build-id is not known */
	bool looked, has_fd;
	bool is_here;
	struct comm_mapping as; /* by which the module is found again */
	int fd;
};

struct comm_perfdata_files {
	struct comm_names *names;
	struct comm_maps *maps;
	/* NULL: files are not looked for. */
	struct comm_parser *parser;
	struct comm_modules *modules;
	bool is_this, is_x86;
	struct known_id *id;
	size_t n_ids, ids_capacity;
	bool sorted;
	struct known_file **file; /* by comm_mapping.file */
	size_t n_files, n_fds;
	uint64_t absent, waited_ns;
	const char *absent_path;
};

int comm_perfdata_files_create(struct comm_names *names, struct comm_maps *maps,
			       struct comm_perfdata_files **ret)
{
	struct comm_perfdata_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->names = names;
	files->maps = maps;
	*ret = files;
	return 0;
}

int comm_perfdata_files_start(struct comm_perfdata_files *files)
{
	int err = comm_parser_create(&files->parser);

	return err ? err
		   : comm_modules_create(files->names, files->parser, MODULES_BYTES_MAX,
					 &files->modules);
}

void comm_perfdata_files_destroy(struct comm_perfdata_files *files)
{
	if (!files)
		return;
	comm_parser_destroy(files->parser);
	comm_modules_destroy(files->modules);
	for (size_t i = 0; i < files->n_files; i++) {
		if (files->file[i] && files->file[i]->has_fd)
			close(files->file[i]->fd);
		free(files->file[i]);
	}
	free(files->file);
	free(files->id);
	free(files);
}

void comm_perfdata_files_machine(struct comm_perfdata_files *files, bool is_this, bool is_x86)
{
	files->is_this = is_this;
	files->is_x86 = is_x86;
}

static void to_hex(const void *id, size_t id_bytes, char hex[HEX_BYTES])
{
	const unsigned char *byte = id;

	if (id_bytes > COMM_PERFDATA_BUILD_ID)
		id_bytes = COMM_PERFDATA_BUILD_ID;
	*hex = 0;
	for (size_t i = 0; i < id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", byte[i]);
}

int comm_perfdata_files_build_id(struct comm_perfdata_files *files, const char *path,
				 size_t path_bytes, const void *id, size_t id_bytes)
{
	if (files->n_ids == files->ids_capacity) {
		size_t capacity = files->ids_capacity ? 2 * files->ids_capacity : 64;
		struct known_id *bigger;

		if (capacity > BUILD_IDS_MAX)
			return -ENOSPC;
		bigger = realloc(files->id, capacity * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		files->id = bigger;
		files->ids_capacity = capacity;
	}
	files->id[files->n_ids].path = comm_names_add(files->names, path, path_bytes);
	to_hex(id, id_bytes, files->id[files->n_ids++].hex);
	files->sorted = false;
	return 0;
}

static struct known_file *file_of(struct comm_perfdata_files *files, uint32_t id)
{
	if (id >= files->n_files) {
		size_t n = files->n_files ? files->n_files : 64;
		struct known_file **bigger;

		while (n <= id)
			n *= 2;
		if (n > 2 * (size_t)FILES_MAX)
			return NULL;
		bigger = realloc(files->file, n * sizeof(struct known_file *));
		if (!bigger)
			return NULL;
		memset(bigger + files->n_files, 0,
		       (n - files->n_files) * sizeof(struct known_file *));
		files->file = bigger;
		files->n_files = n;
	}
	if (!files->file[id])
		files->file[id] = calloc(1, sizeof(*files->file[id]));
	return files->file[id];
}

int comm_perfdata_files_build_id_of(struct comm_perfdata_files *files, uint32_t file,
				    const void *id, size_t id_bytes)
{
	struct known_file *f = file ? file_of(files, file) : NULL;

	if (!f)
		return -ENOMEM;
	to_hex(id, id_bytes, f->hex);
	return 0;
}

/* Names are kept once each: equal ones are equal pointers. */
static int by_path(const void *a, const void *b)
{
	const struct known_id *x = a, *y = b;

	return ((uintptr_t)x->path > (uintptr_t)y->path) -
	       ((uintptr_t)x->path < (uintptr_t)y->path);
}

static const char *recorded_id(struct comm_perfdata_files *files, const char *path)
{
	const struct known_id key = {.path = path}, *found;

	if (!files->sorted && files->n_ids)
		qsort(files->id, files->n_ids, sizeof(*files->id), by_path);
	files->sorted = true;
	found = files->n_ids ? bsearch(&key, files->id, files->n_ids, sizeof(*files->id), by_path)
			     : NULL;
	return found ? found->hex : "";
}

static void take(struct comm_perfdata_files *files)
{
	struct comm_parsed parsed;

	while (comm_parser_next(files->parser, &parsed))
		comm_modules_take(files->modules, &parsed);
}

static bool may_wait(const struct comm_perfdata_files *files, uint64_t start_ns, uint64_t now_ns)
{
	return now_ns - start_ns < wait_ns && files->waited_ns + now_ns - start_ns < wait_all_ns;
}

/* The module of a file with its symbols, and with its lines and types where it has them. */
static int load(struct comm_perfdata_files *files, const struct comm_mapping *as,
		struct comm_module **ret)
{
	uint64_t start_ns = comm_clock_now_ns(), now_ns = start_ns;
	int err = -ENOENT;

	if (!files->modules)
		return err;
	do {
		err = comm_modules_get(files->modules, (uint32_t)getpid(), as, ret);
		if (err != -EAGAIN && err != -EINPROGRESS &&
		    (err || (!comm_parser_busy_with(files->parser, COMM_PARSE_LINES) &&
			     !comm_parser_busy_with(files->parser, COMM_PARSE_TYPES))))
			break;
		take(files);
		comm_parser_wait(files->parser, step_ns);
		take(files);
		now_ns = comm_clock_now_ns();
	} while (may_wait(files, start_ns, now_ns));
	files->waited_ns += now_ns - start_ns;
	return err;
}

/* The n-th place where a file may be on this machine, as a mapping by which it is opened. */
static bool place_of(struct comm_perfdata_files *files, const struct known_file *f,
		     const struct comm_mapping *m, unsigned int n, struct comm_mapping *ret)
{
	const char *home = getenv("HOME");
	char line[PATH_MAX];
	struct comm_mapping *parsed;
	size_t count = 0;

	*ret = *m;
	if (!*f->hex)
		return n == 0 && files->is_this && m->ino && m->path[0] == '/';
	/* Of no mapping of this process, and of any inode: the build-id tells. */
	ret->start = ret->end = ret->ino = 0;
	if (n == 1)
		return m->path[0] == '/';
	if (!home || *home != '/' || strlen(f->hex) < 3)
		return false;
	snprintf(line, sizeof(line), "0-1 r--p 0 0:0 0 %s/.debug/.build-id/%.2s/%s/elf", home,
		 f->hex, f->hex + 2);
	if (comm_maps_parse(files->maps, line, strlen(line), &parsed, &count))
		return false;
	if (count) {
		ret->path = parsed->path;
		ret->file = parsed->file;
	}
	free(parsed);
	return count;
}

static void look_for(struct comm_perfdata_files *files, struct known_file *f,
		     const struct comm_mapping *m)
{
	struct comm_module *module;
	struct comm_code code;

	f->looked = true;
	if (!*f->hex)
		snprintf(f->hex, sizeof(f->hex), "%s", recorded_id(files, m->path));
	for (unsigned int n = 0; n < PLACES && !f->is_here; n++) {
		if (!place_of(files, f, m, n, &f->as) || load(files, &f->as, &module))
			continue;
		comm_module_code(module, m, m->start, &code);
		f->is_here = !*f->hex || !strcmp(code.build_id, f->hex);
	}
	if (f->is_here || m->kind != COMM_MAP_FILE || !m->executable)
		return;
	if (!files->absent++)
		files->absent_path = m->path;
}

static struct known_file *here(struct comm_perfdata_files *files, const struct comm_mapping *m)
{
	struct known_file *f = m->file ? file_of(files, m->file) : NULL;

	if (!f || m->kind != COMM_MAP_FILE)
		return NULL;
	if (!f->looked)
		look_for(files, f, m);
	return f->is_here ? f : NULL;
}

int comm_perfdata_files_code(struct comm_perfdata_files *files, const struct comm_mapping *m,
			     uint64_t ip, struct comm_code *ret)
{
	const struct known_file *f = here(files, m), *known;
	const char *base = comm_maps_called(m);
	char name[COMM_NAME_BYTES];
	struct comm_module *module;
	int err = -ENOENT;

	if (f && !load(files, &f->as, &module)) {
		err = comm_module_code(module, m, ip, ret);
		ret->module = base;
		/* In perf's cache all files are called "elf". */
		if (!err && strncmp(ret->function, "elf+0x", 6) != 0)
			return 0;
	} else {
		known = m->file ? file_of(files, m->file) : NULL;
		*ret = (struct comm_code){
			.module = base,
			.build_id = known ? known->hex : "",
			.start = (ip - m->start + m->offset) & ~(uint64_t)(PAGE - 1),
		};
		ret->end = ret->start + PAGE;
	}
	snprintf(name, sizeof(name), "%.480s+0x%" PRIx64, base, ret->start);
	ret->function = comm_names_add(files->names, name, sizeof(name));
	return err;
}

int comm_perfdata_files_data(struct comm_perfdata_files *files, const struct comm_mapping *m,
			     uint64_t addr, struct comm_static *ret)
{
	const struct known_file *f = here(files, m);
	struct comm_module *module;
	int err;

	if (!f || load(files, &f->as, &module))
		return -ENOENT;
	err = comm_module_data(module, m, addr, ret);
	ret->module = comm_maps_called(m);
	return err;
}

ssize_t comm_perfdata_files_text(struct comm_perfdata_files *files, const struct comm_mapping *m,
				 uint64_t addr, void *buf, size_t len_bytes)
{
	struct known_file *f = files->is_x86 ? here(files, m) : NULL;
	ssize_t n;

	if (!f)
		return -ENOENT;
	if (!f->has_fd) {
		if (files->n_fds == FDS_MAX)
			return -EMFILE;
		f->fd = comm_foreign_regular(AT_FDCWD, f->as.path, RESOLVE_NO_MAGICLINKS, 0);
		if (f->fd < 0)
			return f->fd;
		f->has_fd = true;
		files->n_fds++;
	}
	if (addr < m->start || addr >= m->end || m->offset + (addr - m->start) > INT64_MAX)
		return -EFAULT;
	if (len_bytes > m->end - addr)
		len_bytes = m->end - addr;
	n = pread(f->fd, buf, len_bytes, (off_t)(m->offset + (addr - m->start)));
	return n < 0 ? -errno : n ? n : -EFAULT;
}

uint64_t comm_perfdata_files_absent(const struct comm_perfdata_files *files, const char **ret_path)
{
	*ret_path = files->absent_path;
	return files->absent;
}

uint64_t comm_perfdata_files_unread(const struct comm_perfdata_files *files)
{
	return files->modules ? comm_parser_lost(files->parser) + comm_modules_lost(files->modules)
			      : 0;
}
