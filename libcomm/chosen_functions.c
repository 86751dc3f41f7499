// SPDX-License-Identifier: GPL-2.0-or-later
#include "chosen_functions.h"

#include <stdlib.h>
#include <string.h>

#include "function_pattern.h"

enum chosen_known {
	NOT_KNOWN,
	CHOSEN,
	LEFT_OUT,
};

void comm_chosen_functions_deinit(struct comm_chosen_functions *chosen)
{
	free(chosen->known);
	chosen->known = NULL;
	chosen->n_known = 0;
}

/* NULL: out of memory. */
static uint8_t *known_of(struct comm_chosen_functions *chosen, uint32_t function)
{
	if (function >= chosen->n_known) {
		uint32_t n = function + function / 2 + 64;
		uint8_t *grown = realloc(chosen->known, n);

		if (!grown)
			return NULL;
		memset(grown + chosen->n_known, NOT_KNOWN, n - chosen->n_known);
		chosen->known = grown;
		chosen->n_known = n;
	}
	return &chosen->known[function];
}

bool comm_chosen_functions_has(struct comm_chosen_functions *chosen, uint32_t site)
{
	const struct comm_sites *sites;
	const struct comm_function *function;
	uint8_t *known;
	uint32_t id;
	bool has;

	if (!chosen->pattern)
		return true;
	sites = chosen->identity->sites;
	id = comm_sites_at(sites, site)->function;
	known = known_of(chosen, id);
	if (known && *known)
		return *known == CHOSEN;
	function = comm_sites_function_at(sites, id);
	has = comm_function_pattern_has(chosen->pattern, function->name);
	/* A file may still be read; a name in brackets stands for one. */
	if (known && !function->pending && *function->name != '[')
		*known = has ? CHOSEN : LEFT_OUT;
	return has;
}

void comm_chosen_functions_burst(struct comm_chosen_functions *chosen,
				 struct comm_instructions *instructions, struct comm_space *space,
				 uint64_t now_ns, struct comm_burst *burst)
{
	struct comm_sites *sites = instructions->identity->sites;

	for (uint32_t i = 0; chosen->pattern && i < burst->n_accesses; i++) {
		struct comm_burst_access *a = &burst->access[i];
		uint32_t site;

		if (!(a->flags & COMM_ACCESS_READ) || a->flags & COMM_ACCESS_IMPLICIT)
			continue;
		site = a->bytecode ? comm_sites_get(sites, space, a->bytecode, now_ns)
				   : comm_instruction_bare_site(instructions, space, a->ip, now_ns);
		a->left_out = !comm_chosen_functions_has(chosen, site);
	}
}
