// SPDX-License-Identifier: GPL-2.0-or-later
#include "call_chain.h"

static uint32_t function_at(const struct comm_call_chain *chain, uint64_t ip)
{
	struct comm_sites *sites = chain->identity->sites;

	return comm_sites_at(sites, comm_sites_get(sites, chain->space, ip, chain->time_ns))
		->function;
}

static void find_callers(struct comm_call_chain *chain)
{
	uint64_t back[COMM_CALLERS_MAX];

	chain->n = comm_callers_find(chain->identity->sites, chain->space, chain->time_ns,
				     chain->sample, chain->depth + COMM_CALLERS_RETURNED, back,
				     &chain->is_whole);
	for (unsigned int i = 0; i < chain->n; i++)
		chain->function[i] = function_at(chain, back[i] - 1);
	chain->is_known = true;
}

/* The call of depth functions in which a burst is that has returned from so many. */
static uint32_t call_behind(const struct comm_call_chain *chain, unsigned int returns,
			    unsigned int depth)
{
	unsigned int end = returns + depth < chain->n ? returns + depth : chain->n;
	uint32_t call = COMM_CALL_UNKNOWN;

	if (end == chain->n && chain->is_whole && returns <= chain->n)
		call = COMM_CALL_OUTERMOST;
	for (; end > returns; end--)
		call = comm_calls_get(chain->identity->calls, chain->function[end - 1], call);
	return call;
}

uint32_t comm_call_chain_of(struct comm_call_chain *chain, const struct comm_burst_access *access)
{
	const struct comm_burst *burst = chain->burst;
	uint32_t within[COMM_CALL_DEPTH_MAX], call;
	unsigned int depth = chain->depth, n = 0;
	uint16_t at;

	if (access->call == COMM_BURST_LOST)
		return COMM_CALL_UNKNOWN;
	for (at = access->call; at && n < depth; at = burst->call[at - 1].within)
		within[n++] = function_at(chain, burst->call[at - 1].ip);
	if (!chain->is_known && n < depth)
		find_callers(chain);
	if (n || access->returns > COMM_CALLERS_RETURNED) {
		call = n < depth ? call_behind(chain, access->returns, depth - n)
				 : COMM_CALL_UNKNOWN;
		while (n--)
			call = comm_calls_get(chain->identity->calls, within[n], call);
		return call;
	}
	if (!chain->has_call[access->returns]) {
		chain->call[access->returns] = call_behind(chain, access->returns, depth);
		chain->has_call[access->returns] = true;
	}
	return chain->call[access->returns];
}
