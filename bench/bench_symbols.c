// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of names: building the symbol tables of files (ms), and looking up functions
 * and variables of a running process (ns), from the cache and without it.
 *
 *	bench_symbols [--pid PID] [FILE ...]
 */
#include "clock.h"
#include "dwline.h"
#include "elfsym.h"
#include "object.h"
#include "site.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	LOOKUPS = 1000000,
	WORKING_SET = 2000, /* distinct addresses of a hot program */
};

static uint64_t seed = 88172645463325252u;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void bench_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct comm_elfsym *sym;
	struct comm_dwline *dw;
	struct comm_symbol s;
	struct comm_line line;
	uint64_t t, found = 0, limit = 0;

	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return;
	}
	t = comm_clock_now_ns();
	if (comm_elfsym_create(fd, -1, &sym) < 0) {
		fprintf(stderr, "%s: not an ELF file\n", path);
		close(fd);
		return;
	}
	t = comm_clock_now_ns() - t;
	printf("%s: symbols built in %.1f ms, %zu functions, %zu variables, %zu KiB\n", path,
	       (double)t / 1e6, comm_elfsym_functions(sym), comm_elfsym_variables(sym),
	       comm_elfsym_bytes(sym) / 1024);
	for (uint64_t at = 0; at < (uint64_t)1 << 28; at += 4096)
		if (comm_elfsym_function(sym, at, &s) == 0)
			limit = s.end;
	t = comm_clock_now_ns();
	for (int i = 0; limit && i < LOOKUPS; i++)
		found += comm_elfsym_function(sym, any() % limit, &s) == 0;
	t = comm_clock_now_ns() - t;
	printf("  function lookup %.0f ns (%.1f %% of random addresses found)\n",
	       (double)t / LOOKUPS, 100.0 * (double)found / LOOKUPS);
	comm_elfsym_destroy(sym);
	t = comm_clock_now_ns();
	if (comm_dwline_build(fd, 60000, &dw) == 0) {
		t = comm_clock_now_ns() - t;
		printf("  lines built in %.1f ms, %zu rows, %zu pieces of inlines, %zu KiB\n",
		       (double)t / 1e6, comm_dwline_lines(dw), comm_dwline_inlines(dw),
		       comm_dwline_bytes(dw) / 1024);
		t = comm_clock_now_ns();
		for (int i = 0; limit && i < LOOKUPS; i++)
			comm_dwline_find(dw, any() % limit, &line);
		t = comm_clock_now_ns() - t;
		printf("  line and inline lookup %.0f ns\n", (double)t / LOOKUPS);
		comm_dwline_destroy(dw);
	}
	close(fd);
}

static uint64_t pick(const struct comm_mapping *map, size_t n, bool code)
{
	for (;;) {
		const struct comm_mapping *m = &map[any() % n];

		if (m->readable && (code ? m->executable : m->writable))
			return m->start + any() % (m->end - m->start);
	}
}

static void bench_process(uint32_t tgid)
{
	static uint64_t ip[WORKING_SET], addr[WORKING_SET];
	struct comm_space_table *table = NULL;
	const struct comm_mapping *map;
	struct comm_objects *objects = NULL;
	struct comm_sites *sites = NULL;
	struct comm_space *space;
	struct comm_inspect inspect;
	uint64_t t, datum;
	uint32_t object;
	size_t n;

	if (comm_inspect_live_create(&inspect) < 0)
		return;
	t = comm_clock_now_ns();
	if (inspect.ops->maps(inspect.ctx, tgid, &map, &n) < 0 || !n ||
	    comm_space_table_create(&inspect, &table) < 0 ||
	    comm_sites_create(&inspect, &sites) < 0 ||
	    comm_objects_create(&inspect, &objects) < 0) {
		fprintf(stderr, "pid %" PRIu32 ": no such process\n", tgid);
		goto out;
	}
	printf("pid %" PRIu32 ": %zu mappings read in %.2f ms\n", tgid, n,
	       (double)(comm_clock_now_ns() - t) / 1e6);
	for (int i = 0; i < WORKING_SET; i++) {
		ip[i] = pick(map, n, true);
		addr[i] = pick(map, n, false);
	}
	space = comm_space_get(table, tgid);
	comm_space_find(space, ip[0], 1);
	t = comm_clock_now_ns();
	for (int i = 0; i < WORKING_SET; i++)
		comm_sites_get(sites, space, ip[i], 1);
	printf("  site, first sight (tables built): %.0f ns, %" PRIu32 " sites\n",
	       (double)(comm_clock_now_ns() - t) / WORKING_SET, comm_sites_count(sites));
	t = comm_clock_now_ns();
	for (int i = 0; i < LOOKUPS; i++)
		comm_sites_get(sites, space, ip[any() % WORKING_SET], 1);
	printf("  site, seen before: %.1f ns\n", (double)(comm_clock_now_ns() - t) / LOOKUPS);
	t = comm_clock_now_ns();
	for (int i = 0; i < WORKING_SET; i++)
		comm_objects_resolve(objects, space, addr[i], 0, tgid, 1, &datum, &object);
	printf("  object, first sight: %.0f ns, %" PRIu32 " objects\n",
	       (double)(comm_clock_now_ns() - t) / WORKING_SET, comm_objects_count(objects));
	t = comm_clock_now_ns();
	for (int i = 0; i < LOOKUPS; i++)
		comm_objects_resolve(objects, space, addr[any() % WORKING_SET], 0, tgid, 1, &datum,
				     &object);
	printf("  object, seen before: %.1f ns\n", (double)(comm_clock_now_ns() - t) / LOOKUPS);
out:
	comm_objects_destroy(objects);
	comm_sites_destroy(sites);
	comm_space_table_destroy(table);
	comm_inspect_destroy(&inspect);
}

int main(int argc, char **argv)
{
	uint32_t tgid = (uint32_t)getpid();
	int first = 1;

	if (argc > 2 && !strcmp(argv[1], "--pid")) {
		tgid = (uint32_t)strtoul(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		bench_file(argv[i]);
	bench_process(tgid);
	return 0;
}
