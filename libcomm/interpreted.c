// SPDX-License-Identifier: GPL-2.0-or-later
#include "interpreted.h"

enum {
	UNIT_BYTES = 2, /* of bytecode: an operation, and what it is done with */
	NEAR_BYTES = 64,
};

/* Names in brackets are ours: it is no code, or not known yet. */
static bool is_named(const struct comm_sites *sites, uint32_t site)
{
	return *comm_sites_function_at(sites, comm_sites_at(sites, site)->function)->name != '[';
}

/* Code that a program made is in memory that it writes; other memory has no code that is told so. */
static bool is_bytecode(struct comm_sites *sites, struct comm_space *space,
			const struct comm_burst_access *access, uint64_t now_ns)
{
	const struct comm_mapping *m;

	if (!(access->flags & COMM_ACCESS_READ) || access->size_bytes > UNIT_BYTES ||
	    access->addr % UNIT_BYTES)
		return false;
	m = comm_space_find(space, access->addr, now_ns);
	return m && (m->kind == COMM_MAP_ANON || m->kind == COMM_MAP_HEAP) &&
	       is_named(sites, comm_sites_get(sites, space, access->addr, now_ns));
}

/* Whether the burst began right before that bytecode, and not in a function that calls its own or returns to it. */
static bool began_there(const struct comm_sample *sample, uint64_t bytecode)
{
	for (size_t i = 0; i < COMM_NREGS; i++)
		if (i != COMM_RSP && sample->reg[i] - (bytecode - NEAR_BYTES) < 2 * NEAR_BYTES)
			return true;
	return false;
}

void comm_interpreted_tell(struct comm_instructions *instructions, struct comm_space *space,
			   const struct comm_sample *sample, uint64_t now_ns,
			   struct comm_burst *burst)
{
	struct comm_sites *sites = instructions->identity->sites;
	uint32_t first = burst->n_accesses;
	uint64_t bytecode = 0;

	for (uint32_t i = 0; i < burst->n_accesses; i++) {
		struct comm_burst_access *a = &burst->access[i];
		enum comm_interpreter part =
			comm_instruction_interpreter(instructions, space, a->ip, now_ns);

		if (part == COMM_INTERPRETER_LOOP && is_bytecode(sites, space, a, now_ns)) {
			first = bytecode ? first : i;
			bytecode = a->addr;
		}
		a->bytecode = part != COMM_INTERPRETER_NONE ? bytecode : 0;
	}
	if (!bytecode || !began_there(sample, burst->access[first].addr))
		return;
	for (uint32_t i = 0; i < first; i++)
		if (comm_instruction_interpreter(instructions, space, burst->access[i].ip, now_ns))
			burst->access[i].bytecode = burst->access[first].addr;
}
