/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock.h"
#include "heap_blocks.h"
#include "inspect.h"
#include "maps.h"
#include "maps_reading.h"
#include "marked.h"
#include "peek.h"
#include "process_lru.h"
#include "process_reader.h"
#include "program_name.h"
#include "python_code.h"
#include "python_threads.h"
#include "sampled_blocks.h"
#include "shared_parts.h"
#include "target_files.h"
#include "text_pages.h"
#include "thread_pointer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_BYTES_MAX = 128 << 20,
	PROCESSES_MAX = 512,			   /* whose mappings are kept, and */
	MAPPINGS_KEPT = COMM_MAPS_MAX + (1 << 16), /* so many of all together */
	/* Of what is allowed, percent; neither must keep files (target_files.h) from their part. */
	MAPS_PERCENT = 35,
	BLOCKS_PERCENT = 15,
	KEPT = 5, /* allowances that may be saved for mappings */
	RUNTIME_NONE = 1,
};

struct live_process {
	struct comm_process_lru_entry lru;
	struct comm_mapping *map;
	size_t n;
	bool is_due; /* what turns came to, which nobody has been told yet, and */
	int err;     /* why it is nothing new */
	struct comm_program_name program;
	struct comm_range zeroed[COMM_ZEROED_MAX];
	size_t n_zeroed;
	unsigned int python_minor; /* 0: it has no interpreter */
	uint64_t
		python_at; /* its lowest mapping of an interpreter's file; another: another program */
	uint64_t runtime; /* where that has "_PyRuntime"; 0: not known yet, RUNTIME_NONE */
};

struct live_inspect {
	struct comm_names *names;
	struct comm_maps *maps;
	struct comm_marked *marked;
	struct comm_heap_blocks *blocks;
	struct comm_sampled_blocks *sampled;
	struct comm_shared_parts *shared;
	struct comm_target_files *files;
	struct comm_peek *peek;
	struct comm_process_reader *reader;
	struct comm_maps_readings *readings;
	struct comm_text_pages *text;
	struct comm_python_codes *python;
	struct comm_python_threads *python_threads;
	struct comm_process_lru processes;
	size_t n_mappings;
	uint64_t unread;
	bool has_turns; /* which read what takes long */
	bool is_limited;
	int64_t maps_left_ns; /* of CPU time to read mappings with; below 0: owed */
};

static void forget_maps(struct live_inspect *live, struct live_process *p)
{
	live->n_mappings -= p->n;
	free(p->map);
	p->map = NULL;
	p->n = 0;
	p->is_due = false;
}

static void forget_process(void *ctx, struct comm_process_lru_entry *kept)
{
	forget_maps(ctx, (struct live_process *)kept);
}

static bool has_maps(const struct comm_process_lru_entry *kept, const void *ctx)
{
	(void)ctx;
	return ((const struct live_process *)kept)->n;
}

static ssize_t read_memory(void *ctx, uint32_t tgid, uint64_t addr, void *buf, size_t len_bytes)
{
	return comm_process_reader_memory(((struct live_inspect *)ctx)->reader, tgid, addr, buf,
					  len_bytes);
}

static int read_words(void *ctx, uint32_t tgid, const uint64_t *addr, size_t n, uint64_t *ret)
{
	return comm_process_reader_words_of(((struct live_inspect *)ctx)->reader, tgid, addr, n,
					    ret);
}

static void look_for_python(struct live_process *p)
{
	uint64_t at = 0;

	for (size_t i = 0; i < p->n && !at; i++)
		if (comm_maps_is_python(&p->map[i]))
			at = p->map[i].start;
	p->python_minor = comm_maps_python_minor(p->map, p->n);
	if (at != p->python_at)
		p->runtime = 0;
	p->python_at = at;
}

/* Takes the map. */
static int keep_maps(struct live_inspect *live, uint32_t tgid, struct comm_mapping *map, size_t n,
		     struct live_process **ret)
{
	int err = comm_process_reader_sysv(live->reader, tgid, live->maps, map, n);
	struct live_process *p;

	/* The file is empty for kernel threads and for a process that ends. */
	if (!n || err) {
		free(map);
		return n ? err : -ESRCH;
	}
	p = comm_process_lru_get(&live->processes, tgid);
	if (!p) {
		free(map);
		return -ENOMEM;
	}
	forget_maps(live, p);
	/* Of a thousand children of a large program most have ended by now. */
	while (live->n_mappings && live->n_mappings + n > MAPPINGS_KEPT)
		forget_maps(live, comm_process_lru_oldest(&live->processes, has_maps, NULL));
	p->map = map;
	p->n = n;
	comm_program_name_give(&p->program, live->reader, tgid, live->maps, map, n);
	p->n_zeroed = comm_maps_zeroed(map, n, p->zeroed);
	look_for_python(p);
	live->n_mappings += n;
	comm_marked_look(live->marked, tgid, map, n);
	comm_sampled_blocks_look(live->sampled, tgid, map, n);
	*ret = p;
	return 0;
}

static int read_maps(struct live_inspect *live, uint32_t tgid, const struct comm_mapping **ret,
		     size_t *ret_n)
{
	struct comm_maps_list list = {0};
	struct live_process *p;
	int err = comm_maps_readings_ask(live->readings, tgid, !live->has_turns, &list);

	if (!err)
		err = keep_maps(live, tgid, list.map, list.n, &p);
	if (err)
		return err;
	*ret = p->map;
	*ret_n = p->n;
	return 0;
}

/* CPU time for what is read by the other process. */
static uint64_t reading_ns(const struct live_inspect *live)
{
	return comm_clock_thread_ns() + comm_peek_cpu_ns(live->peek);
}

static int live_maps(void *ctx, uint32_t tgid, const struct comm_mapping **ret, size_t *ret_n)
{
	struct live_inspect *live = ctx;
	struct live_process *p = comm_process_lru_known(&live->processes, tgid);
	uint64_t start;
	int err;

	if (p && p->is_due) {
		p->is_due = false;
		*ret = p->map;
		*ret_n = p->n;
		return p->err;
	}
	if (live->has_turns && comm_maps_readings_has(live->readings, tgid))
		return -EINPROGRESS;
	if (!live->is_limited)
		return read_maps(live, tgid, ret, ret_n);
	if (live->maps_left_ns <= 0) {
		live->unread++;
		return -EAGAIN;
	}
	start = reading_ns(live);
	err = read_maps(live, tgid, ret, ret_n);
	live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	return err;
}

/* The mappings that were read last, read if there are none.  0; -EAGAIN: they are not known now; -ESRCH: it has ended. */
static int need_maps(struct live_inspect *live, uint32_t tgid, const struct live_process *p)
{
	const struct comm_mapping *map;
	size_t n;
	int err = p->n ? 0 : live_maps(live, tgid, &map, &n);

	return !err || err == -ESRCH ? err : -EAGAIN;
}

static ssize_t live_text(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
			 void *buf, size_t len_bytes)
{
	struct live_inspect *live = ctx;

	if (addr < m->start || addr >= m->end)
		return -EFAULT;
	if (len_bytes > m->end - addr)
		len_bytes = m->end - addr;
	return comm_text_pages_read(live->text, tgid, m, addr, buf, len_bytes, comm_clock_now_ns());
}

/* -ENOENT: the code is generated, as far as is known. */
static int copied_code(struct live_inspect *live, uint32_t tgid, uint64_t ip, struct comm_code *ret)
{
	struct live_process *p = comm_process_lru_get(&live->processes, tgid);
	const struct comm_mapping *file;
	struct comm_module *module;
	int err = -ENOENT;

	if (p && need_maps(live, tgid, p) == -EAGAIN)
		return -EAGAIN;
	for (int next = 0; p && next < 2 && err == -ENOENT; next++) {
		file = comm_maps_around(p->map, p->n, ip, next);
		if (!file)
			continue;
		err = comm_target_files_module(live->files, tgid, file, &module);
		err = err == -EAGAIN ? err
		      : err	     ? -ENOENT
				     : comm_module_copied(module, file, ip, ret);
	}
	return err;
}

static int place_of(struct live_inspect *live, uint32_t tgid, uint64_t addr,
		    struct comm_mapping *ret_m, struct comm_heap_place *ret);

/* Of what an interpreter runs, out of what mappings have, as for titles.  -ENOSYS: there is no interpreter. */
static int interpreted_code(struct live_inspect *live, uint32_t tgid, uint64_t ip,
			    struct comm_code *ret)
{
	bool is_paid = !live->is_limited || live->maps_left_ns > 0;
	uint64_t start = reading_ns(live);
	struct comm_heap_place place;
	struct comm_mapping m;
	int err = place_of(live, tgid, ip, &m, &place);

	if (!err && !place.has_python)
		return -ENOSYS;
	if (!err)
		err = is_paid ? comm_python_codes_at(live->python, tgid, &place, ret) : -EAGAIN;
	if (live->is_limited)
		live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	if (!err)
		return 0;
	*ret = (struct comm_code){.function = "[python]",
				  .module = "[python]",
				  .build_id = "",
				  .provisional = err == -EAGAIN};
	return err == -EAGAIN ? 0 : err;
}

static int generated_code(struct live_inspect *live, uint32_t tgid, const struct comm_mapping *m,
			  uint64_t ip, struct comm_code *ret)
{
	int err = m->kind == COMM_MAP_JIT ? copied_code(live, tgid, ip, ret) : -ENOENT, unnamed;

	if (m->kind != COMM_MAP_JIT)
		err = interpreted_code(live, tgid, ip, ret);
	if (!err || (m->kind != COMM_MAP_JIT && err != -ENOSYS))
		return err;
	unnamed = comm_target_files_generated(live->files, tgid, ip, ret);
	/* The file that it may be copied from is still being read. */
	ret->provisional |= unnamed && err == -EAGAIN;
	return ret->provisional ? 0 : unnamed;
}

static int live_code(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t ip,
		     struct comm_code *ret)
{
	struct live_inspect *live = ctx;
	struct comm_module *module;
	char name[COMM_NAME_BYTES];
	const char *called;
	int err;

	if (m->kind == COMM_MAP_JIT || m->kind == COMM_MAP_ANON || m->kind == COMM_MAP_HEAP ||
	    m->kind == COMM_MAP_STACK)
		return generated_code(live, tgid, m, ip, ret);
	err = comm_target_files_module(live->files, tgid, m, &module);
	if (!err)
		return comm_module_code(module, m, ip, ret);
	called = comm_maps_called(m);
	*ret = (struct comm_code){
		.function = "[unknown]",
		.module = comm_names_add(live->names, called, strlen(called)),
		.build_id = "",
		.provisional = err == -EAGAIN,
	};
	if (ret->provisional)
		return 0;
	ret->start = (ip - m->start + m->offset) & ~(uint64_t)4095;
	ret->end = ret->start + 4096;
	snprintf(name, sizeof(name), "%.480s+0x%" PRIx64, ret->module, ret->start);
	ret->function = comm_names_add(live->names, name, sizeof(name));
	return -ENOENT;
}

static int live_data(void *ctx, uint32_t tgid, const struct comm_mapping *m, uint64_t addr,
		     struct comm_static *ret)
{
	struct live_inspect *live = ctx;
	const struct comm_mapping *file = m;
	struct comm_module *module;
	int err;

	*ret = (struct comm_static){.name = "", .module = "", .build_id = ""};
	/* The .bss is anonymous memory that follows the file's last mapping. */
	if (m->kind == COMM_MAP_ANON && m->start) {
		struct live_process *p = comm_process_lru_get(&live->processes, tgid);

		if (p && need_maps(live, tgid, p) == -EAGAIN)
			return -EAGAIN;
		file = p ? comm_maps_at(p->map, p->n, m->start - 1) : NULL;
	}
	if (!file || file->kind != COMM_MAP_FILE || file->shared)
		return -ENOENT;
	err = comm_target_files_module(live->files, tgid, file, &module);
	return err ? err : comm_module_data(module, file, addr, ret);
}

static int live_thread_name(void *ctx, uint32_t tgid, uint32_t tid, char name[16])
{
	(void)ctx;
	return comm_process_reader_thread_name(tgid, tid, name);
}

/* Out of what mappings have: without a title a process has its name. */
static int live_title(void *ctx, uint32_t tgid, char title[COMM_TITLE_BYTES])
{
	struct live_inspect *live = ctx;
	char text[COMM_TITLE_TEXT_BYTES];
	uint64_t start;
	ssize_t n;

	if (live->is_limited && live->maps_left_ns <= 0)
		return -EAGAIN;
	start = reading_ns(live);
	n = comm_peek_command(live->peek, tgid, text, sizeof(text));
	if (live->is_limited)
		live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	if (n < 0)
		return (int)n;
	comm_title_of(text, (size_t)n, title);
	return 0;
}

/* Of the program, or of libpython.  -ENOENT: no file of it has it; -EAGAIN: one is still being read. */
static int find_runtime(struct live_inspect *live, uint32_t tgid, struct live_process *p)
{
	int err = need_maps(live, tgid, p);
	const struct comm_mapping *map = p->map;
	struct comm_module *module;

	if (err)
		return err;
	for (size_t i = 0; i < p->n; i++) {
		if (!comm_maps_is_python(&map[i]) || (i && map[i].path == map[i - 1].path))
			continue;
		err = comm_target_files_module(live->files, tgid, &map[i], &module);
		if (!err)
			err = comm_module_variable(module, &map[i], "_PyRuntime", &p->runtime);
		if (err == -EAGAIN || err == -ESTALE || !err)
			return err ? -EAGAIN : 0;
	}
	p->runtime = RUNTIME_NONE;
	return -ENOENT;
}

static int python_thread_name(struct live_inspect *live, uint32_t tgid, uint32_t tid,
			      struct live_process *p, char name[COMM_THREAD_NAME_BYTES])
{
	struct comm_python_process process = {.tgid = tgid};
	int err = p->runtime ? 0 : find_runtime(live, tgid, p);

	if (err)
		return err;
	process.runtime = p->runtime;
	process.minor = p->python_minor;
	return comm_python_threads_name(live->python_threads, &process, tid, name);
}

/* Out of what mappings have, as for titles.  Who has no interpreter costs nothing. */
static int live_given_name(void *ctx, uint32_t tgid, uint32_t tid,
			   char name[COMM_THREAD_NAME_BYTES])
{
	struct live_inspect *live = ctx;
	struct live_process *p = comm_process_lru_known(&live->processes, tgid);
	uint64_t start;
	int err;

	if (!p || !p->python_minor || p->runtime == RUNTIME_NONE)
		return p ? -ENOENT : -EAGAIN;
	if (live->is_limited && live->maps_left_ns <= 0)
		return -EAGAIN;
	start = reading_ns(live);
	err = python_thread_name(live, tgid, tid, p, name);
	if (live->is_limited)
		live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	return err;
}

static uint64_t heap_now_ns(void *ctx)
{
	(void)ctx;
	return comm_clock_ns(CLOCK_MONOTONIC_COARSE);
}

static uint64_t heap_spent_ns(void *ctx)
{
	return reading_ns(ctx);
}

/* Where an address is; *ret_m is what the place has its mapping in. */
static int place_of(struct live_inspect *live, uint32_t tgid, uint64_t addr,
		    struct comm_mapping *ret_m, struct comm_heap_place *ret)
{
	struct live_process *p = comm_process_lru_get(&live->processes, tgid);
	const struct comm_mapping *found;

	if (p && need_maps(live, tgid, p))
		return -EAGAIN;
	found = p ? comm_maps_at(p->map, p->n, addr) : NULL;
	if (!found)
		return -EAGAIN;
	*ret_m = found->kind == COMM_MAP_HEAP ? comm_maps_whole_heap(p->map, p->n, found) : *found;
	*ret = (struct comm_heap_place){addr,	ret_m, p->zeroed,      p->n_zeroed,
					p->map, p->n,  p->python_minor};
	return 0;
}

/* Out of what mappings have, as for titles. */
static int shared_blocks(struct live_inspect *live, const struct comm_shared_place *place,
			 uint64_t addr, struct comm_blocks_found *ret)
{
	uint64_t start;

	if ((!live->is_limited || live->maps_left_ns > 0) &&
	    comm_shared_parts_due(live->shared, place)) {
		start = reading_ns(live);
		comm_shared_parts_read(live->shared, place);
		if (live->is_limited)
			live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	}
	return comm_shared_parts_at(live->shared, place, addr, ret);
}

static int live_blocks(void *ctx, uint32_t tgid, uint64_t addr, struct comm_blocks_found *ret)
{
	struct live_inspect *live = ctx;
	struct comm_heap_place place;
	struct comm_mapping m;
	int err = place_of(live, tgid, addr, &m, &place);

	if (!err && m.kind == COMM_MAP_SHARED && !comm_shared_parts_may_have(&m))
		return -ENOENT;
	if (!err && m.kind == COMM_MAP_SHARED)
		return shared_blocks(live,
				     &(struct comm_shared_place){tgid, &m, place.map, place.n_map},
				     addr, ret);
	return err ? err : comm_heap_blocks_at(live->blocks, tgid, &place, ret);
}

static uint64_t event_now_ns(void *ctx)
{
	(void)ctx;
	return comm_clock_now_ns();
}

/* Out of what mappings have, as for titles. */
static int live_allocation(void *ctx, uint32_t tgid, uint64_t addr, uint64_t time_ns,
			   struct comm_allocation *ret)
{
	struct live_inspect *live = ctx;
	int err = comm_sampled_blocks_at(live->sampled, tgid, addr, time_ns, false, ret);
	struct comm_heap_place place;
	struct comm_mapping m;
	uint64_t start;

	if (err == -ENOSYS) {
		err = place_of(live, tgid, addr, &m, &place);
		return err ? err : comm_heap_blocks_site(live->blocks, tgid, &place, time_ns, ret);
	}
	/* Mostly nothing has to be read: then it costs less than to tell what it costs. */
	if (err != -EAGAIN || (live->is_limited && live->maps_left_ns <= 0))
		return err;
	start = reading_ns(live);
	err = comm_sampled_blocks_at(live->sampled, tgid, addr, time_ns, true, ret);
	if (live->is_limited)
		live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	return err;
}

static void live_destroy(void *ctx)
{
	struct live_inspect *live = ctx;

	comm_process_lru_deinit(&live->processes);
	comm_text_pages_destroy(live->text);
	comm_python_codes_destroy(live->python);
	comm_python_threads_destroy(live->python_threads);
	comm_sampled_blocks_destroy(live->sampled);
	comm_shared_parts_destroy(live->shared);
	comm_heap_blocks_destroy(live->blocks);
	comm_maps_readings_destroy(live->readings);
	comm_process_reader_destroy(live->reader);
	comm_peek_destroy(live->peek);
	comm_target_files_destroy(live->files);
	comm_maps_destroy(live->maps);
	comm_marked_destroy(live->marked);
	comm_names_destroy(live->names);
	free(live);
}

static const struct comm_inspect_ops live_ops = {
	.maps = live_maps,
	.text = live_text,
	.code = live_code,
	.data = live_data,
	.thread_name = live_thread_name,
	.title = live_title,
	.given_name = live_given_name,
	.blocks = live_blocks,
	.allocation = live_allocation,
	.destroy = live_destroy,
};

int comm_inspect_live_create(struct comm_inspect *ret)
{
	struct live_inspect *live = calloc(1, sizeof(*live));
	struct comm_heap_reading heap = {
		.read = read_memory,
		.now_ns = heap_now_ns,
		.spent_ns = heap_spent_ns,
		.variable = live_data,
		.ctx = live,
	};
	const struct comm_sampled_reading sampled = {read_memory, event_now_ns, live};
	const struct comm_python_reading python = {read_memory, read_words, event_now_ns, live};
	const struct comm_shared_reading shared = {read_memory, heap_now_ns, live_data, live};
	int err;

	if (!live)
		return -ENOMEM;
	comm_process_lru_init(&live->processes, PROCESSES_MAX, sizeof(struct live_process),
			      forget_process, live);
	err = comm_names_create(NAMES_BYTES_MAX, &live->names);
	if (!err)
		err = comm_maps_create(live->names, &live->maps);
	if (!err)
		err = comm_marked_create(read_memory, live, &live->marked);
	if (!err)
		err = comm_target_files_create(live->names, &live->files);
	if (!err)
		err = comm_peek_create(comm_target_files_parser(live->files), &live->peek);
	if (!err)
		err = comm_process_reader_create(live->peek, &live->reader);
	if (!err)
		err = comm_maps_readings_create(live->reader, live->maps, &live->readings);
	if (!err)
		err = comm_text_pages_create(read_memory, live, &live->text);
	heap.names = live->names;
	if (!err)
		err = comm_heap_blocks_create(&heap, &live->blocks);
	if (!err)
		err = comm_python_codes_create(&heap, &live->python);
	if (!err)
		err = comm_python_threads_create(&python, &live->python_threads);
	if (!err)
		err = comm_sampled_blocks_create(&sampled, &live->sampled);
	if (!err)
		err = comm_shared_parts_create(&shared, &live->shared);
	if (err) {
		live_destroy(live);
		return err;
	}
	*ret = (struct comm_inspect){.ops = &live_ops, .ctx = live};
	return 0;
}

static void look_for_marks(void *ctx, struct comm_process_lru_entry *kept)
{
	const struct live_inspect *live = ctx;
	const struct live_process *p = (const struct live_process *)kept;

	comm_marked_look(live->marked, kept->tgid, p->map, p->n);
}

void comm_inspect_live_tell_marks(struct comm_inspect *inspect, comm_inspect_marks_fn *fn,
				  void *ctx)
{
	struct live_inspect *live = inspect->ctx;

	comm_marked_tell(live->marked, fn, ctx);
	comm_process_lru_each(&live->processes, look_for_marks, live);
}

void comm_inspect_live_tell_unread(struct comm_inspect *inspect, comm_inspect_unread_fn *fn,
				   void *ctx)
{
	comm_target_files_tell_unread(((struct live_inspect *)inspect->ctx)->files, fn, ctx);
}

void comm_inspect_live_tell_objects(struct comm_inspect *inspect, comm_inspect_objects_fn *fn,
				    void *ctx)
{
	comm_marked_tell_objects(((struct live_inspect *)inspect->ctx)->marked, fn, ctx);
}

bool comm_inspect_live_reads(const struct comm_inspect *inspect)
{
	return comm_target_files_busy(((const struct live_inspect *)inspect->ctx)->files);
}

void comm_inspect_live_await_marks(struct comm_inspect *inspect)
{
	struct live_inspect *live = inspect->ctx;

	comm_marked_await(live->marked);
}

int comm_inspect_live_words(struct comm_inspect *inspect, const struct comm_peek_place *place,
			    size_t n, struct comm_peek_word *ret)
{
	return comm_process_reader_words(((struct live_inspect *)inspect->ctx)->reader, place, n,
					 ret);
}

ssize_t comm_inspect_live_memory(struct comm_inspect *inspect, uint32_t tgid, uint64_t addr,
				 void *buf, size_t len_bytes)
{
	return read_memory(inspect->ctx, tgid, addr, buf, len_bytes);
}

int comm_inspect_live_thread_pointer(struct comm_inspect *inspect, uint32_t tgid, uint32_t tid,
				     uint64_t *ret)
{
	struct live_inspect *live = inspect->ctx;

	return comm_process_reader_thread_pointer(live->reader, tgid, tid, ret);
}

void comm_inspect_live_prefetch(struct comm_inspect *inspect, uint32_t tgid, bool is_fork,
				uint64_t stop_ns)
{
	struct live_inspect *live = inspect->ctx;
	const struct comm_mapping *map = NULL;
	size_t n = 0;

	if (inspect->ops == &live_ops && live_maps(live, tgid, &map, &n) >= 0)
		comm_target_files_prefetch(live->files, tgid, map, n, is_fork, stop_ns);
}

void comm_inspect_live_finish(struct comm_inspect *inspect, uint64_t stop_ns)
{
	struct live_inspect *live = inspect->ctx;

	if (inspect->ops == &live_ops)
		comm_target_files_finish(live->files, stop_ns);
}

/* What could not be read leaves what was read before. */
static void read_piece(struct live_inspect *live)
{
	struct comm_maps_list list = {0};
	struct live_process *p;
	uint32_t tgid = 0;
	int err = comm_maps_readings_turn(live->readings, &tgid, &list);

	if (err == -EINPROGRESS)
		return;
	if (!err)
		err = keep_maps(live, tgid, list.map, list.n, &p);
	p = comm_process_lru_get(&live->processes, tgid);
	if (!p)
		return;
	p->is_due = true;
	p->err = err;
}

bool comm_inspect_live_turn(struct comm_inspect *inspect)
{
	struct live_inspect *live = inspect->ctx;
	uint64_t start;

	if (inspect->ops != &live_ops)
		return false;
	if (!live->has_turns)
		comm_peek_hurry(live->peek, true);
	live->has_turns = true;
	if (!comm_maps_readings_has(live->readings, 0))
		return false;
	start = reading_ns(live);
	read_piece(live);
	if (live->is_limited)
		live->maps_left_ns -= (int64_t)(reading_ns(live) - start);
	return comm_maps_readings_has(live->readings, 0);
}

void comm_inspect_live_until(struct comm_inspect *inspect, uint64_t end_ns)
{
	struct live_inspect *live = inspect->ctx;

	if (inspect->ops != &live_ops)
		return;
	live->has_turns = false;
	comm_peek_hurry(live->peek, false);
	comm_peek_until(live->peek, end_ns);
}

uint64_t comm_inspect_live_own_ns(const struct comm_inspect *inspect)
{
	const struct live_inspect *live = inspect->ctx;

	return inspect->ops == &live_ops ? comm_target_files_own_ns(live->files) : 0;
}

uint64_t comm_inspect_live_setup_ns(const struct comm_inspect *inspect)
{
	const struct live_inspect *live = inspect->ctx;

	return inspect->ops == &live_ops ? comm_target_files_setup_ns(live->files) : 0;
}

void comm_inspect_live_allow(struct comm_inspect *inspect, uint64_t cpu_ns)
{
	struct live_inspect *live = inspect->ctx;
	int64_t maps_ns = (int64_t)(cpu_ns / 100 * MAPS_PERCENT);

	if (inspect->ops != &live_ops)
		return;
	comm_target_files_allow(live->files, cpu_ns);
	comm_heap_blocks_allow(live->blocks,
			       cpu_ns == UINT64_MAX ? cpu_ns : cpu_ns / 100 * BLOCKS_PERCENT);
	if (cpu_ns == UINT64_MAX)
		return;
	live->is_limited = true;
	live->maps_left_ns += maps_ns;
	if (live->maps_left_ns > KEPT * maps_ns)
		live->maps_left_ns = KEPT * maps_ns;
}

size_t comm_inspect_live_command(const struct comm_inspect *inspect, uint32_t tgid, char *buf,
				 size_t bytes)
{
	const struct live_inspect *live = inspect->ctx;
	ssize_t n = comm_peek_command(live->peek, tgid, buf, bytes);

	return n > 0 ? (size_t)n : 0;
}

uint64_t comm_inspect_live_unread(const struct comm_inspect *inspect)
{
	const struct live_inspect *live = inspect->ctx;

	return inspect->ops == &live_ops ? comm_target_files_lost(live->files) + live->unread : 0;
}

uint64_t comm_inspect_live_generated_ns(const struct comm_inspect *inspect)
{
	const struct live_inspect *live = inspect->ctx;

	return inspect->ops == &live_ops
		       ? comm_target_files_generated_ns(live->files) + comm_peek_cpu_ns(live->peek)
		       : 0;
}

void comm_inspect_destroy(struct comm_inspect *inspect)
{
	if (!inspect || !inspect->ops)
		return;
	inspect->ops->destroy(inspect->ctx);
	*inspect = (struct comm_inspect){0};
}
