/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf maps of processes that generate code, each read piece by piece by children (parser.h), and
 * read on in, at most once a second when code is asked about that it does not name, and at most
 * every ten seconds when it does.  What a map
 * holds, and how a file is read, is in jitmap.h.  One thread uses them.
 */
#ifndef COMM_PERF_MAPS_H
#define COMM_PERF_MAPS_H

#include "inspect.h"
#include "names.h"
#include "parser.h"

struct comm_perf_maps;

/* names and parser must outlive them. */
int comm_perf_maps_create(struct comm_names *names, struct comm_parser *parser,
			  struct comm_perf_maps **ret);
void comm_perf_maps_destroy(struct comm_perf_maps *maps);

/* As code() of a view (inspect.h), of code that is in no file. */
int comm_perf_maps_code(struct comm_perf_maps *maps, uint32_t tgid, uint64_t ip,
			struct comm_code *ret);
/* Has a process's map read on in, unless it was lately. */
void comm_perf_maps_ask(struct comm_perf_maps *maps, uint32_t tgid);
/* Takes what the parser has read of one. */
void comm_perf_maps_take(struct comm_perf_maps *maps, const struct comm_parsed *parsed);
/* How many times a map was not read on in, for want of room. */
uint64_t comm_perf_maps_lost(const struct comm_perf_maps *maps);

#endif
