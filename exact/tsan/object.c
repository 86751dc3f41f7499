// SPDX-License-Identifier: GPL-2.0-or-later
#include "object.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exact.h"
#include "mark.h"
#include "symbol.h"
#include "text.h"

enum {
	PAGE_BYTES = 4096,
	/* What one page of comm_objects says it of. */
	UNIT_BYTES = PAGE_BYTES / sizeof(uint16_t) * 8,
	LARGE_BYTES = 4 * UNIT_BYTES,
	KIND_SHIFT = 56,
	TEXT_BYTES = 1 << 20,
	PATH_BYTES = 512,
	STACK_ABOVE_BYTES = 1 << 20, /* where a thread stands when it is first met */
	STACK_BYTES_MAX = 64 << 20,
	NAMED = 64, /* pieces of memory at a time, as in <comm/mark.h> */
	NAMED_BYTES = 63,
};

/* Whoever maps more reserves addresses: it is not said of them what they are. */
#define MAPPED_BYTES_MAX ((size_t)1 << 38)

struct object_table {
	struct comm_exact_object object[COMM_EXACT_OBJECTS];
	uint32_t text_fill;
	char text[TEXT_BYTES];
};

_Static_assert(COMM_EXACT_OBJECTS - 1 <= UINT16_MAX, "what is kept of an object's number");

static uint32_t *page_objects; /* of whole pages */
static struct object_table *table;

static const uint64_t value_bits = ((uint64_t)1 << KIND_SHIFT) - 1;

/* By number: the name is interposed (mapping.c).  NULL: there is no room. */
static void *map(uint64_t addr, size_t bytes, int flags)
{
	void *p = (void *)syscall(SYS_mmap, addr, bytes, PROT_READ | PROT_WRITE,
				  flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	syscall(SYS_madvise, p, bytes, MADV_DONTDUMP);
	syscall(SYS_madvise, p, bytes, MADV_NOHUGEPAGE);
	return p;
}

void comm_objects_init(void)
{
	static const char what[] = "comm-exact: no room for the objects\n";
	const size_t granules = (size_t)1 << (COMM_SHADOW_BITS - 3);
	const size_t pages = ((size_t)1 << COMM_SHADOW_BITS) / PAGE_BYTES;
	struct object_table *shared;
	void *objects;

	if (table)
		return;
	objects = map(COMM_OBJECTS, granules * sizeof(uint16_t), MAP_PRIVATE | MAP_FIXED_NOREPLACE);
	page_objects = map(0, pages * sizeof(*page_objects), MAP_PRIVATE);
	shared = map(0, sizeof(*shared), MAP_SHARED);
	if (objects != (void *)COMM_OBJECTS || !page_objects || !shared) {
		syscall(SYS_write, 2, what, sizeof(what) - 1);
		for (;;)
			syscall(SYS_exit_group, 1);
	}
	shared->object[COMM_EXACT_OBJECT_UNKNOWN].key = (uint64_t)COMM_EXACT_OBJECT_ANON
							<< KIND_SHIFT;
	__atomic_store_n(&table, shared, __ATOMIC_RELEASE);
}

static uint32_t id_of(enum comm_exact_object_kind kind, uint64_t value)
{
	uint64_t key = (uint64_t)kind << KIND_SHIFT | (value & value_bits);
	uint64_t hash = key * 0x9e3779b97f4a7c15u;
	uint32_t i = hash >> 40 & (COMM_EXACT_OBJECTS - 1), tries;

	for (tries = 0; tries < COMM_EXACT_OBJECTS / 2; tries++) {
		uint64_t *slot, old = 0;

		if (i < COMM_EXACT_OBJECT_FIRST)
			i = COMM_EXACT_OBJECT_FIRST;
		slot = &table->object[i].key;
		if (*slot == key ||
		    __atomic_compare_exchange_n(slot, &old, key, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    old == key)
			return i;
		i = (i + 1) & (COMM_EXACT_OBJECTS - 1);
	}
	return COMM_EXACT_OBJECT_UNKNOWN;
}

static uint32_t *page_of(uint64_t addr)
{
	return page_objects + comm_shadow_bits(addr) / PAGE_BYTES;
}

/* Of each eight bytes by themselves. */
static void set_finely(uint64_t addr, size_t len_bytes, uint32_t id)
{
	uint16_t *at = comm_object_at(addr), *end = comm_object_at(addr + len_bytes - 1);

	for (; at <= end; at++)
		*at = id;
}

static void set(uint64_t addr, size_t len_bytes, uint32_t id)
{
	uint64_t end = addr + len_bytes, from, to, at;

	if (len_bytes < LARGE_BYTES) {
		set_finely(addr, len_bytes, id);
		return;
	}
	from = (addr + UNIT_BYTES - 1) & -(uint64_t)UNIT_BYTES;
	to = end & -(uint64_t)UNIT_BYTES;
	if (from > addr)
		set_finely(addr, from - addr, id);
	if (end > to)
		set_finely(to, end - to, id);
	for (at = from; at < to; at += PAGE_BYTES)
		*page_of(at) = id;
	/* It reads as zero from now on: not known yet. */
	syscall(SYS_madvise, comm_object_at(from), (to - from) / 8 * sizeof(uint16_t),
		MADV_DONTNEED);
}

/* Where the object that was set for this range is still there, another one is.  Pages' may stand at eight bytes, too. */
static void replace(uint64_t addr, size_t len_bytes, uint32_t old, uint32_t id)
{
	uint16_t *word = comm_object_at(addr), *last = comm_object_at(addr + len_bytes - 1);
	uint64_t to = (addr + len_bytes) & -(uint64_t)UNIT_BYTES, at;

	for (; word <= last; word++)
		if (*word == old)
			*word = id;
	if (len_bytes < LARGE_BYTES)
		return;
	for (at = (addr + UNIT_BYTES - 1) & -(uint64_t)UNIT_BYTES; at < to; at += PAGE_BYTES)
		if (*page_of(at) == old)
			*page_of(at) = id;
}

void comm_object_allocated(uint64_t addr, size_t len_bytes, uint64_t pc)
{
	struct comm_exact_object *object;
	uint32_t id;

	/* The loader allocates before there is anything here. */
	if (!table)
		return;
	id = id_of(COMM_EXACT_OBJECT_HEAP, pc);
	object = &table->object[id];
	__atomic_fetch_add(&object->size_bytes, len_bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&object->blocks, 1, __ATOMIC_RELAXED);
	set(addr, len_bytes, id);
}

/* Keeps a name; NULL: no room. */
static const char *keep(const char *name)
{
	size_t bytes = comm_text_bytes(name, TEXT_BYTES) + 1, i;
	uint32_t at = __atomic_fetch_add(&table->text_fill, bytes, __ATOMIC_RELAXED);

	if (at + bytes > TEXT_BYTES)
		return NULL;
	for (i = 0; i < bytes; i++)
		table->text[at + i] = name[i];
	return table->text + at;
}

static uint32_t file_object(int fd)
{
	char link[32], path[PATH_BYTES];
	struct stat st;
	ssize_t n;
	uint32_t id;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || fstat(fd, &st))
		return COMM_EXACT_OBJECT_UNKNOWN;
	path[n] = 0;
	id = id_of(COMM_EXACT_OBJECT_SHARED, st.st_ino ^ (uint64_t)st.st_dev << 40);
	if (id != COMM_EXACT_OBJECT_UNKNOWN && !table->object[id].name)
		table->object[id].name = keep(path);
	return id;
}

static void set_pages(uint64_t addr, size_t len_bytes, uint32_t id)
{
	uint64_t at, end = addr + len_bytes;

	comm_object_unmapped(addr, len_bytes);
	__atomic_fetch_add(&table->object[id].size_bytes, len_bytes, __ATOMIC_RELAXED);
	for (at = addr; at < end; at += PAGE_BYTES)
		*page_of(at) = id;
}

void comm_object_mapped(uint64_t addr, size_t len_bytes, uint64_t pc, int fd)
{
	if (!table || !len_bytes || len_bytes > MAPPED_BYTES_MAX)
		return;
	set_pages(addr, len_bytes, fd < 0 ? id_of(COMM_EXACT_OBJECT_ANON, pc) : file_object(fd));
}

void comm_object_segment(uint64_t addr, size_t len_bytes, int segment)
{
	char name[32];
	uint32_t id;

	if (!table || !len_bytes || len_bytes > MAPPED_BYTES_MAX)
		return;
	id = id_of(COMM_EXACT_OBJECT_SHARED, (uint64_t)1 << (KIND_SHIFT - 1) | (uint32_t)segment);
	snprintf(name, sizeof(name), "SYSV segment %d", segment);
	if (id != COMM_EXACT_OBJECT_UNKNOWN && !table->object[id].name)
		table->object[id].name = keep(name);
	set_pages(addr, len_bytes, id);
}

static uint32_t marked_object(const char *name)
{
	char kept[NAMED_BYTES + 1];
	uint64_t hash = 0;
	uint32_t id, i;

	for (i = 0; i < NAMED_BYTES && name[i]; i++) {
		kept[i] = name[i];
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3;
	}
	kept[i] = 0;
	id = id_of(COMM_EXACT_OBJECT_MARKED, hash);
	if (id != COMM_EXACT_OBJECT_UNKNOWN && !table->object[id].name)
		table->object[id].name = keep(kept);
	return id;
}

/* What was named, as which object, and the one it was of before. */
static struct named {
	uint64_t start; /* 0: free */
	size_t len_bytes;
	uint32_t id, before;
} named[NAMED];

static void name_no_more(struct named *of)
{
	/* What was allocated or mapped there since is another object already. */
	replace(of->start, of->len_bytes, of->id, of->before);
	__atomic_store_n(&of->start, 0, __ATOMIC_RELEASE);
}

void comm_exact_name(const void *start, uint64_t bytes, const char *name)
{
	uint64_t addr = (uint64_t)start, none;
	uint32_t i;

	comm_exact_init();
	for (i = 0; i < NAMED; i++)
		if (start && named[i].start == addr)
			name_no_more(&named[i]);
	for (i = 0; start && bytes && name && i < NAMED; i++) {
		none = 0;
		if (!__atomic_compare_exchange_n(&named[i].start, &none, addr, 0, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		named[i].len_bytes = bytes;
		named[i].id = marked_object(name);
		named[i].before = comm_object_of(addr);
		set(addr, bytes, named[i].id);
		return;
	}
}

void comm_object_moved(uint64_t from, uint64_t to, size_t len_bytes)
{
	size_t done, i;

	if (!table || len_bytes > MAPPED_BYTES_MAX)
		return;
	for (done = 0; done < len_bytes; done += PAGE_BYTES) {
		const uint16_t *old = comm_object_at(from + done);
		uint16_t *now = comm_object_at(to + done);

		*page_of(to + done) = *page_of(from + done);
		for (i = 0; i < PAGE_BYTES / 8; i++)
			if (old[i] != now[i])
				now[i] = old[i];
	}
}

void comm_object_unmapped(uint64_t addr, size_t len_bytes)
{
	uint64_t end, from, to, at;

	if (!table || !len_bytes || len_bytes > MAPPED_BYTES_MAX)
		return;
	end = (addr + len_bytes + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
	from = (addr + UNIT_BYTES - 1) & -(uint64_t)UNIT_BYTES;
	to = end & -(uint64_t)UNIT_BYTES;
	for (at = addr; at < end; at += PAGE_BYTES)
		if (*page_of(at))
			*page_of(at) = 0;
	if (from >= to) {
		set_finely(addr, end - addr, 0);
		return;
	}
	if (from > addr)
		set_finely(addr, from - addr, 0);
	if (end > to)
		set_finely(to, end - to, 0);
	syscall(SYS_madvise, comm_object_at(from), (to - from) / 8 * sizeof(uint16_t),
		MADV_DONTNEED);
}

/*
 * The mapping that an address is in, read from the kernel piece by piece: a signal may have
 * brought us here from within malloc(), so nothing may be allocated.  0: there is none.
 */
static int mapping_of(uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	int fd = syscall(SYS_openat, -100, "/proc/self/maps", 0), found = 0;
	uint64_t value = 0, start = 0;
	char text[1024];
	long n = 1, i;
	enum { START, END, REST } in = START;

	while (fd >= 0 && !found && (n = syscall(SYS_read, fd, text, sizeof(text))) > 0) {
		for (i = 0; i < n && !found; i++) {
			char c = text[i];

			if (c == '\n') {
				in = START;
				value = 0;
			} else if (in == START && c == '-') {
				start = value;
				value = 0;
				in = END;
			} else if (in == END && c == ' ') {
				found = addr >= start && addr < value;
				in = REST;
			} else if (in != REST) {
				value = value << 4 | (c <= '9' ? c - '0' : c - 'a' + 10);
			}
		}
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	*ret_start = start;
	*ret_end = value;
	return found;
}

void comm_object_stack(uint32_t slot)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0), start, end, at;
	uint32_t id = id_of(COMM_EXACT_OBJECT_STACK, slot);

	if (!mapping_of(sp, &start, &end))
		return;
	/* The kernel joins mappings that touch: a stack ends a little above where its thread begins. */
	if (end - sp > STACK_ABOVE_BYTES)
		end = (sp & -(uint64_t)PAGE_BYTES) + STACK_ABOVE_BYTES;
	if (sp - start > STACK_BYTES_MAX)
		start = (sp & -(uint64_t)PAGE_BYTES) - STACK_BYTES_MAX;
	comm_object_unmapped(start, end - start);
	for (at = start; at < end; at += PAGE_BYTES)
		*page_of(at) = id;
}

/* A stack that has grown since its thread was met. */
static uint32_t grown_stack(uint64_t addr)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0), at;

	if (addr < sp || addr - sp > STACK_BYTES_MAX)
		return 0;
	for (at = addr; at - addr < STACK_ABOVE_BYTES; at += PAGE_BYTES) {
		uint32_t id = *page_of(at);

		if (id)
			return table->object[id].key >> KIND_SHIFT == COMM_EXACT_OBJECT_STACK ? id
											      : 0;
	}
	return 0;
}

uint32_t comm_object_find(uint64_t addr)
{
	uint64_t start, size_bytes, page = addr & -(uint64_t)PAGE_BYTES;
	uint32_t id = *page_of(addr);

	if (id) {
		*comm_object_at(addr) = id;
		return id;
	}
	switch (comm_exact_variable(addr, &start, &size_bytes)) {
	case COMM_EXACT_VARIABLE:
		id = id_of(COMM_EXACT_OBJECT_STATIC, start);
		table->object[id].size_bytes = size_bytes;
		set(start, size_bytes, id);
		/* Its first and last eight bytes may be another's, too, or it has been large and is not said yet. */
		*comm_object_at(addr) = id;
		return id;
	case COMM_EXACT_NO_VARIABLE:
		/* As far as this page: a table without a name may be as large as any. */
		if (start < page) {
			size_bytes -= page - start;
			start = page;
		}
		if (start + size_bytes > page + PAGE_BYTES)
			size_bytes = page + PAGE_BYTES - start;
		id = id_of(COMM_EXACT_OBJECT_DATA, page);
		set_finely(start, size_bytes, id);
		*comm_object_at(addr) = id;
		return id;
	default:
		id = grown_stack(addr);
		if (!id)
			id = COMM_EXACT_OBJECT_UNKNOWN;
		*comm_object_at(addr) = id;
		return id;
	}
}

const struct comm_exact_object *comm_exact_object(uint32_t id)
{
	return table && id < COMM_EXACT_OBJECTS && table->object[id].key ? &table->object[id]
									 : NULL;
}

enum comm_exact_object_kind comm_exact_object_kind(const struct comm_exact_object *object)
{
	return object->key >> KIND_SHIFT;
}

uint64_t comm_exact_object_start(const struct comm_exact_object *object)
{
	return object->key & value_bits;
}
