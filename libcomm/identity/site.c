// SPDX-License-Identifier: GPL-2.0-or-later
#include "site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "hash.h"
#include "keyed.h"
#include "names.h"

enum {
	FUNCTIONS_MAX = COMM_SITES_MAX,
	NAMES_BYTES_MAX = 64 << 20,
	HOT_SLOTS = 16 * 1024,
	PLACES_MAX = 1 << 18, /* a full table is emptied, and its places are asked again */
	DICT_SLOTS = 2 * COMM_SITES_MAX,
	WITHIN_MAX = COMM_SITES_MAX / 2, /* sites in regions: the rest is for code without */
	TYPED_MAX = COMM_SITES_MAX / 4,	 /* sites of a type; then lines do without */
	CALLED_MAX = COMM_SITES_MAX / 4, /* sites of a caller; then sites do without */
	RECHECK_NS = 1000 * 1000 * 1000, /* until the name of generated code is asked again */
	RETRY_S = 10,			 /* until a file that could not be read is tried again */
	UNMAPPED_NS = 50 * 1000 * 1000,
	PROVISIONAL_NS = 100 * 1000 * 1000, /* until an unknown line is asked again */
	PROVISIONAL_ASKS = 256,		    /* most unknown lines asked in that time */
	PENDING_MAX = COMM_SITES_MAX / 4,   /* places that are named later; then they never are */
	VERDICTS = 256,
};

static const uint64_t for_ever = UINT64_MAX;
/* From COMM_SITE_FIRST_WRITE on. */
static const char *const untold[] = {"[first write]", "[startup]", "[code not known]"};

/* The last answer for an ip of a process; one per hash value. */
struct hot_ip {
	uint64_t ip, until_ns;
	uint32_t tgid, generation;
	uint32_t site;
	struct comm_frame_rule frame;
};

/* A place in a file, the same for all processes, or in generated code. */
struct code_place {
	uint64_t offset;
	uint32_t file; /* tgid when private */
	bool private;
	bool provisional;
	uint32_t site;
	uint64_t until_ns; /* 0: not asked yet */
	struct comm_frame_rule frame;
};

/* Code of which more may become known: it has sites of its own until then. */
struct pending {
	struct comm_mapping map;
	uint64_t ip; /* 0: the place is free */
	uint32_t tgid;
	uint32_t function; /* its own, while it has no name; 0: it has one */
	uint32_t first;	   /* of its sites; of a free place, the next free one */
};

/* What a file's last answer was. */
struct verdict {
	uint64_t pass;
	uint32_t file, tgid; /* tgid 0: in a file */
	bool provisional, named;
};

static const struct comm_keyed_kind place_kind = {COMM_KEYED_BYTES(struct code_place, private),
						  .most = PLACES_MAX, .hostile = true};

struct comm_sites {
	const struct comm_inspect *inspect;
	struct comm_names *names;
	/*
	 * Arrays mapped at full size: the kernel allocates a page when it is first
	 * touched, and pointers handed out stay valid.
	 */
	struct comm_function *function;
	struct comm_site *site;
	uint32_t n_functions, n, n_within, n_typed, n_called;
	uint64_t n_unfiled;
	uint32_t *function_slot, *site_slot;
	struct hot_ip *hot;
	struct comm_keyed places;
	uint32_t unknown_site;
	struct pending *pending; /* 0 is none */
	uint32_t n_pending, free_pending;
	uint32_t *next; /* site of the same pending place; 0: the last */
	struct verdict verdict[VERDICTS];
	uint64_t pass;
	/* Places asked again for their line since asks_ns. */
	uint64_t asks_ns;
	uint32_t asks;
};

static const char *keep(struct comm_sites *sites, const char *name)
{
	return comm_names_add(sites->names, name ? name : "", COMM_NAME_BYTES);
}

static uint32_t function_id(struct comm_sites *sites, const char *name, const char *module,
			    const char *build_id, uint64_t start)
{
	struct comm_function f = {
		.name = keep(sites, name),
		.module = keep(sites, module),
		.build_id = keep(sites, build_id),
		.start = start,
	};
	uint64_t h = comm_hash_mix((uintptr_t)f.name, (uintptr_t)f.module);
	size_t at = comm_hash_mix(comm_hash_mix(h, (uintptr_t)f.build_id), start);

	for (; sites->function_slot[at &= DICT_SLOTS - 1]; at++) {
		const struct comm_function *have = &sites->function[sites->function_slot[at]];

		if (have->name == f.name && have->module == f.module &&
		    have->build_id == f.build_id && have->start == start)
			return sites->function_slot[at];
	}
	if (sites->n_functions >= FUNCTIONS_MAX) {
		sites->n_unfiled++;
		return COMM_ID_OTHER;
	}
	f.keeps_heap = comm_allocations_keeps_heap(f.name);
	sites->function[sites->n_functions] = f;
	sites->function_slot[at] = sites->n_functions;
	return sites->n_functions++;
}

/* Finds a site whose texts are kept ones, or makes it; full: no room for a new one. */
static uint32_t find_site(struct comm_sites *sites, const struct comm_site *s, bool full)
{
	uint64_t h = comm_hash_mix((uintptr_t)s->inlined, (uintptr_t)s->source);
	uint64_t of = comm_hash_mix((uintptr_t)s->type, (uintptr_t)s->field ^ s->field_offset);
	uint64_t call = comm_hash_mix((uintptr_t)s->call_source ^ s->pending, s->call_line);
	uint64_t around = (uint64_t)s->caller << 32 | s->region;
	size_t at = comm_hash_mix(comm_hash_mix(comm_hash_mix(h, around ^ call), of),
				  (uint64_t)s->function << 32 | s->line);

	for (; sites->site_slot[at &= DICT_SLOTS - 1]; at++) {
		const struct comm_site *have = &sites->site[sites->site_slot[at]];

		if (have->function == s->function && have->inlined == s->inlined &&
		    have->source == s->source && have->line == s->line &&
		    have->call_source == s->call_source && have->call_line == s->call_line &&
		    have->region == s->region && have->caller == s->caller &&
		    have->type == s->type && have->field == s->field &&
		    have->field_offset == s->field_offset && have->pending == s->pending)
			return sites->site_slot[at];
	}
	if (full || sites->n >= COMM_SITES_MAX) {
		sites->n_unfiled++;
		return COMM_ID_OTHER;
	}
	sites->site[sites->n] = *s;
	sites->n_typed += !!s->type;
	sites->site_slot[at] = sites->n;
	if (s->pending) {
		sites->next[sites->n] = sites->pending[s->pending].first;
		sites->pending[s->pending].first = sites->n;
	}
	return sites->n++;
}

static void tell_site(struct comm_sites *sites, const struct comm_code *code, struct comm_site *s)
{
	s->inlined = code->inlined ? keep(sites, code->inlined) : NULL;
	s->source = code->source ? keep(sites, code->source) : NULL;
	s->line = code->line;
	s->call_source = code->call_source ? keep(sites, code->call_source) : NULL;
	s->call_line = code->call_line;
	/* What the object says of itself stays (comm_sites_of_class()). */
	if (!s->type && code->type && sites->n_typed < TYPED_MAX) {
		s->type = keep(sites, code->type);
		s->field = keep(sites, code->field);
		s->field_offset = code->field_offset;
	}
}

static uint32_t site_id(struct comm_sites *sites, uint32_t function, const struct comm_code *code,
			uint64_t offset, uint32_t pending)
{
	struct comm_site s = {.function = function, .offset = offset, .pending = pending};

	tell_site(sites, code, &s);
	return find_site(sites, &s, false);
}

uint32_t comm_sites_named(struct comm_sites *sites, const char *name)
{
	const struct comm_site s = {.function = function_id(sites, name, "", "", 0)};

	return s.function == COMM_ID_OTHER ? COMM_ID_OTHER : find_site(sites, &s, false);
}

uint32_t comm_sites_within(struct comm_sites *sites, uint32_t site, uint32_t region)
{
	struct comm_site s = *comm_sites_at(sites, site);
	uint32_t ret, n = sites->n;

	if (region == COMM_CODE_REGION_NONE || site == COMM_ID_OTHER)
		return site;
	s.region = region;
	ret = find_site(sites, &s, sites->n_within >= WITHIN_MAX);
	sites->n_within += sites->n - n;
	return ret;
}

uint32_t comm_sites_called(struct comm_sites *sites, uint32_t site, uint32_t caller)
{
	struct comm_site s = *comm_sites_at(sites, site);
	uint32_t ret, n = sites->n;

	if (caller == COMM_CALL_UNKNOWN || site == COMM_ID_OTHER)
		return site;
	s.caller = caller;
	ret = find_site(sites, &s, sites->n_called >= CALLED_MAX);
	sites->n_called += sites->n - n;
	return ret == COMM_ID_OTHER ? site : ret;
}

/* "map<a::b, c>" of "std::map<a::b, c>". */
static const char *unqualified(const char *class)
{
	const char *ret = class;
	int depth = 0;

	for (const char *at = class; *at; at++) {
		if (*at == '<' || *at == '(' || *at == '{')
			depth++;
		else if (*at == '>' || *at == ')' || *at == '}')
			depth--;
		else if (!depth && at[0] == ':' && at[1] == ':' && at[2])
			ret = at + 2;
	}
	return ret;
}

uint32_t comm_sites_of_class(struct comm_sites *sites, uint32_t site, const char *class,
			     uint64_t offset)
{
	struct comm_site s = *comm_sites_at(sites, site);
	uint32_t ret;

	if (site == COMM_ID_OTHER || sites->n_typed >= TYPED_MAX ||
	    (s.type && s.field_offset != offset))
		return site;
	s.type = keep(sites, unqualified(class));
	s.field = s.field ? s.field : keep(sites, "");
	ret = find_site(sites, &s, false);
	return ret == COMM_ID_OTHER ? site : ret;
}

uint32_t comm_sites_seen_writing(struct comm_sites *sites, uint32_t function)
{
	struct comm_function f = *comm_sites_function_at(sites, function);
	struct comm_site s = {.region = COMM_CODE_REGION_OTHER};
	char name[COMM_NAME_BYTES];
	int n = snprintf(name, sizeof(name), "%s (seen writing it)", f.name);

	/* Names in brackets are ours. */
	if (f.pending || strchr("[(", *f.name) || n < 0 || (size_t)n >= sizeof(name))
		return COMM_SITE_NOT_TOLD;
	s.function = function_id(sites, name, f.module, f.build_id, f.start);
	return s.function == COMM_ID_OTHER ? COMM_SITE_NOT_TOLD : find_site(sites, &s, false);
}

int comm_sites_create(const struct comm_inspect *inspect, struct comm_sites **ret)
{
	struct comm_sites *sites = calloc(1, sizeof(*sites));
	const struct comm_code nothing = {0};
	int err;

	if (!sites)
		return -ENOMEM;
	sites->inspect = inspect;
	sites->function = calloc(FUNCTIONS_MAX, sizeof(*sites->function));
	sites->site = calloc(COMM_SITES_MAX, sizeof(*sites->site));
	sites->function_slot = calloc(DICT_SLOTS, sizeof(*sites->function_slot));
	sites->site_slot = calloc(DICT_SLOTS, sizeof(*sites->site_slot));
	sites->hot = calloc(HOT_SLOTS, sizeof(*sites->hot));
	sites->pending = calloc(PENDING_MAX, sizeof(*sites->pending));
	sites->n_pending = 1;
	sites->next = calloc(COMM_SITES_MAX, sizeof(*sites->next));
	err = comm_names_create(NAMES_BYTES_MAX, &sites->names);
	if (!err)
		err = comm_keyed_grow(&sites->places, &place_kind);
	if (err || !sites->function || !sites->site || !sites->function_slot || !sites->site_slot ||
	    !sites->hot || !sites->pending || !sites->next) {
		comm_sites_destroy(sites);
		return -ENOMEM;
	}
	/* Id 0 is in no slot: a slot of 0 is free. */
	sites->function[sites->n_functions++] =
		(struct comm_function){.name = "(other)", .module = "", .build_id = ""};
	sites->site[sites->n++] = (struct comm_site){.function = COMM_ID_OTHER};
	site_id(sites, function_id(sites, "[kernel]", "[kernel]", "", 0), &nothing, 0, 0);
	/* It is not told in which region these write. */
	for (size_t i = 0; i < sizeof(untold) / sizeof(*untold); i++)
		find_site(sites,
			  &(struct comm_site){.function = function_id(sites, untold[i], "", "", 0),
					      .region = COMM_CODE_REGION_OTHER},
			  false);
	sites->unknown_site =
		site_id(sites, function_id(sites, "[unknown]", "", "", 0), &nothing, 0, 0);
	*ret = sites;
	return 0;
}

void comm_sites_destroy(struct comm_sites *sites)
{
	if (!sites)
		return;
	comm_names_destroy(sites->names);
	free(sites->function);
	free(sites->site);
	free(sites->function_slot);
	free(sites->site_slot);
	free(sites->hot);
	comm_keyed_deinit(&sites->places);
	free(sites->pending);
	free(sites->next);
	free(sites);
}

/* Ends, since there is room for a few places from the beginning. */
static struct code_place *place_at(struct comm_sites *sites, const struct code_place *key)
{
	size_t at;

	while (comm_keyed_at(&sites->places, &place_kind, key, &at))
		comm_keyed_clear(&sites->places);
	return comm_keyed_row(&sites->places, &place_kind, at);
}

/*
 * Depends on event time alone, so that a replay gives the same sites.  Limited because
 * thousands of places may wait for the lines of one file: meanwhile their sites do
 * without a line.
 */
static bool may_ask(struct comm_sites *sites, const struct code_place *p, uint64_t now_ns)
{
	if (!p->provisional)
		return true;
	if (now_ns - sites->asks_ns >= PROVISIONAL_NS) {
		sites->asks_ns = now_ns;
		sites->asks = 0;
	}
	return sites->asks++ < PROVISIONAL_ASKS;
}

static bool in_file(const struct comm_mapping *m)
{
	return m->kind == COMM_MAP_FILE || m->kind == COMM_MAP_VDSO;
}

/* Names in brackets are ours: "[unknown]", "[jit]". */
static bool is_named(const struct comm_code *code)
{
	return !code->provisional || (code->function && *code->function != '[');
}

/* Generated code has no lasting address: it moves between runs and when recompiled. */
static bool is_generated(const struct comm_code *code)
{
	return code->module && !strcmp(code->module, "[jit]");
}

static uint32_t function_of(struct comm_sites *sites, const struct comm_code *code)
{
	return function_id(sites, code->function ? code->function : "[unknown]", code->module,
			   code->build_id, is_generated(code) ? 0 : code->start);
}

/* A function that nothing else is of; COMM_ID_OTHER: there is no room. */
static uint32_t own_function(struct comm_sites *sites, const struct comm_code *code)
{
	if (sites->n_functions >= FUNCTIONS_MAX)
		return COMM_ID_OTHER;
	sites->function[sites->n_functions] = (struct comm_function){
		.name = keep(sites, code->function ? code->function : "[unknown]"),
		.module = keep(sites, code->module),
		.build_id = keep(sites, code->build_id),
		.pending = true,
	};
	return sites->n_functions++;
}

static void free_pending(struct comm_sites *sites, uint32_t at)
{
	sites->pending[at] = (struct pending){.first = sites->free_pending};
	sites->free_pending = at;
}

/* 0: there is no place for it. */
static uint32_t add_pending(struct comm_sites *sites, uint32_t tgid, const struct comm_mapping *m,
			    uint64_t ip, const struct comm_code *code)
{
	uint32_t at = sites->free_pending, function = 0;

	if (!at && sites->n_pending == PENDING_MAX)
		return 0;
	if (!is_named(code)) {
		function = own_function(sites, code);
		if (!function)
			return 0;
	}
	if (at)
		sites->free_pending = sites->pending[at].first;
	else
		at = sites->n_pending++;
	sites->pending[at] =
		(struct pending){.map = *m, .ip = ip, .tgid = tgid, .function = function};
	return at;
}

static uint32_t pending_site(struct comm_sites *sites, uint32_t tgid, const struct comm_mapping *m,
			     uint64_t ip, const struct comm_code *code, uint64_t offset)
{
	uint32_t at = add_pending(sites, tgid, m, ip, code), function = sites->pending[at].function;

	uint32_t site =
		site_id(sites, function ? function : function_of(sites, code), code, offset, at);

	if (at && site == COMM_ID_OTHER)
		free_pending(sites, at);
	return site;
}

/* Tells what is known now to all that was said to be pending. */
static void tell_pending(struct comm_sites *sites, uint32_t at, const struct comm_code *code)
{
	struct pending *p = &sites->pending[at];
	uint32_t function = p->function, next;

	if (is_named(code)) {
		function = function_of(sites, code);
		if (p->function)
			sites->function[p->function] = sites->function[function];
		p->function = 0;
	}
	for (uint32_t id = p->first; id; id = next) {
		struct comm_site *s = &sites->site[id];

		next = sites->next[id];
		s->function = function;
		tell_site(sites, code, s);
		s->pending = code->provisional ? at : 0;
	}
	if (!code->provisional)
		free_pending(sites, at);
}

static struct verdict *verdict_of(struct comm_sites *sites, const struct pending *p)
{
	uint32_t tgid = in_file(&p->map) ? 0 : p->tgid;
	struct verdict *v =
		&sites->verdict[comm_hash_mix(p->map.file, tgid) & (uint64_t)(VERDICTS - 1)];

	if (v->pass != sites->pass || v->file != p->map.file || v->tgid != tgid)
		*v = (struct verdict){.file = p->map.file, .tgid = tgid};
	return v;
}

void comm_sites_settle(struct comm_sites *sites)
{
	sites->pass++;
	for (uint32_t at = 1; at < sites->n_pending; at++) {
		struct pending *p = &sites->pending[at];
		struct comm_code code = {0};
		struct verdict *v;

		if (!p->ip)
			continue;
		/* Of a file that is still being read one answer is like the next. */
		v = verdict_of(sites, p);
		if (v->pass == sites->pass && v->provisional && (!v->named || !p->function))
			continue;
		sites->inspect->ops->code(sites->inspect->ctx, p->tgid, &p->map, p->ip, &code);
		v->pass = sites->pass;
		v->provisional = code.provisional;
		v->named = is_named(&code);
		tell_pending(sites, at, &code);
	}
}

static void ask_site(struct comm_sites *sites, uint32_t tgid, const struct comm_mapping *m,
		     uint64_t ip, uint64_t now_ns, struct code_place *ret)
{
	struct comm_code code = {0};
	uint64_t offset = in_file(m) ? ip - m->start + m->offset : ip;
	uint32_t pending = ret->until_ns ? comm_sites_at(sites, ret->site)->pending : 0;

	ret->until_ns = in_file(m) ? for_ever : now_ns + RECHECK_NS;
	if (sites->inspect->ops->code(sites->inspect->ctx, tgid, m, ip, &code) < 0 && in_file(m))
		ret->until_ns = now_ns + RETRY_S * 1000000000ull;
	else if (code.provisional)
		ret->until_ns = now_ns + PROVISIONAL_NS;
	ret->provisional = code.provisional;
	if (pending)
		tell_pending(sites, pending, &code);
	if (!code.provisional)
		ret->site = site_id(sites, function_of(sites, &code), &code, offset, 0);
	else if (!pending)
		ret->site = pending_site(sites, tgid, m, ip, &code, offset);
	ret->frame = is_generated(&code) ? comm_frame_by_pointer : code.frame;
}

static uint32_t look_up(struct comm_sites *sites, struct comm_space *space, uint64_t ip,
			uint64_t now_ns, struct comm_frame_rule *ret_frame)
{
	uint32_t tgid = comm_space_tgid(space), generation = comm_space_generation(space), site;
	struct hot_ip *hot = &sites->hot[comm_hash_mix(ip, tgid) & (HOT_SLOTS - 1)];
	const struct comm_mapping *m;
	uint64_t until_ns;

	if (hot->ip == ip && hot->tgid == tgid && hot->generation == generation &&
	    now_ns < hot->until_ns) {
		*ret_frame = hot->frame;
		return hot->site;
	}
	*ret_frame = (struct comm_frame_rule){0};
	if (ip >> 63)
		return COMM_SITE_KERNEL;
	m = comm_space_find(space, ip, now_ns);
	if (!m) {
		site = sites->unknown_site;
		until_ns = now_ns + UNMAPPED_NS;
	} else {
		bool private = !m->file || m->kind == COMM_MAP_JIT;
		struct code_place *p = place_at(
			sites,
			&(struct code_place){.offset = private ? ip : ip - m->start + m->offset,
					     .file = private ? tgid : m->file,
					     .private = private});

		if (p->until_ns <= now_ns && may_ask(sites, p, now_ns))
			ask_site(sites, tgid, m, ip, now_ns, p);
		site = p->site;
		*ret_frame = p->frame;
		until_ns = p->until_ns;
	}
	if (comm_space_generation(space) == generation)
		*hot = (struct hot_ip){ip, until_ns, tgid, generation, site, *ret_frame};
	return site;
}

uint32_t comm_sites_get(struct comm_sites *sites, struct comm_space *space, uint64_t ip,
			uint64_t now_ns)
{
	struct comm_frame_rule frame;

	return look_up(sites, space, ip, now_ns, &frame);
}

struct comm_frame_rule comm_sites_frame(struct comm_sites *sites, struct comm_space *space,
					uint64_t ip, uint64_t now_ns)
{
	struct comm_frame_rule frame;

	look_up(sites, space, ip, now_ns, &frame);
	return frame;
}

uint64_t comm_sites_unfiled(const struct comm_sites *sites)
{
	return sites->n_unfiled;
}

uint32_t comm_sites_count(const struct comm_sites *sites)
{
	return sites->n;
}

uint32_t comm_sites_functions(const struct comm_sites *sites)
{
	return sites->n_functions;
}

const struct comm_site *comm_sites_at(const struct comm_sites *sites, uint32_t id)
{
	return &sites->site[id < sites->n ? id : COMM_ID_OTHER];
}

uint32_t comm_sites_function_of(const void *sites, uint32_t site)
{
	return comm_sites_at(sites, site)->function;
}

const struct comm_function *comm_sites_function_at(const struct comm_sites *sites, uint32_t id)
{
	return &sites->function[id < sites->n_functions ? id : COMM_ID_OTHER];
}

bool comm_sites_keeps_heap(const struct comm_sites *sites, uint32_t site)
{
	return comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->keeps_heap;
}
