// SPDX-License-Identifier: GPL-2.0-or-later
#include "look_pairs.h"

struct pairs {
	struct comm_look_pair *pair;
	unsigned int n;
	double all;
};

static void add(struct pairs *p, uint32_t tid, double weight, uint64_t read_ns, uint64_t write_ns)
{
	unsigned int i = 0;

	if (!(weight > 0))
		return;
	while (i < p->n && p->pair[i].tid != tid)
		i++;
	if (i == COMM_LOOK_PAIRS_MAX)
		return;
	if (i == p->n)
		p->pair[p->n++] = (struct comm_look_pair){
			.tid = tid, .read_ns = read_ns, .write_ns = write_ns};
	p->pair[i].share += weight;
	p->all += weight;
}

/* The reader runs in an interval.  *at: so many changes came before. */
static void add_interval(struct pairs *p, const struct comm_look_interval *interval,
			 const struct comm_look_change *change, size_t n, size_t *at)
{
	uint64_t from_ns = interval->from_ns, to_ns;

	while (*at < n && change[*at].time_ns <= from_ns)
		++*at;
	for (size_t i = *at; i <= n && from_ns < interval->to_ns; i++) {
		to_ns = i < n && change[i].time_ns < interval->to_ns ? change[i].time_ns
								     : interval->to_ns;
		if (i)
			add(p, change[i - 1].tid, (double)(to_ns - from_ns), from_ns,
			    change[i - 1].time_ns);
		from_ns = to_ns;
	}
}

/* A change whose writer is not known may be anybody's. */
static bool are_of_one(const struct comm_look_change *change, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!change[i].tid || change[i].tid != change[0].tid)
			return false;
	return true;
}

unsigned int comm_look_pairs(const struct comm_look_read *read,
			     const struct comm_look_interval *interval, size_t n_intervals,
			     const struct comm_look_change *change, size_t n,
			     struct comm_look_pair ret[COMM_LOOK_PAIRS_MAX],
			     enum comm_look_unknown *ret_why)
{
	struct pairs p = {.pair = ret};
	bool is_of_one = are_of_one(change, n), by_time;
	size_t at = 0;

	for (size_t i = 0; read->has_value && i < n; i++)
		if (change[i].value == read->value)
			add(&p, change[i].tid, 1, change[i].time_ns, change[i].time_ns);
	by_time = !p.n && n >= COMM_LOOK_CHANGES_LEAST && is_of_one;
	for (size_t i = 0; by_time && i < n_intervals; i++)
		if (interval[i].tid == read->tid)
			add_interval(&p, &interval[i], change, n, &at);
	for (unsigned int i = 0; i < p.n; i++)
		ret[i].share /= p.all;
	*ret_why = p.n	       ? COMM_LOOK_KNOWN
		   : !n	       ? COMM_LOOK_QUIET
		   : by_time   ? COMM_LOOK_IDLE
		   : is_of_one ? COMM_LOOK_FEW
			       : COMM_LOOK_SEVERAL;
	return p.n;
}
