// SPDX-License-Identifier: GPL-2.0-or-later
#include "function.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "symbol.h"
#include "thread.h"

enum {
	FUNCTIONS_MAX = 1 << 16,
	CHANNEL =
		1, /* the first of them; function 0 is none: the site's has not been found out yet */
	UNKNOWN = CHANNEL + COMM_CHANNELS,
	FIRST,
};

static struct functions {
	uint32_t n;
	uint32_t of[COMM_EXACT_SITES];
	struct comm_exact_symbol symbol[FUNCTIONS_MAX];
} * functions;

static void *map(size_t bytes)
{
	void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int comm_exact_functions_begin(void)
{
	functions = map(sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	functions->n = FIRST;
	return 0;
}

void comm_exact_functions_end(void)
{
	syscall(SYS_munmap, functions, sizeof(*functions));
}

/* An instruction before the pc, which is behind a call, and may be another function's. */
static uint32_t function_at(uint64_t pc)
{
	uint32_t i;

	for (i = FIRST; i < functions->n; i++)
		if (pc >= functions->symbol[i].start && pc < functions->symbol[i].end)
			return i;
	if (functions->n == FUNCTIONS_MAX)
		return UNKNOWN;
	comm_exact_symbol(pc, &functions->symbol[functions->n]);
	return functions->n++;
}

uint32_t comm_exact_function_of(uint32_t site)
{
	uint64_t pc = comm_exact_site_pc(site);

	if (!functions->of[site])
		functions->of[site] = pc < COMM_SITE_UNKNOWN && pc >= COMM_SITE_CHANNELS
					      ? CHANNEL + pc - COMM_SITE_CHANNELS
				      : pc < COMM_SITE_FIRST ? UNKNOWN
							     : function_at(pc - 1);
	return functions->of[site];
}

const char *comm_exact_function_name(uint32_t function)
{
	static const char *const channels[COMM_CHANNELS] = COMM_CHANNEL_NAMES;

	return function >= CHANNEL && function < UNKNOWN ? channels[function - CHANNEL]
	       : function == UNKNOWN			 ? "[unknown]"
							 : functions->symbol[function].name;
}

int comm_exact_sums_begin(struct comm_exact_sums *sums, uint64_t capacity)
{
	sums->mask = 63;
	while (sums->mask < 2 * capacity)
		sums->mask = 2 * sums->mask + 1;
	sums->sum = map((sums->mask + 1) * sizeof(*sums->sum));
	return sums->sum ? 0 : -ENOMEM;
}

void comm_exact_sums_add(struct comm_exact_sums *sums, const struct comm_exact_sum *add)
{
	uint64_t hash = ((uint64_t)add->src_slot << 40 ^ (uint64_t)add->src_function << 20 ^
			 add->dst_function) *
			0x9e3779b97f4a7c15u;
	uint64_t i = hash >> 20 & sums->mask;
	struct comm_exact_sum *s = &sums->sum[i];

	while (s->bytes && (s->src_slot != add->src_slot || s->src_function != add->src_function ||
			    s->dst_function != add->dst_function)) {
		i = (i + 1) & sums->mask;
		s = &sums->sum[i];
	}
	*s = (struct comm_exact_sum){add->src_slot, add->src_function, add->dst_function,
				     s->bytes + add->bytes, s->first_bytes + add->first_bytes};
}

void comm_exact_sums_end(struct comm_exact_sums *sums)
{
	syscall(SYS_munmap, sums->sum, (sums->mask + 1) * sizeof(*sums->sum));
}
