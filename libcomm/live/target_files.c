/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target_files.h"

#include "clock.h"
#include "perf_maps.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum {
	MODULES_BYTES_MAX = 64 << 20,
	WAIT_NS = 50 * 1000 * 1000,   /* for the symbols of a file */
	WAITS_NS = 300 * 1000 * 1000, /* for all files together, at once, */
	WAITS_PART = 50,	      /* and of all time */
	/* Of what is allowed, percent; mappings (inspect_live.c) have a part of their own. */
	FILES_PERCENT = 50,
	/* Lines and types of one file take as long as thousands of samples, and can come later. */
	DETAILS_PERCENT = 15,
};

struct comm_target_files {
	struct comm_parser *parser;
	struct comm_modules *modules;
	struct comm_perf_maps *perf_maps;
	uint64_t polled_ns, setup_ns, start_ns, waited_ns;
	uint64_t prefetched_jit_ns; /* CPU time of children for perf maps, before a run */
	bool is_limited;
	uint64_t allowed_ns; /* last, */
	uint64_t owed_ns;    /* and this process's own part of reading files, unpaid */
};

int comm_target_files_create(struct comm_names *names, struct comm_target_files **ret)
{
	struct comm_target_files *files = calloc(1, sizeof(*files));
	int err;

	if (!files)
		return -ENOMEM;
	files->start_ns = comm_clock_now_ns();
	err = comm_parser_create(&files->parser);
	if (!err)
		err = comm_perf_maps_create(names, files->parser, &files->perf_maps);
	if (!err)
		err = comm_modules_create(names, files->parser, MODULES_BYTES_MAX, &files->modules);
	if (err) {
		comm_target_files_destroy(files);
		return err;
	}
	*ret = files;
	return 0;
}

void comm_target_files_destroy(struct comm_target_files *files)
{
	if (!files)
		return;
	comm_perf_maps_destroy(files->perf_maps);
	comm_parser_destroy(files->parser);
	comm_modules_destroy(files->modules);
	free(files);
}

struct comm_parser *comm_target_files_parser(struct comm_target_files *files)
{
	return files->parser;
}

/*
 * What children hand back is work of this process, to load and to check, whatever it has cost them:
 * the next waits until that is paid.
 */
static bool may_collect(const struct comm_target_files *files)
{
	return !files->is_limited || files->owed_ns <= files->allowed_ns;
}

/*
 * Takes what was read of files.  Perf maps grow and are read again as long as code is
 * generated: their cost is no setup.
 */
static void collect(struct comm_target_files *files)
{
	uint64_t start = comm_clock_thread_ns(), end;
	struct comm_parsed parsed;

	while (may_collect(files) && comm_parser_next(files->parser, &parsed)) {
		if (parsed.kind == COMM_PARSE_PERF_MAP)
			comm_perf_maps_take(files->perf_maps, &parsed);
		else
			comm_modules_take(files->modules, &parsed);
		end = comm_clock_thread_ns();
		comm_parser_charge(files->parser, parsed.kind, end - start);
		if (parsed.kind != COMM_PARSE_PERF_MAP)
			files->setup_ns += end - start;
		files->owed_ns += end - start;
		start = end;
	}
}

/* At most once per tick of the coarse clock. */
static void poll_parser(struct comm_target_files *files)
{
	uint64_t now;

	if (!comm_parser_busy(files->parser))
		return;
	now = comm_clock_ns(CLOCK_MONOTONIC_COARSE);
	if (now == files->polled_ns)
		return;
	files->polled_ns = now;
	collect(files);
}

/*
 * A file's first sample waits a little for its symbols, since most come in a few ms.  Not long
 * and not often: the rings fill meanwhile.
 */
static int wait_for_module(struct comm_target_files *files, uint32_t tgid,
			   const struct comm_mapping *m, struct comm_module **ret)
{
	uint64_t start = comm_clock_now_ns(), now = start, stop = start + WAIT_NS;
	int err;

	if (files->waited_ns > WAITS_NS + (start - files->start_ns) / WAITS_PART)
		return -EAGAIN;
	do {
		collect(files);
		err = comm_modules_get(files->modules, tgid, m, ret);
		if (err != -EAGAIN || !may_collect(files))
			break;
		if (!comm_parser_wait(files->parser, stop - now))
			break;
		now = comm_clock_now_ns();
	} while (now < stop);
	files->waited_ns += now - start;
	return err == -EINPROGRESS ? -EAGAIN : err;
}

static int ask_module(struct comm_target_files *files, uint32_t tgid, const struct comm_mapping *m,
		      struct comm_module **ret)
{
	poll_parser(files);
	if (!strcmp(m->path, "[vdso]"))
		return comm_modules_vdso(files->modules, ret);
	if (!m->file || m->kind == COMM_MAP_VDSO)
		return -ENOENT;
	return comm_modules_get(files->modules, tgid, m, ret);
}

int comm_target_files_module(struct comm_target_files *files, uint32_t tgid,
			     const struct comm_mapping *m, struct comm_module **ret)
{
	int err = ask_module(files, tgid, m, ret);

	return err == -EINPROGRESS ? wait_for_module(files, tgid, m, ret) : err;
}

int comm_target_files_generated(struct comm_target_files *files, uint32_t tgid, uint64_t ip,
				struct comm_code *ret)
{
	poll_parser(files);
	return comm_perf_maps_code(files->perf_maps, tgid, ip, ret);
}

/* Of this process, and so of a fork of it. */
static bool has_libc(const struct comm_mapping *m)
{
	uint64_t in_libc = (uint64_t)dlsym(RTLD_DEFAULT, "abort"), loader = getauxval(AT_BASE);

	return (in_libc >= m->start && in_libc < m->end) ||
	       (loader >= m->start - m->offset && loader < m->end);
}

/* Until there is nothing more to wait for: lines and types come later. */
static void wait_for_names(struct comm_target_files *files, uint64_t stop_ns)
{
	uint64_t now = comm_clock_now_ns();

	do {
		collect(files);
		if (!comm_parser_busy_with(files->parser, COMM_PARSE_IDENTITY) &&
		    !comm_parser_busy_with(files->parser, COMM_PARSE_SYMBOLS) &&
		    !comm_parser_busy_with(files->parser, COMM_PARSE_PERF_MAP))
			break;
		if (!comm_parser_wait(files->parser, stop_ns - now))
			break;
		now = comm_clock_now_ns();
	} while (now < stop_ns);
}

void comm_target_files_prefetch(struct comm_target_files *files, uint32_t tgid,
				const struct comm_mapping *map, size_t n, bool is_fork,
				uint64_t stop_ns)
{
	struct comm_module *module;
	bool generates = false;

	comm_modules_only_symbols(files->modules, is_fork);
	for (size_t i = 0; i < n; i++) {
		if (map[i].executable && map[i].kind == COMM_MAP_FILE &&
		    (!is_fork || has_libc(&map[i])))
			ask_module(files, tgid, &map[i], &module);
		generates |= map[i].kind == COMM_MAP_JIT;
	}
	if (generates)
		comm_perf_maps_ask(files->perf_maps, tgid);
	wait_for_names(files, stop_ns);
	comm_modules_only_symbols(files->modules, false);
	files->prefetched_jit_ns = comm_parser_children_ns(files->parser, COMM_PARSE_PERF_MAP);
}

void comm_target_files_finish(struct comm_target_files *files, uint64_t stop_ns)
{
	uint64_t now_ns = comm_clock_now_ns();

	if (now_ns >= stop_ns)
		return;
	files->owed_ns = 0;
	files->allowed_ns = stop_ns - now_ns;
	comm_parser_allow(files->parser, stop_ns - now_ns);
	comm_modules_only_symbols(files->modules, true);
	wait_for_names(files, stop_ns);
}

void comm_target_files_tell_unread(struct comm_target_files *files, comm_inspect_unread_fn *fn,
				   void *ctx)
{
	comm_modules_tell_unread(files->modules, fn, ctx);
}

bool comm_target_files_busy(const struct comm_target_files *files)
{
	return comm_parser_busy(files->parser);
}

/* Of what is allowed; symbols are read before all else. */
static unsigned int files_percent(const struct comm_target_files *files)
{
	for (int kind = 0; kind < COMM_PARSE_KINDS; kind++)
		if (kind != COMM_PARSE_LINES && kind != COMM_PARSE_TYPES &&
		    comm_parser_busy_with(files->parser, (enum comm_parse_kind)kind))
			return FILES_PERCENT;
	return DETAILS_PERCENT;
}

void comm_target_files_allow(struct comm_target_files *files, uint64_t cpu_ns)
{
	uint64_t files_ns, paid_ns;

	collect(files);
	if (cpu_ns == UINT64_MAX)
		return;
	files_ns = cpu_ns / 100 * files_percent(files);
	if (!files->is_limited)
		files->owed_ns = 0;
	files->is_limited = true;
	paid_ns = files->owed_ns < files_ns ? files->owed_ns : files_ns;
	files->owed_ns -= paid_ns;
	files->allowed_ns = files_ns;
	comm_parser_allow(files->parser, files_ns - paid_ns);
}

uint64_t comm_target_files_own_ns(const struct comm_target_files *files)
{
	return files->setup_ns;
}

uint64_t comm_target_files_setup_ns(const struct comm_target_files *files)
{
	uint64_t ns = files->prefetched_jit_ns;

	for (int i = 0; i < COMM_PARSE_KINDS; i++)
		if (i != COMM_PARSE_PERF_MAP)
			ns += comm_parser_children_ns(files->parser, (enum comm_parse_kind)i);
	return files->setup_ns + ns;
}

uint64_t comm_target_files_generated_ns(const struct comm_target_files *files)
{
	return comm_parser_children_ns(files->parser, COMM_PARSE_PERF_MAP) -
	       files->prefetched_jit_ns;
}

uint64_t comm_target_files_lost(const struct comm_target_files *files)
{
	return comm_parser_lost(files->parser) + comm_modules_lost(files->modules) +
	       comm_perf_maps_lost(files->perf_maps);
}
