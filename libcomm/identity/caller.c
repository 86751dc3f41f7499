// SPDX-License-Identifier: GPL-2.0-or-later
#include "caller.h"

#include <string.h>

/* A word of the memory that was captured. */
static bool read_word(const struct comm_sample *sample, uint64_t addr, uint64_t *ret)
{
	for (unsigned int i = 0; i < sample->n_chunks && i < COMM_SAMPLE_CHUNKS; i++) {
		const struct comm_chunk *c = &sample->chunk[i];
		uint64_t in = addr - c->addr;

		if (c->len_bytes > COMM_SAMPLE_DATA_BYTES ||
		    c->offset > COMM_SAMPLE_DATA_BYTES - c->len_bytes ||
		    c->len_bytes < sizeof(*ret) || in > c->len_bytes - sizeof(*ret))
			continue;
		memcpy(ret, sample->data + c->offset + in, sizeof(*ret));
		return true;
	}
	return false;
}

static bool is_known(const struct comm_sample *sample, enum comm_reg reg)
{
	return sample->known >> reg & 1;
}

unsigned int comm_callers_find(struct comm_sites *sites, struct comm_space *space, uint64_t now_ns,
			       const struct comm_sample *sample, unsigned int n,
			       uint64_t ret[COMM_CALLERS_MAX], bool *ret_all)
{
	uint64_t rsp = sample->reg[COMM_RSP], rbp = sample->reg[COMM_RBP], ip = sample->ip;
	bool has_rbp = is_known(sample, COMM_RBP);
	unsigned int found = 0;

	*ret_all = false;
	/* Registers of the next instruction: which one that is, only its burst knows. */
	if (sample->mode_bits != 64 || sample->known & COMM_SAMPLE_AFTER ||
	    !is_known(sample, COMM_RSP))
		return 0;
	while (found < n && found < COMM_CALLERS_MAX) {
		/* A call may be a function's last instruction: what is behind it is another's. */
		struct comm_frame_rule rule = comm_sites_frame(sites, space, ip - !!found, now_ns);
		const struct comm_mapping *m;
		uint64_t frame;

		if (rule.kind == COMM_FRAME_OF_RSP)
			frame = rsp + (uint64_t)(int64_t)rule.offset;
		else if (rule.kind == COMM_FRAME_OF_RBP && has_rbp)
			frame = rbp + (uint64_t)(int64_t)rule.offset;
		else {
			*ret_all = rule.kind == COMM_FRAME_OUTERMOST;
			break;
		}
		if (frame <= rsp || !read_word(sample, frame - 8, &ip))
			break;
		m = comm_space_find(space, ip, now_ns);
		if (!m || !m->executable)
			break;
		ret[found++] = ip;
		if (rule.rbp_offset == COMM_FRAME_RBP_LOST)
			has_rbp = false;
		else if (rule.rbp_offset)
			has_rbp =
				read_word(sample, frame + (uint64_t)(int64_t)rule.rbp_offset, &rbp);
		rsp = frame;
	}
	return found;
}
