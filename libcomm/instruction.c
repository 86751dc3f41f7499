// SPDX-License-Identifier: GPL-2.0-or-later
#include "instruction.h"

/* A source line may become known, and the share of known addresses changes. */
static const uint64_t fresh_ns = 100 * 1000 * 1000;

const struct comm_instruction *comm_instruction_at(struct comm_instructions *instructions,
						   struct comm_space *space, uint64_t ip,
						   uint32_t region, uint32_t caller,
						   uint64_t now_ns)
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
		insn->region = COMM_CODE_REGION_NONE;
		insn->caller = COMM_CALL_UNKNOWN;
		insn->generation = comm_space_generation(space);
		insn->asked_ns = now_ns;
		comm_decoder_known(instructions->decoder, space, now_ns, ip, &known, &all);
		insn->known = all && known ? (float)known / (float)all : 1;
	}
	if (insn->region != region || insn->caller != caller) {
		insn->site = comm_sites_within(sites, insn->bare_site, region);
		insn->site = comm_sites_called(sites, insn->site, caller);
		insn->region = region;
		insn->caller = caller;
	}
	return insn;
}
