/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perf_maps.h"

#include "clock.h"
#include "jitmap.h"
#include "process_lru.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PROCESSES_MAX = 512,
	JIT_BYTES_MAX = 64 << 20, /* of all perf maps */
	REREAD_NS = 1000 * 1000 * 1000,
};

/* Until a map is read on in for code that it names: other code may be there by now. */
static const uint64_t named_ns = 10u * 1000000000ull;

static const uint64_t full_ns = 60u * 1000000000ull; /* until a full map is tried again */

struct generating {
	struct comm_process_lru_entry lru;
	struct comm_jitmap *map; /* NULL: none */
	uint32_t asked;		 /* which request for it is under way; 0: none */
	uint64_t again_ns;	 /* it is not asked for before */
};

struct comm_perf_maps {
	struct comm_names *names;
	struct comm_parser *parser;
	struct comm_process_lru processes;
	struct comm_jit_budget budget;
	uint32_t requests;
	uint64_t lost;
};

static uint64_t now_ns(void)
{
	return comm_clock_ns(CLOCK_MONOTONIC_COARSE);
}

static void forget_map(struct generating *p)
{
	comm_jitmap_destroy(p->map);
	p->map = NULL;
}

static void forget_process(void *ctx, struct comm_process_lru_entry *kept)
{
	(void)ctx;
	forget_map((struct generating *)kept);
}

int comm_perf_maps_create(struct comm_names *names, struct comm_parser *parser,
			  struct comm_perf_maps **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	(*ret)->names = names;
	(*ret)->parser = parser;
	(*ret)->budget.max_bytes = JIT_BYTES_MAX;
	comm_process_lru_init(&(*ret)->processes, PROCESSES_MAX, sizeof(struct generating),
			      forget_process, NULL);
	return 0;
}

void comm_perf_maps_destroy(struct comm_perf_maps *maps)
{
	if (!maps)
		return;
	comm_process_lru_deinit(&maps->processes);
	free(maps);
}

/* Reads on in the perf map of a process. */
static void read_on(struct comm_perf_maps *maps, struct generating *p)
{
	struct comm_parse_request request = {.kind = COMM_PARSE_PERF_MAP, .tgid = p->lru.tgid};

	p->again_ns = now_ns() + REREAD_NS;
	if (!p->map && comm_jitmap_create(maps->names, &maps->budget, &p->map) < 0)
		return;
	request.place = *comm_jitmap_place(p->map);
	maps->requests += maps->requests == UINT32_MAX ? 2 : 1;
	p->asked = maps->requests;
	if (comm_parser_ask(maps->parser, &request,
			    (void *)((uintptr_t)p->asked << 32 | p->lru.tgid)) == 0)
		return;
	p->asked = 0;
	maps->lost++;
}

static void ask_again(struct comm_perf_maps *maps, struct generating *p, uint64_t later_ns)
{
	uint64_t now = now_ns();

	if (!p->asked && now >= p->again_ns && now - p->again_ns >= later_ns)
		read_on(maps, p);
}

void comm_perf_maps_ask(struct comm_perf_maps *maps, uint32_t tgid)
{
	struct generating *p = comm_process_lru_get(&maps->processes, tgid);

	if (p)
		ask_again(maps, p, 0);
}

static bool reserves(const struct comm_process_lru_entry *kept, const void *but)
{
	const struct generating *p = (const struct generating *)kept;

	return p != but && p->map && comm_jitmap_entries(p->map);
}

/* Forgets the map of the process that was asked about least recently. */
static bool free_a_map(struct comm_perf_maps *maps, const struct generating *keep)
{
	struct generating *found = comm_process_lru_oldest(&maps->processes, reserves, keep);

	if (found)
		forget_map(found);
	return found;
}

void comm_perf_maps_take(struct comm_perf_maps *maps, const struct comm_parsed *parsed)
{
	struct generating *p =
		comm_process_lru_known(&maps->processes, (uint32_t)(uintptr_t)parsed->of);
	int err = parsed->err;
	bool more = false;

	/* What was asked for a process that is forgotten by now is of no use to its successor. */
	if (!p || p->asked != (uintptr_t)parsed->of >> 32)
		return;
	p->asked = 0;
	if (!p->map)
		return;
	if (!err)
		while ((err = comm_jitmap_load(p->map, parsed->saved, &more)) == -ENOSPC &&
		       free_a_map(maps, p))
			;
	switch (err) {
	case 0:
		if (more)
			read_on(maps, p);
		break;
	case -E2BIG:
	case -ENOSPC:
	case -ENOMEM:
		maps->lost++;
		p->again_ns = now_ns() + full_ns;
		break;
	case -ECHILD:
	case -ETIME:
		p->again_ns = UINT64_MAX;
		break;
	default:
		/* The file is gone: the names known so far may be an earlier process's. */
		forget_map(p);
		break;
	}
}

int comm_perf_maps_code(struct comm_perf_maps *maps, uint32_t tgid, uint64_t ip,
			struct comm_code *ret)
{
	struct generating *p = comm_process_lru_get(&maps->processes, tgid);
	const char *name;

	*ret = (struct comm_code){
		.function = "[jit]",
		.module = "[jit]",
		.build_id = "",
	};
	if (!p)
		return -ENOMEM;
	name = p->map ? comm_jitmap_find(p->map, ip, &ret->start, &ret->end) : NULL;
	if (name) {
		ask_again(maps, p, named_ns - REREAD_NS);
		ret->function = name;
		return 0;
	}
	ask_again(maps, p, 0);
	ret->provisional = p->asked;
	return p->asked ? 0 : -ENOENT;
}

uint64_t comm_perf_maps_lost(const struct comm_perf_maps *maps)
{
	return maps->lost;
}
