// SPDX-License-Identifier: GPL-2.0-or-later
#include "object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "hash.h"
#include "keyed.h"
#include "names.h"
#include "process_lru.h"
#include "stack.h"

enum {
	OBJECTS_MAX = 1 << 18,
	/* With more, thousands of short-lived processes would use up the ids. */
	OBJECTS_APART = OBJECTS_MAX / 4,
	NAMES_BYTES_MAX = 64 << 20,
	SPACES_MAX = 1 << 16,
	FILE_SPACES_MAX = 1 << 15, /* never given back */
	HOT_SLOTS = 8192,
	CACHES = 3,
	TIDS = 4096,
	MERGE_MAX = 16, /* neighbouring mappings looked at on each side */
	PAGE = 4096,
	LABEL_BYTES = 41, /* of an object's name that is made here, with its NUL */
};

/* Each slot of a cache covers 1 << shift bytes: large mappings, small ones, variables. */
static const unsigned int cache_shift[CACHES] = {20, 12, 6};

static const uint64_t offset_mask = ((uint64_t)1 << COMM_DATUM_SPACE_SHIFT) - 1;
/*
 * Anonymous memory of less than this is a chunk of malloc's, an allocator's tables, a
 * runtime's scratch: there are hundreds, they come and go, and none has a name that
 * would identify it.  A buffer or heap that a program set up itself is larger.  Small
 * pieces share a name, not an object: no evidence is spread from one to another.
 */
static const uint64_t small_bytes = 1 << 20;
static const uint64_t arena_bytes = 64 << 20; /* of glibc's malloc, aligned to it */

/* Which cache an answer may go to. */
enum keep {
	KEEP_NOT, /* a file is still being read: another answer may come soon */
	KEEP_PIECE,
	KEEP_WHOLE, /* the answer is for a whole mapping */
};

/* Bytes that a process gave a name. */
struct marked_range {
	uint64_t start, end; /* end 0: none */
	const char *name;
};

struct object_process {
	struct comm_process_lru_entry lru;
	uint32_t space;
	bool apart; /* its variables are objects of its own */
	struct comm_stacks stacks;
	struct marked_range *marked; /* COMM_NAMED_MAX of them; NULL: there never was one */
};

/* Addresses of one process that mean the same object. */
struct hot_range {
	uint64_t start, end;
	uint64_t base; /* see base_of() */
	uint32_t tgid, generation, epoch;
	uint32_t object;
};

/* A thread whose stack is known. */
struct in_stack {
	uint64_t start, end;
	uint32_t tgid, tid, generation;
};

struct file_space {
	uint64_t dev, ino;
	uint32_t space;
};

/* Of an object; its id is the index of the row and 1. */
struct object_key {
	uint64_t hash;
	uint32_t kind;
};

struct comm_objects {
	const struct comm_inspect *inspect;
	struct comm_names *names;
	/* Mapped at full size: pages are allocated when touched, and no object ever moves. */
	struct comm_object *object;
	struct comm_keyed keys;
	uint32_t n;
	uint64_t n_unfiled;
	struct comm_process_lru processes;
	struct comm_keyed file_spaces;
	uint32_t n_spaces;    /* given out so far */
	uint16_t *free_space; /* a ring of free space ids: the one freed first is reused first */
	uint32_t free_head, n_free;
	/* Grows when a stack gets another owner, which invalidates cached ranges. */
	uint32_t epoch;
	struct hot_range *hot[CACHES];
	struct in_stack *in_stack;
};

/* The target chooses names: with a hash that it could foretell, two would become one object. */
static uint64_t secret_of(const char *name)
{
	return comm_hash_secret(name, strlen(name));
}

/* The base that makes an address of a space a datum: space id, and offset of address 0. */
static uint64_t base_of(uint64_t space, uint64_t offset)
{
	return space << COMM_DATUM_SPACE_SHIFT | (offset & offset_mask);
}

static uint64_t datum_of(uint64_t base, uint64_t addr)
{
	return (base & ~offset_mask) | ((base + addr) & offset_mask);
}

static void forget_process(void *ctx, struct comm_process_lru_entry *kept)
{
	struct object_process *p = (struct object_process *)kept;

	(void)ctx;
	comm_stacks_deinit(&p->stacks);
	free(p->marked);
}

int comm_objects_create(const struct comm_inspect *inspect, struct comm_objects **ret)
{
	struct comm_objects *objects = calloc(1, sizeof(*objects));
	int err;

	if (!objects)
		return -ENOMEM;
	objects->inspect = inspect;
	comm_process_lru_init(&objects->processes, 0, sizeof(struct object_process), forget_process,
			      NULL);
	objects->object = calloc(OBJECTS_MAX, sizeof(*objects->object));
	objects->free_space = calloc(SPACES_MAX, sizeof(*objects->free_space));
	for (size_t i = 0; i < CACHES; i++)
		objects->hot[i] = calloc(HOT_SLOTS, sizeof(*objects->hot[i]));
	objects->in_stack = calloc(TIDS, sizeof(*objects->in_stack));
	err = comm_names_create(NAMES_BYTES_MAX, &objects->names);
	if (err || !objects->object || !objects->free_space || !objects->hot[0] ||
	    !objects->hot[1] || !objects->hot[2] || !objects->in_stack) {
		comm_objects_destroy(objects);
		return -ENOMEM;
	}
	objects->object[objects->n++] =
		(struct comm_object){.name = "(other)", .module = "", .build_id = ""};
	objects->n_spaces = 1; /* space 0 is none */
	*ret = objects;
	return 0;
}

void comm_objects_destroy(struct comm_objects *objects)
{
	if (!objects)
		return;
	comm_process_lru_deinit(&objects->processes);
	comm_names_destroy(objects->names);
	free(objects->object);
	comm_keyed_deinit(&objects->keys);
	comm_keyed_deinit(&objects->file_spaces);
	free(objects->free_space);
	for (size_t i = 0; i < CACHES; i++)
		free(objects->hot[i]);
	free(objects->in_stack);
	free(objects);
}

static uint32_t new_space(struct comm_objects *objects)
{
	uint32_t id;

	if (objects->n_spaces < SPACES_MAX)
		return objects->n_spaces++;
	if (!objects->n_free)
		return 0;
	id = objects->free_space[objects->free_head];
	objects->free_head = (objects->free_head + 1) % SPACES_MAX;
	objects->n_free--;
	return id;
}

static void free_space(struct comm_objects *objects, uint32_t id)
{
	objects->free_space[(objects->free_head + objects->n_free++) % SPACES_MAX] = (uint16_t)id;
}

static struct object_process *process_get(struct comm_objects *objects, uint32_t tgid)
{
	struct object_process *p = comm_process_lru_get(&objects->processes, tgid);

	if (p && !p->space) {
		p->space = new_space(objects);
		p->apart = objects->n < OBJECTS_APART;
		if (!p->space) {
			comm_process_lru_drop(&objects->processes, tgid);
			return NULL;
		}
	}
	return p;
}

void comm_objects_mark(struct comm_objects *objects, uint32_t tgid, uint32_t slot, uint64_t start,
		       uint64_t size_bytes, const char *name)
{
	struct object_process *p = process_get(objects, tgid);
	uint64_t end = size_bytes && start <= UINT64_MAX - size_bytes ? start + size_bytes : 0;

	if (!p || slot >= COMM_NAMED_MAX)
		return;
	if (!p->marked)
		p->marked = calloc(COMM_NAMED_MAX, sizeof(*p->marked));
	if (!p->marked)
		return;
	p->marked[slot] = (struct marked_range){
		start, end, comm_names_add(objects->names, name, COMM_NAME_BYTES)};
	/* Answers that are cached may be of more bytes than before. */
	objects->epoch++;
}

void comm_objects_drop(struct comm_objects *objects, uint32_t tgid)
{
	const struct object_process *p = comm_process_lru_known(&objects->processes, tgid);

	if (!p)
		return;
	free_space(objects, p->space);
	comm_process_lru_drop(&objects->processes, tgid);
}

/* The space id of a shared file; 0: there are too many shared files. */
static uint32_t file_space(struct comm_objects *objects, const struct comm_mapping *m)
{
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct file_space, ino),
						    .hostile = true};
	const struct file_space key = {m->dev, m->ino, 0};
	struct file_space *file = comm_keyed_find(&objects->file_spaces, &kind, &key);
	uint32_t space;
	size_t at;

	if (file)
		return file->space;
	space = objects->file_spaces.n < FILE_SPACES_MAX ? new_space(objects) : 0;
	if (!space)
		return 0;
	if (comm_keyed_at(&objects->file_spaces, &kind, &key, &at)) {
		free_space(objects, space);
		return 0;
	}
	file = comm_keyed_row(&objects->file_spaces, &kind, at);
	return file->space = space;
}

/* The id of the object with that hash; a new one becomes *o, its name copied. */
static uint32_t object_id(struct comm_objects *objects, uint64_t hash, const struct comm_object *o)
{
	static const struct comm_keyed_kind kind = {COMM_KEYED_BYTES(struct object_key, kind),
						    .most = OBJECTS_MAX - 1, .hostile = true};
	const struct object_key key = {hash, o->kind};
	struct comm_object *have;
	uint64_t end, o_end;
	size_t at;

	if (comm_keyed_at(&objects->keys, &kind, &key, &at)) {
		objects->n_unfiled++;
		return COMM_ID_OTHER;
	}
	have = &objects->object[++at];
	if (at < objects->n) {
		/* A heap grows upwards, a stack downwards. */
		end = have->start + have->size_bytes;
		o_end = o->start + o->size_bytes;
		if (o->kind != COMM_OBJECT_STATIC && o->kind != COMM_OBJECT_BLOCK &&
		    o->start <= end && have->start <= o_end) {
			if (o->start < have->start)
				have->start = o->start;
			have->size_bytes = (o_end > end ? o_end : end) - have->start;
		}
		return (uint32_t)at;
	}
	*have = *o;
	have->name = comm_names_add(objects->names, o->name, COMM_NAME_BYTES);
	have->module = comm_names_add(objects->names, o->module ? o->module : "", COMM_NAME_BYTES);
	have->build_id =
		comm_names_add(objects->names, o->build_id ? o->build_id : "", COMM_NAME_BYTES);
	return objects->n++;
}

uint32_t comm_objects_block(struct comm_objects *objects, const struct comm_object *o)
{
	uint64_t hash = comm_hash_mix(comm_hash_mix(o->tgid, COMM_OBJECT_BLOCK), o->kind);

	return object_id(objects, comm_hash_mix(hash, secret_of(o->name)), o);
}

/* Where Go's runtime first asks for its heap (mallocinit() of runtime/malloc.go); no kernel hands this out unasked. */
static bool is_go_heap(uint64_t start)
{
	return start >> 32 >= 0xc0 && start >> 32 < 0xe0;
}

static void learn_stack(struct comm_objects *objects, struct comm_space *space,
			struct object_process *p, uint64_t sp, uint32_t tid, uint64_t now_ns)
{
	uint32_t generation = comm_space_generation(space);
	const struct comm_mapping *found = comm_space_find(space, sp, now_ns);
	struct comm_mapping m;

	if (!found)
		return;
	m = *found;
	if (generation == comm_space_generation(space))
		objects->in_stack[tid % TIDS] = (struct in_stack){
			.start = m.start,
			.end = m.end,
			.tgid = p->lru.tgid,
			.tid = tid,
			.generation = generation,
		};
	/* Goroutines' stacks are pieces of Go's heap, and whatever thread runs one stands there. */
	if (!is_go_heap(m.start) && comm_stacks_learn(&p->stacks, space, &m, tid, now_ns))
		objects->epoch++;
}

static void size_name(char *name, size_t capacity, const char *what, uint64_t bytes)
{
	static const char unit[] = "KMGT";
	size_t u = 0;

	bytes >>= 10;
	while (bytes >= 4 * 1024 && u < sizeof(unit) - 2) {
		bytes >>= 10;
		u++;
	}
	snprintf(name, capacity, "%s %" PRIu64 "%c", what, bytes, unit[u]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool merges(const struct object_process *p, const struct comm_mapping *m)
{
	return m && m->kind == COMM_MAP_ANON && !m->shared && m->readable && !m->path[0] &&
	       !comm_stacks_at(&p->stacks, m->start);
}

/*
 * Widens a piece of anonymous memory to all that the process mapped at once: the
 * kernel splits a mapping wherever its protection differs.
 */
static void merge(struct comm_space *space, const struct object_process *p, uint64_t *start,
		  uint64_t *end, uint64_t now_ns)
{
	const struct comm_mapping *next;

	for (int i = 0; i < MERGE_MAX && *start; i++) {
		next = comm_space_find(space, *start - 1, now_ns);
		if (!merges(p, next))
			break;
		*start = next->start;
	}
	for (int i = 0; i < MERGE_MAX; i++) {
		next = comm_space_find(space, *end, now_ns);
		if (!merges(p, next))
			break;
		*end = next->end;
	}
}

static bool is_arena(struct comm_space *space, uint64_t start, uint64_t end, uint64_t now_ns)
{
	const struct comm_mapping *above;

	if (start % arena_bytes)
		return false;
	if (end % arena_bytes == 0)
		return end - start == arena_bytes;
	above = comm_space_find(space, end, now_ns);
	return above && above->kind == COMM_MAP_ANON && !above->readable &&
	       above->end == start + arena_bytes;
}

static void stack_name(struct comm_objects *objects, uint32_t tgid, uint32_t tid,
		       char name[LABEL_BYTES])
{
	const struct comm_inspect *inspect = objects->inspect;
	char thread[16];

	if (inspect->ops->thread_name(inspect->ctx, tgid, tid, thread) < 0)
		snprintf(name, LABEL_BYTES, "stack of %" PRIu32, tid);
	else
		snprintf(name, LABEL_BYTES, "stack of %.15s/%" PRIu32, thread, tid);
}

static uint32_t anon_object(struct comm_objects *objects, struct comm_space *space,
			    const struct object_process *p, const struct comm_mapping *m,
			    uint64_t base, uint64_t now_ns)
{
	const struct comm_stack *s = comm_stacks_at(&p->stacks, m->start);
	struct comm_object o = {
		.kind = COMM_OBJECT_ANON,
		.start = datum_of(base, m->start),
		.size_bytes = m->end - m->start,
		.tgid = p->lru.tgid,
	};
	uint64_t start = m->start, end = m->end, hash = comm_hash_mix(base, COMM_OBJECT_ANON);
	char name[LABEL_BYTES];

	o.name = name;
	if (s && !s->contested) {
		o.kind = COMM_OBJECT_STACK;
		o.thread_tid = s->tid;
		stack_name(objects, p->lru.tgid, s->tid, name);
		return object_id(objects,
				 comm_hash_mix(comm_hash_mix(base, COMM_OBJECT_STACK), s->tid), &o);
	}
	if (!strncmp(m->path, "[anon:", 6)) {
		/* All mappings that the process gave one name (prctl) are one object. */
		snprintf(name, sizeof(name), "%s", m->path + 1);
		name[strcspn(name, "]")] = 0;
		return object_id(objects, comm_hash_mix(hash, secret_of(name)), &o);
	}
	if (is_go_heap(start)) {
		o.kind = COMM_OBJECT_HEAP;
		strcpy(name, "[Go heap]");
		return object_id(objects, comm_hash_mix(hash, secret_of(name)), &o);
	}
	if (is_arena(space, start, end, now_ns)) {
		o.kind = COMM_OBJECT_HEAP;
		strcpy(name, "[malloc arena]");
	} else {
		if (!m->path[0])
			merge(space, p, &start, &end, now_ns);
		if (end - start < small_bytes)
			strcpy(name, "small mappings");
		else
			size_name(name, sizeof(name), "anon", end - start);
	}
	o.start = datum_of(base, start);
	o.size_bytes = end - start;
	return object_id(objects, comm_hash_mix(hash, start), &o);
}

static uint32_t static_object(struct comm_objects *objects, const struct object_process *p,
			      const struct comm_mapping *file, const struct comm_static *var,
			      uint64_t base)
{
	struct comm_object o = {
		.kind = COMM_OBJECT_STATIC,
		.name = var->name,
		.module = var->module,
		.build_id = var->build_id,
		.start = datum_of(base, var->start),
		.size_bytes = var->end - var->start,
		.tgid = p->apart ? p->lru.tgid : 0,
	};
	char name[2 * COMM_NAME_BYTES];
	uint64_t hash;

	if (var->name[0] == '.') {
		o.kind = COMM_OBJECT_DATA;
		snprintf(name, sizeof(name), "%s %s", var->module, var->name);
		o.name = name;
	}
	/*
	 * A process's variable is an object of its own: two processes have two data, which
	 * no byte goes between.  Keyed by where it stands in the file, since its
	 * pieces may be mapped one by one.  What shares an object for want of ids still has
	 * its own data.
	 */
	hash = comm_hash_mix(var->start - file->start + file->offset, o.kind);
	hash = comm_hash_mix(hash, o.tgid);
	hash = comm_hash_mix(hash, secret_of(var->name));
	hash = comm_hash_mix(hash, secret_of(var->module));
	hash = comm_hash_mix(hash, secret_of(var->build_id));
	return object_id(objects, hash, &o);
}

/*
 * Shared memory without a lasting file.  A SysV segment's path has its key; where that is 0, which
 * is nobody's, its inode is its id, as in ipcs(1).
 */
static void shared_name(const struct comm_mapping *m, char *name, size_t capacity)
{
	static const struct {
		const char *path, *name;
	} forms[] = {
		{"/dev/shm/", "/dev/shm/"},
		{"/memfd:", "memfd "},
		{"/SYSV", "SysV key 0x"},
		{"[anon_shmem:", "anon:"},
	};

	if (!strcmp(m->path, "/SYSV00000000")) {
		snprintf(name, capacity, "SysV id %" PRIu64, m->ino);
		return;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const char *rest;
		size_t n = strlen(forms[i].path);

		if (strncmp(m->path, forms[i].path, n) != 0 || !m->path[n])
			continue;
		rest = m->path + n;
		/* Without the bracket that a name of the kernel ends in. */
		snprintf(name, capacity, "%s%.*s", forms[i].name,
			 (int)(strlen(rest) - (*m->path == '[')), rest);
		return;
	}
	size_name(name, capacity, m->shared ? "shared memory" : "private memory",
		  m->end - m->start);
}

/* The object of a whole mapping that is not anonymous memory. */
static uint32_t mapping_object(struct comm_objects *objects, const struct object_process *p,
			       const struct comm_mapping *m, uint64_t base)
{
	struct comm_object o = {
		.kind = COMM_OBJECT_ANON,
		.name = m->path,
		.start = datum_of(base, m->start),
		.size_bytes = m->end - m->start,
	};
	char name[COMM_NAME_BYTES + LABEL_BYTES];
	uint64_t key = base;

	switch (m->kind) {
	case COMM_MAP_HEAP:
		o.kind = COMM_OBJECT_HEAP;
		break;
	case COMM_MAP_STACK:
		o.kind = COMM_OBJECT_STACK;
		o.thread_tid = p->lru.tgid;
		stack_name(objects, p->lru.tgid, p->lru.tgid, name);
		o.name = name;
		break;
	case COMM_MAP_VDSO:
		o.kind = COMM_OBJECT_DATA;
		break;
	case COMM_MAP_JIT:
		o.name = "[jit code]";
		break;
	default:
		o.kind = COMM_OBJECT_SHARED;
		o.name = base_name(m->path);
		if (m->kind == COMM_MAP_SHARED) {
			shared_name(m, name, sizeof(name));
			o.name = name;
		}
		/* A private mapping of a file is a copy of its own in each process. */
		key = comm_hash_mix(comm_hash_mix(m->dev, m->ino), m->shared ? 0 : p->space);
		break;
	}
	o.tgid = m->shared ? 0 : p->lru.tgid;
	return object_id(objects,
			 comm_hash_mix(comm_hash_mix(key, (uint64_t)o.kind << 8 | m->kind), 1), &o);
}

static bool resolve(struct comm_objects *objects, struct comm_space *space,
		    struct object_process *p, uint64_t addr, uint64_t now_ns, struct hot_range *ret,
		    enum keep *ret_keep)
{
	const struct comm_mapping *found = comm_space_find(space, addr, now_ns);
	const struct comm_inspect *inspect = objects->inspect;
	struct comm_mapping m, file;
	struct comm_static var;
	uint64_t space_id = p->space;
	int err = -ENOENT;

	if (!found)
		return false;
	m = file = *found;
	*ret_keep = KEEP_WHOLE;
	ret->start = m.start;
	ret->end = m.end;
	ret->base = base_of(space_id, 0);
	if (m.shared && (m.dev || m.ino)) {
		space_id = file_space(objects, &m);
		if (!space_id)
			return false;
		ret->base = base_of(space_id, m.offset - m.start);
		ret->object = mapping_object(objects, p, &m, ret->base);
		return true;
	}
	if (m.kind == COMM_MAP_ANON && m.start) {
		found = comm_space_find(space, m.start - 1, now_ns);
		if (found)
			file = *found;
	}
	if (file.kind == COMM_MAP_FILE && !file.shared)
		err = inspect->ops->data(inspect->ctx, p->lru.tgid, &m, addr, &var);
	if (err == -EAGAIN)
		*ret_keep = KEEP_NOT;
	if (!err && var.start <= addr && addr < var.end) {
		*ret_keep = KEEP_PIECE;
		ret->object = static_object(objects, p, &file, &var, ret->base);
		if (var.name[0] == '.') {
			/* addr has no variable, but bytes around it may: resolve 8 bytes alone. */
			ret->start = addr & ~(uint64_t)7;
			ret->end = ret->start + 8;
		} else {
			ret->start = var.start;
			ret->end = var.end;
		}
		if (ret->start < m.start)
			ret->start = m.start;
		if (ret->end > m.end)
			ret->end = m.end;
		return true;
	}
	if (m.kind == COMM_MAP_ANON) {
		ret->object = anon_object(objects, space, p, &m, ret->base, now_ns);
		if (file.kind != COMM_MAP_FILE || err == -EAGAIN)
			return true;
		/* Anonymous memory after a file starts with .bss: past its end none is left. */
		ret->start = addr & ~(uint64_t)(PAGE - 1);
		if (inspect->ops->data(inspect->ctx, p->lru.tgid, &m, ret->start, &var) == 0) {
			*ret_keep = KEEP_PIECE;
			ret->start = addr & ~(uint64_t)7;
			ret->end = ret->start + 8;
		}
		return true;
	}
	ret->object = mapping_object(objects, p, &m, ret->base);
	return true;
}

/*
 * Puts the marked object in the place of the one that is there, and cuts what is known of that
 * one where a marked one begins or ends.  The datum stays the same.  Returns whether it did any of that.
 */
static bool look_at_marked(struct comm_objects *objects, const struct object_process *p,
			   uint64_t addr, struct hot_range *h)
{
	struct comm_object o = {.kind = COMM_OBJECT_MARKED};
	uint64_t hash, space = h->base >> COMM_DATUM_SPACE_SHIFT;
	bool cut = false;

	for (size_t i = 0; p->marked && i < COMM_NAMED_MAX; i++) {
		const struct marked_range *m = &p->marked[i];
		bool inside = addr >= m->start && addr < m->end;

		if (m->end <= h->start || m->start >= h->end)
			continue;
		cut = true;
		if (inside || m->end <= addr)
			h->start = inside ? (m->start > h->start ? m->start : h->start) : m->end;
		if (inside || m->start > addr)
			h->end = inside ? (m->end < h->end ? m->end : h->end) : m->start;
		if (!inside)
			continue;
		o.name = m->name;
		o.start = datum_of(h->base, m->start);
		o.size_bytes = m->end - m->start;
		o.tgid = space == p->space ? p->lru.tgid : 0;
		hash = comm_hash_mix(comm_hash_mix(space, COMM_OBJECT_MARKED), secret_of(m->name));
		h->object = object_id(objects, hash, &o);
		break;
	}
	return cut;
}

static struct hot_range *slot_of(const struct comm_objects *objects, size_t cache, uint32_t tgid,
				 uint64_t addr)
{
	return &objects->hot[cache]
			    [comm_hash_mix(addr >> cache_shift[cache], tgid) & (HOT_SLOTS - 1)];
}

bool comm_objects_resolve(struct comm_objects *objects, struct comm_space *space, uint64_t addr,
			  uint64_t sp, uint32_t tid, uint64_t now_ns, uint64_t *ret_datum,
			  uint32_t *ret_object)
{
	uint32_t tgid = comm_space_tgid(space), generation = comm_space_generation(space);
	struct in_stack *t = &objects->in_stack[tid % TIDS];
	struct hot_range now = {0};
	struct object_process *p;
	enum keep may_keep;
	size_t cache;

	if (sp && (t->tid != tid || t->tgid != tgid || t->generation != generation ||
		   sp < t->start || sp >= t->end)) {
		p = process_get(objects, tgid);
		if (p)
			learn_stack(objects, space, p, sp, tid, now_ns);
		generation = comm_space_generation(space);
	}
	for (cache = 0; cache < CACHES; cache++) {
		const struct hot_range *h = slot_of(objects, cache, tgid, addr);

		if (h->tgid == tgid && h->generation == generation && h->epoch == objects->epoch &&
		    addr - h->start < h->end - h->start) {
			*ret_datum = datum_of(h->base, addr);
			*ret_object = h->object;
			return true;
		}
	}
	p = process_get(objects, tgid);
	if (!p || !resolve(objects, space, p, addr, now_ns, &now, &may_keep))
		return false;
	if (look_at_marked(objects, p, addr, &now) && may_keep == KEEP_WHOLE)
		may_keep = KEEP_PIECE;
	now.tgid = tgid;
	now.generation = generation;
	now.epoch = objects->epoch;
	/* Cache the answer only if the mappings did not change meanwhile. */
	if (may_keep != KEEP_NOT && comm_space_generation(space) == generation) {
		if (may_keep == KEEP_PIECE)
			cache = CACHES - 1;
		else
			cache = now.end - now.start < (uint64_t)1 << cache_shift[0];
		*slot_of(objects, cache, tgid, addr) = now;
	}
	*ret_datum = datum_of(now.base, addr);
	*ret_object = now.object;
	return true;
}

bool comm_objects_private(struct comm_objects *objects, struct comm_space *space, uint64_t addr,
			  uint64_t now_ns, uint64_t *ret_datum)
{
	const struct comm_mapping *m = comm_space_find(space, addr, now_ns);
	const struct object_process *p = process_get(objects, comm_space_tgid(space));

	if (!p || (m && m->shared))
		return false;
	*ret_datum = datum_of(base_of(p->space, 0), addr);
	return true;
}

uint64_t comm_objects_unfiled(const struct comm_objects *objects)
{
	return objects->n_unfiled;
}

uint32_t comm_objects_count(const struct comm_objects *objects)
{
	return objects->n;
}

const struct comm_object *comm_objects_at(const struct comm_objects *objects, uint32_t id)
{
	return &objects->object[id < objects->n ? id : 0];
}
