/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>

#include "output.h"

#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_vki.h"
#include "pub_tool_xarray.h"

#include "array.h"
#include "call.h"
#include "format.h"
#include "memory.h"
#include "object.h"
#include "region.h"
#include "site.h"
#include "trace.h"
#include "transit.h"

enum {
	BUFFER_BYTES = 65536,
	EDGES_PER_RECORD = 4096,
	NAME_BYTES = 64,
	COMMAND_BYTES = 1024,
};

static struct comm_trace *trace;
static const HChar *path;
static Int fd = -1;
static UInt n_files;
static Bool failed, is_child;
static UChar buffer[BUFFER_BYTES];
static UInt fill;
static ULong n_edges, start_ns, start_unix_ns, start_clock_ns;
static ULong *children_accesses;
static struct comm_exact_file_phase phase;
static HChar phase_name[NAME_BYTES];
static const struct comm_array *threads; /* of all processes: struct comm_vg_thread */
static ULong *told_instructions;	 /* of each, in earlier phases */

static ULong clock_ns(vki_clockid_t clock)
{
	struct vki_timespec t;

	VG_(clock_gettime)(&t, clock);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

ULong comm_output_now_ns(void)
{
	return clock_ns(VKI_CLOCK_MONOTONIC);
}

static void drain(void)
{
	UInt done = 0;

	while (done < fill && !failed) {
		Int n = VG_(write)(fd, buffer + done, fill - done);

		if (n <= 0) {
			failed = True;
			VG_(umsg)("commexact: cannot write %s; the result is lost\n", path);
		} else {
			done += n;
		}
	}
	fill = 0;
}

static void put(const void *data, SizeT bytes)
{
	while (bytes) {
		SizeT n = BUFFER_BYTES - fill < bytes ? BUFFER_BYTES - fill : bytes;

		VG_(memcpy)(buffer + fill, data, n);
		fill += n;
		data = (const UChar *)data + n;
		bytes -= n;
		if (fill == BUFFER_BYTES)
			drain();
	}
}

static void begin(UInt kind, UInt bytes)
{
	struct comm_exact_record record = {kind, bytes};

	put(&record, sizeof(record));
}

static void pad(UInt bytes)
{
	static const UChar zero[8];

	put(zero, -bytes & 7);
}

static void record(UInt kind, const void *fixed, UInt fixed_bytes, const HChar *first,
		   UInt first_bytes, const HChar *second, UInt second_bytes)
{
	UInt bytes = fixed_bytes + first_bytes + second_bytes;

	begin(kind, bytes);
	put(fixed, fixed_bytes);
	put(first, first_bytes);
	put(second, second_bytes);
	pad(bytes);
}

static Bool open_file(void)
{
	struct comm_exact_header header = {.version = COMM_EXACT_VERSION,
					   .header_bytes = sizeof(header),
					   .granularity_bytes = 1u << trace->shadow.shift,
					   .pid = VG_(getpid)(),
					   .start_ns = start_ns,
					   .start_unix_ns = start_unix_ns};
	HChar command[COMMAND_BYTES];
	HChar *expanded, *name;

	if (is_child)
		return False;
	if (fd >= 0 || failed)
		return !failed;
	expanded = VG_(expand_file_name)("--exact-out", path);
	name = VG_(malloc)("comm.name", VG_(strlen)(expanded) + 16);
	/* A second file: the program called exec, which failed, and went on. */
	if (n_files)
		VG_(sprintf)(name, "%s.%u", expanded, n_files + 1);
	else
		VG_(strcpy)(name, expanded);
	VG_(free)(expanded);
	n_files++;
	fd = VG_(fd_open)(name, VKI_O_CREAT | VKI_O_TRUNC | VKI_O_WRONLY,
			  VKI_S_IRUSR | VKI_S_IWUSR);
	if (fd < 0) {
		failed = True;
		VG_(umsg)("commexact: cannot create %s\n", name);
	}
	VG_(free)(name);
	if (failed)
		return False;
	VG_(memcpy)(header.magic, COMM_EXACT_MAGIC, sizeof(header.magic));
	put(&header, sizeof(header));
	VG_(client_cmd_and_args)(command, sizeof(command));
	record(COMM_EXACT_COMMAND, NULL, 0, command, VG_(strlen)(command), NULL, 0);
	return True;
}

static void begin_run(void)
{
	start_ns = phase.start_ns = clock_ns(VKI_CLOCK_MONOTONIC);
	start_unix_ns = clock_ns(VKI_CLOCK_REALTIME);
	start_clock_ns = *trace->clock_ns;
	phase.index = 0;
	comm_tool_dates_begin(&trace->dates, 0, start_clock_ns);
	comm_tool_dates_forget(&trace->table);
	phase.start_instruction = trace->instructions;
	phase_name[0] = 0;
}

/* The file is there from the start, as the program may be a user by the end who cannot make it. */
void comm_output_init(struct comm_trace *t, const struct comm_array *of, const HChar *p)
{
	trace = t;
	threads = of;
	path = p;
	told_instructions = comm_mem_map_shared(COMM_TRACE_THREADS * sizeof(*told_instructions));
	children_accesses = comm_mem_map_shared(sizeof(*children_accesses));
	begin_run();
	if (open_file())
		drain();
}

/* Of the edges of a record, in their order. */
static struct comm_exact_file_ages ages[EDGES_PER_RECORD];
static UInt n_ages;

/* Another process may be counting: its bytes come before their ages. */
static void take_ages(struct comm_tool_cell *cell, uint64_t left)
{
	struct comm_exact_file_ages *told = &ages[n_ages++];

	for (UInt i = 0; i < COMM_EXACT_AGES_MAX; i++) {
		uint64_t bytes = cell->age_bytes[i] - cell->told_age_bytes[i];

		told->bytes[i] = bytes < left ? bytes : left;
		cell->told_age_bytes[i] += told->bytes[i];
		left -= told->bytes[i];
	}
}

static void put_edge(struct comm_tool_cell *cell)
{
	const uint64_t bytes = cell->bytes;
	uint64_t first_bytes = cell->first_bytes;
	struct comm_exact_file_edge edge = {.src = cell->writer,
					    .dst = comm_table_reader(cell->reader),
					    .object = cell->object,
					    .back = comm_table_back(cell->reader),
					    .bytes = bytes - cell->told_bytes};

	if (first_bytes - cell->told_first_bytes > edge.bytes)
		first_bytes = cell->told_first_bytes + edge.bytes;
	edge.first_bytes = first_bytes - cell->told_first_bytes;
	cell->told_bytes = bytes;
	cell->told_first_bytes = first_bytes;
	put(&edge, sizeof(edge));
	take_ages(cell, edge.bytes);
	n_edges++;
}

static void put_write(struct comm_tool_cell *cell)
{
	const uint64_t bytes = cell->bytes;
	struct comm_exact_file_write written = {
		.actor = cell->writer, .object = cell->object, .bytes = bytes - cell->told_bytes};

	cell->told_bytes = bytes;
	put(&written, sizeof(written));
}

/* Cells of these, and what stands in a record of them. */
static const struct cells {
	UInt kind, bytes;
	Bool are_writes;
	void (*put)(struct comm_tool_cell *cell);
} all_cells[] = {
	{COMM_EXACT_EDGES, sizeof(struct comm_exact_file_edge), False, put_edge},
	{COMM_EXACT_WRITES, sizeof(struct comm_exact_file_write), True, put_write},
};

enum { ALL_CELLS = sizeof(all_cells) / sizeof(*all_cells) };

/* Since the last phase; its own process may be adding to it. */
static Bool has_more(const struct cells *cells, const struct comm_tool_cell *cell)
{
	return cell->bytes != cell->told_bytes && (cell->reader == 0) == cells->are_writes;
}

static UInt count_cells(const struct cells *cells)
{
	UInt n = 0, n_cells = comm_array_count(&trace->table.cells);

	for (UInt i = 1; i < n_cells; i++)
		n += has_more(cells, comm_table_at(&trace->table, i));
	return n;
}

static void put_ages(void)
{
	begin(COMM_EXACT_AGES, n_ages * sizeof(*ages));
	put(ages, n_ages * sizeof(*ages));
	n_ages = 0;
}

static void put_cells(const struct cells *cells)
{
	UInt in_record = 0, left = count_cells(cells);
	UInt n_cells = comm_array_count(&trace->table.cells);

	for (UInt i = 1; left && i < n_cells; i++) {
		struct comm_tool_cell *cell = comm_table_at(&trace->table, i);

		if (!has_more(cells, cell))
			continue;
		if (!in_record) {
			in_record = left < EDGES_PER_RECORD ? left : EDGES_PER_RECORD;
			begin(cells->kind, in_record * cells->bytes);
		}
		cells->put(cell);
		in_record--;
		left--;
		if (!in_record && n_ages)
			put_ages();
	}
}

static UInt count_threads(void)
{
	UInt n = 0;

	for (UInt i = 0; i < comm_array_count(threads); i++)
		n += trace->thread_instructions[i] != told_instructions[i];
	return n;
}

static void put_instructions(void)
{
	UInt left = count_threads();

	if (left)
		begin(COMM_EXACT_INSTRUCTIONS, left * sizeof(struct comm_exact_file_instructions));
	/* Another process may be counting. */
	for (UInt i = 0; i < comm_array_count(threads) && left; i++) {
		struct comm_exact_file_instructions of = {
			.thread = i, .count = trace->thread_instructions[i] - told_instructions[i]};

		if (!of.count)
			continue;
		put(&of, sizeof(of));
		told_instructions[i] += of.count;
		left--;
	}
}

static Bool ran_more(const struct comm_tool_actor *actor)
{
	return actor->instructions != actor->told_instructions;
}

static void put_lengths(void)
{
	UInt n = comm_array_count(&trace->table.actors), left = 0, in_record = 0;

	for (UInt i = 0; i < n; i++)
		left += ran_more(comm_array_at(&trace->table.actors, i));
	/* Another process may be counting. */
	for (UInt i = 0; i < n && left; i++) {
		struct comm_tool_actor *actor = comm_array_at(&trace->table.actors, i);
		struct comm_exact_file_length length = {
			.actor = i, .count = actor->instructions - actor->told_instructions};

		if (!length.count)
			continue;
		if (!in_record) {
			in_record = left < EDGES_PER_RECORD ? left : EDGES_PER_RECORD;
			begin(COMM_EXACT_LENGTHS, in_record * sizeof(length));
		}
		put(&length, sizeof(length));
		actor->told_instructions += length.count;
		in_record--;
		left--;
	}
}

static UInt count_dates(void)
{
	UInt n = 0, n_dates = comm_array_count(&trace->dates.table.cells);

	for (UInt i = 1; i < n_dates; i++) {
		const struct comm_tool_cell *date = comm_table_at(&trace->dates.table, i);

		n += date->bytes != date->told_bytes;
	}
	return n;
}

/* What a child that still runs counted as a second file began is of a slice of the first. */
static void put_date(struct comm_tool_cell *date)
{
	const struct comm_tool_cell *of = comm_table_at(&trace->table, date->writer);
	const uint64_t bytes = date->bytes;
	struct comm_exact_file_date told = {
		.src = of->writer,
		.dst = comm_table_reader(of->reader),
		.object = of->object,
		.phase = date->reader < phase.index ? date->reader : COMM_EXACT_NO_PHASE,
		.bytes = bytes - date->told_bytes};

	date->told_bytes = bytes;
	put(&told, sizeof(told));
}

/* An empty record where there are none: that they were counted is known by it. */
static void put_dates(void)
{
	UInt left = count_dates(), in_record = 0;
	UInt n_dates = comm_array_count(&trace->dates.table.cells);

	if (!left)
		begin(COMM_EXACT_DATES, 0);
	for (UInt i = 1; left && i < n_dates; i++) {
		struct comm_tool_cell *date = comm_table_at(&trace->dates.table, i);

		if (date->bytes == date->told_bytes)
			continue;
		if (!in_record) {
			in_record = left < EDGES_PER_RECORD ? left : EDGES_PER_RECORD;
			begin(COMM_EXACT_DATES, in_record * sizeof(struct comm_exact_file_date));
		}
		put_date(date);
		in_record--;
		left--;
	}
}

void comm_output_phase(const HChar *next_name)
{
	UInt n = count_threads();

	if (is_child)
		return;
	for (UInt i = 0; i < ALL_CELLS; i++)
		n += count_cells(&all_cells[i]);
	phase.end_ns = comm_output_now_ns();
	phase.end_instruction = trace->instructions;
	phase.name_bytes = VG_(strlen)(phase_name);
	if (n && open_file()) {
		record(COMM_EXACT_PHASE, &phase, sizeof(phase), phase_name, phase.name_bytes, NULL,
		       0);
		for (UInt i = 0; i < ALL_CELLS; i++)
			put_cells(&all_cells[i]);
		put_instructions();
		put_lengths();
		put_dates();
		phase.index++;
		comm_tool_dates_begin(&trace->dates, phase.index, *trace->clock_ns);
	}
	phase.start_ns = phase.end_ns;
	phase.start_instruction = phase.end_instruction;
	if (next_name)
		VG_(strlcpy)(phase_name, next_name, sizeof(phase_name));
}

/* Code in a region or a path: its site in the file comes after those of code that is in none. */
struct within {
	VgHashNode node; /* key: all but place */
	UInt site, region, path, place;
};

static UInt n_sites, n_paths, n_within;
static VgHashTable *known_within;
static XArray *all_within; /* by place */

static const struct within *within_at(UInt place)
{
	return *(struct within **)VG_(indexXA)(all_within, place);
}

static void put_threads(void)
{
	for (UInt i = 0; i < comm_array_count(threads); i++) {
		const struct comm_vg_thread *t = comm_array_at(threads, i);
		struct comm_exact_file_thread thread = {.id = i,
							.tid = t->tid,
							.pid = t->pid,
							.start_ns = t->start_ns,
							.end_ns = t->end_ns,
							.name_bytes = VG_(strlen)(t->name)};

		record(COMM_EXACT_THREAD, &thread, sizeof(thread), t->name, thread.name_bytes, NULL,
		       0);
	}
}

/* Of what another process has just added there may be no name yet. */
static UInt length(const HChar *text)
{
	return text ? VG_(strlen)(text) : 0;
}

static void put_site(UInt id, UInt of)
{
	const struct comm_vg_site *s = comm_site_get(of);
	struct comm_exact_file_site site = {.id = id,
					    .function = s->function,
					    .line = s->line,
					    .source_bytes = length(s->source),
					    .offset = s->offset};

	record(COMM_EXACT_SITE, &site, sizeof(site), s->source, site.source_bytes, NULL, 0);
}

static void put_code(void)
{
	for (UInt i = 0; i < comm_function_count(); i++) {
		const struct comm_vg_function *f = comm_function_get(i);
		struct comm_exact_file_function function = {.id = i,
							    .name_bytes = length(f->name),
							    .module_bytes = length(f->module),
							    .start = f->start};

		record(COMM_EXACT_FUNCTION, &function, sizeof(function), f->name,
		       function.name_bytes, f->module, function.module_bytes);
	}
	for (UInt i = 0; i < n_sites; i++)
		put_site(i, i);
	for (UInt i = 0; i < n_within; i++) {
		struct comm_exact_file_within within = {n_sites + i, within_at(i)->region};
		struct comm_exact_file_called called = {n_sites + i, within_at(i)->path};

		put_site(within.site, within_at(i)->site);
		if (within.region)
			record(COMM_EXACT_WITHIN, &within, sizeof(within), NULL, 0, NULL, 0);
		if (called.path)
			record(COMM_EXACT_CALLED, &called, sizeof(called), NULL, 0, NULL, 0);
	}
}

static void put_paths(void)
{
	for (UInt i = 0; i < n_paths; i++) {
		const struct comm_call_path *p = comm_call_path_get(i);
		struct comm_exact_file_path one = {p->parent, p->function};
		UInt left = n_paths - i;

		if (i % EDGES_PER_RECORD == 0)
			begin(COMM_EXACT_PATHS,
			      (left < EDGES_PER_RECORD ? left : EDGES_PER_RECORD) * sizeof(one));
		put(&one, sizeof(one));
	}
}

static void put_regions(void)
{
	struct comm_exact_file_calls count;
	const Bool tells_calls = comm_calls_count(&count.numbered, &count.later);

	if (!tells_calls && comm_region_count() == COMM_REGION_FIRST)
		return;
	for (UInt i = 0; i < comm_region_count(); i++) {
		const struct comm_vg_region *r = comm_region_get(i);
		struct comm_exact_file_region region = {
			.id = i, .parent = r->parent, .name_bytes = length(r->name)};

		record(COMM_EXACT_REGION, &region, sizeof(region), r->name, region.name_bytes, NULL,
		       0);
	}
	if (tells_calls)
		record(COMM_EXACT_CALLS, &count, sizeof(count), NULL, 0, NULL, 0);
}

static void put_objects(void)
{
	for (UInt i = 0; i < comm_object_count(); i++) {
		const struct comm_vg_object *o = comm_object_get(i);
		struct comm_exact_file_object object = {.id = i,
							.kind = o->kind,
							.name_bytes = length(o->name),
							.module_bytes = length(o->module),
							.start = o->start,
							.size_bytes = o->size_bytes,
							.blocks = o->blocks,
							.tid = o->tid};

		record(COMM_EXACT_OBJECT, &object, sizeof(object), o->name, object.name_bytes,
		       o->module, object.module_bytes);
	}
}

_Static_assert(COMM_REGIONS_MAX <= 1 << 14 && COMM_CALL_PATHS_MAX <= 1 << 16,
	       "the key of struct within");

/* A site stands for code in a region or a path alone: the same code elsewhere is another site, behind all others. */
static UInt site_within(const struct comm_tool_actor *actor)
{
	UInt called = actor->path;
	struct within *found;
	UWord key;

	/* A path ends with the function itself, unless that has no symbol: who called it is what is around. */
	if (called && comm_call_path_get(called)->function == comm_site_get(actor->site)->function)
		called = comm_call_path_get(called)->parent;
	if (!actor->region && !called)
		return actor->site;
	key = (UWord)actor->region << 48 | (UWord)called << 32 | actor->site;
	if (!known_within) {
		known_within = VG_(HT_construct)("comm.known_within");
		all_within =
			VG_(newXA)(VG_(malloc), "comm.within", VG_(free), sizeof(struct within *));
	}
	found = VG_(HT_lookup)(known_within, key);
	if (!found) {
		found = VG_(malloc)("comm.within", sizeof(*found));
		*found = (struct within){
			{NULL, key}, actor->site, actor->region, called, n_within++};
		VG_(HT_add_node)(known_within, found);
		VG_(addToXA)(all_within, &found);
	}
	return n_sites + found->place;
}

static void put_actors(void)
{
	UInt n = comm_array_count(&trace->table.actors);

	/* Of actors that another process adds from here on nothing is said. */
	n_sites = comm_site_count();
	n_paths = comm_call_path_count();

	for (UInt i = 0; i < n; i++) {
		const struct comm_tool_actor *a = comm_array_at(&trace->table.actors, i);
		struct comm_exact_file_actor actor = {.thread = a->thread, .site = site_within(a)};
		UInt left = n - i;

		if (i % EDGES_PER_RECORD == 0)
			begin(COMM_EXACT_ACTORS,
			      (left < EDGES_PER_RECORD ? left : EDGES_PER_RECORD) * sizeof(actor));
		put(&actor, sizeof(actor));
	}
}

static void put_forgotten(void)
{
	const ULong bytes = comm_transit_lost();

	if (bytes)
		record(COMM_EXACT_FORGOTTEN, &bytes, sizeof(bytes), NULL, 0, NULL, 0);
}

static void put_clock(void)
{
	ULong ns = *trace->clock_ns - start_clock_ns;

	record(COMM_EXACT_CLOCK, &ns, sizeof(ns), NULL, 0, NULL, 0);
	if (trace->frames)
		record(COMM_EXACT_FRAMES, &trace->frames, sizeof(trace->frames), NULL, 0, NULL, 0);
}

void comm_output_finish(void)
{
	struct comm_exact_file_end end;

	if (is_child) {
		__atomic_fetch_add(children_accesses, trace->accesses, __ATOMIC_RELAXED);
		trace->accesses = 0;
		return;
	}
	comm_output_phase("");
	if (!open_file())
		return;
	/* A child that still runs may be adding: what is referred to comes after what refers. */
	put_actors();
	put_threads();
	put_code();
	put_regions();
	put_paths();
	put_objects();
	put_clock();
	put_forgotten();
	end = (struct comm_exact_file_end){.edges = n_edges,
					   .accesses = trace->accesses + *children_accesses,
					   .instructions = trace->instructions,
					   .wall_ns = comm_output_now_ns() - start_ns};
	record(COMM_EXACT_END, &end, sizeof(end), NULL, 0, NULL, 0);
	drain();
	VG_(close)(fd);
	fd = -1;
	/* Further phases would belong to a program that went on after this. */
	n_edges = 0;
	begin_run();
}

void comm_output_forked(void)
{
	if (fd >= 0)
		VG_(close)(fd);
	fd = -1;
	fill = 0;
	is_child = True;
}
