/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "who.h"

#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	TIDS_MAX = 4 << 20, /* the kernel's PID_MAX_LIMIT */
	FUNCTIONS_MAX = COMM_SITES_MAX,
	NAMES_BYTES_MAX = 64 << 20,
	HOT_SLOTS = 16 * 1024,
	PLACES_MIN = 4096,
	PLACES_MAX = 1 << 19, /* then all are forgotten and asked again */
	DICT_SLOTS = 2 * COMM_SITES_MAX,
	RECHECK_NS = 1000 * 1000 * 1000, /* of what generated code is named */
	RETRY_S = 10, /* a file that could not be read may be, by another process */
	UNMAPPED_NS = 50 * 1000 * 1000,
	PROVISIONAL_NS = 100 * 1000 * 1000, /* until a line that was not known is asked again */
	PROVISIONAL_ASKS = 256,		    /* and how many of them in that time, at most */
};

static const uint64_t for_ever = UINT64_MAX;

/* The last answer for an ip of a process; one per hash value. */
struct hot {
	uint64_t ip, until_ns;
	uint32_t tgid, generation;
	uint32_t site;
};

/* A place in a file, the same for all processes, or in generated code. */
struct place {
	uint64_t offset;
	uint64_t until_ns; /* 0: free */
	uint32_t file;	   /* or the tgid */
	uint32_t site;
	bool private;
	bool provisional;
};

struct comm_who {
	const struct comm_view *view;
	struct comm_names *names;
	/*
	 * Arrays of full size: the kernel gives a page when it is first touched,
	 * and what was handed out never moves.
	 */
	struct comm_thread *thread;
	struct comm_function *function;
	struct comm_site *site;
	uint32_t n_threads, n_functions, n_sites;
	uint32_t *thread_of; /* by tid; 0: none */
	uint32_t *function_slot, *site_slot;
	struct hot *hot;
	struct place *place;
	size_t n_places, n_place_slots;
	uint32_t unknown_site;
	/* Places asked again for their line since asks_ns. */
	uint64_t asks_ns;
	uint32_t asks;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0xc2b2ae3d27d4eb4fu)) * 0x9e3779b97f4a7c15u;

	return h ^ h >> 32;
}

static const char *keep(struct comm_who *who, const char *name)
{
	return comm_names_add(who->names, name ? name : "", COMM_NAME_BYTES);
}

static uint32_t function_id(struct comm_who *who, const char *name, const char *module,
			    const char *build_id, uint64_t start)
{
	struct comm_function f = {
		.name = keep(who, name),
		.module = keep(who, module),
		.build_id = keep(who, build_id),
		.start = start,
	};
	uint64_t h = mix((uintptr_t)f.name, (uintptr_t)f.module);
	size_t at = mix(mix(h, (uintptr_t)f.build_id), start);

	for (; who->function_slot[at &= DICT_SLOTS - 1]; at++) {
		const struct comm_function *have = &who->function[who->function_slot[at]];

		if (have->name == f.name && have->module == f.module &&
		    have->build_id == f.build_id && have->start == start)
			return who->function_slot[at];
	}
	if (who->n_functions >= FUNCTIONS_MAX)
		return COMM_ID_OTHER;
	who->function[who->n_functions] = f;
	who->function_slot[at] = who->n_functions;
	return who->n_functions++;
}

static uint32_t site_id(struct comm_who *who, uint32_t function, const char *inlined,
			const char *source, uint32_t line, uint64_t offset)
{
	struct comm_site s = {
		.function = function,
		.inlined = inlined ? keep(who, inlined) : NULL,
		.source = source ? keep(who, source) : NULL,
		.line = line,
		.offset = offset,
	};
	size_t at = mix(mix((uintptr_t)s.inlined, (uintptr_t)s.source),
			(uint64_t)function << 32 | line);

	for (; who->site_slot[at &= DICT_SLOTS - 1]; at++) {
		const struct comm_site *have = &who->site[who->site_slot[at]];

		if (have->function == function && have->inlined == s.inlined &&
		    have->source == s.source && have->line == line)
			return who->site_slot[at];
	}
	if (who->n_sites >= COMM_SITES_MAX)
		return COMM_ID_OTHER;
	who->site[who->n_sites] = s;
	who->site_slot[at] = who->n_sites;
	return who->n_sites++;
}

int comm_who_create(const struct comm_view *view, struct comm_who **ret)
{
	struct comm_who *who = calloc(1, sizeof(*who));
	int err;

	if (!who)
		return -ENOMEM;
	who->view = view;
	who->thread = calloc(COMM_THREADS_MAX, sizeof(*who->thread));
	who->function = calloc(FUNCTIONS_MAX, sizeof(*who->function));
	who->site = calloc(COMM_SITES_MAX, sizeof(*who->site));
	who->thread_of = calloc(TIDS_MAX, sizeof(*who->thread_of));
	who->function_slot = calloc(DICT_SLOTS, sizeof(*who->function_slot));
	who->site_slot = calloc(DICT_SLOTS, sizeof(*who->site_slot));
	who->hot = calloc(HOT_SLOTS, sizeof(*who->hot));
	who->place = calloc(PLACES_MIN, sizeof(*who->place));
	who->n_place_slots = PLACES_MIN;
	err = comm_names_create(NAMES_BYTES_MAX, &who->names);
	if (err || !who->thread || !who->function || !who->site || !who->thread_of ||
	    !who->function_slot || !who->site_slot || !who->hot || !who->place) {
		comm_who_destroy(who);
		return -ENOMEM;
	}
	/* Id 0 is in no slot: a slot of 0 is free. */
	strcpy(who->thread[who->n_threads++].name, "(other)");
	who->function[who->n_functions++] = (struct comm_function){"(other)", "", "", 0};
	who->site[who->n_sites++] = (struct comm_site){.function = COMM_ID_OTHER};
	site_id(who, function_id(who, "[kernel]", "[kernel]", "", 0), NULL, NULL, 0, 0);
	who->unknown_site =
		site_id(who, function_id(who, "[unknown]", "", "", 0), NULL, NULL, 0, 0);
	*ret = who;
	return 0;
}

void comm_who_destroy(struct comm_who *who)
{
	if (!who)
		return;
	comm_names_destroy(who->names);
	free(who->thread);
	free(who->function);
	free(who->site);
	free(who->thread_of);
	free(who->function_slot);
	free(who->site_slot);
	free(who->hot);
	free(who->place);
	free(who);
}

static void ask_name(struct comm_who *who, struct comm_thread *t)
{
	const struct comm_view *view = who->view;
	char name[16] = "";

	/* A thread that is gone already has at least its process's name. */
	if (view->ops->thread_name(view->ctx, t->tgid, t->tid, name) < 0 &&
	    view->ops->thread_name(view->ctx, t->tgid, t->tgid, name) < 0) {
		if (!t->name[0])
			strcpy(t->name, "?");
		return;
	}
	memset(t->name, 0, sizeof(t->name));
	for (size_t i = 0; i < sizeof(t->name) - 1 && name[i]; i++)
		t->name[i] = name[i] >= 0x20 && name[i] <= 0x7e ? name[i] : '?';
}

uint32_t comm_who_thread(struct comm_who *who, uint32_t tgid, uint32_t tid, uint64_t now_ns)
{
	struct comm_thread *t;
	uint32_t id;

	if (!tid || tid >= TIDS_MAX)
		return COMM_ID_OTHER;
	id = who->thread_of[tid];
	/* Another tgid: the tid was reused and the exit was lost. */
	if (id && (who->thread[id].tgid == tgid || !tgid))
		return id;
	if (id)
		comm_who_exit(who, tid, now_ns);
	if (who->n_threads >= COMM_THREADS_MAX)
		return COMM_ID_OTHER;
	id = who->n_threads++;
	t = &who->thread[id];
	*t = (struct comm_thread){.tgid = tgid, .tid = tid, .start_ns = now_ns};
	ask_name(who, t);
	who->thread_of[tid] = id;
	return id;
}

void comm_who_exit(struct comm_who *who, uint32_t tid, uint64_t now_ns)
{
	if (tid >= TIDS_MAX || !who->thread_of[tid])
		return;
	who->thread[who->thread_of[tid]].end_ns = now_ns;
	who->thread_of[tid] = 0;
}

void comm_who_renamed(struct comm_who *who, uint32_t tgid, uint32_t tid)
{
	struct comm_thread *t;

	if (tid >= TIDS_MAX || !who->thread_of[tid])
		return;
	t = &who->thread[who->thread_of[tid]];
	if (t->tgid == tgid)
		ask_name(who, t);
}

static struct place *place_slot(struct place *all, size_t n_slots, bool private, uint32_t file,
				uint64_t offset)
{
	size_t at = mix(offset, (uint64_t)file << 1 | private);

	for (; all[at &= n_slots - 1].until_ns; at++) {
		const struct place *p = &all[at];

		if (p->offset == offset && p->file == file && p->private == private)
			break;
	}
	return &all[at];
}

/* A free slot is always left, or a search would not end. */
static void places_make_room(struct comm_who *who)
{
	size_t n_slots = who->n_place_slots * 2;
	struct place *bigger = NULL;

	if (who->n_places * 2 < who->n_place_slots)
		return;
	if (n_slots <= PLACES_MAX)
		bigger = calloc(n_slots, sizeof(*bigger));
	if (!bigger) {
		memset(who->place, 0, who->n_place_slots * sizeof(*who->place));
		who->n_places = 0;
		return;
	}
	for (size_t i = 0; i < who->n_place_slots; i++) {
		const struct place *p = &who->place[i];

		if (p->until_ns)
			*place_slot(bigger, n_slots, p->private, p->file, p->offset) = *p;
	}
	free(who->place);
	who->place = bigger;
	who->n_place_slots = n_slots;
}

/*
 * By event time alone, or a replay would not be the run again.  Thousands of
 * places may wait for the lines of one file: their sites are good without.
 */
static bool may_ask(struct comm_who *who, const struct place *p, uint64_t now_ns)
{
	if (!p->provisional)
		return true;
	if (now_ns - who->asks_ns >= PROVISIONAL_NS) {
		who->asks_ns = now_ns;
		who->asks = 0;
	}
	return who->asks++ < PROVISIONAL_ASKS;
}

static void ask_site(struct comm_who *who, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     uint64_t now_ns, struct place *ret)
{
	struct comm_code code = {0};
	bool in_file = m->kind == COMM_MAP_FILE || m->kind == COMM_MAP_VDSO;
	uint64_t offset = in_file ? ip - m->start + m->offset : ip;
	uint32_t function;

	ret->until_ns = in_file ? for_ever : now_ns + RECHECK_NS;
	if (who->view->ops->code(who->view->ctx, tgid, m, ip, &code) < 0 && in_file)
		ret->until_ns = now_ns + RETRY_S * 1000000000ull;
	else if (code.provisional)
		ret->until_ns = now_ns + PROVISIONAL_NS;
	ret->provisional = code.provisional;
	/* Generated code is elsewhere in each run, and recompiled in one. */
	function = function_id(who, code.function ? code.function : "[unknown]", code.module,
			       code.build_id, in_file ? code.start : 0);
	ret->site = site_id(who, function, code.inlined, code.source, code.line, offset);
}

uint32_t comm_who_site(struct comm_who *who, struct comm_space *space, uint64_t ip, uint64_t now_ns)
{
	uint32_t tgid = comm_space_tgid(space), generation = comm_space_generation(space), site;
	struct hot *hot = &who->hot[mix(ip, tgid) & (HOT_SLOTS - 1)];
	const struct comm_mapping *m;
	uint64_t until_ns;

	if (hot->ip == ip && hot->tgid == tgid && hot->generation == generation &&
	    now_ns < hot->until_ns)
		return hot->site;
	if (ip >> 63)
		return COMM_SITE_KERNEL;
	m = comm_space_find(space, ip, now_ns);
	if (!m) {
		site = who->unknown_site;
		until_ns = now_ns + UNMAPPED_NS;
	} else {
		bool private = !m->file || m->kind == COMM_MAP_JIT;
		uint32_t file = private ? tgid : m->file;
		uint64_t offset = private ? ip : ip - m->start + m->offset;
		struct place *p;

		places_make_room(who);
		p = place_slot(who->place, who->n_place_slots, private, file, offset);
		if (p->until_ns <= now_ns && may_ask(who, p, now_ns)) {
			who->n_places += !p->until_ns;
			p->offset = offset;
			p->file = file;
			p->private = private;
			ask_site(who, tgid, m, ip, now_ns, p);
		}
		site = p->site;
		until_ns = p->until_ns;
	}
	if (comm_space_generation(space) == generation)
		*hot = (struct hot){ip, until_ns, tgid, generation, site};
	return site;
}

uint32_t comm_who_threads(const struct comm_who *who)
{
	return who->n_threads;
}

uint32_t comm_who_functions(const struct comm_who *who)
{
	return who->n_functions;
}

uint32_t comm_who_sites(const struct comm_who *who)
{
	return who->n_sites;
}

const struct comm_thread *comm_who_thread_at(const struct comm_who *who, uint32_t id)
{
	return &who->thread[id < who->n_threads ? id : COMM_ID_OTHER];
}

const struct comm_function *comm_who_function_at(const struct comm_who *who, uint32_t id)
{
	return &who->function[id < who->n_functions ? id : COMM_ID_OTHER];
}

const struct comm_site *comm_who_site_at(const struct comm_who *who, uint32_t id)
{
	return &who->site[id < who->n_sites ? id : COMM_ID_OTHER];
}
