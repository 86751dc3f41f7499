/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "module.h"

#include "demangle.h"
#include "dwjob.h"
#include "hash.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	BUCKETS = 256,
	LINES_CPU_MS = 2000,
	JOBS_MAX = 2,	  /* children at once */
	WAITING_MAX = 64, /* queued modules, each with its file open */
	VDSO_BYTES_MAX = 64 * 1024,
	PAGE = 4096,
};

static const off_t file_bytes_max = (off_t)2 << 30;

enum lines {
	LINES_NONE,    /* the module has no lines, or they are in memory */
	LINES_WANTED,  /* the queue was full: comm_modules_open() has to bring the file again */
	LINES_WAITING, /* in the queue, with the file open */
	LINES_COMING,  /* a child reads them */
};

struct comm_module {
	struct comm_module *next; /* in its hash bucket */
	struct comm_modules *modules;
	const char *name, *build_id;
	uint64_t size_bytes; /* of the file */
	uid_t owner;
	struct comm_elfsym *sym; /* NULL: not in memory */
	struct comm_dwline *lines;
	enum lines state;
	int lines_fd; /* LINES_WAITING */
	size_t bytes;
	uint64_t used; /* time of last use; the clock counts uses of all modules */
};

struct comm_modules {
	struct comm_names *names;
	struct comm_module *bucket[BUCKETS];
	struct comm_module *vdso;
	struct {
		struct comm_dwjob *dwjob;
		struct comm_module *module;
	} job[JOBS_MAX];
	struct comm_module *waiting[WAITING_MAX];
	size_t n_jobs, n_waiting;
	size_t bytes, max_bytes;
	uint64_t used, children_ns;
};

int comm_modules_create(struct comm_names *names, size_t max_bytes, struct comm_modules **ret)
{
	struct comm_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return -ENOMEM;
	modules->names = names;
	modules->max_bytes = max_bytes;
	*ret = modules;
	return 0;
}

static void job_end(struct comm_modules *modules, size_t i)
{
	modules->children_ns += comm_dwjob_cpu_ns(modules->job[i].dwjob);
	comm_dwjob_destroy(modules->job[i].dwjob);
	modules->job[i].module->state = LINES_NONE;
	modules->job[i] = modules->job[--modules->n_jobs];
}

static void waiting_end(struct comm_modules *modules, size_t i)
{
	close(modules->waiting[i]->lines_fd);
	modules->waiting[i]->state = LINES_NONE;
	modules->waiting[i] = modules->waiting[--modules->n_waiting];
}

static void unload(struct comm_module *module)
{
	struct comm_modules *modules = module->modules;

	for (size_t i = 0; module->state == LINES_COMING; i++)
		if (modules->job[i].module == module)
			job_end(modules, i);
	for (size_t i = 0; module->state == LINES_WAITING; i++)
		if (modules->waiting[i] == module)
			waiting_end(modules, i);
	module->state = LINES_NONE;
	comm_elfsym_destroy(module->sym);
	comm_dwline_destroy(module->lines);
	module->sym = NULL;
	module->lines = NULL;
	modules->bytes -= module->bytes;
	module->bytes = 0;
}

void comm_modules_destroy(struct comm_modules *modules)
{
	struct comm_module *next;

	if (!modules)
		return;
	if (modules->vdso) {
		unload(modules->vdso);
		free(modules->vdso);
	}
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct comm_module *m = modules->bucket[i]; m; m = next) {
			next = m->next;
			unload(m);
			free(m);
		}
	}
	free(modules);
}

const char *comm_module_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Frees tables, least recently used first, until all fit the limit; spares keep. */
static void make_room(struct comm_modules *modules, const struct comm_module *keep)
{
	while (modules->bytes > modules->max_bytes) {
		struct comm_module *oldest = NULL;

		for (size_t i = 0; i < BUCKETS; i++)
			for (struct comm_module *m = modules->bucket[i]; m; m = m->next)
				if (m != keep && m->sym && (!oldest || m->used < oldest->used))
					oldest = m;
		if (!oldest)
			return;
		unload(oldest);
	}
}

static int open_debug(int dir_fd, const char *path, bool in_root, const char *build_id)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		/* Symbolic links inside a container's root must not lead out of it. */
		.resolve = in_root ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0,
	};
	struct comm_elf_id id;
	struct stat st;
	int fd;

	fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= file_bytes_max &&
	    comm_elf_identify(fd, &id) == 0 && !strcmp(id.build_id, build_id))
		return fd;
	close(fd);
	return -1;
}

/* Opens the file with the debug symbols that a distribution stripped; -1: not found. */
static int find_debug(const struct comm_elf_id *id, int root_fd, const char *path)
{
	char name[PAGE];
	int dir_len = (int)(comm_module_base(path) - path), fd;

	if (strlen(id->build_id) < 3)
		return -1;
	snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%.2s/%s.debug", id->build_id,
		 id->build_id + 2);
	fd = open_debug(AT_FDCWD, name, false, id->build_id);
	if (fd < 0 && root_fd >= 0)
		fd = open_debug(root_fd, name, true, id->build_id);
	if (fd >= 0 || root_fd < 0 || !id->debuglink[0] || strchr(id->debuglink, '/'))
		return fd;
	for (int i = 0; i < 3 && fd < 0; i++) {
		static const char *const format[] = {
			"%.*s%s",
			"%.*s.debug/%s",
			"/usr/lib/debug%.*s%s",
		};

		snprintf(name, sizeof(name), format[i], dir_len, path, id->debuglink);
		fd = open_debug(root_fd, name, true, id->build_id);
	}
	return fd;
}

static uint32_t bucket_of(const char *build_id)
{
	return (uint32_t)(comm_hash_secret(build_id, strlen(build_id)) % BUCKETS);
}

/*
 * Any file can claim any build-id, so files share tables only when size and
 * owner agree: one user's file cannot name the functions of root's libc.
 */
static struct comm_module *lookup(struct comm_modules *modules, const struct comm_elf_id *id,
				  const struct stat *st, const char *name)
{
	for (struct comm_module *m = modules->bucket[bucket_of(id->build_id)]; m; m = m->next)
		if (!strcmp(m->build_id, id->build_id) && m->size_bytes == (uint64_t)st->st_size &&
		    m->owner == st->st_uid && (id->build_id[0] || m->name == name))
			return m;
	return NULL;
}

static void account(struct comm_module *module)
{
	struct comm_modules *modules = module->modules;

	modules->bytes -= module->bytes;
	module->bytes = comm_elfsym_bytes(module->sym);
	if (module->lines)
		module->bytes += comm_dwline_bytes(module->lines);
	modules->bytes += module->bytes;
	make_room(modules, module);
}

/* Starts children for queued modules, most recently used first: samples fall there. */
static void start_jobs(struct comm_modules *modules)
{
	while (modules->n_jobs < JOBS_MAX && modules->n_waiting) {
		struct comm_dwjob *dwjob = NULL;
		struct comm_module *module;
		size_t next = 0;

		for (size_t i = 1; i < modules->n_waiting; i++)
			if (modules->waiting[i]->used > modules->waiting[next]->used)
				next = i;
		module = modules->waiting[next];
		comm_dwjob_start(module->lines_fd, LINES_CPU_MS, &dwjob);
		waiting_end(modules, next);
		if (!dwjob)
			continue;
		module->state = LINES_COMING;
		modules->job[modules->n_jobs].module = module;
		modules->job[modules->n_jobs++].dwjob = dwjob;
	}
}

static void want_lines(struct comm_module *module, int fd)
{
	struct comm_modules *modules = module->modules;

	module->state = LINES_WANTED;
	if (modules->n_waiting == WAITING_MAX)
		return;
	module->lines_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (module->lines_fd < 0)
		return;
	module->state = LINES_WAITING;
	modules->waiting[modules->n_waiting++] = module;
	start_jobs(modules);
}

bool comm_modules_busy(const struct comm_modules *modules)
{
	return modules->n_jobs || modules->n_waiting;
}

void comm_modules_poll(struct comm_modules *modules)
{
	for (size_t i = 0; i < modules->n_jobs;) {
		struct comm_module *module = modules->job[i].module;
		int err = comm_dwjob_poll(modules->job[i].dwjob, &module->lines);

		if (err == -EAGAIN) {
			i++;
			continue;
		}
		/* On an error, such as no DWARF, the module just has no lines. */
		job_end(modules, i);
		if (!err) {
			account(module);
			/* account() may have freed modules and so ended other jobs: start over. */
			i = 0;
		}
	}
	start_jobs(modules);
}

uint64_t comm_modules_children_ns(const struct comm_modules *modules)
{
	return modules->children_ns;
}

int comm_modules_open(struct comm_modules *modules, int fd, int root_fd, const char *path,
		      struct comm_module **ret)
{
	struct comm_module *module;
	struct comm_elf_id id;
	const char *name, *base = comm_module_base(path);
	int debug_fd = -1, err;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > file_bytes_max)
		return -ENOEXEC;
	err = comm_elf_identify(fd, &id);
	if (err)
		return err;
	name = comm_names_add(modules->names, base, strlen(base));
	module = lookup(modules, &id, &st, name);
	/* Without a build-id the name may be another file's by now: read it again. */
	if (module && module->sym && id.build_id[0] && module->state != LINES_WANTED) {
		*ret = module;
		return 0;
	}
	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return -ENOMEM;
		module->modules = modules;
		module->name = name;
		module->build_id = comm_names_add(modules->names, id.build_id, strlen(id.build_id));
		module->size_bytes = (uint64_t)st.st_size;
		module->owner = st.st_uid;
		module->next = modules->bucket[bucket_of(id.build_id)];
		modules->bucket[bucket_of(id.build_id)] = module;
	}
	if (!id.has_symtab || !id.has_lines)
		debug_fd = find_debug(&id, root_fd, path);
	if (!module->sym || !id.build_id[0]) {
		unload(module);
		err = comm_elfsym_create(fd, debug_fd, &module->sym);
		if (!err)
			account(module);
	}
	if (!err) {
		module->used = ++modules->used;
		if (id.has_lines || debug_fd >= 0)
			want_lines(module, id.has_lines ? fd : debug_fd);
		else
			module->state = LINES_NONE;
		*ret = module;
	}
	if (debug_fd >= 0)
		close(debug_fd);
	return err;
}

/*
 * Every 64-bit process has the kernel's vdso; this process's own copy is one that
 * no target could have changed.
 */
int comm_modules_vdso(struct comm_modules *modules, struct comm_module **ret)
{
	const Elf64_Ehdr *image = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	struct comm_module *module = modules->vdso;
	size_t bytes;
	int err;

	if (module) {
		*ret = module;
		return 0;
	}
	if (!image)
		return -ENOENT;
	/* Section headers are at the end of the image. */
	bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (bytes < sizeof(*image) || bytes > VDSO_BYTES_MAX)
		return -ENOEXEC;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->modules = modules;
	module->name = "[vdso]";
	module->build_id = "";
	err = comm_elfsym_create_memory(image, bytes, &module->sym);
	if (err) {
		free(module);
		return err;
	}
	modules->vdso = module;
	*ret = module;
	return 0;
}

bool comm_module_ready(struct comm_module *module)
{
	if (!module->sym)
		return false;
	module->used = ++module->modules->used;
	return true;
}

bool comm_module_wants_file(const struct comm_module *module)
{
	return module->state == LINES_WANTED && module->modules->n_waiting < WAITING_MAX;
}

/* "a::b(int)@plt" of "_ZN1a1bEi@plt". */
static const char *readable(struct comm_modules *modules, const char *name)
{
	char clean[COMM_NAME_BYTES], mangled[PAGE];
	size_t len = strlen(name);

	if (len > 4 && len < sizeof(mangled) && !strcmp(name + len - 4, "@plt")) {
		memcpy(mangled, name, len - 4);
		mangled[len - 4] = 0;
		if (comm_demangle(mangled, clean, sizeof(clean) - 4) == clean) {
			strcat(clean, "@plt");
			return comm_names_add(modules->names, clean, sizeof(clean));
		}
	}
	return comm_names_add(modules->names, comm_demangle(name, clean, sizeof(clean)),
			      COMM_NAME_BYTES);
}

static const char *at_offset(struct comm_module *module, uint64_t start)
{
	char name[COMM_NAME_BYTES];

	snprintf(name, sizeof(name), "%.480s+0x%llx", module->name, (unsigned long long)start);
	return comm_names_add(module->modules->names, name, sizeof(name));
}

int comm_module_code(struct comm_module *module, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	struct comm_modules *modules = module->modules;
	uint64_t offset = ip - m->start + m->offset, vaddr;
	struct comm_symbol symbol;
	struct comm_line line;
	int err;

	if (!module->sym)
		return -ESTALE;
	*ret = (struct comm_code){.module = module->name, .build_id = module->build_id};
	if (module == modules->vdso)
		vaddr = ip - m->start;
	else if (comm_elfsym_vaddr(module->sym, offset, PF_X, &vaddr) < 0)
		vaddr = offset;
	err = comm_elfsym_function(module->sym, vaddr, &symbol);
	if (err) {
		/* Code without a symbol counts as a function per page, not one per sample. */
		ret->start = vaddr & ~(uint64_t)(PAGE - 1);
		ret->end = ret->start + PAGE;
		ret->function = at_offset(module, ret->start);
		return err;
	}
	ret->start = symbol.start;
	ret->end = symbol.end;
	ret->function =
		symbol.name ? readable(modules, symbol.name) : at_offset(module, symbol.start);
	ret->provisional = module->state != LINES_NONE;
	if (module->lines && comm_dwline_find(module->lines, vaddr, &line) == 0) {
		if (line.source)
			ret->source = comm_names_add(modules->names, line.source, COMM_NAME_BYTES);
		if (line.inlined)
			ret->inlined = readable(modules, line.inlined);
		ret->line = line.line;
	}
	return 0;
}

int comm_module_data(struct comm_module *module, const struct comm_mapping *file, uint64_t addr,
		     struct comm_static *ret)
{
	struct comm_modules *modules = module->modules;
	uint64_t vaddr, bias;
	struct comm_symbol symbol;
	int err;

	if (!module->sym)
		return -ESTALE;
	*ret = (struct comm_static){
		.name = "",
		.module = module->name,
		.build_id = module->build_id,
	};
	/* The differences may wrap: addresses below the first mapped byte do occur. */
	if (addr >= file->start && addr < file->end) {
		err = comm_elfsym_vaddr(module->sym, addr - file->start + file->offset,
					file->writable ? PF_W : 0, &vaddr);
		bias = addr - vaddr;
	} else {
		err = comm_elfsym_vaddr(module->sym, file->offset, PF_W, &vaddr);
		bias = file->start - vaddr;
	}
	if (err)
		return err;
	vaddr = addr - bias;
	err = comm_elfsym_variable(module->sym, vaddr, &symbol);
	if (err)
		err = comm_elfsym_section(module->sym, vaddr, &symbol);
	if (err)
		return err;
	ret->name = readable(modules, symbol.name ? symbol.name : "");
	ret->start = symbol.start + bias;
	ret->end = symbol.end + bias;
	return 0;
}
