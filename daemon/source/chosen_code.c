// SPDX-License-Identifier: GPL-2.0-or-later
#include "chosen_code.h"

#include <stdbool.h>

#include "sample_event.h"

enum { PAGE_SHIFT = 12 };

/* Whether the key is new; it is none from now on. */
static bool note(struct comm_chosen_code *code, uint64_t key)
{
	uint64_t *noted = &code->noted[(key ^ key >> 32) % COMM_CHOSEN_NOTED];

	if (*noted == key)
		return false;
	*noted = key;
	return true;
}

/* Of a program, for others have other data at the same addresses. */
static uint64_t page_of(uint64_t program, uint64_t addr)
{
	return program ^ ((addr >> PAGE_SHIFT) + 1);
}

/* Whether the sampler is to meet the access. */
static bool is_chosen(struct comm_chosen_code *code, uint64_t program,
		      const struct comm_sample *sample, const struct comm_burst_access *a)
{
	bool reads = a->flags & COMM_ACCESS_READ && !a->left_out;
	/* All code writes its own stack. */
	bool on_stack = comm_burst_on_stack(sample, a);
	uint64_t of = page_of(program, a->addr), *page = &code->page[of % COMM_CHOSEN_PAGES];

	if (a->flags & COMM_ACCESS_IMPLICIT)
		return false;
	if (reads && !on_stack)
		*page = of;
	return reads || (a->flags & COMM_ACCESS_WRITE && !on_stack && *page == of);
}

unsigned int comm_chosen_code_burst(struct comm_chosen_code *code, uint64_t program,
				    const struct comm_sample *sample,
				    const struct comm_burst *burst, uint64_t ret[COMM_CHOSEN_NEW])
{
	uint64_t last = 0, key;
	unsigned int n = 0;

	for (uint32_t i = 0; program && i < burst->n_accesses && n < COMM_CHOSEN_NEW; i++) {
		const struct comm_burst_access *a = &burst->access[i];

		if (!is_chosen(code, program, sample, a))
			continue;
		/* Where the burst began, first. */
		if (!last) {
			last = comm_raw_piece_key(program, sample->ip);
			if (note(code, last))
				ret[n++] = last;
		}
		key = comm_raw_piece_key(program, a->ip);
		if (key != last && n < COMM_CHOSEN_NEW && note(code, key))
			ret[n++] = key;
		last = key;
	}
	return n;
}
