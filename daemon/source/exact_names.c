// SPDX-License-Identifier: GPL-2.0-or-later
#include "exact_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "files.h"
#include "maps.h"
#include "names.h"
#include "site.h"
#include "space.h"
#include "type_insn.h"

enum {
	NAMES_BYTES_MAX = 128 << 20,
	FUNCTION_KERNEL = 1, /* of the file, and the first of the channels */
	/* The access stands behind the call that announced it, with few instructions between. */
	LOOK_INSNS = 8,
	LOOK_BYTES = 64,
};

struct comm_exact_names {
	struct comm_exact *result;
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_perfdata_files *files;
	struct comm_mapping *map;
	size_t n_maps;
	struct comm_inspect inspect;
	struct comm_space_table *spaces;
	struct comm_space *space;
	struct comm_sites *sites;
	struct comm_type_decoder *decoder;
	struct comm_object *object;
	uint32_t n_objects;
	struct comm_call *path;		   /* by ids of the result */
	uint32_t *site_name, *object_name; /* by ids of the result */
};

static int view_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	const struct comm_exact_names *names = ctx;

	(void)tgid;
	*ret = names->map;
	*ret_n = names->n_maps;
	return 0;
}

static ssize_t view_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	(void)tgid;
	return comm_perfdata_files_text(((struct comm_exact_names *)ctx)->files, m, addr, buf,
					len_bytes);
}

static int view_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	(void)tgid;
	return comm_perfdata_files_code(((struct comm_exact_names *)ctx)->files, m, ip, ret);
}

/* Anonymous memory behind a file is its .bss. */
static int view_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	struct comm_exact_names *names = ctx;
	const struct comm_mapping *file = m;

	(void)tgid;
	if (m->kind == COMM_MAP_ANON && m->start)
		file = comm_space_find(names->space, m->start - 1, 0);
	if (!file || file->kind != COMM_MAP_FILE || file->shared)
		return -ENOENT;
	return comm_perfdata_files_data(names->files, file, addr, ret);
}

static int view_thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx, (void)tgid, (void)tid, (void)name;
	return -ENOENT;
}

static const struct comm_inspect_ops view_ops = {
	.maps = view_maps,
	.maps_at_once = true,
	.text = view_text,
	.code = view_code,
	.data = view_data,
	.thread_name = view_thread_name,
};

/* The instruction that reads, from an address on; 0: it is not seen. */
static uint64_t reading_insn(struct comm_exact_names *names, uint64_t addr)
{
	const struct comm_mapping *m = comm_space_find(names->space, addr, 0);
	struct comm_type_insn insn;
	uint8_t bytes[LOOK_BYTES];
	ssize_t n = m ? view_text(names, 0, m, addr, bytes, sizeof(bytes)) : -ENOENT;

	for (ssize_t i = 0, at = 0; i < LOOK_INSNS && at < n; i++) {
		if (!comm_type_insn_decode(names->decoder, addr + (uint64_t)at, bytes + at,
					   (size_t)(n - at), &insn))
			return 0;
		if (insn.op == COMM_TYPE_CALL || insn.op == COMM_TYPE_JUMP ||
		    insn.op == COMM_TYPE_BRANCH || insn.op == COMM_TYPE_END)
			return 0;
		/* What the compiler keeps on the stack it fetches from there unannounced. */
		if (insn.has_mem && insn.reads && insn.base != COMM_TYPE_RSP)
			return insn.addr;
		at += insn.len_bytes;
	}
	return 0;
}

/*
 * The site in the path that its function was called in.  The path ends with the function that runs, which is what is
 * around unless the site is of it: code that was inlined there, and the kernel.
 */
static uint32_t called_in(struct comm_exact_names *names, uint32_t site, uint32_t path)
{
	const struct comm_call *last = &names->path[path];

	if (path <= COMM_CALL_OUTERMOST)
		return site;
	if (last->function == comm_sites_function_of(names->sites, site))
		path = last->parent;
	return comm_sites_called(names->sites, site, path);
}

static uint32_t function_of(struct comm_exact_names *names, uint32_t id)
{
	uint64_t ip = comm_exact_entry_at(names->result, id);

	return ip ? comm_sites_function_of(names->sites,
					   comm_sites_get(names->sites, names->space, ip, 0))
		  : COMM_ID_OTHER;
}

static void name_paths(struct comm_exact_names *names, uint32_t *function)
{
	const struct comm_exact_run *run = comm_exact_run(names->result);

	for (uint32_t i = 0; i < run->n_functions; i++)
		function[i] = function_of(names, i);
	for (uint32_t i = 0; i < run->n_paths; i++) {
		const struct comm_call *path = comm_exact_path_at(names->result, i);

		names->path[i] = *path;
		if (i > COMM_CALL_OUTERMOST)
			names->path[i].function = function[path->function];
	}
}

/* But the kernel, which has an id of its own.  In a file of an earlier libcomm-exact these are of code. */
static bool is_channel(uint32_t function)
{
	return function > FUNCTION_KERNEL && function < FUNCTION_KERNEL + COMM_CHANNELS;
}

static uint32_t site_of(struct comm_exact_names *names, uint32_t id)
{
	const struct comm_exact_code *code = comm_exact_code_at(names->result, id);
	const struct comm_site *site = comm_exact_site_at(names->result, id);
	uint64_t reads = code->reads ? reading_insn(names, code->reads) : 0;
	const struct comm_function *function =
		comm_exact_function_at(names->result, site->function);
	uint32_t ret = site->function == FUNCTION_KERNEL ? COMM_SITE_KERNEL : COMM_ID_OTHER;

	if (is_channel(site->function) && *function->name)
		ret = comm_sites_named(names->sites, function->name);
	if (code->ip)
		ret = comm_sites_get(names->sites, names->space, reads ? reads : code->ip, 0);
	ret = comm_sites_within(names->sites, ret, site->region);
	return called_in(names, ret, site->caller);
}

static const char *keep(struct comm_exact_names *names, const char *name)
{
	return comm_names_add(names->names, name, COMM_NAME_BYTES);
}

/* Names memory by the code that made it. */
static void name_by_code(struct comm_exact_names *names, struct comm_object *o)
{
	const struct comm_site *site = comm_sites_at(
		names->sites, comm_sites_get(names->sites, names->space, o->start, 0));
	const struct comm_function *function = comm_sites_function_at(names->sites, site->function);
	char name[COMM_NAME_BYTES];

	if (site->source)
		snprintf(name, sizeof(name), "%.200s:%u (%.200s)", comm_maps_base(site->source),
			 site->line, function->name);
	else
		snprintf(name, sizeof(name), "%.200s (%.200s)", function->name, function->module);
	o->name = keep(names, name);
	o->module = keep(names, function->module);
	o->build_id = keep(names, function->build_id);
	/* The same line may allocate by several calls. */
	o->start = 0;
}

static void name_variable(struct comm_exact_names *names, struct comm_object *o)
{
	const struct comm_mapping *found = comm_space_find(names->space, o->start, 0);
	struct comm_mapping m;
	struct comm_static var;
	char name[2 * COMM_NAME_BYTES];

	o->name = "[data]";
	if (!found)
		return;
	m = *found;
	if (view_data(names, 0, &m, o->start, &var))
		return;
	o->kind = COMM_OBJECT_STATIC;
	o->name = keep(names, var.name);
	o->module = keep(names, var.module);
	o->build_id = keep(names, var.build_id);
	o->start = var.start;
	o->size_bytes = var.end - var.start;
	if (var.name[0] != '.')
		return;
	o->kind = COMM_OBJECT_DATA;
	snprintf(name, sizeof(name), "%s %s", var.module, var.name);
	o->name = keep(names, name);
}

static struct comm_object object_of(struct comm_exact_names *names, uint32_t id)
{
	struct comm_object o = *comm_exact_object_at(names->result, id);
	char name[COMM_NAME_BYTES];

	switch (o.kind) {
	case COMM_OBJECT_STATIC:
	case COMM_OBJECT_DATA:
		name_variable(names, &o);
		break;
	case COMM_OBJECT_HEAP:
	case COMM_OBJECT_ANON:
		if (o.start)
			name_by_code(names, &o);
		else
			o.name = keep(names, "[anon]");
		break;
	case COMM_OBJECT_STACK:
		snprintf(name, sizeof(name), "[stack %u]", o.thread_tid);
		o.name = keep(names, name);
		break;
	default:
		o.name = keep(names, o.name);
	}
	return o;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Names are kept once each: equal ones are equal pointers. */
static int compare_objects(const struct comm_object *a, const struct comm_object *b)
{
	int ret = order(a->kind, b->kind);

	ret = ret ? ret : order((uintptr_t)a->name, (uintptr_t)b->name);
	ret = ret ? ret : order((uintptr_t)a->module, (uintptr_t)b->module);
	ret = ret ? ret : order((uintptr_t)a->build_id, (uintptr_t)b->build_id);
	return ret ? ret : order(a->start, b->start);
}

struct numbered {
	struct comm_object object;
	uint32_t id; /* in the result */
};

static int by_object(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	int ret = compare_objects(&x->object, &y->object);

	return ret ? ret : order(x->id, y->id);
}

/* Objects that are called the same are one; object 0 stays itself. */
static void name_objects(struct comm_exact_names *names, struct numbered *all, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		all[i] = (struct numbered){object_of(names, i), i};
	if (n > 1)
		qsort(all + 1, n - 1, sizeof(*all), by_object);
	names->object[0] = *comm_exact_object_at(names->result, 0);
	names->n_objects = 1;
	for (uint32_t i = 1; i < n; i++) {
		struct comm_object *last = &names->object[names->n_objects - 1];

		if (i == 1 || compare_objects(&all[i].object, last))
			names->object[names->n_objects++] = all[i].object;
		else if (last->kind != COMM_OBJECT_STATIC && last->kind != COMM_OBJECT_DATA)
			last->size_bytes += all[i].object.size_bytes;
		names->object_name[all[i].id] = names->n_objects - 1;
	}
}

static int name_all(struct comm_exact_names *names)
{
	const struct comm_exact_run *run = comm_exact_run(names->result);
	struct numbered *all = calloc(run->n_objects + 1, sizeof(*all));
	uint32_t *function = calloc(run->n_functions + 1, sizeof(*function));

	names->path = calloc(run->n_paths + 1, sizeof(*names->path));
	names->site_name = calloc(run->n_sites + 1, sizeof(*names->site_name));
	names->object_name = calloc(run->n_objects + 1, sizeof(*names->object_name));
	names->object = calloc(run->n_objects + 1, sizeof(*names->object));
	if (!all || !function || !names->path || !names->site_name || !names->object_name ||
	    !names->object) {
		free(all);
		free(function);
		return -ENOMEM;
	}
	name_paths(names, function);
	for (uint32_t i = 0; i < run->n_sites; i++)
		names->site_name[i] = site_of(names, i);
	if (run->n_objects)
		name_objects(names, all, run->n_objects);
	free(all);
	free(function);
	comm_exact_rename(names->result, names->site_name, names->object_name);
	return 0;
}

int comm_exact_names_create(struct comm_exact *result, struct comm_exact_names **ret)
{
	struct comm_exact_names *names = calloc(1, sizeof(*names));
	const char *text;
	size_t bytes;
	int err;

	if (!names)
		return -ENOMEM;
	text = comm_exact_maps(result, &bytes);
	names->result = result;
	names->inspect = (struct comm_inspect){.ops = &view_ops, .ctx = names};
	err = comm_names_create(NAMES_BYTES_MAX, &names->names);
	if (!err)
		err = comm_maps_create(names->names, &names->maps);
	if (!err)
		err = comm_maps_parse(names->maps, text, bytes, &names->map, &names->n_maps);
	if (!err && comm_exact_run(result)->link)
		comm_maps_name_program(
			names->map, names->n_maps,
			comm_maps_path(names->maps, comm_exact_run(result)->linked_file),
			comm_maps_path(names->maps, comm_exact_run(result)->link));
	if (!err)
		err = comm_perfdata_files_create(names->names, names->maps, &names->files);
	if (!err)
		err = comm_perfdata_files_start(names->files);
	if (!err)
		err = comm_space_table_create(&names->inspect, &names->spaces);
	if (!err)
		err = comm_sites_create(&names->inspect, &names->sites);
	if (!err)
		err = comm_type_decoder_create(&names->decoder);
	if (!err) {
		comm_perfdata_files_machine(names->files, true, true);
		names->space = comm_space_get(names->spaces, comm_exact_run(result)->pid);
		err = names->space ? name_all(names) : -ENOMEM;
	}
	if (err) {
		comm_exact_names_destroy(names);
		return err;
	}
	*ret = names;
	return 0;
}

void comm_exact_names_destroy(struct comm_exact_names *names)
{
	if (!names)
		return;
	comm_type_decoder_destroy(names->decoder);
	comm_sites_destroy(names->sites);
	comm_space_table_destroy(names->spaces);
	comm_perfdata_files_destroy(names->files);
	comm_maps_destroy(names->maps);
	comm_names_destroy(names->names);
	free(names->map);
	free(names->object);
	free(names->site_name);
	free(names->object_name);
	free(names->path);
	free(names);
}

uint32_t comm_exact_names_sites(const struct comm_exact_names *names)
{
	return comm_sites_count(names->sites);
}

uint32_t comm_exact_names_functions(const struct comm_exact_names *names)
{
	return comm_sites_functions(names->sites);
}

uint32_t comm_exact_names_objects(const struct comm_exact_names *names)
{
	return names->n_objects;
}

const struct comm_site *comm_exact_names_site(const struct comm_exact_names *names, uint32_t id)
{
	return comm_sites_at(names->sites, id);
}

const struct comm_function *comm_exact_names_function(const struct comm_exact_names *names,
						      uint32_t id)
{
	return comm_sites_function_at(names->sites, id);
}

const struct comm_object *comm_exact_names_object(const struct comm_exact_names *names, uint32_t id)
{
	return &names->object[id];
}

const struct comm_call *comm_exact_names_path(const struct comm_exact_names *names, uint32_t id)
{
	return &names->path[id];
}

uint64_t comm_exact_names_unread(const struct comm_exact_names *names)
{
	return comm_perfdata_files_unread(names->files);
}
