// SPDX-License-Identifier: GPL-2.0-or-later
#include "look_pairs.h"

#include <stdbool.h>

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

/*
 * The reader runs in [from_ns, next->time_ns], at the end of which next is found.  before: the change
 * before; NULL: there was none in the window, and what is read is not known.
 */
static void add_until(struct pairs *p, uint32_t reader, uint64_t from_ns,
		      const struct comm_look_change *before, const struct comm_look_change *next)
{
	bool is_known = before && (next->tid != reader || before->tid == reader);

	if (before && next->time_ns > from_ns)
		add(p, is_known ? before->tid : 0, (double)(next->time_ns - from_ns), from_ns,
		    before->time_ns);
}

/* *at: so many changes came before the interval. */
static void add_interval(struct pairs *p, uint32_t reader,
			 const struct comm_look_interval *interval,
			 const struct comm_look_change *change, size_t n, size_t *at)
{
	const struct comm_look_change *before;
	uint64_t from_ns = interval->from_ns;

	while (*at < n && change[*at].time_ns <= from_ns)
		++*at;
	before = *at ? &change[*at - 1] : NULL;
	for (size_t i = *at; i < n && change[i].time_ns <= interval->to_ns; i++) {
		add_until(p, reader, from_ns, before, &change[i]);
		from_ns = change[i].time_ns;
		before = &change[i];
	}
	if (before)
		add(p, before->tid, (double)(interval->to_ns - from_ns), from_ns, before->time_ns);
}

unsigned int comm_look_pairs(uint32_t reader, const struct comm_look_interval *interval,
			     size_t n_intervals, const struct comm_look_change *change, size_t n,
			     struct comm_look_pair ret[COMM_LOOK_PAIRS_MAX])
{
	struct pairs p = {.pair = ret};
	size_t at = 0;

	for (size_t i = 0; i < n_intervals; i++)
		if (interval[i].tid == reader)
			add_interval(&p, reader, &interval[i], change, n, &at);
	for (unsigned int i = 0; i < p.n; i++)
		ret[i].share /= p.all;
	return p.n;
}
