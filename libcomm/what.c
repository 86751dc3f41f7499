/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "what.h"

#include "names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OBJECTS_MAX = 1 << 18,
	OBJECT_SLOTS = 2 * OBJECTS_MAX,
	NAMES_BYTES_MAX = 64 << 20,
	SPACES_MAX = 1 << 16,
	FILE_SPACES_MAX = 1 << 15, /* never given back */
	FILE_SLOTS = 2 * FILE_SPACES_MAX,
	BUCKETS = 4096,
	HOT_SLOTS = 8192,
	CACHES = 3,
	TIDS = 4096,
	STACKS_MAX = 65536, /* of one process */
	OWNERS = 4,	    /* threads remembered that had a stack before */
	MERGE_MAX = 16,	    /* neighbours looked at */
	PAGE = 4096,
	LABEL_BYTES = 41, /* of a name made here, with its NUL */
};

/* A slot of a cache is for so many bytes: large and small mappings, variables. */
static const unsigned int cache_shift[CACHES] = {20, 12, 6};

static const uint64_t offset_mask = ((uint64_t)1 << COMM_DATUM_SPACE_SHIFT) - 1;
static const uint64_t stack_bytes_max = (uint64_t)1 << 30;
/*
 * Less than this is a chunk of malloc's, an allocator's tables, a runtime's
 * scratch: there are hundreds, they come and go, and none has a name that would
 * tell a person which it was.  What somebody set up as a buffer or a heap of
 * his own is larger.  They share a name, not an object: no evidence is spread
 * from one to another.
 */
static const uint64_t small_bytes = 1 << 20;
static const uint64_t arena_bytes = 64 << 20; /* of glibc's malloc, aligned to it */

struct stack {
	uint64_t start; /* of the mapping */
	uint32_t tid;
	bool contested; /* not a stack: several threads run in it by turns */
	uint32_t owner[OWNERS];
	uint8_t next_owner;
};

struct process {
	struct process *next;
	uint32_t tgid;
	uint32_t space;
	struct stack *stack; /* sorted by start */
	size_t n_stacks, stacks_room;
};

/* Addresses of one process that mean the same object. */
struct hot {
	uint64_t start, end;
	uint64_t base; /* see base_of() */
	uint32_t tgid, generation, epoch;
	uint32_t object;
};

/* A thread whose stack is known. */
struct thread {
	uint64_t start, end;
	uint32_t tgid, tid, generation;
};

struct file_space {
	uint64_t dev, ino;
	uint32_t space; /* 0: free slot */
};

struct object_slot {
	uint64_t hash;
	uint32_t id; /* 0: free */
};

struct comm_what {
	const struct comm_view *view;
	struct comm_names *names;
	/* Of full size: a page comes when touched, and nothing ever moves. */
	struct comm_object *object;
	struct object_slot *object_slot;
	uint32_t n_objects;
	struct process *bucket[BUCKETS];
	struct process *last;
	struct file_space *file_slot;
	uint32_t n_file_spaces;
	uint32_t n_spaces;    /* given out so far */
	uint16_t *free_space; /* a ring: the id that is free for longest goes first */
	uint32_t free_head, n_free;
	/* Grows when a stack gets another owner: cached answers end. */
	uint32_t epoch;
	struct hot *hot[CACHES];
	struct thread *thread;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0xc2b2ae3d27d4eb4fu)) * 0x9e3779b97f4a7c15u;

	return h ^ h >> 32;
}

/* base: a space id above the offset that address 0 would have. */
static uint64_t base_of(uint64_t space, uint64_t offset)
{
	return space << COMM_DATUM_SPACE_SHIFT | (offset & offset_mask);
}

static uint64_t datum_of(uint64_t base, uint64_t addr)
{
	return (base & ~offset_mask) | ((base + addr) & offset_mask);
}

int comm_what_create(const struct comm_view *view, struct comm_what **ret)
{
	struct comm_what *what = calloc(1, sizeof(*what));
	int err;

	if (!what)
		return -ENOMEM;
	what->view = view;
	what->object = calloc(OBJECTS_MAX, sizeof(*what->object));
	what->object_slot = calloc(OBJECT_SLOTS, sizeof(*what->object_slot));
	what->file_slot = calloc(FILE_SLOTS, sizeof(*what->file_slot));
	what->free_space = calloc(SPACES_MAX, sizeof(*what->free_space));
	for (size_t i = 0; i < CACHES; i++)
		what->hot[i] = calloc(HOT_SLOTS, sizeof(*what->hot[i]));
	what->thread = calloc(TIDS, sizeof(*what->thread));
	err = comm_names_create(NAMES_BYTES_MAX, &what->names);
	if (err || !what->object || !what->object_slot || !what->file_slot || !what->free_space ||
	    !what->hot[0] || !what->hot[1] || !what->hot[2] || !what->thread) {
		comm_what_destroy(what);
		return -ENOMEM;
	}
	what->object[what->n_objects++] =
		(struct comm_object){.name = "(other)", .module = "", .build_id = ""};
	what->n_spaces = 1; /* space 0 is none */
	*ret = what;
	return 0;
}

static void process_destroy(struct process *p)
{
	free(p->stack);
	free(p);
}

void comm_what_destroy(struct comm_what *what)
{
	struct process *next;

	if (!what)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct process *p = what->bucket[i]; p; p = next) {
			next = p->next;
			process_destroy(p);
		}
	}
	comm_names_destroy(what->names);
	free(what->object);
	free(what->object_slot);
	free(what->file_slot);
	free(what->free_space);
	for (size_t i = 0; i < CACHES; i++)
		free(what->hot[i]);
	free(what->thread);
	free(what);
}

static uint32_t new_space(struct comm_what *what)
{
	uint32_t id;

	if (what->n_spaces < SPACES_MAX)
		return what->n_spaces++;
	if (!what->n_free)
		return 0;
	id = what->free_space[what->free_head];
	what->free_head = (what->free_head + 1) % SPACES_MAX;
	what->n_free--;
	return id;
}

static struct process *process_get(struct comm_what *what, uint32_t tgid)
{
	struct process *p = what->last;

	if (p && p->tgid == tgid)
		return p;
	for (p = what->bucket[tgid % BUCKETS]; p && p->tgid != tgid; p = p->next)
		;
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->tgid = tgid;
		p->space = new_space(what);
		if (!p->space) {
			free(p);
			return NULL;
		}
		p->next = what->bucket[tgid % BUCKETS];
		what->bucket[tgid % BUCKETS] = p;
	}
	what->last = p;
	return p;
}

void comm_what_drop(struct comm_what *what, uint32_t tgid)
{
	struct process **at = &what->bucket[tgid % BUCKETS], *p;

	while (*at && (*at)->tgid != tgid)
		at = &(*at)->next;
	p = *at;
	if (!p)
		return;
	*at = p->next;
	what->free_space[(what->free_head + what->n_free++) % SPACES_MAX] = (uint16_t)p->space;
	if (what->last == p)
		what->last = NULL;
	process_destroy(p);
}

/* 0: too many files are shared. */
static uint32_t file_space(struct comm_what *what, const struct comm_mapping *m)
{
	size_t at = mix(m->ino, m->dev);

	for (; what->file_slot[at &= FILE_SLOTS - 1].space; at++)
		if (what->file_slot[at].dev == m->dev && what->file_slot[at].ino == m->ino)
			return what->file_slot[at].space;
	if (what->n_file_spaces >= FILE_SPACES_MAX)
		return 0;
	what->file_slot[at] = (struct file_space){m->dev, m->ino, new_space(what)};
	what->n_file_spaces += !!what->file_slot[at].space;
	return what->file_slot[at].space;
}

/* The object that hash stands for; at first sight *o with its name copied. */
static uint32_t object_id(struct comm_what *what, uint64_t hash, const struct comm_object *o)
{
	size_t at = hash;
	struct comm_object *have;
	uint64_t end, o_end;

	for (; what->object_slot[at &= OBJECT_SLOTS - 1].id; at++) {
		const struct object_slot *slot = &what->object_slot[at];

		have = &what->object[slot->id];
		if (slot->hash != hash || have->kind != o->kind)
			continue;
		/* A heap grows upwards, a stack downwards. */
		end = have->start + have->size_bytes;
		o_end = o->start + o->size_bytes;
		if (o->kind != COMM_OBJECT_STATIC && o->start <= end && have->start <= o_end) {
			if (o->start < have->start)
				have->start = o->start;
			have->size_bytes = (o_end > end ? o_end : end) - have->start;
		}
		return slot->id;
	}
	if (what->n_objects >= OBJECTS_MAX)
		return 0;
	have = &what->object[what->n_objects];
	*have = *o;
	have->name = comm_names_add(what->names, o->name, COMM_NAME_BYTES);
	have->module = comm_names_add(what->names, o->module ? o->module : "", COMM_NAME_BYTES);
	have->build_id =
		comm_names_add(what->names, o->build_id ? o->build_id : "", COMM_NAME_BYTES);
	what->object_slot[at] = (struct object_slot){hash, what->n_objects};
	return what->n_objects++;
}

static struct stack *stack_at(const struct process *p, uint64_t start, size_t *ret_place)
{
	size_t lo = 0, hi = p->n_stacks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->stack[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (ret_place)
		*ret_place = lo;
	return lo < p->n_stacks && p->stack[lo].start == start ? &p->stack[lo] : NULL;
}

/*
 * A stack is another thread's now.  The C library hands the stack of a thread
 * that ended to the next one; but when an earlier owner comes back, threads
 * run by turns on stacks within one mapping (goroutines, fibers), and it is
 * nobody's.
 */
static void stack_owner(struct comm_what *what, struct stack *s, uint32_t tid)
{
	for (size_t i = 0; i < OWNERS; i++)
		s->contested |= s->owner[i] == tid;
	s->owner[s->next_owner++ % OWNERS] = s->tid;
	s->tid = tid;
	what->epoch++;
}

static void stack_add(struct comm_what *what, struct process *p, size_t place, uint64_t start,
		      uint32_t tid)
{
	if (p->n_stacks >= STACKS_MAX)
		return;
	if (p->n_stacks == p->stacks_room) {
		size_t more = p->stacks_room ? p->stacks_room * 2 : 16;
		struct stack *bigger = realloc(p->stack, more * sizeof(*bigger));

		if (!bigger)
			return;
		p->stack = bigger;
		p->stacks_room = more;
	}
	memmove(&p->stack[place + 1], &p->stack[place], (p->n_stacks - place) * sizeof(*p->stack));
	p->stack[place] = (struct stack){.start = start, .tid = tid};
	p->n_stacks++;
	what->epoch++;
}

static void learn_stack(struct comm_what *what, struct comm_space *space, struct process *p,
			uint64_t sp, uint32_t tid, uint64_t now_ns)
{
	uint32_t generation = comm_space_generation(space);
	const struct comm_mapping *found = comm_space_find(space, sp, now_ns);
	struct comm_mapping m;
	struct stack *s;
	size_t place;

	if (!found)
		return;
	m = *found;
	if (generation == comm_space_generation(space))
		what->thread[tid % TIDS] = (struct thread){
			.start = m.start,
			.end = m.end,
			.tgid = p->tgid,
			.tid = tid,
			.generation = generation,
		};
	if (m.kind != COMM_MAP_ANON || m.shared || !m.writable || m.end - m.start > stack_bytes_max)
		return;
	s = stack_at(p, m.start, &place);
	if (s) {
		if (s->tid != tid && !s->contested)
			stack_owner(what, s, tid);
		return;
	}
	/*
	 * A second stack of one thread is a fiber's or a signal handler's, in
	 * memory that also holds other things: the first one counts, as long as
	 * it is mapped.
	 */
	for (size_t i = 0; i < p->n_stacks; i++) {
		if (p->stack[i].tid != tid || p->stack[i].contested)
			continue;
		found = comm_space_find(space, p->stack[i].start, now_ns);
		if (found && found->start == p->stack[i].start)
			return;
		memmove(&p->stack[i], &p->stack[i + 1], (p->n_stacks - i - 1) * sizeof(*p->stack));
		p->n_stacks--;
		break;
	}
	stack_at(p, m.start, &place);
	stack_add(what, p, place, m.start, tid);
}

static void size_name(char *name, size_t room, uint64_t bytes)
{
	static const char unit[] = "KMGT";
	size_t u = 0;

	bytes >>= 10;
	while (bytes >= 4 * 1024 && u < sizeof(unit) - 2) {
		bytes >>= 10;
		u++;
	}
	snprintf(name, room, "anon %" PRIu64 "%c", bytes, unit[u]);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool merges(const struct process *p, const struct comm_mapping *m)
{
	return m && m->kind == COMM_MAP_ANON && !m->shared && m->readable && !m->path[0] &&
	       !stack_at(p, m->start, NULL);
}

/*
 * Grows a piece of anonymous memory to all of what was mapped at once: the
 * kernel splits that wherever its protection differs.
 */
static void merge(struct comm_space *space, const struct process *p, uint64_t *start, uint64_t *end,
		  uint64_t now_ns)
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

static uint64_t text_hash(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 1099511628211u;
	return h;
}

static void stack_name(struct comm_what *what, uint32_t tgid, uint32_t tid, char name[LABEL_BYTES])
{
	const struct comm_view *view = what->view;
	char thread[16];

	if (view->ops->thread_name(view->ctx, tgid, tid, thread) < 0)
		snprintf(name, LABEL_BYTES, "stack of %" PRIu32, tid);
	else
		snprintf(name, LABEL_BYTES, "stack of %.15s/%" PRIu32, thread, tid);
}

static uint32_t anon_object(struct comm_what *what, struct comm_space *space,
			    const struct process *p, const struct comm_mapping *m, uint64_t base,
			    uint64_t now_ns)
{
	const struct stack *s = stack_at(p, m->start, NULL);
	struct comm_object o = {
		.kind = COMM_OBJECT_ANON,
		.start = datum_of(base, m->start),
		.size_bytes = m->end - m->start,
	};
	uint64_t start = m->start, end = m->end, hash = mix(base, COMM_OBJECT_ANON);
	char name[LABEL_BYTES];

	o.name = name;
	if (s && !s->contested) {
		o.kind = COMM_OBJECT_STACK;
		o.thread_tid = s->tid;
		stack_name(what, p->tgid, s->tid, name);
		return object_id(what, mix(mix(base, COMM_OBJECT_STACK), s->tid), &o);
	}
	if (!strncmp(m->path, "[anon:", 6)) {
		/* However many mappings have it, what the process named once is one. */
		snprintf(name, sizeof(name), "%s", m->path + 1);
		name[strcspn(name, "]")] = 0;
		return object_id(what, mix(hash, text_hash(name)), &o);
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
			size_name(name, sizeof(name), end - start);
	}
	o.start = datum_of(base, start);
	o.size_bytes = end - start;
	return object_id(what, mix(hash, start), &o);
}

static uint32_t static_object(struct comm_what *what, const struct comm_mapping *file,
			      const struct comm_static *var, uint64_t base)
{
	struct comm_object o = {
		.kind = COMM_OBJECT_STATIC,
		.name = var->name,
		.module = var->module,
		.build_id = var->build_id,
		.start = datum_of(base, var->start),
		.size_bytes = var->end - var->start,
	};
	char name[2 * COMM_NAME_BYTES];
	uint64_t hash;

	if (var->name[0] == '.') {
		o.kind = COMM_OBJECT_DATA;
		snprintf(name, sizeof(name), "%s %s", var->module, var->name);
		o.name = name;
	}
	/*
	 * The same variable of the same file is one object in all processes,
	 * wherever it is mapped: keyed by where it stands in the file.
	 */
	hash = mix(var->start - file->start + file->offset, o.kind);
	hash = mix(hash, text_hash(var->name));
	hash = mix(hash, text_hash(var->module));
	hash = mix(hash, text_hash(var->build_id));
	return object_id(what, hash, &o);
}

/* What a whole mapping is, other than anonymous memory. */
static uint32_t mapping_object(struct comm_what *what, const struct process *p,
			       const struct comm_mapping *m, uint64_t base)
{
	struct comm_object o = {
		.kind = COMM_OBJECT_ANON,
		.name = m->path,
		.start = datum_of(base, m->start),
		.size_bytes = m->end - m->start,
	};
	char name[LABEL_BYTES];
	uint64_t key = base;

	switch (m->kind) {
	case COMM_MAP_HEAP:
		o.kind = COMM_OBJECT_HEAP;
		break;
	case COMM_MAP_STACK:
		o.kind = COMM_OBJECT_STACK;
		o.thread_tid = p->tgid;
		stack_name(what, p->tgid, p->tgid, name);
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
		if (!strncmp(m->path, "/dev/zero", 9))
			o.name = "shared anonymous";
		key = mix(m->dev, m->ino);
		break;
	}
	return object_id(what, mix(mix(key, (uint64_t)o.kind << 8 | m->kind), 1), &o);
}

static bool resolve(struct comm_what *what, struct comm_space *space, struct process *p,
		    uint64_t addr, uint64_t now_ns, struct hot *ret, bool *ret_whole)
{
	const struct comm_mapping *found = comm_space_find(space, addr, now_ns);
	const struct comm_view *view = what->view;
	struct comm_mapping m, file;
	struct comm_static var;
	uint64_t space_id = p->space;

	if (!found)
		return false;
	m = file = *found;
	*ret_whole = true;
	ret->start = m.start;
	ret->end = m.end;
	ret->base = base_of(space_id, 0);
	if (m.shared && m.ino) {
		space_id = file_space(what, &m);
		if (!space_id)
			return false;
		ret->base = base_of(space_id, m.offset - m.start);
		ret->object = mapping_object(what, p, &m, ret->base);
		return true;
	}
	if (m.kind == COMM_MAP_ANON && m.start) {
		found = comm_space_find(space, m.start - 1, now_ns);
		if (found)
			file = *found;
	}
	if (file.kind == COMM_MAP_FILE && !file.shared &&
	    view->ops->data(view->ctx, p->tgid, &m, addr, &var) == 0 && var.start <= addr &&
	    addr < var.end) {
		*ret_whole = false;
		ret->object = static_object(what, &file, &var, ret->base);
		if (var.name[0] == '.') {
			/* There may be variables around it. */
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
		ret->object = anon_object(what, space, p, &m, ret->base, now_ns);
		if (file.kind != COMM_MAP_FILE)
			return true;
		/* A .bss is where such a mapping starts, so past its end all is other. */
		ret->start = addr & ~(uint64_t)(PAGE - 1);
		if (view->ops->data(view->ctx, p->tgid, &m, ret->start, &var) == 0) {
			*ret_whole = false;
			ret->start = addr & ~(uint64_t)7;
			ret->end = ret->start + 8;
		}
		return true;
	}
	ret->object = mapping_object(what, p, &m, ret->base);
	return true;
}

static struct hot *slot_of(const struct comm_what *what, size_t cache, uint32_t tgid, uint64_t addr)
{
	return &what->hot[cache][mix(addr >> cache_shift[cache], tgid) & (HOT_SLOTS - 1)];
}

bool comm_what_resolve(struct comm_what *what, struct comm_space *space, uint64_t addr, uint64_t sp,
		       uint32_t tid, uint64_t now_ns, uint64_t *ret_datum, uint32_t *ret_object)
{
	uint32_t tgid = comm_space_tgid(space), generation = comm_space_generation(space);
	struct thread *t = &what->thread[tid % TIDS];
	struct hot now = {0};
	struct process *p;
	size_t cache;
	bool whole;

	if (sp && (t->tid != tid || t->tgid != tgid || t->generation != generation ||
		   sp < t->start || sp >= t->end)) {
		p = process_get(what, tgid);
		if (p)
			learn_stack(what, space, p, sp, tid, now_ns);
		generation = comm_space_generation(space);
	}
	for (cache = 0; cache < CACHES; cache++) {
		const struct hot *h = slot_of(what, cache, tgid, addr);

		if (h->tgid == tgid && h->generation == generation && h->epoch == what->epoch &&
		    addr - h->start < h->end - h->start) {
			*ret_datum = datum_of(h->base, addr);
			*ret_object = h->object;
			return true;
		}
	}
	p = process_get(what, tgid);
	if (!p || !resolve(what, space, p, addr, now_ns, &now, &whole))
		return false;
	now.tgid = tgid;
	now.generation = generation;
	now.epoch = what->epoch;
	/* Kept only when the mappings stood still meanwhile. */
	if (comm_space_generation(space) == generation) {
		if (!whole)
			cache = CACHES - 1;
		else
			cache = now.end - now.start < (uint64_t)1 << cache_shift[0];
		*slot_of(what, cache, tgid, addr) = now;
	}
	*ret_datum = datum_of(now.base, addr);
	*ret_object = now.object;
	return true;
}

uint32_t comm_what_objects(const struct comm_what *what)
{
	return what->n_objects;
}

const struct comm_object *comm_what_object_at(const struct comm_what *what, uint32_t id)
{
	return &what->object[id < what->n_objects ? id : 0];
}
