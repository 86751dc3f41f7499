/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maps.h"
#include "keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum {
	FILES_MAX = 1 << 20, /* files told apart in one run; later ones have id 0 */
	PAGE = 4096,
	ZEROED_LEAST_BYTES = 2 << 20,
	PYTHON_MINOR_LEAST = 10,
	PYTHON_MINOR_MOST = 13,
	COPIES_MAX = 16, /* mappings that a file's copied text may be in pieces of */
};

/* The file of a row has its index and 1 as its id. */
struct mapped_file {
	uint64_t dev, ino;
	const char *path; /* of names: compared as a pointer */
};

struct comm_maps {
	struct comm_names *names;
	struct comm_keyed files;
};

int comm_maps_create(struct comm_names *names, struct comm_maps **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->names = names;
	return 0;
}

void comm_maps_destroy(struct comm_maps *maps)
{
	if (!maps)
		return;
	comm_keyed_deinit(&maps->files);
	free(maps);
}

static uint32_t file_id(struct comm_maps *maps, uint64_t dev, uint64_t ino, const char *path)
{
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct mapped_file, path),
						    .most = FILES_MAX, .hostile = true};
	const struct mapped_file file = {dev, ino, path};
	size_t at;

	return comm_keyed_at(&maps->files, &kind, &file, &at) ? 0 : (uint32_t)at + 1;
}

struct cursor {
	const char *at, *end;
};

static bool hex(struct cursor *c, uint64_t *ret)
{
	uint64_t value = 0;
	int digits = 0;

	for (; c->at < c->end; c->at++, digits++) {
		char ch = *c->at;

		if (ch >= '0' && ch <= '9')
			value = value << 4 | (uint64_t)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			value = value << 4 | (uint64_t)(ch - 'a' + 10);
		else
			break;
	}
	*ret = value;
	return digits > 0 && digits <= 16;
}

static bool decimal(struct cursor *c, uint64_t *ret)
{
	uint64_t value = 0;
	int digits = 0;

	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, digits++)
		value = value * 10 + (uint64_t)(*c->at - '0');
	*ret = value;
	return digits > 0 && digits <= 20;
}

static bool expect(struct cursor *c, char ch)
{
	if (c->at >= c->end || *c->at != ch)
		return false;
	c->at++;
	return true;
}

static bool starts(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

/* "/SYSV" and the key, of a file system without directories. */
static bool is_sysv(const struct comm_mapping *m)
{
	return m->shared && starts(m->path, "/SYSV") && !strchr(m->path + 1, '/');
}

static enum comm_mapping_kind kind_of(const struct comm_mapping *m)
{
	const char *p = m->path;

	if (!strcmp(p, "[heap]"))
		return COMM_MAP_HEAP;
	if (!strcmp(p, "[stack]"))
		return COMM_MAP_STACK;
	if (starts(p, "[vdso]") || starts(p, "[vvar") || starts(p, "[vsyscall]"))
		return COMM_MAP_VDSO;
	if (starts(p, "/memfd:") || starts(p, "/dev/zero") || starts(p, "/SYSV") ||
	    starts(p, "/dev/shm/") || starts(p, "/anon_hugepage") || starts(p, "[anon_shmem:"))
		/* Some runtimes map their generated code from a memfd. */
		return m->executable ? COMM_MAP_JIT : COMM_MAP_SHARED;
	if (m->ino || p[0] == '/')
		return COMM_MAP_FILE;
	return m->executable ? COMM_MAP_JIT : COMM_MAP_ANON;
}

static bool may_be_program(const struct comm_mapping *m)
{
	return !m->shared && (starts(m->path, "/memfd:") || starts(m->path, "/dev/shm/"));
}

/*
 * Memory with a name that is mapped as a program is, privately and in one piece, has one: where it holds
 * generated code it is shared, or that could not be written.
 */
static void find_programs(struct comm_mapping *map, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		bool executable = false;

		for (end = i; end < n && may_be_program(&map[end]) && map[end].file == map[i].file;
		     end++)
			executable |= map[end].executable;
		for (size_t k = i; executable && k < end; k++)
			map[k].kind = COMM_MAP_FILE;
		end += end == i;
	}
}

static const char *file_path(struct comm_maps *maps, const char *text, size_t len)
{
	static const char deleted[] = " (deleted)";
	const size_t n = sizeof(deleted) - 1;

	if (len > n && !memcmp(text + len - n, deleted, n))
		len -= n;
	return comm_names_add(maps->names, text, len);
}

/* "7f00-7f10 r-xp 00001000 fd:01 123   /usr/lib/libc.so.6 (deleted)" */
static bool parse_line(struct comm_maps *maps, const char *line, size_t len, struct comm_mapping *m)
{
	struct cursor c = {line, line + len};
	uint64_t major, minor;
	const char *mode;

	memset(m, 0, sizeof(*m));
	if (!hex(&c, &m->start) || !expect(&c, '-') || !hex(&c, &m->end) || !expect(&c, ' '))
		return false;
	if (m->start >= m->end || c.end - c.at < 5)
		return false;
	mode = c.at;
	c.at += 4;
	if (!expect(&c, ' ') || !hex(&c, &m->offset) || !expect(&c, ' ') || !hex(&c, &major) ||
	    !expect(&c, ':') || !hex(&c, &minor) || !expect(&c, ' ') || !decimal(&c, &m->ino))
		return false;
	m->readable = mode[0] == 'r';
	m->writable = mode[1] == 'w';
	m->executable = mode[2] == 'x';
	m->shared = mode[3] == 's';
	m->dev = makedev((unsigned int)major, (unsigned int)minor);
	while (c.at < c.end && *c.at == ' ')
		c.at++;
	m->path = file_path(maps, c.at, (size_t)(c.end - c.at));
	m->kind = kind_of(m);
	if (is_sysv(m))
		m->dev = COMM_MAPS_SYSV;
	if (m->ino || m->path[0] == '/' || m->kind == COMM_MAP_VDSO)
		m->file = file_id(maps, m->dev, m->ino, m->path);
	return true;
}

static bool has_room(struct comm_maps_list *list)
{
	size_t more = list->capacity ? list->capacity * 2 : 64;
	struct comm_mapping *bigger;

	if (list->n < list->capacity)
		return true;
	bigger = realloc(list->map, more * sizeof(*list->map));
	if (!bigger)
		return false;
	list->map = bigger;
	list->capacity = more;
	return true;
}

int comm_maps_add(struct comm_maps *maps, const char *text, size_t text_bytes,
		  struct comm_maps_list *list)
{
	const char *at = text, *end = text + text_bytes;

	while (at < end && list->n < COMM_MAPS_MAX) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		struct comm_mapping *m;

		if (!has_room(list))
			return -ENOMEM;
		m = &list->map[list->n];
		if (parse_line(maps, at, len, m) && (!list->n || m->start >= m[-1].end))
			list->n++;
		if (!eol)
			break;
		at = eol + 1;
	}
	return 0;
}

void comm_maps_end(struct comm_maps_list *list)
{
	struct comm_mapping *fitting;

	find_programs(list->map, list->n);
	fitting = list->n ? realloc(list->map, list->n * sizeof(*list->map)) : NULL;
	if (!fitting)
		return;
	list->map = fitting;
	list->capacity = list->n;
}

int comm_maps_parse(struct comm_maps *maps, const char *text, size_t text_bytes,
		    struct comm_mapping **ret, size_t *ret_n)
{
	struct comm_maps_list list = {0};
	int err = comm_maps_add(maps, text, text_bytes, &list);

	if (err) {
		free(list.map);
		return err;
	}
	comm_maps_end(&list);
	*ret = list.map;
	*ret_n = list.n;
	return 0;
}

static bool is_heap(const struct comm_mapping *map, size_t n, size_t i)
{
	return i < n && map[i].kind == COMM_MAP_HEAP;
}

struct comm_mapping comm_maps_whole_heap(const struct comm_mapping *map, size_t n,
					 const struct comm_mapping *at)
{
	struct comm_mapping m = *at;
	size_t i = (size_t)(at - map);

	for (; i && is_heap(map, n, i - 1) && map[i - 1].end == m.start; i--)
		m.start = map[i - 1].start;
	i = (size_t)(at - map);
	for (; is_heap(map, n, i + 1) && map[i + 1].start == m.end; i++)
		m.end = map[i + 1].end;
	return m;
}

static bool is_copy(const struct comm_mapping *m)
{
	return m->kind == COMM_MAP_JIT && !m->shared;
}

const struct comm_mapping *comm_maps_around(const struct comm_mapping *map, size_t n, uint64_t addr,
					    bool next)
{
	const struct comm_mapping *m = comm_maps_at(map, n, addr), *last = map + n - 1;

	for (int i = 0; m && is_copy(m) && i < COPIES_MAX; i++) {
		if (next)
			m = m < last && m[1].start == m->end ? m + 1 : NULL;
		else
			m = m > map && m[-1].end == m->start ? m - 1 : NULL;
	}
	return m && m->kind == COMM_MAP_FILE && m->file && !m->shared ? m : NULL;
}

bool comm_maps_has_sysv(const struct comm_mapping *map, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (map[i].dev & COMM_MAPS_SYSV)
			return true;
	return false;
}

void comm_maps_set_ipc(struct comm_maps *maps, struct comm_mapping *map, size_t n, uint64_t ipc)
{
	for (size_t i = 0; i < n; i++) {
		struct comm_mapping *m = &map[i];

		if (!(m->dev & COMM_MAPS_SYSV))
			continue;
		m->dev = COMM_MAPS_SYSV | ipc;
		m->file = file_id(maps, m->dev, m->ino, m->path);
	}
}

const struct comm_mapping *comm_maps_at(const struct comm_mapping *map, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < map[mid].end)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < n && addr >= map[lo].start ? &map[lo] : NULL;
}

/* "python3.11", "libpython3.11.so.1.0"; but not "python3.13t", whose threads run at once. */
static unsigned int python_minor(const struct comm_mapping *m)
{
	const char *slash = strrchr(m->path, '/'), *base = slash ? slash + 1 : m->path;
	unsigned long minor;
	char *end;

	if (m->kind != COMM_MAP_FILE)
		return 0;
	if (!strncmp(base, "lib", 3))
		base += 3;
	if (strncmp(base, "python3.", 8) != 0)
		return 0;
	minor = strtoul(base + 8, &end, 10);
	return minor >= PYTHON_MINOR_LEAST && minor <= PYTHON_MINOR_MOST &&
			       (!*end || !strncmp(end, ".so", 3))
		       ? (unsigned int)minor
		       : 0;
}

bool comm_maps_is_python(const struct comm_mapping *m)
{
	return python_minor(m);
}

unsigned int comm_maps_python_minor(const struct comm_mapping *map, size_t n)
{
	unsigned int minor = 0;

	for (size_t i = 0; i < n && !minor; i++)
		if (!i || map[i].path != map[i - 1].path)
			minor = python_minor(&map[i]);
	return minor;
}

bool comm_maps_has_python(const struct comm_mapping *map, size_t n)
{
	return comm_maps_python_minor(map, n);
}

size_t comm_maps_zeroed(const struct comm_mapping *map, size_t n,
			struct comm_range ret[COMM_ZEROED_MAX])
{
	size_t found = 0;

	for (size_t i = 1; i < n && found < COMM_ZEROED_MAX; i++) {
		const struct comm_mapping *file = &map[i - 1], *m = &map[i];

		if (m->kind == COMM_MAP_ANON && m->writable && !m->shared && !m->path[0] &&
		    m->end - m->start >= ZEROED_LEAST_BYTES - PAGE && file->kind == COMM_MAP_FILE &&
		    file->writable && !file->shared && file->end == m->start)
			ret[found++] = (struct comm_range){m->start - PAGE, m->end};
	}
	return found;
}

const char *comm_maps_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

const char *comm_maps_path(struct comm_maps *maps, const char *path)
{
	return file_path(maps, path, strlen(path));
}

void comm_maps_name_program(struct comm_mapping *map, size_t n, const char *path, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (map[i].kind == COMM_MAP_FILE && map[i].path == path)
			map[i].name = name;
}

const char *comm_maps_called(const struct comm_mapping *m)
{
	return m->name ? m->name : comm_maps_base(m->path);
}
