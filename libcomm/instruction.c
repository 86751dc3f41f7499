// SPDX-License-Identifier: GPL-2.0-or-later
#include "instruction.h"

#include <string.h>

#include "maps.h"

/* A source line may become known, and the share of known addresses changes. */
static const uint64_t fresh_ns = 100 * 1000 * 1000;

/* CPython's loop is one function. */
static enum comm_interpreter interpreter_of(const struct comm_sites *sites,
					    const struct comm_mapping *m, uint32_t site)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";
	const struct comm_function *function =
		comm_sites_function_at(sites, comm_sites_at(sites, site)->function);

	if (!m || !comm_maps_is_python(m))
		return COMM_INTERPRETER_NONE;
	return strncmp(function->name, loop, sizeof(loop) - 1) ? COMM_INTERPRETER_PART
							       : COMM_INTERPRETER_LOOP;
}

static struct comm_instruction *ask(struct comm_instructions *instructions,
				    struct comm_space *space, uint64_t ip, uint64_t now_ns)
{
	struct comm_sites *sites = instructions->identity->sites;
	uint32_t tgid = comm_space_tgid(space), generation = comm_space_generation(space);
	struct comm_instruction *insn =
		&instructions->at[(ip ^ ip >> 12 ^ tgid) & (COMM_INSTRUCTIONS - 1)];
	uint64_t known, all;

	if (insn->ip != ip || insn->tgid != tgid || insn->generation != generation ||
	    now_ns - insn->asked_ns >= fresh_ns) {
		insn->ip = ip;
		insn->tgid = tgid;
		insn->bare_site = comm_sites_get(sites, space, ip, now_ns);
		insn->site = insn->bare_site;
		insn->keeps_heap = comm_sites_keeps_heap(sites, insn->bare_site);
		insn->region = COMM_CODE_REGION_NONE;
		insn->caller = COMM_CALL_UNKNOWN;
		insn->generation = comm_space_generation(space);
		insn->asked_ns = now_ns;
		comm_decoder_known(instructions->decoder, space, now_ns, ip, &known, &all);
		insn->known = all && known ? (float)known / (float)all : 1;
		insn->interpreter =
			interpreter_of(sites, comm_space_find(space, ip, now_ns), insn->bare_site);
	}
	return insn;
}

enum comm_interpreter comm_instruction_interpreter(struct comm_instructions *instructions,
						   struct comm_space *space, uint64_t ip,
						   uint64_t now_ns)
{
	return ask(instructions, space, ip, now_ns)->interpreter;
}

uint32_t comm_instruction_bare_site(struct comm_instructions *instructions,
				    struct comm_space *space, uint64_t ip, uint64_t now_ns)
{
	return ask(instructions, space, ip, now_ns)->bare_site;
}

const struct comm_instruction *comm_instruction_at(struct comm_instructions *instructions,
						   struct comm_space *space, uint64_t ip,
						   uint32_t region, uint32_t caller,
						   uint64_t now_ns)
{
	struct comm_sites *sites = instructions->identity->sites;
	struct comm_instruction *insn = ask(instructions, space, ip, now_ns);

	if (insn->region != region || insn->caller != caller) {
		insn->site = comm_sites_within(sites, insn->bare_site, region);
		insn->site = comm_sites_called(sites, insn->site, caller);
		insn->region = region;
		insn->caller = caller;
	}
	return insn;
}
